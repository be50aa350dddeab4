package dashboard_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// engine is one that hears of changes.
type engine struct{ manage.Engine }

func (engine) JobsChanged()                        {}
func (engine) StartWaiting(int64)                  {}
func (engine) GroupsChanged(context.Context) error { return nil }
func (engine) PausesChanged(context.Context) error { return nil }
func (engine) Load() scheduler.Load                { return scheduler.Load{} }

// bundle is a dashboard over a clean database with two groups: somebody may use the first.
type bundle struct {
	*manage.Service
	pool          *db.Pool
	now           time.Time
	admin         auth.Principal
	user          auth.Principal
	group, closed int64
}

func setup(t testing.TB, pool *db.Pool) *bundle {
	t.Helper()
	b := &bundle{pool: pool, now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), admin: auth.NewPrincipal(1, "root", auth.RoleAdmin, "")}
	now := func() time.Time { return b.now }
	b.Service = manage.New(manage.Config{Pool: pool, Engine: engine{}, Now: now})
	b.Dashboard = dashboard.New(dashboard.Config{Pool: pool, Now: now, Open: func() []int64 { return b.open(t) }, Patience: time.Minute})
	for i, name := range []string{"orders", "secret"} {
		id, err := b.Groups.Create(t.Context(), b.admin, manage.GroupInput{AppName: name, Title: name})
		if err != nil {
			t.Fatal(err)
		}
		*[]*int64{&b.group, &b.closed}[i] = id
	}
	b.user = auth.NewPrincipal(2, "ann", auth.RoleUser, db.Text(strconv.FormatInt(b.group, 10)))
	return b
}

