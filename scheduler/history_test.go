package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// history are the causes in a job's history.
func (b *bundle) history(job int64) []db.JobSchedule {
	b.t.Helper()
	rows, err := b.engine.queries.ListSchedules(b.t.Context(), b.pool, db.ListSchedulesParams{JobIds: []int64{job}, FromMs: -1})
	if err != nil {
		b.t.Fatal(err)
	}
	return rows
}

func TestAJobThatTheEngineStopsHasItInItsHistory(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		next := time.Now().Add(-time.Second).Truncate(time.Second)
		once := b.addJob(func(p *db.InsertJobParams) {
			p.ScheduleType, p.ScheduleConf = jobspec.ScheduleOnce, db.Text(next.Format(time.RFC3339))
		})
		broken := b.addJob(func(p *db.InsertJobParams) { p.ScheduleType, p.ScheduleConf = jobspec.ScheduleCron, "nonsense" })
		b.start(once, next)
		b.start(broken, next)
		for _, c := range []struct {
			job   int64
			cause db.ScheduleCause
		}{{once, db.ScheduleEnded}, {broken, db.ScheduleUnreadable}} {
			var last db.JobSchedule
			b.await("the history says it", func() bool {
				rows := b.history(c.job)
				if len(rows) > 0 {
					last = rows[len(rows)-1]
				}
				return last.Cause == c.cause
			})
			if last.Started != 0 || last.NextAt != 0 || last.UntilAt != 0 {
				t.Errorf("%s: %+v", c.cause, last)
			}
		}
	})
}

func TestTheFirstStartBeginsTheHistoryOfAnAdoptedDatabase(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
		b.engine = newEngine(t, pool, b.executors, nil)
		id := b.addJob(nil)
		b.startEngine(b.engine)
		b.await("the job has a history", func() bool { return len(b.history(id)) == 1 })
		if h := b.history(id)[0]; h.Cause != db.ScheduleNoticed || h.SinceAt != 0 {
			t.Errorf("it begins with %+v", h)
		}
	})
}

func TestWhatIsDeletedOnPurposeIsWrittenDown(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.RetentionDays = 5 }, addressA)
		id := b.addJob(func(p *db.InsertJobParams) { p.RetentionDays = 3 })
		if err := b.engine.retain(t.Context()); err != nil {
			t.Fatal(err)
		}
		runs, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: id, Type: jobspec.TriggerManual})
		if err != nil {
			t.Fatal(err)
		}
		b.await("it is sent", func() bool { return b.allRuns()[0].TriggerCode == 200 })
		b.finish(runs[0], 200, "")
		if _, err := b.engine.Clear(t.Context(), ClearRequest{JobID: id}, "ann"); err != nil {
			t.Fatal(err)
		}
		rows, err := b.engine.queries.ListDeletions(t.Context(), pool)
		if err != nil || len(rows) != 3 {
			t.Fatalf("deletions %+v, %v", rows, err)
		}
		today := b.engine.today()
		type deletion struct {
			What   string
			Job    int64
			By     string
			Before time.Time
		}
		planned := time.UnixMilli(b.allRuns()[0].PlannedAt)
		want := []deletion{
			{"clearing", id, "ann", planned.Truncate(time.Second).Add(b.engine.cfg.Horizon + time.Second)},
			{"retention", 0, "", pool.FromWall(today.AddDate(0, 0, -5))},
			{"retention", id, "", pool.FromWall(today.AddDate(0, 0, -3))},
		}
		for i, r := range rows {
			got := deletion{r.What, r.JobID, r.MadeBy, time.UnixMilli(r.BeforeAt)}
			if diff := cmp.Diff(want[i], got); diff != "" {
				t.Errorf("deletion %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

func TestTheHistoryOfSchedulesGoesWithTheRunsItTellsOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		days int
		own  []int64 // retentions of jobs
		left []int   // ages in days of the ended definitions that stay
	}{
		{"of the installation", 30, nil, []int{20, 30}},
		{"a job's own is longer", 30, []int64{60, 5}, []int{20, 30, 45}},
		{"a job's own is shorter", 30, []int64{5}, []int{20, 30}},
		{"a job's runs stay for ever", 30, []int64{-1}, []int{20, 30, 45, 400}},
		{"all runs stay for ever", 0, []int64{5}, []int{20, 30, 45, 400}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				ctx, now := t.Context(), time.Now()
				e := newEngine(t, pool, &fakeExecutors{}, func(c *Config) {
					c.Clock, c.RetentionDays = func() time.Time { return now }, tt.days
					c.Retention = func(context.Context) (int, error) { return tt.days, nil }
				})
				for i, days := range tt.own {
					if _, err := pool.ExecContext(ctx, `INSERT INTO xxl_job_info (job_group, job_desc, executor_route_strategy, executor_handler, glue_type, retention_days)
 VALUES (1, ?, 'FIRST', 'x', 'BEAN', ?)`, fmt.Sprint(i), days); err != nil {
						t.Fatal(err)
					}
				}
				var all []any
				add := func(job, until int64) { all = append(all, job, until) }
				add(1, 0) // true since long ago
				for _, age := range []int{20, 30, 45, 400} {
					add(int64(age), now.AddDate(0, 0, -age).UnixMilli())
				}
				for range 2300 { // more than two rounds
					add(5, now.AddDate(0, 0, -1000).UnixMilli())
				}
				for part := range slices.Chunk(all, 1000) {
					if _, err := pool.ExecContext(ctx, "INSERT INTO punctual_schedule (job_id, until_at) VALUES (?, ?)"+strings.Repeat(", (?, ?)", len(part)/2-1), part...); err != nil {
						t.Fatal(err)
					}
				}
				if err := e.forgetSchedules(ctx); err != nil {
					t.Fatal(err)
				}
				want := map[int64]bool{1: true}
				for _, age := range tt.left {
					want[int64(age)] = true
				}
				if len(tt.left) == 4 {
					want[5] = true
				}
				got := make(map[int64]bool)
				rows, err := pool.QueryContext(ctx, "SELECT DISTINCT job_id FROM punctual_schedule")
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				for rows.Next() {
					var job int64
					if err := rows.Scan(&job); err != nil {
						t.Fatal(err)
					}
					got[job] = true
				}
				if diff := cmp.Diff(want, got); diff != "" || rows.Err() != nil {
					t.Error(diff, rows.Err())
				}
			})
		})
	}
}
