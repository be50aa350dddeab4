package cron

import (
	"cmp"
	"errors"
	"path"
	"strings"
	"time"
)

// Zone is the zone of an IANA name. Unlike [time.LoadLocation] it knows none that is another on another machine, as "Local" and the names of the
// files in which a system keeps its own, and each by one name only: "Asia/./Shanghai" is the name of a file, and there is no end of those.
func Zone(name string) (*time.Location, error) {
	switch strings.ToLower(name) {
	case "", "local", "localtime", "posixrules":
		return nil, errors.New("unknown time zone " + name)
	}
	if path.Clean(name) != name {
		return nil, errors.New("unknown time zone " + name)
	}
	return time.LoadLocation(name)
}

// maxShift is more than any two offsets of one zone differ (-12 h to +14 h are in use, local mean times reach -16 h).
// Wall clock read as if it were UTC is never farther than this from the instant it stands for.
const maxShift = 32 * 60 * 60

// Next is the first instant after the given one, in whole seconds, whose wall clock in loc matches; in loc, and the
// zero time when there is none any more. A nil loc is UTC. The error is an [*EvalError], for the texts that parse and
// cannot be evaluated.
func (e *Expression) Next(after time.Time, loc *time.Location) (time.Time, error) {
	if err := e.evaluable(); err != nil {
		return time.Time{}, err
	}
	loc = cmp.Or(loc, time.UTC)
	return e.next(after, loc, false), nil
}

// evaluable is the error of an expression that has no times because a field has no value.
func (e *Expression) evaluable() error {
	if e.noValue != "" {
		return &EvalError{Text: e.text, Field: e.noValue}
	}
	return nil
}

// next is Next of an expression that can be evaluated. From the first pass of an hour that clocks repeat it reads on, or goes through all of
// the second.
func (e *Expression) next(after time.Time, loc *time.Location, second bool) time.Time {
	t := after.In(loc)
	_, offset := t.Zone()
	now := t.Unix()
	clock := now + int64(offset) + 1
	if second {
		clock -= repeated(now, t)
	}
	w := wallFromSeconds(clock)
	for {
		var ok bool
		if w, ok = e.nextWall(w); !ok {
			return time.Time{}
		}
		instant, resume, ok := resolve(w.seconds(), t, int64(offset))
		switch {
		case !ok:
			w = wallFromSeconds(resume)
		case instant > now:
			return time.Unix(instant, 0).In(loc)
		default:
			// Only a zone that falls back and springs forward within a day could answer with an earlier instant.
			w = wallFromSeconds(w.seconds() + 1)
		}
	}
}

// maxRepeated is more than clocks are set back by (Antarctica/Troll, by two hours); who moves the date line repeats a day, and has no times in it.
const maxRepeated = 3 * 60 * 60

// repeated is how much of a first pass will be over a second after t, whose Unix time is now; 0 outside of one.
func repeated(now int64, t time.Time) int64 {
	loc := t.Location()
	if loc == time.UTC {
		return 0
	}
	if _, end := t.ZoneBounds(); end.IsZero() || end.Unix() > now+maxShift { // see resolve
		return 0
	}
	before, after := offsetAt(now, loc), offsetAt(now+maxRepeated, loc)
	if after >= before {
		return 0
	}
	return max(0, now+1+before-after-firstChange(now, now+maxRepeated, loc))
}

// resolve finds the instant at which t's zone shows a wall clock, given in seconds as if it were UTC; the later one when
// it is shown twice. When no instant does (the clocks jump over it), ok is false and resume is the wall clock at which they
// land. Offset is the one in force at t, before which no answer is wanted.
func resolve(clock int64, t time.Time, offset int64) (instant, resume int64, ok bool) {
	loc := t.Location()
	if loc == time.UTC {
		return clock, 0, true
	}
	// ZoneBounds may end a stretch too early (up to Go 1.26 it does on 31 December of leap years, where it ends before it
	// starts), but never too late. So it can say that no change is near, and nothing else is asked of it.
	if _, end := t.ZoneBounds(); end.IsZero() || clock-offset < end.Unix()-maxShift {
		return clock - offset, 0, true
	}
	for at := clock - maxShift; at <= clock+maxShift; at += maxShift / 4 {
		o := offsetAt(at, loc)
		if candidate := clock - o; offsetAt(candidate, loc) == o && (!ok || candidate > instant) {
			instant, ok = candidate, true
		}
	}
	if !ok {
		landing := firstShowing(clock, clock-maxShift, clock+maxShift, loc)
		resume = landing + offsetAt(landing, loc)
	}
	return instant, resume, ok
}

// Shown is the moment at which clocks show a time, given as if it were UTC; near is about when that is. A time that is shown twice is the second;
// one that is not shown at all is as much later as the clocks are set on.
func Shown(clock, near int64, loc *time.Location) time.Time {
	var at, before int64
	found := false
	for i, look := range []int64{clock - 129_600, near, clock + 129_600} {
		_, o := time.Unix(look, 0).In(loc).Zone()
		if i == 0 {
			before = int64(o)
		}
		candidate := clock - int64(o)
		if _, o2 := time.Unix(candidate, 0).In(loc).Zone(); o2 == o && (!found || candidate > at) {
			at, found = candidate, true
		}
	}
	if !found {
		at = clock - before
	}
	return time.Unix(at, 0).In(loc)
}

// Passes are the two moments at which the clocks of t's zone show what they show at t; where they show it once, both are t.
func Passes(t time.Time) (first, second time.Time) {
	_, offset := t.Zone()
	start, end := t.ZoneBounds()
	at := func(neighbour time.Time) time.Time { // with the offset that is in force there
		_, o := neighbour.Zone()
		return t.Add(time.Duration(offset-o) * time.Second)
	}
	first, second = t, t
	if earlier := at(start.Add(-time.Second)); !start.IsZero() && earlier.Before(start) {
		first = earlier
	}
	if later := at(end); !end.IsZero() && !later.Before(end) {
		second = later
	}
	return first, second
}

// firstShowing is the first instant at which the wall clock shows at least clock. It lies between low, where the wall
// clock shows less, and high, where it does not.
func firstShowing(clock, low, high int64, loc *time.Location) int64 {
	for high-low > 1 {
		middle := low + (high-low)/2
		if middle+offsetAt(middle, loc) < clock {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

func offsetAt(unix int64, loc *time.Location) int64 {
	_, offset := time.Unix(unix, 0).In(loc).Zone()
	return int64(offset)
}