// open are the runs that a sweep would find.
func (b *bundle) open(t testing.TB) []int64 {
	t.Helper()
	rows, err := db.New().ListOpenRuns(t.Context(), b.pool, db.ListOpenRunsParams{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids
}

func (b *bundle) create(t *testing.T, change func(*manage.JobInput)) int64 {
	t.Helper()
	in := manage.JobInput{Group: b.group, Job: jobspec.Job{
		Name: "close the day", Author: "ann", ScheduleType: jobspec.ScheduleCron, ScheduleConf: "0 0 2 * * ?", Misfire: jobspec.MisfireDoNothing,
		Route: jobspec.RouteFirst, Block: wire.BlockSerial, Glue: wire.GlueBean, Handler: "closeDay",
	}}
	if change != nil {
		change(&in)
	}
	id, err := b.Jobs.Create(t.Context(), b.admin, in)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestManyJobsAreCountedNowAndThen: lists of an installation with few jobs say how many there are, and those of one with very many how many there
// were when the dashboard counted them. Where a page is found from the end of the list, it is counted for it.
func TestManyJobsAreCountedNowAndThen(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		// As the service's own dashboard counts, which the lists of its jobs ask.
		total := func(p auth.Principal, f manage.JobFilter) int64 {
			t.Helper()
			f.Limit = 1
			list, err := b.Jobs.List(t.Context(), p, f)
			if err != nil {
				t.Fatal(err)
			}
			return list.Total
		}
		counts := func() int64 {
			t.Helper()
			of, err := b.Service.Dashboard.LatestJobCounts(t.Context(), b.user)
			if err != nil {
				t.Fatal(err)
			}
			return of[b.group].All
		}
		every := manage.JobFilter{Status: manage.AnyStatus}
		oldest := b.create(t, nil)
		for n := int64(1); n < 10_000; n *= 2 {
			if got := total(b.admin, every); got != n || counts() != n {
				t.Fatalf("there are %d jobs, the list says %d and the executors %d", n, got, counts())
			}
			if _, err := pool.ExecContext(t.Context(), "INSERT INTO xxl_job_info (job_group, job_desc, glue_type, trigger_status) SELECT job_group, job_desc, glue_type, trigger_status FROM xxl_job_info"); err != nil {
				t.Fatal(err)
			}
		}
		// The way to the last page is shorter from the end only in a longer list. No statement takes so many rows that a busy machine exceeds its time.
		const n, part = 1 << 16, 1 << 13
		for range (n - 1<<14) / part {
			if _, err := pool.ExecContext(t.Context(), "INSERT INTO xxl_job_info (job_group, job_desc, glue_type, trigger_status) SELECT job_group, job_desc, glue_type, trigger_status FROM xxl_job_info LIMIT ?", part); err != nil {
				t.Fatal(err)
			}
		}
		b.now = b.now.Add(15 * time.Second)
		b.create(t, func(in *manage.JobInput) { in.Group = b.closed })
		if all, mine := total(b.admin, every), total(b.user, every); all != n+1 || mine != n || counts() != n {
			t.Errorf("there are %d jobs, one of another group: %d, %d, %d", n+1, all, mine, counts())
		}
		id := b.create(t, nil)
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET trigger_status = 1 WHERE id = ?", id); err != nil {
			t.Fatal(err)
		}
		stopped, running := manage.JobFilter{Status: int64(jobspec.StatusStopped)}, manage.JobFilter{Status: int64(jobspec.StatusRunning)}
		if all, off, on := total(b.admin, every), total(b.admin, stopped), total(b.admin, running); all != n+1 || off != n+1 || on != 1 {
			t.Errorf("a moment ago there were %d, none of which ran, and one is on the page: %d, %d, %d", n+1, all, off, on)
		}
		b.create(t, func(in *manage.JobInput) { in.Group = b.closed })
		few := manage.JobFilter{Group: b.closed, Status: manage.AnyStatus, Limit: 10}
		if list, err := b.Jobs.List(t.Context(), b.admin, few); err != nil || list.Total != 2 || len(list.Jobs) != 2 {
			t.Errorf("a page has all %d that there are and says %d, %v", len(list.Jobs), list.Total, err)
		}
		few.Order = db.OrderLast
		if list, err := b.Jobs.List(t.Context(), b.admin, few); err != nil || list.Total != 2 || len(list.Jobs) != 2 {
			t.Errorf("a page by the last run has all %d that there are and says %d, %v", len(list.Jobs), list.Total, err)
		}
		whole := every
		whole.Limit = 1
		if _, all, err := b.Jobs.Whole(t.Context(), b.admin, whole); err != nil || all != n+3 {
			t.Errorf("a program is told of %d, %v, want %d", all, err, n+3)
		}
		end := every
		end.Offset, end.Limit = n, 10
		if list, err := b.Jobs.List(t.Context(), b.admin, end); err != nil || list.Total != n+3 || len(list.Jobs) != 3 || list.Jobs[2].ID != oldest {
			t.Errorf("from the end: %d of %d, %v", len(list.Jobs), list.Total, err)
		}
		b.now = b.now.Add(15 * time.Second)
		if all, off, on := total(b.admin, every), total(b.user, stopped), total(b.admin, running); all != n+3 || off != n || on != 1 {
			t.Errorf("there are %d jobs, one of which runs: %d, %d, %d", n+3, all, off, on)
		}
	})
}

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
		b := setup(t, pool)
		none, jobs, err := b.Dashboard.Troubles(t.Context(), b.admin)
		if err != nil || len(none.Failing)+len(none.Late)+len(none.Long) != 0 || len(jobs) != 0 {
			t.Fatalf("nothing happened: %+v, %v", none, err)
		}
		now := b.now
		failing, recovered, closed, killed, skipped := b.create(t, nil), b.create(t, nil), b.create(t, func(in *manage.JobInput) { in.Group = b.closed }), b.create(t, nil), b.create(t, nil)
		dbtest.InsertRun(t, pool, b.group, failing, now.Add(-3*time.Hour), 200, 200, "")
		dbtest.InsertRun(t, pool, b.group, failing, now.Add(-2*time.Hour), 500, 0, "result: no executor is registered")
		last := dbtest.InsertRun(t, pool, b.group, failing, now.Add(-time.Hour-time.Minute), 200, 502, "")
		dbtest.InsertRun(t, pool, b.group, recovered, now.Add(-2*time.Hour), 200, 500, "")
		dbtest.InsertRun(t, pool, b.group, recovered, now.Add(-time.Hour), 200, 200, "")
		dbtest.InsertRun(t, pool, b.closed, closed, now.Add(-time.Hour), 200, 500, "killed by ann: the executor's own words")
		ended := dbtest.InsertRun(t, pool, b.group, killed, now.Add(-time.Hour), 200, 500, "")
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET outcome = 6 WHERE id = ?", ended); err != nil {
			t.Fatal(err)
		}
		passed := dbtest.InsertRun(t, pool, b.group, skipped, now.Add(-time.Hour), 500, 0, "")
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET outcome = 8 WHERE id = ?", passed); err != nil {
			t.Fatal(err)
		}
		long := dbtest.InsertRun(t, pool, b.group, recovered, now.Add(-90*time.Minute), 200, 0, "")
		dbtest.InsertRun(t, pool, b.group, recovered, now.Add(-50*time.Minute), 200, 0, "") // may take an hour
		warned := dbtest.InsertRun(t, pool, b.group, killed, now.Add(-10*time.Minute), 200, 0, "")
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET warn_after_seconds = 300 WHERE id = ?", killed); err != nil {
			t.Fatal(err)
		}
		unsent := dbtest.InsertRun(t, pool, b.group, skipped, now.Add(-time.Minute), 0, 0, "")
		dbtest.InsertRun(t, pool, b.group, skipped, now.Add(-time.Second), 0, 0, "") // on its way
		dbtest.InsertRun(t, pool, b.group, skipped, now.Add(time.Minute), 0, 0, "")  // a retry that waits
		b.startedAt(t, failing, now.Add(-2*time.Minute))
		b.startedAt(t, recovered, now.Add(-2*time.Second))

		b.now = now.Add(3 * time.Second) // what was found before is kept for a moment
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
		if err != nil || len(counts) != 1 || counts[b.group] != (dashboard.JobCount{All: 4, Started: 2}) {
			t.Errorf("counts %+v, %v", counts, err)
		}
	})
}

