package db_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// explainer asks the database how it would run a query before it runs it.
type explainer struct {
	db.DBTX
	t       *testing.T
	dialect db.Dialect
	plan    string
}

func (e *explainer) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	e.t.Helper()
	e.explain(ctx, query, args)
	return e.DBTX.QueryContext(ctx, query, args...)
}

func (e *explainer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	e.t.Helper()
	e.explain(ctx, query, args)
	return e.DBTX.ExecContext(ctx, query, args...)
}

func (e *explainer) explain(ctx context.Context, query string, args []any) {
	e.t.Helper()
	word := "EXPLAIN FORMAT=TRADITIONAL " // a table, which is not every server's default
	if e.dialect == db.SQLite {
		word = "EXPLAIN QUERY PLAN "
	}
	rows, err := e.DBTX.QueryContext(ctx, word+query, args...)
	if err != nil {
		e.t.Fatalf("explain %s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		e.t.Fatal(err)
	}
	var plan strings.Builder
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			e.t.Fatal(err)
		}
		for i, c := range columns {
			if c != "possible_keys" { // those it did not choose
				fmt.Fprintf(&plan, "%s=%s ", c, values[i].String)
			}
		}
	}
	if err := rows.Err(); err != nil {
		e.t.Fatal(err)
	}
	e.plan += plan.String()
}

// hotRead is a query that is made often, and what the plans of the databases name then.
type hotRead struct {
	name          string
	call          func(ctx context.Context, tx db.DBTX) (rows int, err error)
	sqlite, maria string
	rows          int
}

// TestP5TheHotReadsUseTheirIndexes asks both databases for their plans on tables where a scan would be the worse choice.
func TestP5TheHotReadsUseTheirIndexes(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		bigTables(t, pool)
		for _, tt := range slices.Concat(hotReadsOfJobs(), hotReadsOfRuns(), hotReadsOfTheAuditLog()) {
			t.Run(tt.name, func(t *testing.T) {
				e := &explainer{DBTX: pool, t: t, dialect: pool.Dialect()}
				n, err := tt.call(t.Context(), e)
				if err != nil || n != tt.rows {
					t.Errorf("%d rows (%v), want %d", n, err, tt.rows)
				}
				want := tt.maria
				if pool.Dialect() == db.SQLite {
					want = tt.sqlite
				}
				if !strings.Contains(e.plan, want) {
					t.Errorf("the plan is %s, want %s", e.plan, want)
				}
				// Rows come in the order of the index, so a page ends at its limit instead of sorting all there is.
				if strings.Contains(e.plan, "TEMP B-TREE") || strings.Contains(e.plan, "filesort") || strings.Contains(e.plan, "temporary") {
					t.Errorf("it sorts: %s", e.plan)
				}
			})
		}
	})
}

