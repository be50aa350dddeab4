package calendar

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/punctual-job/punctual/scheduler/cron"
	"github.com/punctual-job/punctual/scheduler/document"
)

// What a calendar may hold.
const (
	MaxBytes  = 1 << 20 // of a file
	MaxSpans  = 5_000
	MaxYears  = 200
	MaxTitle  = 200
	maxSource = 500
	maxLength = 366 // days of a span
)

// The years that a calendar may have days of.
const (
	FirstYear = 1970
	LastYear  = 2199
)

// Kind says what a span makes of its days.
type Kind string

const (
	Off  Kind = "off"
	Work Kind = "work"
)

// Span is one day, or several in a row, of one kind.
type Span struct {
	From  string `json:"from"`            // 2006-01-02
	Until string `json:"until,omitempty"` // its last day; From when empty
	Kind  Kind   `json:"kind"`
	Name  string `json:"name,omitempty"`
}

// Year is a year whose days the calendar knows.
type Year struct {
	Year   int    `json:"year"`
	Source string `json:"source,omitempty"` // where its days are from
}

// Calendar is a document. Only [Parse], [ParseICS] and [Calendar.Check] make one that answers.
type Calendar struct {
	Name  string   `json:"name"`
	Title string   `json:"title,omitempty"`
	Zone  string   `json:"zone,omitempty"` // IANA name; "" for that of each job
	Week  []string `json:"week"`           // the weekdays on which people work
	Years []Year   `json:"years,omitempty"`
	Days  []Span   `json:"days"`

	loc   *time.Location
	week  [7]bool
	marks map[Day]mark
}

type mark struct {
	works bool
	name  string
}

// Weekdays are the names of weekdays in a file, Sunday first as [time.Weekday] has them.
var Weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// Reason says what is wrong with a file.
type Reason string

const (
	ReasonSize   Reason = "size"   // more than it may hold
	ReasonFormat Reason = "format" // no document of this kind
	ReasonName   Reason = "name"
	ReasonText   Reason = "text" // a title or source with characters that are not seen, or too long
	ReasonZone   Reason = "zone"
	ReasonWeek   Reason = "week"
	ReasonYear   Reason = "year"
	ReasonDay    Reason = "day" // no date, or outside of what is known
	ReasonSpan   Reason = "span"
	ReasonKind   Reason = "kind"
	ReasonTwice  Reason = "twice" // a day is off and worked
	ReasonEvents Reason = "events"
)

// Error is a file that is refused.
type Error struct {
	Reason Reason
	Value  string          // what of it
	Fault  *document.Fault // with [ReasonFormat], if it is in a line
}

func (e *Error) Error() string { return "calendar: " + string(e.Reason) + ": " + e.Value }

func refuse(r Reason, value string) error {
	if len(value) > 100 {
		value = strings.ToValidUTF8(value[:100], "")
	}
	return &Error{Reason: r, Value: value}
}

// Parse reads a file.
func Parse(data []byte) (*Calendar, error) {
	if len(data) > MaxBytes {
		return nil, refuse(ReasonSize, "")
	}
	c := new(Calendar)
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, &Error{Reason: ReasonFormat, Value: err.Error(), Fault: document.JSONFault(data, err, d.InputOffset())}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &Error{Reason: ReasonFormat, Value: "more after its end", Fault: document.JSONFault(data, nil, d.InputOffset())}
	}
	return c, c.Check()
}

// nameForm is what a calendar may be called: the name stands in job files, addresses and commands.
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Check judges a calendar and makes it answer.
func (c *Calendar) Check() error {
	switch {
	case !nameForm.MatchString(c.Name):
		return refuse(ReasonName, c.Name)
	case !seen(c.Title, MaxTitle):
		return refuse(ReasonText, c.Title)
	case len(c.Days) > MaxSpans || len(c.Years) > MaxYears:
		return refuse(ReasonSize, "")
	}
	c.loc = nil
	if c.Zone != "" {
		loc, err := cron.Zone(c.Zone)
		if err != nil {
			return refuse(ReasonZone, c.Zone)
		}
		c.loc = loc
	}
	c.week = [7]bool{}
	for _, name := range c.Week {
		i := slices.Index(Weekdays, name)
		if i < 0 || c.week[i] {
			return refuse(ReasonWeek, name)
		}
		c.week[i] = true
	}
	for i, y := range c.Years {
		if y.Year < FirstYear || y.Year > LastYear || slices.ContainsFunc(c.Years[:i], func(o Year) bool { return o.Year == y.Year }) || !seen(y.Source, maxSource) {
			return refuse(ReasonYear, y.Source)
		}
	}
	c.marks = make(map[Day]mark)
	for _, s := range c.Days {
		if err := c.mark(s); err != nil {
			return err
		}
	}
	return nil
}

