package cron

import "time"

// ClockChangeWarnings lists the days in the two years after from on which the expression does not run at all because the
// clocks of loc jump over its time (see the package comment). Element is that wall-clock time.
func (e *Expression) ClockChangeWarnings(from time.Time, loc *time.Location) []Warning {
	if e.noValue != "" || loc == nil || loc == time.UTC {
		return nil
	}
	var warnings []Warning
	end := from.AddDate(2, 0, 0).Unix()
	for at := from.Unix(); at < end; at += secondsPerDay {
		before, after := offsetAt(at, loc), offsetAt(at+secondsPerDay, loc)
		if after <= before {
			continue
		}
		landing := firstChange(at, at+secondsPerDay, loc)
		if missed, ok := e.missedIn(landing+before, landing+after); ok {
			warnings = append(warnings, Warning{Code: WarnSkippedBySpringChange, Element: missed.String()})
		}
	}
	return warnings
}

// firstChange finds the instant between low and high at which the offset of low is over.
func firstChange(low, high int64, loc *time.Location) int64 {
	before := offsetAt(low, loc)
	for high-low > 1 {
		middle := low + (high-low)/2
		if offsetAt(middle, loc) == before {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// missedIn finds a fire in the wall-clock gap from start to end when it is the only fire of its date.
func (e *Expression) missedIn(start, end int64) (wall, bool) {
	w, ok := e.nextWall(wallFromSeconds(start))
	if !ok || w.seconds() >= end {
		return wall{}, false
	}
	// Any other fire on that date means that the job still runs that day.
	first, _ := e.nextWall(wall{year: w.year, month: w.month, day: w.day})
	later, ok := e.nextWall(wallFromSeconds(end))
	return w, first.seconds() >= start && !(ok && later.sameDay(w))
}
