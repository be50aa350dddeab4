package db

import (
	"context"
	"fmt"
	"slices"
)

// runSpanColumns are those of a list that say when a run was and how it stands. Texts are read only of the runs of an XXL-JOB admin, whose
// state stands nowhere else.
const runSpanColumns = `id, job_group, job_id, executor_address, executor_fail_retry_count, trigger_time, trigger_code, handle_time, handle_code,
 planned_at, planned_for, trigger_type, sent_at, finished_at, outcome,
 CASE WHEN outcome = 0 AND trigger_code NOT IN (0, 200) THEN SUBSTRING(COALESCE(trigger_msg, ''), 1, 2000) ELSE '' END AS trigger_note,
 CASE WHEN outcome = 0 AND handle_code NOT IN (0, 200) THEN SUBSTRING(COALESCE(handle_msg, ''), 1, 300) ELSE '' END AS handle_note`

// RunSpans asks for the newest runs of a filter with ids from one on and below another.
type RunSpans struct {
	RunFilter
	From, Before int64
	Limit        int
}

// FindRunSpans reads what several ask for, newest first. Of a [RunRow] it fills in what a picture of times needs: no parameters, no events and
// hardly any messages. The ids come first, each part's from its own index, and then the rows: with texts in its parts a union of many is put
// together on disk.
func FindRunSpans(ctx context.Context, tx DBTX, asked []RunSpans) ([]RunRow, error) {
	if len(asked) == 0 {
		return nil, nil
	}
	var parts []string
	var args []any
	for i := range asked {
		its, of := asked[i].parts("id", asked[i].From, asked[i].Before, asked[i].Limit, true)
		parts, args = append(parts, its...), append(args, of...)
	}
	ids, err := findIDs(ctx, tx, "the times of runs", unionAll(parts), args)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	args = args[:0]
	for _, id := range ids {
		args = append(args, id)
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+runSpanColumns+" FROM xxl_job_log WHERE id IN ("+marks(len(ids))+")", args...)
	if err != nil {
		return nil, fmt.Errorf("read the times of runs: %w", err)
	}
	defer rows.Close()
	list := make([]RunRow, 0, len(ids))
	for rows.Next() {
		var r RunRow
		if err := rows.Scan(&r.ID, &r.JobGroup, &r.JobID, &r.ExecutorAddress, &r.ExecutorFailRetryCount, &r.TriggerTime, &r.TriggerCode, &r.HandleTime, &r.HandleCode,
			&r.PlannedAt, &r.PlannedFor, &r.TriggerType, &r.SentAt, &r.FinishedAt, &r.Outcome, &r.TriggerNote, &r.HandleNote); err != nil {
			return nil, fmt.Errorf("read the times of a run: %w", err)
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b RunRow) int { return int(b.ID - a.ID) })
	return list, rows.Err()
}
