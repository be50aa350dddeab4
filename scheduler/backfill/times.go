package backfill

import (
	"errors"
	"slices"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// MostRuns is how many planned times one backfill may have, and MostAtOnce how many of them may be under way.
const (
	MostRuns   = 10_000
	MostAtOnce = 100
)

// Why the planned times of a range cannot be said.
var (
	ErrTooMany    = errors.New("the range has more planned times than a backfill may have")
	ErrNoSchedule = errors.New("a job without a schedule, or whose schedule hangs on the ends of its runs, has no planned times")
	ErrNoPhase    = errors.New("a fixed rate without a start has no planned times in the past")
)

// Times are the planned times of a schedule from one moment on and before another, in their order. A cron text has a time that
// clocks show twice, or not at all, as often as the schedule itself would be due then, and a calendar moves or leaves out what it does
// for the schedule. A fixed rate is counted from its start, or from a
// time at which it is known to be due; the zero time: there is none.
func Times(s jobspec.Schedule, from, until, due time.Time) ([]time.Time, error) {
	switch s.Type {
	case jobspec.ScheduleCron, jobspec.ScheduleOnce:
	case jobspec.ScheduleFixRate:
		return steps(s, from, until, due)
	case jobspec.ScheduleNone, jobspec.ScheduleFixDelay:
		return nil, ErrNoSchedule
	default:
		return nil, ErrNoSchedule
	}
	var times []time.Time
	for at := from.Add(-time.Nanosecond); ; {
		next, err := s.Next(at)
		if err != nil {
			return nil, err
		}
		if next.IsZero() || !next.Before(until) {
			return times, nil
		}
		if len(times) == MostRuns {
			return nil, ErrTooMany
		}
		times, at = append(times, next), next
	}
}

// steps are those of a fixed rate.
func steps(s jobspec.Schedule, from, until, due time.Time) ([]time.Time, error) {
	every, err := jobspec.Interval(s.Conf)
	if err != nil {
		return nil, err
	}
	if due.IsZero() {
		due = s.Start
	}
	if due.IsZero() {
		return nil, ErrNoPhase
	}
	if from.Before(s.Start) {
		from = s.Start
	}
	if !s.End.IsZero() && until.After(s.End) {
		until = s.End.Add(time.Millisecond)
	}
	into := (due.UnixMilli() - from.UnixMilli()) % every.Milliseconds()
	if into < 0 {
		into += every.Milliseconds()
	}
	var times []time.Time
	for at := time.UnixMilli(from.UnixMilli() + into); at.Before(until); at = at.Add(every) {
		if s.Calendar != nil { // the first step from at on whose day is one of the schedule's
			if at, err = s.Again(at, at.Add(-time.Nanosecond)); err != nil || at.IsZero() || !at.Before(until) {
				return times, err
			}
		}
		if len(times) == MostRuns {
			return nil, ErrTooMany
		}
		times = append(times, at)
	}
	return times, nil
}

// Ordered is a list in the order in which it is sent.
func Ordered[T any](times []T, newest bool) []T {
	if newest {
		times = slices.Clone(times)
		slices.Reverse(times)
	}
	return times
}
