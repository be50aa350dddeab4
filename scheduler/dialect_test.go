package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
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

// TestRunsThatSharedACallAreAskedForTogetherInTheOtherDialect: an executor of 3.5 may have the address of one of ours since, and one after the other they
// would have the time of one call.
func TestRunsThatSharedACallAreAskedForTogetherInTheOtherDialect(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), alone, addressA)
	b.executors.takes = true
	b.executors.run = func(to wire.Target, req *wire.RunRequest) (wire.Answer, error) {
		if to.Dialect != wire.DialectTrigger && req.LogID != 2 {
			return wire.Answer{Code: 500, Msg: "invalid request, uri-mapping(/run) not found."}, nil
		}
		return wire.Answer{Code: int(200 + req.LogID)}, nil
	}
	runs := make([]leaving, 4)
	for i := range runs {
		runs[i] = leaving{d: &dispatch{id: int64(i), address: addressA, job: &job{group: b.group}}, req: wire.RunRequest{LogID: int64(i)}}
	}
	for i, told := range b.engine.run(t.Context(), runs) {
		if told.Err != nil || told.Answer.Code != 200+i {
			t.Errorf("run %d: %+v", i, told)
		}
	}
	if got := b.executors.calls; !slices.Equal(got, []int{4, 3}) {
		t.Errorf("calls of %v runs, want one of all and one of those that were not understood", got)
	}
	if to := b.engine.target(b.group, addressA); to.Dialect != wire.DialectTrigger {
		t.Error("the dialect was not noted")
	}
}

// TestABeatOfANameWithoutAGroupReadsNothing: thousands of executors may come before their group is made, or after it is gone.
func TestABeatOfANameWithoutAGroupReadsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		beat := func(ctx context.Context) {
			t.Helper()
			if err := b.engine.RegisterWith(ctx, wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "Nobodys", RegistryValue: addressB}, "token"); err != nil {
				t.Fatal(err)
			}
			if err := b.engine.SawDialect(ctx, "Nobodys", addressB, wire.DialectTrigger); err != nil {
				t.Fatal(err)
			}
		}
		beat(t.Context())
		b.engine.directory.reloading <- struct{}{} // who reads waits
		defer func() { <-b.engine.directory.reloading }()
		limited, cancel := context.WithTimeout(t.Context(), executortest.Patience)
		defer cancel()
		beat(limited)
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

// TestAnAddressStaysInRotationIfNothingElseOfTheChangeIsKept: what people do and its entry in the audit log are one.
func TestAnAddressStaysInRotationIfNothingElseOfTheChangeIsKept(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		for _, fails := range []error{errors.New("no room"), nil} {
			err := pool.Together(t.Context(), func(ctx context.Context) error {
				if err := b.engine.SetAddressDisabled(ctx, b.group, addressA, true); err != nil {
					return err
				}
				return fails
			})
			if !errors.Is(err, fails) {
				t.Fatal(err)
			}
			if states := b.engine.Addresses(b.group); len(states) != 1 || states[0].Disabled == (fails != nil) {
				t.Errorf("%v: %+v", fails, states)
			}
		}
	})
}

func TestExecutorsThatAreTooOldArePassedOver(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA, addressB)
		b.executors.run = func(to wire.Target, _ *wire.RunRequest) (wire.Answer, error) {
			if to.Address == addressA {
				return wire.Answer{}, &wire.CallError{Stage: wire.StageDecode, Err: wire.ErrTooOld}
			}
			return yes, nil
		}
		var upgraded atomic.Bool
		b.executors.mu.Lock()
		b.executors.beat = func(address string) (wire.Answer, error) {
			if address == addressA && !upgraded.Load() {
				return wire.Answer{}, &wire.CallError{Stage: wire.StageDecode, Err: wire.ErrTooOld}
			}
			return yes, nil
		}
		b.executors.mu.Unlock()
		job := b.addJob(nil) // FIRST
		if got := b.sentTo(job); !strings.HasSuffix(got, wire.ErrTooOld.Error()) {
			t.Errorf("the run that found it out ended with %q", got)
		}
		for range 2 {
			if got := b.sentTo(job); got != addressB {
				t.Errorf("sent to %s", got)
			}
		}
		if states := b.engine.Addresses(b.group); len(states) != 2 || !states[0].TooOld || states[1].TooOld {
			t.Errorf("states %+v", states)
		}
		if err := b.engine.Deregister(t.Context(), entry("orders", addressB)); err != nil {
			t.Fatal(err)
		}
		if got := b.sentTo(job); !strings.HasSuffix(got, wire.ErrTooOld.Error()) {
			t.Errorf("the run that has nobody else ended with %q", got)
		}
		upgraded.Store(true)
		b.await("it is trusted again", func() bool { return !b.engine.Addresses(b.group)[0].TooOld })
	})
}

func TestResultsOfRunsThatAreNotHereAreWarnedAbout(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		job := b.addJob(nil)
		run := b.trigger(job)
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
		b.addGroup("bills", addressB)
		done := func(id int64) wire.Callback { return wire.Callback{LogID: id, HandleCode: 200} }
		if err := b.engine.CompleteBy(t.Context(), Caller{Address: "10.1.2.3", AppName: "bills", Scope: "bills"}, nil, []wire.Callback{done(run)}); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.CompleteBy(t.Context(), Caller{Address: "10.1.2.4"}, nil, []wire.Callback{done(run), done(run + 1000)}); err != nil {
			t.Fatal(err)
		}
		calls, err := b.engine.RefusedCalls(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(calls) != 2 {
			t.Fatalf("refused calls: %+v", calls)
		}
		for _, c := range calls {
			if c.Why != RefusedRun || c.Count != 1 || c.Caller.Address == "10.1.2.3" != (c.Caller.AppName == "bills") {
				t.Errorf("refused: %+v", c)
			}
		}
		if r := b.run(run); r.HandleCode != 200 {
			t.Errorf("the run's own result was not taken: %d", r.HandleCode)
		}
	})
}
