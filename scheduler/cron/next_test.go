package cron_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/scheduler/cron"
)

func mustParse(t testing.TB, text string) *cron.Expression {
	t.Helper()
	e, err := parser2026.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestClockChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, zone, text, after string
		want                    []string
	}{
		{"half an hour springs forward on Lord Howe", "Australia/Lord_Howe", "0 0/15 1-2 4 10 ?", "2026-10-04T01:40:00+10:30",
			[]string{"2026-10-04T01:45:00+10:30", "2026-10-04T02:30:00+11:00", "2026-10-04T02:45:00+11:00"}},
		{"half an hour falls back on Lord Howe: the second pass counts", "Australia/Lord_Howe", "0 0/15 1-2 5 4 ?", "2026-04-05T01:15:00+11:00",
			[]string{"2026-04-05T01:30:00+10:30", "2026-04-05T01:45:00+10:30", "2026-04-05T02:00:00+10:30"}},
		{"a midnight that does not exist is skipped", "America/Asuncion", "0 0 0 * * ?", "2023-09-30T00:00:00-04:00",
			[]string{"2023-10-02T00:00:00-03:00", "2023-10-03T00:00:00-03:00", "2023-10-04T00:00:00-03:00"}},
		{"a date that does not exist is skipped", "Pacific/Apia", "0 0 12 * * ?", "2011-12-28T12:00:00-10:00",
			[]string{"2011-12-29T12:00:00-10:00", "2011-12-31T12:00:00+14:00", "2012-01-01T12:00:00+14:00"}},
		{"every second goes on where the clocks land", "America/New_York", "* * * * * ?", "2026-03-08T01:59:58-05:00",
			[]string{"2026-03-08T01:59:59-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T03:00:01-04:00"}},
		{"inside the first pass of the repeated hour the wall clock is read on into the second", "America/New_York", "0 * * * * ?", "2026-11-01T01:10:00-04:00",
			[]string{"2026-11-01T01:11:00-05:00", "2026-11-01T01:12:00-05:00", "2026-11-01T01:13:00-05:00"}},
		{"from inside the first pass an earlier time of the second is not found", "America/New_York", "0 0 1 * * ?", "2026-11-01T01:10:00-04:00",
			[]string{"2026-11-02T01:00:00-05:00", "2026-11-03T01:00:00-05:00", "2026-11-04T01:00:00-05:00"}},
		{"the last day of a leap year is a day like others", "America/New_York", "0 0 12 * * ?", "2112-12-30T12:00:00-05:00",
			[]string{"2112-12-31T12:00:00-05:00", "2113-01-01T12:00:00-05:00", "2113-01-02T12:00:00-05:00"}},
		{"seconds before 1970 work as all others", "UTC", "0 0 0 1 1 ? 1965-1971/3", "1960-01-01T00:00:00.5Z",
			[]string{"1965-01-01T00:00:00Z", "1968-01-01T00:00:00Z", "1971-01-01T00:00:00Z"}},
	} {
		loc := location(t, tt.zone)
		after, err := time.Parse(time.RFC3339, tt.after)
		if err != nil {
			t.Fatal(err)
		}
		times, err := nextTimes(mustParse(t, tt.text), after, loc, 3)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range times {
			got = append(got, n.Format(time.RFC3339))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestAScheduleHasTheSameTimesFromWhereverOneLooks: around each change of clocks, what a search finds is the next of the times that one from long
// before goes through.
func TestAScheduleHasTheSameTimesFromWhereverOneLooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, change string }{
		{"Europe/Berlin", "2026-10-25T01:00:00Z"},
		{"Europe/Berlin", "2026-03-29T01:00:00Z"},
		{"Australia/Lord_Howe", "2026-04-04T15:00:00Z"},
		{"Australia/Lord_Howe", "2026-10-03T15:30:00Z"},
		{"Africa/Casablanca", "2026-02-15T02:00:00Z"},
		{"America/Santiago", "2026-04-05T03:00:00Z"},
		{"America/Havana", "2026-11-01T05:00:00Z"},
		{"Antarctica/Troll", "2026-10-25T01:00:00Z"},
		{"Asia/Pyongyang", "2015-08-14T15:00:00Z"},
		{"Asia/Tehran", "2022-09-21T19:30:00Z"},
		{"Asia/Shanghai", "2026-10-25T01:00:00Z"},
	} {
		loc := location(t, c.zone)
		change, err := time.Parse(time.RFC3339, c.change)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"0 0 * * * ?", "0 0/10 * * * ?", "0 0 1 * * ?", "0 30 23 * * ?", "0 0 0 * * ?", "0 45 1,2 * * ?", "59 59 1 * * ?"} {
			schedule, err := mustParse(t, text).In(loc)
			if err != nil {
				t.Fatal(err)
			}
			last, next := time.Time{}, schedule.Next(change.Add(-30*time.Hour))
			for at := change.Add(-4 * time.Hour); at.Before(change.Add(4 * time.Hour)); at = at.Add(time.Minute) {
				for !next.After(at) {
					last, next = next, schedule.Next(next)
				}
				from := next
				if last.Equal(at) {
					from = at
				}
				if got := schedule.Next(at); !got.Equal(next) {
					t.Fatalf("%q in %s after %v: %v, want %v", text, c.zone, at.In(loc), got, next)
				}
				if got := schedule.Next(at.Add(-time.Nanosecond)); !got.Equal(from) {
					t.Fatalf("%q in %s from %v on: %v, want %v", text, c.zone, at.In(loc), got, from)
				}
			}
		}
	}
}

