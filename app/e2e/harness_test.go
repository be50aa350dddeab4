package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/views/login"
)

var patience = executortest.Patience

const (
	testToken    = "e2e-token"
	testPassword = "e2e-password-1"
)

// programs are the binaries under test, built once for the test binary.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "punctual-e2e")
	if err != nil {
		return "", err
	}
	builtIn = dir
	build := exec.Command("go", "build", "-o", dir, "../cmd/punctual", "../cmd/punctual-executor")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return dir, nil
})

var builtIn string // the folder to remove at the end; empty when no test needed the programs

func TestMain(m *testing.M) {
	flag.Parse()
	if err := allAtOnce(); err != nil {
		panic(err)
	}
	code := m.Run()
	if builtIn != "" {
		os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

// program is the path of punctual or punctual-executor.
func program(t testing.TB, name string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// process is a program that runs.
type process struct {
	cmd    *exec.Cmd
	stdout executortest.Output
	stderr executortest.Output // the log
	reads  *os.File            // where that is read from
	ended  chan struct{}
	err    error // of its end; read after ended
}

// hangUp ends the reading of the program's log.
func (p *process) hangUp() { _ = p.reads.Close() }

// startProcess starts a program with these variables added to a clean environment. It is killed when the test ends, and
// what it logged is shown if the test failed.
func startProcess(t testing.TB, path string, env []string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(path, args...), ended: make(chan struct{})}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PUNCTUAL_") {
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	p.cmd.Env = append(p.cmd.Env, env...)
	reads, writes, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.reads, p.cmd.Stdout, p.cmd.Stderr = reads, &p.stdout, writes
	dieWithTest(p.cmd)
	err = p.cmd.Start()
	_ = writes.Close() // the program has its own
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&p.stderr, reads)
		p.hangUp()
	}()
	go func() {
		p.err = p.cmd.Wait()
		<-read
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			log := p.stderr.String()
			t.Logf("the end of what %s %d logged:\n%s", filepath.Base(path), p.cmd.Process.Pid, log[max(0, len(log)-4000):])
		}
	})
	return p
}

// kill ends the program as a crash would, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	<-p.ended
}

// signal asks the program to end and returns its error when it has.
func (p *process) signal(t testing.TB, sig os.Signal) error {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
		return p.err
	case <-time.After(patience):
		t.Fatalf("%s does not end", p.cmd.Path)
		return nil
	}
}

// terminate ends the program in order; it must end with exit code 0.
func (p *process) terminate(t testing.TB) {
	t.Helper()
	if err := p.signal(t, syscall.SIGTERM); err != nil {
		t.Errorf("%s after SIGTERM: %v", filepath.Base(p.cmd.Path), err)
	}
}

// admin is a running punctual.
type admin struct {
	*process
	url  string
	port string
}

// adminSettings is how an admin is started. Two with the same database are a cluster; a port that is given again makes a
// restart.
type adminSettings struct {
	databaseURL string   // empty: the embedded one in dataDir
	dataDir     string   // default: a new one
	port        string   // default: a free one
	program     string   // default: the one under test
	env         []string // more PUNCTUAL_… variables; they override
}

// startAdmin starts punctual and waits until it is ready.
func startAdmin(t testing.TB, s adminSettings) *admin {
	t.Helper()
	a := launchAdmin(t, s)
	a.waitReady(t)
	return a
}

// launchAdmin starts punctual and does not wait.
func launchAdmin(t testing.TB, s adminSettings) *admin {
	t.Helper()
	if s.port == "" {
		s.port = executortest.FreePort(t)
	}
	if s.dataDir == "" {
		s.dataDir = t.TempDir()
	}
	return &admin{process: startProcess(t, cmp.Or(s.program, program(t, "punctual")), s.environment()), url: "http://127.0.0.1:" + s.port, port: s.port}
}

// environment is the settings as variables.
func (s adminSettings) environment() []string {
	return append([]string{
		"PUNCTUAL_LISTEN=127.0.0.1:" + s.port, "PUNCTUAL_DATABASE_URL=" + s.databaseURL, "PUNCTUAL_DATA_DIR=" + s.dataDir,
		"PUNCTUAL_ACCESS_TOKEN=" + testToken, "PUNCTUAL_ADMIN_PASSWORD=" + testPassword, "PUNCTUAL_SAMPLE=off", "PUNCTUAL_HTTP_JOBS=off", "PUNCTUAL_TIME_ZONE=UTC",
	}, s.env...)
}

func (a *admin) waitReady(t testing.TB) {
	t.Helper()
	eventually(t, "admin ready", func() error {
		select {
		case <-a.ended:
			t.Fatalf("punctual ended at its start: %v\n%s", a.err, a.stderr.String())
		default:
		}
		if code := a.status("/readyz"); code != http.StatusOK {
			return fmt.Errorf("readyz answers %d", code)
		}
		if !strings.Contains(a.stdout.String(), "Punctual is running") { // with the first password, shortly after
			return errNotYet
		}
		return nil
	})
}

// waitUnready waits until the admin says that it does not schedule, as one that lives all the same.
func (a *admin) waitUnready(t testing.TB) {
	t.Helper()
	eventually(t, "no from readyz", func() error {
		if a.status("/readyz") != http.StatusServiceUnavailable {
			return errNotYet
		}
		return nil
	})
	if code := a.status("/healthz"); code != http.StatusOK {
		t.Errorf("healthz answers %d meanwhile: the process would be killed for nothing", code)
	}
}

