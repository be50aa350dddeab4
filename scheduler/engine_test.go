package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// fakeExecutors answers instead of executors and keeps what it was asked.
type fakeExecutors struct {
	mu    sync.Mutex
	runs  []received
	kills []wire.KillRequest
	has   map[int64]string // run id → address that knows it
	dates map[int64]int64  // run id → when it is said to have been planned, as its log is asked for; epoch ms

	run  func(to wire.Target, req *wire.RunRequest) (wire.Answer, error)                      // nil: yes
	call func(ctx context.Context, to wire.Target, req *wire.RunRequest) (wire.Answer, error) // takes the place of run
	beat func(address string) (wire.Answer, error)                                            // nil: yes
	idle func(address string) (wire.Answer, error)                                            // nil: yes
	log  func(address string) error                                                           // nil: answers
	kill func(req wire.KillRequest) (wire.Answer, error)                                      // nil: yes

	takes     bool          // several runs at once
	calls     []int         // of how many runs each, if it does
	remembers time.Duration // for how long, as ours say; 0: they do not say
}

type received struct {
	to  wire.Target
	req wire.RunRequest
	at  time.Time
}

var yes = wire.Answer{Code: wire.CodeSuccess}

func (f *fakeExecutors) Beat(_ context.Context, to wire.Target) (wire.Answer, error) {
	f.mu.Lock()
	beat := f.beat
	f.mu.Unlock()
	if beat != nil {
		return beat(to.Address)
	}
	return yes, nil
}

func (f *fakeExecutors) IdleBeat(_ context.Context, to wire.Target, _ wire.IdleBeatRequest) (wire.Answer, error) {
	if f.idle != nil {
		return f.idle(to.Address)
	}
	return yes, nil
}

func (f *fakeExecutors) Takes(wire.Target) bool { return f.takes }

func (f *fakeExecutors) RunAll(ctx context.Context, to wire.Target, reqs []*wire.RunRequest) []wire.Told {
	if f.takes {
		f.mu.Lock()
		f.calls = append(f.calls, len(reqs))
		f.mu.Unlock()
	}
	told := make([]wire.Told, len(reqs))
	for i, req := range reqs {
		told[i].Answer, told[i].Err = f.one(ctx, to, req)
	}
	return told
}

