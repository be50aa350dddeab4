package db_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestShadowReads the tables of every release, and none that Punctual has.
func TestShadowReads(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"2.2.0", "2.3.0", "3.4.2", "3.5"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t), Zone: dbtest.Zone})
			if _, err := pool.Shadow(t.Context()); !errors.Is(err, db.ErrNoXXLJob) {
				t.Errorf("an empty database: %v", err)
			}
			e := eraNamed(name)
			e.create(t, pool.DB)
			next := time.UnixMilli(1_790_000_000_000)
			addOldJob(t, pool.DB, e, "CRON", "0 30 2 L * ?", next)
			addOldJob(t, pool.DB, e, "FIX_DELAY", "30", next) // a cron job of 2.2
			mustExec(t, pool.DB, "UPDATE xxl_job_info SET trigger_status = 0 WHERE id = 2")
			mustExec(t, pool.DB, "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, executor_fail_retry_count, executor_sharding_param) VALUES "+
				"(1, 1, '2026-03-02 02:30:00', 200, 200, 3, NULL), (1, 1, '2026-03-02 02:30:01', 200, 200, 2, '1/3'), (1, 1, NULL, 0, 0, 0, NULL)")
			s, err := pool.Shadow(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			jobs, err := s.Jobs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]db.ShadowJob{{ID: 1, Name: "x", Type: "CRON", Conf: "0 30 2 L * ?", Next: next}}, jobs); diff != "" {
				t.Errorf("jobs (-want +got):\n%s", diff)
			}
			at := time.Date(2026, 3, 2, 2, 30, 0, 0, dbtest.Zone)
			runs, err := s.Runs(t.Context(), 0, 10)
			if diff := cmp.Diff([]db.ShadowRun{{ID: 1, JobID: 1, At: at, Retries: 3}, {ID: 2, JobID: 1, At: at.Add(time.Second), Retries: 2, Shard: 1}}, runs); diff != "" || err != nil {
				t.Errorf("runs: %v (-want +got):\n%s", err, diff)
			}
			if last, err := s.LastRun(t.Context()); last != 3 || err != nil {
				t.Errorf("the newest run: %d, %v", last, err)
			}
			mustExec(t, pool.DB, "DELETE FROM xxl_job_info")
			mustExec(t, pool.DB, "DELETE FROM xxl_job_log")
			e.fill(t, pool.DB)
			if err := pool.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := pool.Shadow(t.Context()); !errors.Is(err, db.ErrNoXXLJob) {
				t.Errorf("a database that is Punctual's: %v", err)
			}
		})
	}
}
