//go:build go1.26

package executor_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/internal/process"
	"github.com/punctual-job/punctual/executor/wire"
)

// script is a run of a script of kind glue.
func script(logID int64, glue wire.Glue, source string) *wire.RunRequest {
	return &wire.RunRequest{JobID: logID, LogID: logID, GlueType: glue, GlueSource: source, GlueUpdateTime: 1000 + logID,
		LogDateTime: 1_767_225_600_000, ExecutorParams: "a b", BroadcastIndex: 1, BroadcastTotal: 3}
}

func TestScriptsOfEveryLanguage(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for i, tc := range []struct {
		glue    wire.Glue
		program string
		source  string
	}{
		{wire.GlueShell, "bash", `echo "p=$1 i=$2 n=$3 job=$PUNCTUAL_JOB_ID param=$PUNCTUAL_PARAM"; echo err >&2; exit ${4:-0}`},
		{wire.GluePython, "python3", "import os,sys\nprint('p=%s i=%s n=%s job=%s param=%s' % (*sys.argv[1:], os.environ['PUNCTUAL_JOB_ID'], os.environ['PUNCTUAL_PARAM']))\nsys.stderr.write('err\\n')"},
		{wire.GluePython2, "python2", "import os,sys\nsys.stdout.write('p=%s i=%s n=%s job=%s param=%s\\n' % (sys.argv[1], sys.argv[2], sys.argv[3], os.environ['PUNCTUAL_JOB_ID'], os.environ['PUNCTUAL_PARAM']))\nsys.stderr.write('err\\n')"},
		{wire.GlueNodeJS, "node", "const a=process.argv;console.log(`p=${a[2]} i=${a[3]} n=${a[4]} job=${process.env.PUNCTUAL_JOB_ID} param=${process.env.PUNCTUAL_PARAM}`);console.error('err')"},
		{wire.GluePHP, "php", `<?php echo "p=$argv[1] i=$argv[2] n=$argv[3] job=".getenv('PUNCTUAL_JOB_ID')." param=".getenv('PUNCTUAL_PARAM')."\n"; fwrite(STDERR, "err\n");`},
		{wire.GluePowerShell, "pwsh", "Write-Output \"p=$($args[0]) i=$($args[1]) n=$($args[2]) job=$env:PUNCTUAL_JOB_ID param=$env:PUNCTUAL_PARAM\"; [Console]::Error.WriteLine('err')"},
		{wire.GlueRuby, "ruby", "puts \"p=#{ARGV[0]} i=#{ARGV[1]} n=#{ARGV[2]} job=#{ENV['PUNCTUAL_JOB_ID']} param=#{ENV['PUNCTUAL_PARAM']}\"\nwarn 'err'"},
	} {
		t.Run(string(tc.glue), func(t *testing.T) {
			// A version manager may leave a program in the path that only says it is not installed.
			if exec.Command(tc.program, "--version").Run() != nil {
				t.Skipf("%s is not installed here: apt install %[1]s (python2 and pwsh are not in Debian)", tc.program)
			}
			id := int64(i + 1)
			req := script(id, tc.glue, tc.source)
			b.mustRun(t, req)
			b.wantResult(t, id, 200, "")
			text := b.log(t, req)
			want := "p=a b i=1 n=3 job=" + string(rune('0'+id)) + " param=a b\n"
			if !strings.Contains(text, want) || !strings.Contains(text, "err\n") || !strings.Contains(text, "script file:") {
				t.Errorf("log lacks %q:\n%s", want, text)
			}
		})
	}
}

func TestScriptResults(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for i, tc := range []struct {
		name   string
		req    *wire.RunRequest
		code   int
		msg    string
		log    string
		refuse string
	}{
		{name: "an exit code", req: script(0, wire.GlueShell, "exit 3"), code: 500, msg: "script exit value(3) is failed"},
		{name: "a signal", req: script(0, wire.GlueShell, "kill -9 $$"), code: 500, msg: "script exit value(-1) is failed: signal: killed"},
		{name: "an empty script", req: script(0, wire.GlueShell, ""), code: 200},
		{name: "secrets of the program stay with it", req: script(0, wire.GlueShell, "env | grep -c ^PUNCTUAL_EXECUTOR_ || true"), code: 200, log: "\n0\n"},
		{name: "a last line without its end", req: script(0, wire.GlueShell, "printf abc"), code: 200, log: "abc"},
		{name: "Java", req: script(0, wire.GlueGroovy, "x"), refuse: "fail, current glue type [GLUE(Java)] not supported: this executor is not a JVM."},
	} {
		id := int64(i + 1)
		tc.req.JobID, tc.req.LogID = id, id
		answer := b.run(t, tc.req)
		if tc.refuse != "" {
			if answer.OK() || answer.Msg != tc.refuse {
				t.Errorf("%s: %+v", tc.name, answer)
			}
			continue
		}
		b.wantResult(t, id, tc.code, tc.msg)
		if text := b.log(t, tc.req); !strings.Contains(text, tc.log) {
			t.Errorf("%s: log %q lacks %q", tc.name, text, tc.log)
		}
	}
}

// Scripts that do what they can to outlive their end. Each first tells in its log that it is ready.
var stubborn = map[string]string{
	"sleeps":                         "echo ready; sleep 300",
	"ignores SIGTERM":                "trap '' TERM; echo ready; while :; do sleep 0.1; done",
	"has children":                   "sleep 300 & sleep 300 & echo ready; wait",
	"has a child of its own session": "setsid sleep 300 & echo ready; wait",
	"its child ignores SIGTERM and made a session": "setsid bash -c 'trap \"\" TERM; echo ready; while :; do sleep 0.1; done' & wait",
}