func (f *fakeExecutors) one(ctx context.Context, to wire.Target, req *wire.RunRequest) (wire.Answer, error) {
	answer, err := yes, error(nil)
	if f.call != nil {
		answer, err = f.call(ctx, to, req)
	} else if f.run != nil {
		answer, err = f.run(to, req)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs = append(f.runs, received{to, *req, time.Now()})
	if err == nil && answer.OK() {
		f.has[req.LogID] = to.Address
	}
	return answer, err
}

func (f *fakeExecutors) Kill(_ context.Context, _ wire.Target, req wire.KillRequest) (wire.Answer, error) {
	f.mu.Lock()
	f.kills = append(f.kills, req)
	f.mu.Unlock()
	if f.kill != nil {
		return f.kill(req)
	}
	return yes, nil
}

func (f *fakeExecutors) Log(_ context.Context, to wire.Target, req wire.LogRequest) (wire.LogResult, wire.Answer, error) {
	if f.log != nil {
		if err := f.log(to.Address); err != nil {
			return wire.LogResult{}, wire.Answer{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dates == nil {
		f.dates = make(map[int64]int64)
	}
	f.dates[req.LogID] = req.LogDateTim
	if f.has[req.LogID] != to.Address {
		return wire.LogResult{FromLineNum: req.FromLineNum, LogContent: "readLog fail, logFile not exists", IsEnd: true, Remembers: f.remembers.Milliseconds()}, yes, nil
	}
	return wire.LogResult{FromLineNum: req.FromLineNum, ToLineNum: 1, LogContent: "line\n"}, yes, nil
}

func (f *fakeExecutors) received() []received {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.runs)
}

// bundle is an engine on a real database with fake executors.
type bundle struct {
	t         *testing.T
	pool      *db.Pool
	engine    *Engine
	executors *fakeExecutors
	group     int64
}

const (
	addressA = "http://10.0.0.1:9999/"
	addressB = "http://10.0.0.2:9999/"
)

// setup makes a started engine with one automatic group in which the addresses are registered.
func setup(t *testing.T, pool *db.Pool, configure func(*Config), addresses ...string) *bundle {
	t.Helper()
	b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
	b.engine = newEngine(t, pool, b.executors, configure)
	b.group = b.addGroup("orders", addresses...)
	b.startEngine(b.engine)
	return b
}

// newEngine makes an engine with the quick periods of tests.
func newEngine(t *testing.T, pool *db.Pool, executors Executors, configure func(*Config)) *Engine {
	t.Helper()
	cfg := Config{
		Pool: pool, Executors: executors, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Name: "test",
		Registerer: prometheus.NewRegistry(),
		ClaimEvery: 20 * time.Millisecond, SweepEvery: 150 * time.Millisecond, RetryBackoff: 10 * time.Millisecond, UnansweredFor: 100 * time.Millisecond,
		CarryFor: 2 * carryEvery, // what tests wait for most
		// What is due now is claimed in time, however busy the machine is that writes it down.
		MisfireAfter: executortest.Patience / 2,
		LastWrite:    executortest.Patience / 2,
	}
	if configure != nil {
		configure(&cfg)
	}
	engine, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// startEngine starts an engine for the length of the test.
func (b *bundle) startEngine(engine *Engine) {
	b.t.Helper()
	if err := engine.Start(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), executortest.Patience)
		defer cancel()
		if err := engine.Stop(ctx); err != nil {
			b.t.Log("stop:", err)
		}
		engine = nil // package testing keeps this function until all parallel tests have ended
	})
}

// latch makes a channel to wait on and a function that opens it; the end of the test opens it too, so that a test that
// failed does not leave calls hanging.
func (b *bundle) latch() (<-chan struct{}, func()) {
	c := make(chan struct{})
	open := sync.OnceFunc(func() { close(c) })
	b.t.Cleanup(open)
	return c, open
}

func (b *bundle) addGroup(appName string, addresses ...string) int64 {
	b.t.Helper()
	id, err := b.engine.queries.InsertGroup(b.t.Context(), b.pool, db.InsertGroupParams{AppName: appName, Title: appName})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, a := range addresses {
		if err := b.engine.Register(b.t.Context(), wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: appName, RegistryValue: a}); err != nil {
			b.t.Fatal(err)
		}
	}
	return id
}

// addJob inserts a job of a fixed rate that is stopped unless change starts it.
func (b *bundle) addJob(change func(*db.InsertJobParams)) int64 {
	b.t.Helper()
	now := sql.NullTime{Time: b.pool.Wall(time.Now()), Valid: true}
	p := db.InsertJobParams{
		JobGroup: b.group, JobDesc: "job", AddTime: now, UpdateTime: now, Author: "me", ScheduleType: jobspec.ScheduleFixRate,
		ScheduleConf: "3600", MisfireStrategy: jobspec.MisfireDoNothing, ExecutorRouteStrategy: jobspec.RouteFirst,
		ExecutorHandler: "handler", ExecutorBlockStrategy: db.Text(wire.BlockSerial), GlueType: wire.GlueBean, GlueUpdateTime: now,
	}
	if change != nil {
		change(&p)
	}
	id, err := b.engine.queries.InsertJob(b.t.Context(), b.pool, p)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

func (b *bundle) start(jobID int64, next time.Time) {
	b.t.Helper()
	n, err := b.engine.queries.StartJob(b.t.Context(), b.pool, db.StartJobParams{ID: jobID, NextTime: next.UnixMilli()})
	if err != nil || n != 1 {
		b.t.Fatalf("start job: %d rows, %v", n, err)
	}
	b.engine.JobsChanged()
}

// await waits until the engine's changes have made ok true.
func (b *bundle) await(what string, ok func() bool) {
	b.t.Helper()
	changes, cancel := b.engine.Subscribe()
	defer cancel()
	deadline := time.After(executortest.Patience)
	poll := time.NewTicker(50 * time.Millisecond) // for what another engine, or no run, changes
	defer poll.Stop()
	for !ok() {
		select {
		case <-changes:
		case <-poll.C:
		case <-deadline:
			b.t.Fatalf("waited in vain until %s; runs: %s", what, b.dump())
		}
	}
}

// awaitAll waits until there are so many, and has patience for each: a busy machine takes long for all.
func (b *bundle) awaitAll(what string, want int, count func() int) {
	b.t.Helper()
	for n := count(); n < want; n = count() {
		b.await(fmt.Sprintf("%s, more than %d of %d", what, n, want), func() bool { return count() > n })
	}
}

// awaitNone waits until no run is so any more, and has patience for each.
func (b *bundle) awaitNone(open string) {
	b.t.Helper()
	over := func() int { return b.countRuns("NOT (" + open + ")") }
	for n := over(); b.countRuns(open) > 0; n = over() {
		b.await(fmt.Sprintf("one more than %d has ended", n), func() bool { return over() > n || b.countRuns(open) == 0 })
	}
}

func (b *bundle) allRuns() []db.Run {
	b.t.Helper()
	rows, err := b.pool.QueryContext(b.t.Context(), "SELECT id FROM xxl_job_log ORDER BY id")
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			b.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		b.t.Fatal(err)
	}
	var runs []db.Run
	for _, id := range ids {
		r, err := b.engine.queries.GetRun(b.t.Context(), b.pool, id)
		if err != nil {
			b.t.Fatal(err)
		}
		runs = append(runs, r)
	}
	return runs
}

