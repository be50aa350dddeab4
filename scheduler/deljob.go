package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/punctual-job/punctual/db"
)

// DeleteRunsOfJob deletes at most so many runs of a job that is deleted, the oldest first, and says how many those were. Runs that
// ended stay counted, as whenever runs are deleted. Those that are open no longer are: nobody will record how they end.
func (e *Engine) DeleteRunsOfJob(ctx context.Context, jobID int64, limit int32) (deleted int, err error) {
	var forgotten []change
	for range deleteTries {
		err = e.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
			deleted, forgotten, err = e.deleteRunsOfJob(ctx, tx, jobID, limit)
			return err
		})
		if !errors.Is(err, errRaced) {
			break
		}
	}
	if err != nil {
		return 0, db.Error(err)
	}
	e.counts.add(forgotten...)
	return deleted, nil
}

// deleteTries is how often a round of a deletion begins anew because runs ended under it.
const deleteTries = 5

func (e *Engine) deleteRunsOfJob(ctx context.Context, tx *sql.Tx, jobID int64, limit int32) (int, []change, error) {
	rows, err := e.queries.ListRunStatesOfJob(ctx, tx, db.ListRunStatesOfJobParams{JobID: jobID, UptoID: math.MaxInt64, Limit: limit})
	if err != nil {
		return 0, nil, err
	}
	var open, ended []int64
	var forgotten []change
	for _, r := range rows {
		if stateOf(r.Outcome, r.TriggerCode, r.HandleCode) != stateRunning {
			ended = append(ended, r.ID)
			continue
		}
		open = append(open, r.ID)
		if r.TriggerTime.Valid {
			forgotten = append(forgotten, change{hour: hourOf(r.TriggerTime.Time), group: r.JobGroup, from: stateRunning, to: stateNone})
		}
	}
	if len(open) > 0 {
		n, err := e.queries.DeleteOpenRuns(ctx, tx, open)
		if err == nil && n != int64(len(open)) {
			err = errRaced
		}
		if err != nil {
			return 0, nil, err
		}
	}
	if len(ended) > 0 {
		if _, err := e.queries.DeleteRuns(ctx, tx, ended); err != nil {
			return 0, nil, err
		}
	}
	return len(rows), forgotten, nil
}