func TestAFailingJobIsFoundBehindThoseThatFailOften(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		quiet, odd, recovered, noisy := b.create(t, nil), b.create(t, nil), b.create(t, nil), b.create(t, nil)
		last := dbtest.InsertRun(t, pool, b.group, quiet, b.now.Add(-20*time.Hour), 200, 500, "")
		dbtest.InsertRun(t, pool, b.group, odd, b.now.Add(-20*time.Hour), 200, 7, "") // an executor's own code
		dbtest.InsertRun(t, pool, b.group, recovered, b.now.Add(-19*time.Hour), 200, 500, "")
		dbtest.InsertRun(t, pool, b.group, recovered, b.now.Add(-18*time.Hour), 200, 200, "")
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

// TestAPartOfABroadcastThatFailsIsTold: that the others of its fire succeed says nothing of it. It has recovered when its own executor succeeds, or a
// fire of another number of parts.
func TestAPartOfABroadcastThatFailsIsTold(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		broadcast := b.create(t, func(in *manage.JobInput) { in.Route = jobspec.RouteShardingBroadcast })
		fire := func(codes ...int64) (ids []int64) {
			for i, code := range codes {
				id := dbtest.InsertRun(t, pool, b.group, broadcast, b.now.Add(-time.Minute), 200, code, "")
				if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET executor_sharding_param = ? WHERE id = ?", fmt.Sprintf("%d/%d", i, len(codes)), id); err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			}
			return ids
		}
		told := func(what string, want ...int64) {
			t.Helper()
			b.now = b.now.Add(3 * time.Second) // what was found before is kept for a moment
			got, _, err := b.Dashboard.Troubles(t.Context(), b.user)
			var ids []int64
			for _, f := range got.Failing {
				ids = append(ids, f.Run.ID)
			}
			if err != nil || !slices.Equal(ids, want) {
				t.Errorf("%s: %v are told, want %v, %v", what, ids, want, err)
			}
		}
		first := fire(500, 200, 200)
		told("the first of three fails", first[0])
		second := fire(500, 500, 200)
		told("two of three fail", second[1])
		retry := dbtest.InsertRun(t, pool, b.group, broadcast, b.now, 200, 200, "")
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET executor_sharding_param = '1/3' WHERE id = ?", retry); err != nil {
			t.Fatal(err)
		}
		told("one of these has succeeded at its retry", second[0])
		fire(200, 200, 200)
		told("all succeed")
		fire(200, 200, 500)
		fire(200, 200)
		told("the executor that failed is gone")
	})
}

func TestTheForecastFollowsSchedules(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool) // it is 05:06:07
		schedule := func(kind jobspec.ScheduleType, conf string, next time.Time) {
			id := b.create(t, func(in *manage.JobInput) { in.ScheduleType, in.ScheduleConf = kind, conf })
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
		if err != nil || !f.Ends.IsZero() || !f.From.Equal(at(5, 6, 0)) {
			t.Fatalf("%+v, %v", f, err)
		}
		for minute, want := range map[int]int64{0: 1, 1: 2, 4: 3, 14: 4, 54: 4, 59: 2} {
			if f.Minutes[minute] != want {
				t.Errorf("%d due in %d minutes, want %d", f.Minutes[minute], minute, want)
			}
		}
		for _, b.now = range []time.Time{at(5, 6, 59), at(5, 7, 5)} {
			if f, err = b.Dashboard.Forecast(t.Context(), b.admin); err != nil || !f.From.Equal(b.now.Truncate(time.Minute)) {
				t.Errorf("at %v it begins at %v, %v", b.now, f.From, err)
			}
		}
	})
}

