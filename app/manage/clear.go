package manage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// Upkeep is what the use cases need of the scheduler's upkeep.
type Upkeep interface {
	PreviewClear(ctx context.Context, r upkeep.ClearRequest) (upkeep.ClearPreview, error)
	Clear(ctx context.Context, r upkeep.ClearRequest, user string) (int64, error)
	Clearings(ctx context.Context, limit int) ([]upkeep.Clearing, error)
	StopClearing(ctx context.Context, id int64) (bool, error)
	RetentionDays(ctx context.Context) (int, error)
	DeleteRunsOfJob(ctx context.Context, jobID int64, limit int32) (deleted int, err error)
}

// ClearInput says which runs somebody wants to be rid of.
type ClearInput struct {
	Group int64 // 0: all, which only an administrator may ask for
	Job   int64 // 0: all of the group
	Type  upkeep.ClearType
}

// The names of the fields of a clearing, by which a problem.Field finds its place in a form.
const (
	FieldClearGroup = "group"
	FieldClearJob   = "job"
	FieldClearType  = "type"
)

// request checks who asks for a clearing and what for.
func (s *Runs) request(ctx context.Context, p auth.Principal, in ClearInput) (r upkeep.ClearRequest, err error) {
	switch {
	case !p.CanAnywhere(auth.RightEdit):
		return r, forbidden()
	case in.Group == 0 && !p.Admin:
		return r, problem.InvalidFields(problem.Field{Name: FieldClearGroup, Key: "clear.error.group"})
	case in.Group != 0 && !p.Can(in.Group, auth.RightEdit):
		return r, forbidden()
	}
	if in.Job != 0 {
		j, err := s.queries.GetJob(ctx, s.cfg.Pool, in.Job)
		switch err = db.Error(err); {
		case errors.Is(err, db.ErrNotFound):
			// What a deleted job left is found by its id; the group keeps it within the principal's rights.
		case err != nil:
			return r, fmt.Errorf("read job: %w", err)
		case in.Group != 0 && j.JobGroup != in.Group:
			return r, problem.InvalidFields(problem.Field{Name: FieldClearJob, Key: "clear.error.job"})
		}
	}
	if r, err = in.Type.Request(s.cfg.Now(), in.Group, in.Job); err != nil {
		return r, problem.InvalidFields(problem.Field{Name: FieldClearType, Key: "clear.error.type"})
	}
	return r, nil
}

// PreviewClear says what a clearing would delete.
func (s *Runs) PreviewClear(ctx context.Context, p auth.Principal, in ClearInput) (upkeep.ClearPreview, error) {
	r, err := s.request(ctx, p, in)
	if err != nil {
		return upkeep.ClearPreview{}, err
	}
	preview, err := s.cfg.Upkeep.PreviewClear(ctx, r)
	return preview, during("preview clearing", err)
}

// Clear asks for runs to be deleted; some says whether there are any. The deleting goes on in the background.
func (s *Runs) Clear(ctx context.Context, p auth.Principal, in ClearInput) (some bool, err error) {
	r, err := s.request(ctx, p, in)
	if err != nil {
		return false, err
	}
	snapshot := Snapshot{"type": int(in.Type)}
	if in.Group != 0 {
		snapshot["group"] = in.Group
	}
	if in.Job != 0 {
		snapshot["job_id"] = in.Job
	}
	err = s.cfg.Pool.Together(ctx, func(ctx context.Context) error {
		id, err := s.cfg.Upkeep.Clear(ctx, r, p.Name)
		if some = id != 0; err != nil || !some {
			return err
		}
		return s.audit.Record(ctx, s.cfg.Pool, p, Entry{Action: ActionClear, Kind: ObjectRun, ID: id, Name: "clearing " + strconv.FormatInt(id, 10), Group: in.Group, After: snapshot})
	})
	if err != nil {
		return false, fmt.Errorf("clear runs: %w", err)
	}
	return some, nil
}

// maxClearings is how many clearings are read to be shown.
const maxClearings = 50

// Clearings are the newest clearings that the principal may have asked for.
func (s *Runs) Clearings(ctx context.Context, p auth.Principal) ([]upkeep.Clearing, error) {
	list, err := s.cfg.Upkeep.Clearings(ctx, maxClearings)
	return slices.DeleteFunc(list, func(c upkeep.Clearing) bool { return !mayClear(p, c.GroupID) }), during("list clearings", err)
}

// mayClear says whether somebody may clear the runs of a group, or of all (0).
func mayClear(p auth.Principal, group int64) bool {
	return p.Admin || group != 0 && p.Can(group, auth.RightEdit)
}

// StopClearing ends a clearing where it is. One that has ended already stays as it is.
func (s *Runs) StopClearing(ctx context.Context, p auth.Principal, id int64) error {
	c, err := s.queries.GetClearing(ctx, s.cfg.Pool, id)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return problem.New(problem.NotFound, "problem.clearing.gone")
	} else if err != nil {
		return fmt.Errorf("read clearing: %w", err)
	}
	if !mayClear(p, c.JobGroup) {
		if !p.CanUseGroup(c.JobGroup) {
			return problem.New(problem.NotFound, "problem.clearing.gone")
		}
		return forbidden()
	}
	err = s.cfg.Pool.Together(ctx, func(ctx context.Context) error {
		stopped, err := s.cfg.Upkeep.StopClearing(ctx, id)
		if err != nil || !stopped {
			return err
		}
		return s.audit.Record(ctx, s.cfg.Pool, p, Entry{Action: ActionStop, Kind: ObjectRun, ID: id, Name: "clearing " + strconv.FormatInt(id, 10), Group: c.JobGroup})
	})
	if err != nil {
		return fmt.Errorf("stop clearing: %w", err)
	}
	return nil
}

// RetentionDays is for how many days runs are kept; 0: for ever.
func (s *Runs) RetentionDays(ctx context.Context) (int, error) {
	days, err := s.cfg.Upkeep.RetentionDays(ctx)
	return days, during("read retention", err)
}