func hotReadsOfJobs() []hotRead {
	q := db.New()
	return []hotRead{
		{"ListDueJobs", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListDueJobs(ctx, tx, db.ListDueJobsParams{UntilMs: 1019, Held: []int64{0}, Limit: 2000})
			return len(r), err
		}, "USING INDEX i_trigger_next (trigger_status=? AND trigger_next_time<?)", "key=i_trigger_next", 20},
		{"ListDueJobs of flows", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListDueJobs(ctx, tx, db.ListDueJobsParams{Hidden: 1, UntilMs: 1019, Held: []int64{0}, Limit: 2000})
			return len(r), err
		}, "USING INDEX i_trigger_next (trigger_status=? AND trigger_next_time<?)", "key=i_trigger_next", 0},
		{"MendStatuses", func(ctx context.Context, tx db.DBTX) (int, error) {
			n, err := q.MendStatuses(ctx, tx, []int64{3, 5, 7})
			return int(n), err
		}, "USING INTEGER PRIMARY KEY (rowid=?)", "rows=3 ", 0},
		{"FindJobs with a tag", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.FindJobs(ctx, tx, db.JobFilter{Tag: "%,none,%", Below: 2000}, 0, 51)
			return len(r), err
		}, "USING INTEGER PRIMARY KEY (rowid<?)", "key=PRIMARY", 0},
		{"FindJobs that are started", func(ctx context.Context, tx db.DBTX) (int, error) {
			running := int64(1)
			r, err := db.FindJobs(ctx, tx, db.JobFilter{Status: &running}, 0, 20)
			return len(r), err
		}, "xxl_job_info", "key=PRIMARY", 20},
		{"FindJobs with a text", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.FindJobs(ctx, tx, db.JobFilter{Text: "%o%"}, 0, 20)
			return len(r), err
		}, "SCAN xxl_job_info", "key=PRIMARY", 20},
		{"SortJobs by name with a text", func(ctx context.Context, tx db.DBTX) (int, error) {
			e, _ := tx.(*explainer)
			r, err := db.SortByName(ctx, tx, db.JobFilter{Order: db.OrderName, Text: "%no such text%"}.ByName(e.dialect), 0, 20)
			return len(r), err
		}, "SCAN xxl_job_info USING COVERING INDEX i_job_name", "key=i_job_name", 0},
		{"SortJobs by name in groups", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.SortPlain(ctx, tx, db.JobFilter{Order: db.OrderName, Groups: []int64{1, 2}}, 500, 20)
			return len(r), err
		}, "SCAN xxl_job_info USING COVERING INDEX i_job_name", "key=i_job_name", 20},
		{"SortJobs by name from the end", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.SortPlain(ctx, tx, db.JobFilter{Order: db.OrderName, Desc: true}, 0, 20)
			return len(r), err
		}, "SCAN xxl_job_info USING COVERING INDEX i_job_name", "key=i_job_name", 20},
		{"ListWaitingJobs", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListWaitingJobs(ctx, tx, db.ListWaitingJobsParams{Waiting: 1003})
			return len(r), err
		}, "USING INDEX i_trigger_next (trigger_status=? AND trigger_next_time=? AND id>?)", "key=i_trigger_next", 1},
		{"SortJobs by next time in groups", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.SortPlain(ctx, tx, db.JobFilter{Order: db.OrderNext, Groups: []int64{1, 2}}, 10, 40)
			return len(r), err
		}, "USING COVERING INDEX i_trigger_next (trigger_status=?)", "key=i_trigger_next", 40},
		{"SortJobs behind a job", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.SortPlain(ctx, tx, db.JobFilter{Order: db.OrderNext, After: &db.JobPlace{Started: true, Next: 4000, ID: 1}}, 0, 20)
			return len(r), err
		}, "USING COVERING INDEX i_trigger_next (trigger_status=?", "key=i_trigger_next", 20},
		{"ListFlowsNaming", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListFlowsNaming(ctx, tx, db.ListFlowsNamingParams{Number: "%7%", Text: "%app_name%", Limit: 50})
			return len(r), err
		}, "USING INDEX i_job_kind (glue_type=? AND rowid>?)", "key=i_job_kind", 0},
		{"ListParentsOf", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListParentsOf(ctx, tx, db.ListParentsOfParams{Pattern: "%,4,%", Limit: 50})
			return len(r), err
		}, "USING INDEX i_job_children (child_jobid>?)", "key=i_job_children key_len=51 ref= rows=1 ", 1},
		{"ListJobsDueWithin", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListJobsDueWithin(ctx, tx, db.ListJobsDueWithinParams{UntilMs: 1019, Limit: 2000})
			return len(r), err
		}, "USING INDEX i_trigger_next (trigger_status=? AND trigger_next_time<?)", "key=i_trigger_next", 20},
	}
}

