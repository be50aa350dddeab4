package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// Adoption is what administrators are told of a database that was XXL-JOB's, and the word that ends the way back to it.
type Adoption struct {
	cfg      Config
	queries  *db.Queries
	audit    *Audit
	channels *Channels
}

// AdoptionState is how an adopted database stands.
type AdoptionState struct {
	Release    db.Release
	At         time.Time
	Form       db.PasswordForm // in which passwords are kept for the old admin; "" when there is no way back any more
	Finished   time.Time       // zero while there is a way back
	FinishedBy string
	Backoffs   int64 // adopted jobs that were given a wait before each retry
	Unheard    int64 // jobs that name addresses for alarm mails, while nobody sends any
	Retention  int   // for how many days runs are kept; 0: for ever
	Jobs       []AdoptedJob
	More       bool // there are more than are listed
}

// AdoptedJob is a job whose times are not what they were.
type AdoptedJob struct {
	ID      int64
	Name    string
	Conf    string
	Finding db.JobFinding
	Started bool
}

// adoptedJobs is how many jobs are listed.
const adoptedJobs = 200

// WayBack says in which form passwords are kept for an XXL-JOB admin that may be put back; "" when none may.
func (s *Adoption) WayBack(ctx context.Context, p auth.Principal) (db.PasswordForm, error) {
	if err := requireAdmin(p); err != nil {
		return "", err
	}
	return s.cfg.Pool.WayBack(ctx)
}

// Get tells how the database stands; one that never was XXL-JOB's is not found.
func (s *Adoption) Get(ctx context.Context, p auth.Principal) (AdoptionState, error) {
	if err := requireAdmin(p); err != nil {
		return AdoptionState{}, err
	}
	a, err := s.queries.GetAdoption(ctx, s.cfg.Pool)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return AdoptionState{}, &problem.Error{Kind: problem.NotFound}
	} else if err != nil {
		return AdoptionState{}, fmt.Errorf("read what was adopted: %w", err)
	}
	state := AdoptionState{Release: db.Release(a.ReleaseLine), At: time.UnixMilli(a.AdoptedAt), FinishedBy: a.FinishedBy, Backoffs: a.Backoffs, Unheard: s.channels.Unheard(ctx)}
	if a.FinishedAt != 0 {
		state.Finished = time.UnixMilli(a.FinishedAt)
	} else {
		state.Form = state.Release.Passwords()
	}
	if state.Retention, err = s.cfg.Upkeep.RetentionDays(ctx); err != nil {
		return AdoptionState{}, fmt.Errorf("read for how long runs are kept: %w", err)
	}
	rows, err := s.queries.ListAdoptedJobs(ctx, s.cfg.Pool, adoptedJobs+1)
	if err != nil {
		return AdoptionState{}, fmt.Errorf("list adopted jobs: %w", db.Error(err))
	}
	for _, r := range rows[:min(len(rows), adoptedJobs)] {
		state.Jobs = append(state.Jobs, AdoptedJob{ID: r.JobID, Name: r.JobDesc, Conf: r.ScheduleConf, Finding: db.JobFinding(r.Finding), Started: r.TriggerStatus != 0})
	}
	state.More = len(rows) > adoptedJobs
	return state, nil
}

// Finish says that there is no way back to XXL-JOB any more: from now on passwords are kept in our form, from the next login of each
// user on. Saying it twice changes nothing.
func (s *Adoption) Finish(ctx context.Context, p auth.Principal) error {
	if err := requireAdmin(p); err != nil {
		return err
	}
	if s.cfg.Pool.Beside() {
		return problem.New(problem.Conflict, "problem.beside.finish")
	}
	err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		a, err := s.queries.GetAdoption(ctx, tx)
		if err != nil {
			return err
		}
		n, err := s.queries.FinishAdoption(ctx, tx, db.FinishAdoptionParams{FinishedAt: s.cfg.Now().UnixMilli(), FinishedBy: p.Name})
		if err != nil || n == 0 {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionFinish, Kind: ObjectAdoption, Name: "XXL-JOB " + db.Release(a.ReleaseLine).Span()})
	})
	if errors.Is(err, db.ErrNotFound) {
		return &problem.Error{Kind: problem.NotFound}
	}
	if err != nil {
		return fmt.Errorf("finish the adoption: %w", err)
	}
	return nil
}
