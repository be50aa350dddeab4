package db_test

import (
	"cmp"
	"database/sql"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestDueJobsOfBothStatusesComeInOneOrder: flows, which XXL-JOB admins take for stopped, and all other jobs, page after page.
func TestDueJobsOfBothStatusesComeInOneOrder(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		random := rand.New(rand.NewPCG(3, 3))
		type due struct{ next, id int64 }
		var want []due
		ids := bulkJobs(t, pool, 40)
		for _, id := range ids {
			status, next := random.Int64N(3), 1000+random.Int64N(8)
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET trigger_status = ?, trigger_next_time = ? WHERE id = ?", status, next, id); err != nil {
				t.Fatal(err)
			}
			if status > 0 && next <= 1006 {
				want = append(want, due{next, id})
			}
		}
		slices.SortFunc(want, func(a, b due) int { return cmp.Or(cmp.Compare(a.next, b.next), cmp.Compare(a.id, b.id)) })
		var got, within []due
		page := db.ListDueJobsParams{UntilMs: 1006, Limit: 4}
		for range len(ids) {
			rows, err := db.ListDue(t.Context(), pool, page)
			if err != nil || len(rows) > 4 {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			for _, r := range rows {
				got = append(got, due{r.TriggerNextTime, r.ID})
				page.AfterMs, page.AfterID = r.TriggerNextTime, r.ID
			}
			if len(rows) < 4 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("due are %v, want %v", got, want)
		}
		rows, err := db.ListDueWithin(t.Context(), pool, db.ListJobsDueWithinParams{UntilMs: 1006, Limit: 10})
		for _, r := range rows {
			within = append(within, due{r.TriggerNextTime, 0})
		}
		for i := range want {
			want[i].id = 0
		}
		if err != nil || !slices.Equal(within, want[:10]) {
			t.Errorf("the soonest are %v, %v, want %v", within, err, want[:10])
		}
		running := int64(1)
		n, err := db.CountJobs(t.Context(), pool, db.JobFilter{Status: &running})
		found, err2 := db.FindJobs(t.Context(), pool, db.JobFilter{Status: &running}, 0, 100)
		if err != nil || err2 != nil || int(n) != len(found) || len(found) < len(want) {
			t.Errorf("%d are started, found are %d of at least %d (%v, %v)", n, len(found), len(want), err, err2)
		}
	})
}

// TestAStartedFlowIsNoneForAnXXLJOBAdmin, and one that somebody has started there is hidden again when it is noticed.
func TestAStartedFlowIsNoneForAnXXLJOBAdmin(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setupHistory(t, pool)
		theirs := func() (n int) {
			t.Helper()
			if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_info WHERE trigger_status = 1 AND trigger_next_time <= 100000").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		started := func() int64 {
			rows := b.history()
			return rows[len(rows)-1].Started
		}
		b.exec("UPDATE xxl_job_info SET glue_type = 'FLOW'")
		b.tx(func(tx *sql.Tx) error {
			_, err := b.schedules.Start(t.Context(), tx, db.StartJobParams{ID: b.job, NextTime: 61_000})
			return err
		})
		if n := theirs(); n != 0 || started() != 1 {
			t.Errorf("an XXL-JOB admin schedules %d flows; its history says that it is started: %d", n, started())
		}
		b.exec("UPDATE xxl_job_info SET trigger_status = 1")
		if n := b.notice(1); n != 0 || theirs() != 0 || started() != 1 {
			t.Errorf("started there beside it: %d changes are noticed, %d are theirs, started %d", n, theirs(), started())
		}
		b.tx(func(tx *sql.Tx) error {
			stopped, err := b.schedules.Stop(t.Context(), tx, b.job, sql.NullTime{})
			if !stopped {
				t.Error("it could not be stopped")
			}
			return err
		})
		b.exec("UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = 65000") // what "start" is there
		if n := b.notice(3); n != 1 || theirs() != 0 || started() != 1 {
			t.Errorf("started there: %d changes are noticed, %d are theirs, started %d", n, theirs(), started())
		}
	})
}
