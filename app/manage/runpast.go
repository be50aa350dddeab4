package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// RunPast is a run among those of its job.
type RunPast struct {
	Runs           []db.RunRow // the run with its neighbours, newest first
	Previous, Next int64       // the runs of the fires before and after its own; 0: none
	Usual          Durations   // of the successes before it
	Good           *db.Run     // the last success before it; nil: none among those that were looked at
}

// newerRuns is how many later runs of the job stand beside a run, where there are so many.
const newerRuns = 15

// Past is a run among at most n of its job, without those of groups that the principal may not see: a job may have been moved. The run
// must be one the principal may see; fire are the runs that came of the same fire, its other attempts and the other parts of its broadcast. A
// trial of a script is not among the fires of its job.
func (s *Runs) Past(ctx context.Context, p auth.Principal, r db.Run, fire []int64, n int) (RunPast, error) {
	if r.TriggerType == jobspec.TriggerTrial {
		return RunPast{}, nil
	}
	fires := runsOfJob(p, r.JobID)
	from, before, err := nearFires(ctx, s.cfg.Pool, fires, r.ID+1, math.MaxInt64, false)
	if err != nil {
		return RunPast{}, db.Error(err)
	}
	ids, err := db.FindRunIDs(ctx, s.cfg.Pool, fires, from, before, newerRuns, false)
	if err != nil {
		return RunPast{}, fmt.Errorf("find later runs: %w", db.Error(err))
	}
	top := r.ID
	if len(ids) > 0 {
		top = ids[len(ids)-1]
	}
	rows, err := s.firesBelow(ctx, fires, top+1, n)
	if err != nil {
		return RunPast{}, fmt.Errorf("list runs beside a run: %w", db.Error(err))
	}
	past := RunPast{Runs: rows}
	first := r.ID // of its fire
	for _, id := range fire {
		first = min(first, id)
	}
	var samePart int64 // the newest success before of the same part of a broadcast
	for _, o := range rows {
		if samePart == 0 && o.ID < first && o.ExecutorShardingParam != "" && o.ExecutorShardingParam == r.ExecutorShardingParam && runstate.Of(o.Outcome, o.TriggerCode, o.HandleCode, o.HandleNote) == runstate.Success {
			samePart = o.ID
		}
		switch {
		case o.ID == r.ID || slices.Contains(fire, o.ID):
		case o.ID > r.ID:
			past.Next = o.ID // the last of them is the nearest
		case past.Previous == 0:
			past.Previous = o.ID
		}
	}
	if past.Usual, err = s.Durations(ctx, p, r.JobID, first); err != nil || past.Usual.LastGood == 0 {
		return past, err
	}
	good, err := s.queries.GetRun(ctx, s.cfg.Pool, cmp.Or(samePart, past.Usual.LastGood))
	switch err = db.Error(err); {
	case err == nil && p.CanUseGroup(good.JobGroup):
		past.Good = &good
	case err != nil && !errors.Is(err, db.ErrNotFound): // deleted between the two reads
		return past, fmt.Errorf("read the last good run: %w", err)
	}
	return past, nil
}

// maxAttempts bounds how many attempts of a fire are told of, in each direction.
const maxAttempts = 20

// Attempt is one run of a fire that was tried several times.
type Attempt struct {
	ID    int64
	State runstate.State
}

// Attempts are the runs of the fire that a run belongs to, the first one first, as far as they are known: each retry names the run
// before it, and each run the retry that came of it. They end where the principal may not see the next one. One that was tried once has
// none. The run must be one the principal may see.
func (s *Runs) Attempts(ctx context.Context, p auth.Principal, r db.Run) ([]Attempt, error) {
	this := []db.Run{r}
	for at := r; at.TriggerType == jobspec.TriggerRetry && at.OriginLogID > 0 && at.OriginLogID < at.ID && len(this) <= maxAttempts; {
		before, err := s.queries.GetRun(ctx, s.cfg.Pool, at.OriginLogID)
		if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
			break // deleted by its retention
		} else if err != nil {
			return nil, fmt.Errorf("read the attempt before: %w", err)
		}
		if !p.CanUseGroup(before.JobGroup) {
			break
		}
		at = before
		this = append(this, before)
	}
	slices.Reverse(this)
	for at, n := r, 0; n < maxAttempts; n++ {
		retry, ok := event.Parse(string(at.Events)).Last(event.Retry)
		if !ok || retry.Number(1) <= at.ID {
			break
		}
		after, err := s.queries.GetRun(ctx, s.cfg.Pool, retry.Number(1))
		if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the attempt after: %w", err)
		}
		if !p.CanUseGroup(after.JobGroup) {
			break
		}
		at = after
		this = append(this, after)
	}
	if len(this) == 1 {
		return nil, nil
	}
	list := make([]Attempt, len(this))
	for i, a := range this {
		list[i] = Attempt{a.ID, runstate.Of(a.Outcome, a.TriggerCode, a.HandleCode, string(a.HandleMsg))}
	}
	return list, nil
}
