package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// errPausesChanged means that a claim was decided by other pauses than there are now.
var errPausesChanged = errors.New("pauses were changed meanwhile")

// pauses are the engine's view of the pauses, read anew when their revision has changed. Every claim compares it in its transaction, so
// a claim that begins after a pause was made knows it, whichever admin made it.
//
// A job that is held back is moved to the end of its pause, so that it costs no claim anything, and says where it was held and by which
// revision. Whatever changes a pause raises the revision; then each admin that notices has all jobs of older revisions decided anew from
// where they were held (resume). That is one guarded statement, so it does not matter who does it, how often, or whether a claim of an
// older revision is committed behind it: the next look finds that one too.
type pauses struct {
	e       *Engine
	current atomic.Pointer[pauseBook]
}

// pauseBook is what was read at one revision. It is never changed, only replaced.
type pauseBook struct {
	jobspec.PauseBook
	revision int64
}

func newPauses(e *Engine) *pauses {
	p := &pauses{e: e}
	p.current.Store(&pauseBook{})
	return p
}

// look reads the pauses if they have changed, and has jobs decided anew that were held back by others.
func (p *pauses) look(ctx context.Context) error {
	pool := p.e.cfg.Pool
	revision, err := p.e.queries.GetPauseRevision(ctx, pool)
	if err != nil {
		return err
	}
	if revision != p.current.Load().revision {
		if err := p.read(ctx); err != nil {
			return err
		}
	}
	if revision == 0 {
		return nil
	}
	return p.resume(ctx, revision)
}

// read reads the pauses and their revision as of one moment.
func (p *pauses) read(ctx context.Context) error {
	for {
		before, err := p.e.queries.GetPauseRevision(ctx, p.e.cfg.Pool)
		if err != nil {
			return err
		}
		rows, err := p.e.queries.ListPauses(ctx, p.e.cfg.Pool, db.ListPausesParams{Since: p.e.now().Add(-db.KeepPauses).UnixMilli(), Limit: db.MaxPauses})
		if err != nil {
			return err
		}
		after, err := p.e.queries.GetPauseRevision(ctx, p.e.cfg.Pool)
		if err != nil {
			return err
		}
		if before == after {
			p.current.Store(newPauseBook(after, rows, p.e.cfg.JobZone))
			return nil
		}
	}
}

func newPauseBook(revision int64, rows []db.Pause, zone *time.Location) *pauseBook {
	return &pauseBook{PauseBook: jobspec.NewPauseBook(db.PauseSpecs(rows, zone)), revision: revision}
}

// resume has the jobs decided anew that were held back by an older revision of the pauses.
func (p *pauses) resume(ctx context.Context, revision int64) error {
	for {
		ids, err := p.e.queries.ListPausedJobs(ctx, p.e.cfg.Pool, db.ListPausedJobsParams{Revision: revision, Limit: db.MaxBatch})
		if err != nil || len(ids) == 0 {
			return err
		}
		if _, err := p.e.queries.ResumeJobs(ctx, p.e.cfg.Pool, db.ResumeJobsParams{Ids: ids, Revision: revision}); err != nil {
			return err
		}
	}
}

// samePauses fails a claim that was decided by other pauses than there are in its transaction. It is a statement of its own because it must
// not wait: read in the update that moves the jobs, it would lock the row that a change of pauses has written, and whoever stopped in the
// midst of one would hold up all claims (P4).
func (e *Engine) samePauses(ctx context.Context, tx *sql.Tx, book *pauseBook) error {
	revision, err := e.queries.GetPauseRevision(ctx, tx)
	if err == nil && revision != book.revision {
		err = errPausesChanged
	}
	return err
}

// PausesChanged has this admin go by pauses that were changed a moment ago.
func (e *Engine) PausesChanged(ctx context.Context) error { return e.pauses.look(ctx) }

// heldRuns are the runs and the record that the end of a pause makes of a job.
func (e *Engine) heldRuns(j *job, h *jobspec.Held, now time.Time) (runs []*dispatch, skipped []db.NewRun) {
	by, reason := "", ""
	if h.Pause != nil {
		by, reason = h.Pause.By, h.Pause.Reason
	}
	made := func(due time.Time, p jobspec.Passed) {
		all := e.newRuns(j, cause{trigger: jobspec.TriggerMisfire, planned: h.At, due: due, param: j.param, retries: j.retries})
		for _, d := range all {
			d.events = append(d.events, event.New(now, event.StandsFor, p.Count, p.More, p.First, p.Last), event.New(now, event.HeldBack, by, reason))
		}
		runs = append(runs, all...)
	}
	if h.Once {
		made(h.Last, h.Passed)
	}
	for _, due := range h.Runs {
		made(due, jobspec.Passed{First: due, Last: due, Count: 1})
	}
	if s := h.Skipped; s != nil {
		skipped = append(skipped, e.skippedRow(j, s.Last, event.Skipped, event.New(now, event.PausedFires, s.Count, s.More, s.First, s.Last, by, reason)))
	}
	return runs, skipped
}
