package db_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

const deepRuns = 20_000

// deepLog makes a log in which all runs are of one job, one group and one result, and what is kept of their output.
func deepLog(t *testing.T, pool *db.Pool) {
	t.Helper()
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := pool.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_time, trigger_code, handle_code, trigger_type, planned_at) VALUES (1, 1, 1, ?, 200, 200, 'CRON', 5)", bulkTime)
	for made := 1; made < deepRuns; made *= 2 {
		exec("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_time, trigger_code, handle_code, trigger_type, planned_at) SELECT id + ?, job_group, job_id, trigger_time, trigger_code, handle_code, trigger_type, planned_at FROM xxl_job_log WHERE id <= ?", made, deepRuns-made)
	}
	exec("INSERT INTO punctual_output (log_id, job_group, job_id, object_id) SELECT id, job_group, job_id, 1 + id / 200 FROM xxl_job_log")
	exec("INSERT INTO punctual_audit (id, made_at, user_name, action, object_kind, object_id) SELECT id, id, 'ada', 'job.update', 'job', 1 FROM xxl_job_log")
	exec("INSERT INTO punctual_webhook_delivery (id, webhook_id, type, log_id, happened_at) SELECT id, 1, 'punctual.run.finished', id, id FROM xxl_job_log")
	for _, table := range []string{"xxl_job_log", "punctual_output", "punctual_audit", "punctual_webhook_delivery"} {
		exec("ALTER TABLE " + table + " STATS_PERSISTENT = 1") // as it is by default, and not in other tests
		rows, err := pool.QueryContext(t.Context(), "ANALYZE TABLE "+table)
		if err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
}

// deepReads are pages from the middle of that log.
func deepReads(limit int) map[string]func(ctx context.Context, tx db.DBTX) (int, error) {
	q, n, middle := db.New(), int32(limit), int64(deepRuns/2)
	find := func(f db.RunFilter, down bool) func(ctx context.Context, tx db.DBTX) (int, error) {
		return func(ctx context.Context, tx db.DBTX) (int, error) {
			if down {
				runs, err := db.FindRuns(ctx, tx, f, 0, middle, limit)
				return len(runs), err
			}
			ids, err := db.FindRunIDs(ctx, tx, f, middle, deepRuns, limit, down)
			return len(ids), err
		}
	}
	audit := func(f db.AuditFilter) func(ctx context.Context, tx db.DBTX) (int, error) {
		return func(ctx context.Context, tx db.DBTX) (int, error) {
			entries, err := db.FindAudit(ctx, tx, f, 0, middle, limit)
			return len(entries), err
		}
	}
	since, until := bulkTime.Add(-time.Hour), bulkTime.Add(time.Hour)
	return map[string]func(ctx context.Context, tx db.DBTX) (int, error){
		"runs of a job":                   find(db.RunFilter{Job: 1}, true),
		"runs of a job, upwards":          find(db.RunFilter{Job: 1}, false),
		"runs of a group":                 find(db.RunFilter{Groups: []int64{1}}, true),
		"runs of a group, upwards":        find(db.RunFilter{Groups: []int64{1}}, false),
		"runs with a result":              find(db.RunFilter{Codes: []int64{200}}, true),
		"runs of a job with a result":     find(db.RunFilter{Job: 1, Codes: []int64{200}}, true),
		"runs of a group with a result":   find(db.RunFilter{Groups: []int64{1}, Codes: []int64{200}}, true),
		"runs of a group with no result":  find(db.RunFilter{Groups: []int64{1}, Codes: []int64{500}}, true),
		"runs of two groups and a result": find(db.RunFilter{Groups: []int64{1, 2}, Codes: []int64{200, 500}}, true),
		"what somebody did":               audit(db.AuditFilter{User: "ada"}),
		"what was done to a thing":        audit(db.AuditFilter{Kind: "job", ObjectID: 1}),
		"what somebody did to that":       audit(db.AuditFilter{User: "ada", Kind: "job", ObjectID: 1}),
		"how long runs took": func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListRunTimesOfJob(ctx, tx, db.ListRunTimesOfJobParams{JobID: 1, BeforeID: middle, AllGroups: 1, Limit: n})
			return len(r), err
		},
		"runs before a deadline": func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListRunsForDeadline(ctx, tx, db.ListRunsForDeadlineParams{JobID: 1, BelowID: middle, Limit: n})
			return len(r), err
		},
		"the last success": func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListRecentRunsOfJob(ctx, tx, db.ListRecentRunsOfJobParams{JobID: 1, AboveID: 0, BelowID: middle, Limit: n})
			return len(r), err
		},
		"runs of a job by time": func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListRunsOfJobBetween(ctx, tx, db.ListRunsOfJobBetweenParams{JobID: 1, AfterID: middle, FromTime: sql.NullTime{Time: since, Valid: true}, UntilTime: sql.NullTime{Time: until, Valid: true}, Limit: n})
			return len(r), err
		},
		"states of a job's runs": func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListRunStatesOfJob(ctx, tx, db.ListRunStatesOfJobParams{JobID: 1, AfterID: middle, UptoID: deepRuns, Limit: n})
			return len(r), err
		},
		"states of a group's runs": func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListRunStatesOfGroup(ctx, tx, db.ListRunStatesOfGroupParams{JobGroup: 1, AfterID: middle, UptoID: deepRuns, Limit: n})
			return len(r), err
		},
		"runs that may be failures": func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListFailuresByCode(ctx, tx, db.ListFailuresByCodeParams{HandleCode: 200, FromID: 0, BeforeID: middle, Limit: n})
			return len(r), err
		},
		"events that wait": func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListDeliveries(ctx, tx, db.ListDeliveriesParams{WebhookID: 1, State: 0, Below: middle, Limit: n})
			return len(r), err
		},
		"output of a job": func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListKeptOfJob(ctx, tx, db.ListKeptOfJobParams{JobID: 1, FromID: 0, BeforeID: middle, Limit: n})
			return len(r), err
		},
		"output of a group": func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListKeptOfGroup(ctx, tx, db.ListKeptOfGroupParams{JobGroup: 1, FromID: 0, BeforeID: middle, Limit: n})
			return len(r), err
		},
	}
}

