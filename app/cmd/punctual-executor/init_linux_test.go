package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/punctual-job/punctual/executor/executortest"
)

// TestTheFirstProcessOfAContainerReapsWhatScriptsLeave: the kernel gives it what has lost its parent, and it has no other to look after that.
func TestTheFirstProcessOfAContainerReapsWhatScriptsLeave(t *testing.T) {
	t.Parallel()
	admin := executortest.NewAdmin(t)
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if os.Getuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	}
	p := startProgramIn(t, attr, t.TempDir(), admin.URL, "--log-retention-days=0")
	if answer := p.run(t, script(1, "(sleep 0.1 &)\nsleep 1")); !answer.OK() {
		t.Fatal(answer)
	}
	if cb := admin.Result(t, 1); cb.HandleCode != 200 {
		t.Fatalf("its result is %d %q", cb.HandleCode, cb.HandleMsg)
	}
	poll(t, "end without a trace", func(context.Context) bool { return len(zombies(t, p.cmd.Process.Pid)) == 0 })
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("asked to end, it ended with %v", err)
	}
}

// zombies are the children of a process that have ended and are waited for by nobody.
func zombies(t *testing.T, parent int) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		t.Fatalf("no processes: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		_, after, _ := strings.Cut(string(text), ") ")
		var state string
		var ppid int
		if n, _ := fmt.Sscan(after, &state, &ppid); n == 2 && ppid == parent && state == "Z" {
			found = append(found, file)
		}
	}
	return found
}