// TestTheForecastOfDays: each quarter of an hour has what the schedules, calendars and pauses make of it, of the groups that somebody sees,
// and the list behind it has the jobs.
func TestTheForecastOfDays(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool) // it is 05:06:07 on a Wednesday
		at := func(day, hour, minute int) time.Time { return time.Date(2026, 3, 3+day, hour, minute, 0, 0, time.UTC) }
		schedule := func(conf string, next time.Time, change func(*manage.JobInput)) int64 {
			id := b.create(t, func(in *manage.JobInput) {
				in.ScheduleType, in.ScheduleConf, in.Zone = jobspec.ScheduleCron, conf, "UTC"
				if change != nil {
					change(in)
				}
			})
			b.startedAt(t, id, next)
			return id
		}
		nightly := schedule("0 10 2 * * ?", at(2, 2, 10), nil)
		alike := schedule("0 10 2 * * ?", at(2, 2, 10), nil)
		often := schedule("0 0/5 * * * ?", at(1, 5, 10), nil)
		foreign := schedule("0 12 2 * * ?", at(2, 2, 12), func(in *manage.JobInput) { in.Group = b.closed })
		weekly := schedule("0 0 3 ? * MON", at(6, 3, 0), nil)
		b.create(t, nil) // stopped

		look := func(who auth.Principal, from time.Time, want int64, jobs ...int64) {
			t.Helper()
			f, err := b.Dashboard.Ahead(t.Context(), who)
			if err != nil || !f.Ends.IsZero() || !f.From.Equal(at(1, 5, 0)) || len(f.Quarters) != dashboard.AheadDays*24*4 {
				t.Fatalf("%+v, %v", f, err)
			}
			if got := f.Quarters[from.Sub(f.From)/(15*time.Minute)]; got != want {
				t.Errorf("%d due for %s from %v, want %d", got, who.Name, from, want)
			}
			list, err := b.Jobs.List(t.Context(), who, manage.JobFilter{Status: manage.AnyStatus, Limit: 50, Show: dashboard.ShowDue, At: from, Until: from.Add(15 * time.Minute)})
			if err != nil {
				t.Fatal(err)
			}
			var ids []int64
			for _, j := range list.Jobs {
				ids = append(ids, j.ID)
			}
			slices.Sort(jobs)
			slices.Reverse(jobs)
			if !slices.Equal(ids, jobs) {
				t.Errorf("from %v %s finds %v, want %v", from, who.Name, ids, jobs)
			}
		}
		look(b.admin, at(2, 2, 0), 3+3, nightly, alike, often, foreign)
		look(b.user, at(2, 2, 0), 3+2, nightly, alike, often)
		look(b.user, at(13, 2, 0), 3+2, nightly, alike, often)
		look(b.user, at(2, 2, 15), 3, often)
		look(b.user, at(1, 5, 0), 1, often) // the quarter has begun
		look(b.user, at(6, 3, 0), 3+1, often, weekly)
		look(b.user, at(13, 3, 0), 3+1, often, weekly)
		look(b.user, at(7, 3, 0), 3, often)

		// A pause counts from the moment on at which it is made.
		if _, err := b.Pauses.Create(t.Context(), b.user, manage.PauseInput{Scope: jobspec.PauseJob, Target: nightly, From: at(2, 2, 5), Until: at(2, 2, 20), Strategy: jobspec.PauseOnce, Reason: "moves"}); err != nil {
			t.Fatal(err)
		}
		look(b.user, at(2, 2, 0), 3+1, alike, often)
		look(b.user, at(2, 2, 15), 3+1, nightly, often)

		for what, f := range map[string]manage.JobFilter{
			"over":      {At: at(0, 2, 0), Until: at(1, 5, 0)},
			"backwards": {At: at(3, 2, 0), Until: at(2, 2, 0)},
			"too long":  {At: at(2, 2, 0), Until: at(17, 2, 0)},
		} {
			f.Status, f.Limit, f.Show = manage.AnyStatus, 50, dashboard.ShowDue
			if list, err := b.Jobs.List(t.Context(), b.admin, f); err != nil || len(list.Jobs) > 0 {
				t.Errorf("%s: %+v, %v", what, list, err)
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
		b := setup(t, pool)
		now := b.now.In(pool.Zone())
		today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
		b.hour(t, b.group, today.AddDate(0, 0, -7).Add(23*time.Hour), 0, 5, 0) // before the week
		b.hour(t, b.group, today.AddDate(0, 0, -6).Add(3*time.Hour), 0, 2, 0)
		b.hour(t, b.group, today.AddDate(0, 0, -1).Add(23*time.Hour), 0, 3, 1)
		b.hour(t, b.closed, today.AddDate(0, 0, -1).Add(23*time.Hour), 0, 40, 0)
		b.hour(t, b.group, now, 1, 2, 0)
		b.hour(t, b.group, today.AddDate(0, 0, -2), -1, 1, 0) // the end is written, the beginning is not yet
		sum := func(w dashboard.Week) (n int64) {
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

// TestDaysAreThoseOfTheInstallationsZone, for whoever sees all groups and for whoever sees some, also where the process's clock is in another zone
// and that of the installation has changed since, and where a day has no midnight.
func TestDaysAreThoseOfTheInstallationsZone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone, now string
		first     string // of seven days
	}{
		{"Europe/Berlin", "2026-03-31T22:30:00Z", "2026-03-26"},
		{"Europe/Berlin", "2026-10-28T22:30:00Z", "2026-10-22"},
		{"America/Santiago", "2026-09-06T15:00:00Z", "2026-08-31"},
		{"America/Santiago", "2026-09-12T03:30:00Z", "2026-09-06"},
	} {
		t.Run(c.zone+" "+c.now, func(t *testing.T) {
			t.Parallel()
			loc, err := time.LoadLocation(c.zone)
			if err != nil {
				t.Fatal(err)
			}
			b := setup(t, dbtest.Open(t, db.Config{DataDir: dbtest.Folder(t), Zone: loc}))
			if b.now, err = time.Parse(time.RFC3339, c.now); err != nil {
				t.Fatal(err)
			}
			first, err := time.Parse(time.DateOnly, c.first)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for i := range 7 {
				want = append(want, first.AddDate(0, 0, i).Format(time.DateOnly))
			}
			for _, p := range []auth.Principal{b.admin, b.user} {
				days, _, err := b.Dashboard.Days(t.Context(), p, 7)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, d := range days {
					got = append(got, d.Date.In(loc).Format(time.DateOnly))
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s is told of %v, want %v", p.Name, got, want)
				}
			}
		})
	}
}

func TestSkippedFiresAreNeitherFailuresNorInTheShareOfSuccesses(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
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

// TestWhatIsPausedIsNotLate: a paused job is neither late nor due, from the moment on at which the pause was made.
func TestWhatIsPausedIsNotLate(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		overdue, soon := b.create(t, func(*manage.JobInput) {}), b.create(t, func(*manage.JobInput) {})
		b.startedAt(t, overdue, b.now.Add(-2*time.Minute))
		b.startedAt(t, soon, b.now.Add(2*time.Minute))
		look := func() (late int, due int64) {
			t.Helper()
			found, _, err := b.Dashboard.Troubles(t.Context(), b.user)
			if err != nil {
				t.Fatal(err)
			}
			forecast, err := b.Dashboard.Forecast(t.Context(), b.user)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range forecast.Minutes {
				due += n
			}
			return len(found.Late), due
		}
		if late, due := look(); late != 1 || due != 1 {
			t.Fatalf("%d late, %d due; want one of each", late, due)
		}
		id, err := b.Pauses.Create(t.Context(), b.user, manage.PauseInput{Scope: jobspec.PauseGroup, Target: b.group, Strategy: jobspec.PauseSkip, Reason: "moves"})
		if err != nil {
			t.Fatal(err)
		}
		b.now = b.now.Add(4 * time.Second) // troubles are kept for a moment
		if late, due := look(); late != 0 || due != 0 {
			t.Errorf("paused: %d late, %d due", late, due)
		}
		b.now = b.now.Add(time.Second)
		if err := b.Pauses.End(t.Context(), b.user, id); err != nil {
			t.Fatal(err)
		}
		b.now = b.now.Add(4 * time.Second)
		if late, due := look(); late != 1 || due != 1 {
			t.Errorf("after the pause: %d late, %d due; want one of each", late, due)
		}
	})
}