// TestAPageIsAsCheapInTheMiddleOfALog reads as many rows as it shows, and none of those above it: MariaDB, left alone, walks there from the
// newest run of the job.
func TestAPageIsAsCheapInTheMiddleOfALog(t *testing.T) {
	t.Parallel()
	const limit = 50
	url := dbtest.MariaDB(t)
	pool := dbtest.Open(t, db.Config{URL: url})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	deepLog(t, pool)
	for name, read := range deepReads(limit) {
		want := limit
		if name == "runs of a group with no result" {
			want = 0
		}
		if err := pool.Tx(t.Context(), func(tx *sql.Tx) error { // which has a connection of its own
			before := rowsRead(t, tx)
			n, err := read(t.Context(), tx)
			if rows := rowsRead(t, tx) - before; err != nil || n != want || rows > 10*limit {
				t.Errorf("%s: %d rows (%v), of %d that were read", name, n, err, rows)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// rowsRead is how many rows or entries of an index a connection has read.
func rowsRead(t *testing.T, tx db.DBTX) (n int) {
	t.Helper()
	rows, err := tx.QueryContext(t.Context(), "SHOW SESSION STATUS LIKE 'Handler_read%'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var value int
		if err := rows.Scan(&name, &value); err != nil {
			t.Fatal(err)
		}
		n += value
	}
	return n
}

// TestAPageComesWithoutItsIndexToo: those of a big log are built after the start, and somebody may have given them other names.
func TestAPageComesWithoutItsIndexToo(t *testing.T) {
	t.Parallel()
	const limit = 5
	pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	deepLog(t, pool)
	if _, err := pool.ExecContext(t.Context(), "ALTER TABLE xxl_job_log DROP KEY i_job_outcome, DROP KEY I_jobgroup, DROP KEY I_handle_code"); err != nil {
		t.Fatal(err)
	}
	for name, read := range deepReads(limit) {
		if name == "runs of a group with no result" {
			continue
		}
		if n, err := read(t.Context(), pool); err != nil || n != limit {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
	}
}
