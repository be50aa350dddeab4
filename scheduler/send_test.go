package scheduler

import (
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestARefusalIsStoredAsOne, whatever code an executor answers with.
func TestARefusalIsStoredAsOne(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]int{wire.CodeSuccess: wire.CodeFail, 0: wire.CodeFail, -1: wire.CodeFail, 1: 1, 404: 404, math.MaxInt32: math.MaxInt32} {
		if got := refusal(code); got != want {
			t.Errorf("%d: %d, want %d", code, got, want)
		}
	}
}

// TestAnAddressIsStoredWholeOrNotAtAll.
func TestAnAddressIsStoredWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for address, fits := range map[string]bool{strings.Repeat("界", maxAddress): true, strings.Repeat("a", maxAddress+1): false, "http://\xff/": false} {
		if got := storable(address); (got == address) != fits || !fits && got != "" {
			t.Errorf("%.20q of %d bytes: %.20q", address, len(address), got)
		}
	}
}

// TestAnExecutorThatSaysThatItHasHadARun which nobody has sent before refuses it: it may mean another of the same number.
func TestAnExecutorThatSaysThatItHasHadARun(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			return wire.Answer{Code: 500, Msg: "repeat trigger job, logId:1"}, nil
		}
		run := b.trigger(b.addJob(nil))
		b.await("the answer is recorded", func() bool { return b.run(run).TriggerCode != 0 })
		if r := b.run(run); r.TriggerCode != 500 || r.Outcome != event.NotSent || !b.has(run, event.Refused) {
			t.Errorf("runs: %s", b.dump())
		}
	})
}

// TestAScriptThatIsEmptyIsNotSent: a new one waits for a second person, and an empty program would succeed.
func TestAScriptThatIsEmptyIsNotSent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		run := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.GlueType = wire.GlueShell }))
		b.await("it is known", func() bool { return b.run(run).TriggerCode != 0 })
		if !b.has(run, event.NoScript) || len(b.executors.received()) != 0 {
			t.Errorf("runs: %s", b.dump())
		}
	})
}

// TestAKindThatNobodyKnowsIsSaidByItsExecutor: that the script is empty, too, is not why the run failed.
func TestAKindThatNobodyKnowsIsSaidByItsExecutor(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		b.executors.run = func(_ wire.Target, r *wire.RunRequest) (wire.Answer, error) {
			return wire.Answer{Code: 500, Msg: "glueType[" + string(r.GlueType) + "] is not valid."}, nil
		}
		run := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.GlueType = "GLUE_COBOL" }))
		b.await("it is known", func() bool { return b.run(run).TriggerCode != 0 })
		if b.has(run, event.NoScript) || !strings.Contains(string(b.run(run).TriggerMsg), "glueType[GLUE_COBOL] is not valid.") {
			t.Errorf("runs: %s", b.dump())
		}
	})
}

// TestARunThatMayHaveComeStaysWithItsExecutor, also when that has left the group before it is sent again.
func TestARunThatMayHaveComeStaysWithItsExecutor(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.AskAfter, c.UnansweredFor = time.Hour, time.Hour }, addressA)
		b.executors.remembers = time.Hour
		var calls atomic.Int64
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			if calls.Add(1) == 1 {
				return wire.Answer{}, errSlow
			}
			return yes, nil
		}
		b.executors.log = func(string) error {
			b.register("orders", addressB)
			return b.engine.Deregister(t.Context(), entry("orders", addressA))
		}
		run := b.trigger(b.addJob(nil))
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
		var at []string
		for _, r := range b.executors.received() {
			at = append(at, r.to.Address)
		}
		if diff := cmp.Diff([]string{addressA, addressA}, at); diff != "" {
			t.Error(diff)
		}
	})
}

// TestWhyARunIsLate says one thing: what kept it last, and nothing of one that says already what it stands or waited for.
func TestWhyARunIsLate(t *testing.T) {
	t.Parallel()
	e := setup(t, dbtest.New(t, db.SQLite), alone, addressA).engine
	now := time.Now().Truncate(time.Millisecond)
	for name, tt := range map[string]struct {
		late   time.Duration
		change func(d *dispatch)
		want   string
	}{
		"in time":                          {late: lateAfter},
		"nobody knows why":                 {late: lateAfter + time.Millisecond, want: event.LateUnknown},
		"it stands for fires":              {late: time.Minute, change: func(d *dispatch) { d.trigger = jobspec.TriggerMisfire }},
		"it waited for its turn":           {late: time.Minute, change: func(d *dispatch) { d.waited = true }},
		"and then for the lease":           {late: time.Minute, change: func(d *dispatch) { d.waited, d.held = true, true }, want: event.LateLease},
		"and then for a socket":            {late: time.Minute, change: func(d *dispatch) { d.waited, d.short = true, true }, want: event.LateShort},
		"another admin had it":             {late: time.Minute, change: func(d *dispatch) { d.taken, d.called = true, now }, want: event.LateTakeover},
		"it was sent before":               {late: time.Minute, change: func(d *dispatch) { d.called, d.claimed = now, now }, want: event.LateAgain},
		"it was claimed late":              {late: time.Minute, change: func(d *dispatch) { d.claimed, d.fired = now, now.Add(-time.Minute) }, want: event.LateClaim},
		"it was claimed in time":           {late: time.Minute, change: func(d *dispatch) { d.claimed = d.planned.Add(lateAfter / 2) }, want: event.LateUnknown},
		"it waited at its executor":        {late: time.Minute, change: func(d *dispatch) { d.fired = now.Add(-lateAfter) }, want: event.LateQueue},
		"it hardly waited at its executor": {late: time.Minute, change: func(d *dispatch) { d.fired = now.Add(-lateAfter / 2) }, want: event.LateUnknown},
	} {
		d := &dispatch{job: &job{id: 1, group: 1}, planned: now.Add(-tt.late), claimed: now.Add(-tt.late), trigger: jobspec.TriggerCron}
		if tt.change != nil {
			tt.change(d)
		}
		e.noteLate(d, now.UnixMilli())
		got := ""
		if said, ok := d.events.Last(event.Late); ok {
			got = said.Text(1)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestAnExecutorThatAnotherAdminHeardOfFirstIsFound for a run that has none; not for a shard of a broadcast, which were counted when it was made.
func TestAnExecutorThatAnotherAdminHeardOfFirstIsFound(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		queries := db.New()
		group, err := queries.InsertGroup(t.Context(), pool, db.InsertGroupParams{AppName: "orders", Title: "orders"})
		if err != nil {
			t.Fatal(err)
		}
		now := pool.Wall(time.Now())
		if err := queries.InsertRegistry(t.Context(), pool, db.InsertRegistryParams{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: addressA, UpdateTime: nullTime(now)}); err != nil {
			t.Fatal(err)
		}
		for strategy, want := range map[jobspec.Route]string{jobspec.RouteFirst: addressA, jobspec.RouteShardingBroadcast: ""} {
			e, err := New(Config{Pool: pool, Executors: &fakeExecutors{}, Name: "admin-1", Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}) // it reads nothing by itself before it starts
			if err != nil {
				t.Fatal(err)
			}
			e.work = t.Context()
			d := &dispatch{id: 1, planned: time.Now(), job: &job{id: 1, group: group, route: strategy}}
			found := e.find(t.Context(), d)
			if _, none := d.events.Last(event.NoGroup); found != (want != "") || d.address != want || none == found {
				t.Errorf("%s: %v, at %q: %s", strategy, found, d.address, d.events)
			}
		}
	})
}