func (b *bundle) dump() string {
	var s strings.Builder
	runs := b.allRuns()
	slices.SortStableFunc(runs, func(r, other db.Run) int { return int(r.HandleCode - other.HandleCode) }) // those without a result first
	for i, r := range runs {
		if i == 40 {
			fmt.Fprintf(&s, "\n… and %d more", len(runs)-i)
			break
		}
		fmt.Fprintf(&s, "\n%d job %d %s trigger %d handle %d at %s: %s | %s", r.ID, r.JobID, r.TriggerType, r.TriggerCode, r.HandleCode,
			r.ExecutorAddress, strings.ReplaceAll(string(r.TriggerMsg), "\n", " / "), r.HandleMsg)
	}
	return s.String()
}

// events is what happened to a run.
func (b *bundle) events(id int64) event.List { return event.Parse(string(b.run(id).Events)) }

// has says whether something happened to a run.
func (b *bundle) has(id int64, key event.Key) bool {
	_, ok := b.events(id).Last(key)
	return ok
}

func (b *bundle) finish(id int64, code int, msg string) {
	b.t.Helper()
	if err := b.engine.Complete(b.t.Context(), []wire.Callback{{LogID: id, HandleCode: code, HandleMsg: msg}}); err != nil {
		b.t.Fatal(err)
	}
}

func TestADueJobIsClaimedSentRecordedAndFinished(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		// What time it is takes as long to ask for as the database to answer, and is known only as exactly.
		b := setup(t, pool, func(c *Config) { c.Reference = func(context.Context) (time.Time, error) { return time.Now(), nil } }, addressA)
		id := b.addJob(func(p *db.InsertJobParams) { p.ExecutorParam = "p=1"; p.ExecutorTimeout = 7 })
		planned := time.Now().Add(300 * time.Millisecond).Truncate(time.Millisecond)
		b.start(id, planned)
		b.await("the run is recorded as sent", func() bool {
			runs := b.allRuns()
			return len(runs) == 1 && runs[0].TriggerCode == 200
		})
		run := b.allRuns()[0]
		got := b.executors.received()
		if len(got) != 1 {
			t.Fatalf("executor received %d requests, want 1", len(got))
		}
		if got[0].at.Before(planned) {
			t.Errorf("sent %s before its time", planned.Sub(got[0].at))
		}
		want := wire.RunRequest{JobID: id, ExecutorHandler: "handler", ExecutorParams: "p=1", BlockStrategy: wire.BlockSerial,
			TimeoutSeconds: 7, LogID: run.ID, LogDateTime: planned.UnixMilli(), GlueType: wire.GlueBean,
			GlueUpdateTime: got[0].req.GlueUpdateTime, BroadcastTotal: 1}
		if !cmp.Equal(got[0].req, want) {
			t.Errorf("request\n got %+v\nwant %+v", got[0].req, want)
		}
		if run.PlannedAt != planned.UnixMilli() || string(run.ExecutorAddress) != addressA || run.SentAt < run.PlannedAt {
			t.Errorf("row %+v", run)
		}
		b.finish(run.ID, 200, "done")
		run = b.allRuns()[0]
		if run.HandleCode != 200 || run.HandleMsg != "done" || run.FinishedAt == 0 {
			t.Errorf("after the callback: %+v", run)
		}
		job, err := b.engine.queries.GetJob(t.Context(), pool, id)
		if err != nil {
			t.Fatal(err)
		}
		if job.TriggerLastTime != planned.UnixMilli() || job.TriggerNextTime != planned.Add(time.Hour).UnixMilli() {
			t.Errorf("job's last %d and next %d, want %d and an hour later", job.TriggerLastTime, job.TriggerNextTime, planned.UnixMilli())
		}
	})
}

