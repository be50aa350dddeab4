package manage

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// startedAt makes a job started with a next time.
func (b *bundle) startedAt(t *testing.T, id int64, next time.Time) {
	t.Helper()
	if _, err := b.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ? WHERE id = ?", next.UnixMilli(), id); err != nil {
		t.Fatal(err)
	}
}

func TestListsShowWhatTheDashboardCounts(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		now := b.now
		closed := func(in *JobInput) { in.Group = b.closed }
		slow := b.create(t, nil)
		dbtest.InsertRun(t, pool, b.group, slow, now.Add(-30*time.Hour), 200, 0, "") // stuck since yesterday
		dbtest.InsertRun(t, pool, b.group, slow, now.Add(-2*time.Hour), 200, 0, "")
		dbtest.InsertRun(t, pool, b.closed, 99, now.Add(-2*time.Hour), 200, 0, "") // of a job that is gone
		// And one of which nobody has written down since when.
		if _, err := pool.ExecContext(t.Context(), "INSERT INTO xxl_job_log (job_group, job_id, trigger_code, handle_code) VALUES (?, ?, 200, 0)", b.group, slow); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			dbtest.InsertRun(t, pool, b.group, b.create(t, nil), now.Add(-time.Hour), 200, 500, "")
		}
		dbtest.InsertRun(t, pool, b.closed, b.create(t, closed), now.Add(-time.Hour), 200, 500, "")
		waits := b.create(t, nil)
		for range 3 { // three runs of a job that is late once
			dbtest.InsertRun(t, pool, b.group, waits, now.Add(-time.Minute), 0, 0, "")
		}
		b.startedAt(t, waits, now.Add(-time.Minute))
		b.startedAt(t, b.create(t, nil), now.Add(-time.Minute))
		b.startedAt(t, b.create(t, closed), now.Add(-time.Minute))
		dbtest.InsertRun(t, pool, b.group, slow, now.Add(-time.Minute), 200, 0, "")
		b.sweep(t)
		every := func(in *JobInput) { in.ScheduleType, in.ScheduleConf = jobspec.ScheduleFixRate, "20" }
		minute := now.Truncate(time.Minute).Add(time.Minute)
		b.startedAt(t, b.create(t, every), minute.Add(5*time.Second))
		b.startedAt(t, b.create(t, every), minute.Add(70*time.Second))
		b.startedAt(t, b.create(t, func(in *JobInput) { every(in); closed(in) }), minute)

		for _, who := range []auth.Principal{b.admin, b.user} {
			got, _, err := b.Dashboard.Troubles(t.Context(), who)
			if err != nil {
				t.Fatal(err)
			}
			forecast, err := b.Dashboard.Forecast(t.Context(), who)
			if err != nil {
				t.Fatal(err)
			}
			jobs := func(f JobFilter) int {
				f.Status, f.Limit = AnyStatus, 50
				list, err := b.Jobs.List(t.Context(), who, f)
				if err != nil || list.Total != int64(len(list.Jobs)) {
					t.Fatalf("%+v, %v", list, err)
				}
				return len(list.Jobs)
			}
			runs := func(f RunFilter) int {
				f.Limit = 50
				list, err := b.Runs.List(t.Context(), who, f)
				if err != nil {
					t.Fatal(err)
				}
				return len(list.Runs)
			}
			foreign := 0 // what only an administrator sees
			if who.Admin {
				foreign = 1
			}
			for _, n := range []struct {
				what                string
				count, listed, want int
			}{
				{"failing jobs", len(got.Failing), jobs(JobFilter{Show: dashboard.ShowFailing}), 3 + foreign},
				{"late jobs", len(got.LateJobs()), jobs(JobFilter{Show: dashboard.ShowLate}), 2 + foreign},
				{"late runs", len(got.LateRuns()), runs(RunFilter{Show: dashboard.ShowLate}), 3},
				{"long runs", len(got.Long), runs(RunFilter{Show: dashboard.ShowLong}), 2},
				{"jobs of a minute", int(forecast.Jobs[1]), jobs(JobFilter{Show: dashboard.ShowDue, At: minute}), 1 + foreign},
				{"jobs of the minute after", int(forecast.Jobs[2]), jobs(JobFilter{Show: dashboard.ShowDue, At: minute.Add(time.Minute)}), 2 + foreign},
				{"jobs of a minute that is over", 0, jobs(JobFilter{Show: dashboard.ShowDue, At: minute.Add(-5 * time.Minute)}), 0},
				{"jobs of the hour", 2 + foreign, jobs(JobFilter{Show: dashboard.ShowDue, At: minute.Add(-time.Minute), Until: minute.Add(time.Hour)}), 2 + foreign},
				{"failing jobs of another name", 0, jobs(JobFilter{Show: dashboard.ShowFailing, Text: "no such name"}), 0},
				{"late runs of one job", 3, runs(RunFilter{Show: dashboard.ShowLate, Job: waits, Group: b.group, Result: Open}), 3},
				{"late runs that have succeeded", 0, runs(RunFilter{Show: dashboard.ShowLate, Result: Succeeded}), 0},
				{"long runs of the last day", 1, runs(RunFilter{Show: dashboard.ShowLong, Since: now.Add(-24 * time.Hour)}), 1},
				{"long runs with a text", 0, runs(RunFilter{Show: dashboard.ShowLong, Text: "nowhere"}), 0},
			} {
				if n.count != n.want || n.listed != n.want {
					t.Errorf("%s for %s: counted %d, listed %d, want %d", n.what, who.Name, n.count, n.listed, n.want)
				}
			}
			if forecast.Minutes[1] < 3 {
				t.Errorf("%d fires in the minute, want at least 3", forecast.Minutes[1])
			}
		}
	})
}

