package db_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestWhatAnEndMeansIsAskedAlike: three statements have the condition under which a job has something to do when a run of it ends. One
// that overlooked an option would leave out what the option asks for, without a word.
func TestWhatAnEndMeansIsAskedAlike(t *testing.T) {
	t.Parallel()
	type job struct {
		option string // an assignment to a job of which an end means nothing
		heeded bool   // if it is known
		known  bool
	}
	jobs := []job{
		{"author = author", false, true},
		{"child_jobid = '2'", true, true},
		{"schedule_type = 'FIX_DELAY', schedule_conf = '60'", true, true},
		{"max_concurrent = 1", true, true},
		{"keep_output = 'ALL'", true, true},
		{"keep_output = 'NONE'", true, true},
		{"glue_type = 'FLOW'", true, true},
		{"schedule_type = 'FIX_RATE', schedule_conf = '60'", false, true},
		{"executor_fail_retry_count = 3, retry_backoff = '10s'", false, true}, // the run knows its retries
		{"when_lost = 'AGAIN'", false, true},                                  // asked of lost runs alone
		{"alarm_email = 'ops@example.com'", false, true},                      // of failures
	}
	// Whatever else a job may say, the three agree about it.
	for _, c := range columnsOf(t, "xxl_job_info") {
		if c.name == "id" {
			continue
		}
		values := []string{"1", "7"}
		if !c.number {
			values = []string{"'1'", "'x'", "'ALL'", "'NONE'", "'FLOW'", "'AGAIN'", "'FIX_DELAY'", "'ONCE'"}
		}
		for _, v := range values {
			jobs = append(jobs, job{option: c.name + " = " + v})
		}
	}
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		q := db.New()
		exec := func(statement string) error {
			_, err := pool.ExecContext(t.Context(), statement)
			return err
		}
		var ids, logs []int64
		options := make(map[int64]job)
		for i, j := range jobs {
			id := int64(i + 1)
			if err := exec(fmt.Sprintf(`INSERT INTO xxl_job_info (id, job_group, job_desc, author, schedule_type, schedule_conf, glue_type, trigger_status)
				VALUES (%d, 1, 'job', 'ann', 'CRON', '0 0 2 * * ?', 'BEAN', 1)`, id)); err != nil {
				t.Fatal(err)
			}
			if err := exec(fmt.Sprintf("UPDATE xxl_job_info SET %s WHERE id = %d", j.option, id)); err != nil && j.known {
				t.Fatalf("%s: %v", j.option, err)
			} // a column that cannot have the value says nothing
			if err := exec(fmt.Sprintf("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code) VALUES (%d, 1, %d, 200, 0)", 10_000+id, id)); err != nil {
				t.Fatal(err)
			}
			ids, logs, options[id] = append(ids, id), append(logs, 10_000+id), j
		}
		heeded := map[string]map[int64]bool{"ListJobsWithConsequences": {}, "ListHeededJobs": {}, "ListRunsToEnd": {}, "ListStepsToEnd": {}}
		rows, err := q.ListJobsWithConsequences(t.Context(), pool, ids)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			heeded["ListJobsWithConsequences"][r.ID] = true
		}
		jobsHeeded, err := q.ListHeededJobs(t.Context(), pool, ids)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range jobsHeeded {
			heeded["ListHeededJobs"][id] = true
		}
		runs, err := q.ListRunsToEnd(t.Context(), pool, logs)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			heeded["ListRunsToEnd"][r.HeededBy] = true
		}
		steps, err := q.ListStepsToEnd(t.Context(), pool, logs)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range steps {
			heeded["ListStepsToEnd"][r.HeededBy] = true
		}
		if len(runs) != len(jobs) || len(steps) != len(jobs) {
			t.Fatalf("%d runs and %d steps of %d to end", len(runs), len(steps), len(jobs))
		}
		for id, j := range options {
			want := heeded["ListJobsWithConsequences"][id]
			if j.known {
				want = j.heeded
			}
			for query, of := range heeded {
				if of[id] != want {
					t.Errorf("%s heeds a job with %s: %t, want %t", query, j.option, of[id], want)
				}
			}
		}
	})
}

// column is one of a table.
type column struct {
	name   string
	number bool
}

// columnsOf reads them from the catalogue that is the easier to read.
func columnsOf(t *testing.T, table string) (all []column) {
	t.Helper()
	for _, c := range texts(t, dbtest.New(t, db.SQLite), "SELECT name || ' ' || type FROM pragma_table_info('"+table+"')") {
		name, typ, _ := strings.Cut(c, " ")
		all = append(all, column{name, strings.Contains(typ, "INT")})
	}
	if len(all) < 20 {
		t.Fatalf("%s has %d columns", table, len(all))
	}
	return all
}
