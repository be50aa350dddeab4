package dashboard

import (
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// walk tells add what a job is due up to a moment, as [jobspec.Schedule.Tally] does, until it returns false; then walk does, too. What falls
// into a pause is not due; what the end of the pause makes up for is due then. Of a delay that is the next run alone: when the one behind it
// comes, nobody knows before this one has ended.
func walk(s jobspec.Schedule, pauses jobspec.Pauses, due, until time.Time, step time.Duration, add func(from time.Time, steps, n int) bool) bool {
	delay, enough := s.Type == jobspec.ScheduleFixDelay, false
	count := func(from time.Time, steps, n int) bool {
		enough = !add(from, steps, n)
		return !enough
	}
	once := func(at time.Time, n int) bool { return n == 0 || count(at.Truncate(step), 1, n) }
	for !due.IsZero() && due.Before(until) {
		stretch, held := pauses.At(due)
		switch {
		case !held && delay:
			return once(due, 1)
		case !held:
			end := until
			if begins := pauses.Begins(due); !begins.IsZero() && begins.Before(end) {
				end = begins
			}
			next, err := s.Tally(due, end, step, count)
			if err != nil || enough {
				return !enough
			}
			due = next
			continue
		case stretch.Until.IsZero() || !stretch.Until.Before(until):
			return true
		}
		makes := 0
		switch stretch.Strategy {
		case jobspec.PauseOnce:
			makes = 1
		case jobspec.PauseEach:
			if makes = 1; !delay {
				makes = made(s, due, stretch.Until, step)
			}
		case jobspec.PauseSkip:
		}
		if !once(stretch.Until, makes) {
			return false
		}
		next, err := s.From(due, stretch.Until)
		if delay {
			if makes > 0 {
				return true
			}
			next, err = s.Next(stretch.Until)
		}
		if err != nil || !next.After(due) {
			return true
		}
		due = next
	}
	return true
}

// made is how many runs the end of a pause makes up for.
func made(s jobspec.Schedule, due, until time.Time, step time.Duration) int {
	n := 0
	_, _ = s.Tally(due, until, step, func(_ time.Time, steps, each int) bool {
		n += steps * each
		return n < jobspec.MaxMadeUp
	})
	return min(n, jobspec.MaxMadeUp)
}

// dueOf is what a job is due next: what waits for the end of a pause fell into it before.
func dueOf(r *db.ListJobsDueWithinRow) time.Time {
	return db.Undecided(r.TriggerNextTime, r.PausedAt, r.PausedNext)
}

func (s *Dashboard) scheduleOf(r *db.ListJobsDueWithinRow) jobspec.Schedule {
	schedule := jobspec.Schedule{Type: r.ScheduleType, Conf: string(r.ScheduleConf), Zone: s.cfg.Zone, End: db.Instant(r.EndAt)}
	if loc, err := jobspec.Location(r.TimeZone); err == nil && loc != nil {
		schedule.Zone = loc
	}
	if kept, err := s.cfg.Pool.Calendars().Keep(schedule, r.Calendar, r.CalendarRule); err == nil {
		return kept
	}
	return schedule
}
