package db

import (
	"context"
	"fmt"
	"strings"
)

// Outcome is how a run ended, and no more.
type Outcome struct {
	ID, JobID               int64
	TriggerCode, HandleCode int64
	TriggerType             string
	SentAt                  int64
}

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
		fmt.Fprintf(&q, "SELECT id, job_id, trigger_code, handle_code, trigger_type, sent_at FROM (SELECT id, job_id, trigger_code, handle_code, "+
			"trigger_type, sent_at FROM xxl_job_log WHERE job_id = ? ORDER BY id DESC LIMIT ?) AS r%d", i)
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
		if err := rows.Scan(&o.ID, &o.JobID, &o.TriggerCode, &o.HandleCode, &o.TriggerType, &o.SentAt); err != nil {
			return nil, fmt.Errorf("read outcome: %w", err)
		}
		list = append(list, o)
	}
	return list, rows.Err()
}
