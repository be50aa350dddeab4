package link

import (
	"net/url"
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/cron"
)

// Local keeps a path to return to only if it leads to this console: it must begin with one slash. Anything else,
// a whole address or a "//host" that browsers read as one, gives the empty string.
func Local(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return ""
	}
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return ""
	}
	return path
}

// LocalTime reads a browser's datetime-local field, which knows minutes; rest is added to include the whole minute. A text that cannot be
// read is the zero time.
func LocalTime(text string, zone *time.Location, rest time.Duration) time.Time {
	for _, layout := range []string{"2006-01-02T15:04:05", MinuteLayout, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			if layout == MinuteLayout {
				t = t.Add(rest)
			}
			return t
		}
	}
	return time.Time{}
}

// LocalRange reads two such fields as the moments from which on and up to which a range is. An hour that comes twice belongs to it with both passes: no
// field says which is meant.
func LocalRange(from, to string, zone *time.Location, rest time.Duration) (since, until time.Time) {
	since, until = LocalTime(from, zone, 0), LocalTime(to, zone, rest)
	since, _ = cron.Passes(since)
	_, until = cron.Passes(until)
	return since, until
}

// MinuteLayout is how addresses and the fields of forms write a minute.
const MinuteLayout = "2006-01-02T15:04"

// moment is a field of a query that [LocalTime] can read; empty when it cannot.
func moment(q url.Values, name string) string {
	s := text(q, name)
	if LocalTime(s, time.UTC, 0).IsZero() {
		return ""
	}
	return s
}
