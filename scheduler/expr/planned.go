package expr

import (
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/cron"
)

// Planned is the expression ${{ planned | format, offset, zone }}: a run's planned time as a text. Each part may be left out.
//
//	format  yyyy yy MM M dd d HH H mm m ss s SSS as Java has them, other letters in '…' ('' is one quote), all else as it is;
//	        or epoch (seconds) or epochMillis. Without one: 2026-11-22T01:30:00+08:00.
//	offset  any of +n or -n with y M w d h m s, and monthStart or monthEnd, in the order in which they are applied. y M w d move
//	        the calendar's day and keep the time of day, and of a month that is too short they take the last day.
//	zone    an IANA name; without one the job's.
type Planned struct {
	format []piece // empty: RFC 3339
	steps  []step
	zone   *time.Location // nil: the job's
}

// Word is what the expression begins with.
const Word = "planned"

// MaxOffset is the largest number of one step of an offset, and maxSteps how many steps there may be.
const (
	MaxOffset = 9999
	maxSteps  = 8
)

// Fault says what cannot be read in an expression, and what of it.
type Fault struct {
	Part Part
	Text string
}

func (f *Fault) Error() string { return "planned: " + string(f.Part) + ": " + f.Text }

// Part is a part of an expression.
type Part string

// The parts that may be wrong.
const (
	PartWhole  Part = "whole"  // more parts than three, or something else than | behind the word
	PartFormat Part = "format" // Text: the letters that mean nothing, or a quote that does not end
	PartOffset Part = "offset" // Text: the step
	PartZone   Part = "zone"   // Text: the zone
)

// piece is a part of a format: one of the patterns, or a text.
type piece struct {
	pattern string
	text    string
}

// step is one move of an offset.
type step struct {
	n    int
	unit byte // one of y M w d h m s, or < and > for the first and the last day of the month
}

// isPlanned says whether what stands in braces is this expression, well written or not.
func isPlanned(inside string) bool {
	rest, ok := strings.CutPrefix(inside, Word)
	return ok && (rest == "" || strings.ContainsRune(blank+"|", rune(rest[0])))
}

// parsePlanned reads what stands in braces.
func parsePlanned(inside string) (Planned, *Fault) {
	rest := strings.Trim(strings.TrimPrefix(inside, Word), blank)
	if rest == "" {
		return Planned{}, nil
	}
	if rest[0] != '|' {
		return Planned{}, &Fault{PartWhole, rest}
	}
	parts, fault := split(rest[1:])
	if fault != nil {
		return Planned{}, fault
	}
	if len(parts) > 3 {
		return Planned{}, &Fault{PartWhole, parts[3]}
	}
	return plannedOf(parts)
}

// plannedOf reads the parts, of which there is one at least.
func plannedOf(parts []string) (p Planned, fault *Fault) {
	if p.format, fault = parseFormat(parts[0]); fault != nil {
		return Planned{}, fault
	}
	if len(parts) > 1 {
		if p.steps, fault = parseOffset(parts[1]); fault != nil {
			return Planned{}, fault
		}
	}
	if len(parts) > 2 && parts[2] != "" {
		zone, err := cron.Zone(parts[2])
		if err != nil {
			return Planned{}, &Fault{PartZone, parts[2]}
		}
		p.zone = zone
	}
	return p, nil
}

// CheckPlanned is the first fault of a text's expressions, nil when there is none.
func CheckPlanned(text string) (first *Fault) {
	Each(text, func(inside string) {
		if first == nil && isPlanned(inside) {
			_, first = parsePlanned(inside)
		}
	})
	return first
}

// HasPlanned says whether a text has such an expression.
func HasPlanned(text string) (has bool) {
	Each(text, func(inside string) { has = has || isPlanned(inside) })
	return has
}

// PlannedValue is what stands for an expression of a run planned for a moment, of a job of a zone. One that cannot be read has none:
// nobody wrote it in the console, so it means something to somebody else.
func PlannedValue(inside string, at time.Time, zone *time.Location) (string, bool) {
	if !isPlanned(inside) {
		return "", false
	}
	p, fault := parsePlanned(inside)
	if fault != nil {
		return "", false
	}
	return p.Text(at, zone), true
}

// FillPlanned fills in nothing but planned times.
func FillPlanned(text string, at time.Time, zone *time.Location) string {
	return Fill(text, func(inside string) (string, bool) { return PlannedValue(inside, at, zone) })
}

// split cuts at commas that are not in quotes.
func split(text string) ([]string, *Fault) {
	var parts []string
	begin, quoted := 0, false
	for i := range len(text) {
		switch {
		case text[i] == '\'':
			quoted = !quoted
		case text[i] == ',' && !quoted:
			parts = append(parts, strings.Trim(text[begin:i], blank))
			begin = i + 1
		}
	}
	if quoted {
		return nil, &Fault{PartFormat, strings.Trim(text[begin:], blank)}
	}
	return append(parts, strings.Trim(text[begin:], blank)), nil
}

// The formats that are no patterns.
const (
	epochSeconds = "epoch"
	epochMillis  = "epochMillis"
)

// layouts are the patterns as the time package has them.
var layouts = map[string]string{
	"yyyy": "2006", "yy": "06", "MM": "01", "M": "1", "dd": "02", "d": "2", "HH": "15", "mm": "04", "m": "4", "ss": "05", "s": "5",
	"H": "", "SSS": "", // which it has not
}

