package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// again is a job of which a lost run is run once more.
func again(retries int64) func(*db.InsertJobParams) {
	return func(p *db.InsertJobParams) {
		p.ExecutorFailRetryCount, p.WhenLost = retries, string(jobspec.WhenLostAgain)
	}
}

// TestALostRunIsRunOnceMoreWhereItsJobWantsThat: after its retries, on another executor, and once.
func TestALostRunIsRunOnceMoreWhereItsJobWantsThat(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		job  func(*db.InsertJobParams)
		want []int64 // the retries left of the runs in the end
	}{
		"it wants it":                 {again(0), []int64{1, retriesAgain}},
		"its retries come first":      {again(1), []int64{1, 1, retriesAgain}},
		"it does not":                 {func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 0 }, []int64{0}},
		"it says that it does not":    {func(p *db.InsertJobParams) { p.ExecutorFailRetryCount, p.WhenLost = 0, string(jobspec.WhenLostFail) }, []int64{0}},
		"it has retries, and no more": {func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 1 }, []int64{1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, quick, addressA, addressB)
				b.executors.idle = func(string) (wire.Answer, error) { return wire.Answer{}, errRefused }
				b.trigger(b.addJob(tt.job))
				b.await("all are lost", func() bool {
					runs := b.allRuns()
					return len(runs) == len(tt.want) && runs[len(runs)-1].Outcome == event.Lost
				})
				runs := b.allRuns()
				for i, r := range runs {
					if r.ExecutorFailRetryCount != tt.want[i] || r.Outcome != event.Lost {
						t.Errorf("run %d: %d retries left, %s", i, r.ExecutorFailRetryCount, r.Outcome)
					}
					if i > 0 && (r.TriggerType != jobspec.TriggerRetry || r.OriginLogID != runs[i-1].ID ||
						r.ExecutorFailRetryCount == retriesAgain && r.ExecutorAddress == runs[i-1].ExecutorAddress) {
						t.Errorf("run %d repeats no lost one elsewhere: %+v", i, r)
					}
				}
				if err := b.engine.upkeep.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				var sum upkeep.Day
				for _, day := range []time.Time{b.today().AddDate(0, 0, -1), b.today()} { // the test may run over midnight
					got, want := reported(t, b.engine, day), counted(t, b.engine, day)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("report (-rows +report):\n%s", diff)
					}
					sum.Add(got)
				}
				if want := (upkeep.Day{Failed: 1}); sum != want {
					t.Errorf("in all %+v, want one fire that failed", sum)
				}
			})
		})
	}
}

// TestARunWithoutAnAnswerIsSentOnceMoreWhereItsJobWantsThat: nobody can say that the executor got it, or it is known not to have.
func TestARunWithoutAnAnswerIsSentOnceMoreWhereItsJobWantsThat(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		job  func(*db.InsertJobParams)
		runs int
	}{
		"nobody listened":                   {errRefused, again(0), 2},
		"no answer came":                    {errSlow, again(0), 2},
		"no answer came, and it is left so": {errSlow, func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 0 }, 1},
		"it was refused":                    {nil, again(0), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, func(c *Config) { c.RetryBackoff, c.UnansweredFor = time.Millisecond, 50*time.Millisecond }, addressA, addressB)
				b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
					return wire.Answer{Code: wire.CodeFail}, tt.err
				}
				run := b.trigger(b.addJob(tt.job))
				b.await("all have failed", func() bool {
					runs := b.allRuns()
					return len(runs) == tt.runs && runs[tt.runs-1].TriggerCode == wire.CodeFail
				})
				b.settled()
				runs := b.allRuns()
				if len(runs) != tt.runs {
					t.Fatalf("%d runs: %s", len(runs), b.dump())
				}
				if tt.runs == 2 && (runs[0].ExecutorFailRetryCount != 1 || runs[1].ExecutorFailRetryCount != retriesAgain || runs[1].OriginLogID != run || runs[1].ExecutorAddress == runs[0].ExecutorAddress) {
					t.Errorf("%s", b.dump())
				}
			})
		})
	}
}

// TestALostRunThatWasToEndIsNotRunAgain: somebody wanted it ended.
func TestALostRunThatWasToEndIsNotRunAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.AskAfter = time.Hour }, addressA, addressB)
		run := b.trigger(b.addJob(again(0)))
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
		b.exec("UPDATE xxl_job_log SET kill_asked_at = ? WHERE id = ?", time.Now().UnixMilli(), run)
		if err := b.engine.complete(t.Context(), []finishing{{id: run, code: wire.CodeFail, given: event.Lost}}); err != nil {
			t.Fatal(err)
		}
		if runs := b.allRuns(); len(runs) != 1 || runs[0].ExecutorFailRetryCount != 0 {
			t.Errorf("%d runs: %s", len(runs), b.dump())
		}
	})
}

// TestALateResultKeepsALostRunFromBeingRunAgain: the second has not left when the first reports.
func TestALateResultKeepsALostRunFromBeingRunAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.AskAfter = time.Hour }, addressA, addressB)
		run := b.trigger(b.addJob(func(p *db.InsertJobParams) { again(0)(p); p.RetryBackoff = "1h" }))
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
		if err := b.engine.complete(t.Context(), []finishing{{id: run, code: wire.CodeFail, given: event.Lost}}); err != nil {
			t.Fatal(err)
		}
		b.finish(run, wire.CodeSuccess, "done after all")
		next, ok := b.events(run).Last(event.Retry)
		if !ok || b.run(run).Outcome != event.Succeeded {
			t.Fatalf("%s", b.dump())
		}
		again := b.run(next.Number(1))
		d := &dispatch{id: again.ID, job: &job{id: again.JobID, group: again.JobGroup}, trigger: again.TriggerType, origin: run, retries: again.ExecutorFailRetryCount}
		if b.engine.stillNeeded(t.Context(), d) {
			t.Error("it would be sent all the same")
		}
	})
}

