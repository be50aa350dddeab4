package manage

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/calendar"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestAJobIsStartedAsItIs while somebody edits it: it is due by the schedule that it has, and not by the one before.
func TestAJobIsStartedAsItIs(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		hours := map[string]int{"0 0 2 * * ?": 2, "0 0 14 * * ?": 14}
		for range 60 {
			id := b.create(t, nil)
			var both sync.WaitGroup
			both.Go(func() {
				if err := b.Jobs.Update(ctx, b.admin, id, b.job(func(in *JobInput) { in.ScheduleConf = "0 0 14 * * ?" })); err != nil {
					t.Error("edit: " + kind(err))
				}
			})
			both.Go(func() {
				if err := b.Jobs.Start(ctx, b.user, id); err != nil {
					t.Error("start: " + kind(err))
				}
			})
			both.Wait()
			j := b.read(t, id)
			if next := time.UnixMilli(j.TriggerNextTime).In(pool.Zone()); next.Hour() != hours[string(j.ScheduleConf)] || !jobspec.Started(j.TriggerStatus) {
				t.Fatalf("a job of %q is started: %v, and due at %v", j.ScheduleConf, jobspec.Started(j.TriggerStatus), next)
			}
		}
	})
}

// TestWhatWaitsOfAJobThatIsChangedTriesAtOnce where it may have room now, and is left alone where nothing says so.
func TestWhatWaitsOfAJobThatIsChangedTriesAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		id := b.create(t, nil)
		for _, c := range []struct {
			what   string
			change func(*JobInput)
			want   []int64
		}{
			{"its name", func(in *JobInput) { in.Name = "other" }, nil},
			{"its limit", func(in *JobInput) { in.MaxConcurrent = 3 }, []int64{b.group}},
			{"its group", func(in *JobInput) { in.MaxConcurrent, in.Group = 3, b.closed }, []int64{b.closed}},
		} {
			b.engine.waiting = nil
			if err := b.Jobs.Update(t.Context(), b.admin, id, b.job(c.change)); err != nil || !slices.Equal(b.engine.waiting, c.want) {
				t.Errorf("%s: %v; the lines of groups %v try, want %v", c.what, err, b.engine.waiting, c.want)
			}
		}
	})
}

// TestNobodyReachesAJobThatWasMovedAway: rights are asked for the group that the job is in when it is changed.
func TestNobodyReachesAJobThatWasMovedAway(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		for name, do := range map[string]func(id int64) error{
			"start":  func(id int64) error { return b.Jobs.Start(ctx, b.user, id) },
			"delete": func(id int64) error { return b.Jobs.Delete(ctx, b.user, id) },
		} {
			for range 40 {
				id := b.create(t, nil)
				var both sync.WaitGroup
				var moved, done error
				both.Go(func() { moved = b.Jobs.Update(ctx, b.admin, id, b.job(func(in *JobInput) { in.Group = b.closed })) })
				both.Go(func() { done = do(id) })
				both.Wait()
				if err := errors.Join(moved, done); moved != nil && kind(moved) != "404 problem.job.gone" || done != nil && kind(done) != "404 problem.job.gone" {
					t.Fatal(err)
				}
				if moved != nil || done != nil {
					continue // it was deleted first, or it was moved first
				}
				var log []string
				rows, err := pool.QueryContext(ctx, "SELECT action FROM punctual_audit WHERE object_kind = ? AND object_id = ? ORDER BY id", ObjectJob, id)
				if err != nil {
					t.Fatal(err)
				}
				for rows.Next() {
					var action string
					if err := rows.Scan(&action); err != nil {
						t.Fatal(err)
					}
					log = append(log, action)
				}
				if err := errors.Join(rows.Err(), rows.Close()); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(log, " "); got != "create start update" {
					t.Fatalf("%s by who may not do so where the job is: %s", name, got)
				}
			}
		}
	})
}

