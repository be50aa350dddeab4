package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

var programDir string // of what buildProgram has built

var buildProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "punctual-executor-")
	if err != nil {
		return "", err
	}
	programDir = dir
	path := filepath.Join(dir, "punctual-executor")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		_, _ = os.Stderr.Write(out)
	}
	return path, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if programDir != "" {
		_ = os.RemoveAll(programDir)
	}
	os.Exit(code)
}

// program is the real program in a process of its own.
type program struct {
	cmd    *exec.Cmd
	output *executortest.Output
	target wire.Target
	client *wire.ExecutorClient
}

// startProgram starts the program on dir and waits until it listens.
func startProgram(t *testing.T, dir, adminURL string, args ...string) *program {
	t.Helper()
	return startProgramIn(t, nil, dir, adminURL, args...)
}

// startProgramIn is startProgram with attributes of the process.
func startProgramIn(t *testing.T, attr *syscall.SysProcAttr, dir, adminURL string, args ...string) *program {
	t.Helper()
	path, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + executortest.FreePort(t)
	cmd := exec.Command(path, append([]string{"--listen", address, "--data-dir", dir, "--admin", adminURL}, args...)...)
	cmd.Env = append(os.Environ(), "PUNCTUAL_EXECUTOR_ACCESS_TOKEN="+executortest.Token, "PUNCTUAL_EXECUTOR_APP_NAME="+executortest.AppName)
	cmd.SysProcAttr = attr
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	switch err := cmd.Start(); {
	case attr != nil && errors.Is(err, syscall.EPERM):
		t.Skip("this machine lets nobody make a namespace")
	case err != nil:
		t.Fatal(err)
	}
	p := &program{cmd: cmd, output: new(executortest.Output), client: wire.NewExecutorClient(nil),
		target: wire.Target{Address: address, Token: executortest.Token, AppName: executortest.AppName}}
	t.Cleanup(func() {
		p.client.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("output of the program:\n%s", p.output)
		}
	})
	lines := bufio.NewReader(errs)
	for {
		line, err := lines.ReadString('\n')
		_, _ = io.WriteString(p.output, line)
		if err != nil {
			t.Fatalf("the program ended: %v\n%s", err, p.output)
		}
		if strings.Contains(line, "executor started") {
			break
		}
	}
	go func() { _, _ = io.Copy(p.output, lines) }()
	return p
}

