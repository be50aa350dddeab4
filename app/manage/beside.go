package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// BesideGroup is an executor group while Punctual works beside XXL-JOB admins.
type BesideGroup struct {
	ID      int64
	AppName string
	Title   string
	Ours    bool
	Since   time.Time // zero while it is theirs
	By      string
	Jobs    int64 // started ones, of whose group it is
	Strays  int64 // jobs of a group of ours that somebody has started at the other end: XXL-JOB schedules them
	Open    int64 // runs of ours that are not over, also of a group that was given back
}

// Beside lists the executor groups with whose they are; ok is false where Punctual does not work beside XXL-JOB admins.
func (s *Adoption) Beside(ctx context.Context, p auth.Principal) (list []BesideGroup, ok bool, err error) {
	if err := requireAdmin(p); err != nil {
		return nil, false, err
	}
	if !s.cfg.Pool.Beside() {
		return nil, false, nil
	}
	list, err = s.besideGroups(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("list groups beside XXL-JOB: %w", db.Error(err))
	}
	return list, true, nil
}

func (s *Adoption) besideGroups(ctx context.Context) ([]BesideGroup, error) {
	pool := s.cfg.Pool
	rows, err := s.queries.ListGroups(ctx, pool)
	if err != nil {
		return nil, err
	}
	moved, err := s.queries.ListBeside(ctx, pool)
	if err != nil {
		return nil, err
	}
	jobs, err := s.queries.CountJobsOfGroupsByStatus(ctx, pool)
	if err != nil {
		return nil, err
	}
	open := make(map[int64]int64)
	for ids := range slices.Chunk(s.cfg.Engine.Load().Open, db.MaxBatch) {
		some, err := s.queries.CountOpenRunsOfGroups(ctx, pool, ids)
		if err != nil {
			return nil, err
		}
		for _, n := range some {
			open[n.JobGroup] += n.Runs
		}
	}
	list := make([]BesideGroup, len(rows))
	for i, r := range rows {
		g := BesideGroup{ID: r.ID, AppName: r.AppName, Title: r.Title, Open: open[r.ID]}
		for _, m := range moved {
			if m.GroupID == r.ID {
				g.Ours, g.Since, g.By = true, time.UnixMilli(m.MovedAt), m.MovedBy
			}
		}
		for _, n := range jobs {
			switch {
			case n.JobGroup != r.ID:
			case g.Ours && n.TriggerStatus == int64(jobspec.StatusRunning):
				g.Strays = n.Jobs
			case jobspec.Started(n.TriggerStatus):
				g.Jobs += n.Jobs
			}
		}
		list[i] = g
	}
	return list, nil
}

// HandOver hands the started jobs of groups to Punctual, or with back to the XXL-JOB admins, all or none. It gives how many.
func (s *Adoption) HandOver(ctx context.Context, p auth.Principal, groups []int64, back bool) (jobs int64, err error) {
	if err := requireAdmin(p); err != nil {
		return 0, err
	}
	names := make(map[int64]string)
	for _, id := range groups {
		g, err := s.queries.GetGroup(ctx, s.cfg.Pool, id)
		if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
			return 0, &problem.Error{Kind: problem.NotFound}
		} else if err != nil {
			return 0, fmt.Errorf("read group: %w", err)
		}
		if back && g.AppName == HTTPAppName {
			return 0, problem.New(problem.Conflict, "problem.beside.http")
		}
		names[id] = g.AppName
	}
	action := ActionMove
	if back {
		action = ActionReturn
	}
	jobs, err = s.cfg.Pool.HandOver(ctx, db.Hand{Groups: groups, Back: back, By: p.Name, Now: s.cfg.Now, Note: func(tx *sql.Tx, id, jobs int64) error {
		return s.audit.Record(ctx, tx, p, Entry{Action: action, Kind: ObjectGroup, ID: id, Name: names[id], Group: id, After: Snapshot{"jobs": jobs}})
	}})
	if err != nil {
		return 0, handProblem(err)
	}
	s.cfg.Engine.JobsChanged()
	return jobs, nil
}

// handProblem says why a hand-over was refused.
func handProblem(err error) error {
	if kept, ok := errors.AsType[*db.KeptError](err); ok {
		key := "problem.beside.unread"
		if kept.Back {
			key = "problem.beside.kept"
		}
		names := make([]string, 0, len(kept.Jobs))
		for _, j := range kept.Jobs[:min(len(kept.Jobs), namedKept)] {
			names = append(names, "#"+strconv.FormatInt(j.ID, 10)+" "+j.Name+" ("+j.Why+")")
		}
		if len(kept.Jobs) > namedKept {
			names = append(names, "…")
		}
		return problem.New(problem.Conflict, key, "Count", len(kept.Jobs), "N", strconv.Itoa(len(kept.Jobs)), "Jobs", strings.Join(names, ", ")).Because(err)
	}
	switch {
	case errors.Is(err, db.ErrBehind):
		return problem.New(problem.Conflict, "problem.beside.behind").Because(err)
	case errors.Is(err, db.ErrNotBeside):
		return problem.New(problem.Conflict, "problem.beside.off").Because(err)
	case errors.Is(err, db.ErrNoLock):
		return problem.New(problem.Conflict, "problem.beside.nolock").Because(err)
	}
	return fmt.Errorf("hand groups over: %w", err)
}

// namedKept is how many jobs a refusal names.
const namedKept = 10

// mayChange refuses, beside XXL-JOB admins, changes of jobs that are theirs: those of groups that were not moved, and one of a moved
// group that somebody has started at the other end. They are made there.
func (s *Jobs) mayChange(ctx context.Context, status int64, groups ...int64) error {
	if !s.cfg.Pool.Beside() {
		return nil
	}
	moved, err := s.cfg.Pool.MovedGroups(ctx)
	if err != nil {
		return err
	}
	theirs := func(id int64) bool { return !moved[id] }
	if status == int64(jobspec.StatusRunning) || slices.ContainsFunc(groups, theirs) {
		return problem.New(problem.Conflict, "problem.beside.theirs")
	}
	return nil
}
