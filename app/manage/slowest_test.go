package manage

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func TestSlowestJobs(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		job := func(name string, group int64) int64 {
			return b.create(t, func(in *JobInput) { in.Name, in.Group = name, group })
		}
		steady, grown, hidden, idle := job("steady", b.group), job("grown", b.group), job("hidden", b.closed), job("idle", b.group)
		today := pool.Wall(b.now).Truncate(24 * time.Hour)
		day := func(ago int) int64 { return today.AddDate(0, 0, -ago).Unix() }
		rows := []db.LongRuns{
			{Day: day(14), Job: steady, Runs: 1, TotalMs: 900_000, LongestMs: 900_000, LongestID: 1}, // longer ago than anybody looks
			{Day: day(13), Job: steady, Runs: 10, TotalMs: 100_000, LongestMs: 20_000, LongestID: 2},
			{Day: day(7), Job: grown, Runs: 2, TotalMs: 4000, LongestMs: 3000, LongestID: 3},
			{Day: day(7), Job: idle, Runs: 1, TotalMs: 5_000_000, LongestMs: 5_000_000, LongestID: 4},
			{Day: day(6), Job: steady, Runs: 3, TotalMs: 30_000, LongestMs: 12_000, LongestID: 5},
			{Day: day(0), Job: steady, Runs: 3, TotalMs: 30_000, LongestMs: 11_000, LongestID: 6},
			{Day: day(0), Job: grown, Runs: 2, TotalMs: 30_000, LongestMs: 25_000, LongestID: 7},
			{Day: day(0), Job: hidden, Runs: 1, TotalMs: 40_000, LongestMs: 40_000, LongestID: 8},
			{Day: day(0), Job: 4711, Runs: 1, TotalMs: 99_000_000, LongestMs: 99_000_000, LongestID: 9}, // a job that was deleted
		}
		for i := range rows {
			if rows[i].Group = b.group; rows[i].Job == hidden {
				rows[i].Group = b.closed
			}
		}
		slices.SortFunc(rows, db.LongRuns.Compare)
		if err := db.AddLongRuns(ctx, pool, rows); err != nil {
			t.Fatal(err)
		}
		second := time.Second
		ofSteady := SlowJob{ID: steady, Group: b.group, Name: "steady", Runs: 6, Longest: 12 * second, LongestRun: 5, Total: 60 * second, Grown: 1}
		ofGrown := SlowJob{ID: grown, Group: b.group, Name: "grown", Runs: 2, Longest: 25 * second, LongestRun: 7, Total: 30 * second, Grown: 7.5}
		ofHidden := SlowJob{ID: hidden, Group: b.closed, Name: "hidden", Runs: 1, Longest: 40 * second, LongestRun: 8, Total: 40 * second}
		for _, c := range []struct {
			who  auth.Principal
			by   SlowBy
			want []SlowJob
		}{
			{b.admin, SlowLongest, []SlowJob{ofHidden, ofGrown, ofSteady}}, {b.admin, SlowTotal, []SlowJob{ofSteady, ofHidden, ofGrown}}, {b.admin, SlowerNow, []SlowJob{ofGrown, ofSteady, ofHidden}},
			{b.user, SlowLongest, []SlowJob{ofGrown, ofSteady}}, {b.user, SlowTotal, []SlowJob{ofSteady, ofGrown}}, {auth.NewPrincipal(3, "nobody", auth.RoleUser, ""), SlowLongest, nil},
		} {
			got, err := b.Jobs.Slowest(ctx, c.who, c.by)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s by %d: %s", c.who.Name, c.by, diff)
			}
		}
		if got := ofSteady.Average(); got != 10*second {
			t.Errorf("average %v", got)
		}
	})
}
