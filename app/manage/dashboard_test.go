package manage

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// startedAt makes a job started with a next time.
func (b *bundle) startedAt(t *testing.T, id int64, next time.Time) {
	t.Helper()
	if _, err := b.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ? WHERE id = ?", next.UnixMilli(), id); err != nil {
		t.Fatal(err)
	}
}

func TestTheDashboardFindsTroubles(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		none, jobs, err := b.Dashboard.Troubles(t.Context(), b.admin)
		if err != nil || len(none.Failing)+len(none.Late)+len(none.Long) != 0 || len(jobs) != 0 {
			t.Fatalf("nothing happened: %+v, %v", none, err)
		}
		now := b.now
		failing, recovered, closed, killed, skipped := b.create(t, nil), b.create(t, nil), b.create(t, func(in *JobInput) { in.Group = b.closed }), b.create(t, nil), b.create(t, nil)
		insertRun(t, pool, b.group, failing, now.Add(-3*time.Hour), 200, 200, "")
		insertRun(t, pool, b.group, failing, now.Add(-2*time.Hour), 500, 0, "result: no executor is registered")
		last := insertRun(t, pool, b.group, failing, now.Add(-time.Hour-time.Minute), 200, 502, "")
		insertRun(t, pool, b.group, recovered, now.Add(-2*time.Hour), 200, 500, "")
		insertRun(t, pool, b.group, recovered, now.Add(-time.Hour), 200, 200, "")
		insertRun(t, pool, b.closed, closed, now.Add(-time.Hour), 200, 500, "killed by ann: the executor's own words")
		ended := insertRun(t, pool, b.group, killed, now.Add(-time.Hour), 200, 500, "")
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET outcome = 6 WHERE id = ?", ended); err != nil {
			t.Fatal(err)
		}
		passed := insertRun(t, pool, b.group, skipped, now.Add(-time.Hour), 500, 0, "")
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET outcome = 8 WHERE id = ?", passed); err != nil {
			t.Fatal(err)
		}
		long := insertRun(t, pool, b.group, recovered, now.Add(-90*time.Minute), 200, 0, "")
		insertRun(t, pool, b.group, recovered, now.Add(-50*time.Minute), 200, 0, "") // may take an hour
		warned := insertRun(t, pool, b.group, killed, now.Add(-10*time.Minute), 200, 0, "")
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET warn_after_seconds = 300 WHERE id = ?", killed); err != nil {
			t.Fatal(err)
		}
		unsent := insertRun(t, pool, b.group, skipped, now.Add(-time.Minute), 0, 0, "")
		insertRun(t, pool, b.group, skipped, now.Add(-time.Second), 0, 0, "") // on its way
		insertRun(t, pool, b.group, skipped, now.Add(time.Minute), 0, 0, "")  // a retry that waits
		b.startedAt(t, failing, now.Add(-2*time.Minute))
		b.startedAt(t, recovered, now.Add(-2*time.Second))

		b.now = now.Add(troublesLife) // what was found before is kept for a moment
		b.startedAt(t, recovered, b.now.Add(-2*time.Second))
		got, jobs, err := b.Dashboard.Troubles(t.Context(), b.user)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Failing) != 1 || got.Failing[0].Run.ID != last || got.Failing[0].Failures != 2 || jobs[failing].JobDesc == "" {
			t.Errorf("failing: %+v", got.Failing)
		}
		if len(got.Late) != 2 || got.Late[0].JobID != failing || got.Late[0].Run.ID != 0 || got.Late[1].Run.ID != unsent {
			t.Errorf("late: %+v", got.Late)
		}
		if len(got.Long) != 2 || got.Long[0].ID != long || got.Long[1].ID != warned {
			t.Errorf("long: %+v", got.Long)
		}
		if all, _, err := b.Dashboard.Troubles(t.Context(), b.admin); err != nil || len(all.Failing) != 2 {
			t.Errorf("an administrator sees %d failing jobs, %v", len(all.Failing), err)
		}
		counts, err := b.Dashboard.JobCounts(t.Context(), b.user)
		if err != nil || len(counts) != 1 || counts[b.group] != (JobCount{All: 4, Started: 2}) {
			t.Errorf("counts %+v, %v", counts, err)
		}
	})
}

