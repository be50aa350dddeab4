package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestMigrateShadow writes its two files and goes on with the first. It looks once, however short the time is.
func TestMigrateShadow(t *testing.T) {
	t.Parallel()
	url := dbtest.MariaDB(t)
	pool := dbtest.Open(t, db.Config{URL: url})
	for _, table := range []string{
		"CREATE TABLE xxl_job_info (id INT PRIMARY KEY, job_desc VARCHAR(255), schedule_type VARCHAR(50), schedule_conf VARCHAR(128), trigger_status TINYINT, trigger_next_time BIGINT, executor_fail_retry_count INT)",
		"CREATE TABLE xxl_job_log (id BIGINT PRIMARY KEY, job_id INT, trigger_time DATETIME, executor_fail_retry_count INT, executor_sharding_param VARCHAR(20))",
		"CREATE TABLE xxl_job_user (id INT PRIMARY KEY)",
		"INSERT INTO xxl_job_info VALUES (7, '<b>odd</b>', 'CRON', '0 0 2 5,20W * ?', 1, 4102444800000, 0)",
	} {
		if _, err := pool.ExecContext(t.Context(), table); err != nil {
			t.Fatal(err)
		}
	}
	state, page := filepath.Join(t.TempDir(), "state.json"), filepath.Join(t.TempDir(), "page.html")
	shadow := func() (int, string) {
		var out, log bytes.Buffer
		code := run([]string{"migrate", "shadow", "--database-url", url, "--for", "1ns", "--state", state, "--report", page}, &out, &log)
		return code, out.String() + log.String()
	}
	for range 2 {
		code, out := shadow()
		if code != 0 || !strings.Contains(out, "Of 0 planned fires") || !strings.Contains(out, `job 7 "<b>odd</b>"`) {
			t.Fatalf("exit code %d: %s", code, out)
		}
	}
	html, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(html), "&lt;b&gt;odd&lt;/b&gt;") || strings.Contains(string(html), "<b>odd") {
		t.Errorf("the page: %v\n%s", err, html)
	}
	if err := os.WriteFile(state, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := shadow(); code != 1 || !strings.Contains(out, "state.json") {
		t.Errorf("with a state that cannot be read: exit code %d: %s", code, out)
	}
}