// TestNoJobIsLeftInAGroupThatIsGone: whoever deletes the group, or makes a job in it or moves one to it at that moment, is refused.
func TestNoJobIsLeftInAGroupThatIsGone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		move := b.create(t, nil)
		for name, do := range map[string]func(group int64) error{
			"made": func(group int64) error {
				_, err := b.Jobs.Create(ctx, b.admin, b.job(func(in *JobInput) { in.Group = group }))
				return err
			},
			"moved": func(group int64) error {
				return b.Jobs.Update(ctx, b.admin, move, b.job(func(in *JobInput) { in.Group = group }))
			},
		} {
			for range 40 {
				group, err := b.Groups.Create(ctx, b.admin, GroupInput{AppName: "short-lived", Title: "s"})
				if err != nil {
					t.Fatal(err)
				}
				var both sync.WaitGroup
				var gone, done error
				both.Go(func() { gone = b.Groups.Delete(ctx, b.admin, group) })
				both.Go(func() { done = do(group) })
				both.Wait()
				if got := kind(gone) + ", " + kind(done); got != "ok, 422 group:job.error.group" && got != "409 problem.group.jobs, ok" {
					t.Fatalf("a group is deleted and a job %s in it at once: %s", name, got)
				}
				if gone == nil {
					continue
				}
				jobs, err := b.Jobs.IDs(ctx, b.admin, JobFilter{Group: group, Status: AnyStatus, Limit: 9})
				if err != nil || len(jobs) != 1 {
					t.Fatal(jobs, err)
				}
				if err := b.Jobs.Delete(ctx, b.admin, jobs[0]); err != nil {
					t.Fatal(err)
				}
				if err := b.Groups.Delete(ctx, b.admin, group); err != nil {
					t.Fatal(err)
				}
				if jobs[0] == move {
					move = b.create(t, nil)
				}
			}
		}
	})
}

// TestNoJobKeepsToACalendarThatIsGone: whoever deletes it, or saves a job that names it at that moment, is refused.
func TestNoJobKeepsToACalendarThatIsGone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		keeps := func(in *JobInput) { in.Calendar, in.CalendarRule = "short-lived", jobspec.CalendarWorkdays }
		edited := b.create(t, nil)
		for name, do := range map[string]func() (int64, error){
			"made":   func() (int64, error) { return b.Jobs.Create(ctx, b.admin, b.job(keeps)) },
			"edited": func() (int64, error) { return edited, b.Jobs.Update(ctx, b.admin, edited, b.job(keeps)) },
		} {
			for range 40 {
				if err := b.Calendars.Put(ctx, b.admin, &calendar.Calendar{Name: "short-lived", Week: []string{"mon"}}); err != nil {
					t.Fatal(err)
				}
				var both sync.WaitGroup
				var gone, done error
				var job int64
				both.Go(func() { gone = b.Calendars.Delete(ctx, b.admin, "short-lived") })
				both.Go(func() { job, done = do() })
				both.Wait()
				if got := kind(gone) + ", " + kind(done); got != "ok, 422 calendar:job.error.calendar" && got != "409 problem.calendar.used, ok" {
					t.Fatalf("a calendar is deleted and a job that keeps to it %s at once: %s", name, got)
				}
				if gone == nil {
					continue
				}
				if job == edited {
					if err := b.Jobs.Update(ctx, b.admin, edited, b.job(nil)); err != nil {
						t.Fatal(err)
					}
				} else if err := b.Jobs.Delete(ctx, b.admin, job); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestNoRingIsMadeByTwo who each save a half of it at once: it would run for ever.
func TestNoRingIsMadeByTwo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		a, c := b.create(t, nil), b.create(t, nil)
		plain := fmt.Sprintf("steps: [{id: a, job: {id: %d}}]", a)
		upper, lower := b.create(t, flowOf(plain)), b.create(t, flowOf(plain))
		child := func(of, id int64) error {
			return b.Jobs.Update(ctx, b.admin, of, b.job(func(in *JobInput) { in.ChildJobIDs = strconv.FormatInt(id, 10) }))
		}
		step := func(of, id int64) error {
			return b.Jobs.SaveGlue(ctx, b.admin, of, GlueInput{Source: fmt.Sprintf("steps: [{id: a, flow: {id: %d}}]", id), Remark: "another step"})
		}
		for name, do := range map[string][2]func() error{
			"children": {func() error { return child(a, c) }, func() error { return child(c, a) }},
			"steps":    {func() error { return step(upper, lower) }, func() error { return step(lower, upper) }},
		} {
			for range 40 {
				var both sync.WaitGroup
				var errs [2]error
				for i := range errs {
					both.Go(func() { errs[i] = do[i]() })
				}
				both.Wait()
				if (errs[0] == nil) == (errs[1] == nil) {
					t.Fatalf("%s: %s, %s", name, kind(errs[0]), kind(errs[1]))
				}
				if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET child_jobid = '', revision = revision + 1"); err != nil {
					t.Fatal(err)
				}
				if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET glue_source = ?, revision = revision + 1 WHERE id IN (?, ?)", plain, upper, lower); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestATypedNameIsNotFoundWhereItWasMovedAway: names are kept for a while, and who may see their jobs is not.
func TestATypedNameIsNotFoundWhereItWasMovedAway(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		name := func(in *JobInput) { in.Name = "日终结算" }
		id := b.create(t, name)
		found := func() int {
			t.Helper()
			jobs, err := b.Jobs.Typed(ctx, b.user, "rzjs", 5)
			if err != nil {
				t.Fatal(err)
			}
			return len(jobs)
		}
		if n := found(); n != 1 {
			t.Fatalf("%d are found", n)
		}
		if err := b.Jobs.Update(ctx, b.admin, id, b.job(func(in *JobInput) { name(in); in.Group = b.closed })); err != nil {
			t.Fatal(kind(err))
		}
		if n := found(); n != 0 {
			t.Errorf("%d are found in a group that is closed to who looks", n)
		}
	})
}

// TestWhatWaitsGoesWithItsJob to another group's line, and to that of another priority, also what an admin of before made. What runs stays where it is.
func TestWhatWaitsGoesWithItsJob(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		id := b.create(t, nil)
		if err := db.InsertSlots(ctx, pool, []db.Slot{{JobID: id, LogID: 1, GroupID: b.group}, {JobID: id, LogID: 2, GroupID: b.group}, {JobID: id, LogID: 3}}); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(ctx, "UPDATE punctual_slot SET running = 1 WHERE log_id = 2"); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name   string
			change func(*JobInput)
			want   string
		}{
			{"another name", func(in *JobInput) { in.Name = "renamed" }, fmt.Sprintf("1:%d:0 2:%[1]d:0 3:0:0", b.group)},
			{"a priority", func(in *JobInput) { in.Priority = jobspec.PriorityHighest }, fmt.Sprintf("1:%d:-2 2:%[1]d:0 3:%[1]d:-2", b.group)},
			{"a group", func(in *JobInput) { in.Group, in.Priority = b.closed, jobspec.PriorityHighest }, fmt.Sprintf("1:%d:-2 2:%d:0 3:%[1]d:-2", b.closed, b.group)},
			{"none", func(in *JobInput) { in.Group = b.closed }, fmt.Sprintf("1:%d:0 2:%d:0 3:%[1]d:0", b.closed, b.group)},
		} {
			if err := b.Jobs.Update(ctx, b.admin, id, b.job(c.change)); err != nil {
				t.Fatal(c.name, kind(err))
			}
			rows, err := pool.QueryContext(ctx, "SELECT log_id, group_id, line FROM punctual_slot ORDER BY log_id")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for rows.Next() {
				var log, group, line int64
				if err := rows.Scan(&log, &group, &line); err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%d:%d:%d", log, group, line))
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(got, " "); all != c.want {
				t.Errorf("%s: run:group:line %s, want %s", c.name, all, c.want)
			}
		}
	})
}

