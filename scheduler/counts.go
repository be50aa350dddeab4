package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

// runState is what a run counts as in the reports (spec §2.13).
type runState int8

const (
	stateNone      runState = iota // there is no row yet
	stateRunning                   // also: waits to be sent
	stateSucceeded                 // the result says so, whatever became of the sending
	stateFailed                    // the sending or the result failed, or the fire was skipped
	states
)

func stateOf(triggerCode, handleCode int64) runState {
	switch {
	case handleCode == wire.CodeSuccess:
		return stateSucceeded
	case handleCode == 0 && (triggerCode == 0 || triggerCode == wire.CodeSuccess):
		return stateRunning
	}
	return stateFailed
}

// change is a run that went from one state to another.
type change struct {
	day      int64 // of the run's planned time, in the installation's zone; see dayOf
	from, to runState
}

// dayOf is the day that a wall-clock time belongs to, as [db.Pool.Wall] gives it: its midnight in Unix seconds.
func dayOf(wall time.Time) int64 { return wall.Truncate(24 * time.Hour).Unix() }

// counts gathers what runs became since the last flush, by the day they were planned for. It is what keeps
// xxl_job_log_report right without counting rows: an addition in memory for a run, a statement a day every few seconds.
//
// A run is counted on the node that commits its change, and on its own day: a result that comes after midnight, or after a
// month, corrects the day the run belongs to (spec §8.5 #68). A crash loses what was not flushed; recount.go makes it good.
type counts struct {
	mu   sync.Mutex
	days map[int64]*[states]int64
}

func newCounts() *counts { return &counts{days: make(map[int64]*[states]int64)} }

func (c *counts) add(changes ...change) {
	if len(changes) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range changes {
		if ch.from == ch.to {
			continue
		}
		d := c.days[ch.day]
		if d == nil {
			d = new([states]int64)
			c.days[ch.day] = d
		}
		d[ch.from]--
		d[ch.to]++
	}
}

// take hands over what has been gathered; put gives back what could not be written.
func (c *counts) take() map[int64]*[states]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	days := c.days
	c.days = make(map[int64]*[states]int64)
	return days
}

func (c *counts) put(day int64, n *[states]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have := c.days[day]; have != nil {
		for i := range n {
			have[i] += n[i]
		}
		return
	}
	c.days[day] = n
}

// countLoop writes the counters every [Config.ReportEvery].
func (e *Engine) countLoop(ctx context.Context) {
	tick := time.NewTicker(e.cfg.ReportEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := e.flushCounts(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("write the daily counters", "error", err)
		}
	}
}

// flushCounts adds what has been gathered to the report. What cannot be written is kept for the next time.
func (e *Engine) flushCounts(ctx context.Context) error {
	var errs error
	for day, n := range e.counts.take() {
		if n[stateRunning] == 0 && n[stateSucceeded] == 0 && n[stateFailed] == 0 {
			continue // began and ended since the last time, in equal numbers
		}
		if err := e.flushDay(ctx, day, n); err != nil {
			e.counts.put(day, n)
			errs = errors.Join(errs, err)
		}
	}
	return errs
}

func (e *Engine) flushDay(ctx context.Context, day int64, n *[states]int64) error {
	at, now := nullTime(time.Unix(day, 0).UTC()), nullTime(e.wall(e.now()))
	return e.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		for range 2 {
			// The figures may stand below zero for a moment: the node that saw the run end may flush before the one that saw
			// it begin. Clamping here would make that permanent; who reads them does it.
			rows, err := e.queries.AddToReport(ctx, tx, db.AddToReportParams{
				Running: n[stateRunning], Succeeded: n[stateSucceeded], Failed: n[stateFailed], UpdateTime: now, Day: at,
			})
			if err != nil || rows > 0 {
				return err
			}
			if err := e.queries.InsertReport(ctx, tx, db.InsertReportParams{TriggerDay: at, UpdateTime: now}); err != nil {
				return err
			}
		}
		return errors.New("the day's row in xxl_job_log_report can be neither found nor made")
	})
}

// born are the changes that new rows mean.
func (e *Engine) born(runs []*dispatch) []change {
	var changes []change
	for _, d := range runs {
		if d.fresh {
			d.fresh = false
			changes = append(changes, change{day: dayOf(e.wall(d.planned)), to: stateRunning})
		}
	}
	return changes
}

// bornDecided are the changes of rows that are decided at their birth.
func bornDecided(rows []db.NewRun) []change {
	changes := make([]change, len(rows))
	for i := range rows {
		changes[i] = change{day: dayOf(rows[i].TriggerTime), to: stateOf(rows[i].TriggerCode, 0)}
	}
	return changes
}

// unsendable are the changes that failed sendings mean: of those runs that are still this owner's and open, because a result
// may have come from an executor that did not answer in time. It is asked only when something failed.
func (e *Engine) unsendable(ctx context.Context, tx db.DBTX, failed []*outcome) ([]change, error) {
	if len(failed) == 0 {
		return nil, nil
	}
	byID := make(map[int64]*dispatch, len(failed))
	ids := make([]int64, len(failed))
	for i, o := range failed {
		byID[o.d.id], ids[i] = o.d, o.d.id
	}
	rows, err := e.queries.ListRunStatesByID(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	var changes []change
	for _, r := range rows {
		if d := byID[r.ID]; r.TriggerCode == 0 && r.HandleCode == 0 && r.OwnerNode == d.owner {
			changes = append(changes, change{day: dayOf(e.wall(d.planned)), from: stateRunning, to: stateFailed})
		}
	}
	return changes, nil
}