func TestAFailingJobIsFoundBehindThoseThatFailOften(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		b.Dashboard.patience = time.Minute
		quiet, odd, recovered, noisy := b.create(t, nil), b.create(t, nil), b.create(t, nil), b.create(t, nil)
		last := insertRun(t, pool, b.group, quiet, b.now.Add(-20*time.Hour), 200, 500, "")
		insertRun(t, pool, b.group, odd, b.now.Add(-20*time.Hour), 200, 7, "") // an executor's own code
		insertRun(t, pool, b.group, recovered, b.now.Add(-19*time.Hour), 200, 500, "")
		insertRun(t, pool, b.group, recovered, b.now.Add(-18*time.Hour), 200, 200, "")
		const often = 3000
		runs := make([]db.NewRun, often)
		for i := range runs {
			at := b.now.Add(time.Duration(i-often) * time.Second)
			runs[i] = db.NewRun{JobGroup: b.group, JobID: noisy, TriggerTime: pool.Wall(at), PlannedAt: at.UnixMilli(), Type: jobspec.TriggerCron, TriggerCode: 200}
		}
		for part := range slices.Chunk(runs, 500) {
			if _, err := db.InsertRuns(t.Context(), pool, part); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET handle_code = 500 WHERE job_id = ?", noisy); err != nil {
			t.Fatal(err)
		}
		got, _, err := b.Dashboard.Troubles(t.Context(), b.user)
		if err != nil || len(got.Failing) != 3 || got.MoreFailing {
			t.Fatalf("%d jobs fail, more %t, %v", len(got.Failing), got.MoreFailing, err)
		}
		if f := got.Failing; f[0].Run.JobID != noisy || f[0].Failures != often || f[1].Run.JobID != odd || f[2].Run.ID != last {
			t.Errorf("%+v", f)
		}
	})
}

func TestTheForecastFollowsSchedules(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil) // it is 05:06:07
		schedule := func(kind jobspec.ScheduleType, conf string, next time.Time) {
			id := b.create(t, func(in *JobInput) { in.ScheduleType, in.ScheduleConf = kind, conf })
			b.startedAt(t, id, next)
		}
		at := func(hour, minute, second int) time.Time {
			return time.Date(2026, 3, 4, hour, minute, second, 0, time.UTC)
		}
		schedule(jobspec.ScheduleCron, "0 */10 * * * ?", at(5, 10, 0))
		schedule(jobspec.ScheduleCron, "0 0 6,18 * * ?", at(6, 0, 0))
		schedule(jobspec.ScheduleFixRate, "30", at(5, 6, 30))
		schedule(jobspec.ScheduleFixDelay, "10", at(5, 20, 0)) // what comes after it, nobody knows
		schedule(jobspec.ScheduleCron, "0 0 9 * * ?", at(9, 0, 0))
		b.create(t, nil) // stopped
		f, err := b.Dashboard.Forecast(t.Context(), b.admin)
		if err != nil || f.AtLeast || !f.From.Equal(at(5, 6, 0)) {
			t.Fatalf("%+v, %v", f, err)
		}
		for minute, want := range map[int]int64{0: 1, 1: 2, 4: 3, 14: 4, 54: 4, 59: 2} {
			if f.Minutes[minute] != want {
				t.Errorf("%d due in %d minutes, want %d", f.Minutes[minute], minute, want)
			}
		}
	})
}

// hour counts runs of a group for an hour.
func (b *bundle) hour(t *testing.T, group int64, at time.Time, running, succeeded, failed int64) {
	t.Helper()
	if err := db.New().AddToHour(t.Context(), b.pool, db.AddToHourParams{
		GroupID: group, HourAt: b.pool.Wall(at).Truncate(time.Hour).Unix(), RunningCount: running, SucCount: succeeded, FailCount: failed,
	}); err != nil {
		t.Fatal(err)
	}
}

func TestTheWeekAndTheDaysAreOfTheGroupsThatSomebodySees(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		now := b.now.In(pool.Zone())
		today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
		b.hour(t, b.group, today.AddDate(0, 0, -7).Add(23*time.Hour), 0, 5, 0) // before the week
		b.hour(t, b.group, today.AddDate(0, 0, -6).Add(3*time.Hour), 0, 2, 0)
		b.hour(t, b.group, today.AddDate(0, 0, -1).Add(23*time.Hour), 0, 3, 1)
		b.hour(t, b.closed, today.AddDate(0, 0, -1).Add(23*time.Hour), 0, 40, 0)
		b.hour(t, b.group, now, 1, 2, 0)
		b.hour(t, b.group, today.AddDate(0, 0, -2), -1, 1, 0) // the end is written, the beginning is not yet
		sum := func(w Week) (n int64) {
			for _, d := range w.Days {
				for _, h := range d.Hours {
					n += h
				}
			}
			return n
		}
		w, err := b.Dashboard.Week(t.Context(), b.user)
		if err != nil || w.Days[0].Hours[3] != 2 || w.Days[5].Hours[23] != 4 || w.Days[6].Hours[now.Hour()] != 3 || sum(w) != 9 || !w.Days[6].Date.Equal(today) {
			t.Errorf("the user's week is %+v, %v", w, err)
		}
		if w, err := b.Dashboard.Week(t.Context(), b.admin); err != nil || w.Days[5].Hours[23] != 44 || sum(w) != 49 {
			t.Errorf("the administrator's week is %+v, %v", w, err)
		}
		days, all, err := b.Dashboard.Days(t.Context(), b.user, 7)
		if err != nil || len(days) != 7 || all.Total() != 10 || days[5].Failed != 1 || days[5].Succeeded != 3 || days[6].Running != 1 || days[4].Running != 0 || !days[6].Date.Equal(today) {
			t.Errorf("the user's days are %+v, %v", days, err)
		}
		nobody := auth.Principal{UserID: 99, Name: "nobody"}
		if days, all, err := b.Dashboard.Days(t.Context(), nobody, 14); err != nil || len(days) != 14 || all.Total() != 0 {
			t.Errorf("who sees nothing is told %+v, %v", days, err)
		}
		if w, err := b.Dashboard.Week(t.Context(), nobody); err != nil || sum(w) != 0 {
			t.Errorf("who sees nothing is told %+v, %v", w, err)
		}
	})
}