func TestRunsOfABroadcastAreFound(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		var all []db.NewRun
		run := func(job int64, sharding string, at time.Time, kind jobspec.TriggerType) {
			all = append(all, db.NewRun{JobGroup: b.group, JobID: job, Sharding: sharding, TriggerTime: pool.Wall(at), PlannedAt: at.UnixMilli(), Type: kind, TriggerCode: 200})
		}
		for i := range 3 {
			run(1, strconv.Itoa(i)+"/3", b.now, jobspec.TriggerCron)
		}
		run(1, "1/3", b.now, jobspec.TriggerRetry)
		run(1, "0/3", b.now.Add(time.Minute), jobspec.TriggerCron)
		run(2, "0/3", b.now, jobspec.TriggerCron)
		run(1, "", b.now, jobspec.TriggerCron)
		first, err := db.InsertRuns(t.Context(), pool, all)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{3, 3, 3, 0, 0, 0, 0} {
			r, err := b.Runs.Get(t.Context(), b.user, first+int64(i))
			if err != nil {
				t.Fatal(err)
			}
			if rows, err := b.Runs.Shards(t.Context(), b.user, r); err != nil || len(rows) != want {
				t.Errorf("run %d is one of %d, want %d (%v)", i, len(rows), want, err)
			}
		}
	})
}

