package scheduler

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// ErrNotTheirs says that somebody told about runs of groups for which he may not speak.
var ErrNotTheirs = errors.New("these are not the caller's runs")

// Take takes what runs wrote, as their executor pushes it, to keep it as copies are kept. It is all or nothing, and does not wait
// for the store. Those of runs that are not here, or of which nobody wants to keep anything, are left out.
func (o *Outputs) Take(ctx context.Context, by Caller, speaks func(appName string) bool, outputs []wire.PushedOutput) error {
	groups, err := o.cfg.Directory.scope(by)
	if err != nil {
		return err
	}
	who := finishing{groups: groups, not: o.cfg.Directory.silent(speaks)}
	if o.cfg.Archive == nil {
		return archive.ErrFull
	}
	runs, err := o.toKeep(ctx, outputs)
	if err != nil {
		return err
	}
	var pushed []archive.Pushed
	var foreign []int64
	for i := range outputs {
		r, there := runs[outputs[i].LogID]
		switch {
		case !there:
		case !who.speaksFor(r.Group):
			foreign = append(foreign, r.ID)
		case o.cfg.Archive.Wish(r.keep, r.Group) != jobspec.KeepNone:
			pushed = append(pushed, archive.Pushed{Run: r.Run, Output: outputs[i]})
		}
	}
	if len(foreign) > 0 {
		o.cfg.Refused(by, RefusedRun, foreign)
		return ErrNotTheirs
	}
	if len(pushed) == 0 {
		return nil
	}
	return o.cfg.Archive.Take(pushed)
}

// toKeep are the runs of outputs, as far as they are here: those that this admin has sent lately it knows, the others it reads.
func (o *Outputs) toKeep(ctx context.Context, outputs []wire.PushedOutput) (map[int64]runToKeep, error) {
	runs := make(map[int64]runToKeep, len(outputs))
	ids := o.sent.find(outputs, runs)
	for part := range slices.Chunk(ids, db.MaxBatch) {
		rows, err := o.queries.ListRunsToKeep(ctx, o.cfg.Pool, part)
		if err == nil && len(rows) < len(part) && o.cfg.Pool.Lags() {
			if err = o.cfg.CatchUp(ctx); err == nil {
				rows, err = o.queries.ListRunsToKeep(ctx, o.cfg.Pool, part)
			}
		}
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			runs[r.ID] = runToKeep{archive.Run{ID: r.ID, Group: r.JobGroup, Job: r.JobID}, jobspec.Keep(r.KeepOutput)}
		}
	}
	return runs, nil
}

// runToKeep is a run whose executor pushes what it wrote, and what its job says about keeping that.
type runToKeep struct {
	archive.Run
	keep jobspec.Keep
}

// sentRuns are the runs that were sent last with the wish to push their output. Of a push that comes soon, nothing has to be read then; a run
// is forgotten when others were sent since, and whoever is told of it next reads its row.
type sentRuns struct {
	mu       sync.Mutex
	now, old map[int64]runToKeep
}

// sentHalf is how many runs are remembered at least; it is never more than twice as many.
const sentHalf = 10_000

func (s *sentRuns) add(r runToKeep) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil || len(s.now) >= sentHalf {
		s.now, s.old = make(map[int64]runToKeep), s.now
	}
	s.now[r.ID] = r
}

// find puts the runs of outputs that are remembered to the others, and gives the ids of those that are not.
func (s *sentRuns) find(outputs []wire.PushedOutput, runs map[int64]runToKeep) (unknown []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range outputs {
		id := outputs[i].LogID
		r, there := s.now[id]
		if !there {
			r, there = s.old[id]
		}
		if there {
			runs[id] = r
		} else {
			unknown = append(unknown, id)
		}
	}
	return unknown
}

// wishOf is what the executor of a run that is about to be sent is told of its output; nil: nothing.
func (o *Outputs) wishOf(d *dispatch) *wire.OutputWish {
	if o.cfg.Archive == nil {
		return nil
	}
	wish := o.cfg.Archive.Wish(d.job.keep, d.job.group)
	if wish == jobspec.KeepNone {
		return nil
	}
	return &wire.OutputWish{FailedOnly: wish == jobspec.KeepFailed, Bytes: o.cfg.Archive.RunBytes()}
}

// awaits remembers a run whose executor is about to be told to push its output.
func (o *Outputs) awaits(d *dispatch) {
	if d.read {
		return
	}
	o.sent.add(runToKeep{archive.Run{ID: d.id, Group: d.job.group, Job: d.job.id, LogDate: d.planned.UnixMilli()}, d.job.keep})
}
