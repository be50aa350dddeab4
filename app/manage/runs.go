package manage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Runs are the use cases of the run log.
type Runs struct {
	cfg     Config
	queries *db.Queries
	audit   *Audit
}

// Result narrows the run list by outcome (spec §2.13).
type Result int64

// The results.
const (
	AnyResult Result = 0
	Succeeded Result = 1
	Failed    Result = 2
	Open      Result = 3 // not finished, sent or not
)

// RunFilter narrows the run list. Zero values stand for "any".
type RunFilter struct {
	Group    int64
	Job      int64
	Result   Result
	Since    time.Time
	Until    time.Time
	Text     string              // in the address, the parameter or a message; or a run id
	Trigger  jobspec.TriggerType // what caused it
	Executor string              // in its address
	Before   int64               // the page of runs below this id
	After    int64               // or the page of runs next above this id
	Limit    int
}

// RunList is one page of runs, newest first.
type RunList struct {
	Runs  []db.ListRunsRow
	Newer bool // there are runs above this page
	Older bool // there are runs below it
}

// The times of a log never lie outside these, and both databases can compare with them.
var (
	epoch    = time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)
	doomsday = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
)

// claimSlack is how much later than its neighbours a run may have been planned that was recorded earlier.
const claimSlack = time.Minute

// List is one page of the runs that the principal may see.
func (s *Runs) List(ctx context.Context, p auth.Principal, f RunFilter) (RunList, error) {
	q, err := s.query(ctx, p, f)
	if err != nil || q == nil {
		return RunList{}, err
	}
	var list RunList
	limit := int32(f.Limit)
	if f.After != 0 {
		// The page above begins Limit runs higher: find that run, then read down from it. One more tells of a page beyond.
		ids, err := q.idsFrom(ctx, f.After+1, limit+1)
		if err != nil {
			return list, err
		}
		list.Newer = len(ids) > f.Limit
		ids = ids[:min(len(ids), f.Limit)]
		if len(ids) == 0 {
			f.Before = 0
		} else {
			f.Before = ids[len(ids)-1] + 1
		}
	} else if f.Before != 0 {
		ids, err := q.idsFrom(ctx, f.Before, 1)
		if err != nil {
			return list, err
		}
		list.Newer = len(ids) > 0
	}
	list.Runs, err = q.page(ctx, f.Before, limit+1)
	if err != nil {
		return list, err
	}
	if list.Older = len(list.Runs) > f.Limit; list.Older {
		list.Runs = list.Runs[:f.Limit]
	}
	return list, nil
}

// runQuery is a filter in the form of the queries. Those for one job and for all differ in the index they go by.
type runQuery struct {
	s      *Runs
	params db.ListRunsParams
	job    int64
}

// query prepares a filter; nil means that nothing can match.
func (s *Runs) query(ctx context.Context, p auth.Principal, f RunFilter) (*runQuery, error) {
	q := &runQuery{s: s, job: f.Job}
	all, groups := scope(p, f.Group)
	if f.Job != 0 {
		j, err := s.queries.GetJob(ctx, s.cfg.Pool, f.Job)
		switch err = db.Error(err); {
		case errors.Is(err, db.ErrNotFound):
			// The runs of a deleted job: nobody knows their group's rights but an administrator.
			if !p.Admin {
				return nil, nil
			}
		case err != nil:
			return nil, fmt.Errorf("read job: %w", err)
		case !p.CanUseGroup(j.JobGroup):
			return nil, nil
		}
	} else if all == 0 && len(groups) == 0 {
		return nil, nil
	}
	since, until := epoch, doomsday
	var from int64
	if !f.Since.IsZero() {
		since = s.cfg.Pool.Wall(f.Since)
		id, err := s.queries.FirstRunIDSince(ctx, s.cfg.Pool, nullTime(since.Add(-claimSlack)))
		switch err = db.Error(err); {
		case errors.Is(err, db.ErrNotFound):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("find first run: %w", err)
		}
		from = id
	}
	if f.Result == Open {
		// Few runs are open, and those few are new: without them there would be a long way back through what is finished.
		oldest, err := s.queries.ListOpenRuns(ctx, s.cfg.Pool, db.ListOpenRunsParams{AfterID: from - 1, Limit: 1})
		if err != nil {
			return nil, fmt.Errorf("find the oldest open run: %w", db.Error(err))
		}
		if len(oldest) == 0 {
			return nil, nil
		}
		from = oldest[0].ID
	}
	if !f.Until.IsZero() {
		until = s.cfg.Pool.Wall(f.Until)
	}
	textID, _ := strconv.ParseInt(f.Text, 10, 64)
	anyText := int64(0)
	if f.Text == "" {
		anyText = 1
	}
	q.params = db.ListRunsParams{
		AllGroups: all, GroupIds: groups, FromID: from, Result: int64(f.Result), SinceTime: nullTime(since), UntilTime: nullTime(until),
		AnyText: anyText, TextID: textID, TextPattern: db.Text(contains(f.Text)),
		TriggerType: f.Trigger, ExecutorPattern: db.Text(contains(f.Executor)),
	}
	if f.Trigger == "" {
		q.params.AnyTrigger = 1
	}
	return q, nil
}

