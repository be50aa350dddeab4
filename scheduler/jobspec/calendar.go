package jobspec

import (
	"time"

	"github.com/punctual-job/punctual/scheduler/calendar"
	"github.com/punctual-job/punctual/scheduler/cron"
)

// CalendarRule says what a schedule makes of its calendar.
type CalendarRule string

const (
	CalendarWorkdays CalendarRule = "WORKDAYS"         // only on working days
	CalendarDaysOff  CalendarRule = "DAYS_OFF"         // only on days off
	CalendarNext     CalendarRule = "NEXT_WORKDAY"     // on a day off: at the same time of the next working day
	CalendarPrevious CalendarRule = "PREVIOUS_WORKDAY" // on a day off: at the same time of the last working day before
)

// AllCalendarRules are the rules in display order; the first is that of a job which names a calendar alone.
var AllCalendarRules = []CalendarRule{CalendarWorkdays, CalendarDaysOff, CalendarNext, CalendarPrevious}

// Moves reports whether times on days off are moved, not left out.
func (r CalendarRule) Moves() bool { return r == CalendarNext || r == CalendarPrevious }

const (
	// maxDays is for how many days, or how many times, a schedule is searched for one that its calendar allows. Ten years.
	maxDays = 3_700
	// maxMove is over how many days off a time is moved.
	maxMove = 366
	// clockChange is more than clocks are set back or forward.
	clockChange = 3 * time.Hour
)

// Next is the first due time after the given one, inside the bounds of the schedule and on a day of its calendar. The zero time means that
// there is none, or none in ten years.
//
// A calendar is part of when a job is due, as the weekday field of a cron text is: a day that it leaves out has no due time, so nothing
// is skipped on it and nothing missed.
func (s Schedule) Next(after time.Time) (time.Time, error) {
	if s.Calendar == nil {
		return s.plain(after)
	}
	if s.moves() {
		return s.moved(after)
	}
	next, err := s.plain(after)
	if err != nil {
		return time.Time{}, err
	}
	return s.onward(next)
}

// moves reports whether the schedule has times of day that can be moved: an interval has none.
func (s Schedule) moves() bool {
	return s.Rule.Moves() && (s.Type == ScheduleCron || s.Type == ScheduleOnce)
}

// day is the date of a moment by the calendar.
func (s Schedule) day(t time.Time) calendar.Day {
	return calendar.DayOf(t, s.Calendar.Location(s.Zone))
}

// start is the first moment of a date by the calendar.
func (s Schedule) start(d calendar.Day) time.Time { return d.Start(s.Calendar.Location(s.Zone)) }

// on reports whether the rule allows a date.
func (s Schedule) on(d calendar.Day) bool {
	return s.Calendar.Works(d) == (s.Rule != CalendarDaysOff)
}

// Allows reports whether the calendar allows a due time.
func (s Schedule) Allows(t time.Time) bool {
	return s.Calendar == nil || !t.Before(Waiting) || s.on(s.day(t))
}

// onward is the given due time, or the first one after it that the calendar allows.
func (s Schedule) onward(next time.Time) (time.Time, error) {
	for range maxDays {
		if next.IsZero() || s.Allows(next) {
			return next, nil
		}
		d, ok := s.seek(s.day(next), 1, maxDays)
		if !ok {
			return time.Time{}, nil
		}
		free, err := s.start(d), error(nil)
		switch s.Type {
		case ScheduleFixRate: // keeps its phase
			var every time.Duration
			if every, err = Interval(s.Conf); err != nil {
				return time.Time{}, err
			}
			next = next.Add((free.Sub(next) + every - 1) / every * every)
		case ScheduleFixDelay:
			next = free
		case ScheduleCron, ScheduleOnce, ScheduleNone:
			next, err = s.plain(free.Add(-time.Nanosecond))
		}
		if err != nil || s.ended(next) {
			return time.Time{}, err
		}
	}
	return time.Time{}, nil
}

// seek is the first date that the rule allows from one on, in steps of one day forward or back.
func (s Schedule) seek(d calendar.Day, step calendar.Day, most int) (calendar.Day, bool) {
	for range most {
		if s.on(d) {
			return d, true
		}
		d += step
	}
	return 0, false
}

// region is a working day and the days off next to it whose times are moved there. Regions follow one another without gaps.
type region struct {
	work        calendar.Day
	first, last calendar.Day
}

// regionOf is the region of a date.
func (s Schedule) regionOf(d calendar.Day) (region, bool) {
	if s.Rule == CalendarPrevious {
		work, ok := s.seek(d, -1, maxMove)
		if !ok {
			work, ok = s.seek(d, 1, maxDays)
		}
		r := region{work: work, first: work, last: work}
		for ok && r.last-work < maxMove && !s.on(r.last+1) {
			r.last++
		}
		return r, ok
	}
	work, ok := s.seek(d, 1, maxDays)
	r := region{work: work, first: work, last: work}
	for ok && work-r.first < maxMove && !s.on(r.first-1) {
		r.first--
	}
	return r, ok
}

