package manage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// BulkRerun runs runs again. It is no deed of [Jobs.Bulk], whose items are jobs: those of [Jobs.Rerun] are runs.
const BulkRerun = "rerun"

// Rerun are runs that are to be run again.
type Rerun struct {
	IDs  []int64
	Type jobspec.TriggerType // of the new runs
	// Batch is any text that is new for each wish: a run is run again once for it, however often it is sent. Empty: each time.
	Batch string
}

// Matching are the runs under a filter, the newest first, for a deed that is meant for all of them.
func (s *Runs) Matching(ctx context.Context, p auth.Principal, f RunFilter) ([]int64, error) {
	f.Sort, f.Before, f.After, f.Deep, f.Limit = RunSort{}, 0, 0, true, 500
	var ids []int64
	for {
		list, err := s.List(ctx, p, f)
		if err != nil {
			return nil, err
		}
		for _, r := range list.Runs {
			ids = append(ids, r.ID)
		}
		switch {
		case len(ids) > MaxMatching:
			return nil, problem.New(problem.Malformed, "problem.rerun.matching", "Max", MaxMatching)
		case list.Searched:
			return nil, problem.New(problem.Malformed, "problem.rerun.long")
		case list.Older == 0:
			return ids, nil
		}
		f.Before = list.Older
	}
}

// PreviewRerun says of each of at most MaxMatching runs whether it would be run again, and why not.
func (s *Jobs) PreviewRerun(ctx context.Context, p auth.Principal, in Rerun) ([]BulkItem, error) {
	items, _, err := s.rerunItems(ctx, p, in.IDs, MaxMatching)
	return items, err
}

// Rerun runs each of at most MaxBulk runs again, for itself: one that cannot be keeps no other from it. BulkItem.Was names the new run.
func (s *Jobs) Rerun(ctx context.Context, p auth.Principal, in Rerun) ([]BulkItem, error) {
	items, stored, err := s.rerunItems(ctx, p, in.IDs, MaxBulk)
	if err != nil {
		return nil, err
	}
	for i := range items {
		item := &items[i]
		if item.Err != nil {
			continue
		}
		if item.Was, item.Err = s.rerunOnce(ctx, p, stored[item.ID], in); item.Err != nil {
			item.Changes = false
		}
		if ctx.Err() != nil {
			return items[:i+1], ctx.Err()
		}
	}
	return items, nil
}

// fireOf is what the parts of a broadcast have in common.
type fireOf struct {
	job, planned int64
	cause        jobspec.TriggerType
}

func (s *Jobs) rerunItems(ctx context.Context, p auth.Principal, ids []int64, most int) ([]BulkItem, map[int64]db.ListRunsByIDRow, error) {
	stored, jobs, err := readRuns(ctx, s.queries, s.cfg.Pool, ids, most)
	if err != nil {
		return nil, nil, err
	}
	byID, err := s.byID(ctx, s.cfg.Pool, jobs)
	if err != nil {
		return nil, nil, err
	}
	items := make([]BulkItem, 0, len(ids))
	seen := make(map[int64]bool, len(ids))
	with := make(map[fireOf]int64)
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		r, ok := stored[id]
		if !ok || !p.CanUseGroup(r.JobGroup) {
			items = append(items, BulkItem{ID: id, Err: problem.New(problem.NotFound, "problem.run.gone")})
			continue
		}
		item := rerunItem(p, r, byID)
		if fire := (fireOf{r.JobID, r.PlannedAt, r.TriggerType}); item.Err == nil && r.ExecutorShardingParam != "" && r.PlannedAt != 0 {
			if other, ok := with[fire]; ok {
				item.Err = problem.New(problem.Conflict, "problem.rerun.broadcast", "ID", strconv.FormatInt(other, 10))
			} else {
				with[fire] = id
			}
		}
		item.Changes = item.Err == nil
		items = append(items, item)
	}
	return items, stored, nil
}

