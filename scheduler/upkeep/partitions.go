package upkeep

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/punctual-job/punctual/db"
)

// extendLog keeps empty partitions ahead of the runs, where the log is in partitions.
func (s *Service) extendLog(ctx context.Context) error {
	added, err := s.cfg.Pool.ExtendLog(ctx)
	if db.IsTransient(err) { // somebody reads the log for long: there are others ahead, and the next round tries again
		return nil
	}
	if added > 0 && err == nil {
		s.log.Info("added partitions to the log", "partitions", added)
	}
	return err
}

// dropPartitions drops the partitions of the log whose runs are all too old. What is left goes run by run. One that cannot be dropped, or of which a
// run is to stay, keeps none of the others from it.
func (s *Service) dropPartitions(ctx context.Context, r *retention) error {
	bound := r.bound(0, false)
	if bound.IsZero() { // runs of jobs that keep theirs for less go, others stay in every partition
		return nil
	}
	list, err := s.cfg.Pool.LogPartitions(ctx)
	if errors.Is(err, db.ErrForeignPartitions) {
		return nil // somebody else's, who looks after them
	}
	if err != nil || len(list) == 0 {
		return err
	}
	last, err := s.queries.MaxRunID(ctx, s.cfg.Pool)
	if err != nil {
		return err
	}
	keep := db.LogKeep{Before: bound, Jobs: make(map[int64]time.Time)}
	for id := range r.perJob {
		keep.Jobs[id] = r.bound(id, false)
	}
	for _, l := range list {
		if l.Below == 0 || l.Below > last || !s.cfg.Leads() {
			break
		}
		failed := s.dropPartition(ctx, l, keep)
		if err = errors.Join(err, failed); db.IsTransient(failed) || !s.goesOn(ctx, failed) { // each would wait as long for somebody who reads the log
			break
		}
	}
	return err
}

// dropPartition drops a partition unless a run of it is to stay.
func (s *Service) dropPartition(ctx context.Context, l db.LogPartition, keep db.LogKeep) error {
	kept, err := s.cfg.Pool.LogPartitionKept(ctx, l, keep)
	if err != nil || kept {
		return err
	}
	if err := s.forgetOutputs(ctx, l.From, l.Below); err != nil {
		return err
	}
	began := time.Now()
	if err := s.cfg.Pool.DropLogPartition(ctx, l.Name); err != nil {
		return err
	}
	s.log.Info("dropped a partition of old runs", "partition", l.Name, "took", time.Since(began).Round(time.Millisecond).String())
	s.cfg.Changed()
	return nil
}

// forgetOutputs deletes the copies of the outputs of a stretch of runs.
func (s *Service) forgetOutputs(ctx context.Context, from, below int64) error {
	for {
		began := time.Now()
		ids, err := s.queries.ListOutputsAfter(ctx, s.cfg.Pool, db.ListOutputsAfterParams{LogID: from - 1, Limit: pageMax})
		if err != nil {
			return err
		}
		for len(ids) > 0 && ids[len(ids)-1] >= below {
			ids = ids[:len(ids)-1]
		}
		if len(ids) == 0 {
			return nil
		}
		if err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error { return db.ForgetOutputs(ctx, tx, ids) }); err != nil {
			return err
		}
		from = ids[len(ids)-1] + 1
		if err := Rest(ctx, restAfter(time.Since(began))); err != nil {
			return err
		}
	}
}