func TestRunsAreFilteredByCauseAndExecutor(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		job := b.create(t, nil)
		var all []db.NewRun
		for i, kind := range []jobspec.TriggerType{jobspec.TriggerCron, jobspec.TriggerManual, jobspec.TriggerCron, jobspec.TriggerRetry} {
			all = append(all, db.NewRun{JobGroup: b.group, JobID: job, Address: "http://10.0.0." + strconv.Itoa(i%2+1) + ":9999/", TriggerTime: pool.Wall(b.now), PlannedAt: b.now.UnixMilli(), Type: kind})
		}
		all[3].Address = ""
		first, err := db.InsertRuns(t.Context(), pool, all)
		if err != nil {
			t.Fatal(err)
		}
		for i, took := range []int{999, 1000, 60_000} { // and one that nobody has sent
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET sent_at = 5000, finished_at = ?, handle_code = 200, trigger_code = 200 WHERE id = ?", 5000+took, first+int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		tests := []struct {
			name   string
			filter RunFilter
			want   int
		}{
			{"everything", RunFilter{}, 4},
			{"by cause", RunFilter{Trigger: jobspec.TriggerCron}, 2},
			{"by address", RunFilter{Executor: "10.0.0.1"}, 2},
			{"by both, of a job", RunFilter{Job: job, Trigger: jobspec.TriggerManual, Executor: "http://10.0.0.2:9999/"}, 1},
			{"a wildcard is text", RunFilter{Executor: "%"}, 0},
			{"none", RunFilter{Trigger: jobspec.TriggerAPI}, 0},
			{"by length", RunFilter{Longer: time.Second}, 2},
			{"by length and cause", RunFilter{Longer: time.Minute, Trigger: jobspec.TriggerCron}, 1},
			{"longer than any", RunFilter{Longer: time.Hour}, 0},
		}
		for _, tt := range tests {
			tt.filter.Limit = 10
			list, err := b.Runs.List(t.Context(), b.user, tt.filter)
			if err != nil || len(list.Runs) != tt.want {
				t.Errorf("%s: %d runs, want %d (%v)", tt.name, len(list.Runs), tt.want, err)
			}
		}
		list, err := b.Runs.List(t.Context(), b.user, RunFilter{Trigger: jobspec.TriggerCron, Limit: 1})
		if err != nil || list.Older == 0 {
			t.Fatalf("%+v, %v", list, err)
		}
		older, err := b.Runs.List(t.Context(), b.user, RunFilter{Trigger: jobspec.TriggerCron, Limit: 1, Before: list.Runs[0].ID})
		if err != nil || older.Newer == 0 || older.Older != 0 || len(older.Runs) != 1 {
			t.Errorf("the page below: %+v, %v", older, err)
		}
	})
}

// TestEachStateCanBeListed makes runs of every outcome and compares with what each of them says of itself.
func TestEachStateCanBeListed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		job := b.create(t, nil)
		for _, row := range [][3]int64{ // outcome, trigger_code, handle_code
			{0, 0, 0}, {0, 0, 0}, {0, 200, 0}, {int64(event.Succeeded), 200, 200}, {int64(event.Failed), 200, 500}, {int64(event.TimedOut), 200, 502}, {int64(event.NotSent), 500, 0},
			{int64(event.Unconfirmed), 500, 0}, {int64(event.Killed), 200, 500}, {int64(event.Lost), 200, 500}, {int64(event.Skipped), 500, 0}, {int64(event.Discarded), 500, 0},
			{int64(event.Cancelled), 500, 0}, {int64(event.Stopped), 500, 0}, {0, 200, 200}, // the last as an XXL-JOB admin leaves it
		} {
			id := dbtest.InsertRun(t, pool, b.group, job, b.now.Add(-time.Hour), row[1], row[2], "")
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET outcome = ? WHERE id = ?", row[0], id); err != nil {
				t.Fatal(err)
			}
		}
		list := func(f RunFilter) map[runstate.State][]int64 {
			t.Helper()
			f.Limit = 50
			found, err := b.Runs.List(t.Context(), b.user, f)
			if err != nil {
				t.Fatal(err)
			}
			of := make(map[runstate.State][]int64)
			for _, r := range found.Runs {
				state := runstate.Of(r.Outcome, r.TriggerCode, r.HandleCode, r.HandleNote)
				of[state] = append(of[state], r.ID)
			}
			return of
		}
		all := list(RunFilter{})
		if len(all) != len(runstate.All()) {
			t.Fatalf("runs in %d states of %d: %v", len(all), len(runstate.All()), all)
		}
		for _, state := range runstate.All() {
			want := map[runstate.State][]int64{state: all[state]}
			if diff := cmp.Diff(want, list(RunFilter{State: state})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", state, diff)
			}
		}
	})
}

