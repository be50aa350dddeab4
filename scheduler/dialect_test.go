package scheduler

import (
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
)

func TestExecutorsOfBothErasAreServedAndRemembered(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		b.executors.run = func(to wire.Target, _ *wire.RunRequest) (wire.Answer, error) {
			if to.Dialect != wire.DialectTrigger {
				return wire.Answer{Code: 500, Msg: "invalid request, uri-mapping(/run) not found."}, nil
			}
			return yes, nil
		}
		id := b.addJob(nil)
		for n := 1; n <= 2; n++ {
			run := b.trigger(id)
			b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
		}
		if n := len(b.executors.received()); n != 3 {
			t.Errorf("%d calls for two runs, want 3: one to find out", n)
		}
		if states := b.engine.Addresses(b.group); len(states) != 1 || states[0].Era != "J4" {
			t.Errorf("states %+v", states)
		}
		if err := b.engine.SawDialect(t.Context(), "orders", addressA, wire.DialectRun); err != nil {
			t.Fatal(err)
		}
		if to := b.engine.target(b.group, addressA); to.Dialect != wire.DialectRun {
			t.Error("a registration of the other era was not taken in")
		}
	})
}

func TestAnAddressOutOfRotationGetsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA, addressB)
		if err := b.engine.SetAddressDisabled(t.Context(), b.group, addressA, true); err != nil {
			t.Fatal(err)
		}
		run := b.trigger(b.addJob(nil)) // FIRST
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
		if a := string(b.run(run).ExecutorAddress); a != addressB {
			t.Errorf("sent to %s", a)
		}
		if states := b.engine.Addresses(b.group); len(states) != 2 || !states[0].Disabled || states[1].Disabled {
			t.Errorf("states %+v", states)
		}
	})
}
