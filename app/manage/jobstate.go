package manage

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Start makes a job due from now on. A job that runs already is left as it is.
func (s *Jobs) Start(ctx context.Context, p auth.Principal, id int64) error {
	return s.startAfter(ctx, p, id, 0)
}

// startAfter is Start for a job whose fires before a moment are claimed, by itself or by the one whose schedule it takes over. It goes by the
// job as it is in the transaction: somebody may have changed or moved it since a page was drawn.
func (s *Jobs) startAfter(ctx context.Context, p auth.Principal, id, claimed int64) error {
	err := s.change(ctx, "start job", func(tx *sql.Tx) error {
		j, err := s.schedulable(ctx, tx, p, id)
		if err != nil || jobspec.Started(j.TriggerStatus) {
			return err
		}
		if !j.ScheduleType.Schedules() {
			return problem.New(problem.Conflict, "problem.job.noschedule")
		}
		at, err := s.NextTime(j.Spec(), max(j.ClaimedUntil, claimed))
		if err != nil {
			if p, ok := errors.AsType[*problem.Error](err); ok {
				p.Kind = problem.Conflict // there is no form to show the field in
			}
			return err
		}
		started, err := s.schedules.Start(ctx, tx, db.StartJobParams{ID: id, NextTime: at.UnixMilli(), UpdateTime: s.wall()})
		if err == nil && !started {
			err = db.ErrMoved // it was stopped just now
		}
		if err != nil {
			return err
		}
		return s.recordState(ctx, tx, p, ActionStart, j)
	})
	if err == nil {
		s.jobsChanged(ctx)
	}
	return err
}

// Stop ends a job's schedule. Runs that are under way go on.
func (s *Jobs) Stop(ctx context.Context, p auth.Principal, id int64) error {
	err := s.change(ctx, "stop job", func(tx *sql.Tx) error {
		j, err := s.schedulable(ctx, tx, p, id)
		if err != nil {
			return err
		}
		stopped, err := s.schedules.Stop(ctx, tx, id, s.wall())
		if err != nil || !stopped {
			return err
		}
		return s.recordState(ctx, tx, p, ActionStop, j)
	})
	if err == nil {
		s.jobsChanged(ctx)
	}
	return err
}

// schedulable is a job that the principal may start and stop.
func (s *Jobs) schedulable(ctx context.Context, tx *sql.Tx, p auth.Principal, id int64) (db.Job, error) {
	j, err := s.need(ctx, tx, p, id, auth.RightSchedule)
	if err != nil {
		return j, err
	}
	return j, s.mayChange(ctx, j.TriggerStatus, j.JobGroup)
}

// recordState writes to the audit log that a job was started or stopped. Its row is locked by then: what changed between reading and locking it
// is seen now, and the change is made anew.
func (s *Jobs) recordState(ctx context.Context, tx *sql.Tx, p auth.Principal, action Action, j db.Job) error {
	now, err := s.queries.GetJob(ctx, tx, j.ID)
	switch {
	case err != nil:
		return err
	case JobVersion(now) != JobVersion(j):
		return db.ErrMoved
	}
	return s.audit.Record(ctx, tx, p, Entry{Action: action, Kind: ObjectJob, ID: j.ID, Name: j.JobDesc, Group: j.JobGroup})
}

// A job may have millions of runs. They go in rounds after the job itself, for as long as somebody waits for a page; what
// is left then belongs to no job any more and goes with the log's retention.
const (
	deleteRound = 1000
	deleteFor   = 5 * time.Second
)

// killWaiting has the admins forget what they hold of a job that is deleted, such as a retry that waits for its back-off.
func (s *Jobs) killWaiting(ctx context.Context, tx *sql.Tx, p auth.Principal, jobID int64) error {
	page := db.ListUnsentRunsOfJobParams{JobID: jobID, Limit: db.MaxBatch}
	for {
		ids, err := s.queries.ListUnsentRunsOfJob(ctx, tx, page)
		if err != nil {
			return err
		}
		if err := db.InsertKills(ctx, tx, p.Name, s.cfg.Now().UnixMilli(), ids); err != nil || len(ids) < db.MaxBatch {
			return err
		}
		page.AfterID = ids[len(ids)-1]
	}
}