func TestAFailedResultIsRetriedAtOnceAndOnlyAsOftenAsAllowed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		id := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 1 })
		param := "once"
		ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: id, Type: jobspec.TriggerManual, Param: &param, User: "ada"})
		if err != nil || len(ids) != 1 {
			t.Fatalf("trigger: %v, %v", ids, err)
		}
		b.finish(ids[0], 500, "no luck")
		b.await("the retry is sent", func() bool { runs := b.allRuns(); return len(runs) == 2 && runs[1].TriggerCode == 200 })
		first, second := b.allRuns()[0], b.allRuns()[1]
		if second.TriggerType != jobspec.TriggerRetry || second.OriginLogID != first.ID || second.ExecutorFailRetryCount != 0 || second.ExecutorParam != "once" {
			t.Errorf("retry: %+v", second)
		}
		if first.AlarmStatus != 1 || !strings.Contains(string(first.HandleMsg), fmt.Sprintf("retry: job %d, run %d", id, second.ID)) {
			t.Errorf("first attempt: alarm %d, message %q", first.AlarmStatus, first.HandleMsg)
		}
		b.finish(second.ID, 500, "again")
		if runs := b.allRuns(); len(runs) != 2 || runs[1].HandleCode != 500 || runs[1].AlarmStatus != 0 {
			t.Errorf("after the last attempt: %s", b.dump())
		}
	})
}

func TestAResultCountsOnceHoweverManyReportIt(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		child := b.addJob(nil)
		parent := b.addJob(func(p *db.InsertJobParams) { p.ChildJobIDs = db.Text(fmt.Sprintf("%d, x,999", child)) })
		ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: parent, Type: jobspec.TriggerManual})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { b.finish(ids[0], 200, "ok") })
		}
		wg.Wait()
		b.await("the child is sent", func() bool { runs := b.allRuns(); return len(runs) >= 2 && runs[1].TriggerCode == 200 })
		runs := b.allRuns()
		if len(runs) != 2 || runs[1].JobID != child || runs[1].TriggerType != jobspec.TriggerParent {
			t.Fatalf("want the parent and one child run, got %s", b.dump())
		}
		if got := b.events(ids[0]).All(event.NoChild); len(got) != 2 || got[0].Text(0) != event.NoChildID || got[1].Text(0) != event.NoChildJob {
			t.Errorf("children that were not started: %v", got)
		}
		for _, want := range []string{fmt.Sprintf("child: job %d, run %d", child, runs[1].ID), "child: x not started", "child: 999 not started"} {
			if !strings.Contains(string(runs[0].HandleMsg), want) {
				t.Errorf("message %q lacks %q", runs[0].HandleMsg, want)
			}
		}
	})
}

func TestUnknownResultsAreAcceptedAndIgnored(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		b.finish(4711, 200, "who?")
		if runs := b.allRuns(); len(runs) != 0 {
			t.Errorf("rows appeared: %s", b.dump())
		}
	})
}

