package upkeep

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestLongRunsAreCountedByTheirJobAndDay: two admins add to the same rows, and what could not be written is written the next time.
func TestLongRunsAreCountedByTheirJobAndDay(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		one, two := newService(t, pool, nil), newService(t, pool, nil)
		day := one.today().Unix()
		ended := func(job, run int64, hour int64, took time.Duration) Change {
			return Change{Hour: day + hour*3600, Group: 1, From: StateRunning, To: StateSucceeded, Job: job, Run: run, Took: took}
		}
		one.Count(ended(7, 1, 1, 2*time.Second), ended(7, 2, 23, 5*time.Second), ended(8, 3, 1, time.Second), ended(7, 4, 24, time.Minute),
			ended(9, 5, 1, 999*time.Millisecond), ended(9, 6, 1, 0))
		two.Count(ended(7, 7, 2, 4*time.Second), ended(8, 8, 2, 90*time.Second))
		if _, err := pool.ExecContext(t.Context(), "ALTER TABLE punctual_job_day RENAME TO punctual_job_day_away"); err != nil {
			t.Fatal(err)
		}
		if one.Flush(t.Context()) == nil {
			t.Fatal("written to a table that is not there")
		}
		if _, err := pool.ExecContext(t.Context(), "ALTER TABLE punctual_job_day_away RENAME TO punctual_job_day"); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Service{one, two, one} { // the third time there is nothing left
			if err := s.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := one.queries.ListLongRunsOfJobs(t.Context(), pool, db.ListLongRunsOfJobsParams{DayAt: 0, JobIds: []int64{7, 8, 9}, AllGroups: 1})
		if err != nil {
			t.Fatal(err)
		}
		want := []db.PunctualJobDay{
			{DayAt: day, JobID: 7, Runs: 3, TotalMs: 11_000, LongestID: 2, LongestMs: 5000, JobGroup: 1},
			{DayAt: day, JobID: 8, Runs: 2, TotalMs: 91_000, LongestID: 8, LongestMs: 90_000, JobGroup: 1},
			{DayAt: day + 86_400, JobID: 7, Runs: 1, TotalMs: 60_000, LongestID: 4, LongestMs: 60_000, JobGroup: 1},
		}
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Error(diff)
		}
		if err := one.forgetOld(t.Context()); err != nil {
			t.Fatal(err)
		}
		old := db.LongRuns{Day: day - 101*86_400, Job: 7, Runs: 1, TotalMs: 1000, LongestMs: 1000, LongestID: 1}
		if err := db.AddLongRuns(t.Context(), pool, []db.LongRuns{old}); err != nil {
			t.Fatal(err)
		}
		if err := one.forgetOld(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rows, err = one.queries.ListLongRunsOfJobs(t.Context(), pool, db.ListLongRunsOfJobsParams{DayAt: 0, JobIds: []int64{7, 8, 9}, AllGroups: 1}); err != nil || len(rows) != 3 {
			t.Errorf("%d rows are kept: %v", len(rows), err)
		}
	})
}
