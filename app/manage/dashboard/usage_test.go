package dashboard_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestUsageOfGroups: each group has what its days say and no other day's, what is gone is told to whoever sees all, and others see their
// groups alone.
func TestUsageOfGroups(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		ours, also := b.create(t, nil), b.create(t, nil)
		theirs := b.create(t, func(in *manage.JobInput) { in.Group = b.closed })
		flow := b.create(t, nil)
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET glue_type = 'FLOW' WHERE id = ?", flow); err != nil {
			t.Fatal(err)
		}
		today := pool.Wall(b.now).Truncate(24 * time.Hour)
		day := func(ago int) time.Time { return today.AddDate(0, 0, -ago) }
		for _, h := range []db.AddToHourParams{
			{GroupID: b.group, HourAt: day(8).Add(23 * time.Hour).Unix(), SucCount: 1000},
			{GroupID: b.group, HourAt: day(7).Unix(), SucCount: 10, FailCount: 2, SkipCount: 3},
			{GroupID: b.group, HourAt: day(6).Unix(), SucCount: 20},
			{GroupID: b.group, HourAt: day(0).Add(23 * time.Hour).Unix(), RunningCount: 1, SucCount: 3, FailCount: 1},
			{GroupID: b.closed, HourAt: day(6).Unix(), RunningCount: -1, SucCount: 5}, // the end is written, the beginning is not yet
			{GroupID: 99, HourAt: day(6).Unix(), SucCount: 7},                         // it was deleted
		} {
			if err := db.New().AddToHour(t.Context(), pool, h); err != nil {
				t.Fatal(err)
			}
		}
		for _, l := range []db.LongRuns{
			{Day: day(8).Unix(), Job: ours, Group: b.group, TotalMs: 1_000_000},
			{Day: day(7).Unix(), Job: ours, Group: b.group, TotalMs: 60_000},
			{Day: day(6).Unix(), Job: also, Group: b.group, TotalMs: 1500},
			{Day: day(0).Unix(), Job: ours, Group: b.group, TotalMs: 2000},
			{Day: day(0).Unix(), Job: flow, Group: b.group, TotalMs: 600_000}, // no executor worked as long as its steps waited
			{Day: day(0).Unix(), Job: theirs, Group: b.closed, TotalMs: 4000},
			{Day: day(0).Unix(), Job: 4711, Group: b.group, TotalMs: 8000}, // it was deleted
		} {
			if err := db.AddLongRuns(t.Context(), pool, []db.LongRuns{l}); err != nil {
				t.Fatal(err)
			}
		}
		orders := dashboard.Usage{ID: b.group, AppName: "orders", Title: "orders", Runs: 25, Failed: 1, Took: 3500 * time.Millisecond}
		secret := dashboard.Usage{ID: b.closed, AppName: "secret", Title: "secret", Runs: 5, Took: 4 * time.Second}
		of := func(u dashboard.Usage, runs, failed, skipped int64, took time.Duration) dashboard.Usage {
			u.Runs, u.Failed, u.Skipped, u.Took = runs, failed, skipped, took
			return u
		}
		nobody := auth.Principal{UserID: 99, Name: "nobody"}
		var unsaid time.Time
		for what, c := range map[string]struct {
			who         auth.Principal
			from, until time.Time
			want        []dashboard.Usage
		}{
			"a week of all": {b.admin, unsaid, unsaid, []dashboard.Usage{orders, secret, {ID: 99, Runs: 7}, {Took: 8 * time.Second}}},
			"a week of one": {b.user, unsaid, unsaid, []dashboard.Usage{orders}},
			"of nobody":     {nobody, unsaid, unsaid, nil},
			"a day":         {b.user, day(7), day(7), []dashboard.Usage{of(orders, 12, 2, 3, time.Minute)}},
			"seven days":    {b.user, unsaid, day(1), []dashboard.Usage{of(orders, 32, 2, 3, 61500*time.Millisecond)}},
			"all that is":   {b.user, day(99), unsaid, []dashboard.Usage{of(orders, 1037, 3, 3, 1063500*time.Millisecond)}},
			"nothing yet":   {b.admin, day(50), day(40), []dashboard.Usage{of(orders, 0, 0, 0, 0), of(secret, 0, 0, 0, 0)}},
		} {
			got, err := b.Dashboard.Usage(t.Context(), c.who, c.from, c.until)
			if err != nil {
				t.Fatal(what, err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %s", what, diff)
			}
		}
		for what, days := range map[string][2]time.Time{"what is forgotten": {day(100), unsaid}, "an end before the beginning": {day(1), day(2)}} {
			if got, err := b.Dashboard.Usage(t.Context(), b.admin, days[0], days[1]); err == nil || problem.From(err).Kind != problem.Invalid {
				t.Errorf("%s: %+v, %v", what, got, err)
			}
		}
	})
}