// readRuns reads those of so many runs at most that there are, by their ids, and says of which jobs they are.
func readRuns(ctx context.Context, queries *db.Queries, pool *db.Pool, ids []int64, most int) (map[int64]db.ListRunsByIDRow, []int64, error) {
	if len(ids) == 0 {
		return nil, nil, problem.New(problem.Malformed, "problem.rerun.none")
	}
	if len(ids) > most {
		return nil, nil, problem.New(problem.Malformed, "problem.rerun.many", "Max", most)
	}
	stored := make(map[int64]db.ListRunsByIDRow, len(ids))
	var jobs []int64
	for part := range slices.Chunk(ids, 1000) {
		rows, err := queries.ListRunsByID(ctx, pool, part)
		if err != nil {
			return nil, nil, fmt.Errorf("read runs: %w", db.Error(err))
		}
		for _, r := range rows {
			stored[r.ID] = r
			jobs = append(jobs, r.JobID)
		}
	}
	return stored, jobs, nil
}

// rerunItem says whether a run may be run again.
func rerunItem(p auth.Principal, r db.ListRunsByIDRow, jobs map[int64]db.Job) BulkItem {
	j, ok := jobs[r.JobID]
	item := BulkItem{ID: r.ID, Name: j.JobDesc}
	switch state := runstate.Of(r.Outcome, r.TriggerCode, r.HandleCode, string(r.HandleMsg)); {
	case !ok, !p.CanUseGroup(j.JobGroup):
		item.Name, item.Err = "", jobGone()
	case !p.Can(r.JobGroup, auth.RightRun), !p.Can(j.JobGroup, auth.RightRun):
		item.Err = forbidden()
	case r.TriggerType == jobspec.TriggerTrial:
		item.Err = problem.New(problem.Conflict, "problem.run.trial")
	case state.Open():
		item.Err = problem.New(problem.Conflict, "problem.rerun.open")
	case r.ExecutorFailRetryCount > 0 && r.Outcome.Retried() && state != runstate.Success:
		item.Err = problem.New(problem.Conflict, "problem.rerun.attempt")
	}
	return item
}

// rerunOnce runs a run again, unless the same wish has done so before, and names the new run.
func (s *Jobs) rerunOnce(ctx context.Context, p auth.Principal, r db.ListRunsByIDRow, in Rerun) (string, error) {
	ids, _, err := s.cfg.once(ctx, in.Batch, fmt.Sprintf("rerun:%d:%d", p.UserID, r.ID), func(ctx context.Context, remember within) ([]int64, error) {
		return s.again(ctx, p, r, RunInput{Type: in.Type, within: remember})
	})
	return firstID(ids), err
}

func firstID(ids []int64) string {
	if len(ids) == 0 {
		return ""
	}
	return strconv.FormatInt(ids[0], 10)
}

// RunAgain runs the job of a run again for its planned time, with its parameter where a run by hand may have one.
func (s *Jobs) RunAgain(ctx context.Context, p auth.Principal, id int64, cause jobspec.TriggerType) ([]int64, error) {
	rows, err := s.queries.ListRunsByID(ctx, s.cfg.Pool, []int64{id})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read run: %w", db.Error(err))
	case len(rows) == 0, !p.CanUseGroup(rows[0].JobGroup):
		return nil, problem.New(problem.NotFound, "problem.run.gone")
	case !p.Can(rows[0].JobGroup, auth.RightRun):
		return nil, forbidden()
	case rows[0].TriggerType == jobspec.TriggerTrial:
		return nil, problem.New(problem.Conflict, "problem.run.trial")
	}
	return s.again(ctx, p, rows[0], RunInput{Type: cause})
}

// again runs the job of a run with what that run was for; in has the rest.
func (s *Jobs) again(ctx context.Context, p auth.Principal, r db.ListRunsByIDRow, in RunInput) ([]int64, error) {
	j, err := s.Need(ctx, p, r.JobID, auth.RightRun)
	if err != nil {
		return nil, err
	}
	own, err := s.OwnParam(ctx, p, j)
	if err != nil {
		return nil, err
	}
	if at := cmp.Or(r.PlannedFor, r.PlannedAt); at > 0 {
		in.Planned = time.UnixMilli(at)
	}
	if !own {
		in.Param, in.repeats = new(string(r.ExecutorParam)), true
	}
	return s.Trigger(ctx, p, r.JobID, in)
}
