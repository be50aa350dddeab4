package alarm

import "time"

// QuietMode says what becomes of messages that are due in quiet hours.
type QuietMode string

const (
	QuietQueue QuietMode = "queue" // they are told at the end
	QuietCount QuietMode = "count" // the end tells only how many there were
)

// NoTime is a time of day that nobody has given.
const NoTime = -1

// minutesADay is the end of the range of a time of day in minutes.
const minutesADay = 24 * 60

// quietUntil is when the quiet hours end that now lies in, or the zero time outside of them. from and to are minutes after
// midnight on the wall clock of now's zone; to may be on the next day; equal means never. On the day of a summer-time change
// the clock on the wall decides, as it does for the people who want to sleep.
func quietUntil(now time.Time, from, to int64) time.Time {
	if from == to {
		return time.Time{}
	}
	minute := int64(now.Hour()*60 + now.Minute())
	days := 0
	switch {
	case from < to && minute >= from && minute < to:
	case from > to && minute < to:
	case from > to && minute >= from:
		days = 1
	default:
		return time.Time{}
	}
	end := time.Date(now.Year(), now.Month(), now.Day()+days, int(to/60), int(to%60), 0, 0, now.Location())
	if !end.After(now) { // the hour that the clock was set back over
		return now.Add(time.Minute)
	}
	return end
}
