package manage

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestASortedListSaysHowFarItGoes fills lists beyond what is sorted: jobs that only reading them all finds, and the newest runs.
func TestASortedListSaysHowFarItGoes(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		b.create(t, func(in *JobInput) { in.Name, in.Author = "one", "mass" })
		exec := func(statement string, args ...any) {
			t.Helper()
			if _, err := pool.ExecContext(t.Context(), statement, args...); err != nil {
				t.Fatal(err)
			}
		}
		for made := 1; made < sortedReading+20; made *= 2 {
			exec("INSERT INTO xxl_job_info (job_group, job_desc, author, schedule_type, misfire_strategy, glue_type) SELECT job_group, job_desc, author, schedule_type, misfire_strategy, glue_type FROM xxl_job_info WHERE author = 'mass' LIMIT ?", min(made, sortedReading+20-made))
		}
		for _, c := range []struct {
			offset, rows int
			more, ends   bool
		}{{0, 50, true, false}, {950, 50, true, true}, {960, 40, true, true}, {1000, 0, true, true}} {
			list, err := b.Jobs.List(t.Context(), b.admin, JobFilter{Status: AnyStatus, Author: "mass", Order: db.OrderName, Offset: c.offset, Limit: 50})
			if err != nil || len(list.Jobs) != c.rows || list.More != c.more || list.Ends != c.ends {
				t.Errorf("from %d: %d jobs, more: %v, ends: %v, %v; want %+v", c.offset, len(list.Jobs), list.More, list.Ends, err, c)
			}
			if !slices.IsSortedFunc(list.Jobs, func(a, b db.ListJobsRow) int { return strings.Compare(a.JobDesc, b.JobDesc) }) {
				t.Errorf("from %d: not sorted", c.offset)
			}
		}

		first := dbtest.InsertRun(t, pool, b.group, 1, b.now.Add(-time.Hour), 200, 200, "")
		exec("UPDATE xxl_job_log SET sent_at = 1000, finished_at = 900000 WHERE id = ?", first)
		dbtest.InsertRun(t, pool, b.group, 1, b.now.Add(-time.Minute), 200, 200, "")
		exec("UPDATE xxl_job_log SET sent_at = 1000, finished_at = 1000 + id WHERE id > ?", first)
		for made := 1; made < sortedRuns; made *= 2 {
			exec("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, planned_at, sent_at, finished_at) SELECT job_group, job_id, trigger_time, trigger_code, handle_code, planned_at, sent_at, finished_at FROM xxl_job_log WHERE id > ? LIMIT ?", first, min(made, sortedRuns-made))
		}
		b.Runs.search = search{quick: time.Hour, deep: time.Hour, first: 2000} // the count is what ends it, however slow the machine is
		for _, deep := range []bool{false, true} {
			list, err := b.Runs.List(t.Context(), b.admin, RunFilter{Sort: RunSort{By: RunsByDuration, Desc: true}, Limit: 50, Deep: deep})
			longest := len(list.Runs) > 0 && list.Runs[0].ID == first
			if err != nil || list.Whole != deep || list.Searched == deep || longest != deep || list.Sorted < 1000 || list.Reached.IsZero() != deep {
				t.Errorf("deep: %v: sorted among %d, whole: %v, searched: %v, the longest of all: %v, %v", deep, list.Sorted, list.Whole, list.Searched, longest, err)
			}
		}
	})
}

// TestAPageHasNoGapForAJobThatIsDeletedMeanwhile, between the reads of its ids and of its jobs, in whatever order: programs would take it for
// the last.
func TestAPageHasNoGapForAJobThatIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		watched := dbtest.Watch(t, pool)
		b := setup(t, pool, nil)
		for range 8 {
			b.create(t, func(*JobInput) {})
		}
		for _, order := range []db.JobOrder{db.OrderNewest, db.OrderName, db.OrderNext, db.OrderLast} {
			gone := false
			watched.Before("ListJobsByID", func() {
				if gone {
					return
				}
				gone = true
				if _, err := pool.ExecContext(t.Context(), "DELETE FROM xxl_job_info WHERE id = (SELECT id FROM (SELECT MAX(id) AS id FROM xxl_job_info) AS newest)"); err != nil {
					t.Error(err)
				}
			})
			jobs, err := b.Jobs.Following(t.Context(), b.admin, JobFilter{Status: AnyStatus, Order: order, Desc: true, Limit: 3})
			if err != nil || len(jobs) != 3 || !gone {
				t.Errorf("by %q: %d jobs, %v", order, len(jobs), err)
			}
		}
	})
}
