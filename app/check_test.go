package app

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// oldTables are those of XXL-JOB 2.3.0, as far as a check reads them.
var oldTables = []string{
	"CREATE TABLE xxl_job_group (id INT PRIMARY KEY AUTO_INCREMENT, app_name VARCHAR(64) NOT NULL, title VARCHAR(12) NOT NULL, address_type TINYINT NOT NULL DEFAULT 0, address_list TEXT, update_time DATETIME)",
	"CREATE TABLE xxl_job_registry (id INT PRIMARY KEY AUTO_INCREMENT, registry_group VARCHAR(50) NOT NULL, registry_key VARCHAR(255) NOT NULL, registry_value VARCHAR(255) NOT NULL, update_time DATETIME)",
	"CREATE TABLE xxl_job_info (id INT PRIMARY KEY AUTO_INCREMENT, job_group INT NOT NULL, job_desc VARCHAR(255) NOT NULL, add_time DATETIME, update_time DATETIME, author VARCHAR(64), alarm_email VARCHAR(255), schedule_type VARCHAR(50) NOT NULL DEFAULT 'NONE', schedule_conf VARCHAR(128), misfire_strategy VARCHAR(50) NOT NULL DEFAULT 'DO_NOTHING', executor_route_strategy VARCHAR(50), executor_handler VARCHAR(255), executor_param VARCHAR(512), executor_block_strategy VARCHAR(50), executor_timeout INT NOT NULL DEFAULT 0, executor_fail_retry_count INT NOT NULL DEFAULT 0, glue_type VARCHAR(50) NOT NULL, glue_source MEDIUMTEXT, glue_remark VARCHAR(128), glue_updatetime DATETIME, child_jobid VARCHAR(255), trigger_status TINYINT NOT NULL DEFAULT 0, trigger_last_time BIGINT NOT NULL DEFAULT 0, trigger_next_time BIGINT NOT NULL DEFAULT 0)",
	"CREATE TABLE xxl_job_log (id BIGINT PRIMARY KEY AUTO_INCREMENT, job_group INT NOT NULL, job_id INT NOT NULL, executor_address VARCHAR(255), executor_handler VARCHAR(255), executor_param VARCHAR(512), executor_sharding_param VARCHAR(20), executor_fail_retry_count INT NOT NULL DEFAULT 0, trigger_time DATETIME, trigger_code INT NOT NULL, trigger_msg TEXT, handle_time DATETIME, handle_code INT NOT NULL, handle_msg TEXT, alarm_status TINYINT NOT NULL DEFAULT 0, KEY I_trigger_time (trigger_time), KEY I_handle_code (handle_code))",
	"CREATE TABLE xxl_job_user (id INT PRIMARY KEY AUTO_INCREMENT, username VARCHAR(50) NOT NULL, password VARCHAR(50) NOT NULL, role TINYINT NOT NULL, permission VARCHAR(255))",
}