// Delete removes a job, its script's history and its runs. Runs that are under way go on and are no longer recorded.
func (s *Jobs) Delete(ctx context.Context, p auth.Principal, id int64) error {
	return s.DeleteVersion(ctx, p, id, "")
}

// DeleteVersion is Delete for a job that is still what [JobVersion] said; empty asks for no check.
func (s *Jobs) DeleteVersion(ctx context.Context, p auth.Principal, id int64, version string) error {
	if _, err := s.Need(ctx, p, id, auth.RightEdit); err != nil {
		return err
	}
	err := s.change(ctx, "delete job", func(tx *sql.Tx) error {
		j, err := s.queries.GetJob(ctx, tx, id)
		gone := errors.Is(db.Error(err), db.ErrNotFound)
		switch {
		case err != nil && !gone:
			return err
		case version != "" && (gone || JobVersion(j) != version):
			return problem.New(problem.Conflict, "problem.changed")
		case gone:
			return nil
		}
		if err := s.mayDelete(ctx, tx, p, j); err != nil {
			return err
		}
		if err := s.schedules.Delete(ctx, tx, id, j.Revision); err != nil {
			return err
		}
		if err := s.killWaiting(ctx, tx, p, id); err != nil {
			return err
		}
		if err := s.cfg.Alarms.ForgetJob(ctx, tx, id); err != nil {
			return err
		}
		if err := endPausesOf(ctx, tx, p, s.cfg.Now(), jobspec.PauseJob, id); err != nil {
			return err
		}
		if _, err := s.queries.DeleteScriptChange(ctx, tx, id); err != nil {
			return err
		}
		if _, err := s.queries.DeleteDeclaredJob(ctx, tx, id); err != nil {
			return err
		}
		if _, err := s.queries.DeleteFileJob(ctx, tx, id); err != nil {
			return err
		}
		if err := s.queries.DeleteChainJobs(ctx, tx, id); err != nil {
			return err
		}
		if err := s.queries.DeleteGlueVersionsOfJob(ctx, tx, id); err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionDelete, Kind: ObjectJob, ID: id, Name: j.JobDesc, Group: j.JobGroup, Before: jobSnapshot(j)})
	})
	if err != nil {
		return err
	}
	s.jobsChanged(ctx)
	s.cfg.Pool.AfterCommit(ctx, func(ctx context.Context) { s.deleteRuns(ctx, id) })
	return nil
}

// mayDelete says whether a job may be deleted by somebody, as it is in the transaction: it may have been moved to another group just now.
func (s *Jobs) mayDelete(ctx context.Context, tx *sql.Tx, p auth.Principal, j db.Job) error {
	if err := mayJob(p, j, auth.RightEdit); err != nil {
		return err
	}
	if err := s.mayChange(ctx, j.TriggerStatus, j.JobGroup); err != nil {
		return err
	}
	return s.mayEdit(ctx, tx, j.ID)
}

// deleteRuns deletes the runs of a job that is gone, as many as there is time for.
func (s *Jobs) deleteRuns(ctx context.Context, jobID int64) {
	ctx, cancel := context.WithTimeout(ctx, deleteFor)
	defer cancel()
	for {
		if n, err := s.cfg.Upkeep.DeleteRunsOfJob(ctx, jobID, deleteRound); err != nil || n < deleteRound {
			return
		}
	}
}

// jobsChanged tells the engine to look at the jobs.
func (s *Jobs) jobsChanged(ctx context.Context) {
	s.cfg.Pool.AfterCommit(ctx, func(context.Context) { s.cfg.Engine.JobsChanged() })
}
