package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
)

const (
	// DefaultRetentionDays is how long runs are kept unless somebody decides otherwise, as upstream's configuration has it.
	DefaultRetentionDays = 30
	// MinRetentionDays is the least; upstream ignores a smaller number (docs/compat.md §4.11).
	MinRetentionDays = 3
	// openGrace is how much longer a run without a result is kept: it may be running.
	openGrace = 90 * 24 * time.Hour
)

// ErrRetention says that a retention is neither "for ever" nor long enough.
var ErrRetention = fmt.Errorf("runs are kept for at least %d days, or for ever (0)", MinRetentionDays)

// RetentionDays is for how many days the installation keeps runs; 0: for ever.
func (e *Engine) RetentionDays(ctx context.Context) (int, error) {
	days, err := e.cfg.Retention(ctx)
	if err == nil && days > 0 && days < MinRetentionDays {
		err = fmt.Errorf("%d days: %w", days, ErrRetention)
	}
	return max(0, days), err
}

// retention decides which runs are too old.
type retention struct {
	today  time.Time     // midnight, wall clock
	days   int           // of the installation; 0: for ever
	perJob map[int64]int // of jobs that have their own; below 0: for ever
}

// bound is the wall-clock time before which a job's runs go; the zero time: they stay.
func (r *retention) bound(jobID int64) time.Time {
	days, own := r.perJob[jobID]
	if !own {
		days = r.days
	}
	if days <= 0 {
		return time.Time{}
	}
	// As upstream: a run of the day that is `days` ago stays until that day is over too (docs/compat.md §4.11).
	return r.today.AddDate(0, 0, -days)
}

func (r *retention) old(run *db.ListRunStatesRow) bool {
	bound := r.bound(run.JobID)
	if bound.IsZero() {
		return false
	}
	if stateOf(run.Outcome, run.TriggerCode, run.HandleCode) == stateRunning {
		bound = bound.Add(-openGrace)
	}
	return !run.TriggerTime.Valid || run.TriggerTime.Time.Before(bound)
}

// retain deletes the runs that are too old. It may be stopped at any point and goes on where rows are left.
func (e *Engine) retain(ctx context.Context) error {
	days, err := e.RetentionDays(ctx)
	if err != nil {
		return err
	}
	own, err := e.queries.ListJobRetention(ctx, e.cfg.Pool)
	if err != nil {
		return err
	}
	r := &retention{today: e.today(), days: days, perJob: make(map[int64]int, len(own))}
	for _, j := range own {
		r.perJob[j.ID] = int(j.RetentionDays)
	}
	// Only a new day or another decision makes more runs too old.
	key := fmt.Sprint(r.today, r.days, own)
	if e.retained.Load() == key {
		return nil
	}
	if err := e.noteRetention(ctx, r); err != nil {
		return err
	}
	began := time.Now()
	var deleted int64
	if days > 0 {
		n, err := e.retainBefore(ctx, r, r.bound(0), 0)
		if deleted += n; err != nil {
			return err
		}
	}
	for _, j := range own {
		if j.RetentionDays > 0 && (days <= 0 || int(j.RetentionDays) < days) {
			n, err := e.retainBefore(ctx, r, r.bound(j.ID), j.ID)
			if deleted += n; err != nil {
				return err
			}
		}
	}
	e.retained.Store(key)
	if deleted > 0 {
		e.log.Info("deleted old runs", "runs", deleted, "took", time.Since(began).Round(time.Millisecond).String())
		e.hub.changed()
	}
	return nil
}

// noteRetention writes down, before it is done, of which times no runs are kept: for the installation, and for each job that
// has a retention of its own.
func (e *Engine) noteRetention(ctx context.Context, r *retention) error {
	for _, id := range append([]int64{0}, slices.Collect(maps.Keys(r.perJob))...) {
		bound := r.bound(id)
		if bound.IsZero() {
			continue
		}
		if err := e.noteDeletion(ctx, DeletedByRetention, runScope{job: id}, e.cfg.Pool.FromWall(bound), ""); err != nil {
			return err
		}
	}
	return nil
}

// retainBefore deletes what is too old among the runs that may be older than a bound: of one job, or of all (0).
func (e *Engine) retainBefore(ctx context.Context, r *retention, bound time.Time, jobID int64) (deleted int64, err error) {
	upto, err := e.queries.LastRunIDBefore(ctx, e.cfg.Pool, nullTime(bound))
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	pages := e.newPages(runScope{job: jobID}, 0, upto)
	for {
		rows, err := pages.next(ctx)
		if err != nil || len(rows) == 0 {
			return deleted, err
		}
		var ids []int64
		for i := range rows {
			if r.old(&rows[i]) {
				ids = append(ids, rows[i].ID)
			}
		}
		if len(ids) > 0 {
			n, err := e.queries.DeleteRuns(ctx, e.cfg.Pool, ids)
			if err != nil && !db.IsTransient(err) { // the next day's round finds what a conflict left
				return deleted, err
			}
			deleted += n
		}
		if !e.leads() {
			return deleted, errNotLeader
		}
		if err := pages.rest(ctx); err != nil {
			return deleted, err
		}
	}
}

// runScope is which runs are read.
type runScope struct {
	group, job int64 // 0: all
}

// pages reads runs in the order of ids, a page at a time. The size of a page follows the time that reading and deleting one
// takes, so that a slow database is asked for little at a time.
type pages struct {
	e           *Engine
	scope       runScope
	after, upto int64
	size        int
	began       time.Time
}

const (
	pageMin, pageStart, pageMax = 50, 200, 1000
	pageTime                    = 20 * time.Millisecond
)

func (e *Engine) newPages(s runScope, after, upto int64) *pages {
	return &pages{e: e, scope: s, after: after, upto: upto, size: pageStart}
}

// next reads a page; it is empty after the last.
func (p *pages) next(ctx context.Context) ([]db.ListRunStatesRow, error) {
	p.began = time.Now()
	rows, err := p.read(ctx)
	if err == nil && len(rows) > 0 {
		p.after = rows[len(rows)-1].ID
	}
	return rows, err
}

func (p *pages) read(ctx context.Context) ([]db.ListRunStatesRow, error) {
	q, pool, limit := p.e.queries, p.e.cfg.Pool, int32(p.size)
	if p.scope.job == 0 && p.scope.group == 0 {
		return q.ListRunStates(ctx, pool, db.ListRunStatesParams{AfterID: p.after, UptoID: p.upto, Limit: limit})
	}
	var rows []db.ListRunStatesRow
	if p.scope.job == 0 {
		of, err := q.ListRunStatesOfGroup(ctx, pool, db.ListRunStatesOfGroupParams{JobGroup: p.scope.group, AfterID: p.after, UptoID: p.upto, Limit: limit})
		for _, r := range of {
			rows = append(rows, db.ListRunStatesRow(r))
		}
		return rows, err
	}
	of, err := q.ListRunStatesOfJob(ctx, pool, db.ListRunStatesOfJobParams{JobID: p.scope.job, AfterID: p.after, UptoID: p.upto, Limit: limit})
	for _, r := range of {
		rows = append(rows, db.ListRunStatesRow(r))
	}
	return rows, err
}

// rest pauses in proportion to what the page took, and adapts the size of the next.
func (p *pages) rest(ctx context.Context) error {
	took := time.Since(p.began)
	switch {
	case took > 2*pageTime:
		p.size = max(p.size/2, pageMin)
	case took < pageTime:
		p.size = min(2*p.size, pageMax)
	}
	return rest(ctx, restAfter(took))
}
