package upkeep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/db"
)

// ClearRequest says which runs to delete. Runs without a result always stay: their results are still to come.
type ClearRequest struct {
	GroupID, JobID int64     // 0: all
	Before         time.Time // only runs planned before; zero: of any age
	KeepNewest     int       // not the newest so many of the group or job; 0: none is spared
}

// ClearType is what upstream's console calls a way to clear the log (docs/compat.md §5.6).
type ClearType int

// Request is the request that a type means at a moment, for one group or job or all.
func (t ClearType) Request(now time.Time, groupID, jobID int64) (ClearRequest, error) {
	r := ClearRequest{GroupID: groupID, JobID: jobID}
	switch t {
	case 1, 2, 3, 4:
		r.Before = monthsBefore(now, []int{1, 3, 6, 12}[t-1])
	case 5, 6, 7, 8:
		r.KeepNewest = []int{1_000, 10_000, 30_000, 100_000}[t-5]
	case 9:
	default:
		return r, fmt.Errorf("clear type %d is not one of 1 to 9", int(t))
	}
	return r, nil
}

// monthsBefore is the same time so many months before, on the last day of a month that is too short: a month before 31 March is the end of
// February, and not 3 March, which would clear days that are not a month old.
func monthsBefore(at time.Time, n int) time.Time {
	before := at.AddDate(0, -n, 0)
	if before.Day() != at.Day() {
		before = before.AddDate(0, 0, -before.Day())
	}
	return before
}

// maxKeepNewest bounds what KeepNewest costs: so many steps in an index.
const maxKeepNewest = 1_000_000

// previewRows is how many runs a preview reads; beyond it estimates.
const previewRows = 10_000

// ClearPreview says what a clearing would do.
type ClearPreview struct {
	Runs  int64 // that would be deleted
	Exact bool  // false: Runs is an estimate, made from the first of them
	Open  int64 // that are spared because they have no result; as far as the preview looked
}

// PreviewClear counts what [Service.Clear] would delete, exactly while that is little, and never by reading everything.
func (s *Service) PreviewClear(ctx context.Context, r ClearRequest) (ClearPreview, error) {
	upto, err := s.clearUpto(ctx, r)
	if err != nil || upto == 0 {
		return ClearPreview{Exact: true}, err
	}
	p := ClearPreview{Exact: true}
	c := s.clearing(r)
	pages := s.newPages(c.scope, 0, upto)
	pages.size = pageMax
	first, read := int64(0), 0
	for read < previewRows {
		rows, err := pages.next(ctx)
		if err != nil {
			return p, err
		}
		if len(rows) == 0 {
			return p, nil
		}
		if first == 0 {
			first = rows[0].ID
		}
		for i := range rows {
			switch c.decide(&rows[i]) {
			case clearDelete:
				p.Runs++
			case clearSpared:
				p.Open++
			case clearOther:
			}
		}
		read += len(rows)
	}
	if pages.after < upto {
		p.Exact = false
		p.Runs = int64(float64(p.Runs) * float64(upto-first+1) / float64(pages.after-first+1))
	}
	return p, nil
}

// Clear asks for runs to be deleted and returns the id of the clearing, which goes on in the background on one of the
// admins, a few hundred runs at a time, and survives a restart. 0: there is nothing to delete. What may be deleted is
// settled now: a run that is created later stays.
func (s *Service) Clear(ctx context.Context, r ClearRequest, user string) (int64, error) {
	upto, err := s.clearUpto(ctx, r)
	if err != nil || upto == 0 {
		return 0, err
	}
	first, err := s.queries.FirstRunID(ctx, s.cfg.Pool)
	if err != nil {
		return 0, err
	}
	if err := s.noteClearing(ctx, r, upto, user); err != nil {
		return 0, err
	}
	now := s.cfg.Now().UnixMilli()
	return s.queries.InsertClearing(ctx, s.cfg.Pool, db.InsertClearingParams{
		UserName: maker(user), JobGroup: r.GroupID, JobID: r.JobID, BeforeTime: s.clearing(r).before, FirstID: first, UptoID: upto,
		AtID: first - 1, CreatedAt: now, UpdatedAt: now,
	})
}

// noteClearing writes down of which times a clearing leaves no runs: those before the newest run that it may delete. Runs next
// to each other may be out of order by as much as fires are claimed ahead.
func (s *Service) noteClearing(ctx context.Context, r ClearRequest, upto int64, user string) error {
	at, err := s.queries.RunTimeFrom(ctx, s.cfg.Pool, upto)
	if err != nil {
		return db.Error(err)
	}
	before := s.cfg.Pool.FromWall(at.Time).Add(s.cfg.Ahead + time.Second)
	if !r.Before.IsZero() && r.Before.Before(before) {
		before = r.Before
	}
	return s.noteDeletion(ctx, DeletedByClearing, runScope{group: r.GroupID, job: r.JobID}, before, user)
}

// Clearing is a clearing somebody asked for.
type Clearing struct {
	ID             int64
	User           string
	GroupID, JobID int64
	CreatedAt      time.Time
	Deleted        int64
	Open           int64   // spared, because they have no result
	Progress       float64 // 0 to 1
	State          ClearingState
}

// ClearingState is how far a clearing has come.
type ClearingState int

// The states, as stored.
const (
	ClearingOpen ClearingState = iota
	ClearingDone
	ClearingStopped
)

