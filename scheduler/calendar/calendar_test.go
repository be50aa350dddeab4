package calendar_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/scheduler/calendar"
)

func parse(t testing.TB, text string) *calendar.Calendar {
	t.Helper()
	c, err := calendar.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func day(t testing.TB, s string) calendar.Day {
	t.Helper()
	d, err := calendar.ParseDay(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestTheShippedHolidays counts what the notices announce, and looks at the days around each of 2026.
func TestTheShippedHolidays(t *testing.T) {
	t.Parallel()
	c := parse(t, string(calendar.Shipped()[0]))
	for year, want := range map[int][2]int{2024: {28, 8}, 2025: {28, 5}, 2026: {33, 6}} { // days off, days worked
		var got [2]int
		for d := calendar.DateOf(year, 1, 1); d < calendar.DateOf(year+1, 1, 1); d++ {
			switch kind, name, ok := c.Marked(d); {
			case !ok:
			case name == "":
				t.Error(d, "has no name")
			case kind == calendar.Off:
				got[0]++
			default:
				got[1]++
				if d.Weekday() != time.Saturday && d.Weekday() != time.Sunday {
					t.Error(d, "is worked anyway")
				}
			}
		}
		if got != want {
			t.Errorf("%d: %v, want %v", year, got, want)
		}
	}
	for text, works := range map[string]bool{
		"2026-01-01": false, "2026-01-04": true, "2026-02-13": true, "2026-02-14": true, "2026-02-15": false, "2026-02-23": false, "2026-02-24": true,
		"2026-02-28": true, "2026-04-06": false, "2026-05-05": false, "2026-05-09": true, "2026-06-19": false, "2026-09-20": true, "2026-09-25": false,
		"2026-10-07": false, "2026-10-08": true, "2026-10-10": true, "2026-10-11": false, "2027-01-01": true,
	} {
		if c.Works(day(t, text)) != works {
			t.Errorf("%s: works %v", text, !works)
		}
	}
	for _, y := range c.Years {
		if !strings.Contains(y.Source, "国办发明电") {
			t.Errorf("%d has no notice: %s", y.Year, y.Source)
		}
	}
}

func TestAYearThatIsMissingIsKnownAhead(t *testing.T) {
	t.Parallel()
	c := parse(t, `{"name":"cn","zone":"Asia/Shanghai","week":["mon"],"years":[{"year":2026}],"days":[]}`)
	for at, want := range map[string]int{"2026-10-01": 0, "2026-10-20": 2027, "2026-12-31": 2027, "2027-01-01": 2027, "2025-12-01": 2025} {
		if got := c.Missing(day(t, at).Date()); got != want {
			t.Errorf("%s: %d, want %d", at, got, want)
		}
	}
	c.Years = nil
	if got := c.Missing(time.Now()); got != 0 {
		t.Error(got)
	}
}

func TestFilesAreRefused(t *testing.T) {
	t.Parallel()
	span := func(s string) string { return `{"name":"x","week":[],"days":[` + s + `]}` }
	for _, tc := range []struct {
		text string
		want calendar.Reason
	}{
		{``, calendar.ReasonFormat}, {`[]`, calendar.ReasonFormat}, {`{"name":"x","week":[],"days":[]} {}`, calendar.ReasonFormat},
		{`{"name":"x","colour":1}`, calendar.ReasonFormat}, {`{"name":"","days":[]}`, calendar.ReasonName}, {`{"name":"A b"}`, calendar.ReasonName},
		{`{"name":"x","title":"a\u202eb"}`, calendar.ReasonText}, {`{"name":"x","zone":"Local"}`, calendar.ReasonZone}, {`{"name":"x","zone":"localtime"}`, calendar.ReasonZone}, {`{"name":"x","zone":"Mars/Base"}`, calendar.ReasonZone},
		{`{"name":"x","week":["monday"]}`, calendar.ReasonWeek}, {`{"name":"x","week":["mon","mon"]}`, calendar.ReasonWeek},
		{`{"name":"x","years":[{"year":1}]}`, calendar.ReasonYear}, {`{"name":"x","years":[{"year":2026},{"year":2026}]}`, calendar.ReasonYear},
		{span(`{"from":"2026-02-30","kind":"off"}`), calendar.ReasonDay}, {span(`{"from":"0001-01-01","kind":"off"}`), calendar.ReasonDay},
		{span(`{"from":"2026-02-03","until":"2026-02-02","kind":"off"}`), calendar.ReasonSpan}, {span(`{"from":"2026-02-03","until":"2028-02-02","kind":"off"}`), calendar.ReasonSpan},
		{span(`{"from":"2026-02-03","kind":"half"}`), calendar.ReasonKind},
		{span(`{"from":"2026-02-03","kind":"off"},{"from":"2026-02-01","until":"2026-02-05","kind":"work"}`), calendar.ReasonTwice},
		{strings.Repeat(" ", calendar.MaxBytes+1), calendar.ReasonSize},
	} {
		_, err := calendar.Parse([]byte(tc.text))
		if e, ok := errors.AsType[*calendar.Error](err); !ok || e.Reason != tc.want {
			t.Errorf("%.80s: %v, want %s", tc.text, err, tc.want)
		}
	}
}

const ics = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n" +
	"BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20261001\r\nDTEND;VALUE=DATE:20261008\r\nSUMMARY;LANGUAGE=zh:国庆节\\, 假\r\n 期\r\nBEGIN:VALARM\r\nSUMMARY:no\r\nEND:VALARM\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20261010\r\nSUMMARY:国庆节 补班\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20270101\r\nDURATION:P2D\r\nSUMMARY:New Year\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nDTSTART:20261010T090000Z\r\nSUMMARY:a meeting\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20260101\r\nRRULE:FREQ=YEARLY\r\nSUMMARY:each year\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20260102\r\nSTATUS:CANCELLED\r\nSUMMARY:off\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"

func TestICalendarEventsAreDays(t *testing.T) {
	t.Parallel()
	c, left, err := calendar.ParseICS([]byte(ics), calendar.Import{Name: "mine", Zone: "Asia/Shanghai", Week: []string{"mon", "tue", "wed", "thu", "fri"}, Work: "班"})
	if err != nil {
		t.Fatal(err)
	}
	want := []calendar.Span{
		{From: "2026-10-01", Until: "2026-10-07", Kind: calendar.Off, Name: "国庆节, 假期"},
		{From: "2026-10-10", Kind: calendar.Work, Name: "国庆节 补班"},
		{From: "2027-01-01", Until: "2027-01-02", Kind: calendar.Off, Name: "New Year"},
	}
	if !slices.Equal(c.Days, want) || left != 3 || len(c.Years) != 2 || c.Works(day(t, "2026-10-07")) || !c.Works(day(t, "2026-10-10")) {
		t.Errorf("%d left out; %+v", left, c)
	}
	if c, _, err = calendar.ParseICS([]byte(ics), calendar.Import{Name: "mine"}); err != nil || c.Works(day(t, "2026-10-10")) {
		t.Error("a title decides by itself", err)
	}
	for _, text := range []string{"", "hello", "BEGIN:VCALENDAR\nEND:VCALENDAR"} {
		if _, _, err := calendar.ParseICS([]byte(text), calendar.Import{Name: "mine"}); err == nil {
			t.Errorf("%q is a calendar", text)
		}
	}
}

// TestFilesThatAreCutOffAreRefused: the days that are missing from them would be working days.
func TestFilesThatAreCutOffAreRefused(t *testing.T) {
	t.Parallel()
	for n := range len(ics) - len("\r\n") {
		_, _, err := calendar.ParseICS([]byte(ics[:n]), calendar.Import{Name: "mine"})
		if e, ok := errors.AsType[*calendar.Error](err); !ok || e.Reason != calendar.ReasonFormat {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
	timed := "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;TZID=Asia/Shanghai:20260101T090000\nEND:VEVENT\nEND:VCALENDAR"
	if _, left, err := calendar.ParseICS([]byte(timed), calendar.Import{Name: "mine"}); left != 1 || err == nil || !strings.HasSuffix(err.Error(), "1") {
		t.Errorf("one without a day: %d left out, %v", left, err)
	}
}

// TestDaysBeginWhereTheClocksSay: at midnight, but where clocks leap over it, and in a zone that left a whole day out.
func TestDaysBeginWhereTheClocksSay(t *testing.T) {
	t.Parallel()
	for _, tc := range [][3]string{
		{"Asia/Shanghai", "2026-10-01", "2026-10-01T00:00:00+08:00"},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T01:00:00-02:00"},
		{"Pacific/Apia", "2011-12-30", "2011-12-31T00:00:00+14:00"},
		{"Europe/Berlin", "2026-10-25", "2026-10-25T00:00:00+02:00"},
	} {
		loc, err := time.LoadLocation(tc[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := day(t, tc[1]).Start(loc).Format(time.RFC3339); got != tc[2] {
			t.Errorf("%v: %s", tc, got)
		}
	}
	if d := calendar.DayOf(time.Date(1969, 12, 31, 23, 0, 0, 0, time.UTC), time.UTC); d != -1 || d.Weekday() != time.Wednesday {
		t.Error(d, d.Weekday())
	}
}

// FuzzFile: what is read can be written, and read again as the same.
func FuzzFile(f *testing.F) {
	f.Add(calendar.Shipped()[0])
	f.Add([]byte(`{"name":"x","week":["sun"],"days":[{"from":"2026-02-03","until":"2026-03-02","kind":"work","name":"a"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := calendar.Parse(data)
		if err != nil {
			return
		}
		again, err := calendar.Parse(c.JSON())
		if err != nil || string(again.JSON()) != string(c.JSON()) {
			t.Fatal(err)
		}
	})
}

// FuzzICS: whatever is read is a calendar that a file can hold.
func FuzzICS(f *testing.F) {
	f.Add([]byte(ics), "班")
	f.Add([]byte("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;X=\"a:b\":20260101\nDURATION:P1W\nEND:VEVENT\nEND:VCALENDAR"), "")
	f.Fuzz(func(t *testing.T, data []byte, work string) {
		c, _, err := calendar.ParseICS(data, calendar.Import{Name: "x", Work: work})
		if err != nil {
			return
		}
		if _, err := calendar.Parse(c.JSON()); err != nil && len(c.JSON()) <= calendar.MaxBytes {
			t.Fatal(err)
		}
	})
}
