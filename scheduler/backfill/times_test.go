package backfill

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/scheduler/calendar"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestTimes(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	weekdays, err := calendar.Parse([]byte(`{"name":"w","zone":"UTC","week":["mon","tue","wed","thu","fri"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		schedule         jobspec.Schedule
		from, until, due string
		want             []string
		err              error
	}{
		"the first moment belongs to a range and the last does not": {
			jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0 2 * * ?"}, "2026-03-01T02:00:00Z", "2026-03-03T02:00:00Z", "",
			[]string{"2026-03-01T02:00:00Z", "2026-03-02T02:00:00Z"}, nil,
		},
		"a time that clocks skip is not missed, and is there once": {
			jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 30 2 * * ?", Zone: berlin}, "2026-03-28T00:00:00+01:00", "2026-03-31T00:00:00+02:00", "",
			[]string{"2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"}, nil,
		},
		"a time that clocks show twice is there once, when the schedule has it": {
			jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 30 2 * * ?", Zone: berlin}, "2026-10-24T00:00:00+02:00", "2026-10-27T00:00:00+01:00", "",
			[]string{"2026-10-24T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"}, nil,
		},
		"a fixed rate is counted from a time that is known": {
			jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "3600"}, "2026-03-01T00:00:00Z", "2026-03-01T02:00:00Z", "2026-05-01T00:10:00Z",
			[]string{"2026-03-01T00:10:00Z", "2026-03-01T01:10:00Z"}, nil,
		},
		"a fixed rate is counted from a time before the range": {
			jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "3600"}, "2026-03-01T00:00:00Z", "2026-03-01T02:00:00Z", "2026-01-01T00:10:00Z",
			[]string{"2026-03-01T00:10:00Z", "2026-03-01T01:10:00Z"}, nil,
		},
		"the last moment of a range is no step of a fixed rate": {
			jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "3600"}, "2026-03-01T00:00:00Z", "2026-03-01T02:00:00Z", "2026-03-01T00:00:00Z",
			[]string{"2026-03-01T00:00:00Z", "2026-03-01T01:00:00Z"}, nil,
		},
		"nor of one with a calendar": {
			jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "3600", Calendar: weekdays, Rule: jobspec.CalendarWorkdays}, "2026-03-06T00:00:00Z", "2026-03-06T02:00:00Z", "2026-03-06T00:00:00Z",
			[]string{"2026-03-06T00:00:00Z", "2026-03-06T01:00:00Z"}, nil,
		},
		"a day off before the last moment leads behind it": { // 6 March 2026 is a Friday
			jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "86400", Calendar: weekdays, Rule: jobspec.CalendarWorkdays}, "2026-03-06T00:00:00Z", "2026-03-09T00:00:00Z", "2026-03-06T00:00:00Z",
			[]string{"2026-03-06T00:00:00Z"}, nil,
		},
		"a fixed rate keeps to its bounds": {
			jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "3600", Start: at("2026-03-01T01:05:00Z"), End: at("2026-03-01T02:05:00Z")},
			"2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z", "", []string{"2026-03-01T01:05:00Z", "2026-03-01T02:05:00Z"}, nil,
		},
		"a calendar leaves days out": { // 6 March 2026 is a Friday
			jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0 2 * * ?", Calendar: weekdays, Rule: jobspec.CalendarWorkdays}, "2026-03-06T00:00:00Z", "2026-03-10T00:00:00Z", "",
			[]string{"2026-03-06T02:00:00Z", "2026-03-09T02:00:00Z"}, nil,
		},
		"a calendar moves what falls on days off": {
			jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0 2 7 * ?", Calendar: weekdays, Rule: jobspec.CalendarNext}, "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z", "",
			[]string{"2026-03-09T02:00:00Z"}, nil,
		},
		"a fixed rate on days off keeps its step": {
			jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "36000", Calendar: weekdays, Rule: jobspec.CalendarDaysOff}, "2026-03-06T00:00:00Z", "2026-03-10T00:00:00Z", "2026-03-06T00:10:00Z",
			[]string{"2026-03-07T06:10:00Z", "2026-03-07T16:10:00Z", "2026-03-08T02:10:00Z", "2026-03-08T12:10:00Z", "2026-03-08T22:10:00Z"}, nil,
		},
		"a fixed rate with a calendar does not begin anew with its bounds": {
			jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "3600", Start: at("2026-03-06T00:30:00Z"), Calendar: weekdays, Rule: jobspec.CalendarWorkdays},
			"2026-03-06T00:00:00Z", "2026-03-06T03:00:00Z", "2026-05-01T00:10:00Z", []string{"2026-03-06T01:10:00Z", "2026-03-06T02:10:00Z"}, nil,
		},
		"a fixed rate that nothing is known of":      {jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "60"}, "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z", "", nil, ErrNoPhase},
		"a delay hangs on its runs":                  {jobspec.Schedule{Type: jobspec.ScheduleFixDelay, Conf: "60"}, "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z", "", nil, ErrNoSchedule},
		"no schedule":                                {jobspec.Schedule{Type: jobspec.ScheduleNone}, "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z", "", nil, ErrNoSchedule},
		"more than a backfill may have":              {jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "* * * * * ?"}, "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z", "", nil, ErrTooMany},
		"more than a backfill may have, at one rate": {jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "1"}, "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z", "2026-03-02T00:00:00Z", nil, ErrTooMany},
	} {
		t.Run(name, func(t *testing.T) {
			var due time.Time
			if c.due != "" {
				due = at(c.due)
			}
			times, err := Times(c.schedule, at(c.from), at(c.until), due)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			var got []string
			for _, at := range times {
				got = append(got, at.UTC().Format(time.RFC3339))
			}
			if c.err == nil && !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestTheNewestMayComeFirst, and what was asked for stays as it is.
func TestTheNewestMayComeFirst(t *testing.T) {
	t.Parallel()
	for newest, want := range map[bool][]int{false: {1, 2, 3}, true: {3, 2, 1}} {
		times := []int{1, 2, 3}
		if got := Ordered(times, newest); !slices.Equal(got, want) || !slices.Equal(times, []int{1, 2, 3}) {
			t.Errorf("the newest first: %t: %v, of %v", newest, got, times)
		}
	}
}
