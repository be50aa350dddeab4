package scheduler

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
)

// TestAnExecutorOfOursIsToldWhichAdminSends, where there are several, so that the result of the run takes along what that admin has to write
// of its sending.
func TestAnExecutorOfOursIsToldWhichAdminSends(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.MySQL), func(c *Config) { shortLease(c); c.CarryFor = time.Hour }, addressA)
	entry := wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: addressA}
	job := b.addJob(nil)
	node := func(takes bool) int64 {
		t.Helper()
		entry.TakesEnvironment = takes
		if err := b.engine.Register(t.Context(), entry); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.directory.reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		run := b.trigger(job)
		b.await("it is called", func() bool { return len(b.sentFor(run)) == 1 })
		if err := b.engine.Complete(t.Context(), []wire.Callback{{LogID: run, HandleCode: wire.CodeSuccess}}); err != nil {
			t.Fatal(err)
		}
		return b.sentFor(run)[0].Node
	}
	if got := node(true); got != 0 || b.engine.Sender() != 0 {
		t.Errorf("the only admin is told as %d, and calls itself %d", got, b.engine.Sender())
	}
	two := b.second(shortLease)
	b.await("they know each other", func() bool { return b.engine.Others() && two.Others() })
	if got := node(false); got != 0 {
		t.Errorf("an executor of XXL-JOB is told %d", got)
	}
	if got := node(true); got == 0 || got != b.engine.Sender() || got == two.Sender() || got != b.engine.node.ID() {
		t.Errorf("it is told %d; the admins call themselves %d and %d", got, b.engine.Sender(), two.Sender())
	}
	if carried := counter(t, b.engine, "record_carried_total", ""); carried != 3 {
		t.Errorf("%v results took along what became of the sending, want 3", carried)
	}
}