func (q *runQuery) page(ctx context.Context, before int64, limit int32) ([]db.ListRunsRow, error) {
	a := q.params
	a.BeforeID, a.Limit = before, limit
	if before == 0 {
		a.BeforeID = math.MaxInt64 // the query wants a bound
	}
	if q.job == 0 {
		rows, err := q.s.queries.ListRuns(ctx, q.s.cfg.Pool, a)
		if err != nil {
			return nil, fmt.Errorf("list runs: %w", db.Error(err))
		}
		return rows, nil
	}
	rows, err := q.s.queries.ListRunsOfJob(ctx, q.s.cfg.Pool, db.ListRunsOfJobParams{
		JobID: q.job, FromID: a.FromID, BeforeID: a.BeforeID, Result: a.Result, SinceTime: a.SinceTime, UntilTime: a.UntilTime,
		AnyText: a.AnyText, TextID: a.TextID, TextPattern: a.TextPattern, AnyTrigger: a.AnyTrigger, TriggerType: a.TriggerType,
		ExecutorPattern: a.ExecutorPattern, Limit: a.Limit,
	})
	if err != nil {
		return nil, fmt.Errorf("list runs of job: %w", db.Error(err))
	}
	list := make([]db.ListRunsRow, len(rows))
	for i, r := range rows {
		list[i] = db.ListRunsRow(r)
	}
	return list, nil
}

func (q *runQuery) idsFrom(ctx context.Context, id int64, limit int32) ([]int64, error) {
	a := q.params
	a.FromID = max(a.FromID, id)
	var ids []int64
	var err error
	if q.job == 0 {
		ids, err = q.s.queries.ListRunIDsFrom(ctx, q.s.cfg.Pool, db.ListRunIDsFromParams{
			AllGroups: a.AllGroups, GroupIds: a.GroupIds, FromID: a.FromID, Result: a.Result, SinceTime: a.SinceTime,
			UntilTime: a.UntilTime, AnyText: a.AnyText, TextID: a.TextID, TextPattern: a.TextPattern, AnyTrigger: a.AnyTrigger,
			TriggerType: a.TriggerType, ExecutorPattern: a.ExecutorPattern, Limit: limit,
		})
	} else {
		ids, err = q.s.queries.ListRunIDsOfJobFrom(ctx, q.s.cfg.Pool, db.ListRunIDsOfJobFromParams{
			JobID: q.job, FromID: a.FromID, Result: a.Result, SinceTime: a.SinceTime, UntilTime: a.UntilTime,
			AnyText: a.AnyText, TextID: a.TextID, TextPattern: a.TextPattern, AnyTrigger: a.AnyTrigger, TriggerType: a.TriggerType,
			ExecutorPattern: a.ExecutorPattern, Limit: limit,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("find newer runs: %w", db.Error(err))
	}
	return ids, nil
}

// Any says whether there is any run at all, seen or not.
func (s *Runs) Any(ctx context.Context) (bool, error) {
	id, err := s.queries.MaxRunID(ctx, s.cfg.Pool)
	return id > 0, db.Error(err)
}

// Get is one run.
func (s *Runs) Get(ctx context.Context, p auth.Principal, logID int64) (db.Run, error) {
	r, err := s.queries.GetRun(ctx, s.cfg.Pool, logID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return r, problem.New(problem.NotFound, "problem.run.gone")
	} else if err != nil {
		return r, fmt.Errorf("read run: %w", err)
	}
	if !p.CanUseGroup(r.JobGroup) {
		return db.Run{}, forbidden()
	}
	return r, nil
}

// Need is one run of a group in which the principal has a right.
func (s *Runs) Need(ctx context.Context, p auth.Principal, logID int64, right auth.Rights) (db.Run, error) {
	r, err := s.Get(ctx, p, logID)
	if err != nil {
		return r, err
	}
	if !p.Can(r.JobGroup, right) {
		return db.Run{}, forbidden()
	}
	return r, nil
}

// ByID are runs by their ids, those that exist and that the principal may see.
func (s *Runs) ByID(ctx context.Context, p auth.Principal, ids []int64) ([]db.ListRunsByIDRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := s.queries.ListRunsByID(ctx, s.cfg.Pool, ids)
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", db.Error(err))
	}
	return slices.DeleteFunc(rows, func(r db.ListRunsByIDRow) bool { return !p.CanUseGroup(r.JobGroup) }), nil
}

// shardReach is how far the ids of the runs of one broadcast lie apart at most.
const shardReach = 5000

// Shards are the runs of the broadcast that a run belongs to, itself among them; none for a run that belongs to none.
func (s *Runs) Shards(ctx context.Context, p auth.Principal, r db.Run) ([]db.ListShardsRow, error) {
	if !strings.Contains(string(r.ExecutorShardingParam), "/") || r.PlannedAt == 0 || !p.CanUseGroup(r.JobGroup) {
		return nil, nil
	}
	rows, err := s.queries.ListShards(ctx, s.cfg.Pool, db.ListShardsParams{
		JobID: r.JobID, FromID: r.ID - shardReach, BeforeID: r.ID + shardReach, PlannedAt: r.PlannedAt, TriggerType: r.TriggerType,
	})
	if err != nil {
		return nil, fmt.Errorf("find the shards of a broadcast: %w", db.Error(err))
	}
	if len(rows) < 2 {
		return nil, nil
	}
	return rows, nil
}

// ReadLog is a run's output from a line on.
func (s *Runs) ReadLog(ctx context.Context, p auth.Principal, logID int64, fromLine int) (wire.LogResult, error) {
	if _, err := s.Get(ctx, p, logID); err != nil {
		return wire.LogResult{}, err
	}
	return s.cfg.Engine.ReadLog(ctx, logID, max(1, fromLine))
}
