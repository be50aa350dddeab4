package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// Runs are the use cases of the run log.
type Runs struct {
	cfg     Config
	queries *db.Queries
	audit   *Audit
	search  search
	figures *dashboard.Dashboard
}

// Result narrows the run list by outcome (docs/compat.md §2.13).
type Result int64

const (
	AnyResult Result = 0
	Succeeded Result = 1
	Failed    Result = 2
	Open      Result = 3 // not finished, sent or not
	Skipped   Result = 4 // left out on purpose: neither a success nor a failure

	FailedForGood Result = 5 // failed with no other attempt to come: what the reports count
)

// RunFilter narrows the run list. Zero values stand for "any".
type RunFilter struct {
	Group    int64
	Job      int64
	Result   Result
	State    runstate.State // exactly this one; rows of an XXL-JOB admin tell only whether they are open, or succeeded
	Since    time.Time
	Until    time.Time
	Text     string              // in the address, the parameter or a message; or a run id
	Trigger  jobspec.TriggerType // what caused it
	Longer   time.Duration       // it took so long or longer; rows of an XXL-JOB admin do not tell
	Executor string              // in its address
	Before   int64               // the page of runs below this id
	After    int64               // or the page of runs next above this id
	Deep     bool                // somebody waits: search for longer before giving up
	Look     time.Duration       // or as long as they say; 0: they do not
	Show     dashboard.Show      // only what a number of the dashboard counts: ShowLate or ShowLong
	Sort     RunSort             // not the newest first, but sorted among the newest under the filter; there is no second page
	Limit    int
}

// RunList is one page of runs, newest first. The topmost has the run whose number is looked for beside what fills it.
type RunList struct {
	Runs  []db.RunRow
	Newer int64 // RunFilter.After of the page above this one; 0: this is the topmost
	Older int64 // RunFilter.Before of the page below; 0: this is the last
	// Searched says that the page ends at Older because the search took too long, and not because it is full; Reached is
	// the time of the last run that was looked at.
	Searched bool
	Reached  time.Time
	// Sorted is among how many runs a list in another order was made, Whole that there are no others under the filter, and
	// Reached, if there are, the time of the oldest of them.
	Sorted int
	Whole  bool
}

const (
	// claimSlack is how much later than its neighbours a run may have been planned that was recorded earlier.
	claimSlack = time.Minute
	// twiceSlack leads beyond an hour that comes twice, of which the run that is latest by its clock may be of the first pass.
	twiceSlack = 2 * time.Hour
	// lateSlack is how many runs after one of a time those may be that were planned before it and recorded late, when the
	// admins had been away.
	lateSlack = 2000
)

// List is one page of the runs that the principal may see.
func (s *Runs) List(ctx context.Context, p auth.Principal, f RunFilter) (RunList, error) {
	if f.Show != "" {
		// All of them, because there are no more than a long page's.
		runs, err := s.figures.Runs(ctx, p, f.Show)
		return RunList{Runs: slices.DeleteFunc(runs, func(r db.RunRow) bool { return !s.fits(r, f) })}, err
	}
	q, err := s.query(ctx, p, f)
	if err != nil || q == nil {
		return RunList{}, err
	}
	if f.Sort.By != "" {
		return s.sorted(ctx, q, f)
	}
	number := q.filter.TextID
	q.filter.TextID, q.filter.Except = 0, number
	var list RunList
	before, left := q.before, q.time
	switch {
	case f.After != 0:
		// The page above begins Limit runs higher: find that run, then read down from it. One more tells of a page beyond.
		began := time.Now()
		if before, list.Newer, err = q.above(ctx, f); err != nil {
			return list, err
		}
		left = max(left-time.Since(began), left/3)
	case f.Before != 0 && f.Before < before:
		before, list.Newer = f.Before, f.Before-1
	}
	reached, err := s.search.walk(q.from, before, left, true, func(from, before int64) (bool, error) {
		rows, err := db.FindRuns(ctx, s.cfg.Pool, q.filter, from, before, f.Limit+1-len(list.Runs))
		list.Runs = append(list.Runs, rows...)
		return len(list.Runs) > f.Limit, db.Error(err)
	})
	if err != nil {
		return list, fmt.Errorf("list runs: %w", err)
	}
	switch {
	case len(list.Runs) > f.Limit:
		list.Runs = list.Runs[:f.Limit]
		list.Older = list.Runs[f.Limit-1].ID
	case reached > q.from:
		list.Older, list.Searched = reached, true
		err = q.stopped(ctx, &list)
	}
	if err == nil && number != 0 && list.Newer == 0 {
		err = q.addNumbered(ctx, number, &list)
	}
	return list, err
}

// addNumbered adds the run whose number is the text to the topmost page, however far back it lies: it is on no other.
func (q *runQuery) addNumbered(ctx context.Context, id int64, list *RunList) error {
	if id < q.from || id >= q.before {
		return nil
	}
	f := q.filter
	f.TextID, f.Except = id, 0
	rows, err := db.FindRuns(ctx, q.s.cfg.Pool, f, id, id+1, 1)
	if err != nil {
		return fmt.Errorf("find run %d: %w", id, db.Error(err))
	}
	list.Runs = append(list.Runs, rows...)
	slices.SortFunc(list.Runs, func(a, b db.RunRow) int { return cmp.Compare(b.ID, a.ID) })
	return nil
}

