package scheduler

import (
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestARunIsGivenUpAfterOneSignForLong: another sign in between, or one of life, begins the waiting anew.
func TestARunIsGivenUpAfterOneSignForLong(t *testing.T) {
	t.Parallel()
	const lost = 40 * time.Second
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		b := setup(t, pool, func(c *Config) {
			clock.rule(c)
			c.SweepEvery, c.LostAfter, c.IdleAfter = time.Hour, lost, 10*time.Second
		}, addressA)
		job := b.addJob(nil)
		run := b.trigger(job)
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
		q := question{group: b.group, job: job, address: addressA}
		runs := map[question][]int64{q: {run}}
		var s sweeper
		for i, step := range []struct {
			after  time.Duration
			answer wire.Answer
			err    error
			lost   bool
		}{
			{0, yes, errRefused, false},
			{lost - time.Millisecond, yes, errRefused, false},
			{0, wire.Answer{Code: 500, Msg: "busy"}, nil, false},
			{lost, yes, errRefused, false},
			{lost - time.Millisecond, yes, errRefused, false},
			{time.Millisecond, yes, errSlow, false},
			{4*lost - time.Millisecond, yes, errSlow, false},
			{time.Millisecond, yes, errSlow, true},
		} {
			clock.pass(step.after)
			b.executors.idle = func(string) (wire.Answer, error) { return step.answer, step.err }
			b.engine.judge(t.Context(), &s, []question{q}, runs)
			if got := b.run(run).Outcome == event.Lost; got != step.lost {
				t.Fatalf("look %d: given up %v, want %v", i, got, step.lost)
			}
		}
		if len(s.watch) != 0 {
			t.Errorf("it is watched still: %v", s.watch)
		}
	})
}

// TestASlotOfARunThatCouldNotBeSentIsFree for the next at once, and not only when the sweep finds it.
func TestASlotOfARunThatCouldNotBeSentIsFree(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		b.executors.run = func(_ wire.Target, _ *wire.RunRequest) (wire.Answer, error) {
			return wire.Answer{Code: 500, Msg: "no"}, nil
		}
		job := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = 1 })
		for range 3 {
			b.trigger(job)
		}
		b.await("each has had its turn", func() bool { return b.countRuns("trigger_code = 500") == 3 })
	})
}

// TestARetryChoosesItsExecutorByTheRoute, and not by the shard, which only the runs of a broadcast have.
func TestARetryChoosesItsExecutorByTheRoute(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA, addressB)
		b.executors.run = func(_ wire.Target, _ *wire.RunRequest) (wire.Answer, error) {
			return wire.Answer{Code: 500, Msg: "no"}, nil
		}
		for route, want := range map[jobspec.Route][]string{
			jobspec.RouteLast: {addressB, addressB}, jobspec.RouteShardingBroadcast: {addressA, addressA, addressB, addressB},
		} {
			job := b.addJob(func(p *db.InsertJobParams) { p.ExecutorRouteStrategy, p.ExecutorFailRetryCount = route, 1 })
			b.trigger(job)
			var got []string
			b.await("all are refused", func() bool {
				got = nil
				for _, r := range b.runsOf(job) {
					if r.TriggerCode != 0 {
						got = append(got, string(r.ExecutorAddress))
					}
				}
				return len(got) == len(want)
			})
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s: sent to %v, want %v", route, got, want)
			}
		}
	})
}

// TestAShardOfAGroupThatBecameSmaller goes to the first that is left, as in XXL-JOB, and the others to their own.
func TestAShardOfAGroupThatBecameSmaller(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil, addressA, addressB)
	j := &job{id: 1, group: b.group, route: jobspec.RouteShardingBroadcast}
	for index, want := range []string{addressA, addressB, addressA} {
		runs := b.engine.newRuns(j, cause{trigger: jobspec.TriggerRetry, planned: time.Now(), shard: wireShard{Index: index, Total: 3}})
		if len(runs) != 1 || runs[0].address != want || !runs[0].pinned || runs[0].shard.Index != index {
			t.Errorf("shard %d goes to %+v, want %s", index, runs[0], want)
		}
	}
}

// TestTheRetryOfALostRunLooksBack: what it repeats may have been done all the same. So may what a retry repeats.
func TestTheRetryOfALostRunLooksBack(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil, addressA)
	for _, tt := range []struct {
		given   event.Outcome
		trigger jobspec.TriggerType
		want    bool
	}{{event.Open, jobspec.TriggerCron, false}, {event.Lost, jobspec.TriggerCron, true}, {event.Open, jobspec.TriggerRetry, true}} {
		f := &following{alarm: make(map[int64]int64), retried: make(map[int64]bool), of: make(map[int64][]*dispatch)}
		r := &db.ListRunsToEndRow{ID: 7, ExecutorFailRetryCount: 1, TriggerType: tt.trigger}
		b.engine.followFailure(f, r, &job{id: 1, group: b.group, retries: 1, route: jobspec.RouteFirst}, &finishing{given: tt.given})
		if len(f.runs) != 1 || f.runs[0].recheck != tt.want || !f.retried[7] {
			t.Errorf("of a %s run that ended as %v: looks back %v, want %v", tt.trigger, tt.given, f.runs[0].recheck, tt.want)
		}
	}
}

func TestClaimsAreSignedWithTheNodeOfNow(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	first := b.engine.signature()
	b.engine.signed.Store(&signature{node: b.engine.node.ID() - 1, args: []string{"before it was declared gone"}})
	if got := b.engine.signature(); !slices.Equal(got, first) || len(got) != 2 {
		t.Errorf("signed %q, want %q", got, first)
	}
	if got := b.engine.signature(); &got[0] != &b.engine.signed.Load().args[0] {
		t.Error("it is made anew for each claim")
	}
}
