package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/punctual-job/punctual/scheduler/event"
)

// Outcome is how a run stands or ended, and no more.
type Outcome struct {
	ID, JobID   int64
	HandleCode  int64
	TriggerTime sql.NullTime // wall clock
	Outcome     event.Outcome
	TriggerCode int64  // like all that follows, not read of a success
	PlannedAt   int64  // epoch ms
	KillAskedAt int64  // epoch ms; 0: nobody wants it ended
	Events      string // see event.Parse
	Note        string // the beginning of what is said about a failure of its executor
}

// outcomeColumns read texts only of runs that went wrong: there are few, and the texts may be long.
const outcomeColumns = "id, trigger_code, planned_at, outcome, kill_asked_at, SUBSTRING(COALESCE(events, ''), 1, " + listedEvents + "), " +
	"CASE WHEN handle_code NOT IN (0, 200) THEN SUBSTRING(COALESCE(handle_msg, ''), 1, 300) ELSE '' END"

// lookedThrough is how many of a job's runs are looked through for those of some groups.
const lookedThrough = 500

// ListOutcomes finds the newest fires of each of some jobs that were recorded with some groups or, without any, with whichever; at most n of
// each, newest first within a job. A trial of a script is none.
//
// A job's runs lie far apart in a big log, a read of the disk each. So what they ended with comes from an index (i_job_outcome),
// and only those rows are read that have more to tell. It knows no groups: asked for some, each run's row is read, and of each job only
// the newest [lookedThrough] are. One that was moved lately may have a million runs of before, of which none counts.
func ListOutcomes(ctx context.Context, tx DBTX, jobIDs, groups []int64, n int) ([]Outcome, error) {
	if len(jobIDs) == 0 {
		return nil, nil
	}
	// One short walk of the index for each job: a join over these jobs would read every run they ever had.
	var q strings.Builder
	args := make([]any, 0, 2*len(jobIDs))
	visible, above := "", make(map[int64]int64)
	var of where
	if len(groups) > 0 {
		of.in("job_group", groups)
		visible = strings.Replace(of.String(), " WHERE ", " AND ", 1)
		var err error
		if above, err = lookFrom(ctx, tx, jobIDs); err != nil {
			return nil, err
		}
	}
	for i, id := range jobIDs {
		if i > 0 {
			q.WriteString(" UNION ALL ")
		}
		fmt.Fprintf(&q, "SELECT * FROM (SELECT id, job_id, handle_code, trigger_time, outcome FROM xxl_job_log AS l%d FORCE INDEX (i_job_outcome) WHERE job_id = ? AND id > ?%s "+
			"AND NOT EXISTS (SELECT 1 FROM punctual_trial WHERE log_id = l%d.id) ORDER BY id DESC LIMIT ?) AS r%d", i, visible, i, i)
		args = append(append(append(args, id, above[id]), of.args...), n)
	}
	rows, err := tx.QueryContext(ctx, q.String(), args...)
	if err != nil {
		return nil, fmt.Errorf("list outcomes: %w", err)
	}
	defer rows.Close()
	var list []Outcome
	more := make(map[int64]int) // where in the list a run is of which the row is wanted
	for rows.Next() {
		var o Outcome
		if err := rows.Scan(&o.ID, &o.JobID, &o.HandleCode, &o.TriggerTime, &o.Outcome); err != nil {
			return nil, fmt.Errorf("read outcome: %w", err)
		}
		if o.HandleCode != handledWell || o.Outcome != event.Open && o.Outcome != event.Succeeded {
			more[o.ID] = len(list)
		}
		list = append(list, o)
	}
	if err := rows.Err(); err != nil || len(more) == 0 {
		return list, err
	}
	return list, tellOutcomes(ctx, tx, list, more)
}

// lookFrom finds above which run those of some groups are looked for, by job; of a job that has few runs there is none. It reads an index.
func lookFrom(ctx context.Context, tx DBTX, jobIDs []int64) (map[int64]int64, error) {
	parts, args := make([]string, len(jobIDs)), make([]any, 0, 2*len(jobIDs))
	for i, id := range jobIDs {
		parts[i] = fmt.Sprintf("SELECT * FROM (SELECT job_id, id FROM xxl_job_log FORCE INDEX (i_job_outcome) WHERE job_id = ? AND id > 0 ORDER BY id DESC LIMIT 1 OFFSET ?) AS r%d", i)
		args = append(args, id, lookedThrough)
	}
	rows, err := tx.QueryContext(ctx, strings.Join(parts, " UNION ALL "), args...)
	if err != nil {
		return nil, fmt.Errorf("find how far to look for outcomes: %w", err)
	}
	above := make(map[int64]int64)
	err = scanAll(rows, func() error {
		var job, id int64
		if err := rows.Scan(&job, &id); err != nil {
			return fmt.Errorf("read how far to look for outcomes: %w", err)
		}
		above[job] = id
		return nil
	})
	return above, err
}

// NearRuns narrows the ids among which a job's runs are looked for that were recorded with some groups, to the [lookedThrough] that are nearest to one end: the
// upper one (down) or the lower one. An index knows no groups, and of a job that was moved a million runs may be of before.
func NearRuns(ctx context.Context, tx DBTX, jobID, from, before int64, down bool) (int64, int64, error) {
	order := ""
	if down {
		order = " DESC"
	}
	var id int64
	err := tx.QueryRowContext(ctx, "SELECT id FROM xxl_job_log FORCE INDEX (i_job_outcome) WHERE job_id = ? AND id >= ? AND id < ? ORDER BY id"+order+" LIMIT 1 OFFSET ?", jobID, from, before, lookedThrough).Scan(&id)
	switch {
	case errors.Is(err, sql.ErrNoRows): // there are fewer
		return from, before, nil
	case err != nil:
		return 0, 0, fmt.Errorf("find how far to look for runs: %w", err)
	case down:
		return id + 1, before, nil
	}
	return from, id, nil
}

// handledWell is the result of a success (docs/compat.md §3.7).
const handledWell = 200

// tellOutcomes reads the rest of some outcomes of a list.
func tellOutcomes(ctx context.Context, tx DBTX, list []Outcome, at map[int64]int) error {
	ids := make([]any, 0, len(at))
	for id := range at {
		ids = append(ids, id)
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+outcomeColumns+" FROM xxl_job_log WHERE id IN ("+marks(len(ids))+")", ids...)
	if err != nil {
		return fmt.Errorf("read outcomes: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var o Outcome
		if err := rows.Scan(&id, &o.TriggerCode, &o.PlannedAt, &o.Outcome, &o.KillAskedAt, &o.Events, &o.Note); err != nil {
			return fmt.Errorf("read outcome: %w", err)
		}
		to := &list[at[id]]
		o.ID, o.JobID, o.HandleCode, o.TriggerTime = to.ID, to.JobID, to.HandleCode, to.TriggerTime
		*to = o
	}
	return rows.Err()
}
