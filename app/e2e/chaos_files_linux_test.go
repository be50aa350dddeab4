package e2e

import (
	"os/exec"
	"strconv"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
)

// files has a process open nothing more, until undo is called: nothing is given a number above those of its input and outputs.
func (p *process) files(t *testing.T) (undo func()) {
	t.Helper()
	limit := func(n string) {
		if out, err := exec.Command("prlimit", "--pid", strconv.Itoa(p.cmd.Process.Pid), "--nofile="+n+":").CombinedOutput(); err != nil {
			t.Fatalf("prlimit: %v: %s", err, out)
		}
	}
	limit("3")
	return func() { limit("1024") }
}

// TestAnAdminThatCanOpenNothing has an admin open nothing more when the load begins, so that it can call no executor.
func TestAnAdminThatCanOpenNothing(t *testing.T) {
	waits(t)
	l := newLoad(t, db.SQLite, 1, 50, 12)
	l.unsent = 0
	var undo func()
	a := l.startCalm(t, l.database.settings(), func(a *admin) { undo = a.files(t) })
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
