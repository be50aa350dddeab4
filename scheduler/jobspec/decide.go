package jobspec

import (
	"sort"
	"time"
)

const (
	// DefaultMisfireAfter is how late a fire may be before the misfire strategy has the say, as in XXL-JOB.
	DefaultMisfireAfter = 5 * time.Second

	// MaxMissed is how many missed fires of a job have runs at most; of more the oldest are skipped.
	MaxMissed = 1000

	// MaxFires is how many fires one call of [Decide] plans. A job that is due more often within the horizon waits for the
	// next claim, so that it cannot flood the others.
	MaxFires = 16

	// maxCounted is how many passed due times of a cron schedule are counted one by one. After a long stop a job of every
	// second has passed millions, and nobody needs to know how many.
	maxCounted = 1000
)

// Passed are due times that went by while nobody was looking.
type Passed struct {
	First time.Time
	Last  time.Time
	Count int
	More  bool // there are more than Count
}

// Merged is one fire, now, that stands for all the due times that passed. Its trigger type is [TriggerMisfire].
type Merged struct {
	At time.Time
	Passed
}

// Plan is what to do about a job at one moment. Every due time from the stored one up to, not including, Next is in
// exactly one of its parts.
type Plan struct {
	Skipped  *Passed     // misfires that are only written down (DO_NOTHING, and the oldest of too many)
	Misfire  *Merged     // misfires that are made up for (FIRE_ONCE_NOW)
	MadeUp   []time.Time // misfires that have a run each, at MadeUpAt, ascending (FIRE_ALL, FIRE_LAST, FIRE_WITHIN)
	MadeUpAt time.Time
	Fires    []time.Time // due times to run at, ascending; those already past are to run at once
	Last     time.Time   // the latest due time in this plan; zero when nothing is due, and the stored value stays
	Next     time.Time   // the first due time after this plan; zero when the schedule has ended and the job stops
	Held     []Held      // what fell into pauses that are over ([DecidePaused])
	Hold     time.Time   // the first due time that a pause goes on to hold back, and Next is when it ends; zero: none
}

// Decide plans a job whose stored next due time is next. Due times up to the horizon fire; being late is no reason not to,
// until a time lies more than misfireAfter ([DefaultMisfireAfter] when zero) behind now: then it is a misfire.
//
//	        misfires            fires                  left for later
//	──next──────────────┼───────────────────────┼──────────────────▶
//	                now - misfireAfter  now    horizon
//
// Everything is computed from the planned times, not from now as XXL-JOB does, so a fixed rate keeps its phase however
// late the decision comes. After an error there is no plan: the schedule's text can no longer be evaluated.
func Decide(s Schedule, next, now, horizon time.Time, misfireAfter time.Duration) (Plan, error) {
	if misfireAfter <= 0 {
		misfireAfter = DefaultMisfireAfter
	}
	if horizon.Before(now) {
		horizon = now
	}
	plan := Plan{Next: next}
	if s.ended(next) && next.Before(Waiting) {
		plan.Next = time.Time{}
	}
	if plan.Next.IsZero() {
		return plan, nil
	}
	if !s.Allows(next) { // the calendar was changed since
		allowed, err := s.allowed(next)
		if err != nil {
			return Plan{}, err
		}
		if plan.Next = allowed; allowed.IsZero() {
			return plan, nil
		}
		next = allowed
	}
	if s.Type == ScheduleFixDelay {
		// Its times follow from when runs end, so being late moves the next ones and none is ever missed.
		if !next.After(horizon) {
			if _, err := Interval(s.Conf); err != nil { // when its run had ended, nobody could say when the next one is due
				return Plan{}, err
			}
			plan.Fires, plan.Last, plan.Next = []time.Time{next}, next, Waiting
		}
		return plan, nil
	}
	if err := plan.pass(s, now, now.Add(-misfireAfter)); err != nil {
		return Plan{}, err
	}
	for len(plan.Fires)+len(plan.MadeUp) < MaxFires && !plan.Next.IsZero() && !plan.Next.After(horizon) {
		due := plan.Next
		following, err := s.Next(due)
		if err != nil {
			return Plan{}, err
		}
		plan.Fires = append(plan.Fires, due)
		plan.Last, plan.Next = due, following
	}
	return plan, nil
}