func (c *Calendar) mark(s Span) error {
	from, err := ParseDay(s.From)
	if err != nil {
		return err
	}
	until := from
	if s.Until != "" {
		if until, err = ParseDay(s.Until); err != nil {
			return err
		}
	}
	switch {
	case until < from || until-from >= maxLength:
		return refuse(ReasonSpan, s.From+" – "+s.Until)
	case s.Kind != Off && s.Kind != Work:
		return refuse(ReasonKind, string(s.Kind))
	case !seen(s.Name, MaxTitle):
		return refuse(ReasonText, s.Name)
	}
	for d := from; d <= until; d++ {
		if old, twice := c.marks[d]; twice && old.works != (s.Kind == Work) {
			return refuse(ReasonTwice, d.String())
		}
		c.marks[d] = mark{works: s.Kind == Work, name: s.Name}
	}
	return nil
}

// seen reports whether a text fits and has only characters that are seen.
func seen(s string, most int) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= most && !strings.ContainsFunc(s, hidden)
}

func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Bidi_Control, r) || r == '\ufeff' || r == '\ufffd'
}

// JSON is the calendar as a file.
func (c *Calendar) JSON() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(c); err != nil {
		panic(err) // texts and numbers alone
	}
	return b.Bytes()
}

// Location is the zone whose days the calendar tells, for a job that goes by another.
func (c *Calendar) Location(job *time.Location) *time.Location {
	switch {
	case c.loc != nil:
		return c.loc
	case job != nil:
		return job
	}
	return time.UTC
}

// Works reports whether a day is a working day.
func (c *Calendar) Works(d Day) bool {
	if m, ok := c.marks[d]; ok {
		return m.works
	}
	return c.week[d.Weekday()]
}

// Marked is what the calendar says of a day beyond its weekday: its kind and name.
func (c *Calendar) Marked(d Day) (kind Kind, name string, ok bool) {
	m, ok := c.marks[d]
	switch {
	case !ok:
		return "", "", false
	case m.works:
		return Work, m.name, true
	}
	return Off, m.name, true
}

// Knows reports whether the days of a year are known.
func (c *Calendar) Knows(year int) bool {
	return len(c.Years) == 0 || slices.ContainsFunc(c.Years, func(y Year) bool { return y.Year == year })
}

// Ahead is how long before its beginning a year that is not known is worth a warning. The notices come in October or November.
const Ahead = 75 * 24 * time.Hour

// Missing is the first year, from now to [Ahead], that the calendar does not know; 0 for none.
func (c *Calendar) Missing(now time.Time) int {
	at := now.In(c.Location(nil))
	for y := at.Year(); y <= at.Add(Ahead).Year(); y++ {
		if !c.Knows(y) {
			return y
		}
	}
	return 0
}

// Day is a date, counted from 1970-01-01.
type Day int32

// DayOf is the date of a moment in a zone.
func DayOf(t time.Time, loc *time.Location) Day {
	_, offset := t.In(loc).Zone()
	s := t.Unix() + int64(offset)
	if s < 0 {
		s -= 86_399
	}
	return Day(s / 86_400)
}

func DateOf(year int, month time.Month, day int) Day {
	return Day(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / 86_400)
}

// ParseDay reads a date as files have it.
func ParseDay(s string) (Day, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Year() < FirstYear || t.Year() > LastYear {
		return 0, refuse(ReasonDay, s)
	}
	return DayOf(t, time.UTC), nil
}

// Date is the day in UTC, at its beginning.
func (d Day) Date() time.Time { return time.Unix(int64(d)*86_400, 0).UTC() }

// Weekday is its day of the week.
func (d Day) Weekday() time.Weekday { return time.Weekday(((int(d)+4)%7 + 7) % 7) }

// String writes it as files have it.
func (d Day) String() string { return d.Date().Format(time.DateOnly) }

// Start is the first moment of a day in a zone, also where clocks leap over midnight.
func (d Day) Start(loc *time.Location) time.Time {
	y, m, day := d.Date().Date()
	t := time.Date(y, m, day, 0, 0, 0, 0, loc)
	if DayOf(t, loc) == d && DayOf(t.Add(-time.Nanosecond), loc) < d {
		return t
	}
	low, high := t.Add(-26*time.Hour).Unix(), t.Add(26*time.Hour).Unix()
	for high-low > 1 {
		if middle := low + (high-low)/2; DayOf(time.Unix(middle, 0), loc) < d {
			low = middle
		} else {
			high = middle
		}
	}
	return time.Unix(high, 0).In(loc)
}

//go:embed data/cn.json
var cn []byte

// Shipped are the calendars that come with the program, as files.
func Shipped() [][]byte { return [][]byte{cn} }