func hotReadsOfRuns() []hotRead {
	q := db.New()
	since, until := bulkTime.AddDate(-1, 0, 0), bulkTime.AddDate(1, 0, 0)
	return []hotRead{
		{"ListKeptOfJob", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListKeptOfJob(ctx, tx, db.ListKeptOfJobParams{JobID: 3, FromID: 0, BeforeID: 1 << 40, Limit: 20})
			return len(r), err
		}, "USING INDEX i_output_job (job_id=? AND log_id>? AND log_id<?)", "key=i_output_job", 20},
		{"ListKeptOfGroup", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListKeptOfGroup(ctx, tx, db.ListKeptOfGroupParams{JobGroup: 3, FromID: 0, BeforeID: 1 << 40, Limit: 20})
			return len(r), err
		}, "USING INDEX i_output_group (job_group=? AND log_id>? AND log_id<?)", "key=i_output_group", 20},
		{"ListUnsentRunsOfNode", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListUnsentRunsOfNode(ctx, tx, db.ListUnsentRunsOfNodeParams{LowID: 0, OwnerNode: 7, Limit: 250})
			return len(r), err
		}, "USING INDEX I_handle_code (handle_code=?", "key=I_handle_code", 10},
		{"ListUnsentRunsOfNode from a low mark", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListUnsentRunsOfNode(ctx, tx, db.ListUnsentRunsOfNodeParams{LowID: 15_000, OwnerNode: 7, Limit: 250})
			return len(r), err
		}, "USING INDEX I_handle_code (handle_code=? AND rowid>?)", "key=I_handle_code", 10},
		{"ListOpenRuns", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListOpenRuns(ctx, tx, db.ListOpenRunsParams{AfterID: 0, Limit: 1000})
			return len(r), err
		}, "USING INDEX I_handle_code (handle_code=?", "key=I_handle_code", 30},
		{"FindRuns", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.FindRuns(ctx, tx, db.RunFilter{Since: since, Until: until}, 0, math.MaxInt64, 20)
			return len(r), err
		}, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "key=PRIMARY", 20},
		{"FindRuns of a job", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.FindRuns(ctx, tx, db.RunFilter{Job: 3, Since: since, Until: until}, 0, math.MaxInt64, 20)
			return len(r), err
		}, "USING INDEX i_job_outcome (job_id=? AND id>? AND id<?)", "key=i_job_outcome key_len=12", 20},
		{"FindRuns of a rare group", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.FindRuns(ctx, tx, db.RunFilter{Groups: []int64{2}, Text: "%x%"}, 0, math.MaxInt64, 20)
			return len(r), err
		}, "USING INDEX I_jobgroup (job_group=? AND rowid>? AND rowid<?)", "key=I_jobgroup", 0},
		{"FindRuns that are open", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.FindRuns(ctx, tx, db.RunFilter{Codes: []int64{0}, Open: true, Since: since, Until: until}, 0, math.MaxInt64, 40)
			return len(r), err
		}, "USING INDEX I_handle_code (handle_code=? AND rowid>? AND rowid<?)", "key=I_handle_code", 30},
		{"FindRunIDs of a job", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.FindRunIDs(ctx, tx, db.RunFilter{Job: 3, Since: since, Until: until}, 0, math.MaxInt64, 20, false)
			return len(r), err
		}, "USING COVERING INDEX i_job_outcome (job_id=? AND id>? AND id<?)", "key=i_job_outcome key_len=12", 20},
		{"ListFailuresByCode", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListFailuresByCode(ctx, tx, db.ListFailuresByCodeParams{HandleCode: 0, FromID: 15_000, BeforeID: math.MaxInt64, Limit: 25})
			return len(r), err
		}, "USING INDEX I_handle_code (handle_code=?", "key=I_handle_code", 25},
		{"ListOldestOpenRuns", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListOldestOpenRuns(ctx, tx, []int64{1, 2, 3})
			return len(r), err
		}, "USING INDEX I_handle_code (handle_code=? AND rowid=?)", "rows=3 ", 0},
		{"ListSuccessesAfter", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListSuccessesAfter(ctx, tx, db.ListSuccessesAfterParams{JobID: 3, AfterID: 15_000, Limit: 1})
			return len(r), err
		}, "USING COVERING INDEX i_job_outcome (job_id=? AND id>?)", "key=i_job_outcome", 1},
		{"ListSuccessesOfPartAfter", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListSuccessesOfPartAfter(ctx, tx, db.ListSuccessesOfPartAfterParams{JobID: 3, AfterID: 15_000, Part: "0/3", Others: "%/3", Limit: 1})
			return len(r), err
		}, "USING INDEX i_job_outcome (job_id=? AND id>?)", "key=i_job_outcome", 1},
		{"ListOutcomes", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.ListOutcomes(ctx, tx, []int64{3}, nil, 30)
			return len(r), err
		}, "USING COVERING INDEX i_job_outcome (job_id=? AND id>?)", "key=i_job_outcome key_len=12", 30},
		{"ListOutcomes of some groups", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.ListOutcomes(ctx, tx, []int64{3}, []int64{1, 2}, 30)
			return len(r), err
		}, "USING COVERING INDEX i_job_outcome (job_id=? AND id>?)", "key=i_job_outcome key_len=12", 30},
		{"ListRunTimesOfJob", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListRunTimesOfJob(ctx, tx, db.ListRunTimesOfJobParams{JobID: 3, BeforeID: math.MaxInt64, AllGroups: 1, Limit: 200})
			return len(r), err
		}, "USING INDEX i_job_outcome (job_id=? AND id>? AND id<?)", "key=i_job_outcome key_len=12", 200},
		{"FindRunSpans of jobs", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.FindRunSpans(ctx, tx, []db.RunSpans{{RunFilter: db.RunFilter{Job: 3, Until: until}, From: 1, Before: math.MaxInt64, Limit: 20}, {RunFilter: db.RunFilter{Job: 3}, Before: 1, Limit: 3}})
			return len(r), err
		}, "USING COVERING INDEX i_job_outcome (job_id=? AND id>? AND id<?)", "key=i_job_outcome key_len=12", 20},
		{"FindRunSpans of groups", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.FindRunSpans(ctx, tx, []db.RunSpans{{RunFilter: db.RunFilter{Groups: []int64{1, 2}, Until: until}, From: 1, Before: math.MaxInt64, Limit: 20}})
			return len(r), err
		}, "USING INDEX I_jobgroup (job_group=? AND rowid>? AND rowid<?)", "key=I_jobgroup", 20},
	}
}

