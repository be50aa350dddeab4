package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

// runState is what a run counts as in the reports (docs/compat.md §2.13).
type runState int8

const (
	stateNone      runState = iota // there is no row yet
	stateRunning                   // also: waits to be sent
	stateSucceeded                 // the result says so, whatever became of the sending
	stateFailed                    // the sending or the result failed
	stateSkipped                   // left out on purpose: neither a success nor a failure
	states
)

// stateOf is what a run counts as: by its outcome, or where there is none by its codes, as the rows of an XXL-JOB admin are read.
func stateOf(outcome event.Outcome, triggerCode, handleCode int64) runState {
	switch {
	case outcome == event.Succeeded, outcome == event.Open && handleCode == wire.CodeSuccess:
		return stateSucceeded
	case outcome == event.Open && handleCode == 0 && (triggerCode == 0 || triggerCode == wire.CodeSuccess):
		return stateRunning
	case outcome.Passed():
		return stateSkipped
	}
	return stateFailed
}

// change is a run that went from one state to another.
type change struct {
	hour     int64 // of the run's planned time, in the installation's zone; see hourOf
	group    int64
	from, to runState
}

// dayOf is the day that a wall-clock time belongs to, as [db.Pool.Wall] gives it: its midnight in Unix seconds. hourOf is the
// hour of the day.
func dayOf(wall time.Time) int64  { return wall.Truncate(24 * time.Hour).Unix() }
func hourOf(wall time.Time) int64 { return wall.Truncate(time.Hour).Unix() }

// counts gathers what runs became since the last flush, by the hour they were planned for and their group. It is what keeps
// xxl_job_log_report and punctual_run_hour right without counting rows: an addition in memory for a run, a statement for each
// day and each group's hour every few seconds.
//
// A run is counted on the node that commits its change, and on its own hour: a result that comes after midnight, or after a
// month, corrects the day the run belongs to (docs/compat.md §8.5 #68). A crash loses what was not flushed; report.go makes it
// good.
type counts struct {
	mu    sync.Mutex
	hours map[hourOfGroup]tally
}

// hourOfGroup is what is counted by itself.
type hourOfGroup struct{ hour, group int64 }

// tally is how many runs are in each state.
type tally [states]int64

func (t tally) plus(o tally) tally {
	for i := range t {
		t[i] += o[i]
	}
	return t
}

// nothing says that no state that is reported has changed: runs began and ended since the last time, in equal numbers.
func (t tally) nothing() bool {
	return t[stateRunning] == 0 && t[stateSucceeded] == 0 && t[stateFailed] == 0 && t[stateSkipped] == 0
}

func newCounts() *counts { return &counts{hours: make(map[hourOfGroup]tally)} }

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
		key := hourOfGroup{ch.hour, ch.group}
		t := c.hours[key]
		t[ch.from]--
		t[ch.to]++
		c.hours[key] = t
	}
}

// take hands over what has been gathered; put gives back what could not be written.
func (c *counts) take() map[hourOfGroup]tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	hours := c.hours
	c.hours = make(map[hourOfGroup]tally)
	return hours
}

func (c *counts) put(hours map[hourOfGroup]tally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, t := range hours {
		c.hours[key] = c.hours[key].plus(t)
	}
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

// flushCounts adds what has been gathered to the counters of its hours and days, all in one transaction. What cannot be
// written is kept for the next time.
func (e *Engine) flushCounts(ctx context.Context) error {
	hours := e.counts.take()
	days := make(map[int64]tally)
	for key, t := range hours {
		if t.nothing() {
			delete(hours, key)
			continue
		}
		day := key.hour - key.hour%86_400
		days[day] = days[day].plus(t)
	}
	if len(hours) == 0 {
		return nil
	}
	err := e.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		// In one order, so that nodes which flush at the same time wait for each other and do not lock each other out.
		for _, key := range slices.SortedFunc(maps.Keys(hours), hourOfGroup.compare) {
			t := hours[key]
			if err := e.queries.AddToHour(ctx, tx, db.AddToHourParams{
				GroupID: key.group, HourAt: key.hour, RunningCount: t[stateRunning], SucCount: t[stateSucceeded], FailCount: t[stateFailed],
				SkipCount: t[stateSkipped],
			}); err != nil {
				return err
			}
		}
		for _, day := range slices.Sorted(maps.Keys(days)) {
			if t := days[day]; !t.nothing() {
				if err := e.addToDay(ctx, tx, day, t); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		e.counts.put(hours)
	}
	return err
}

func (h hourOfGroup) compare(o hourOfGroup) int {
	return cmp.Or(cmp.Compare(h.group, o.group), cmp.Compare(h.hour, o.hour))
}

func (e *Engine) addToDay(ctx context.Context, tx *sql.Tx, day int64, t tally) error {
	at, now := nullTime(time.Unix(day, 0).UTC()), nullTime(e.wall(e.now()))
	for range 2 {
		// The figures may stand below zero for a moment: the node that saw the run end may flush before the one that saw
		// it begin. Clamping here would make that permanent; who reads them does it.
		rows, err := e.queries.AddToReport(ctx, tx, db.AddToReportParams{
			Running: t[stateRunning], Succeeded: t[stateSucceeded], Failed: t[stateFailed], Skipped: t[stateSkipped], UpdateTime: now, Day: at,
		})
		if err != nil || rows > 0 {
			return err
		}
		if err := e.queries.InsertReport(ctx, tx, db.InsertReportParams{TriggerDay: at, UpdateTime: now}); err != nil {
			return err
		}
	}
	return errors.New("the day's row in xxl_job_log_report can be neither found nor made")
}

// countNew gives the changes that new rows mean.
func (e *Engine) countNew(runs []*dispatch) []change {
	var changes []change
	for _, d := range runs {
		if d.fresh {
			d.fresh = false
			changes = append(changes, change{hour: hourOf(e.wall(d.planned)), group: d.job.group, to: stateRunning})
		}
	}
	return changes
}

// countDecided are the changes of rows that are inserted decided.
func countDecided(rows []db.NewRun) []change {
	changes := make([]change, len(rows))
	for i := range rows {
		changes[i] = change{hour: hourOf(rows[i].TriggerTime), group: rows[i].JobGroup, to: stateOf(rows[i].Outcome, rows[i].TriggerCode, 0)}
	}
	return changes
}

// unsendable are the changes that failed sendings mean: of those runs that are still this owner's and open, because a result
// may have come from an executor that did not answer in time. It is asked only when something failed.
func (e *Engine) unsendable(ctx context.Context, tx db.DBTX, failed []*outcome) ([]change, error) {
	if len(failed) == 0 {
		return nil, nil
	}
	byRow, became := make(map[ownedRun]*dispatch, len(failed)), make(map[int64]event.Outcome, len(failed))
	ids := make([]int64, len(failed))
	for i, o := range failed {
		byRow[ownedRun{o.d.id, o.d.owner}], became[o.d.id], ids[i] = o.d, o.sent.Outcome, o.d.id
	}
	rows, err := e.queries.ListRunStatesByID(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	var changes []change
	for _, r := range rows {
		if d := byRow[ownedRun{r.ID, r.OwnerNode}]; d != nil && r.TriggerCode == 0 && r.HandleCode == 0 {
			changes = append(changes, change{hour: hourOf(e.wall(d.planned)), group: d.job.group, from: stateRunning, to: stateOf(became[r.ID], wire.CodeFail, 0)})
		}
	}
	return changes, nil
}
