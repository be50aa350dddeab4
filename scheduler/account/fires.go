package account

import (
	"slices"
	"time"

	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

var zero = time.UnixMilli(0)

// Definition is what a job said about when it is due, from one change to the next. Times are epoch ms.
type Definition struct {
	Schedule jobspec.Schedule
	Started  bool
	First    int64 // the first due time under it; 0: none
	Since    int64 // it became true between Since and Made; the two differ where somebody else made the change
	Made     int64
	Until    int64 // it was true until then; 0: it still is
	Claimed  int64 // the fires before had been decided by then, or have been by now; 0 with Until: nobody knows
	Ended    Ending

	// Recast is when the calendar was changed that the definition names; 0: never, or it names none. By what it said before nobody can tell fires.
	Recast int64
}

// replanning is within how long after a change of a calendar its jobs go by it.
const replanning = 10_000

// Ending is what ended a definition.
type Ending int8

const (
	StillTrue Ending = iota
	Edited
	Stopped
	Removed // the job was deleted
	Noticed // somebody else changed or deleted it
)

// fate is what must have become of a fire by its definition.
type fate int8

const (
	decided   fate = iota // it is on record
	dropped               // its definition ended before anybody came to it
	uncertain             // nobody knows whether its definition was still true
	awaited               // nobody has come to it yet
)

// Fire is a planned fire.
type Fire struct {
	At   int64 // epoch ms
	fate fate
	why  event.Event // of what is not decided
}

// Fires computes the fires planned from one moment up to, not including, another, in their order. Nothing after now is planned yet.
// When there are more than limit, ok is false: ask for less time. Definitions stand in their order; those that cannot be read have
// no fires.
func Fires(definitions []Definition, from, to, now int64, limit int) (fires []Fire, ok bool) {
	for i, d := range definitions {
		if !d.Started || d.First <= 0 || d.Schedule.Type == jobspec.ScheduleFixDelay {
			continue
		}
		sure := int64(0) // until when the definition was true for certain
		var end *Definition
		if d.Ended == Noticed && i+1 < len(definitions) {
			end = &definitions[i+1]
			sure = end.Since
		}
		for at := d.firstFrom(from); at > 0 && at < to; at = d.next(at) {
			f, planned := d.fire(at, now, sure, end)
			if !planned {
				break
			}
			if d.Recast > 0 && f.fate == decided && at < d.Recast+replanning {
				f.fate, f.why = uncertain, why(WhyCalendar, d.Recast)
			}
			if len(fires) == limit {
				return nil, false
			}
			fires = append(fires, f)
		}
	}
	slices.SortStableFunc(fires, func(a, b Fire) int {
		if a.At != b.At {
			return int(min(max(a.At-b.At, -1), 1))
		}
		return int(a.fate) - int(b.fate)
	})
	return slices.CompactFunc(fires, func(a, b Fire) bool { return a.At == b.At }), true
}

// fire says what a due time of the definition must have become; false: it is none, the definition had ended.
func (d *Definition) fire(at, now, sure int64, next *Definition) (f Fire, planned bool) {
	f.At = at
	switch {
	case d.Until == 0 && at < d.Claimed:
	case d.Until == 0:
		f.fate, f.why = awaited, why(WhyUndecided)
		return f, at <= now
	case next != nil && at < sure:
	case next != nil:
		f.fate, f.why = uncertain, why(WhyNoticed, next.Since, next.Made)
		return f, at < d.Until
	case at < d.Claimed:
	default:
		f.fate = dropped
		switch d.Ended {
		case Stopped:
			f.why = why(WhyStopped, d.Until)
		case Removed:
			f.why = why(WhyRemoved, d.Until)
		case StillTrue, Edited, Noticed:
			f.why = why(WhyEdited, d.Until)
		}
		return f, at < d.Until
	}
	return f, true
}

// firstFrom is the first due time at or after a moment; 0: there is none.
func (d *Definition) firstFrom(from int64) int64 {
	if d.First >= from {
		return d.within(d.First)
	}
	at, err := d.Schedule.From(time.UnixMilli(d.First), time.UnixMilli(from))
	if err != nil || at.IsZero() {
		return 0
	}
	return at.UnixMilli()
}

func (d *Definition) next(at int64) int64 {
	next, err := d.Schedule.Next(time.UnixMilli(at))
	if err != nil || next.IsZero() {
		return 0
	}
	return next.UnixMilli()
}

// within leaves out what lies behind the schedule's end.
func (d *Definition) within(at int64) int64 {
	if !d.Schedule.End.IsZero() && at > d.Schedule.End.UnixMilli() {
		return 0
	}
	return at
}
