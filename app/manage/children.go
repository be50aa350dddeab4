package manage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// maxDescendants bounds the search for a cycle. A family that large is not looked through to its end.
const maxDescendants = 2000

// checkCycle refuses children that would start the job itself again, directly or through theirs: such a ring runs for ever.
// children are the jobs of ids.
func (s *Jobs) checkCycle(ctx context.Context, tx db.DBTX, jobID int64, ids []int64, children map[int64]db.Job) ([]problem.Field, error) {
	if jobID == 0 {
		return nil, nil // nobody's child yet
	}
	seen := make(map[int64]bool)
	for len(children) > 0 && len(seen) < maxDescendants {
		var next []int64
		for _, id := range ids {
			j, ok := children[id]
			if !ok || seen[id] {
				continue
			}
			seen[id] = true
			theirs, _, _ := jobspec.ChildIDs(string(j.ChildJobIDs))
			if slices.Contains(theirs, jobID) {
				return []problem.Field{{Name: jobspec.FieldChildren, Key: "job.error.child_cycle", Args: []any{"ID", id, "Name", j.JobDesc}}}, nil
			}
			next = append(next, theirs...)
		}
		next = slices.DeleteFunc(next, func(id int64) bool { return seen[id] })
		var err error
		if ids, children, err = s.generation(ctx, tx, next); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (s *Jobs) generation(ctx context.Context, tx db.DBTX, ids []int64) ([]int64, map[int64]db.Job, error) {
	jobs, err := s.byID(ctx, tx, slices.Clone(ids))
	return ids, jobs, err
}

// DueAt is how many other jobs have their next time at a moment. It names none, so everybody may know.
func (s *Jobs) DueAt(ctx context.Context, at time.Time, exceptID int64) (int64, error) {
	n, err := s.queries.CountJobsDueAt(ctx, s.cfg.Pool, db.CountJobsDueAtParams{AtMs: at.UnixMilli(), ExceptID: exceptID})
	if err != nil {
		return 0, fmt.Errorf("count jobs due: %w", db.Error(err))
	}
	return n, nil
}