func (p *program) run(t *testing.T, req *wire.RunRequest) wire.Answer {
	t.Helper()
	answer, err := p.client.Run(t.Context(), p.target, req)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func script(logID int64, source string) *wire.RunRequest {
	return &wire.RunRequest{JobID: logID, LogID: logID, GlueType: wire.GlueShell, GlueSource: source, GlueUpdateTime: 1000 + logID,
		LogDateTime: 1_767_225_600_000, BroadcastTotal: 1}
}

func poll(t *testing.T, what string, ok func(context.Context) bool) {
	t.Helper()
	executortest.Eventually(t, what, func() error {
		if !ok(t.Context()) {
			return executortest.ErrNotYet
		}
		return nil
	})
}

// TestKilledExecutorAccountsForEveryRun kills the program with SIGKILL while one run goes on, others wait behind it, and
// the results of more have not been taken by the admin.
func TestKilledExecutorAccountsForEveryRun(t *testing.T) {
	t.Parallel()
	admin := executortest.NewAdmin(t)
	dir := t.TempDir()
	p := startProgram(t, dir, admin.URL, "--log-retention-days=0") // the trigger times are long ago
	admin.Wait(t, "registration", func() bool { return len(admin.Registered()) == 1 })

	admin.Refuse(true) // results pile up from here
	marker := filepath.Join(dir, "executions")
	const job = 7
	shell := func(id int64, source string) *wire.RunRequest {
		req := script(id, source)
		req.JobID, req.GlueUpdateTime = job, id
		return req
	}
	for id := int64(1); id <= 3; id++ {
		if answer := p.run(t, shell(id, "echo "+string(rune('0'+id))+" >> "+marker)); !answer.OK() {
			t.Fatal(answer)
		}
	}
	poll(t, "idle job", func(ctx context.Context) bool {
		answer, err := p.client.IdleBeat(ctx, p.target, wire.IdleBeatRequest{JobID: job})
		return err == nil && answer.OK()
	})
	p.run(t, shell(10, "echo 10 >> "+marker+"; echo ready; sleep 300; echo 10 again >> "+marker))
	poll(t, "output of run 10", func(ctx context.Context) bool {
		piece, _, err := p.client.Log(ctx, p.target, wire.LogRequest{LogID: 10, LogDateTime: 1_767_225_600_000, FromLineNum: 1})
		return err == nil && strings.Contains(piece.LogContent, "ready")
	})
	for id := int64(11); id <= 13; id++ {
		if answer := p.run(t, shell(id, "echo "+"1"+string(rune('0'+id-10))+" >> "+marker)); !answer.OK() {
			t.Fatal(answer)
		}
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()

	admin.Refuse(false)
	p = startProgram(t, dir, admin.URL, "--log-retention-days=0")
	for _, tc := range []struct {
		id   int64
		code int
		msg  string
	}{
		{1, 200, ""}, {2, 200, ""}, {3, 200, ""}, // finished, not yet taken
		{10, 500, "the executor restarted while the run was going on"},
		{11, 200, ""}, {12, 200, ""}, {13, 200, ""}, // waited
	} {
		if cb := admin.Result(t, tc.id); cb.HandleCode != tc.code || cb.HandleMsg != tc.msg {
			t.Errorf("run %d: %d %q, want %d %q", tc.id, cb.HandleCode, cb.HandleMsg, tc.code, tc.msg)
		}
	}
	executed, err := os.ReadFile(marker)
	if got, want := strings.Fields(string(executed)), "1 2 3 10 11 12 13"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("executions %q, want each once: %s", got, want)
	}
	for _, id := range []int64{1, 10, 13} {
		if answer := p.run(t, shell(id, "echo again >> "+marker)); answer.OK() || !strings.HasPrefix(answer.Msg, "repeat trigger job") {
			t.Errorf("run %d sent again after the restart: %+v", id, answer)
		}
	}
	piece, _, err := p.client.Log(t.Context(), p.target, wire.LogRequest{LogID: 10, LogDateTime: 1_767_225_600_000, FromLineNum: 1})
	if err != nil || !strings.Contains(piece.LogContent, "restarted while the run was going on") || !piece.IsEnd {
		t.Errorf("log of the lost run: %+v, %v", piece, err)
	}
	// What the lost run has started must not go on behind the back of its retry.
	left, _ := exec.Command("sh", "-c", "grep -lsz 'PUNCTUAL_LOG_ID=10$' /proc/[0-9]*/environ | while read f; do grep -sqz 'PUNCTUAL_RUN="+instance(t, dir)+"' $f && echo $f; done; true").Output()
	if len(left) > 0 {
		t.Errorf("the lost run's script goes on: %s", left)
	}

	// SIGTERM drains.
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if got := admin.Registered(); len(got) != 1 { // the killed one could not leave; its address is another
		t.Errorf("registered %v", got)
	}
}

func instance(t *testing.T, dir string) string {
	t.Helper()
	mark, err := os.ReadFile(filepath.Join(dir, "instance"))
	if err != nil {
		t.Fatal(err)
	}
	return string(mark)
}

func TestWrongSettingsAreOneLineAndCode2(t *testing.T) {
	t.Parallel()
	path, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"no token":             {"--access-token="},
		"an unknown flag":      {"--nope"},
		"a bad admin":          {"--access-token=x", "--admin=nonsense"},
		"no key":               {"--access-token=x", "--tls-cert=cert.pem"},
		"nothing to listen on": {"--access-token=x", "--listen=nonsense"},
		"an address of none":   {"--access-token=x", "--address=ftp://x/"},
		"a negative time":      {"--access-token=x", "--drain-timeout=-5s"},
		"a name and no pull":   {"--access-token=x", "--name=x"},
		"a pull that listens":  {"--access-token=x", "--pull", "--address=http://x/"},
		"no CA file":           {"--access-token=x", "--admin-ca=none.pem"},
		"a bad log format":     {"--access-token=x", "--log-format=xml"},
		"a bad duration":       {"--access-token=x", "--drain-timeout=soon"},
		"an unknown command":   {"dance"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), executortest.Patience)
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		cancel()
		if code := cmd.ProcessState.ExitCode(); code != 2 || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: exit code %d (%v), output %q", name, code, err, out)
		}
	}
	if out, err := exec.Command(path, "version").Output(); err != nil || !strings.HasPrefix(string(out), "punctual-executor ") {
		t.Errorf("version: %q, %v", out, err)
	}
}

