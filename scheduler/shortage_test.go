package scheduler

import (
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// outOfFiles is what a call comes to where nothing more can be opened.
var outOfFiles = &wire.CallError{Stage: wire.StageDial, Err: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}}

// short has executors that cannot be called, as long as it is set.
func (b *bundle) short(of *atomic.Bool) {
	answer := func() (wire.Answer, error) {
		if of.Load() {
			return wire.Answer{}, outOfFiles
		}
		return yes, nil
	}
	b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) { return answer() }
	b.executors.beat = func(string) (wire.Answer, error) { return answer() }
	b.executors.idle = func(string) (wire.Answer, error) { return answer() }
	b.executors.log = func(string) error { _, err := answer(); return err }
}

// TestNoRunFailsForWantOfFiles: it waits, whichever way its executor is chosen, and also if another admin may have sent it.
func TestNoRunFailsForWantOfFiles(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.AskAfter = time.Hour }, addressA, addressB)
		var short atomic.Bool
		short.Store(true)
		b.short(&short)
		runs := make(map[string]int64)
		for name, of := range map[string]jobspec.Route{"first": jobspec.RouteFirst, "failover": jobspec.RouteFailover, "busyover": jobspec.RouteBusyover} {
			job := b.addJob(func(p *db.InsertJobParams) { p.ExecutorRouteStrategy, p.ExecutorFailRetryCount = of, 3 })
			runs[name] = b.trigger(job)
		}
		for name, address := range map[string]string{"taken over": "", "taken over, to one": addressB} {
			job := b.addJob(nil)
			dead := db.Node{Name: "dead", ID: b.deadNode(db.NewRun{JobID: job, PlannedAt: time.Now().UnixMilli(), Type: jobspec.TriggerCron, Address: address})}
			runs[name] = b.runsOf(job)[0].ID
			if err := b.engine.takeOver(t.Context(), dead); err != nil {
				t.Fatal(err)
			}
		}
		b.await("it says so", func() bool { return b.stands(ConditionShort) })
		b.ready(ConditionShort)
		if !b.engine.stuck() {
			t.Error("it does not leave its share to others")
		}
		b.engine.sweepBeats(t.Context())
		for name, id := range runs {
			if r := b.run(id); r.TriggerCode != 0 || r.Outcome != event.Open {
				t.Errorf("%s: code %d, %v: %s", name, r.TriggerCode, r.Outcome, b.eventsOf(id))
			}
		}
		if usable := b.engine.directory.usable(b.engine.directory.get(b.group), []string{addressA, addressB}); len(usable) != 2 {
			t.Errorf("only %v count as there", usable)
		}
		short.Store(false)
		for name, id := range runs {
			b.await(name+" is sent", func() bool { return b.run(id).TriggerCode == wire.CodeSuccess })
			if n := len(b.runsOf(b.run(id).JobID)); n != 1 {
				t.Errorf("%s: %d attempts", name, n)
			}
		}
		b.await("it is over", func() bool { return !b.stands(ConditionShort) && !b.engine.stuck() })
		b.ready("")
	})
}

// TestNoRunIsLostForWantOfFiles: an executor that cannot be asked for it is not one that is gone.
func TestNoRunIsLostForWantOfFiles(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil, addressA)
	id := b.trigger(b.addJob(nil))
	b.await("it is sent", func() bool { return b.run(id).TriggerCode == wire.CodeSuccess })
	q := question{group: b.group, address: addressA, job: b.run(id).JobID}
	for want, err := range map[int]error{0: outOfFiles, 1: &wire.CallError{Stage: wire.StageDial, Err: syscall.ECONNREFUSED}} {
		b.executors.idle = func(string) (wire.Answer, error) { return wire.Answer{}, err }
		if signs := b.engine.ask(t.Context(), []question{q}); len(signs) != want {
			t.Errorf("%v is taken for %v", err, signs)
		}
	}
}