func hotReadsOfTheAuditLog() []hotRead {
	q := db.New()
	return []hotRead{
		{"FindAudit", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.FindAudit(ctx, tx, db.AuditFilter{Action: "rotate", Text: "%x%", UntilMs: 9000}, 1000, 4000, 51)
			return len(r), err
		}, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "key=PRIMARY", 0},
		{"FindAudit by what it says", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.FindAudit(ctx, tx, db.AuditFilter{Action: "login", After: "%none%"}, 1000, 4000, 51)
			return len(r), err
		}, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "key=PRIMARY", 0},
		{"FindAudit of a kind", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.FindAudit(ctx, tx, db.AuditFilter{Kind: "job"}, 1000, 4000, 51)
			return len(r), err
		}, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "key=PRIMARY", 51},
		{"FindAudit of a user", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.FindAudit(ctx, tx, db.AuditFilter{User: "ann", UntilMs: 9000}, 0, 9000, 51)
			return len(r), err
		}, "USING INDEX i_audit_user (user_name=? AND id>? AND id<?)", "key=i_audit_user", 40},
		{"FindAudit of an object", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.FindAudit(ctx, tx, db.AuditFilter{Kind: "job", ObjectID: 7}, 0, 9000, 51)
			return len(r), err
		}, "USING INDEX i_audit_object (object_kind=? AND object_id=? AND id>? AND id<?)", "key=i_audit_object", 40},
		{"ListAuditOfObject", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := q.ListAuditOfObject(ctx, tx, db.ListAuditOfObjectParams{ObjectKind: "job", ObjectID: 7, UntilMs: 1 << 62, Limit: 20})
			return len(r), err
		}, "USING INDEX i_audit_object (object_kind=? AND object_id=?)", "key=i_audit_object", 20},
		{"FindAuditIDs", func(ctx context.Context, tx db.DBTX) (int, error) {
			r, err := db.FindAuditIDs(ctx, tx, db.AuditFilter{Action: "run"}, 1000, 4000, 51)
			return len(r), err
		}, "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "key=PRIMARY", 51},
	}
}