// status is the HTTP status of a GET without a session; 0 when there is no answer.
func (a *admin) status(path string) int {
	client := http.Client{Timeout: patience}
	r, err := client.Get(a.url + path)
	if err != nil {
		return 0
	}
	defer r.Body.Close()
	return r.StatusCode
}

// noPanic fails the test if a request or the engine panicked, or a request ended with an internal error.
func (a *admin) noPanic(t testing.TB) {
	t.Helper()
	for line := range strings.Lines(a.stderr.String()) {
		if strings.Contains(line, "panic") || strings.Contains(line, "goroutine ") || strings.Contains(line, "level=ERROR") {
			t.Errorf("in the log: %s", line)
		}
	}
}

// session is somebody who is logged in, over HTTP.
type session struct {
	http.Client // does not follow redirects
	url         string
}

// login opens a session of the administrator; password is testPassword unless it was chosen otherwise.
func (a *admin) login(t testing.TB, password string) *session {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{url: a.url}
	s.Jar = jar
	s.Timeout = 30 * time.Second
	s.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	code, body, header := s.post(t, "/login", url.Values{login.FieldName: {"admin"}, login.FieldPassword: {password}})
	if code != http.StatusSeeOther {
		t.Fatalf("login: status %d\n%s", code, body)
	}
	if at := header.Get("Location"); strings.HasPrefix(at, "/login") {
		t.Fatalf("login leads to %s", at)
	}
	return s
}

// get reads a page.
func (s *session) get(t testing.TB, path string) (code int, body string) {
	t.Helper()
	r, err := s.Get(s.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// post sends a form as a browser without JavaScript does.
func (s *session) post(t testing.TB, path string, form url.Values) (code int, body string, header http.Header) {
	t.Helper()
	r, err := s.PostForm(s.url+path, form)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b), r.Header
}

// must fails the test unless a form was accepted, which answers with a redirect.
func (s *session) must(t testing.TB, path string, form url.Values) http.Header {
	t.Helper()
	code, body, header := s.post(t, path, form)
	if code != http.StatusSeeOther {
		t.Fatalf("POST %s: status %d\n%s", path, code, body)
	}
	return header
}

// executorSettings is how a punctual-executor is started.
type executorSettings struct {
	admins  []string // their URLs
	appName string
	port    string   // default: a free one
	dataDir string   // default: a new one
	pull    string   // the name of one that listens nowhere; empty: it listens
	env     []string // more PUNCTUAL_EXECUTOR_… variables; they override
}

// executorProcess is a running punctual-executor.
type executorProcess struct {
	*process
	url      string
	settings executorSettings
}

// startExecutor starts punctual-executor and waits until it answers.
func startExecutor(t testing.TB, s executorSettings) *executorProcess {
	t.Helper()
	if s.port == "" {
		s.port = executortest.FreePort(t)
	}
	if s.dataDir == "" {
		s.dataDir = t.TempDir()
	}
	address := "http://127.0.0.1:" + s.port + "/"
	env := append([]string{
		"PUNCTUAL_EXECUTOR_ADMIN=" + strings.Join(s.admins, ","), "PUNCTUAL_EXECUTOR_APP_NAME=" + s.appName,
		"PUNCTUAL_EXECUTOR_ACCESS_TOKEN=" + testToken, "PUNCTUAL_EXECUTOR_LISTEN=127.0.0.1:" + s.port,
		"PUNCTUAL_EXECUTOR_ADDRESS=" + address, "PUNCTUAL_EXECUTOR_DATA_DIR=" + s.dataDir,
	}, s.env...)
	if s.pull != "" {
		env = append([]string{
			"PUNCTUAL_EXECUTOR_ADMIN=" + strings.Join(s.admins, ","), "PUNCTUAL_EXECUTOR_APP_NAME=" + s.appName, "PUNCTUAL_EXECUTOR_ACCESS_TOKEN=" + testToken,
			"PUNCTUAL_EXECUTOR_DATA_DIR=" + s.dataDir, "PUNCTUAL_EXECUTOR_PULL=true", "PUNCTUAL_EXECUTOR_NAME=" + s.pull,
		}, s.env...)
		return &executorProcess{process: startProcess(t, program(t, "punctual-executor"), env), url: "pull://" + s.pull, settings: s}
	}
	x := &executorProcess{process: startProcess(t, program(t, "punctual-executor"), env), url: address, settings: s}
	eventually(t, "executor listening", func() error {
		select {
		case <-x.ended:
			t.Fatalf("punctual-executor ended at its start: %v\n%s", x.err, x.stderr.String())
		default:
		}
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+s.port, time.Second)
		if err == nil {
			conn.Close()
		}
		return err
	})
	return x
}

// errNotYet is for [eventually], where there is no more to say.
var errNotYet = executortest.ErrNotYet

func eventually(t testing.TB, what string, ask func() error) {
	t.Helper()
	executortest.Eventually(t, what, ask)
}

// until waits for a planned moment of a story. Time is part of what these tests are about: they kill in the middle of
// a load that lasts.
func until(t testing.TB, at time.Time) {
	t.Helper()
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal("the test ended")
	}
}