func parseFormat(text string) ([]piece, *Fault) {
	if text == epochSeconds || text == epochMillis {
		return []piece{{pattern: text}}, nil
	}
	var pieces []piece
	for i := 0; i < len(text); {
		begin := i
		switch c := text[i]; {
		case c == '\'':
			var literal string
			literal, i = unquote(text, i)
			pieces = append(pieces, piece{text: literal})
		case isLetter(c):
			for i < len(text) && text[i] == c {
				i++
			}
			if _, known := layouts[text[begin:i]]; !known {
				return nil, &Fault{PartFormat, text[begin:i]}
			}
			pieces = append(pieces, piece{pattern: text[begin:i]})
		default:
			for i < len(text) && text[i] != '\'' && !isLetter(text[i]) {
				i++
			}
			pieces = append(pieces, piece{text: text[begin:i]})
		}
	}
	return pieces, nil
}

// unquote reads the quoted text that begins at i, and says where it ends. Quotes come in pairs: see split.
func unquote(text string, i int) (string, int) {
	if strings.HasPrefix(text[i:], "''") {
		return "'", i + 2
	}
	var b strings.Builder
	for i++; i < len(text); i++ {
		if text[i] != '\'' {
			b.WriteByte(text[i])
			continue
		}
		if i++; i >= len(text) || text[i] != '\'' {
			break
		}
		b.WriteByte('\'')
	}
	return b.String(), i
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func parseOffset(text string) ([]step, *Fault) {
	var steps []step
	for rest := text; rest != ""; rest = strings.TrimLeft(rest, blank) {
		if len(steps) == maxSteps {
			return nil, &Fault{PartOffset, rest}
		}
		s, after, ok := parseStep(rest)
		if !ok {
			return nil, &Fault{PartOffset, rest}
		}
		steps, rest = append(steps, s), after
	}
	return steps, nil
}

func parseStep(text string) (step, string, bool) {
	for word, unit := range map[string]byte{"monthStart": '<', "monthEnd": '>'} {
		if after, ok := strings.CutPrefix(text, word); ok {
			return step{unit: unit}, after, true
		}
	}
	digits := 1
	for digits < len(text) && '0' <= text[digits] && text[digits] <= '9' {
		digits++
	}
	if text[0] != '+' && text[0] != '-' || digits == 1 || digits == len(text) {
		return step{}, "", false
	}
	n, err := strconv.Atoi(text[1:digits])
	if err != nil || n > MaxOffset || !strings.ContainsRune("yMwdhms", rune(text[digits])) {
		return step{}, "", false
	}
	if text[0] == '-' {
		n = -n
	}
	return step{n, text[digits]}, text[digits+1:], true
}

// Text is the planned time of a run of a job of a zone.
func (p Planned) Text(at time.Time, zone *time.Location) string {
	if p.zone != nil {
		zone = p.zone
	}
	at = at.In(zone)
	for _, s := range p.steps {
		at = s.from(at)
	}
	if len(p.format) == 0 {
		return at.Format(time.RFC3339)
	}
	var b strings.Builder
	for _, f := range p.format {
		b.WriteString(f.of(at))
	}
	return b.String()
}

func (f piece) of(at time.Time) string {
	switch f.pattern {
	case "":
		return f.text
	case epochSeconds:
		return strconv.FormatInt(at.Unix(), 10)
	case epochMillis:
		return strconv.FormatInt(at.UnixMilli(), 10)
	case "H":
		return strconv.Itoa(at.Hour())
	case "SSS":
		return at.Format(".000")[1:]
	}
	return at.Format(layouts[f.pattern])
}

// from is the moment after the step. Days and months go by the clock on the wall, so that a date is the one that was meant also where clocks change:
// a time that they do not show is later, as it is for a calendar, and one that they show twice is the second.
func (s step) from(at time.Time) time.Time {
	wall := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
	var to time.Time
	switch s.unit {
	case 'y':
		to = addMonths(wall, 12*s.n)
	case 'M':
		to = addMonths(wall, s.n)
	case 'w':
		to = wall.AddDate(0, 0, 7*s.n)
	case 'd':
		to = wall.AddDate(0, 0, s.n)
	case 'h':
		return at.Add(time.Duration(s.n) * time.Hour)
	case 'm':
		return at.Add(time.Duration(s.n) * time.Minute)
	case 's':
		return at.Add(time.Duration(s.n) * time.Second)
	case '<':
		to = wall.AddDate(0, 0, 1-wall.Day())
	default: // '>'
		to = wall.AddDate(0, 0, lastDay(wall.Year(), wall.Month())-wall.Day())
	}
	if to.Equal(wall) {
		return at
	}
	return shown(to, at.Location())
}

// shown is when the clocks of a zone show a time, given as if it were UTC.
func shown(wall time.Time, zone *time.Location) time.Time {
	return cron.Shown(wall.Unix(), wall.Unix(), zone).Add(time.Duration(wall.Nanosecond()))
}

// addMonths moves by months; a day that the month has not becomes its last.
func addMonths(wall time.Time, n int) time.Time {
	first := time.Date(wall.Year(), wall.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	day := min(wall.Day(), lastDay(first.Year(), first.Month()))
	return first.AddDate(0, 0, day-1).Add(wall.Sub(wall.Truncate(24 * time.Hour)))
}

func lastDay(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// Moment reads a moment as people write one: RFC 3339, or a date and time in a zone. One that its clocks show twice is the second, as for cron.
func Moment(text string, zone *time.Location) (time.Time, bool) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, true
	}
	for _, layout := range []string{time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04"} {
		if clock, err := time.Parse(layout, text); err == nil {
			return shown(clock, zoneOr(zone)), true
		}
	}
	return time.Time{}, false
}
