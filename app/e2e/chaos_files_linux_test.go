package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
)

// files limits how many files a process may have open to so many as it has, until undo is called.
func (p *process) files(t *testing.T) (undo func()) {
	t.Helper()
	pid := p.cmd.Process.Pid
	limit := func(n string) {
		if out, err := exec.Command("prlimit", "--pid", strconv.Itoa(pid), "--nofile="+n+":").CombinedOutput(); err != nil {
			t.Fatalf("prlimit: %v: %s", err, out)
		}
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	limit(strconv.Itoa(len(open)))
	return func() { limit("1024") }
}

// TestAnAdminThatCanOpenNothing has all that an admin may open in use when the load begins, so that it can call no executor.
func TestAnAdminThatCanOpenNothing(t *testing.T) {
	waits(t)
	l := newLoad(t, db.SQLite, 1, 50, 12)
	l.unsent = 0
	a := l.start(t, 0)
	undo := a.files(t)
	l.at(t, 6)
	if n := l.executor.Stats().Accepted; n != 0 {
		t.Errorf("%d runs came to the executor", n)
	}
	undo()
	l.account(t)
	if n := l.database.count(t, "SELECT COUNT(*) FROM xxl_job_log WHERE outcome = ?", event.NotSent); n != 0 {
		t.Errorf("%d runs were not sent", n)
	}
	a.noPanic(t)
	a.terminate(t)
}
