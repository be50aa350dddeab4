package scheduler

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

func TestRefusedCallsAreWarnedAboutOnceAMinute(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	began := time.Now()
	now := began
	r := newRefusals(refusalsConfig{Logger: slog.New(slog.NewTextHandler(&out, nil)), Now: func() time.Time { return now }, Calls: newMetrics(nil).callsRefused})
	orders := Caller{Address: "10.1.2.3", AppName: "orders"}
	for i := range 121 {
		now = began.Add(time.Duration(i) * time.Second)
		r.add(orders, RefusedToken, []int64{int64(i)})
	}
	r.add(Caller{Address: "10.1.2.3", AppName: "bills"}, RefusedToken, nil)
	if n := strings.Count(out.String(), "group=orders"); n != 3 {
		t.Errorf("%d warnings in two minutes and a second, want 3:\n%s", n, out.String())
	}
	if n := strings.Count(out.String(), "group=bills"); n != 1 {
		t.Errorf("%d warnings about another group, want 1", n)
	}
	if n := testutil.ToFloat64(r.cfg.Calls.WithLabelValues("token")); n != 122 {
		t.Errorf("%v calls counted, want 122", n)
	}
	if got, ok := r.result(120); !ok || got.from != "10.1.2.3" || !got.at.Equal(began.Add(120*time.Second)) {
		t.Errorf("the refused result of run 120 is %+v, %t", got, ok)
	}
}

// TestAnUnknownNameIsWarnedAboutOnceAnHour, and no figure of refused calls, which wakes people, counts it.
func TestAnUnknownNameIsWarnedAboutOnceAnHour(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Now()
	r := newRefusals(refusalsConfig{Logger: slog.New(slog.NewTextHandler(&out, nil)), Now: func() time.Time { return now }, Calls: newMetrics(nil).callsRefused})
	for range 121 { // two hours of beats
		r.add(Caller{Address: "10.1.2.3", AppName: "ordres"}, RefusedUnknown, nil)
		now = now.Add(time.Minute)
	}
	if n := strings.Count(out.String(), "group=ordres"); n != 3 {
		t.Errorf("%d warnings in two hours, want 3:\n%s", n, out.String())
	}
	if n := testutil.CollectAndCount(r.cfg.Calls); n != 0 {
		t.Errorf("%d reasons are counted", n)
	}
}

func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newRefusals(refusalsConfig{Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }, Calls: newMetrics(nil).callsRefused})
	for i := range 3 * maxRefused {
		now = now.Add(time.Millisecond)
		ids := make([]int64, 100)
		for k := range ids {
			ids[k] = int64(100*i + k)
		}
		r.add(Caller{Address: fmt.Sprint(i)}, RefusedToken, ids)
	}
	if len(r.callers) > maxRefused || len(r.results) > maxRefusedIDs || len(r.order) > maxRefusedIDs {
		t.Errorf("%d callers and %d (%d) results are kept", len(r.callers), len(r.results), len(r.order))
	}
	newest := refusedKey{address: fmt.Sprint(3*maxRefused - 1), why: RefusedToken}
	if r.callers[newest] == nil {
		t.Error("the newest caller was not kept")
	}
	if _, ok := r.result(300*maxRefused - 1); !ok {
		t.Error("the newest refused result was not kept")
	}
}