// allowed is the first due time after one that the calendar no longer allows.
func (s Schedule) allowed(next time.Time) (time.Time, error) {
	if s.moves() {
		return s.moved(next)
	}
	return s.onward(next)
}

// From is the first due time that is not before the given moment, for a schedule whose next due time would be next: where all
// before that moment have been decided already. The zero time means that there is none.
func (s Schedule) From(next, moment time.Time) (time.Time, error) {
	if !next.Before(moment) {
		return next, nil
	}
	switch s.Type {
	case ScheduleFixDelay:
		return Waiting, nil // the run of the last one decides
	case ScheduleFixRate:
		every, err := Interval(s.Conf)
		if err != nil {
			return time.Time{}, err
		}
		next = next.Add((moment.Sub(next) + every - 1) / every * every)
		if s.ended(next) {
			next = time.Time{}
		}
		return s.onward(next)
	case ScheduleCron, ScheduleOnce, ScheduleNone:
	}
	return s.Next(moment.Add(-time.Nanosecond))
}

// counting is how the due times of the schedule are counted.
func (s Schedule) counting() func(s Schedule, next, cutoff time.Time) (Passed, time.Time, error) {
	switch {
	case s.Type != ScheduleFixRate:
		return countOneByOne
	case s.Calendar != nil:
		return countBySegment
	}
	return countByDivision
}

// Passed are the due times of the schedule from next, which is one of them, up to and not including until. Those of a fixed delay follow
// from runs, so that it is one at most.
func (s Schedule) Passed(next, until time.Time) (Passed, error) {
	if !next.Before(until) {
		return Passed{}, nil
	}
	if s.Type == ScheduleFixDelay {
		return Passed{First: next, Last: next, Count: 1}, nil
	}
	passed, _, err := s.counting()(s, next, until)
	return passed, err
}

// pass moves plan.Next over the misfires: the due times before the cutoff.
func (p *Plan) pass(s Schedule, now, cutoff time.Time) error {
	if !p.Next.Before(cutoff) {
		return nil
	}
	if s.ended(cutoff) {
		cutoff = s.End.Add(time.Nanosecond)
	}
	if s.Type == ScheduleFixRate && s.Misfire == MisfireFireOnceNow {
		var err error
		if cutoff, err = s.caughtUp(now); err != nil {
			return err
		}
	}
	if s.Misfire.Each() {
		return p.makeUp(s, now, cutoff)
	}
	passed, next, err := s.counting()(s, p.Next, cutoff)
	if err != nil {
		return err
	}
	if s.ended(next) {
		next = time.Time{}
	}
	p.Last, p.Next = passed.Last, next
	if s.Misfire == MisfireFireOnceNow {
		p.Misfire = &Merged{At: now, Passed: passed}
		return nil
	}
	// An unknown strategy in an adopted row skips, as it does in XXL-JOB.
	p.Skipped = &passed
	return nil
}

// makeUp moves plan.Next over the misfires before the cutoff, of which some have runs of their own: as many as a plan may have, the oldest
// first. The others are found by the next plan, which begins with the first of them.
func (p *Plan) makeUp(s Schedule, now, cutoff time.Time) error {
	most := MaxMissed
	if s.Misfire == MisfireFireLast {
		most = min(max(s.Last, 0), MaxMissed)
	}
	passed, next, err := s.counting()(s, p.Next, cutoff)
	if err != nil {
		return err
	}
	if s.ended(next) {
		next = time.Time{}
	}
	due, before, err := s.newest(passed, cutoff)
	if err != nil {
		return err
	}
	runs := due[max(0, len(due)-most):]
	if s.Misfire == MisfireFireWithin {
		oldest := now.Add(-s.Within)
		runs = runs[sort.Search(len(runs), func(i int) bool { return !runs[i].Before(oldest) }):]
	}
	if n := passed.Count - len(runs); n > 0 || passed.More {
		p.Skipped = &Passed{First: passed.First, Last: passed.Last, Count: n, More: passed.More}
		if i := len(due) - len(runs); len(runs) > 0 && i > 0 {
			p.Skipped.Last = due[i-1]
		} else if len(runs) > 0 {
			p.Skipped.Last = before
		}
	}
	p.Last, p.Next = passed.Last, next
	if len(runs) > MaxFires {
		p.Next, runs = runs[MaxFires], runs[:MaxFires]
		p.Last = runs[MaxFires-1]
	}
	p.MadeUp, p.MadeUpAt = runs, now
	return nil
}