// fits says whether an open run is in a filter, as the queries of the list would.
func (s *Runs) fits(r db.RunRow, f RunFilter) bool {
	at := s.cfg.Pool.InstantOf(r.TriggerTime)
	text := strings.ToLower(f.Text)
	has := func(in string) bool { return strings.Contains(strings.ToLower(in), text) }
	return (f.Group == 0 || r.JobGroup == f.Group) && (f.Job == 0 || r.JobID == f.Job) &&
		(f.Result == AnyResult || f.Result == Open) && (f.State == "" || f.State == runstate.Of(r.Outcome, r.TriggerCode, r.HandleCode, r.HandleNote)) && (f.Trigger == "" || r.TriggerType == f.Trigger) && f.Longer == 0 &&
		(f.Since.IsZero() || !at.Before(f.Since)) && (f.Until.IsZero() || !at.IsZero() && !at.After(f.Until)) &&
		strings.Contains(strings.ToLower(string(r.ExecutorAddress)), strings.ToLower(f.Executor)) &&
		(text == "" || strconv.FormatInt(r.ID, 10) == text || has(string(r.ExecutorAddress)) || has(string(r.ExecutorParam)) || has(r.TriggerNote) || has(r.HandleNote))
}

// runQuery is a filter as the database takes it, the ids it is looked for among, and how long.
type runQuery struct {
	s            *Runs
	filter       db.RunFilter
	from, before int64
	time         time.Duration
}

// query prepares a filter; nil means that nothing can match.
func (s *Runs) query(ctx context.Context, p auth.Principal, f RunFilter) (*runQuery, error) {
	q := &runQuery{s: s, time: s.search.time(f.Deep, f.Look), filter: db.RunFilter{Job: f.Job, Trigger: f.Trigger, LongerMs: f.Longer.Milliseconds()}}
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
		q.filter.Groups = runsOfJob(p, f.Job).Groups
	} else if all == 0 {
		if q.filter.Groups = groups; len(groups) == 0 {
			return nil, nil
		}
	}
	if f.Executor != "" {
		q.filter.Executor = contains(f.Executor)
	}
	if f.Text != "" {
		q.filter.Text = contains(f.Text)
		q.filter.TextID, _ = strconv.ParseInt(f.Text, 10, 64)
	}
	if err := q.results(ctx, f.Result); err != nil {
		return nil, err
	}
	if f.State != "" {
		if err := q.state(ctx, f.State); err != nil {
			return nil, err
		}
	}
	return q, q.bounds(ctx, f)
}

// results narrows to outcomes. What is in between is told apart by the codes that were recorded.
func (q *runQuery) results(ctx context.Context, r Result) error {
	switch r {
	case AnyResult:
	case Succeeded:
		q.filter.Codes = []int64{wire.CodeSuccess}
	case Open:
		q.filter.Codes, q.filter.Open = []int64{0}, true
	case Skipped: // such a run was never sent, so it has no result
		q.filter.Codes = []int64{0}
		q.filter.Outcomes = slices.DeleteFunc(event.AllOutcomes(), func(o event.Outcome) bool { return !o.Passed() })
	case Failed, FailedForGood:
		codes, err := db.ListResultCodes(ctx, q.s.cfg.Pool)
		if err != nil {
			return db.Error(err)
		}
		codes = slices.DeleteFunc(codes, func(code int64) bool { return code == 0 || code == wire.CodeSuccess })
		q.filter.Codes, q.filter.Failed, q.filter.Final = append(codes, 0), true, r == FailedForGood
	}
	return nil
}

// stateOutcomes are the outcomes of the states that a row says in so many words.
var stateOutcomes = map[runstate.State]event.Outcome{
	runstate.Failed: event.Failed, runstate.Timeout: event.TimedOut, runstate.SendFailed: event.NotSent, runstate.Unconfirmed: event.Unconfirmed, runstate.Killed: event.Killed,
	runstate.Lost: event.Lost, runstate.Skipped: event.Skipped, runstate.Discarded: event.Discarded, runstate.Cancelled: event.Cancelled, runstate.Stopped: event.Stopped,
}

// state narrows to one state. The results that such runs have are named too, since an index knows those.
func (q *runQuery) state(ctx context.Context, state runstate.State) error {
	if state == runstate.Success {
		return q.results(ctx, Succeeded)
	}
	if state.Open() {
		q.filter.Waiting, q.filter.Sent = state == runstate.Waiting, state == runstate.Sent
		return q.results(ctx, Open)
	}
	outcome := stateOutcomes[state]
	if outcome.Passed() {
		q.filter.Codes = []int64{0}
	} else if err := q.results(ctx, Failed); err != nil {
		return err
	}
	q.filter.Failed, q.filter.Outcomes = false, []event.Outcome{outcome}
	return nil
}

