// Package deadline says how a job stands that has to be done by a time of day: from its last planned fire before that time, what became
// of it, and how long the job usually takes. The alarmer watches by it, and the pages show it.
package deadline

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/scheduler/runtimes"
)

// State is how a job stands for a deadline.
type State string

const (
	None   State = "none"   // nothing has to be done: no fire, a pause, or a job that was stopped or changed since
	Ahead  State = "ahead"  // its fire is still to come
	OnTime State = "ontime" // not done yet, and expected to be in time, as far as is known
	AtRisk State = "atrisk" // expected to end too late
	Missed State = "missed" // the time has come, and it is not done
	Done   State = "done"
	Late   State = "late" // done, after the time
)

// Warns reports whether somebody is to be told.
func (s State) Warns() bool { return s == AtRisk || s == Missed }

// Standing is how a job stands for one deadline.
type Standing struct {
	jobspec.Deadline
	State    State
	Expected time.Time // when it will probably end, or has ended; zero: not known
	Usual    time.Duration
	Run      int64 // the open run, or the newest one of the fire; 0: none
}

// TooTight reports whether the job usually takes longer than from its coming fire to the deadline.
func (s *Standing) TooTight() bool { return s.State == Ahead && s.Expected.After(s.By) }

// Run is what a judgement needs of a run.
type Run struct {
	ID           int64
	Part         string    // of a broadcast
	Due          time.Time // which planned time it is for
	Began, Ended time.Time // zero: not yet
	State        runstate.State
}

// Judge is how a fire stands by its runs, newest first, and those of later times, which do as well: somebody has run the job again.
// A broadcast is done when each of its parts is. What is open is expected to take as long as 19 of 20 successes took; what is to be
// begun yet, from now on.
func Judge(d jobspec.Deadline, now time.Time, runs []Run, usual runtimes.Durations) Standing {
	s := Standing{Deadline: d, State: None, Usual: usual.P95}
	if d.Fire.IsZero() {
		return s
	}
	if now.Before(d.Fire) {
		s.State = Ahead
		if usual.Runs > 0 {
			s.Expected = d.Fire.Add(usual.P95)
		}
		return s
	}
	parts := make(map[string]time.Time) // when the first success of each ended; zero: none has
	var expected time.Time
	open := false
	for i := range runs {
		r := &runs[i]
		if r.Due.Before(d.Fire) {
			continue
		}
		if s.Run == 0 {
			s.Run = r.ID
		}
		done, known := parts[r.Part]
		switch {
		case r.State == runstate.Success:
			if r.Ended.IsZero() {
				r.Ended = r.Due // of an old admin that did not write it
			}
			if done.IsZero() || r.Ended.Before(done) {
				parts[r.Part] = r.Ended
			}
		case !known:
			parts[r.Part] = time.Time{}
		}
		if r.State.Open() {
			began := r.Began
			if began.IsZero() {
				began = now
			}
			if end := began.Add(usual.P95); !open || end.After(expected) {
				expected, s.Run = end, r.ID
			}
			open = true
		}
	}
	all := len(parts) > 0
	for _, done := range parts {
		all = all && !done.IsZero()
		if done.After(s.Expected) {
			s.Expected = done
		}
	}
	if all {
		s.State = Done
		if s.Expected.After(d.By) {
			s.State = Late
		}
		return s
	}
	if !open {
		expected = now.Add(usual.P95)
	}
	if expected.Before(now) {
		expected = now // it has already taken longer
	}
	if s.Expected = expected; usual.Runs == 0 {
		s.Expected = time.Time{}
	}
	switch {
	case !now.Before(d.By):
		s.State = Missed
	case s.Expected.After(d.By):
		s.State = AtRisk
	default:
		s.State = OnTime
	}
	return s
}

// Job is a job with a deadline.
type Job struct {
	ID       int64
	Schedule jobspec.Schedule
	Clock    jobspec.Clock
	Next     time.Time // the stored next due time
	Started  bool
	Changed  time.Time // the last change of the definition, or start
	Pauses   jobspec.Pauses
}

