package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
)

// TestGroupByGroup goes the way of an administrator: a database of XXL-JOB whose admins go on working, a group moved in the console and
// returned, what is refused on the way, and the end with everything here.
func TestGroupByGroup(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.DatabaseURL, o.DataDir = dbtest.Migrated(t), t.TempDir()
	pool := dbtest.Open(t, db.Config{URL: o.DatabaseURL})
	exec := func(format string, args ...any) {
		t.Helper()
		if _, err := pool.ExecContext(t.Context(), fmt.Sprintf(format, args...)); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO punctual_adoption (id, release_line, adopted_at) VALUES (1, '3.4', 1770000000000)")
	if _, _, err := HandOver(t.Context(), o, []string{"orders"}, false, false); err == nil || !strings.Contains(err.Error(), "migrate beside") {
		t.Errorf("a move without the mode: %v", err)
	}
	if _, err := BeginBeside(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	exec("INSERT INTO xxl_job_group (id, app_name, title) VALUES (5, 'orders', 'Orders'), (6, 'billing', 'Billing')")
	exec("INSERT INTO xxl_job_info (id, job_group, job_desc, schedule_type, schedule_conf, glue_type, executor_route_strategy, misfire_strategy, trigger_status, trigger_next_time) VALUES "+
		"(51, 5, 'pay', 'CRON', '0 0 0 1 1 ? 2090', 'BEAN', 'FIRST', 'DO_NOTHING', 1, %d), (61, 6, 'bill', 'FIX_RATE', '3600', 'BEAN', 'FIRST', 'DO_NOTHING', 1, %[1]d)", time.Now().Add(time.Hour).UnixMilli())
	a := start(t, o)
	root := open(t, a).mustLogin()
	status := func(id int) (status int) {
		t.Helper()
		if err := pool.QueryRowContext(t.Context(), "SELECT trigger_status FROM xxl_job_info WHERE id = ?", id).Scan(&status); err != nil {
			t.Fatal(err)
		}
		return status
	}
	for _, path := range []string{"/jobs/51/stop", "/jobs/51/delete"} {
		if got := root.post(path, nil); got.status != http.StatusConflict || status(51) != 1 {
			t.Errorf("%s of a job that is theirs: %d", path, got.status)
		}
	}
	group := func(id string) url.Values { return url.Values{"group": {id}} }
	if got := root.post("/adoption/move", group("5")); got.status != http.StatusSeeOther || status(51) != 2 || status(61) != 1 {
		t.Fatalf("move: %d, jobs are %d and %d", got.status, status(51), status(61))
	}
	table := root.get("/adoption").document(t).Find("#beside-groups").Closest("section").Text()
	if !strings.Contains(table, "Punctual") || !strings.Contains(table, "XXL-JOB") || !strings.Contains(table, "billing") {
		t.Errorf("the page: %s", table)
	}
	if running := root.get("/jobs?state=running").document(t).Find("tbody tr").Length(); running != 2 {
		t.Errorf("%d jobs are listed as started, want both", running)
	}
	if got := root.post("/jobs/51/stop", nil); got.status >= 400 || status(51) != 0 {
		t.Errorf("stop a job that is ours: %d, it is %d", got.status, status(51))
	}
	if got := root.post("/jobs/51/start", nil); got.status >= 400 || status(51) != 2 {
		t.Errorf("start it: %d, it is %d", got.status, status(51))
	}
	exec("UPDATE xxl_job_info SET schedule_type = 'ONCE', schedule_conf = '2090-01-01 00:00:00' WHERE id = 51")
	if got := root.post("/adoption/return", group("5")); got.status != http.StatusConflict || status(51) != 2 || !strings.Contains(got.document(t).Find(".notice").Text(), "#51 pay (ONCE)") {
		t.Errorf("return what XXL-JOB does not have: %d %s", got.status, got.document(t).Find(".notice").Text())
	}
	if _, _, err := HandOver(t.Context(), o, nil, true, true); err == nil || !strings.Contains(err.Error(), `51 "pay" (ONCE)`) {
		t.Errorf("the same on the command line: %v", err)
	}
	exec("UPDATE xxl_job_info SET schedule_type = 'CRON', schedule_conf = '0 0 0 1 1 ? 2090' WHERE id = 51")
	if got := root.post("/adoption/return", group("5")); got.status != http.StatusSeeOther || status(51) != 1 {
		t.Errorf("return: %d, the job is %d", got.status, status(51))
	}
	if got := root.post("/adoption/finish", url.Values{"sure": {"1"}}); got.status != http.StatusConflict {
		t.Errorf("end the way back beside them: %d", got.status)
	}
	if groups, jobs, err := HandOver(t.Context(), o, nil, true, false); err != nil || groups != 2 || jobs != 2 {
		t.Errorf("move all: %d groups, %d jobs, %v", groups, jobs, err)
	}
	if n := root.get("/audit?kind=group&action=move").document(t).Find("tbody tr").Length(); n != 3 {
		t.Errorf("%d moves in the audit log, want 3", n)
	}
	executortest.Eventually(t, "runs of a job that was moved", func() error {
		exec("UPDATE xxl_job_info SET trigger_next_time = %d, claimed_until = 0 WHERE id = 61 AND trigger_next_time > %[1]d", time.Now().UnixMilli())
		var n int
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_log WHERE job_id = 61 AND planned_at > 0").Scan(&n); err != nil || n > 0 {
			return err
		}
		return executortest.ErrNotYet
	})
	if _, err := EndBeside(t.Context(), o); err == nil || !strings.Contains(err.Error(), "stop Punctual first") {
		t.Errorf("end it while Punctual runs: %v", err)
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if theirs, err := EndBeside(t.Context(), o); err != nil || theirs != 0 || status(61) != 1 {
		t.Errorf("the end: %d were theirs, %v", theirs, err)
	}
}
