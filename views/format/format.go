// Package format writes times, durations and numbers as people read them, in the page's language. Handlers call it
// while they fill a page struct, so templates only print.
package format

import (
	"math"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/locales"
)

// Time is an instant in the three ways a page shows it. The zero value is "never" and prints as a dash.
type Time struct {
	ISO      string // for the datetime attribute; the browser keeps Relative fresh from it
	Absolute string // 2006-01-02 15:04:05
	Relative string // "in 3 min", "2 小时前"
}

// IsZero says whether there is no such time.
func (t Time) IsZero() bool { return t.ISO == "" }

// At writes an instant in its own location, relative to now. The zero time gives the zero Time.
func At(p *locales.Printer, t, now time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return Time{
		ISO:      ISO(t),
		Absolute: t.Format("2006-01-02 15:04:05"),
		Relative: Relative(p, t, now),
	}
}

// ISO writes an instant for scripts.
func ISO(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z07:00") }

// Relative says how far t lies from now, in its largest unit: "in 3 min", "12 s ago", "now" within one second.
func Relative(p *locales.Printer, t, now time.Time) string {
	d := t.Sub(now)
	future := d > 0
	d = d.Abs()
	if d < time.Second {
		return p.T("time.now")
	}
	unit, n := largest(d)
	span := p.T("time.unit."+unit, "N", n)
	if future {
		return p.T("time.in", "Span", span)
	}
	return p.T("time.ago", "Span", span)
}

// Unit is a number, as it is written in a field, with its unit: English says "1 day" and "2 days".
func Unit(p *locales.Printer, number, key string) string {
	if n, err := strconv.Atoi(number); err == nil {
		return number + " " + p.T(key, "Count", n)
	}
	return number + " " + p.T(key)
}

// LateAfter is when what has not happened yet is late.
const LateAfter = 10 * time.Second

// Due says when something comes: "in 3 min", "due now" up to [LateAfter] past its time, then "late by 12 s".
func Due(p *locales.Printer, t, now time.Time) string {
	switch past := now.Sub(t); {
	case t.IsZero():
		return ""
	case past > LateAfter:
		unit, n := largest(past)
		return p.T("time.late", "Span", p.T("time.unit."+unit, "N", n))
	case past > -time.Second:
		return p.T("time.due")
	default:
		return Relative(p, t, now)
	}
}

// largest is the biggest unit that d fills at least once, and how often it does.
func largest(d time.Duration) (unit string, n int64) {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return "s", int64(d / time.Second)
	case d < time.Hour:
		return "min", int64(d / time.Minute)
	case d < day:
		return "h", int64(d / time.Hour)
	case d < 365*day:
		return "d", int64(d / day)
	default:
		return "y", int64(d / (365 * day))
	}
}

// Duration writes how long something took, see [locales.Printer.Duration].
func Duration(p *locales.Printer, d time.Duration) string { return p.Duration(d) }

// Clock writes the time of day to the millisecond, as the timeline of a run shows it, and the date where that is not the one of day, of
// which the reader knows. Both are in the zone of the page.
func Clock(t, day time.Time) string {
	const clock, date = "15:04:05.000", "2006-01-02"
	switch {
	case t.IsZero():
		return ""
	case t.Format(date) == day.Format(date):
		return t.Format(clock)
	default:
		return t.Format(date + " " + clock)
	}
}

// Delta writes a step's distance from the one before: "+3 ms". Clocks of two machines may disagree: "−2 ms".
func Delta(p *locales.Printer, d time.Duration) string {
	if d < 0 {
		return Duration(p, d)
	}
	return "+" + Duration(p, d)
}

// Weekday is the short name of t's day of the week.
func Weekday(p *locales.Printer, t time.Time) string {
	return p.T("time.weekday." + strconv.Itoa(int(t.Weekday())))
}

// Digits is a number as addresses and identifiers have it, without separators.
func Digits(n int64) string { return strconv.FormatInt(n, 10) }

// Number groups the digits of n, see [locales.Number].
func Number(n int64) string { return locales.Number(n) }

// Bytes writes how many bytes something has, in two or three digits.
func Bytes(n int64) string {
	const units = "KMGT"
	if n < 1<<10 {
		return Number(n) + " B"
	}
	f, unit := float64(n)/(1<<10), 0
	for f >= 1023.5 && unit < len(units)-1 {
		f, unit = f/(1<<10), unit+1
	}
	digits := 0
	if f < 9.95 {
		digits = 1
	}
	return strconv.FormatFloat(f, 'f', digits, 64) + " " + units[unit:unit+1] + "iB"
}

// Rate writes how many times in a second something happens, in three digits.
func Rate(perSecond float64) string {
	switch {
	case perSecond >= 99.95:
		return Number(int64(perSecond + 0.5))
	case perSecond > 0 && perSecond < 0.005:
		return "<0.01"
	case perSecond < 9.995:
		return strconv.FormatFloat(math.Round(perSecond*100)/100, 'f', -1, 64)
	default:
		return strconv.FormatFloat(math.Round(perSecond*10)/10, 'f', -1, 64)
	}
}
