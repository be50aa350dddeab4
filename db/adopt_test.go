package db_test

import (
	"database/sql"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func itoa(n int) string { return strconv.Itoa(n) }

var xxlTables = []string{"xxl_job_group", "xxl_job_registry", "xxl_job_info", "xxl_job_log", "xxl_job_log_report", "xxl_job_logglue", "xxl_job_user", "xxl_job_lock"}

func TestAdoptXXLJob(t *testing.T) {
	t.Parallel()
	fresh := schemaOf(t, dbtest.New(t, db.MySQL).DB)
	for _, e := range eras {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)})
			e.create(t, pool.DB)
			e.fill(t, pool.DB)
			before := contentOf(t, pool.DB)
			if err := pool.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fresh, schemaOf(t, pool.DB)); diff != "" {
				t.Errorf("adopted schema differs from a fresh one (-fresh +adopted):\n%s", diff)
			}
			checkContent(t, e, before, contentOf(t, pool.DB))
			for _, s := range e.oldStatements() {
				mustExec(t, pool.DB, s)
			}
			if err := pool.Migrate(t.Context()); err != nil {
				t.Errorf("second start: %v", err)
			}
			if n, err := db.AdoptSteps(t.Context(), pool, 0); n != 0 || err != nil {
				t.Errorf("steps left after adoption = %d (%v), want 0", n, err)
			}
		})
	}
}

// TestAdoptCutShort stops an adoption after each of its steps and starts again.
func TestAdoptCutShort(t *testing.T) {
	t.Parallel()
	fresh := schemaOf(t, dbtest.New(t, db.MySQL).DB)
	e := eras[0]
	for n, total := 1, 2; n < total; n++ {
		pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)})
		e.create(t, pool.DB)
		e.fill(t, pool.DB)
		before := contentOf(t, pool.DB)
		var err error
		if total, err = db.AdoptSteps(t.Context(), pool, n); err != nil {
			t.Fatal(err)
		}
		if err := pool.Migrate(t.Context()); err != nil {
			t.Fatalf("after %d of %d steps: %v", n, total, err)
		}
		if diff := cmp.Diff(fresh, schemaOf(t, pool.DB)); diff != "" {
			t.Errorf("after %d of %d steps (-fresh +adopted):\n%s", n, total, diff)
		}
		checkContent(t, e, before, contentOf(t, pool.DB))
	}
}

// TestOldStorageIsBroughtAlong: tables that are older than XXL-JOB's scripts, or that somebody made anew, have another character set, engine
// and format of rows. What has no transactions, or not every character, would lose runs and results.
func TestOldStorageIsBroughtAlong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, alter, step string }{
		{"utf8 of three bytes", "CONVERT TO CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci", "xxl_job_log: let its text have every character"},
		{"no Unicode", "CONVERT TO CHARACTER SET gbk", "xxl_job_info: let its text have every character"},
		{"MyISAM", "ENGINE = MyISAM", "xxl_job_log: make it a table with transactions"},
		{"rows of MySQL 5.6", "ROW_FORMAT = COMPACT", "xxl_job_info: complete the columns"},
		{"rows of MySQL 4", "ROW_FORMAT = REDUNDANT, CONVERT TO CHARACTER SET utf8mb3", "xxl_job_info: let its text have every character"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)})
			e := eras[1]
			e.create(t, pool.DB)
			mustExec(t, pool.DB, "ALTER TABLE xxl_job_registry DROP KEY i_g_k_v") // which such tables cannot have
			for _, table := range xxlTables {
				mustExec(t, pool.DB, "ALTER TABLE "+table+" "+tt.alter)
			}
			e.fill(t, pool.DB)
			before := contentOf(t, pool.DB)
			if s, err := pool.Survey(t.Context()); err != nil || !strings.Contains(strings.Join(s.Steps, "; "), tt.step) {
				t.Errorf("a check says %q, %v", s.Steps, err)
			}
			if err := pool.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkContent(t, e, before, contentOf(t, pool.DB))
			for _, c := range queryText(t, pool.DB, `SELECT table_name AS t, column_name AS c FROM information_schema.columns
					WHERE table_schema = DATABASE() AND table_name LIKE 'xxl%' AND character_set_name <> 'utf8mb4'
				UNION ALL SELECT table_name, engine FROM information_schema.tables WHERE table_schema = DATABASE() AND engine <> 'InnoDB'`) {
				t.Errorf("%s: %s", c["t"], c["c"])
			}
			mustExec(t, pool.DB, "UPDATE xxl_job_log SET handle_msg = 'done 😀', events = '😀'")
			mustExec(t, pool.DB, "UPDATE xxl_job_info SET job_desc = 'done 😀', executor_param = '😀'")
			for _, s := range e.oldStatements() {
				mustExec(t, pool.DB, s)
			}
			if n, err := db.AdoptSteps(t.Context(), pool, 0); n != 0 || err != nil {
				t.Errorf("steps left after adoption = %d (%v), want 0", n, err)
			}
		})
	}
}

func TestAdoptRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		create func(t *testing.T, pool *sql.DB)
		want   string
	}{
		{"a Quartz database", func(t *testing.T, pool *sql.DB) {
			mustExec(t, pool, "CREATE TABLE XXL_JOB_QRTZ_TRIGGER_INFO (id int NOT NULL PRIMARY KEY)")
		}, "XXL-JOB 2.0 or older"},
		{"a table with columns missing", func(t *testing.T, pool *sql.DB) {
			eras[6].create(t, pool)
			mustExec(t, pool, "ALTER TABLE xxl_job_info DROP COLUMN author")
		}, "column xxl_job_info.author is missing"},
		{"a table without what an index is made on", func(t *testing.T, pool *sql.DB) {
			eras[6].create(t, pool)
			mustExec(t, pool, "ALTER TABLE xxl_job_info DROP COLUMN executor_handler")
		}, "column xxl_job_info.executor_handler is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)})
			tt.create(t, pool.DB)
			err := pool.Migrate(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Migrate = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// checkContent compares every value that was there before with what is there now.
func checkContent(t *testing.T, e era, before, after map[string][]map[string]string) {
	t.Helper()
	for _, name := range xxlTables {
		was, is := before[name], after[name]
		if name == "xxl_job_registry" && e.registryKey == "KEY" {
			was = was[2:] // the first two are the older of duplicates
		}
		if len(was) != len(is) {
			t.Errorf("%s: %d rows, want %d", name, len(is), len(was))
			continue
		}
		for i := range was {
			for column, value := range was[i] {
				if e.renamed && column == "name" {
					column = map[string]string{"xxl_job_group": "title", "xxl_job_info": "job_desc"}[name]
				}
				if column == "job_cron" && is[i]["schedule_conf"] != value {
					t.Errorf("schedule_conf = %q, want %q", is[i]["schedule_conf"], value)
				}
				if is[i][column] != value {
					t.Errorf("%s row %d %s = %q, want %q", name, i, column, is[i][column], value)
				}
			}
			if e.jobCron && name == "xxl_job_info" && is[i]["schedule_type"] != "CRON" {
				t.Errorf("schedule_type = %q, want CRON", is[i]["schedule_type"])
			}
		}
	}
}

// TestAdoptedRetriesWait as they did: XXL-JOB looked for failures every ten seconds.
func TestAdoptedRetriesWait(t *testing.T) {
	t.Parallel()
	waits := func(pool *db.Pool) (list []string) {
		for _, row := range queryText(t, pool.DB, "SELECT retry_backoff AS b FROM xxl_job_info ORDER BY id") {
			list = append(list, row["b"])
		}
		return list
	}
	pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)})
	eras[0].create(t, pool.DB)
	eras[0].fill(t, pool.DB)
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"10s", ""}, waits(pool)); diff != "" {
		t.Errorf("back-offs of a job with retries and of one without (-want +got):\n%s", diff)
	}
	// The database of a Punctual that did not have this step: its jobs are as people wanted them.
	mustExec(t, pool.DB, "UPDATE xxl_job_info SET retry_backoff = ''")
	mustExec(t, pool.DB, "DELETE FROM punctual_version WHERE version_id = 12")
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"", ""}, waits(pool)); diff != "" {
		t.Errorf("back-offs on a database of ours (-want +got):\n%s", diff)
	}
}