func TestABroadcastIsOneRunPerAddress(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressB, addressA)
		id := b.addJob(func(p *db.InsertJobParams) {
			p.ExecutorRouteStrategy = jobspec.RouteShardingBroadcast
			p.ExecutorFailRetryCount = 1
		})
		b.start(id, time.Now())
		b.await("both shards are sent", func() bool {
			runs := b.allRuns()
			return len(runs) == 2 && runs[0].TriggerCode == 200 && runs[1].TriggerCode == 200
		})
		runs := b.allRuns()
		for i, a := range []string{addressA, addressB} {
			if string(runs[i].ExecutorAddress) != a || string(runs[i].ExecutorShardingParam) != fmt.Sprintf("%d/2", i) {
				t.Errorf("shard %d: %+v", i, runs[i])
			}
		}
		b.finish(runs[1].ID, 500, "")
		b.await("the failed shard alone is retried", func() bool { runs := b.allRuns(); return len(runs) == 3 && runs[2].TriggerCode == 200 })
		again := b.allRuns()[2]
		if string(again.ExecutorAddress) != addressB || string(again.ExecutorShardingParam) != "1/2" {
			t.Errorf("retried shard: %+v", again)
		}
	})
}

func TestFailoverAndBusyoverAskFirst(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA, addressB)
		b.executors.beat = func(a string) (wire.Answer, error) {
			if a == addressA {
				return wire.Answer{}, &wire.CallError{Stage: wire.StageDial, Err: errors.New("refused")}
			}
			return yes, nil
		}
		b.executors.idle = func(a string) (wire.Answer, error) {
			return wire.Answer{Code: 500, Msg: "job thread is running or has trigger queue."}, nil
		}
		failover := b.addJob(func(p *db.InsertJobParams) { p.ExecutorRouteStrategy = jobspec.RouteFailover })
		busyover := b.addJob(func(p *db.InsertJobParams) { p.ExecutorRouteStrategy = jobspec.RouteBusyover })
		for _, id := range []int64{failover, busyover} {
			if _, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: id, Type: jobspec.TriggerManual}); err != nil {
				t.Fatal(err)
			}
		}
		b.await("both are decided", func() bool {
			runs := b.allRuns()
			return len(runs) == 2 && runs[0].TriggerCode != 0 && runs[1].TriggerCode != 0
		})
		runs := b.allRuns()
		if string(runs[0].ExecutorAddress) != addressB || b.events(runs[0].ID).All(event.Asked)[0].Text(2) != event.AnswerUnknown {
			t.Errorf("failover: %+v", runs[0])
		}
		if runs[1].TriggerCode != 500 || len(b.events(runs[1].ID).All(event.Asked)) != 2 || !b.has(runs[1].ID, event.Nobody) {
			t.Errorf("busyover with nobody free: %+v", runs[1])
		}
	})
}

// TestARunForAnExecutorThatDoesNotAskSaysSo: it ends as where nobody listens, with the time at which the executor asked last, and routes pass
// the address over.
func TestARunForAnExecutorThatDoesNotAskSaysSo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		const gone = "pull://gone"
		b := setup(t, pool, nil, gone, addressB)
		since := time.UnixMilli(1_790_000_000_000)
		silent := &wire.CallError{Stage: wire.StageDial, Err: &wire.SilentError{Since: since}}
		b.executors.beat = func(a string) (wire.Answer, error) {
			if a == gone {
				return wire.Answer{}, silent
			}
			return yes, nil
		}
		b.executors.run = func(to wire.Target, _ *wire.RunRequest) (wire.Answer, error) { return b.executors.beat(to.Address) }
		trigger := func(r jobspec.Route) db.Run {
			t.Helper()
			ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: b.addJob(func(p *db.InsertJobParams) { p.ExecutorRouteStrategy = r }), Type: jobspec.TriggerManual})
			if err != nil {
				t.Fatal(err)
			}
			var run db.Run
			b.await("the run is decided", func() bool { run = b.run(ids[0]); return run.TriggerCode != 0 })
			return run
		}
		if run := trigger(jobspec.RouteFailover); string(run.ExecutorAddress) != addressB || run.TriggerCode != 200 {
			t.Errorf("failover: %+v", run)
		}
		run := trigger(jobspec.RouteLast) // the order is that of the texts
		if e, is := b.events(run.ID).Last(event.Silent); !is || e.Text(0) != gone || e.Time(1).UnixMilli() != since.UnixMilli() || run.Outcome != event.NotSent || run.TriggerCode != 500 {
			t.Errorf("%+v, %v", run, b.events(run.ID))
		}
		if run := trigger(jobspec.RouteLast); string(run.ExecutorAddress) != addressB || run.TriggerCode != 200 {
			t.Errorf("after that: %+v", run)
		}
	})
}