func TestKillEndsTheWholeTree(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	id := int64(os.Getpid()) * 100 // which no script of a test of another package has in its environment
	for name, source := range stubborn {
		id++
		logID := id
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := script(logID, wire.GlueShell, source)
			b.mustRun(t, req)
			waitForText(t, b, req, "ready")
			if _, err := b.client.Kill(t.Context(), b.Target(), wire.KillRequest{JobID: req.JobID}); err != nil {
				t.Fatal(err)
			}
			b.wantResult(t, logID, 500, "scheduling center kill job. [job running, killed]")
			waitUntilIdle(t, b, req.JobID) // the queue goes on when the tree is gone
			out, _ := exec.Command("sh", "-c", "grep -lsz 'PUNCTUAL_LOG_ID="+strconv.FormatInt(logID, 10)+"$' /proc/[0-9]*/environ; true").Output()
			if len(out) > 0 {
				t.Errorf("processes are left: %s", out)
			}
		})
	}
}

// TestWhatAScriptLeavesGoesOn: the run has its end although the output is held, and says so; a kill of its job comes too late for what is left.
func TestWhatAScriptLeavesGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	req := script(1, wire.GlueShell, `setsid sleep 300 & echo "left $!"`)
	b.mustRun(t, req)
	b.wantResult(t, 1, 200, "")
	text := b.log(t, req)
	if !strings.Contains(text, "goes on and still held its output") {
		t.Errorf("the log does not say it:\n%s", text)
	}
	_, rest, _ := strings.Cut(text, "left ")
	number, _, _ := strings.Cut(rest, "\n")
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.Kill(t.Context(), b.Target(), wire.KillRequest{JobID: req.JobID}); err != nil {
		t.Fatal(err)
	}
	if err := left.Kill(); err != nil {
		t.Errorf("it is gone: %v", err)
	}
}

// A shutdown waits for handlers longer than SIGKILL is away: nothing of a script goes on after it, not even what ignores SIGTERM and holds
// its output when the script itself is gone.
func TestNothingOfAScriptOutlivesAStop(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.AwaitHandlers(executortest.Patience)
	logID := int64(os.Getpid())*100 + 50
	req := script(logID, wire.GlueShell, "(trap '' TERM; echo ready; exec sleep 300) & wait")
	b.mustRun(t, req)
	waitForText(t, b, req, "ready")
	began, passed := time.Now(), executortest.Watch()
	if err := b.Stop(t.Context()); err == nil || strings.Contains(err.Error(), "did not return") {
		t.Errorf("stop: %v", err)
	}
	if all, took := time.Since(began), passed(); all < process.Grace || took > executor.EndTimeout {
		t.Errorf("the stop took %v, %v of them its own, want SIGKILL after %v and a handler that returns within %v", all, took, process.Grace, executor.EndTimeout)
	}
	out, _ := exec.Command("sh", "-c", "grep -lsz 'PUNCTUAL_LOG_ID="+strconv.FormatInt(logID, 10)+"$' /proc/[0-9]*/environ; true").Output()
	if len(out) > 0 {
		t.Errorf("processes are left: %s", out)
	}
}

func TestATimeoutStopsAScriptAndReports502Once(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	req := script(1, wire.GlueShell, "sleep 300; exit 7")
	req.TimeoutSeconds = 1
	b.mustRun(t, req)
	b.wantResult(t, 1, 502, "job execute timeout ")
	waitUntilIdle(t, b, req.JobID)
	if err := b.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if n := len(b.admin.Callbacks()); n != 1 {
		t.Errorf("%d results", n)
	}
}

func TestANewSourceReplacesTheOldFile(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for i, source := range []string{"echo one", "echo two", "echo three"} {
		id := int64(i + 1)
		req := script(id, wire.GlueShell, source)
		req.JobID, req.GlueUpdateTime = 7, []int64{1, 2, 2}[i] // the third has the time of the second
		b.mustRun(t, req)
		b.wantResult(t, id, 200, "")
		if text := b.log(t, req); !strings.Contains(text, strings.Fields(source)[1]+"\n") {
			t.Errorf("run %d: %s", id, text)
		}
	}
	out, _ := exec.Command("ls", b.DataDir()+"/gluesource").Output()
	if got := strings.TrimSpace(string(out)); got != "7_2.sh" {
		t.Errorf("files left: %q", got)
	}
}

// A kill leaves files that nobody reads any more: the next start takes them away.
func TestAStartRemovesWhatAKillLeft(t *testing.T) {
	t.Parallel()
	var dir string
	b := setup(t, nil, func(c *executor.Config) {
		dir = filepath.Join(c.DataDir, "gluesource")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{".output-12", ".7_2.sh.tmp", "7_1.sh"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	entries, err := os.ReadDir(b.DataDir() + "/gluesource")
	if err != nil || len(entries) != 1 || entries[0].Name() != "7_1.sh" {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// waitForText follows a run's log until it contains text.
func waitForText(t *testing.T, b *bundle, req *wire.RunRequest, text string) {
	t.Helper()
	poll(t, text, func(ctx context.Context) bool { return strings.Contains(b.log(t, req), text+"\n") })
}

func waitUntilIdle(t *testing.T, b *bundle, jobID int64) {
	t.Helper()
	poll(t, "idle job", func(ctx context.Context) bool {
		answer, err := b.client.IdleBeat(ctx, b.Target(), wire.IdleBeatRequest{JobID: jobID})
		return err == nil && answer.OK()
	})
}

// poll asks another process's state again and again, there being nothing that would tell us of its change.
func poll(t *testing.T, what string, ok func(context.Context) bool) {
	t.Helper()
	executortest.Eventually(t, what, func() error {
		if !ok(t.Context()) {
			return executortest.ErrNotYet
		}
		return nil
	})
}