func TestWhatOneAdminRefusesAllAdminsShow(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		oneClock := func(c *Config) { c.Clock = time.Now }
		b := setup(t, pool, func(c *Config) { quick(c); oneClock(c) }, addressA)
		other := newEngine(t, pool, b.executors, oneClock) // not started: it never swept
		began := time.Now().Truncate(time.Millisecond)     // as exactly as it is kept
		orders := Caller{Address: "10.1.2.3", AppName: "Orders"}
		calls := func(e *Engine) []RefusedCalls {
			list, err := e.RefusedCalls(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		var ids []int64
		for i := range 2 * savedRuns {
			ids = append(ids, int64(1000+i))
		}
		other.Refused(orders, RefusedToken, ids)
		other.Refused(Caller{Address: "10.1.2.3", AppName: "orders", Executor: "pull://a"}, RefusedToken, []int64{7})
		if got := calls(other); len(got) != 1 || got[0].Count != 2 {
			t.Errorf("the admin itself shows %+v", got)
		}
		if got := calls(b.engine); len(got) != 0 {
			t.Errorf("before it is written down, another admin shows %+v", got)
		}
		for range 2 { // the second has nothing to add
			if err := other.refusals.sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := calls(b.engine); len(got) != 1 || got[0].Caller.Executor != "pull://a" {
			t.Errorf("what is written down shows %+v", got)
		}
		b.engine.Refused(orders, RefusedToken, nil)
		for name, e := range map[string]*Engine{"the admin that was called": other, "another": b.engine} {
			b.await(name+" shows all calls", func() bool {
				got := calls(e)
				return len(got) == 1 && got[0].Count == 3 && strings.EqualFold(got[0].Caller.AppName, "orders") && got[0].Why == RefusedToken && !got[0].Last.Before(began) && !got[0].Last.After(time.Now())
			})
		}

		// A run is given up by whichever admin looks after its job.
		written := make(chan struct{}) // until then nobody hears that the run is not there
		b.executors.mu.Lock()
		b.executors.idle = func(string) (wire.Answer, error) {
			<-written
			return wire.Answer{}, errRefused
		}
		b.executors.mu.Unlock()
		run := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 0 }))
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
		other.Refused(Caller{Address: "10.9.9.9", AppName: "orders"}, RefusedToken, []int64{run})
		err := other.refusals.sweep(t.Context())
		close(written)
		if err != nil {
			t.Fatal(err)
		}
		b.await("it is given up", func() bool { return b.run(run).HandleCode == 500 })
		if refused, ok := b.events(run).Last(event.NotTold); b.run(run).HandleCode == 500 && (!ok || refused.Text(0) != "10.9.9.9") {
			t.Errorf("it does not say that its result was refused: %s", b.events(run))
		}
	})
}

// TestRefusedCallsAreCountedOnceWhileTheyAreWrittenDown: whoever looks in the midst of it neither misses one nor counts one twice.
func TestRefusedCallsAreCountedOnceWhileTheyAreWrittenDown(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := newEngine(t, pool, &fakeExecutors{has: make(map[int64]string)}, nil) // not started: it sweeps when it is told to
		e.Refused(Caller{Address: "10.1.2.3"}, RefusedToken, nil)
		var made atomic.Int64
		made.Store(1)
		over := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(over)
			for range 50 {
				if err := e.refusals.sweep(t.Context()); err != nil {
					t.Error(err)
				}
				e.Refused(Caller{Address: "10.1.2.3"}, RefusedToken, nil)
				made.Add(1)
			}
		})
		for looking := true; looking; {
			select {
			case <-over:
				looking = false
			default:
			}
			before := made.Load()
			calls, err := e.RefusedCalls(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if after := made.Load() + 1; len(calls) != 1 || calls[0].Count < before || calls[0].Count > after { // one may not be counted here yet
				t.Errorf("of %d to %d calls it shows %+v", before, after, calls)
				break
			}
		}
		wg.Wait()
	})
}

func TestWhatIsRefusedIsBoundedInTheDatabaseAndForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ctx := t.Context()
		now := time.Now()
		e := newEngine(t, pool, &fakeExecutors{}, func(c *Config) {
			c.Clock, c.Logger = func() time.Time { return now }, slog.New(slog.DiscardHandler)
		})
		rows := func() int {
			list, err := e.queries.ListRefused(ctx, pool)
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		sweep := func() {
			t.Helper()
			if err := e.refusals.sweep(ctx); err != nil {
				t.Fatal(err)
			}
		}
		for round := range 3 {
			for i := range maxRefused {
				long := strings.Repeat("長い名前", 1000)
				e.Refused(Caller{Address: fmt.Sprint(round, " ", i, long), AppName: "a\x00\xff" + long}, RefusedToken, []int64{1<<62 - int64(i)})
			}
			for range maxRefused/savedPerSweep + 2 {
				sweep()
			}
		}
		if got := rows(); got != maxRefused {
			t.Errorf("%d rows, want %d", got, maxRefused)
		}
		now = now.Add(refusedFor + time.Second)
		e.Refused(Caller{Address: "10.1.2.3", AppName: "orders"}, RefusedToken, nil)
		sweep()
		sweep()
		if list, err := e.RefusedCalls(ctx); err != nil || len(list) != 1 || list[0].Count != 1 || rows() != 1 {
			t.Errorf("a quarter of an hour later: %d callers, %d rows, %v", len(list), rows(), err)
		}
	})
}
