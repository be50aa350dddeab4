package upkeep

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/tick"
)

// State is what a run counts as in the reports (docs/compat.md §2.13).
type State int8

// The states of a run.
const (
	StateNone      State = iota // there is no row yet
	StateRunning                // also: waits to be sent
	StateSucceeded              // the result says so, whatever became of the sending
	StateFailed                 // the sending or the result failed
	StateSkipped                // left out on purpose: neither a success nor a failure
	StateAttempt                // failed with another attempt to come, or a retry that was not needed: its fire is counted by another run
	states
)

// StateOf is what a run counts as: by its outcome, or where there is none by its codes, as the rows of an XXL-JOB admin are read.
//
// What is counted are fires. One whose first two attempts fail and whose third succeeds has succeeded: a failure with retries left has
// another attempt, in the same commit, and its fire counts as what that one becomes, in that one's hour. CountRunsOfGroups says the same.
func StateOf(outcome event.Outcome, triggerCode, handleCode, retriesLeft int64) State {
	switch {
	case outcome == event.Cancelled:
		return StateAttempt
	case outcome == event.Succeeded, outcome == event.Open && handleCode == wire.CodeSuccess:
		return StateSucceeded
	case outcome == event.Open && handleCode == 0 && (triggerCode == 0 || triggerCode == wire.CodeSuccess):
		return StateRunning
	case outcome.Passed():
		return StateSkipped
	case retriesLeft > 0 && outcome.Retried():
		return StateAttempt
	}
	return StateFailed
}

// Change is a run that went from one state to another.
type Change struct {
	Hour     int64 // of the run's planned time, in the installation's zone; see [HourOf]
	Group    int64
	From, To State

	// What else [Config.Counted] may want to know: the job, what the run ended as (Open: it did not), and whether it is a new
	// attempt of one that failed.
	Job     int64
	Outcome event.Outcome
	Retry   bool

	// A trial of a script is no fire of its job, and is counted nowhere.
	Trial bool

	// Of a run that an executor has ended: its id, and how long it took.
	Run  int64
	Took time.Duration
}

// dayOf is the day that a wall-clock time belongs to, as [db.Pool.Wall] gives it: its midnight in Unix seconds.
func dayOf(wall time.Time) int64 { return wall.Truncate(24 * time.Hour).Unix() }

// HourOf is the hour that a wall-clock time belongs to, in Unix seconds.
func HourOf(wall time.Time) int64 { return wall.Truncate(time.Hour).Unix() }

// counts gathers what runs became since the last flush, by the hour they were planned for and their group. It is what keeps
// xxl_job_log_report and punctual_run_hour right without counting rows: an addition in memory for a run, a statement for each
// day and each group's hour every few seconds.
//
// A run is counted on the node that commits its change, and on its own hour: a result that comes after midnight, or after a
// month, corrects the day the run belongs to (docs/compat.md §8.5 #68). A crash loses what was not flushed; recount.go makes it
// good.
type counts struct {
	mu    sync.Mutex
	hours map[hourOfGroup]tally
	long  map[dayOfJob]db.LongRuns
	again []*batch // that nobody knows to be written
	wrote string   // the mark of the last one that was
}

// batch is what one transaction writes. Its mark is written with it: where the answer to the commit was lost, the next try finds out by it
// whether it was carried out, and so counts nothing twice.
type batch struct {
	mark  string
	hours map[hourOfGroup]tally
	long  map[dayOfJob]db.LongRuns
}

// LongRun is how long a run takes that punctual_job_day knows of. Those that are over at once would be most of them, and are nobody's
// slowest.
const LongRun = time.Second

// dayOfJob is where the long runs of a job in a group are counted.
type dayOfJob struct{ day, job, group int64 }

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

func (t tally) minus(o tally) tally {
	for i := range t {
		t[i] -= o[i]
	}
	return t
}

// nothing says that no state that is reported has changed: runs began and ended since the last time, in equal numbers.
func (t tally) nothing() bool {
	return t[StateRunning] == 0 && t[StateSucceeded] == 0 && t[StateFailed] == 0 && t[StateSkipped] == 0
}

func (c *counts) add(changes ...Change) {
	if len(changes) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range changes {
		if ch.Took >= LongRun {
			key, ms := dayOfJob{ch.Hour - ch.Hour%86_400, ch.Job, ch.Group}, ch.Took.Milliseconds()
			c.long[key] = c.long[key].Plus(db.LongRuns{Day: key.day, Job: key.job, Group: key.group, Runs: 1, TotalMs: ms, LongestMs: ms, LongestID: ch.Run})
		}
		if ch.From == ch.To {
			continue
		}
		key := hourOfGroup{ch.Hour, ch.Group}
		t := c.hours[key]
		t[ch.From]--
		t[ch.To]++
		c.hours[key] = t
	}
}

