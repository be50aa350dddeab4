package scheduler

import (
	"context"
	"errors"

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
	who := finishing{not: o.cfg.Directory.silent(speaks)}
	if by.Scope != "" {
		if who.group = o.cfg.Directory.idOf(by.Scope); who.group == 0 {
			return ErrNoGroup
		}
	}
	if o.cfg.Archive == nil {
		return archive.ErrFull
	}
	byID := make(map[int64]*wire.PushedOutput, len(outputs))
	ids := make([]int64, len(outputs))
	for i := range outputs {
		ids[i], byID[outputs[i].LogID] = outputs[i].LogID, &outputs[i]
	}
	var pushed []archive.Pushed
	var foreign []int64
	for len(ids) > 0 {
		part := ids[:min(len(ids), db.MaxBatch)]
		ids = ids[len(part):]
		rows, err := o.queries.ListRunsToKeep(ctx, o.cfg.Pool, part)
		if err == nil && len(rows) < len(part) && o.cfg.Pool.Lags() {
			if err = o.cfg.CatchUp(ctx); err == nil {
				rows, err = o.queries.ListRunsToKeep(ctx, o.cfg.Pool, part)
			}
		}
		if err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			switch {
			case !who.speaksFor(r.JobGroup):
				foreign = append(foreign, r.ID)
			case o.cfg.Archive.Wish(jobspec.Keep(r.KeepOutput), r.JobGroup) != jobspec.KeepNone:
				pushed = append(pushed, archive.Pushed{Run: archive.Run{ID: r.ID, Group: r.JobGroup, Job: r.JobID}, Output: *byID[r.ID]})
			}
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

// wish is what an executor is told of the output of a run of a job; nil: nothing.
func (o *Outputs) wish(j *job) *wire.OutputWish {
	if o.cfg.Archive == nil {
		return nil
	}
	wish := o.cfg.Archive.Wish(j.keep, j.group)
	if wish == jobspec.KeepNone {
		return nil
	}
	return &wire.OutputWish{FailedOnly: wish == jobspec.KeepFailed, Bytes: o.cfg.Archive.RunBytes()}
}