func TestAJobThatWasForgottenForLongFollowsItsMisfireStrategy(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		skip := b.addJob(nil)
		once := b.addJob(func(p *db.InsertJobParams) { p.MisfireStrategy = jobspec.MisfireFireOnceNow })
		long := time.Now().Add(-150 * time.Minute).Truncate(time.Millisecond) // three hourly fires are missed
		b.start(skip, long)
		b.start(once, long)
		b.await("both are decided", func() bool {
			runs := b.allRuns()
			return len(runs) == 2 && runs[0].TriggerCode != 0 && runs[1].TriggerCode != 0
		})
		for _, r := range b.allRuns() {
			if e, ok := b.events(r.ID).Last(event.StandsFor, event.SkippedFires); !ok || e.Number(0) != 3 || !strings.Contains(string(r.TriggerMsg), "3 fires planned from") {
				t.Errorf("job %d: %+v does not count the missed fires", r.JobID, r)
			}
			sent := r.TriggerCode == 200
			if sent != (r.JobID == once) || r.TriggerType != jobspec.TriggerMisfire {
				t.Errorf("job %d: %+v", r.JobID, r)
			}
		}
		if n := len(b.executors.received()); n != 1 {
			t.Errorf("executor received %d requests, want 1", n)
		}
		job, err := b.engine.queries.GetJob(t.Context(), pool, skip)
		if err != nil {
			t.Fatal(err)
		}
		if want := long.Add(3 * time.Hour).UnixMilli(); job.TriggerNextTime != want {
			t.Errorf("next time %d, want %d: the phase is kept", job.TriggerNextTime, want)
		}
	})
}

// TestMissedFiresHaveRunsOfTheirOwn: those that the strategy chooses are sent, each for its time, and the older ones are on record.
func TestMissedFiresHaveRunsOfTheirOwn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		first := time.Now().Add(-150 * time.Minute).Truncate(time.Millisecond) // hourly: 150, 90 and 30 minutes ago
		want := make(map[int64][]time.Time)
		for _, c := range []struct {
			strategy     jobspec.Misfire
			last, within int64
			runs         int
		}{{jobspec.MisfireFireAll, 0, 0, 3}, {jobspec.MisfireFireLast, 2, 0, 2}, {jobspec.MisfireFireWithin, 0, 6000, 2}, {jobspec.MisfireFireWithin, 0, 60, 0}} {
			id := b.addJob(func(p *db.InsertJobParams) {
				p.MisfireStrategy, p.MisfireMore, p.MisfireLast, p.MisfireWithin = c.strategy.Plain(), c.strategy.More(), c.last, c.within
			})
			for i := 3 - c.runs; i < 3; i++ {
				want[id] = append(want[id], first.Add(time.Duration(i)*time.Hour))
			}
			if c.runs == 0 {
				want[id] = nil
			}
			b.start(id, first)
		}
		b.await("all are decided", func() bool {
			runs := b.allRuns()
			return len(runs) == 10 && !slices.ContainsFunc(runs, func(r db.Run) bool { return r.TriggerCode == 0 })
		})
		for id, due := range want {
			var sent []time.Time
			skipped := int64(0)
			for _, r := range b.allRuns() {
				switch {
				case r.JobID != id:
				case r.TriggerType != jobspec.TriggerMisfire:
					t.Errorf("job %d: %+v", id, r)
				case r.Outcome == event.Skipped:
					e, _ := b.events(r.ID).Last(event.SkippedFires)
					skipped += e.Number(0)
				default:
					sent = append(sent, dueOf(r.PlannedFor, r.PlannedAt))
					if e, ok := b.events(r.ID).Last(event.StandsFor); !ok || e.Number(0) != 1 {
						t.Errorf("job %d: a run does not say which fire it makes up for: %s", id, b.eventsOf(r.ID))
					}
				}
			}
			if !slices.EqualFunc(sent, due, time.Time.Equal) || skipped != int64(3-len(due)) {
				t.Errorf("job %d: sent for %v and skipped %d, want %v", id, sent, skipped, due)
			}
			job, err := b.engine.queries.GetJob(t.Context(), pool, id)
			if err != nil || job.TriggerNextTime != first.Add(3*time.Hour).UnixMilli() || job.TriggerStatus != 1 {
				t.Errorf("job %d goes on at %d: %v", id, job.TriggerNextTime, err)
			}
		}
		if n := len(b.executors.received()); n != 7 {
			t.Errorf("the executor received %d requests", n)
		}
	})
}

