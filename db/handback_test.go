package db_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
)

// TestHandBack: an XXL-JOB admin that is put back finds what it needs, and Punctual may come again.
func TestHandBack(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"2.3.0", "3.4.2", "3.5"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)})
			e := eraNamed(name)
			e.create(t, pool.DB)
			e.fill(t, pool.DB)
			if err := pool.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			mustExec(t, pool.DB, "INSERT INTO xxl_job_log (id, job_group, job_id, trigger_time, trigger_code, handle_code, planned_at, owner_node) VALUES "+
				"(100, 7, 1, NOW(), 0, 0, 1, 3), (101, 7, 1, NOW(), 200, 0, 1, 3), (102, 7, 1, NOW(), 0, 0, 0, 0)")
			mustExec(t, pool.DB, "UPDATE xxl_job_user SET password = '$argon2id$x' WHERE username = '张三'")
			mustExec(t, pool.DB, "INSERT INTO xxl_job_info (id, job_group, job_desc, schedule_type, schedule_conf, glue_type, trigger_status) VALUES (50, 1, 'once', 'ONCE', '2030-01-01 00:00:00', 'BEAN', 1), (51, 1, 'flow', 'CRON', '0 0 2 * * ?', 'FLOW', 2)")
			mustExec(t, pool.DB, "INSERT INTO xxl_job_info (id, job_group, job_desc, schedule_type, schedule_conf, glue_type, trigger_status) VALUES (60, 1, 'eight', 'CRON', '0 0 2 * * ? * *', 'BEAN', 0), (61, 1, 'never started', 'CRON', 'x', 'BEAN', 0)")
			mustExec(t, pool.DB, "INSERT INTO punctual_adopted_job (job_id, finding, schedule_type, schedule_conf) VALUES (60, 'fields', 'CRON', '0 0 2 * * ? * *'), (61, 'unread', 'CRON', 'x')")
			mustExec(t, pool.DB, "INSERT INTO xxl_job_log (id, job_group, job_id, trigger_time, trigger_code, handle_code, alarm_status, outcome) VALUES (103, 1, 60, NOW(), 500, 0, 1, 10)")
			for try := range 2 {
				h, err := pool.HandBack(t.Context(), time.Millisecond, false)
				if err != nil {
					t.Fatal(err)
				}
				if try > 0 && e.renamed {
					continue // what it would tell of has other names now
				}
				if diff := cmp.Diff([]string{"张三"}, h.Unread); diff != "" {
					t.Errorf("users (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]db.StrangeJob{{ID: 60, Name: "eight", Why: "0 0 2 * * ? * *"}}, h.Stopped); diff != "" {
					t.Errorf("stopped (-want +got):\n%s", diff)
				}
				if len(h.Strange) != 2 || h.Strange[0].Why != "ONCE" || h.Strange[1].Why != "FLOW" || h.Renamed != e.renamed {
					t.Errorf("handed: %+v", h)
				}
			}
			// Only what was ours and not sent is for the old admin's failure monitor: trigger_code 500, alarm_status 0, a retry left.
			rows := queryText(t, pool.DB, "SELECT id AS i FROM xxl_job_log WHERE trigger_code = 500 AND handle_code = 0 AND alarm_status = 0 AND executor_fail_retry_count > 0")
			if diff := cmp.Diff([]map[string]string{{"i": "100"}}, rows); diff != "" {
				t.Errorf("runs that the old admin retries (-want +got):\n%s", diff)
			}
			if e.renamed {
				mustExec(t, pool.DB, "INSERT INTO xxl_job_group (app_name, name, address_type, access_token) VALUES ('new', 'x', 0, 'secret')")
				mustExec(t, pool.DB, "INSERT INTO xxl_job_info (job_group, name, glue_type, schedule_type, schedule_conf) VALUES (1, 'theirs', 'BEAN', 'FIX_DELAY', '9')")
				if err := pool.CheckCurrent(t.Context()); !errors.Is(err, db.ErrNotOurs) {
					t.Errorf("CheckCurrent = %v, want %v", err, db.ErrNotOurs)
				}
			}
			for _, s := range e.oldStatements() {
				mustExec(t, pool.DB, s)
			}
			if err := pool.Migrate(t.Context()); err != nil {
				t.Fatalf("Punctual comes back: %v", err)
			}
			if err := pool.CheckCurrent(t.Context()); err != nil {
				t.Error(err)
			}
			if e.renamed {
				found, err := db.New().ListAdoptedJobs(t.Context(), pool, 10)
				if err != nil || !slices.ContainsFunc(found, func(j db.ListAdoptedJobsRow) bool { return j.JobDesc == "theirs" }) {
					t.Errorf("what was made meanwhile was not looked through: %v, %v", found, err)
				}
				tokens, err := pool.GroupTokens(t.Context())
				if diff := cmp.Diff(map[string]string{"new": "secret"}, tokens); diff != "" || err != nil {
					t.Errorf("tokens of groups: %v %s", err, diff)
				}
			}
		})
	}
}

func TestHandBackRefuses(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	if _, err := pool.HandBack(t.Context(), time.Millisecond, false); !errors.Is(err, db.ErrNeverAdopted) {
		t.Errorf("a database that never was XXL-JOB's: %v", err)
	}
	mustExec(t, pool.DB, "INSERT INTO punctual_adoption (id, release_line) VALUES (1, '2.3')")
	mustExec(t, pool.DB, "INSERT INTO punctual_node (name, beat, state) VALUES ('one', 1, 1)")
	if _, err := pool.HandBack(t.Context(), time.Millisecond, false); err != nil {
		t.Errorf("beside a node that is dead: %v", err)
	}
	mustExec(t, pool.DB, "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, planned_at, owner_node) VALUES (1, 1, NOW(), 0, 0, 1, 1)")
	if _, err := pool.HandBack(t.Context(), time.Millisecond, false); !errors.Is(err, db.ErrCutShort) {
		t.Errorf("with a run that a dead node may have sent: %v", err)
	}
	if h, err := pool.HandBack(t.Context(), time.Millisecond, true); err != nil || h.Runs != 1 {
		t.Errorf("and handed over all the same: %+v, %v", h, err)
	}
	stop := make(chan struct{})
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = pool.ExecContext(t.Context(), "UPDATE punctual_node SET beat = beat + 1")
			}
		}
	}()
	_, err := pool.HandBack(t.Context(), executortest.Patience, false)
	close(stop)
	<-beating
	if !errors.Is(err, db.ErrStillRunning) {
		t.Errorf("beside a node that beats: %v", err)
	}
}
