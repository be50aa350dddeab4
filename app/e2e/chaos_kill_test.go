package e2e

import (
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
)

// somewhen is a random moment of a second, which the log tells.
func somewhen(t *testing.T, second float64) float64 {
	t.Helper()
	at := second + rand.Float64()
	t.Logf("kill at %.3f s", at)
	return at
}

// TestKillOneOfTwoAdmins kills admins of a cluster at random moments under load, while a program is told of every run.
func TestKillOneOfTwoAdmins(t *testing.T) {
	waits(t)
	d := newDatabase(t, db.MySQL)
	told := newTold(t, d)
	l := newLoadOn(t, d, 2, 400, 22)
	l.keepAll(t)
	admins := []*admin{l.start(t, 0), l.start(t, 1)}
	var kills []time.Time
	kill := func(i int) {
		kills = append(kills, time.Now())
		admins[i].kill()
	}
	l.at(t, somewhen(t, 2))
	kill(0)
	l.at(t, 8.5) // the other has taken over
	admins[0] = l.start(t, 0)
	l.at(t, somewhen(t, 10))
	kill(1)
	admins[1] = l.start(t, 1) // at once, when nobody has noticed yet
	l.at(t, somewhen(t, 16))  // what was left has been taken over by now
	kill(1)
	l.account(t)
	told.account(t, d)
	l.accountOutputs(t)
	l.takeovers(t, kills)
	admins[0].noPanic(t)
}

// TestKillOnlyAdmin kills the only admin of an embedded database at random moments under load, and starts it again: at
// once, and once so late that fires are missed.
func TestKillOnlyAdmin(t *testing.T) {
	waits(t)
	l := newLoad(t, db.SQLite, 1, 250, 18)
	l.keepAll(t)
	a := l.start(t, 0)
	for _, second := range []float64{1, 3, 5} {
		l.at(t, somewhen(t, second))
		a.kill()
		a = l.start(t, 0)
	}
	l.at(t, somewhen(t, 7))
	a.kill()
	l.at(t, 15.5)
	a = l.start(t, 0)
	l.account(t)
	l.accountOutputs(t)
	a.noPanic(t)
}

// TestDrainUnderLoad stops admins in order under load and starts them again.
func TestDrainUnderLoad(t *testing.T) {
	t.Parallel()
	for _, dialect := range []db.Dialect{db.SQLite, db.MySQL} {
		t.Run(string(dialect), func(t *testing.T) {
			waits(t)
			l := newLoad(t, dialect, 1, 250, 8)
			a := l.start(t, 0)
			for i, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
				l.at(t, 1+3*float64(i))
				if err := a.signal(t, sig); err != nil {
					t.Errorf("after %v: %v", sig, err)
				}
				if n := l.database.count(t, "SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code = 0"); n != 0 {
					t.Errorf("%d runs were claimed and not sent when the admin had drained", n)
				}
				a.noPanic(t)
				a = l.start(t, 0)
			}
			l.account(t)
			a.noPanic(t)
		})
	}
}
