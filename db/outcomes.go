package db

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Outcome is how a run stands or ended, and no more.
type Outcome struct {
	ID, JobID               int64
	TriggerCode, HandleCode int64
	TriggerTime             sql.NullTime
	PlannedAt               int64
	Retries                 int64  // it has left
	Skipped                 bool   // it was not sent, on purpose
	Killed                  bool   // somebody ended it before it was sent
	Note                    string // the beginning of what is said about a failure of its executor
}

// outcomeColumns read texts only of runs that went wrong: there are few, and the texts may be long.
const outcomeColumns = "id, job_id, trigger_code, handle_code, trigger_time, planned_at, executor_fail_retry_count, " +
	"CASE WHEN handle_code = 0 AND trigger_code NOT IN (0, 200) AND (trigger_msg LIKE '%result: skipped: %' OR trigger_msg LIKE '%result: job stopped: %') THEN 1 ELSE 0 END, " +
	"CASE WHEN handle_code = 0 AND trigger_code NOT IN (0, 200) AND trigger_msg LIKE '%result: killed by %' THEN 1 ELSE 0 END, " +
	"CASE WHEN handle_code NOT IN (0, 200) THEN SUBSTRING(COALESCE(handle_msg, ''), 1, 300) ELSE '' END"

// ListOutcomes finds the newest runs of each of some jobs, at most n of each, newest first within a job. One short walk of
// the index of jobs for each: a join over these jobs would read every run they ever had.
func ListOutcomes(ctx context.Context, tx DBTX, jobIDs []int64, n int) ([]Outcome, error) {
	if len(jobIDs) == 0 {
		return nil, nil
	}
	var q strings.Builder
	args := make([]any, 0, 2*len(jobIDs))
	for i, id := range jobIDs {
		if i > 0 {
			q.WriteString(" UNION ALL ")
		}
		fmt.Fprintf(&q, "SELECT * FROM (SELECT %s FROM xxl_job_log WHERE job_id = ? ORDER BY id DESC LIMIT ?) AS r%d", outcomeColumns, i)
		args = append(args, id, n)
	}
	rows, err := tx.QueryContext(ctx, q.String(), args...)
	if err != nil {
		return nil, fmt.Errorf("list outcomes: %w", err)
	}
	defer rows.Close()
	var list []Outcome
	for rows.Next() {
		var o Outcome
		if err := rows.Scan(&o.ID, &o.JobID, &o.TriggerCode, &o.HandleCode, &o.TriggerTime, &o.PlannedAt, &o.Retries, &o.Skipped, &o.Killed, &o.Note); err != nil {
			return nil, fmt.Errorf("read outcome: %w", err)
		}
		list = append(list, o)
	}
	return list, rows.Err()
}