func TestListsShowWhatTheDashboardCounts(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		now := b.now
		closed := func(in *JobInput) { in.Group = b.closed }
		slow := b.create(t, nil)
		insertRun(t, pool, b.group, slow, now.Add(-30*time.Hour), 200, 0, "") // stuck since yesterday
		insertRun(t, pool, b.group, slow, now.Add(-2*time.Hour), 200, 0, "")
		insertRun(t, pool, b.closed, 99, now.Add(-2*time.Hour), 200, 0, "") // of a job that is gone
		for range 3 {
			insertRun(t, pool, b.group, b.create(t, nil), now.Add(-time.Hour), 200, 500, "")
		}
		insertRun(t, pool, b.closed, b.create(t, closed), now.Add(-time.Hour), 200, 500, "")
		waits := b.create(t, nil)
		for range 3 { // three runs of a job that is late once
			insertRun(t, pool, b.group, waits, now.Add(-time.Minute), 0, 0, "")
		}
		b.startedAt(t, waits, now.Add(-time.Minute))
		b.startedAt(t, b.create(t, nil), now.Add(-time.Minute))
		b.startedAt(t, b.create(t, closed), now.Add(-time.Minute))
		insertRun(t, pool, b.group, slow, now.Add(-time.Minute), 200, 0, "")
		b.engine.load.OpenFrom = 1
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
				{"failing jobs", len(got.Failing), jobs(JobFilter{Show: ShowFailing}), 3 + foreign},
				{"late jobs", len(got.LateJobs()), jobs(JobFilter{Show: ShowLate}), 2 + foreign},
				{"late runs", len(got.LateRuns()), runs(RunFilter{Show: ShowLate}), 3},
				{"long runs", len(got.Long), runs(RunFilter{Show: ShowLong}), 2},
				{"jobs of a minute", int(forecast.Jobs[1]), jobs(JobFilter{Show: ShowDue, At: minute}), 1 + foreign},
				{"jobs of the minute after", int(forecast.Jobs[2]), jobs(JobFilter{Show: ShowDue, At: minute.Add(time.Minute)}), 2 + foreign},
				{"jobs of a minute that is over", 0, jobs(JobFilter{Show: ShowDue, At: minute.Add(-5 * time.Minute)}), 0},
				{"failing jobs of another name", 0, jobs(JobFilter{Show: ShowFailing, Text: "no such name"}), 0},
				{"late runs of one job", 3, runs(RunFilter{Show: ShowLate, Job: waits, Group: b.group, Result: Open}), 3},
				{"late runs that have succeeded", 0, runs(RunFilter{Show: ShowLate, Result: Succeeded}), 0},
				{"long runs of the last day", 1, runs(RunFilter{Show: ShowLong, Since: now.Add(-24 * time.Hour)}), 1},
				{"long runs with a text", 0, runs(RunFilter{Show: ShowLong, Text: "nowhere"}), 0},
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
		if _, err := db.InsertRuns(t.Context(), pool, all); err != nil {
			t.Fatal(err)
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

func TestSkippedFiresAreNeitherFailuresNorInTheShareOfSuccesses(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		if err := db.New().AddToHour(t.Context(), pool, db.AddToHourParams{
			GroupID: b.group, HourAt: pool.Wall(b.now).Truncate(time.Hour).Unix(), SucCount: 3, FailCount: 1, SkipCount: 808,
		}); err != nil {
			t.Fatal(err)
		}
		days, sum, err := b.Dashboard.Days(t.Context(), b.user, 1)
		if err != nil || days[0].Failed != 1 || days[0].Skipped != 808 || sum.Total() != 812 {
			t.Errorf("%+v, sum %+v, %v", days, sum, err)
		}
		if share, ok := sum.SuccessShare(); !ok || share != 0.75 {
			t.Errorf("success share %v, %v, want 0.75", share, ok)
		}
		w, err := b.Dashboard.Week(t.Context(), b.user)
		if now := b.now.In(pool.Zone()); err != nil || w.Days[6].Hours[now.Hour()] != 812 {
			t.Errorf("the week %+v, %v: want the 812 planned runs of the hour", w, err)
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
			id := insertRun(t, pool, b.group, job, b.now.Add(-time.Minute), trigger, handle, "")
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