// TestTheLineOfAGroupIsReadInItsOrder asks both databases how they find the first in a long line, of a group or a job, which they do while they hold its gate.
func TestTheLineOfAGroupIsReadInItsOrder(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		bigTables(t, pool)
		slots := make([]db.Slot, 2000)
		for i := range slots {
			slots[i] = db.Slot{JobID: int64(i%100 + 1), LogID: int64(i + 1), PlannedAt: int64(5000 - i), GroupID: 1, Line: int64(i%5 - 2)}
		}
		if err := db.InsertSlots(t.Context(), pool, slots); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET trigger_code = 0, handle_code = 0 WHERE id <= 2000"); err != nil {
			t.Fatal(err)
		}
		if pool.Dialect() == db.MySQL {
			if _, err := pool.ExecContext(t.Context(), "ANALYZE TABLE xxl_job_log, punctual_slot"); err != nil {
				t.Fatal(err)
			}
		}
		e := &explainer{DBTX: pool, t: t, dialect: pool.Dialect()}
		_, err := db.New().ListWaitingRunsOfGroup(t.Context(), e, db.ListWaitingRunsOfGroupParams{
			GroupID: 1, NowMs: 10_000, AfterLine: math.MinInt32, Limit: 16,
		})
		index, sorts := "key=i_group ", "filesort"
		if pool.Dialect() == db.SQLite { // it sorts those of one time
			index, sorts = "USING COVERING INDEX i_punctual_slot_group (group_id=? AND running=?", "TEMP B-TREE FOR ORDER BY"
		}
		if err != nil || !strings.Contains(e.plan, index) || strings.Contains(e.plan, sorts) {
			t.Errorf("%v; the plan is %s, want %s and no %s", err, e.plan, index, sorts)
		}
		e = &explainer{DBTX: pool, t: t, dialect: pool.Dialect()}
		_, err = db.New().ListWaitingRuns(t.Context(), e, db.ListWaitingRunsParams{JobID: 7, NowMs: 10_000, Limit: 1})
		index, sorts = "key=i_job ", "filesort"
		if pool.Dialect() == db.SQLite {
			index, sorts = "USING COVERING INDEX i_punctual_slot_job (job_id=? AND running=?", "TEMP B-TREE"
		}
		if err != nil || !strings.Contains(e.plan, index) || strings.Contains(e.plan, sorts) {
			t.Errorf("%v; of a job the plan is %s, want %s and no %s", err, e.plan, index, sorts)
		}
	})
}

// TestATextIsLookedForInTheIndex asks both databases what they read where no job has a text: the index on the names, and no job.
func TestATextIsLookedForInTheIndex(t *testing.T) {
	t.Parallel()
	running := int64(1)
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		bigTables(t, pool)
		e := &explainer{DBTX: pool, t: t, dialect: pool.Dialect()}
		var last int64
		if err := pool.QueryRowContext(t.Context(), "SELECT MAX(id) FROM xxl_job_info").Scan(&last); err != nil {
			t.Fatal(err)
		}
		found, err := db.FindJobs(t.Context(), e, db.JobFilter{Text: "%o%"}.Newest(pool, last), 0, 51)
		if err != nil || len(found) == 0 || !strings.Contains(e.plan, "USING INTEGER PRIMARY KEY") && !strings.Contains(e.plan, "key=PRIMARY") || strings.Contains(e.plan, "TEMP B-TREE") {
			t.Errorf("the newest: %v, %v; the plan is %s", found, err, e.plan)
		}
		for _, f := range []db.JobFilter{{Text: "%no such text%"}, {Text: "%99999%", TextID: 99999, Status: &running, Below: 90_000}} {
			e := &explainer{DBTX: pool, t: t, dialect: pool.Dialect()}
			found, err := db.FindJobs(t.Context(), e, f.ByName(pool.Dialect()), 0, 51)
			want := "key=i_job_name"
			if pool.Dialect() == db.SQLite {
				want = "USING COVERING INDEX i_job_name"
			}
			if err != nil || len(found) > 0 || !strings.Contains(e.plan, want) || pool.Dialect() != db.SQLite && !strings.Contains(e.plan, "Using index") {
				t.Errorf("%+v: %v, %v; the plan is %s", f, found, err, e.plan)
			}
		}
	})
}

// TestAHandlerAndATagAreLookedForInTheirIndexes asks the same for them: both databases skip from one value to the next, and read of the jobs those
// that have one that was asked for. Where there are too many values, their index is read, and no job.
func TestAHandlerAndATagAreLookedForInTheirIndexes(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		bigTables(t, pool)
		give := func(value string) {
			t.Helper()
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET executor_handler = "+value+", tags = CONCAT("+value+", ',all')"); err != nil {
				t.Fatal(err)
			}
			if pool.Dialect() == db.MySQL {
				if _, err := pool.ExecContext(t.Context(), "ANALYZE TABLE xxl_job_info"); err != nil {
					t.Fatal(err)
				}
			}
		}
		columns := []lookedFor{
			{lookup: db.Handlers, name: "executor_handler", index: "i_job_handler", length: "1023", none: "%none%", one: "%H19%", every: "%h%"},
			{lookup: db.TagLists, name: "tags", index: "i_job_tags", length: "1022", none: "%,none,%", one: "%,H19,%", every: "%,all,%"},
		}
		give("CONCAT('h', id % 20)")
		for _, c := range columns {
			skips, seeks, _ := c.plans(pool.Dialect())
			c.look(t, pool, c.none, 0, true, 0, true, skips) // and asks for no jobs
			c.look(t, pool, c.one, 1, true, 256, true, seeks)
			c.look(t, pool, c.every, 20, true, 2001, false, c.index)
		}
		give("CONCAT('each ', id)")
		for _, c := range columns {
			_, _, reads := c.plans(pool.Dialect())
			c.look(t, pool, c.none, 0, false, 0, true, reads)
		}
		e := &explainer{DBTX: pool, t: t, dialect: pool.Dialect()}
		if lists, err := db.New().ListTagsWith(t.Context(), e, db.ListTagsWithParams{Pattern: "%,all,%", Limit: 200}); err != nil || len(lists) != 200 || !strings.Contains(e.plan, "i_job_tags") {
			t.Errorf("%d lists of tags, %v; the plan is %s", len(lists), err, e.plan)
		}
	})
}