// TestKilledUnderLoadNothingIsLostOrRunTwice kills the program again and again while runs are sent to it as fast as it
// takes them, and then counts: whatever was accepted has a result, a run succeeded only if it was executed, and none was
// executed twice.
func TestKilledUnderLoadNothingIsLostOrRunTwice(t *testing.T) {
	t.Parallel()
	admin := executortest.NewAdmin(t)
	dir := t.TempDir()
	executions := filepath.Join(dir, "executions")
	if err := os.Mkdir(executions, 0o755); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	accepted := map[int64]bool{}
	doubtful := map[int64]bool{} // sent when the program died: it may have accepted them or not
	id := int64(0)
	for round := range 4 {
		p := startProgram(t, dir, admin.URL, "--log-retention-days=0")
		var senders sync.WaitGroup
		enough := make(chan struct{})
		var once sync.Once
		for range 4 {
			senders.Go(func() {
				for {
					mu.Lock()
					id++
					own := id
					mu.Unlock()
					req := script(own, "mkdir "+executions+"/$PUNCTUAL_LOG_ID && echo done")
					req.JobID = own % 5 // so that some wait in queues
					answer, err := p.client.Run(t.Context(), p.target, req)
					mu.Lock()
					switch {
					case err != nil && wire.Delivered(err):
						doubtful[own] = true
					case err == nil && answer.OK():
						accepted[own] = true
					case err == nil:
						t.Errorf("run %d is refused: %+v", own, answer)
					}
					if len(accepted) > (round+1)*60 {
						once.Do(func() { close(enough) })
					}
					mu.Unlock()
					if err != nil {
						return
					}
				}
			})
		}
		<-enough
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.cmd.Wait()
		senders.Wait()
	}
	startProgram(t, dir, admin.URL, "--log-retention-days=0")
	results := map[int64][]int{}
	admin.Wait(t, "result of every accepted run", func() bool {
		clear(results)
		for _, cb := range admin.Callbacks() {
			results[cb.LogID] = append(results[cb.LogID], cb.HandleCode)
		}
		for id := range accepted {
			if len(results[id]) == 0 {
				return false
			}
		}
		return true
	})
	succeeded, failed := 0, 0
	for id, codes := range results {
		if !accepted[id] && !doubtful[id] {
			t.Errorf("run %d has a result but was not accepted", id)
		}
		for _, code := range codes {
			if code != codes[0] { // the same result may come twice, but not another one
				t.Errorf("run %d has the results %v", id, codes)
			}
		}
		_, err := os.Stat(filepath.Join(executions, fmt.Sprint(id)))
		switch codes[0] {
		case 200:
			succeeded++
			if err != nil {
				t.Errorf("run %d succeeded without being executed", id)
			}
		default: // mkdir of a run executed twice fails, with another text
			failed++
		}
	}
	for _, cb := range admin.Callbacks() {
		if cb.HandleCode != 200 && cb.HandleMsg != "the executor restarted while the run was going on" {
			t.Errorf("run %d: %+v", cb.LogID, cb)
		}
	}
	if failed > 4*5 { // five jobs, each with one run going on
		t.Errorf("%d runs were lost in 4 kills", failed)
	}
	t.Logf("%d accepted, %d in doubt; %d succeeded, %d reported lost", len(accepted), len(doubtful), succeeded, failed)
}