// moved is Next where times on days off are moved. Those that come to lie on another are one with it.
func (s Schedule) moved(after time.Time) (time.Time, error) {
	if after.Before(s.Start) {
		after = s.Start.Add(-time.Nanosecond)
	}
	r, ok := s.regionOf(s.day(after))
	for try := 0; ok && try < maxDays; try++ {
		at, err := s.landing(r, after)
		if err != nil || !at.IsZero() {
			if s.ended(at) {
				at = time.Time{}
			}
			return at, err
		}
		at, err = s.plain(s.start(r.last + 1).Add(-time.Nanosecond))
		if err != nil || at.IsZero() {
			return time.Time{}, err
		}
		r, ok = s.regionOf(s.day(at))
	}
	return time.Time{}, nil
}

// landing is the first due time of a region after a moment, the zero time when it has none.
func (s Schedule) landing(r region, after time.Time) (best time.Time, err error) {
	for d := r.first; d <= r.last; d++ {
		from, to := s.start(d).Add(-time.Nanosecond), s.start(d+1)
		days := int(r.work - d)
		if x := s.shift(after, -days); x.After(from) {
			from = x
			if days != 0 && s.clocksChange(d, r.work) {
				from = x.Add(-clockChange)
			}
		}
		t, err := s.plain(from)
		var found time.Time
		for ; err == nil && !t.IsZero() && t.Before(to); t, err = s.plain(t) {
			at := s.shift(t, days)
			if at.After(after) && s.day(at) == r.work {
				if best.IsZero() || at.Before(best) {
					best = at
				}
				if found.IsZero() {
					found = t
				}
			}
			// Moved times come in the order of those they were, but for where clocks change.
			if !found.IsZero() && (days == 0 || !s.clocksChange(d, r.work) || t.Sub(found) > clockChange) {
				break
			}
		}
		if err != nil {
			return time.Time{}, err
		}
	}
	return best, nil
}

// clocksChange reports whether the clocks of the job's zone change near one of two dates.
func (s Schedule) clocksChange(dates ...calendar.Day) bool {
	for _, d := range dates {
		_, before := (d - 1).Date().In(s.zone()).Zone()
		_, behind := (d + 2).Date().In(s.zone()).Zone()
		if before != behind {
			return true
		}
	}
	return false
}

func (s Schedule) zone() *time.Location {
	if s.Zone == nil {
		return time.UTC
	}
	return s.Zone
}

// shift is the same time of day some days on, or back, in the zone of the job. As for a cron text, a time that is shown twice is the
// second; one that is not shown at all is as much later as the clocks are set on.
func (s Schedule) shift(t time.Time, days int) time.Time {
	if days == 0 {
		return t
	}
	loc := s.zone()
	t = t.In(loc)
	_, offset := t.Zone()
	clock := t.Unix() + int64(offset) + int64(days)*86_400
	return cron.Shown(clock, clock-int64(offset), loc).Add(time.Duration(t.Nanosecond()))
}

// Again is the first due time after a moment, for a schedule whose next one was another before its calendar changed. A fixed rate keeps to
// that one's beat; a delay is put off and not brought forward, because when its run ended is not known.
func (s Schedule) Again(next, after time.Time) (time.Time, error) {
	switch s.Type {
	case ScheduleFixRate:
		every, err := Interval(s.Conf)
		if err != nil {
			return time.Time{}, err
		}
		if after.Before(s.Start) {
			after = s.Start.Add(-time.Nanosecond)
		}
		return s.onward(next.Add(-(next.Sub(after) - 1) / every * every))
	case ScheduleFixDelay:
		return s.onward(next)
	case ScheduleCron, ScheduleOnce, ScheduleNone:
	}
	return s.Next(after)
}

// countBySegment counts the due times of a fixed rate with a calendar before the cutoff: those of one stretch of days at a time.
func countBySegment(s Schedule, next, cutoff time.Time) (Passed, time.Time, error) {
	every, err := Interval(s.Conf)
	if err != nil {
		return Passed{}, time.Time{}, err
	}
	passed := Passed{First: next}
	for stretch := 0; !next.IsZero() && next.Before(cutoff); stretch++ {
		if stretch == maxDays { // years ago: what lies between is not counted
			passed.More = true
			if next, err = s.From(next, cutoff); err != nil {
				return Passed{}, time.Time{}, err
			}
			break
		}
		until := s.start(s.day(next) + 1)
		if until.After(cutoff) {
			until = cutoff
		}
		n := (until.Sub(next)-1)/every + 1
		passed.Count += int(n)
		passed.Last = next.Add((n - 1) * every)
		if next, err = s.Next(passed.Last); err != nil {
			return Passed{}, time.Time{}, err
		}
	}
	return passed, next, nil
}
