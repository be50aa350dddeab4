package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// What is due when is computed here a second time, in the plainest way: cron texts are made out of numbers, and every second
// of the period is held against the numbers. Nothing of package cron or jobspec decides here.

// field is a field of a cron text: the values that match.
type field struct {
	text   string
	values []int // ascending
}

func (f field) has(v int) bool { return slices.Contains(f.values, v) }

func anyOf(top int) field { return field{"*", sequence(0, top, 1)} }

func step(from, every, top int) field {
	return field{fmt.Sprintf("%d/%d", from, every), sequence(from, top, every)}
}

func list(values ...int) field {
	slices.Sort(values)
	values = slices.Compact(values)
	return field{strings.Trim(strings.ReplaceAll(fmt.Sprint(values), " ", ","), "[]"), values}
}

func span(from, to int) field { return field{fmt.Sprintf("%d-%d", from, to), sequence(from, to, 1)} }

func sequence(from, top, every int) (values []int) {
	for v := from; v <= top; v += every {
		values = append(values, v)
	}
	return values
}

// when is the schedule of a job.
type when struct {
	kind                 jobspec.ScheduleType
	second, minute, hour field // CRON
	every                int64 // FIX_RATE, FIX_DELAY: seconds
	at                   time.Time
	zone                 *time.Location
	zoneName             string // "" for the installation's
	start, end           time.Time
}

// conf is how the job's definition spells it.
func (s *when) conf() string {
	switch s.kind {
	case jobspec.ScheduleCron:
		return s.second.text + " " + s.minute.text + " " + s.hour.text + " * * ?"
	case jobspec.ScheduleOnce:
		return s.at.Format(time.RFC3339)
	case jobspec.ScheduleFixRate, jobspec.ScheduleFixDelay:
		return fmt.Sprint(s.every)
	case jobspec.ScheduleNone:
	}
	return ""
}

// matches reports whether a cron schedule is due at a second. A wall-clock time that a clock change repeats counts when it
// is there for the last time, and one that is left out never comes.
func (s *when) matches(t time.Time) bool {
	local := t.In(s.zone)
	h, m, sec := local.Clock()
	if !s.second.has(sec) || !s.minute.has(m) || !s.hour.has(h) {
		return false
	}
	again, _, _ := t.Add(time.Hour).In(s.zone).Clock()
	return again != h // an hour later it is another hour, but where one is repeated
}

func (s *when) inside(t time.Time) bool {
	return (s.start.IsZero() || !t.Before(s.start)) && (s.end.IsZero() || !t.After(s.end))
}

// first is the first due time after a moment; zero when there is none within two days.
func (s *when) first(after time.Time) time.Time {
	switch s.kind {
	case jobspec.ScheduleCron:
		for t := after.Truncate(time.Second).Add(time.Second); t.Before(after.Add(48 * time.Hour)); t = t.Add(time.Second) {
			if s.inside(t) && s.matches(t) {
				return t
			}
		}
	case jobspec.ScheduleFixRate, jobspec.ScheduleFixDelay:
		t := after.Add(time.Duration(s.every) * time.Second)
		if after.Before(s.start) {
			t = s.start
		}
		if s.inside(t) {
			return t
		}
	case jobspec.ScheduleOnce:
		if s.at.After(after) {
			return s.at
		}
	case jobspec.ScheduleNone:
	}
	return time.Time{}
}

// fires are the due times from the first one on, up to and without until, in epoch milliseconds.
func (s *when) fires(first, until time.Time) (at []int64) {
	switch s.kind {
	case jobspec.ScheduleCron:
		for t := first; t.Before(until); t = t.Add(time.Second) {
			if s.inside(t) && s.matches(t) {
				at = append(at, t.UnixMilli())
			}
		}
	case jobspec.ScheduleFixRate:
		for t := first; t.Before(until); t = t.Add(time.Duration(s.every) * time.Second) {
			if s.inside(t) {
				at = append(at, t.UnixMilli())
			}
		}
	case jobspec.ScheduleOnce:
		if first.Before(until) {
			at = append(at, first.UnixMilli())
		}
	case jobspec.ScheduleFixDelay, jobspec.ScheduleNone: // follows from the ends of runs
	}
	return at
}
