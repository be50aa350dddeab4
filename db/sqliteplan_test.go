package db

import (
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestPagesOfTheEmbeddedDatabaseGoByID guards what a log of millions of runs depends on: SQLite, which keeps no statistics
// here, chooses an index by the shape of the conditions alone, and with the index of times it would sort the whole log for a page.
func TestPagesOfTheEmbeddedDatabaseGoByID(t *testing.T) {
	t.Parallel()
	pool, err := Open(t.Context(), Config{DataDir: t.TempDir(), Unsafe: true, Zone: time.UTC, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	const byID, byJob = "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "USING INDEX i_job_outcome (job_id=? AND id>? AND id<?)"
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	found := func(f RunFilter) string {
		query, _ := f.statement(runRowColumns, 1, 1, 1, true)
		return query
	}
	audit := func(f AuditFilter) string {
		query, _ := f.statement(auditRowColumns, 1, 1, 1, true)
		return query
	}
	tests := []struct{ name, query, want string }{
		{"FindRuns", found(RunFilter{Since: at, Until: at, Text: "%"}), byID},
		{"FindRuns of a job", found(RunFilter{Job: 1, Since: at, Until: at}), byJob},
		{"FindRuns of a group", found(RunFilter{Groups: []int64{1}, Since: at, Until: at}), "USING INDEX I_jobgroup (job_group=? AND rowid>? AND rowid<?)"},
		{"FindRuns of a result", found(RunFilter{Codes: []int64{500}, Since: at, Until: at}), "USING INDEX I_handle_code (handle_code=? AND rowid>? AND rowid<?)"},
		{"FindAudit", audit(AuditFilter{Action: "run", Text: "%", UntilMs: 1}), byID},
		{"FindAudit of a user", audit(AuditFilter{User: "ann", Action: "run", UntilMs: 1}), "USING INDEX i_audit_user (user_name=? AND id>? AND id<?)"},
		{"FindAudit of an object", audit(AuditFilter{Kind: "job", ObjectID: 7}), "USING INDEX i_audit_object (object_kind=? AND object_id=? AND id>? AND id<?)"},
		{"FindAudit of a kind", audit(AuditFilter{Kind: "job", UntilMs: 1}), byID},
		{"ListRunStates", listRunStates, byID},
		{"ListRunStatesOfGroup", listRunStatesOfGroup, "USING INDEX I_jobgroup (job_group=? AND rowid>? AND rowid<?)"},
		{"ListRunStatesOfJob", listRunStatesOfJob, byJob},
		{"ListRunTimesOfJob", listRunTimesOfJob, "USING INDEX i_job_outcome (job_id=? AND id>? AND id<?)"},
		{"ListAuditOfObject", listAuditOfObject, "USING INDEX i_audit_object (object_kind=? AND object_id=?)"},
		{"ListOpenRuns", listOpenRuns, "USING INDEX I_handle_code (handle_code=? AND rowid>?)"},
		{"NthNewestRunIDOfJob", nthNewestRunIDOfJob, "USING COVERING INDEX i_job_outcome (job_id=?)"},
		{"LastRunIDBefore", lastRunIDBefore, "USING COVERING INDEX I_trigger_time (trigger_time<?)"},
		{"CountRunsOfGroups", countRunsOfGroups, "USING INDEX I_trigger_time (trigger_time>? AND trigger_time<?)\nUSE TEMP B-TREE FOR GROUP BY"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			args := make([]any, strings.Count(test.query, "?"))
			for i := range args {
				args[i] = 1
			}
			rows, err := pool.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+test.query, args...)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			var plan strings.Builder
			for rows.Next() {
				var id, parent, unused int
				var detail string
				if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
					t.Fatal(err)
				}
				plan.WriteString(detail + "\n")
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			if got := plan.String(); !strings.Contains(got, test.want) || strings.Contains(got, "TEMP B-TREE FOR ORDER BY") {
				t.Errorf("plan %q, want %q and no sort", got, test.want)
			}
		})
	}
}
