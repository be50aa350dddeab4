package jobspec

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/cron"
)

// Clock is a time of day, in minutes.
type Clock int

// ParseClock reads HH:MM.
func ParseClock(text string) (Clock, bool) {
	hours, minutes, ok := strings.Cut(text, ":")
	if !ok || len(hours) < 1 || len(hours) > 2 || len(minutes) != 2 {
		return 0, false
	}
	h, err := strconv.ParseUint(hours, 10, 8)
	m, err2 := strconv.ParseUint(minutes, 10, 8)
	if err != nil || err2 != nil || h > 23 || m > 59 {
		return 0, false
	}
	return Clock(h*60 + m), true
}

// String writes a time of day as [ParseClock] reads it.
func (c Clock) String() string { return fmt.Sprintf("%02d:%02d", c/60, c%60) }

// normalClock is a time of day as it is stored: people write 6:00, and the colon of Chinese keyboards.
func normalClock(text string) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "：", ":"))
	if c, ok := ParseClock(text); ok {
		return c.String()
	}
	return text
}

// of is when the clocks of a zone show a time on the date that a moment has there, some days on. A time that is shown twice is the
// second; one that is not shown at all is as much later as the clocks are set on.
func (c Clock) of(moment time.Time, days int, loc *time.Location) time.Time {
	y, m, d := moment.In(loc).Date()
	clock := time.Date(y, m, d+days, 0, int(c), 0, 0, time.UTC).Unix()
	return cron.Shown(clock, clock, loc)
}

// Deadline is a moment by which a planned fire has to be done.
type Deadline struct {
	Fire time.Time // the last one before By; zero: none since the deadline before, so that nothing has to be done
	By   time.Time
}

// Deadlines are the last deadline that is not after a moment, and the first one after it, of a job that has to be done by a time of
// day. Next is the stored next due time, which the beat of a fixed rate goes by.
//
//	   D₋₁          fire  D₀        fire  D₁
//	────┼─────────────●────┼──────────●────┼───▶    D₀ belongs to the last fire in [D₋₁, D₀)
//
// So a nightly job that begins at 22:00 and has to be done by 06:00 has its deadline on the next day, and a deadline before which the
// calendar or the weekday leaves no fire is none.
func (s Schedule) Deadlines(c Clock, next, at time.Time) (last, following Deadline, err error) {
	times := make([]time.Time, 0, 5)
	for days := -2; days <= 2; days++ {
		times = append(times, c.of(at, days, s.zone()))
	}
	i := len(times) - 2
	for i > 1 && times[i].After(at) {
		i--
	}
	if last.Fire, err = s.lastIn(times[i-1], times[i], next); err != nil {
		return last, following, err
	}
	following.Fire, err = s.lastIn(times[i], times[i+1], next)
	last.By, following.By = times[i], times[i+1]
	return last, following, err
}

// DeadlineOf is the deadline of a planned fire; ok is false where another fire comes before it.
func (s Schedule) DeadlineOf(c Clock, next, fire time.Time) (by time.Time, ok bool, err error) {
	_, d, err := s.Deadlines(c, next, fire)
	return d.By, err == nil && d.Fire.Equal(fire), err
}

// lastIn is the last due time from one moment up to, not including, another.
func (s Schedule) lastIn(from, to, next time.Time) (time.Time, error) {
	after := s.Next
	switch s.Type {
	case ScheduleFixRate: // from its own beat
		if next.IsZero() || !next.Before(Waiting) {
			return time.Time{}, nil
		}
		every, err := Interval(s.Conf)
		if err != nil {
			return time.Time{}, err
		}
		if next.Before(to) { // nobody has looked for a while
			next = next.Add((to.Sub(next) + every - 1) / every * every)
		}
		after = func(t time.Time) (time.Time, error) {
			due, err := s.Again(next, t)
			if err != nil || s.ended(due) {
				return time.Time{}, err
			}
			return due, nil
		}
	case ScheduleFixDelay, ScheduleNone:
		return time.Time{}, nil // nothing is planned
	case ScheduleCron, ScheduleOnce:
	}
	due, err := after(from.Add(-time.Nanosecond))
	if err != nil || due.IsZero() || !due.Before(to) {
		return time.Time{}, err
	}
	for until := to; until.Sub(due) > time.Millisecond; {
		middle := due.Add(until.Sub(due) / 2)
		later, err := after(middle)
		switch {
		case err != nil:
			return time.Time{}, err
		case later.IsZero() || !later.Before(to):
			until = middle
		default:
			due = later
		}
	}
	return due, nil
}