// newest are the last of some due times before a cutoff, at most [MaxMissed], and the one before them, if there is one.
func (s Schedule) newest(passed Passed, cutoff time.Time) (due []time.Time, before time.Time, err error) {
	start := passed.First
	if count := s.counting(); passed.More || passed.Count > MaxMissed {
		for late := cutoff; late.Sub(start) > time.Second; { // from start on there are too many, from late on there are not
			middle := start.Add(late.Sub(start) / 2)
			first, err := s.From(passed.First, middle)
			if err != nil {
				return nil, before, err
			}
			some := Passed{}
			if !first.IsZero() && first.Before(cutoff) {
				if some, _, err = count(s, first, cutoff); err != nil {
					return nil, before, err
				}
			}
			if some.More || some.Count > MaxMissed {
				start = middle
			} else {
				late = middle
			}
			if late.Sub(start) <= time.Second {
				start = late
			}
		}
		older, _, err := count(s, passed.First, start)
		if err != nil {
			return nil, before, err
		}
		before = older.Last
		if start, err = s.From(passed.First, start); err != nil {
			return nil, before, err
		}
	}
	for at := start; !at.IsZero() && at.Before(cutoff) && !s.ended(at); {
		due = append(due, at)
		if at, err = s.Next(at); err != nil {
			return nil, before, err
		}
	}
	return due, before, nil
}

// caughtUp is the moment before which one run that makes up for misfires stands for all fires of a fixed rate: a tenth of the
// period ahead, because two runs of it a few milliseconds apart are nobody's wish.
func (s Schedule) caughtUp(now time.Time) (time.Time, error) {
	every, err := Interval(s.Conf)
	if err != nil {
		return time.Time{}, err
	}
	until := now.Add(every / 10)
	if s.ended(until) {
		until = s.End.Add(time.Nanosecond)
	}
	return until, nil
}

// countByDivision counts the due times of a fixed rate before the cutoff, however many there are, and gives the first
// that is not among them.
func countByDivision(s Schedule, next, cutoff time.Time) (Passed, time.Time, error) {
	every, err := Interval(s.Conf)
	if err != nil {
		return Passed{}, time.Time{}, err
	}
	before := (cutoff.Sub(next) - 1) / every // due times after the first
	last := next.Add(before * every)
	return Passed{First: next, Last: last, Count: int(before) + 1}, last.Add(every), nil
}

// countOneByOne counts the due times of any other schedule before the cutoff, and leaps to the cutoff when there are too
// many.
func countOneByOne(s Schedule, next, cutoff time.Time) (Passed, time.Time, error) {
	passed := Passed{First: next}
	for !next.IsZero() && next.Before(cutoff) {
		if passed.Count == maxCounted {
			passed.More = true
			last, err := lastBefore(s, next, cutoff)
			if err != nil {
				return Passed{}, time.Time{}, err
			}
			passed.Last = last
			next, err := s.Next(last)
			return passed, next, err
		}
		passed.Last = next
		passed.Count++
		var err error
		if next, err = s.Next(next); err != nil {
			return Passed{}, time.Time{}, err
		}
	}
	return passed, next, nil
}

// lastBefore is the last due time before the cutoff, found by halving what lies between it and an earlier one.
func lastBefore(s Schedule, due, cutoff time.Time) (time.Time, error) {
	for until := cutoff; until.Sub(due) > time.Millisecond; {
		middle := due.Add(until.Sub(due) / 2)
		next, err := s.Next(middle)
		switch {
		case err != nil:
			return time.Time{}, err
		case next.IsZero() || !next.Before(cutoff):
			until = middle
		default:
			due = next
		}
	}
	return due, nil
}