// TestARunThatIsHandedBackIsGivenToAnotherExecutor: it had not begun, so it costs no retry, however often that happens.
func TestARunThatIsHandedBackIsGivenToAnotherExecutor(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.AskAfter = time.Hour }, addressA, addressB)
		for _, retries := range []int64{0, 1} {
			run := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount, p.RetryBackoff = retries, "1h" }))
			for range 3 {
				b.await("it is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
				at := b.run(run).ExecutorAddress
				if err := b.engine.Complete(t.Context(), []wire.Callback{{LogID: run, HandleCode: wire.CodeFail, Undone: wire.UndoneWaiting}}); err != nil {
					t.Fatal(err)
				}
				next, ok := b.events(run).Last(event.Retry)
				if !ok || b.run(run).ExecutorFailRetryCount < 1 {
					t.Fatalf("%s", b.dump())
				}
				run = next.Number(1)
				if r := b.run(run); r.ExecutorFailRetryCount != retries || r.ExecutorAddress == at {
					t.Errorf("%s", b.dump())
				}
			}
			b.await("it is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
			b.finish(run, wire.CodeSuccess, "")
		}
	})
}

// TestARunThatWasCutOffIsLeftToItsJob: its executor shut down while it ran.
func TestARunThatWasCutOffIsLeftToItsJob(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.AskAfter = time.Hour }, addressA, addressB)
		for _, tt := range []struct {
			job   func(*db.InsertJobParams)
			again bool
		}{{again(0), true}, {func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 0 }, false}} {
			run := b.trigger(b.addJob(tt.job))
			b.await("it is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
			if err := b.engine.Complete(t.Context(), []wire.Callback{{LogID: run, HandleCode: wire.CodeFail, Undone: wire.UndoneRunning}}); err != nil {
				t.Fatal(err)
			}
			if b.has(run, event.Retry) != tt.again {
				t.Errorf("again %v: %s", tt.again, b.dump())
			}
		}
	})
}

// TestARunIsPassedOnByWhoLeaves: an executor that shuts down has not begun what it refuses. Another one has it as if it had been the first,
// a shard too; where there is none, or somebody chose the executor, it was refused.
func TestARunIsPassedOnByWhoLeaves(t *testing.T) {
	t.Parallel()
	const addressC = "http://10.0.0.3:9999/"
	broadcast := func(p *db.InsertJobParams) { p.ExecutorRouteStrategy = jobspec.RouteShardingBroadcast }
	for name, tt := range map[string]struct {
		leave   []string // who shuts down
		chosen  []string // by hand
		job     func(*db.InsertJobParams)
		want    []string // where the runs are in the end; a star: refused there
		refused int      // in all
	}{
		"another one":            {leave: []string{addressA}, want: []string{addressB}, refused: 1},
		"the third one":          {leave: []string{addressA, addressB}, want: []string{addressC}, refused: 2},
		"nobody else":            {leave: []string{addressA, addressB, addressC}, want: []string{addressC + "*"}, refused: 3},
		"somebody chose it":      {leave: []string{addressB}, chosen: []string{addressB}, want: []string{addressB + "*"}, refused: 1},
		"the first of a shard":   {leave: []string{addressA}, job: broadcast, want: []string{addressB, addressB, addressC}, refused: 1},
		"the second of a shard":  {leave: []string{addressB}, job: broadcast, want: []string{addressA, addressC, addressC}, refused: 1},
		"the third of a shard":   {leave: []string{addressC}, job: broadcast, want: []string{addressA, addressB, addressA}, refused: 1},
		"all but one of a shard": {leave: []string{addressA, addressC}, job: broadcast, want: []string{addressB, addressB, addressB}, refused: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil, addressA, addressB, addressC)
				b.executors.run = func(to wire.Target, _ *wire.RunRequest) (wire.Answer, error) {
					if slices.Contains(tt.leave, to.Address) {
						return wire.Answer{Code: wire.CodeFail, Msg: "it shuts down", Data: wire.Leaving()}, nil
					}
					return yes, nil
				}
				ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: b.addJob(tt.job), Type: jobspec.TriggerManual, Addresses: tt.chosen})
				if err != nil || len(ids) != len(tt.want) {
					t.Fatal(ids, err)
				}
				b.await("each is sent or refused", func() bool {
					return !slices.ContainsFunc(b.allRuns(), func(r db.Run) bool { return r.TriggerCode == 0 })
				})
				var got []string
				refused := 0
				for i, r := range b.allRuns() {
					at := string(r.ExecutorAddress)
					if r.Outcome == event.NotSent {
						at += "*"
					}
					got = append(got, at)
					refused += len(b.events(r.ID).All(event.Refused))
					if tt.job != nil && string(r.ExecutorShardingParam) != fmt.Sprintf("%d/3", i) {
						t.Errorf("shard %d is %s", i, r.ExecutorShardingParam)
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" || refused != tt.refused {
					t.Errorf("%d refusals, want %d; where they are: %s", refused, tt.refused, diff)
				}
				if runs := b.allRuns(); len(runs) != len(tt.want) {
					t.Errorf("%d runs: no attempt of its own: %s", len(runs), b.dump())
				}
			})
		})
	}
}