// TestTheRunsOfAMovedJobAreLookedForNearby by those who do not see them in all groups: there may be a million between.
func TestTheRunsOfAMovedJobAreLookedForNearby(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		id := b.create(t, nil)
		runs := func(n int, group int64) (first int64) {
			t.Helper()
			list := make([]db.NewRun, n)
			for i := range list {
				list[i] = db.NewRun{JobGroup: group, JobID: id, PlannedAt: b.now.UnixMilli(), TriggerTime: pool.Wall(b.now)}
			}
			first, err := db.InsertRuns(ctx, pool, list)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_log SET trigger_code = 200, handle_code = 200, outcome = 1, sent_at = 1000, finished_at = 2000 WHERE id >= ?", first); err != nil {
				t.Fatal(err)
			}
			return first
		}
		see := func(what string, p auth.Principal, want, timed int) {
			t.Helper()
			list, err := b.Runs.OfJob(ctx, p, id, 30)
			if err != nil || len(list) != want {
				t.Errorf("%s: %d runs, %v, want %d", what, len(list), err, want)
			}
			if d, err := b.Runs.Durations(ctx, p, id, 0); err != nil || d.Runs != timed {
				t.Errorf("%s: the durations of %d runs, %v, want %d", what, d.Runs, err, timed)
			}
		}
		first := runs(10, b.group)
		runs(490, b.closed)
		see("among the newest", b.user, 10, 10)
		runs(20, b.closed)
		see("behind those", b.user, 0, 0)
		see("of all groups", b.admin, 30, 200)
		last := runs(3, b.group)
		see("the newest", b.user, 3, 3)
		run, err := db.New().GetRun(ctx, pool, first)
		if err != nil {
			t.Fatal(err)
		}
		if past, err := b.Runs.Past(ctx, b.user, run, nil, 40); err != nil || len(past.Runs) != 10 || past.Next != first+1 {
			t.Errorf("beside the first: %d runs, the next is %d, %v", len(past.Runs), past.Next, err)
		}
		if run, err = db.New().GetRun(ctx, pool, last); err != nil {
			t.Fatal(err)
		}
		if past, err := b.Runs.Past(ctx, b.user, run, nil, 40); err != nil || len(past.Runs) != 3 || past.Previous != 0 || past.Next != last+1 {
			t.Errorf("beside the last: %d runs, the one before is %d, the next %d, %v", len(past.Runs), past.Previous, past.Next, err)
		}
	})
}