func TestClockChangeWarningsFindDaysWithoutARun(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, text, zone string
		want             []string
	}{
		{"a daily job in the gap misses one day a year", "0 30 2 * * ?", "America/New_York", []string{"2026-03-08 02:30:00", "2027-03-14 02:30:00"}},
		{"a job with another run that day does not miss it", "0 30 2,14 * * ?", "America/New_York", nil},
		{"a daily job at another hour is safe", "0 30 3 * * ?", "America/New_York", nil},
		{"a job that is not due on that day is safe", "0 30 2 ? * MON", "America/New_York", nil},
		{"a zone without clock changes is safe", "0 30 2 * * ?", "Asia/Shanghai", nil},
		{"a text that cannot be evaluated misses nothing", "0 30 2 1 L ?", "America/New_York", nil},
	} {
		var got []string
		for _, w := range mustParse(t, tt.text).ClockChangeWarnings(from, location(t, tt.zone)) {
			if w.Code != cron.WarnSkippedBySpringChange {
				t.Errorf("%s: got code %q", tt.name, w.Code)
			}
			got = append(got, w.Element)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestYearsEndAHundredYearsOn(t *testing.T) {
	t.Parallel()
	after := time.Date(2126, 12, 30, 0, 0, 0, 0, time.UTC)
	times, err := nextTimes(mustParse(t, "0 0 0 * * ?"), after, time.UTC, 5)
	if err != nil {
		t.Fatal(err)
	}
	if len(times) != 1 || times[0].Day() != 31 {
		t.Errorf("got %v, want 31 December 2126 and no more", times)
	}
	late := cron.Parser{StartYear: 2950}
	e, err := late.Parse("0 0 0 31 12 ? 2990-2999")
	if err != nil {
		t.Fatal(err)
	}
	times, err = nextTimes(e, time.Date(2998, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC, 5)
	if err != nil {
		t.Fatal(err)
	}
	if len(times) != 2 {
		t.Errorf("got %v, want the ends of 2998 and 2999", times)
	}
}

func TestNextNamesTheFieldThatHasNoValue(t *testing.T) {
	t.Parallel()
	_, err := mustParse(t, "0 0 9 1 L ?").Next(time.Unix(0, 0), nil)
	e, ok := errors.AsType[*cron.EvalError](err)
	if !ok || e.Field != cron.Month {
		t.Fatalf("got %v, want an evaluation error for the month", err)
	}
	want := `cron: month of "0 0 9 1 L ?" has no value, so there is no next time; give it one, or *`
	if e.Error() != want {
		t.Errorf("got %s, want %s", e, want)
	}
}

func TestNilZoneIsUTC(t *testing.T) {
	t.Parallel()
	got, err := mustParse(t, "0 0 9 * * ?").Next(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), nil)
	if want := time.Date(2026, 1, 2, 9, 0, 0, 0, time.UTC); err != nil || !got.Equal(want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func BenchmarkNext(b *testing.B) {
	after := time.Date(2026, 7, 3, 10, 20, 30, 0, time.UTC)
	for _, text := range []string{"0/5 * * * * ?", "0 0/30 9-17 ? * MON-FRI", "0 0 3 L * ?", "0 0 0 29 2 ?", "0 0 9 30 2 ?"} {
		for _, zone := range []string{"UTC", "Asia/Shanghai", "America/New_York"} {
			e, loc := mustParse(b, text), location(b, zone)
			b.Run(text+" "+zone, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := e.Next(after, loc); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parser2026.Parse("0 0/30 9-17 ? * MON-FRI"); err != nil {
			b.Fatal(err)
		}
	}
}