// take hands over what is to be written next, nil for nothing, and the mark that is of no use any more; put gives it back if that failed.
func (c *counts) take() (b *batch, wrote string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.again) > 0 {
		b, c.again = c.again[0], c.again[1:]
		return b, c.wrote
	}
	b = &batch{rand.Text(), c.hours, c.long}
	c.hours, c.long = make(map[hourOfGroup]tally), make(map[dayOfJob]db.LongRuns)
	maps.DeleteFunc(b.hours, func(_ hourOfGroup, t tally) bool { return t.nothing() })
	if len(b.hours)+len(b.long) == 0 {
		return nil, ""
	}
	return b, c.wrote
}

func (c *counts) put(b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again = append(c.again, b)
}

func (c *counts) written(b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote = b.mark
}

// Count counts runs that have gone from one state to another. The next [Service.Flush] writes it.
func (s *Service) Count(changes ...Change) {
	changes = slices.DeleteFunc(changes, func(c Change) bool { return c.Trial })
	s.counts.add(changes...)
	s.cfg.Counted(changes)
}

// countLoop writes the counters every [Config.ReportEvery].
func (s *Service) countLoop(ctx context.Context) {
	for range tick.Every(ctx, s.cfg.ReportEvery) {
		s.do(ctx, "write the daily counters", s.Flush)
	}
}

// Flush adds what has been gathered to the counters of its hours and days. What cannot be written is kept for the next time, and
// written before what comes after it.
func (s *Service) Flush(ctx context.Context) error {
	for {
		b, wrote := s.counts.take()
		if b == nil {
			return nil
		}
		err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error { return s.write(ctx, tx, b, wrote) })
		if err != nil && !errors.Is(err, errWritten) {
			s.counts.put(b)
			return err
		}
		s.counts.written(b)
	}
}

// errWritten means that an earlier try has written a batch.
var errWritten = errors.New("it is written already")

// write writes a batch. Its mark takes the place of the last one.
func (s *Service) write(ctx context.Context, tx *sql.Tx, b *batch, wrote string) error {
	err := s.queries.InsertIdempotency(ctx, tx, db.InsertIdempotencyParams{ID: b.mark, Request: "counters", MadeAt: s.cfg.Now().UnixMilli()})
	if errors.Is(db.Error(err), db.ErrDuplicate) {
		return errWritten
	} else if err != nil {
		return err
	}
	if _, err := s.queries.DeleteIdempotency(ctx, tx, wrote); err != nil {
		return err
	}
	// In one order, so that nodes which flush at the same time wait for each other and do not lock each other out.
	days := make(map[int64]tally)
	for _, key := range slices.SortedFunc(maps.Keys(b.hours), hourOfGroup.compare) {
		t := b.hours[key]
		if err := s.queries.AddToHour(ctx, tx, db.AddToHourParams{
			GroupID: key.group, HourAt: key.hour, RunningCount: t[StateRunning], SucCount: t[StateSucceeded], FailCount: t[StateFailed],
			SkipCount: t[StateSkipped],
		}); err != nil {
			return err
		}
		day := key.hour - key.hour%86_400
		days[day] = days[day].plus(t)
	}
	if err := db.AddLongRuns(ctx, tx, slices.SortedFunc(maps.Values(b.long), db.LongRuns.Compare)); err != nil {
		return err
	}
	if s.cfg.Pool.Beside() { // XXL-JOB admins count the days, from the rows of all
		return nil
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		if t := days[day]; !t.nothing() {
			if err := s.addToDay(ctx, tx, day, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h hourOfGroup) compare(o hourOfGroup) int {
	return cmp.Or(cmp.Compare(h.group, o.group), cmp.Compare(h.hour, o.hour))
}

func (s *Service) addToDay(ctx context.Context, tx *sql.Tx, day int64, t tally) error {
	at, now := nullTime(time.Unix(day, 0).UTC()), nullTime(s.wall(s.cfg.Now()))
	for range 2 {
		// The figures may stand below zero for a moment: the node that saw the run end may flush before the one that saw
		// it begin. Clamping here would make that permanent; who reads them does it.
		rows, err := s.queries.AddToReport(ctx, tx, db.AddToReportParams{
			Running: t[StateRunning], Succeeded: t[StateSucceeded], Failed: t[StateFailed], Skipped: t[StateSkipped], UpdateTime: now, Day: at,
		})
		if err != nil || rows > 0 {
			return err
		}
		if err := s.queries.InsertReport(ctx, tx, db.InsertReportParams{TriggerDay: at, UpdateTime: now}); err != nil {
			return err
		}
	}
	return errors.New("the day's row in xxl_job_log_report can be neither found nor made")
}
