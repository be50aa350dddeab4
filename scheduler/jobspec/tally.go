package jobspec

import "time"

// Tally counts the due times from one of them up to, not including, a moment, by steps that divide an hour and are laid from the epoch on:
// it is how days ahead are foreseen without going from fire to fire. It tells add of n due times in each of so many steps, of which the
// first begins at the given moment, and returns the first due time that it did not count; zero: none. It ends early when add returns false,
// and then what it returns may be counted already. What a FIX_DELAY is due after the first time nobody knows, so that is not for it.
func (s Schedule) Tally(due, until time.Time, step time.Duration, add func(from time.Time, steps, n int) bool) (time.Time, error) {
	if s.ended(until) {
		until = s.End.Add(time.Nanosecond)
	}
	var err error
	if s.Type == ScheduleFixRate {
		due, err = s.tallyRate(due, until, step, add)
	} else {
		due, err = s.tallyHours(due, until, step, add)
	}
	if err != nil || s.ended(due) {
		return time.Time{}, err
	}
	return due, nil
}

// tallyRate counts a fixed rate: as many steps at once as have the same number of due times, inside the days of a calendar.
func (s Schedule) tallyRate(due, until time.Time, step time.Duration, add func(from time.Time, steps, n int) bool) (time.Time, error) {
	every, err := Interval(s.Conf)
	if err != nil {
		return time.Time{}, err
	}
	for !due.IsZero() && due.Before(until) {
		end := until
		if s.Calendar != nil {
			if day := s.start(s.day(due) + 1); day.Before(end) {
				end = day
			}
		}
		if due = tallyBeat(due, end, every, step, add); due.Before(end) {
			return due, nil // that is enough
		}
		if due, err = s.onward(due); err != nil {
			return time.Time{}, err
		}
	}
	return due, nil
}

// tallyBeat counts the due times of a beat up to a moment and returns the first behind it.
func tallyBeat(due, until time.Time, every, step time.Duration, add func(from time.Time, steps, n int) bool) time.Time {
	for due.Before(until) {
		from := due.Truncate(step)
		to := from.Add(step)
		steps := 1
		if every <= step && step%every == 0 && due.Sub(from) < every {
			steps = max(1, int(until.Sub(from)/step))
			to = from.Add(time.Duration(steps) * step)
		}
		n := (min(to.Sub(due), until.Sub(due)) - 1) / every
		if steps == 1 {
			n++
		} else {
			n = step / every
		}
		if !add(from, steps, int(n)) {
			return due
		}
		due = due.Add(n * time.Duration(steps) * every)
	}
	return due
}

// tallyHours counts any other schedule. A cron text fires at the same minutes and seconds of each hour in which it fires at all, so a whole
// hour that was gone through once stands for those that begin alike.
func (s Schedule) tallyHours(due, until time.Time, step time.Duration, add func(from time.Time, steps, n int) bool) (time.Time, error) {
	var alike hour
	for !due.IsZero() && due.Before(until) {
		from, offset := s.hourOf(due)
		end := from.Add(time.Hour)
		whole := s.Type == ScheduleCron && !end.After(until) && s.offset(end) == offset && (s.Calendar == nil || s.day(from) == s.day(end.Add(-1)))
		if whole && alike.fires != nil && alike.first == due.Sub(from) {
			for _, f := range alike.fires {
				if !add(from.Add(f.at).Truncate(step), 1, f.n) {
					return due, nil
				}
			}
			var err error
			if due, err = s.Next(end.Add(-time.Nanosecond)); err != nil {
				return time.Time{}, err
			}
			continue
		}
		if end.After(until) {
			end = until
		}
		this := hour{first: due.Sub(from)}
		for !due.IsZero() && due.Before(end) {
			if !add(due.Truncate(step), 1, 1) {
				return due, nil
			}
			this.add(due.Sub(from), step)
			next, err := s.Next(due)
			if err != nil {
				return time.Time{}, err
			}
			due = next
		}
		// The hour of the first due time may have had others before it.
		if before, err := s.Next(from.Add(-time.Nanosecond)); err == nil && whole && before.Equal(from.Add(this.first)) {
			alike = this
		}
	}
	return due, nil
}

// hour is at which minutes and seconds a cron text fires.
type hour struct {
	first time.Duration
	fires []firesIn
}

// firesIn is how many due times are in the step of an hour that one of them is in.
type firesIn struct {
	at time.Duration
	n  int
}

func (h *hour) add(at, step time.Duration) {
	if last := len(h.fires) - 1; last >= 0 && h.fires[last].at/step == at/step {
		h.fires[last].n++
		return
	}
	h.fires = append(h.fires, firesIn{at, 1})
}

// hourOf is when the hour of the wall clock began that a moment is in, and how far the zone's clock was ahead, in seconds.
func (s Schedule) hourOf(at time.Time) (from time.Time, offset int) {
	offset = s.offset(at)
	past := (at.Unix() + int64(offset)) % 3600
	return at.Add(-time.Duration(past)*time.Second - time.Duration(at.Nanosecond())), offset
}

func (s Schedule) offset(at time.Time) int {
	if s.Zone == nil {
		return 0
	}
	_, offset := at.In(s.Zone).Zone()
	return offset
}