// bounds finds the ids between which the runs of a time lie: a seek in an index for each end.
func (q *runQuery) bounds(ctx context.Context, f RunFilter) error {
	pool, queries := q.s.cfg.Pool, q.s.queries
	newest, err := queries.MaxRunID(ctx, pool)
	if err != nil {
		return fmt.Errorf("find newest run: %w", db.Error(err))
	}
	q.before = newest + 1
	from, to, twice := pool.WallRange(f.Since, f.Until)
	if twice {
		q.filter.FromMs, q.filter.ToMs = db.Millis(f.Since), db.Millis(f.Until)
	}
	if f.Since.IsZero() {
		if q.from, err = queries.FirstRunID(ctx, pool); err != nil {
			return fmt.Errorf("find oldest run: %w", db.Error(err))
		}
	} else {
		q.filter.Since = from
		q.from, err = queries.FirstRunIDSince(ctx, pool, nullTime(q.filter.Since.Add(-claimSlack)))
		if err != nil {
			return fmt.Errorf("find first run: %w", db.Error(err))
		}
		q.from = cmp.Or(q.from, q.before)
	}
	q.filter.Until = to
	if !f.Until.IsZero() && f.Until.Before(q.s.cfg.Now()) {
		if twice {
			to = to.Add(twiceSlack)
		}
		last, err := queries.LastRunIDBefore(ctx, pool, nullTime(to.Add(claimSlack)))
		if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
			return fmt.Errorf("find last run: %w", err)
		}
		q.before = min(q.before, last+1+lateSlack)
	}
	return nil
}

// above finds where the page above an id begins, and from where on there may be another one above that; 0: nowhere.
func (q *runQuery) above(ctx context.Context, f RunFilter) (before, newer int64, err error) {
	var ids []int64
	reached, err := q.s.search.walk(max(q.from, f.After+1), q.before, q.time/2, false, func(from, before int64) (bool, error) {
		found, err := db.FindRunIDs(ctx, q.s.cfg.Pool, q.filter, from, before, f.Limit+1-len(ids), false)
		ids = append(ids, found...)
		return len(ids) > f.Limit, db.Error(err)
	})
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("find newer runs: %w", err)
	case len(ids) > f.Limit:
		top := ids[f.Limit-1]
		return top + 1, top, nil
	case reached < q.before:
		return reached, reached - 1, nil
	}
	return q.before, 0, nil
}

// stopped says how far back a search has come that took too long.
func (q *runQuery) stopped(ctx context.Context, list *RunList) error {
	at, err := q.s.queries.RunTimeFrom(ctx, q.s.cfg.Pool, list.Older)
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("find how far the search came: %w", err)
	}
	list.Reached = q.s.cfg.Pool.InstantOf(at)
	return nil
}

// Any says whether there is any run at all, seen or not.
func (s *Runs) Any(ctx context.Context) (bool, error) {
	id, err := s.queries.MaxRunID(ctx, s.cfg.Pool)
	return id > 0, db.Error(err)
}

// Get is one run. One that the principal may not see is as little there as one that there is not: numbers tell nothing.
func (s *Runs) Get(ctx context.Context, p auth.Principal, logID int64) (db.Run, error) {
	r, err := s.queries.GetRun(ctx, s.cfg.Pool, logID)
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return db.Run{}, fmt.Errorf("read run: %w", err)
	}
	if err != nil || !p.CanUseGroup(r.JobGroup) {
		return db.Run{}, problem.New(problem.NotFound, "problem.run.gone")
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
	return slices.DeleteFunc(rows, func(r db.ListRunsByIDRow) bool { return !p.CanUseGroup(r.JobGroup) }), during("read runs", err)
}

// Among are those of some runs that a filter finds, newest first.
func (s *Runs) Among(ctx context.Context, p auth.Principal, f RunFilter, ids []int64) ([]db.RunRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	q, err := s.query(ctx, p, f)
	if err != nil || q == nil {
		return nil, err
	}
	q.filter.IDs = ids
	rows, err := db.FindRuns(ctx, s.cfg.Pool, q.filter, q.from, q.before, len(ids))
	return rows, during("find runs", err)
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
func (s *Runs) ReadLog(ctx context.Context, p auth.Principal, logID int64, fromLine int) (scheduler.Piece, error) {
	r, err := s.Get(ctx, p, logID)
	if err != nil {
		return scheduler.Piece{}, err
	}
	return s.LogOf(ctx, &r, fromLine)
}

// CopiesSilent is for how long the store of kept outputs has not worked: what an executor does not give is not to be had meanwhile. 0: it works.
func (s *Runs) CopiesSilent() time.Duration { return s.cfg.Outputs.StoreSilent() }

// LogOf is [Runs.ReadLog] of a run that has just been got.
func (s *Runs) LogOf(ctx context.Context, r *db.Run, fromLine int) (scheduler.Piece, error) {
	return s.cfg.Outputs.Read(ctx, r, max(1, fromLine))
}