// lookedFor is a column that has an index of its own, and what is looked for in it: what no job has, one in twenty and each.
type lookedFor struct {
	lookup interface {
		Values(ctx context.Context, tx db.DBTX, dialect db.Dialect, pattern string) ([]string, bool, error)
		Jobs(ctx context.Context, tx db.DBTX, dialect db.Dialect, pattern string) ([]int64, bool, error)
	}
	name, index, length string
	none, one, every    string
}

// plans are what the plans name that skip from value to value, seek some and read all.
func (c lookedFor) plans(dialect db.Dialect) (skips, seeks, reads string) {
	if dialect == db.SQLite {
		covering := " xxl_job_info USING COVERING INDEX " + c.index
		return "SEARCH" + covering + " (" + c.name + ">?)", "SEARCH" + covering + " (" + c.name + "=?)", "xxl_job_info USING COVERING INDEX " + c.index
	}
	return "Using index for group-by", "key=" + c.index + " key_len=" + c.length, "key=" + c.index
}

func (c lookedFor) look(t *testing.T, pool *db.Pool, pattern string, values int, all bool, jobs int, few bool, plan string) {
	t.Helper()
	skips, _, _ := c.plans(pool.Dialect())
	e := &explainer{DBTX: pool, t: t, dialect: pool.Dialect()}
	named, got, err := c.lookup.Values(t.Context(), e, e.dialect, pattern)
	if err != nil || len(named) != values || got != all || all && !strings.Contains(e.plan, skips) {
		t.Errorf("%s %s: %d values, %v, %v, want %d, %v; the plan is %s, want %s", c.name, pattern, len(named), got, err, values, all, e.plan, skips)
	}
	ids, some, err := c.lookup.Jobs(t.Context(), e, e.dialect, pattern)
	if err != nil || len(ids) != jobs || some != few || !strings.Contains(e.plan, plan) {
		t.Errorf("%s %s: %d jobs, %v, %v, want %d, %v; the plan is %s, want %s", c.name, pattern, len(ids), some, err, jobs, few, e.plan, plan)
	}
}

