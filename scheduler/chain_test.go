package scheduler

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func (b *bundle) family(retries int64) (parent, child int64) {
	child = b.addJob(nil)
	parent = b.addJob(func(p *db.InsertJobParams) {
		p.ExecutorFailRetryCount, p.ChildJobIDs = retries, db.Text(fmt.Sprint(child))
	})
	return parent, child
}

func (b *bundle) runsOf(job int64) (runs []db.Run) {
	b.t.Helper()
	for _, r := range b.allRuns() {
		if r.JobID == job {
			runs = append(runs, r)
		}
	}
	return runs
}

// wantOneChild wants exactly one run of the child, and which runs say that they did not start it.
func (b *bundle) wantOneChild(child int64, not ...int64) {
	b.t.Helper()
	if n := len(b.runsOf(child)); n != 1 {
		b.t.Errorf("the child ran %d times", n)
	}
	for _, id := range not {
		if e, ok := b.eventsOf(id).Last(event.NoChild); !ok || e.Text(0) != event.NoChildAgain {
			b.t.Errorf("run %d does not say why it started no child: %s", id, b.eventsOf(id))
		}
	}
}

func TestOfTwoSuccessesOfAFireOneStartsTheChildren(t *testing.T) {
	t.Parallel()
	for _, first := range []int{0, 1} {
		t.Run([]string{"the run's comes first", "its retry's comes first"}[first], func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, func(c *Config) { c.AskAfter = time.Hour }, addressA)
				b.unanswered()
				b.executors.log = func(string) error { return errors.New("it does not say") }
				parent, child := b.family(1)
				b.trigger(parent)
				b.await("the retry is sent", func() bool {
					runs := b.runsOf(parent)
					return len(runs) == 2 && runs[1].TriggerCode == wire.CodeSuccess
				})
				runs := b.runsOf(parent)
				if e, ok := b.eventsOf(runs[0].ID).Last(event.Retry); !ok || e.Number(0) != parent || e.Number(1) != runs[1].ID {
					t.Errorf("the run does not tell of its retry: %s", b.eventsOf(runs[0].ID))
				}
				b.complete(runs[first].ID, wire.CodeSuccess)
				b.complete(runs[1-first].ID, wire.CodeSuccess)
				for _, r := range b.runsOf(parent) {
					if r.Outcome != event.Succeeded {
						t.Errorf("run %d is %v", r.ID, r.Outcome)
					}
				}
				b.wantOneChild(child, runs[1-first].ID)
			})
		})
	}
}

// TestAJobIsNotItsOwnChild: an old admin lets people write it, and it would run for ever.
func TestAJobIsNotItsOwnChild(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		job := b.addJob(nil)
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET child_jobid = ? WHERE id = ?", fmt.Sprint(job), job); err != nil {
			t.Fatal(err)
		}
		run := b.trigger(job)
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
		b.complete(run, wire.CodeSuccess)
		if e, ok := b.eventsOf(run).Last(event.NoChild); !ok || e.Text(0) != event.NoChildItself {
			t.Errorf("it does not say why it started no child: %s", b.eventsOf(run))
		}
		if runs := b.runsOf(job); len(runs) != 1 {
			t.Errorf("%d runs", len(runs))
		}
	})
}

// TestALateFailureOfARunThatWasRetriedIsNotRetriedAgain: its sending counted as failed, and had its retry then.
func TestALateFailureOfARunThatWasRetriedIsNotRetriedAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.AskAfter = time.Hour }, addressA)
		b.unanswered()
		b.executors.log = func(string) error { return errors.New("it does not say") }
		parent, _ := b.family(3)
		b.trigger(parent)
		b.await("the retry is sent", func() bool {
			runs := b.runsOf(parent)
			return len(runs) == 2 && runs[1].TriggerCode == wire.CodeSuccess
		})
		first := b.runsOf(parent)[0].ID
		b.complete(first, wire.CodeFail)
		if runs := b.runsOf(parent); len(runs) != 2 || runs[0].Outcome != event.Failed {
			t.Errorf("%d attempts, the first %v; want two, and a failure", len(runs), runs[0].Outcome)
		}
	})
}

func TestALateSuccessOfARunThatWasRetriedStartsTheChildren(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { quick(c); c.AskAfter = 200 * time.Millisecond }, addressA)
		b.executors.idle = func(string) (wire.Answer, error) { return wire.Answer{}, errRefused }
		child := b.addJob(nil)
		parent := b.addJob(func(p *db.InsertJobParams) {
			p.ExecutorFailRetryCount, p.ChildJobIDs, p.RetryBackoff = 2, db.Text(fmt.Sprint(child)), "1h"
		})
		run := b.trigger(parent)
		b.await("it is lost and its retry waits", func() bool { return len(b.runsOf(parent)) == 2 })
		b.complete(run, wire.CodeSuccess)
		if r := b.run(run); r.Outcome != event.Succeeded {
			t.Errorf("the run is %v", r.Outcome)
		}
		b.wantOneChild(child) // at once: the retry will be withdrawn
		if e, ok := b.eventsOf(run).Last(event.Child); !ok || e.Number(0) != child {
			t.Errorf("the run does not tell of its child: %s", b.eventsOf(run))
		}
	})
}

