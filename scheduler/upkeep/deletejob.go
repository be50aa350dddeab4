package upkeep

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// DeleteRunsOfJob deletes at most so many runs of a job that is deleted, the oldest first, and says how many those were. Runs that
// ended stay counted, as whenever runs are deleted. Those that are open no longer are: nobody will record how they end.
func (s *Service) DeleteRunsOfJob(ctx context.Context, jobID int64, limit int32) (deleted int, err error) {
	var forgotten []Change
	for range deleteTries {
		err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
			deleted, forgotten, err = s.deleteRunsOfJob(ctx, tx, jobID, limit)
			return err
		})
		if !errors.Is(err, errChanged) {
			break
		}
	}
	if err != nil {
		return 0, db.Error(err)
	}
	s.counts.add(forgotten...)
	return deleted, nil
}

// deleteTries is how often a round of a deletion begins anew because runs ended under it.
const deleteTries = 5

func (s *Service) deleteRunsOfJob(ctx context.Context, tx *sql.Tx, jobID int64, limit int32) (int, []Change, error) {
	rows, err := s.queries.ListRunStatesOfJob(ctx, tx, db.ListRunStatesOfJobParams{JobID: jobID, UptoID: math.MaxInt64, Limit: limit})
	if err != nil {
		return 0, nil, err
	}
	var open, ended []int64
	var forgotten []Change
	for _, r := range rows {
		if StateOf(r.Outcome, r.TriggerCode, r.HandleCode, 0) != StateRunning {
			ended = append(ended, r.ID)
			continue
		}
		open = append(open, r.ID)
		if r.TriggerTime.Valid && r.TriggerType != jobspec.TriggerTrial {
			forgotten = append(forgotten, Change{Hour: HourOf(r.TriggerTime.Time), Group: r.JobGroup, From: StateRunning, To: StateNone})
		}
	}
	if len(open) > 0 {
		n, err := s.queries.DeleteOpenRuns(ctx, tx, open)
		if err == nil && n != int64(len(open)) {
			err = errChanged
		}
		if err == nil {
			err = db.ForgetOutputs(ctx, tx, open)
		}
		if err != nil {
			return 0, nil, err
		}
	}
	if len(ended) > 0 {
		if _, err := s.deleteRunsIn(ctx, tx, ended); err != nil {
			return 0, nil, err
		}
	}
	return len(rows), forgotten, nil
}