// Reader reads what is on record.
type Reader struct {
	Pool    *db.Pool
	Queries *db.Queries
	// Usual says how long a job usually takes; nil: what its runs tell.
	Usual func(ctx context.Context, jobID int64) (runtimes.Durations, error)
}

const (
	runPage  = 100
	maxPages = 5 // a fire is not looked for among more runs than these
)

// Standing is how a job stands for one of its deadlines.
func (r Reader) Standing(ctx context.Context, j *Job, d jobspec.Deadline, now time.Time) (Standing, error) {
	none := Standing{Deadline: d, State: None}
	if d.Fire.IsZero() || now.Before(d.Fire) && !j.Started {
		return none, nil
	}
	for _, t := range []time.Time{d.Fire, now} {
		if _, paused := j.Pauses.At(t); paused {
			return none, nil
		}
	}
	if !d.By.After(j.Changed) {
		return none, nil // it was asked for afterwards
	}
	var runs []Run
	var err error
	if !now.Before(d.Fire) {
		if runs, err = r.runs(ctx, j.ID, d.Fire); err != nil {
			return none, err
		}
		if ended, err := j.ended(d.Fire); err != nil {
			return none, err
		} else if len(runs) == 0 && (j.Changed.After(d.Fire) || ended) || !j.Started && !ended {
			return none, nil // there was no such fire then, or somebody has stopped the job
		}
	}
	// First without the job's history, which is more to read.
	if s := Judge(d, now, runs, runtimes.Durations{}); s.State == Done || s.State == Late {
		return s, nil
	}
	usual, err := r.usual(ctx, j.ID)
	if err != nil {
		return none, err
	}
	return Judge(d, now, runs, usual), nil
}

func (r Reader) usual(ctx context.Context, jobID int64) (runtimes.Durations, error) {
	if r.Usual != nil {
		return r.Usual(ctx, jobID)
	}
	return runtimes.Of(ctx, r.Queries, r.Pool, jobID)
}

// ended reports whether a stopped job was stopped by the end of its schedule, behind a fire.
func (j *Job) ended(fire time.Time) (bool, error) {
	if j.Started {
		return false, nil
	}
	next, err := j.Schedule.Next(fire)
	return err == nil && next.IsZero(), err
}

// runs are the runs for a planned time and later ones, newest first.
func (r Reader) runs(ctx context.Context, jobID int64, fire time.Time) ([]Run, error) {
	var runs []Run
	below := int64(math.MaxInt64)
	for range maxPages {
		rows, err := r.Queries.ListRunsForDeadline(ctx, r.Pool, db.ListRunsForDeadlineParams{JobID: jobID, BelowID: below, Fire: fire.UnixMilli(), Limit: runPage})
		if err != nil {
			return nil, fmt.Errorf("read runs for a deadline: %w", db.Error(err))
		}
		over := len(rows) < runPage
		for i := range rows {
			below = rows[i].ID
			run := r.run(&rows[i])
			if run.Due.Before(fire) {
				over = true // a retry of an earlier fire may stand between, but not a page of them
				continue
			}
			runs = append(runs, run)
		}
		if over {
			break
		}
	}
	return runs, nil
}

func (r Reader) run(row *db.ListRunsForDeadlineRow) Run {
	of := runstate.Run{Outcome: row.Outcome, TriggerCode: row.TriggerCode, HandleCode: row.HandleCode, Planned: row.PlannedAt, Sent: row.SentAt, Finished: row.FinishedAt,
		Triggered: r.Pool.InstantOf(row.TriggerTime), Handled: r.Pool.InstantOf(row.HandleTime)}
	run := Run{ID: row.ID, Part: string(row.ExecutorShardingParam), Due: of.Start(), State: of.State()}
	if row.PlannedFor > 0 {
		run.Due = time.UnixMilli(row.PlannedFor)
	}
	run.Began, run.Ended = of.Span()
	return run
}
