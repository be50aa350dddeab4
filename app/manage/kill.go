package manage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// Kill ends a running run.
func (s *Runs) Kill(ctx context.Context, p auth.Principal, logID int64) error {
	r, err := s.Need(ctx, p, logID, auth.RightRun)
	if err != nil {
		return err
	}
	err = s.cfg.Engine.Kill(ctx, logID, p.Name)
	if err != nil && !killsLater(err) {
		return err
	}
	s.audit.Note(ctx, p, Entry{Action: ActionKill, Kind: ObjectRun, ID: logID, Name: "#" + strconv.FormatInt(logID, 10), Group: r.JobGroup, After: Snapshot{"job_id": r.JobID}})
	return err
}

// killsLater reports whether an error says that the wish is on record, and carried out when it can be.
func killsLater(err error) bool {
	e, away := errors.AsType[*scheduler.ExecutorError](err)
	return errors.Is(err, scheduler.ErrKillLater) || away && e.Kept
}

// CanKill says whether somebody may end a run that stands somewhere: what is left of it is then for the engine to find out.
func CanKill(p auth.Principal, groupID int64, s runstate.State) bool {
	return s.Open() && p.Can(groupID, auth.RightRun)
}

// MaxKill is how many runs are ended in one go; whoever wants more asks again.
const MaxKill = 100

// killsAtOnce bounds how many executors are asked at the same time: one that is away keeps its question waiting.
const killsAtOnce = 16

// OpenOfJob are the newest runs of a job that have not ended, at most [MaxKill].
func (s *Runs) OpenOfJob(ctx context.Context, p auth.Principal, jobID int64) ([]db.RunRow, error) {
	list, err := s.List(ctx, p, RunFilter{Job: jobID, Result: Open, Deep: true, Limit: MaxKill})
	return list.Runs, err
}

// KillAll ends several runs. One that ended by itself meanwhile counts as ended. It says how many were ended, and why the
// first of the others was not.
func (s *Runs) KillAll(ctx context.Context, p auth.Principal, ids []int64) (ended int, err error) {
	ids = ids[:min(len(ids), MaxKill)]
	for _, id := range ids { // all of them or none: a missing right must not show half-way
		if _, err := s.Need(ctx, p, id, auth.RightRun); err != nil {
			return 0, err
		}
	}
	faults := make([]error, len(ids))
	var work errgroup.Group
	work.SetLimit(killsAtOnce)
	for i, id := range ids {
		work.Go(func() error {
			if faults[i] = s.Kill(ctx, p, id); errors.Is(faults[i], scheduler.ErrRunNotRunning) {
				faults[i] = nil
			}
			return nil
		})
	}
	_ = work.Wait() // each has its own fault
	for _, fault := range faults {
		switch {
		case fault == nil:
			ended++
		case err == nil:
			err = fault
		}
	}
	return ended, err
}

// Awaits says whether an open run waits for the report of its call's target.
func (s *Runs) Awaits(ctx context.Context, logID int64) (a scheduler.Awaited, ok bool, err error) {
	if a, ok, err = s.cfg.Callbacks.Of(ctx, logID); err != nil {
		err = fmt.Errorf("read what a run waits for: %w", err)
	}
	return a, ok, err
}

// Turn tells how full the limits are for which a run of a job waits: that of the job, and of the group that it has now, where somebody may see it.
func (s *Runs) Turn(ctx context.Context, p auth.Principal, job db.Job) (ofJob, ofGroup scheduler.SlotsTaken, err error) {
	if ofJob, err = s.cfg.Engine.JobSlots(ctx, &job); err != nil || job.GlueType == jobspec.GlueFlow || !p.CanUseGroup(job.JobGroup) {
		return ofJob, ofGroup, err
	}
	ofGroup, err = s.cfg.Engine.GroupSlots(ctx, job.JobGroup)
	return ofJob, ofGroup, err
}

// KillWish is who wants a run ended that cannot be ended yet, and since when; ok is false when nobody does.
func (s *Runs) KillWish(ctx context.Context, logID int64) (user string, at time.Time, ok bool, err error) {
	w, err := s.queries.GetKill(ctx, s.cfg.Pool, logID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return "", time.Time{}, false, nil
	} else if err != nil {
		return "", time.Time{}, false, fmt.Errorf("read who wants a run ended: %w", err)
	}
	return w.AskedBy, time.UnixMilli(w.AskedAt), true, nil
}
