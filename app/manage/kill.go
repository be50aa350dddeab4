package manage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
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
	faults := s.killEach(ctx, p, ids)
	for _, fault := range faults {
		switch {
		case fault == nil, errors.Is(fault, scheduler.ErrRunNotRunning):
			ended++
		case err == nil:
			err = fault
		}
	}
	return ended, err
}

// killEach ends runs and says why each was not, as many at a time as may be.
func (s *Runs) killEach(ctx context.Context, p auth.Principal, ids []int64) []error {
	faults := make([]error, len(ids))
	var work errgroup.Group
	work.SetLimit(killsAtOnce)
	for i, id := range ids {
		work.Go(func() error {
			faults[i] = s.Kill(ctx, p, id)
			return nil
		})
	}
	_ = work.Wait() // each has its own fault
	return faults
}

// BulkKill ends runs. As with [BulkRerun] its items are runs.
const BulkKill = "kill"

// PreviewKill says of each of at most MaxMatching runs whether it would be ended, and why not.
func (s *Runs) PreviewKill(ctx context.Context, p auth.Principal, ids []int64) ([]BulkItem, error) {
	return s.killItems(ctx, p, ids, MaxMatching)
}

// KillMany ends each of at most MaxKill runs, for itself: one that cannot be ended, or ended by itself meanwhile, keeps no other from it.
func (s *Runs) KillMany(ctx context.Context, p auth.Principal, ids []int64) ([]BulkItem, error) {
	items, err := s.killItems(ctx, p, ids, MaxKill)
	if err != nil {
		return nil, err
	}
	var ends []int64
	var of []*BulkItem
	for i := range items {
		if items[i].Err == nil {
			ends, of = append(ends, items[i].ID), append(of, &items[i])
		}
	}
	for i, fault := range s.killEach(ctx, p, ends) {
		of[i].Err, of[i].Changes, of[i].Later = fault, fault == nil, fault != nil && killsLater(fault)
	}
	return items, ctx.Err()
}

func (s *Runs) killItems(ctx context.Context, p auth.Principal, ids []int64, most int) ([]BulkItem, error) {
	stored, jobs, err := readRuns(ctx, s.queries, s.cfg.Pool, ids, most)
	if err != nil {
		return nil, err
	}
	names, err := namesOf(ctx, s.queries, s.cfg.Pool, p, jobs)
	if err != nil {
		return nil, err
	}
	items := make([]BulkItem, 0, len(ids))
	seen := make(map[int64]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		r, ok := stored[id]
		item := BulkItem{ID: id, Name: names[r.JobID]}
		switch {
		case !ok, !p.CanUseGroup(r.JobGroup):
			item.Name, item.Err = "", problem.New(problem.NotFound, "problem.run.gone")
		case !p.Can(r.JobGroup, auth.RightRun):
			item.Err = forbidden()
		case !runstate.Of(r.Outcome, r.TriggerCode, r.HandleCode, string(r.HandleMsg)).Open():
			item.Err = scheduler.ErrRunNotRunning
		}
		item.Changes = item.Err == nil
		items = append(items, item)
	}
	return items, nil
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