func TestAJobWhoseScheduleCannotBeReadIsStoppedAloneAndVisibly(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		bad := b.addJob(func(p *db.InsertJobParams) { p.ScheduleType, p.ScheduleConf = jobspec.ScheduleCron, "no cron" })
		good := b.addJob(nil)
		b.start(bad, time.Now())
		b.start(good, time.Now())
		b.await("both are decided", func() bool {
			runs := b.allRuns()
			return len(runs) == 2 && runs[0].TriggerCode != 0 && runs[1].TriggerCode != 0
		})
		job, err := b.engine.queries.GetJob(t.Context(), pool, bad)
		if err != nil {
			t.Fatal(err)
		}
		if job.TriggerStatus != 0 {
			t.Error("the unreadable job is still started")
		}
		for _, r := range b.allRuns() {
			if (r.TriggerCode == 200) != (r.JobID == good) {
				t.Errorf("job %d: %+v", r.JobID, r)
			}
		}
	})
}

func TestALostAnswerIsSettledByAskingTheExecutor(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		b.executors.run = func(to wire.Target, req *wire.RunRequest) (wire.Answer, error) {
			if req.ExecutorParams == "arrives" {
				b.executors.mu.Lock()
				b.executors.has[req.LogID] = to.Address
				b.executors.mu.Unlock()
			}
			return wire.Answer{}, &wire.CallError{Stage: wire.StageAnswer, MaybeDelivered: true, Err: errors.New("connection reset")}
		}
		id := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 1 })
		arrives, vanishes := "arrives", "vanishes"
		for _, p := range []*string{&arrives, &vanishes} {
			if _, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: id, Type: jobspec.TriggerManual, Param: p}); err != nil {
				t.Fatal(err)
			}
		}
		b.await("all are decided", func() bool {
			runs := b.allRuns()
			return len(runs) == 3 && !slices.ContainsFunc(runs, func(r db.Run) bool { return r.TriggerCode == 0 })
		})
		runs := b.allRuns()
		if runs[0].TriggerCode != 200 || runs[1].TriggerCode != 500 || runs[2].TriggerType != jobspec.TriggerRetry || runs[2].OriginLogID != runs[1].ID {
			t.Errorf("want sent, failed, retry of the second: %s", b.dump())
		}
	})
}

func TestKillEndsTheRunAndItIsNotRetried(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		id := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 3 })
		ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: id, Type: jobspec.TriggerManual})
		if err != nil {
			t.Fatal(err)
		}
		b.await("it is sent", func() bool { return b.allRuns()[0].TriggerCode == 200 })
		if err := b.engine.Kill(t.Context(), ids[0], "ada"); err != nil {
			t.Fatal(err)
		}
		run := b.allRuns()[0]
		if run.HandleCode != 500 || !strings.Contains(string(run.HandleMsg), "killed by ada") || len(b.allRuns()) != 1 {
			t.Errorf("after the kill: %s", b.dump())
		}
		if want := (wire.KillRequest{JobID: id, LogID: ids[0]}); len(b.executors.kills) != 1 || b.executors.kills[0] != want {
			t.Errorf("executor was asked to kill %+v, want %+v", b.executors.kills, want)
		}
		if err := b.engine.Kill(t.Context(), ids[0], "ada"); !errors.Is(err, ErrRunNotRunning) {
			t.Errorf("second kill: %v", err)
		}
		if err := b.engine.Kill(t.Context(), 99999, "ada"); !errors.Is(err, ErrRunNotFound) {
			t.Errorf("kill of an unknown run: %v", err)
		}
	})
}