// bigTables makes 3,000 jobs of which 40 are started, and 20,000 runs of which 30 are open.
func bigTables(t *testing.T, pool *db.Pool) {
	t.Helper()
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := pool.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	ids := bulkJobs(t, pool, 40)
	exec("UPDATE xxl_job_info SET trigger_next_time = 5000 WHERE id > ?", ids[19])
	copyJobs := "INSERT INTO xxl_job_info (job_group, job_desc, schedule_type, misfire_strategy, glue_type, trigger_status, trigger_next_time) SELECT job_group, job_desc, schedule_type, misfire_strategy, glue_type, 0, 0 FROM xxl_job_info LIMIT ?"
	for made := 40; made < 3000; made *= 2 {
		exec(copyJobs, made)
	}
	exec("UPDATE xxl_job_info SET child_jobid = '' WHERE id > ?", ids[0])
	exec("UPDATE xxl_job_info SET child_jobid = '14，4, 44' WHERE id = ?", ids[0])
	runs := make([]db.NewRun, 250)
	for i := range runs {
		runs[i] = db.NewRun{JobGroup: 1, JobID: int64(i % 50), TriggerCode: 200, Owner: 7, PlannedAt: bulkTime.UnixMilli()}
	}
	bulkRuns(t, pool, runs...)
	exec("UPDATE xxl_job_log SET handle_code = 200")
	for made := 250; made < 16_000; made *= 2 {
		exec("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, owner_node, planned_at) SELECT job_group, job_id, trigger_time, trigger_code, handle_code, owner_node, planned_at FROM xxl_job_log LIMIT ?", made)
	}
	open := make([]db.NewRun, 30)
	for i := range open {
		open[i] = db.NewRun{JobGroup: 1, JobID: 9, Owner: 7, TriggerCode: 200}
		if i < 10 {
			open[i].TriggerCode = 0
		}
	}
	bulkRuns(t, pool, open...)
	exec("INSERT INTO punctual_output (log_id, job_group, job_id, object_id) SELECT id, job_id, job_id, 1 FROM xxl_job_log WHERE id <= 16000")
	const entries = 4000
	for at := 0; at < entries; at += 500 {
		var args []any
		for i := at; i < at+500; i++ {
			args = append(args, i, fmt.Sprintf("user%d", i%100), i%100)
			if i%100 == 3 {
				args[len(args)-2] = "ann"
			}
		}
		exec("INSERT INTO punctual_audit (made_at, user_id, user_name, address, action, object_kind, object_id, object_name) VALUES "+
			strings.Repeat(", (?, 1, ?, '', 'run', 'job', ?, 'name')", 500)[2:], args...)
	}
	if pool.Dialect() != db.SQLite { // which keeps no statistics in use either
		for _, table := range []string{"xxl_job_info", "xxl_job_log", "punctual_audit"} {
			exec("ALTER TABLE " + table + " STATS_PERSISTENT = 1") // as it is by default, and not in other tests
		}
		exec("ANALYZE TABLE xxl_job_info, xxl_job_log, punctual_audit")
	}
}

