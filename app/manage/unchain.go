package manage

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// keepChain notes what the jobs of a chain were before it became a flow, and what they are now.
func (s *Jobs) keepChain(ctx context.Context, c Chain, made int64) error {
	rows := map[int64]db.InsertChainJobParams{made: {}}
	for _, j := range c.Changed {
		var kids []string
		ids, _, _ := jobspec.ChildIDs(string(j.ChildJobIDs))
		for _, id := range ids {
			if !slices.Contains(c.Gone, id) { // nobody could save one that does not exist
				kids = append(kids, strconv.FormatInt(id, 10))
			}
		}
		rows[j.ID] = db.InsertChainJobParams{Children: strings.Join(kids, ",")}
	}
	if c.Started {
		first := rows[c.First.ID]
		first.Started = 1
		rows[c.First.ID] = first
	}
	return s.change(ctx, "keep what a chain was", func(tx *sql.Tx) error {
		for id, row := range rows {
			j, err := s.queries.GetJob(ctx, tx, id)
			if err != nil {
				return db.Error(err)
			}
			row.FlowID, row.JobID, row.Version = made, id, JobVersion(j)
			if err := s.queries.InsertChainJob(ctx, tx, row); err != nil {
				return err
			}
		}
		return nil
	})
}

// MadeOfChain says whether a flow was made of a chain, so that it may be undone.
func (s *Jobs) MadeOfChain(ctx context.Context, flowID int64) (bool, error) {
	rows, err := s.queries.ListChainJobs(ctx, s.cfg.Pool, flowID)
	return len(rows) > 0, during("read what a chain was", err)
}

// UndoFlow makes of a flow the chain again that it was made of, in one transaction: the flow is deleted, the jobs have their children again,
// and the first is started again if it was and the flow still is. It is refused once one of them was edited, and while something uses the flow.
func (s *Jobs) UndoFlow(ctx context.Context, p auth.Principal, flowID int64) error {
	return s.cfg.Pool.Together(ctx, func(ctx context.Context) error {
		made, err := s.Need(ctx, p, flowID, auth.RightEdit)
		if err != nil {
			return err
		}
		rows, jobs, err := s.keptChain(ctx, p, made)
		if err != nil {
			return err
		}
		// First the flow, so that nothing runs twice.
		started := jobspec.Started(made.TriggerStatus)
		for _, row := range rows {
			if row.Started != 0 && started {
				if err := s.carryPauses(ctx, p, made, row.JobID); err != nil {
					return err
				}
			}
		}
		if started {
			if err := s.Stop(ctx, p, flowID); err != nil {
				return err
			}
		}
		if err := s.Delete(ctx, p, flowID); err != nil {
			return err
		}
		for _, row := range rows {
			j := jobs[row.JobID]
			if row.Children != "" {
				spec := j.Spec()
				spec.ChildJobIDs = row.Children
				if err := s.Update(ctx, p, j.ID, JobInput{Job: spec, Group: j.JobGroup, Version: row.Version}); err != nil {
					return err
				}
			}
			if row.Started != 0 && started {
				if err := s.Start(ctx, p, j.ID); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// keptChain are the jobs that a flow was made of, as they are now and were before; the error says why it cannot be undone.
func (s *Jobs) keptChain(ctx context.Context, p auth.Principal, made db.Job) (rows []db.ChainJob, jobs map[int64]db.Job, err error) {
	if rows, err = s.queries.ListChainJobs(ctx, s.cfg.Pool, made.ID); err != nil {
		return nil, nil, fmt.Errorf("read what a chain was: %w", db.Error(err))
	}
	if len(rows) == 0 {
		return nil, nil, problem.New(problem.Conflict, "problem.unchain.none")
	}
	if jobs, err = s.Stored(ctx, db.IDs(rows, func(r *db.ChainJob) int64 { return r.JobID })); err != nil {
		return nil, nil, err
	}
	for _, row := range rows {
		j, ok := jobs[row.JobID]
		if ok && JobVersion(j) == row.Version {
			continue
		}
		name := "#" + strconv.FormatInt(row.JobID, 10)
		if ok && p.CanUseGroup(j.JobGroup) {
			name = j.JobDesc
		}
		return nil, nil, problem.New(problem.Conflict, "problem.unchain.changed", "Name", name)
	}
	parents, err := s.parents(ctx, made.ID)
	if err != nil {
		return nil, nil, err
	}
	uses, err := s.FlowsUsing(ctx, p, made)
	if err != nil {
		return nil, nil, err
	}
	if len(parents) > 0 || uses.Any() {
		return nil, nil, problem.New(problem.Conflict, "problem.unchain.used")
	}
	return slices.DeleteFunc(rows, func(row db.ChainJob) bool { return row.JobID == made.ID }), jobs, nil
}
