package cron

import "time"

// maxShift is more than any two offsets of one zone differ (-12 h to +14 h are in use, local mean times reach -16 h).
// Wall clock read as if it were UTC is never farther than this from the instant it stands for.
const maxShift = 32 * 60 * 60

// Next is the first instant after the given one, in whole seconds, whose wall clock in loc matches; in loc, and the
// zero time when there is none any more. A nil loc is UTC. The error is an [*EvalError], for the texts that parse and
// cannot be evaluated.
func (e *Expression) Next(after time.Time, loc *time.Location) (time.Time, error) {
	if e.noValue != "" {
		return time.Time{}, &EvalError{Text: e.text, Field: e.noValue}
	}
	if loc == nil {
		loc = time.UTC
	}
	t := after.In(loc)
	_, offset := t.Zone()
	now := t.Unix()
	w := wallFromSeconds(now + int64(offset) + 1)
	for {
		var ok bool
		if w, ok = e.nextWall(w); !ok {
			return time.Time{}, nil
		}
		instant, resume, ok := resolve(w.seconds(), t, int64(offset))
		switch {
		case !ok:
			w = wallFromSeconds(resume)
		case instant > now:
			return time.Unix(instant, 0).In(loc), nil
		default:
			// Only a zone that falls back and springs forward within a day could answer with an earlier instant.
			w = wallFromSeconds(w.seconds() + 1)
		}
	}
}

// resolve finds the instant at which t's zone shows a wall clock, given in seconds as if it were UTC; the later one when
// it is shown twice. When no instant does (the clocks jump over it), ok is false and resume is the wall clock at which they
// land. Offset is the one in force at t, before which no answer is wanted.
func resolve(clock int64, t time.Time, offset int64) (instant, resume int64, ok bool) {
	if t.Location() == time.UTC {
		return clock, 0, true
	}
	if _, end := t.ZoneBounds(); end.IsZero() || clock-offset < end.Unix()-maxShift {
		return clock - offset, 0, true
	}

	// Look at every stretch of constant offset near the answer. There are rarely more than two.
	period := time.Unix(clock-maxShift, 0).In(t.Location())
	for {
		_, o := period.Zone()
		start, end := period.ZoneBounds()
		candidate := clock - int64(o)
		afterStart := start.IsZero() || candidate >= start.Unix()
		beforeEnd := end.IsZero() || candidate < end.Unix()
		switch {
		case afterStart && beforeEnd:
			instant, ok = candidate, true
		case !afterStart && !ok:
			return 0, start.Unix() + int64(o), false
		}
		if end.IsZero() || end.Unix() > clock+maxShift {
			return instant, 0, ok
		}
		period = end
	}
}