func TestTheListOfFailuresHasNoSkippedFires(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		job := b.create(t, nil)
		want := map[Result][]int64{}
		add := func(o event.Outcome, trigger, handle int64, in Result) {
			id := dbtest.InsertRun(t, pool, b.group, job, b.now.Add(-time.Minute), trigger, handle, "")
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET outcome = ? WHERE id = ?", o, id); err != nil {
				t.Fatal(err)
			}
			want[in] = append([]int64{id}, want[in]...)
		}
		for _, o := range event.AllOutcomes() {
			switch {
			case o == event.Succeeded:
				add(o, 200, 200, Succeeded)
			case o == event.Failed, o == event.TimedOut, o == event.Lost:
				add(o, 200, 500, Failed)
			case o == event.Open:
				add(o, 200, 0, Open)
			case o.Passed():
				add(o, 500, 0, Skipped)
			default:
				add(o, 500, 0, Failed)
			}
		}
		// Of an XXL-JOB admin's rows the codes tell it.
		add(event.Open, 500, 0, Failed)
		add(event.Open, 200, 502, Failed)
		add(event.Open, 200, 200, Succeeded)
		for _, f := range []RunFilter{{}, {Job: job}, {Group: b.group}, {Since: b.now.Add(-time.Hour)}} {
			for result, ids := range want {
				f.Result, f.Limit = result, 50
				list, err := b.Runs.List(t.Context(), b.admin, f)
				if err != nil {
					t.Fatal(err)
				}
				var got []int64
				for _, r := range list.Runs {
					got = append(got, r.ID)
				}
				if diff := cmp.Diff(ids, got); diff != "" {
					t.Errorf("%+v (-want +got):\n%s", f, diff)
				}
			}
		}
	})
}

// TestRunsOfAnHourThatComesTwiceAreFound by the moments of the range, whichever pass these are of. Of rows of an XXL-JOB admin nobody knows the pass:
// they are found in both.
func TestRunsOfAnHourThatComesTwiceAreFound(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]time.Time{ // when clocks are set back by an hour
		"Europe/Berlin": time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC), "America/New_York": time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
			pool := dbtest.Open(t, db.Config{URL: dbtest.Migrated(t), Zone: zone})
			b := setup(t, pool, func(c *Config) { c.Now = func() time.Time { return back.Add(3 * time.Hour) } })
			job := b.create(t, nil)
			for m := -120; m < 180; m += 10 {
				dbtest.InsertRun(t, pool, b.group, job, back.Add(time.Duration(m)*time.Minute), 200, 200, "")
			}
			for _, known := range []bool{true, false} {
				if !known {
					if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET planned_at = 0"); err != nil {
						t.Fatal(err)
					}
				}
				const open = 1000                                              // no end
				for _, c := range []struct{ since, until, found, either int }{ // in minutes after that moment, and how many there are
					{-60, 59, 12, 12},   // the whole hour, both times
					{-60, -1, 6, 12},    // its first pass
					{0, 59, 6, 12},      // its second
					{-10, 10, 3, 12},    // the end of the first and the beginning of the second
					{-50, 10, 7, 12},    // the last hour, in the second pass
					{-90, -50, 5, 7},    // before it, and into the first pass
					{-90, 0, 10, 15},    // into the second
					{50, 90, 5, 6},      // out of the second
					{-20, 90, 12, 16},   // out of the first
					{-120, 170, 30, 30}, // all
					{-50, open, 23, 24}, // and what is newer than an hour, in the second pass
				} {
					want := c.found
					if !known {
						want = c.either
					}
					at := func(m int) time.Time { return back.Add(time.Duration(m) * time.Minute) }
					f := RunFilter{Since: at(c.since), Until: at(c.until), Limit: 100}
					if c.until == open {
						f.Until = time.Time{}
					}
					list, err := b.Runs.List(t.Context(), b.admin, f)
					if err != nil || len(list.Runs) != want {
						t.Errorf("from %v to %v, known %v: %d runs, want %d (%v)", f.Since.In(zone), f.Until.In(zone), known, len(list.Runs), want, err)
					}
				}
			}
		})
	}
}
