package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

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
	Part        string // "index/total" of a broadcast, else empty
}

// outcomeColumns read texts only of runs that went wrong: there are few, and the texts may be long.
const outcomeColumns = "id, trigger_code, planned_at, outcome, kill_asked_at, SUBSTRING(COALESCE(events, ''), 1, " + listedEvents + "), " +
	"CASE WHEN handle_code NOT IN (0, 200) THEN SUBSTRING(COALESCE(handle_msg, ''), 1, 300) ELSE '' END, COALESCE(executor_sharding_param, '')"

// lookedThrough is how many of a job's runs are looked through for those of some groups.
const lookedThrough = 500

// ListOutcomes finds the newest fires of each of some jobs that were recorded with some groups or, without any, with whichever; at most n of
// each, newest first within a job. A trial of a script is none.
//
// A job's runs lie far apart in a big log, a read of the disk each. So what they ended with comes from an index (i_job_outcome),
// and only those rows are read that have more to tell.
func ListOutcomes(ctx context.Context, tx DBTX, jobIDs, groups []int64, n int) ([]Outcome, error) {
	if len(jobIDs) == 0 {
		return nil, nil
	}
	list, err := indexedOutcomes(ctx, tx, jobIDs, nil, "", n)
	if err != nil {
		return nil, err
	}
	// The index knows neither groups nor trials. Few jobs have such runs among their newest: they are read once more, without these.
	odd, err := jobsWithOthers(ctx, tx, list, groups)
	if err == nil && len(odd) > 0 {
		var again []Outcome
		again, err = firesOfGroups(ctx, tx, odd, groups, n)
		list = append(slices.DeleteFunc(list, func(o Outcome) bool { return slices.Contains(odd, o.JobID) }), again...)
	}
	if err != nil {
		return nil, err
	}
	more := make(map[int64]int) // where in the list a run is of which the row is wanted
	for i, o := range list {
		if o.HandleCode != handledWell || o.Outcome != event.Open && o.Outcome != event.Succeeded {
			more[o.ID] = i
		}
	}
	if len(more) == 0 {
		return list, nil
	}
	return list, tellOutcomes(ctx, tx, list, more)
}

// indexedOutcomes reads the newest n runs of each job above some run of its, as far as an index knows them, and as a condition says: a short walk of
// the index for each job, where a join over the jobs would read every run they ever had.
func indexedOutcomes(ctx context.Context, tx DBTX, jobIDs []int64, above map[int64]int64, condition string, n int) ([]Outcome, error) {
	parts, args := make([]string, len(jobIDs)), make([]any, 0, 3*len(jobIDs))
	for i, id := range jobIDs {
		parts[i] = "SELECT id, job_id, handle_code, trigger_time, outcome FROM xxl_job_log AS l FORCE INDEX (i_job_outcome) WHERE job_id = ? AND id > ?" + condition + " ORDER BY id DESC LIMIT ?"
		args = append(args, id, above[id], n)
	}
	rows, err := tx.QueryContext(ctx, unionAll(parts), args...)
	if err != nil {
		return nil, fmt.Errorf("list outcomes: %w", err)
	}
	var list []Outcome
	err = scanAll(rows, func() error {
		var o Outcome
		if err := rows.Scan(&o.ID, &o.JobID, &o.HandleCode, &o.TriggerTime, &o.Outcome); err != nil {
			return fmt.Errorf("read outcome: %w", err)
		}
		list = append(list, o)
		return nil
	})
	return list, err
}

// jobsWithOthers are those jobs of runs of which one is a trial, or was recorded with another group than some; without any, with whichever.
func jobsWithOthers(ctx context.Context, tx DBTX, list []Outcome, groups []int64) (jobs []int64, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	job := make(map[int64]int64, len(list))
	var of where
	ids := make([]int64, len(list))
	for i, o := range list {
		ids[i], job[o.ID] = o.ID, o.JobID
	}
	of.in("log_id", ids)
	others, err := findIDs(ctx, tx, "trials", "SELECT log_id FROM punctual_trial"+of.String(), of.args)
	if err == nil && len(groups) > 0 {
		var of where
		of.in("id", ids)
		of.in("job_group", groups)
		var theirs []int64 // one that is deleted meanwhile is not confirmed
		theirs, err = findIDs(ctx, tx, "runs of some groups", "SELECT id FROM xxl_job_log"+of.String(), of.args)
		slices.Sort(theirs)
		for _, id := range ids {
			if _, confirmed := slices.BinarySearch(theirs, id); !confirmed {
				others = append(others, id)
			}
		}
	}
	for _, id := range others {
		jobs = append(jobs, job[id])
	}
	slices.Sort(jobs)
	return slices.Compact(jobs), err
}

// firesOfGroups is ListOutcomes by the rows, each of which is read. Of a job only the newest [lookedThrough] are looked through for those of some
// groups: one that was moved lately may have a million runs of before, of which none counts.
func firesOfGroups(ctx context.Context, tx DBTX, jobIDs, groups []int64, n int) ([]Outcome, error) {
	condition := " AND NOT EXISTS (SELECT 1 FROM punctual_trial WHERE log_id = l.id)"
	if len(groups) == 0 {
		return indexedOutcomes(ctx, tx, jobIDs, nil, condition, n)
	}
	above, err := lookFrom(ctx, tx, jobIDs)
	if err != nil {
		return nil, err
	}
	return indexedOutcomes(ctx, tx, jobIDs, above, " AND job_group IN ("+numbers(groups)+")"+condition, n)
}

// lookFrom finds above which run those of some groups are looked for, by job; of a job that has few runs there is none. It reads an index.
func lookFrom(ctx context.Context, tx DBTX, jobIDs []int64) (map[int64]int64, error) {
	parts, args := make([]string, len(jobIDs)), make([]any, 0, 2*len(jobIDs))
	for i, id := range jobIDs {
		parts[i] = "SELECT job_id, id FROM xxl_job_log FORCE INDEX (i_job_outcome) WHERE job_id = ? AND id > 0 ORDER BY id DESC LIMIT 1 OFFSET ?"
		args = append(args, id, lookedThrough)
	}
	rows, err := tx.QueryContext(ctx, unionAll(parts), args...)
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
		if err := rows.Scan(&id, &o.TriggerCode, &o.PlannedAt, &o.Outcome, &o.KillAskedAt, &o.Events, &o.Note, &o.Part); err != nil {
			return fmt.Errorf("read outcome: %w", err)
		}
		to := &list[at[id]]
		o.ID, o.JobID, o.HandleCode, o.TriggerTime = to.ID, to.JobID, to.HandleCode, to.TriggerTime
		*to = o
	}
	return rows.Err()
}