// TestJobCronIsKept for the admin of 2.2, which knows nothing else.
func TestJobCronIsKept(t *testing.T) {
	t.Parallel()
	pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)})
	era := eras[slices.IndexFunc(eras, func(e era) bool { return e.jobCron })]
	era.create(t, pool.DB)
	era.fill(t, pool.DB)
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	schedules := db.NewSchedules(pool, pool.Zone(), time.Now)
	edit := func(kind, conf string) {
		t.Helper()
		j, err := db.New().GetJob(t.Context(), pool, 1)
		if err != nil {
			t.Fatal(err)
		}
		change := db.JobChange(j.Spec())
		change.JobGroup, change.OldNextTime, change.OldStatus, change.OldRevision, change.NewNextTime = j.JobGroup, j.TriggerNextTime, j.TriggerStatus, j.Revision, j.TriggerNextTime
		change.ScheduleType, change.ScheduleConf = jobspec.ScheduleType(kind), db.Text(conf)
		if err := pool.Tx(t.Context(), func(tx *sql.Tx) error { return schedules.Edit(t.Context(), tx, change) }); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what, cron, conf string) {
		t.Helper()
		if row := queryText(t, pool.DB, "SELECT job_cron AS a, COALESCE(schedule_conf, '') AS b FROM xxl_job_info WHERE id = 1")[0]; row["a"] != cron || row["b"] != conf {
			t.Errorf("%s: job_cron %q, schedule_conf %q; want %q and %q", what, row["a"], row["b"], cron, conf)
		}
	}
	want("adopted", "0 0 2 * * ?", "0 0 2 * * ?")
	edit("CRON", "0 0 3 * * ?")
	want("edited", "0 0 3 * * ?", "0 0 3 * * ?")
	mustExec(t, pool.DB, "UPDATE xxl_job_info SET job_cron = '0 0 4 * * ?' WHERE id = 1") // by the old admin
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("at the next start", "0 0 4 * * ?", "0 0 4 * * ?")
	edit("FIX_RATE", "60")
	want("not cron any more", "", "60")
	// A job of ours has no cron of the old kind until it is made.
	mustExec(t, pool.DB, "INSERT INTO xxl_job_info (job_group, job_desc, glue_type) VALUES (1, 'x', 'BEAN')")
}

// contentOf reads XXL-JOB's tables as text, in the order of their first column.
func contentOf(t *testing.T, pool *sql.DB) map[string][]map[string]string {
	t.Helper()
	content := make(map[string][]map[string]string)
	for _, name := range xxlTables {
		content[name] = queryText(t, pool, "SELECT * FROM "+name+" ORDER BY 1")
	}
	return content
}

func queryText(t *testing.T, pool *sql.DB, query string) []map[string]string {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]string
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		targets := make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		row := make(map[string]string)
		for i, c := range columns {
			row[c] = "NULL"
			if values[i].Valid {
				row[c] = values[i].String
			}
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// schemaOf lists columns with their types, and the columns that are indexed, in an order of its own: eras differ in the order of columns
// and the names of indexes, and nothing depends on either.
func schemaOf(t *testing.T, pool *sql.DB) []string {
	t.Helper()
	var lines []string
	for _, c := range queryText(t, pool, `SELECT table_name AS t, column_name AS c, data_type AS d, COALESCE(character_maximum_length, 0) AS l, is_nullable AS n,
			COALESCE(column_default, 'NULL') AS v, COALESCE(collation_name, '') AS o, extra AS x FROM information_schema.columns WHERE table_schema = DATABASE()`) {
		switch c["t"] + "." + c["c"] {
		case "xxl_job_info.job_cron", "xxl_job_group.access_token": // 2.2's and 3.5's stay
			continue
		case "xxl_job_log.executor_param": // that of old logs is wide, and no text
			continue
		}
		lines = append(lines, fmt.Sprintf("%s.%s %s(%s) null=%s default=%s %s %s", c["t"], c["c"], c["d"], c["l"], c["n"], c["v"], c["o"], c["x"]))
	}
	seen := make(map[string]bool)
	for _, i := range queryText(t, pool, `SELECT table_name AS t, non_unique AS u, GROUP_CONCAT(column_name ORDER BY seq_in_index) AS c
			FROM information_schema.statistics WHERE table_schema = DATABASE() GROUP BY table_name, index_name, non_unique`) {
		line := fmt.Sprintf("%s index(%s) nonunique=%s", i["t"], i["c"], i["u"])
		if strings.Contains(line, "index(job_id,job_group)") || strings.Contains(line, "xxl_job_group index(app_name)") {
			continue // the extra indexes of 2.5 and 3.5 may stay
		}
		if !seen[line] {
			seen[line] = true
			lines = append(lines, line)
		}
	}
	sort.Strings(lines)
	return lines
}
