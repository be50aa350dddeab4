package calendar

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Import says what is made of the events of an iCalendar file.
type Import struct {
	Name, Title, Zone string
	Week              []string
	// Work is a text by which whoever imports tells working days: events with it in their titles are such, all others days off. Empty: none is.
	Work string
}

// ParseICS makes a calendar of the all-day events of an iCalendar file (RFC 5545). Events with a time of day and those that repeat are left
// out, and counted: what they mean for whole days, or for years to come, is not theirs to say. A file that is cut off is refused.
func ParseICS(data []byte, in Import) (c *Calendar, left int, err error) {
	if len(data) > MaxBytes {
		return nil, 0, refuse(ReasonSize, "")
	}
	c = &Calendar{Name: in.Name, Title: in.Title, Zone: in.Zone, Week: in.Week}
	begun, ended := false, false
	var e *event
	for _, l := range unfold(data) {
		name, params, value := property(l)
		switch {
		case name == "BEGIN" && strings.EqualFold(value, "VCALENDAR"):
			begun, ended = true, false
		case name == "END" && strings.EqualFold(value, "VCALENDAR"):
			ended = true
		case name == "BEGIN" && strings.EqualFold(value, "VEVENT"):
			e = new(event)
		case e == nil:
		case name == "BEGIN":
			e.inside++ // an alarm has properties of its own
		case name == "END" && e.inside > 0:
			e.inside--
		case name == "END":
			span, ok := e.span()
			if !ok {
				left++
			} else {
				if in.Work != "" && strings.Contains(span.Name, in.Work) {
					span.Kind = Work
				}
				if c.Days = append(c.Days, span); len(c.Days) > MaxSpans {
					return nil, 0, refuse(ReasonSize, "")
				}
			}
			e = nil
		case e.inside == 0:
			e.put(name, params, value)
		}
	}
	if !begun {
		return nil, 0, refuse(ReasonFormat, "BEGIN:VCALENDAR")
	}
	if !ended || e != nil { // the rest of its days would be working days
		return nil, 0, refuse(ReasonFormat, "END:VCALENDAR")
	}
	if len(c.Days) == 0 {
		return nil, left, refuse(ReasonEvents, strconv.Itoa(left))
	}
	slices.SortStableFunc(c.Days, func(a, b Span) int { return strings.Compare(a.From, b.From) })
	c.Days = slices.CompactFunc(c.Days, func(a, b Span) bool { return a == b })
	for _, s := range c.Days {
		d, err := ParseDay(s.From)
		if err != nil {
			return nil, 0, err
		}
		if y := d.Date().Year(); len(c.Years) == 0 || c.Years[len(c.Years)-1].Year != y {
			c.Years = append(c.Years, Year{Year: y, Source: "iCalendar"})
		}
	}
	return c, left, c.Check()
}

// event is what matters of a VEVENT.
type event struct {
	from, until Day
	days        int
	begins      bool
	ends        bool
	other       bool // it has a time of day, or repeats, or was called off
	summary     string
	inside      int
}

func (e *event) put(name string, params []string, value string) {
	switch name {
	case "DTSTART":
		e.from, e.begins = icsDate(params, value)
	case "DTEND":
		e.until, e.ends = icsDate(params, value)
		e.other = e.other || !e.ends
	case "DURATION":
		e.days = icsDays(value)
		e.other = e.other || e.days == 0
	case "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID":
		e.other = true
	case "STATUS":
		e.other = e.other || strings.EqualFold(value, "CANCELLED")
	case "SUMMARY":
		e.summary = icsText(value)
	}
}

// span is the days of an event. The end is the first day after it; an event without one is of one day.
func (e *event) span() (Span, bool) {
	last := e.from
	switch {
	case e.ends && e.until > e.from:
		last = e.until - 1
	case e.ends && e.until < e.from:
		return Span{}, false
	case e.days > 0:
		last = e.from + Day(e.days) - 1
	}
	if !e.begins || e.other || last-e.from >= maxLength || last.Date().Year() > LastYear {
		return Span{}, false
	}
	s := Span{From: e.from.String(), Kind: Off, Name: e.summary}
	if last > e.from {
		s.Until = last.String()
	}
	return s, true
}

// unfold gives the lines of a file: one that begins with a blank goes on with the line before.
func unfold(data []byte) []string {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var lines []string
	var b strings.Builder
	for l := range bytes.SplitSeq(data, []byte("\n")) {
		l = bytes.TrimSuffix(l, []byte("\r"))
		if len(l) > 0 && (l[0] == ' ' || l[0] == '\t') {
			b.Write(l[1:])
			continue
		}
		if b.Len() > 0 {
			lines = append(lines, b.String())
		}
		b.Reset()
		b.Write(l)
	}
	return append(lines, b.String())
}

// property cuts a line into name, parameters and value. A colon in quotes belongs to a parameter.
func property(l string) (name string, params []string, value string) {
	quoted, at := false, 0
	for i := range len(l) {
		switch {
		case l[i] == '"':
			quoted = !quoted
		case quoted:
		case l[i] == ';' || l[i] == ':':
			part := strings.ToUpper(l[at:i])
			if at == 0 {
				name = part
			} else {
				params = append(params, part)
			}
			if at = i + 1; l[i] == ':' {
				return name, params, l[at:]
			}
		}
	}
	return "", nil, ""
}

// icsDate reads a date. A moment is none.
func icsDate(params []string, value string) (Day, bool) {
	if slices.Contains(params, "VALUE=DATE-TIME") {
		return 0, false
	}
	t, err := time.Parse("20060102", value)
	if err != nil || t.Year() < FirstYear || t.Year() > LastYear {
		return 0, false
	}
	return DayOf(t, time.UTC), true
}

// icsDays reads a duration of whole days or weeks; 0 when it is no such.
func icsDays(value string) int {
	digits, unit := strings.TrimPrefix(value, "P"), 1
	switch {
	case strings.HasSuffix(digits, "W"):
		unit = 7
	case !strings.HasSuffix(digits, "D"):
		return 0
	}
	n := 0
	for _, r := range digits[:len(digits)-1] {
		if r < '0' || r > '9' || n > maxLength {
			return 0
		}
		n = n*10 + int(r-'0')
	}
	return min(n*unit, maxLength+1)
}

// icsText takes the escapes out of a text, and what is not seen.
func icsText(value string) string {
	value = strings.NewReplacer(`\\`, `\`, `\;`, ";", `\,`, ",", `\n`, " ", `\N`, " ").Replace(strings.ToValidUTF8(value, ""))
	value = strings.TrimSpace(strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, value))
	for utf8.RuneCountInString(value) > MaxTitle {
		_, size := utf8.DecodeLastRuneInString(value)
		value = value[:len(value)-size]
	}
	return value
}
