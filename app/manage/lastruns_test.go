package manage

import (
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestJobsAreSortedByTheirLastRuns has runs come after the newest of all jobs were read, late, ahead of their time, and as a trial,
// and deletes one, and jobs.
func TestJobsAreSortedByTheirLastRuns(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		var jobs []int64
		for _, name := range []string{"a", "b", "c", "d", "never"} {
			jobs = append(jobs, b.create(t, func(in *JobInput) { in.Name = name }))
		}
		a, second, c, d, never := jobs[0], jobs[1], jobs[2], jobs[3], jobs[4:]
		ran := func(job int64, at time.Time) int64 { return dbtest.InsertRun(t, pool, b.group, job, at, 0, 0, "") }
		exec := func(statement string, args ...any) {
			t.Helper()
			if _, err := pool.ExecContext(t.Context(), statement, args...); err != nil {
				t.Fatal(err)
			}
		}
		check := func(what string, newestFirst ...int64) {
			t.Helper()
			for _, desc := range []bool{true, false} {
				want, rest := slices.Clone(newestFirst), slices.Clone(never)
				if desc {
					slices.Reverse(rest)
				} else {
					slices.Reverse(want)
				}
				want = append(want, rest...)
				f := JobFilter{Status: AnyStatus, Order: db.OrderLast, Desc: desc, Limit: 2}
				for _, by := range []auth.Principal{b.admin, b.user} { // who sees all, and who sees a group
					if got, behind := b.numbered(t, by, f), b.followed(t, by, f); !slices.Equal(got, want) || !slices.Equal(behind, want) {
						t.Errorf("%s for %s (from the end: %v): %v, page behind page %v, want %v", what, by.Name, desc, got, behind, want)
					}
				}
			}
		}
		ran(d, b.now.Add(-time.Hour))
		ran(a, b.now.Add(-time.Minute))
		ran(second, b.now.Add(-2*time.Second))
		ran(c, b.now.Add(-time.Second))
		ran(a, b.now.Add(2*time.Second))      // claimed ahead
		ran(second, b.now.Add(8*time.Minute)) // a retry that waits
		check("at first", c, second, a, d)
		b.now = b.now.Add(time.Second)
		check("before its time", c, second, a, d)
		b.now = b.now.Add(time.Second)
		check("at its time", a, c, second, d)
		late := ran(d, b.now.Add(-5*time.Second)) // its transaction took long
		check("made late", d, a, c, second)
		trial := ran(c, b.now)
		exec("UPDATE xxl_job_log SET trigger_type = 'TRIAL' WHERE id = ?", trial)
		exec("INSERT INTO punctual_trial (log_id, job_id, source) VALUES (?, ?, '')", trial, c)
		check("a trial", d, a, c, second)
		b.now = b.now.Add(8 * time.Minute)
		check("retried", d, second, a, c)
		created := b.create(t, func(in *JobInput) { in.Name = "new" })
		never = append(never, created)
		check("a new job", d, second, a, c)
		ran(created, b.now)
		never = never[:1]
		check("which ran", created, d, second, a, c)

		exec("DELETE FROM xxl_job_log WHERE id = ?", late)
		check("deleted", created, d, second, a, c)
		for _, id := range []int64{second, never[0]} {
			if err := b.Jobs.Delete(t.Context(), b.admin, id); err != nil {
				t.Fatal(err)
			}
		}
		never = nil
		check("deleted jobs", created, d, a, c)
		b.now = b.now.Add(lastRunsLife)
		check("read anew", created, a, c, d)
	})
}

// numbered reads a list by its numbered pages.
func (b *bundle) numbered(t *testing.T, p auth.Principal, f JobFilter) (ids []int64) {
	t.Helper()
	for total := 1; f.Offset < total; f.Offset += f.Limit {
		list, err := b.Jobs.List(t.Context(), p, f)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range list.Jobs {
			ids = append(ids, j.ID)
		}
		total = int(list.Total)
	}
	return ids
}

// followed reads a list page behind page.
func (b *bundle) followed(t *testing.T, p auth.Principal, f JobFilter) (ids []int64) {
	t.Helper()
	for {
		page, err := b.Jobs.Following(t.Context(), p, f)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range page {
			ids = append(ids, j.ID)
		}
		if len(page) < f.Limit {
			return ids
		}
		f.After = &page[len(page)-1].Place
	}
}