// TestALateFailureOfALostRunIsNotRetriedAgain: it had its retry when it was given up.
func TestALateFailureOfALostRunIsNotRetriedAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { quick(c); c.AskAfter = 200 * time.Millisecond }, addressA)
		b.executors.idle = func(string) (wire.Answer, error) { return wire.Answer{}, errRefused }
		parent := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount, p.RetryBackoff = 3, "1h" })
		run := b.trigger(parent)
		b.await("it is lost and its retry waits", func() bool { return len(b.runsOf(parent)) == 2 })
		b.complete(run, wire.CodeFail)
		if runs := b.runsOf(parent); len(runs) != 2 || runs[0].Outcome != event.Failed {
			t.Errorf("%d attempts, the first %v; want two, and a failure", len(runs), runs[0].Outcome)
		}
	})
}

// TestALateSuccessBehindThatOfItsRetryStartsNothing: the children of a run that was given up have been started by its retry.
func TestALateSuccessBehindThatOfItsRetryStartsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { quick(c); c.AskAfter = 200 * time.Millisecond }, addressA)
		var calls atomic.Int64
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) { calls.Add(1); return yes, nil }
		b.executors.idle = func(string) (wire.Answer, error) {
			if calls.Load() > 1 { // the retry is not lost, however long it takes to report its result
				return busy, nil
			}
			return wire.Answer{}, errRefused
		}
		parent, child := b.family(1)
		run := b.trigger(parent)
		b.await("it is lost and its retry is sent", func() bool {
			runs := b.runsOf(parent)
			return len(runs) == 2 && runs[1].TriggerCode == wire.CodeSuccess
		})
		b.complete(b.runsOf(parent)[1].ID, wire.CodeSuccess)
		b.complete(run, wire.CodeSuccess)
		if r := b.run(run); r.Outcome != event.Succeeded {
			t.Errorf("the run is %v", r.Outcome)
		}
		b.wantOneChild(child, run)
	})
}

func TestARetryIsWithdrawnWhenAnyRunBeforeItSucceeds(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock() // or the second retry could leave before the first run succeeds
		b := setup(t, pool, func(c *Config) { clock.rule(c); c.AskAfter = time.Hour }, addressA)
		b.unanswered() // the first; the others are taken
		b.executors.log = func(string) error { return errors.New("it does not say") }
		child := b.addJob(nil)
		parent := b.addJob(func(p *db.InsertJobParams) {
			p.ExecutorFailRetryCount, p.ChildJobIDs, p.RetryBackoff = 2, db.Text(fmt.Sprint(child)), "1s"
		})
		first := b.trigger(parent)
		b.await("the first retry is sent", func() bool {
			b.passToNext(clock)
			runs := b.runsOf(parent)
			return len(runs) == 2 && runs[1].TriggerCode == wire.CodeSuccess
		})
		b.complete(b.runsOf(parent)[1].ID, wire.CodeFail)
		b.complete(first, wire.CodeSuccess)
		clock.pass(time.Second)
		b.await("the second retry is withdrawn", func() bool {
			runs := b.runsOf(parent)
			return len(runs) == 3 && runs[2].Outcome == event.Cancelled
		})
		last := b.runsOf(parent)[2].ID
		if e, ok := b.eventsOf(last).Last(event.Withdrawn); !ok || e.Number(0) != first {
			t.Errorf("events of the second retry: %s", strings.TrimSpace(b.eventsOf(last).In(time.UTC)))
		}
		b.wantOneChild(child)
	})
}

// TestAChainEndsWhereItsRowsDo: retention may have taken its first runs, and a row that names itself or a later one is no reason to go on
// for ever.
func TestAChainEndsWhereItsRowsDo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		for id, row := range map[int64]struct {
			trigger jobspec.TriggerType
			origin  int64
		}{
			11: {jobspec.TriggerCron, 0}, 12: {jobspec.TriggerRetry, 11}, 13: {jobspec.TriggerRetry, 12}, // a fire, its retry, and that one's
			14: {jobspec.TriggerParent, 13},                                // the child of a retry
			15: {jobspec.TriggerRetry, 9},                                  // the run before is deleted
			16: {jobspec.TriggerRetry, 16}, 17: {jobspec.TriggerRetry, 18}, // what cannot be
		} {
			if _, err := pool.ExecContext(t.Context(), "INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code, trigger_type, origin_log_id) VALUES (?, 1, 1, 200, 500, ?, ?)", id, row.trigger, row.origin); err != nil {
				t.Fatal(err)
			}
		}
		for origin, want := range map[int64][]int64{0: nil, 9: nil, 11: {11}, 12: {12, 11}, 13: {13, 12, 11}, 14: {14}, 15: {15}, 16: {16}, 17: {17}} {
			err := pool.Tx(t.Context(), func(tx *sql.Tx) error {
				runs, err := b.engine.before(t.Context(), tx, jobspec.TriggerRetry, origin)
				var got []int64
				for _, r := range runs {
					got = append(got, r.ID)
				}
				if !slices.Equal(got, want) {
					t.Errorf("before a retry of %d are %v, want %v", origin, got, want)
				}
				return err
			})
			if err != nil {
				t.Errorf("before a retry of %d: %v", origin, err)
			}
		}
	})
}