// TestGuards walks through what the guarded statements let pass and what not.
func TestGuards(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		q, ctx := db.New(), t.Context()
		at := sql.NullTime{Time: bulkTime, Valid: true}
		job := bulkJobs(t, pool, 1)[0]
		node, err := q.InsertNode(ctx, pool, db.InsertNodeParams{Name: "a"})
		if err != nil {
			t.Fatal(err)
		}
		user, err := q.InsertUser(ctx, pool, db.InsertUserParams{Username: "ada", Password: "old"})
		if err != nil {
			t.Fatal(err)
		}
		manual, err := q.InsertGroup(ctx, pool, db.InsertGroupParams{AppName: "m", Title: "m", AddressType: 1, AddressList: "typed"})
		if err != nil {
			t.Fatal(err)
		}
		automatic, err := q.InsertGroup(ctx, pool, db.InsertGroupParams{AppName: "a", Title: "a"})
		if err != nil {
			t.Fatal(err)
		}
		runs := bulkRuns(t, pool, db.NewRun{Owner: 1}, db.NewRun{Owner: 1, TriggerCode: 200}, db.NewRun{Owner: 2})
		setAddresses := func(group int64) (int64, error) {
			return q.SetGroupAddresses(ctx, pool, db.SetGroupAddressesParams{ID: group, AddressList: "found", UpdateTime: at})
		}
		update := func(next, status int64) (int64, error) {
			return q.UpdateJob(ctx, pool, db.UpdateJobParams{ID: job, JobDesc: "new", ScheduleType: "CRON", MisfireStrategy: "DO_NOTHING", OldNextTime: next, OldStatus: status, NewNextTime: 2000})
		}
		steps := []struct {
			name string
			do   func() (int64, error)
			want int64
		}{
			{"start a job that is started", func() (int64, error) { return q.StartJob(ctx, pool, db.StartJobParams{ID: job, NextTime: 1}) }, 0},
			{"edit a job that a claim has moved", func() (int64, error) { return update(999, 1) }, 0},
			{"edit a job that was stopped meanwhile", func() (int64, error) { return update(1000, 0) }, 0},
			{"edit a job", func() (int64, error) { return update(1000, 1) }, 1},
			{"edit a job that somebody has edited meanwhile", func() (int64, error) { return update(2000, 1) }, 0},
			{"stop it", func() (int64, error) {
				return q.StopJob(ctx, pool, db.StopJobParams{ID: job, OldNextTime: 2000, UpdateTime: at})
			}, 1},
			{"stop it again", func() (int64, error) {
				return q.StopJob(ctx, pool, db.StopJobParams{ID: job, OldNextTime: 2000, UpdateTime: at})
			}, 0},
			{"beat", func() (int64, error) { return q.BeatNode(ctx, pool, db.BeatNodeParams{ID: node}) }, 1},
			{"retire a node that has beaten since", func() (int64, error) { return q.RetireNode(ctx, pool, db.RetireNodeParams{ID: node, Beat: 1}) }, 0},
			{"forget a node that lives", func() (int64, error) { return q.DeleteNode(ctx, pool, node) }, 0},
			{"retire it", func() (int64, error) { return q.RetireNode(ctx, pool, db.RetireNodeParams{ID: node, Beat: 2}) }, 1},
			{"retire it again", func() (int64, error) { return q.RetireNode(ctx, pool, db.RetireNodeParams{ID: node, Beat: 2}) }, 0},
			{"beat when retired", func() (int64, error) { return q.BeatNode(ctx, pool, db.BeatNodeParams{ID: node}) }, 0},
			{"forget it", func() (int64, error) { return q.DeleteNode(ctx, pool, node) }, 1},
			{"take over one's own unsent, not what is sent or another's", func() (int64, error) {
				return q.TakeOverRuns(ctx, pool, db.TakeOverRunsParams{NewOwner: 5, OldOwner: 1, Ids: runs})
			}, 1},
			{"change a password from the wrong one", func() (int64, error) {
				return q.SetUserPassword(ctx, pool, db.SetUserPasswordParams{ID: user, OldPassword: "wrong", NewPassword: "new"})
			}, 0},
			{"change a password", func() (int64, error) {
				return q.SetUserPassword(ctx, pool, db.SetUserPasswordParams{ID: user, OldPassword: "old", NewPassword: "new"})
			}, 1},
			{"find addresses of a group by hand", func() (int64, error) { return setAddresses(manual) }, 0},
			{"find addresses of an automatic group", func() (int64, error) { return setAddresses(automatic) }, 1},
			{"touch an unknown registration", func() (int64, error) {
				return q.TouchRegistry(ctx, pool, db.TouchRegistryParams{RegistryGroup: "EXECUTOR", RegistryKey: "a", RegistryValue: "x", UpdateTime: at})
			}, 0},
			{"kill a run that is open", func() (int64, error) { return q.MarkKilling(ctx, pool, db.MarkKillingParams{ID: runs[1]}) }, 1},
			{"decide a setting first", func() (int64, error) {
				return q.InsertSettingIfAbsent(ctx, pool, db.InsertSettingIfAbsentParams{Name: "zone", Value: "first"})
			}, 1},
			{"decide it second", func() (int64, error) {
				return q.InsertSettingIfAbsent(ctx, pool, db.InsertSettingIfAbsentParams{Name: "zone", Value: "second"})
			}, 0},
		}
		for _, s := range steps {
			if n, err := s.do(); err != nil || n != s.want {
				t.Errorf("%s: %d rows (%v), want %d", s.name, n, err, s.want)
			}
		}
		if s, err := q.GetSetting(ctx, pool, "zone"); err != nil || s.Value != "first" {
			t.Errorf("the setting is %q, %v", s.Value, err)
		}
	})
}

// TestListDuePages reads due jobs a few at a time, as a claim with very many does: none is missed or read twice.
func TestListDuePages(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ids := bulkJobs(t, pool, 30)
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET trigger_next_time = 1000 + id % 4"); err != nil {
			t.Fatal(err)
		}
		var afterMs, afterID int64
		var got []int64
		began := time.Now()
		for time.Since(began) < time.Minute {
			rows, err := db.New().ListDueJobs(t.Context(), pool, db.ListDueJobsParams{UntilMs: 1002, Held: []int64{0}, AfterMs: afterMs, AfterID: afterID, Limit: 4})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if r.TriggerNextTime < afterMs || r.TriggerNextTime == afterMs && r.ID <= afterID {
					t.Errorf("job %d, due at %d, comes after %d at %d", r.ID, r.TriggerNextTime, afterID, afterMs)
				}
				afterMs, afterID = r.TriggerNextTime, r.ID
				got = append(got, r.ID)
			}
			if len(rows) < 4 {
				break
			}
		}
		due := 0
		for _, id := range ids {
			if id%4 < 3 {
				due++
			}
		}
		if len(got) != due {
			t.Errorf("read %d jobs, %d are due", len(got), due)
		}
	})
}