// Clearings lists the newest clearings.
func (s *Service) Clearings(ctx context.Context, limit int) ([]Clearing, error) {
	rows, err := s.queries.ListClearings(ctx, s.cfg.Pool, int32(min(limit, 1000)))
	if err != nil {
		return nil, err
	}
	list := make([]Clearing, len(rows))
	for i, r := range rows {
		list[i] = Clearing{ID: r.ID, User: r.UserName, GroupID: r.JobGroup, JobID: r.JobID, CreatedAt: time.UnixMilli(r.CreatedAt),
			Deleted: r.Deleted, Open: r.Kept, State: ClearingState(r.State)}
		switch all := r.UptoID - r.FirstID + 1; {
		case list[i].State == ClearingDone || all <= 0:
			list[i].Progress = 1
		default:
			list[i].Progress = float64(r.AtID-r.FirstID+1) / float64(all)
		}
	}
	return list, nil
}

// StopClearing ends a clearing where it is; false: it had ended already.
func (s *Service) StopClearing(ctx context.Context, id int64) (bool, error) {
	n, err := s.queries.StopClearing(ctx, s.cfg.Pool, db.StopClearingParams{ID: id, UpdatedAt: s.cfg.Now().UnixMilli()})
	return n > 0, err
}

// clearUpto is the highest id a request may delete; 0: nothing.
func (s *Service) clearUpto(ctx context.Context, r ClearRequest) (upto int64, err error) {
	if r.KeepNewest < 0 || r.KeepNewest > maxKeepNewest {
		return 0, fmt.Errorf("the newest %d runs: between 0 and %d can be spared", r.KeepNewest, maxKeepNewest)
	}
	q, pool, skip := s.queries, s.cfg.Pool, int32(r.KeepNewest)
	switch {
	case r.JobID > 0:
		upto, err = q.NthNewestRunIDOfJob(ctx, pool, db.NthNewestRunIDOfJobParams{JobID: r.JobID, Offset: skip})
	case r.GroupID > 0:
		upto, err = q.NthNewestRunIDOfGroup(ctx, pool, db.NthNewestRunIDOfGroupParams{JobGroup: r.GroupID, Offset: skip})
	default:
		upto, err = db.NthNewestRunID(ctx, pool, int64(r.KeepNewest))
	}
	if err == nil && !r.Before.IsZero() {
		var old int64
		old, err = q.LastRunIDBefore(ctx, pool, nullTime(s.wall(r.Before)))
		upto = min(upto, old)
	}
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return 0, nil
	}
	return upto, err
}

// clearing decides run by run.
type clearing struct {
	scope  runScope
	before sql.NullTime
}

func (s *Service) clearing(r ClearRequest) clearing {
	c := clearing{scope: runScope{group: r.GroupID, job: r.JobID}}
	if !r.Before.IsZero() {
		c.before = nullTime(s.wall(r.Before))
	}
	return c
}

type clearDecision int

const (
	clearOther  clearDecision = iota // another group's, or too young
	clearSpared                      // it is open
	clearDelete
)

func (c *clearing) decide(r *db.ListRunStatesRow) clearDecision {
	switch {
	case c.scope.group > 0 && r.JobGroup != c.scope.group,
		c.before.Valid && r.TriggerTime.Valid && !r.TriggerTime.Time.Before(c.before.Time):
		return clearOther
	case StateOf(r.Outcome, r.TriggerCode, r.HandleCode, 0) == StateRunning:
		return clearSpared
	}
	return clearDelete
}

// clearDue works off the clearings that were asked for, in their order.
func (s *Service) clearDue(ctx context.Context) error {
	for {
		row, err := s.queries.NextClearing(ctx, s.cfg.Pool)
		if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.clearOne(ctx, row); errors.Is(err, errChanged) {
			return nil // the next round sees how it stands
		} else if err != nil {
			return fmt.Errorf("clearing %d: %w", row.ID, err)
		}
		if !s.cfg.Leads() {
			return errNotLeader
		}
	}
}

// clearOne works off one clearing from where it is. [errChanged] means that it was stopped, or that another admin is at it.
func (s *Service) clearOne(ctx context.Context, row db.Clearing) error {
	c := clearing{scope: runScope{group: row.JobGroup, job: row.JobID}, before: row.BeforeTime}
	pages := s.newPages(c.scope, row.AtID, row.UptoID)
	for {
		at := pages.after
		rows, err := pages.next(ctx)
		if err != nil {
			return err
		}
		var ids []int64
		for i := range rows {
			switch c.decide(&rows[i]) {
			case clearDelete:
				ids = append(ids, rows[i].ID)
			case clearSpared:
				row.Kept++
			case clearOther:
			}
		}
		next := db.AdvanceClearingParams{ID: row.ID, OldAtID: at, AtID: pages.after, Kept: row.Kept, UpdatedAt: s.cfg.Now().UnixMilli()}
		if len(rows) == 0 {
			next.State = int64(ClearingDone)
		}
		var deleted int64
		err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
			deleted = 0
			if len(ids) > 0 {
				var err error
				if deleted, err = s.deleteRunsIn(ctx, tx, ids); err != nil {
					return err
				}
			}
			next.Deleted = row.Deleted + deleted
			n, err := s.queries.AdvanceClearing(ctx, tx, next)
			if err == nil && n == 0 {
				return errChanged
			}
			return err
		})
		if err != nil {
			return err
		}
		row.Deleted += deleted
		if len(rows) == 0 {
			s.log.Info("cleared runs", "user", row.UserName, "runs", row.Deleted, "job_id", row.JobID, "group", row.JobGroup)
			s.cfg.Changed()
			return nil
		}
		if !s.cfg.Leads() {
			return errNotLeader
		}
		if err := pages.rest(ctx); err != nil {
			return err
		}
	}
}
