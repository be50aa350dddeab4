package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// testContext is that of what all tests share.
var testContext = context.Background()

var cleanups []func()

func TestMain(m *testing.M) {
	code := m.Run()
	for _, clean := range cleanups {
		clean()
	}
	os.Exit(code)
}

// freePort is a port that nobody gets by chance before its program is there: it lies below the range from which systems take ports.
func freePort(t *testing.T) string {
	t.Helper()
	for range 200 {
		port := strconv.Itoa(20000 + rand.IntN(12000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return ""
}

// inRoot is a program in another root directory, as the user of the images.
func inRoot(root string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Dir = env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser}}
	return cmd
}

// process is a program that runs until it is stopped.
type process struct {
	cmd  *exec.Cmd
	said output
}

// output is what a program has said so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func startIn(t *testing.T, root string, env []string, args ...string) *process {
	t.Helper()
	return start(t, inRoot(root, env, args...))
}

func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd}
	cmd.Stdout, cmd.Stderr = &p.said, &p.said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", cmd.Args[0], p.said.String())
		}
	})
	return p
}

func (p *process) waitFor(t *testing.T, text string) {
	t.Helper()
	waitUntil(t, text, func() bool { return strings.Contains(p.said.String(), text) })
}

func waitUntil(t *testing.T, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !true(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the end of %s: %v", p.cmd.Args[0], err)
	}
}