// TestWordsFollowTheNumber of what they are about.
func TestWordsFollowTheNumber(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"%d {folder is|folders are} full: make room in {it|them}", 1, "1 folder is full: make room in it"},
		{"%d {folder is|folders are} full: make room in {it|them}", 2, "2 folders are full: make room in them"},
		{"jobs: %d {as they are}", 1, "jobs: 1 {as they are}"},
		{"%d", 3, "3"},
	} {
		if got := Counted(c.text, c.n); got != c.want {
			t.Errorf("%q of %d: %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

// TestACheckOnlyReads and tells everything that an adoption would mean.
func TestACheckOnlyReads(t *testing.T) {
	t.Parallel()
	url := dbtest.MariaDB(t)
	pool := dbtest.Open(t, db.Config{URL: url, Zone: dbtest.Zone})
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := pool.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatalf("%.80s: %v", statement, err)
		}
	}
	o := testOptions(t)
	o.DatabaseURL, o.DataDir = url, t.TempDir()
	if r, err := Check(t.Context(), o); err != nil || r.Verdict != CheckLook || r.Points[0].Key != "empty" {
		t.Errorf("an empty database: %+v, %v", r, err)
	}
	for _, statement := range oldTables {
		exec(statement)
	}
	exec("INSERT INTO xxl_job_group (id, app_name, title) VALUES (1, 'orders', '订单'), (2, 'stock', '库存'), (3, 'gone', 'x')")
	exec("INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES ('EXECUTOR', 'orders', 'http://10.0.0.1:9999/', ?), ('EXECUTOR', 'stock', '10.0.0.2:9999', ?)",
		pool.Wall(time.Now()), pool.Wall(time.Now()))
	exec("INSERT INTO xxl_job_info (id, job_group, job_desc, schedule_type, schedule_conf, glue_type, alarm_email, executor_fail_retry_count, trigger_status) VALUES " +
		"(1, 1, 'eight', 'CRON', '0 0 2 * * ? * *', 'BEAN', 'ops@example.com', 0, 1), (2, 1, 'script', 'NONE', '', 'GLUE_SHELL', '', 2, 0)")
	exec("INSERT INTO xxl_job_info (id, job_group, job_desc, schedule_type, schedule_conf, glue_type, executor_route_strategy) VALUES " +
		"(3, 1, 'odd', 'WEEKLY', '', 'GLUE_PERL', 'NEAREST'), (4, 1, 'usual', 'CRON', '0 0 2 * * ?', 'BEAN', 'SHARDING_BROADCAST')")
	exec("INSERT INTO xxl_job_log (job_group, job_id, trigger_code, handle_code) VALUES (1, 1, 200, 0), (1, 1, 200, 200)")
	exec("UPDATE xxl_job_log SET trigger_time = ?", pool.Wall(time.Now().AddDate(0, 0, -33)))
	exec("INSERT INTO xxl_job_user (username, password, role, permission) VALUES ('admin', 'e10adc3949ba59abbe56e057f20f883e', 1, NULL), ('jonas', 'x', 0, '1,2,9')")
	tables := func() (list string) {
		t.Helper()
		if err := pool.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(table_name, ':', column_name, column_type ORDER BY table_name, column_name) FROM information_schema.columns WHERE table_schema = DATABASE()").Scan(&list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	before := tables()
	r, err := Check(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, p := range r.Points {
		keys = append(keys, p.Key)
	}
	want := []string{"running", "open", "kept", "times.fields", "unknown", "mail", "retries", "scripts", "passwords", "hessian", "empty"}
	if !slices.Equal(keys, want) || r.Verdict != CheckLook || r.Release != "2.3.0–2.4.2" {
		t.Errorf("points %v of %s (%s), want %v", keys, r.Release, r.Verdict, want)
	}
	if i := slices.Index(keys, "unknown"); i >= 0 && !slices.Equal(r.Points[i].Of, []string{"3 odd: schedule_type WEEKLY, executor_route_strategy NEAREST, glue_type GLUE_PERL"}) {
		t.Errorf("unknown are %q", r.Points[i].Of)
	}
	if len(r.Users) != 2 || !r.Users[0].Admin || strings.Join(r.Users[1].Groups, ",") != "orders,stock" {
		t.Errorf("users: %+v", r.Users)
	}
	if len(r.Groups) != 3 || r.Jobs.Started != 1 || r.Jobs.ByGlue["GLUE_SHELL"] != 1 || len(r.Steps) == 0 {
		t.Errorf("report: %+v", r)
	}
	if tables() != before {
		t.Error("it changed tables")
	}
	// Daily jobs of an admin in another zone.
	for hour := range 3 {
		next := time.Date(2026, 3, 2, hour, 30, 0, 0, dbtest.Zone).Add(-5 * time.Hour)
		exec("INSERT INTO xxl_job_info (job_group, job_desc, schedule_type, schedule_conf, glue_type, trigger_status, trigger_next_time) VALUES (1, 'x', 'CRON', CONCAT('0 30 ', ?, ' * * ?'), 'BEAN', 1, ?)", hour, next.UnixMilli())
	}
	if r, err := Check(t.Context(), o); err != nil || r.Verdict != CheckRefused || r.Points[0].Key != "zone" {
		t.Errorf("in another zone: %s %+v, %v", r.Verdict, r.Points[:1], err)
	}
	if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "PUNCTUAL_TIME_ZONE") {
		t.Errorf("a start with it: %v", err)
	}
}

// TestALogOfStatementsIsRefused before anything is done, and the doctor finds it where an installation is: such a server refuses what Punctual
// writes, and takes what XXL-JOB does.
func TestALogOfStatementsIsRefused(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t, "--log-bin=log", "--server-id=1", "--binlog-format=STATEMENT")
	o := testOptions(t)
	o.DatabaseURL = server.Database(t)
	pool := dbtest.Open(t, db.Config{URL: o.DatabaseURL})
	tables := func() int { return len(dbtest.Column(t, pool, "SHOW TABLES")) }
	if r, err := Check(t.Context(), o); err != nil || r.Verdict != CheckRefused || !slices.Equal(keysOf(r.CheckFindings), []string{"log", "empty"}) || !r.Points[0].Refuses {
		t.Errorf("the check: %s %+v, %v", r.Verdict, r.Points, err)
	}
	if _, err := New(t.Context(), o); !errors.Is(err, db.ErrLogOfStatements) || tables() != 0 {
		t.Errorf("a start: %v, with %d tables", err, tables())
	}
	set := func(format string) {
		t.Helper()
		if _, err := pool.Exec("SET GLOBAL binlog_format = " + format); err != nil {
			t.Fatal(err)
		}
	}
	set("MIXED")
	if err := dbtest.Open(t, db.Config{URL: o.DatabaseURL}).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := Doctor(t.Context(), o); err != nil || r.Verdict == CheckFailed {
		t.Errorf("the doctor, of another log: %s %+v, %v", r.Verdict, r.Points, err)
	}
	set("STATEMENT")
	if r, err := Doctor(t.Context(), o); err != nil || r.Verdict != CheckFailed || !r.Points[0].Fails || r.Points[0].Key != "db.log" {
		t.Errorf("the doctor: %s %+v, %v", r.Verdict, r.Points, err)
	}
}
