package jobspec_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/punctual-job/punctual/scheduler/calendar"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func shipped(t testing.TB) *calendar.Calendar {
	t.Helper()
	c, err := calendar.Parse(calendar.Shipped()[0])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func checked(t testing.TB, c *calendar.Calendar) *calendar.Calendar {
	t.Helper()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	return c
}

func zoned(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestACalendarDecidesTheDays(t *testing.T) {
	t.Parallel()
	cn, shanghai := shipped(t), zoned(t, "Asia/Shanghai")
	for _, tc := range []struct {
		name  string
		s     jobspec.Schedule
		after string
		want  []string
	}{
		{"only working days, with the Saturday that is worked", jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0 2 * * ?", Rule: jobspec.CalendarWorkdays},
			"2026-09-29 12:00:00", []string{"2026-09-30 02:00:00", "2026-10-08 02:00:00", "2026-10-09 02:00:00", "2026-10-10 02:00:00", "2026-10-12 02:00:00"}},
		{"only days off", jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0 2 * * ?", Rule: jobspec.CalendarDaysOff},
			"2026-10-06 12:00:00", []string{"2026-10-07 02:00:00", "2026-10-11 02:00:00", "2026-10-17 02:00:00"}},
		{"the first of the month, or the next working day", jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0 2 1 * ?", Rule: jobspec.CalendarNext},
			"2026-09-10 00:00:00", []string{"2026-10-08 02:00:00", "2026-11-02 02:00:00", "2026-12-01 02:00:00"}},
		{"the first of the month, or the last working day before", jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0 2 1 * ?", Rule: jobspec.CalendarPrevious},
			"2026-09-10 00:00:00", []string{"2026-09-30 02:00:00", "2026-10-30 02:00:00", "2026-12-01 02:00:00"}},
		{"seven days that are moved to one are one", jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0 2,14 * * ?", Rule: jobspec.CalendarNext},
			"2026-09-30 03:00:00", []string{"2026-09-30 14:00:00", "2026-10-08 02:00:00", "2026-10-08 14:00:00", "2026-10-09 02:00:00"}},
		{"a rate keeps its phase", jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "25200", Rule: jobspec.CalendarWorkdays}, // 7 h
			"2026-10-09 20:00:00", []string{"2026-10-10 03:00:00", "2026-10-10 10:00:00", "2026-10-10 17:00:00", "2026-10-12 04:00:00"}},
		{"a delay goes on when the day begins", jobspec.Schedule{Type: jobspec.ScheduleFixDelay, Conf: "3600", Rule: jobspec.CalendarWorkdays},
			"2026-09-30 23:30:00", []string{"2026-10-08 00:00:00"}},
		{"once", jobspec.Schedule{Type: jobspec.ScheduleOnce, Conf: "2026-10-03 09:00:00", Rule: jobspec.CalendarNext},
			"2026-09-01 00:00:00", []string{"2026-10-08 09:00:00", ""}},
		{"once, on a day off", jobspec.Schedule{Type: jobspec.ScheduleOnce, Conf: "2026-10-03 09:00:00", Rule: jobspec.CalendarWorkdays},
			"2026-09-01 00:00:00", []string{""}},
	} {
		tc.s.Calendar, tc.s.Zone = cn, shanghai
		at, err := time.ParseInLocation(time.DateTime, tc.after, shanghai)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tc.want {
			if at, err = tc.s.Next(at); err != nil {
				t.Fatal(err)
			}
			got := ""
			if !at.IsZero() {
				got = at.In(shanghai).Format(time.DateTime)
			}
			if got != want {
				t.Errorf("%s: %s, want %s", tc.name, got, want)
				break
			}
		}
	}
}

// TestTheDayIsThatOfTheCalendar: at 20:00 in New York it is the next day in Shanghai.
func TestTheDayIsThatOfTheCalendar(t *testing.T) {
	t.Parallel()
	s := jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0 20 * * ?", Zone: zoned(t, "America/New_York"), Calendar: shipped(t), Rule: jobspec.CalendarWorkdays}
	next, err := s.Next(time.Date(2026, 9, 28, 12, 0, 0, 0, s.Zone))
	if err != nil || next.In(s.Zone).Format(time.DateOnly) != "2026-09-28" { // the 29th in Shanghai
		t.Error(next, err)
	}
	if next, err = s.Next(next.Add(24 * time.Hour)); err != nil || next.In(s.Zone).Format(time.DateOnly) != "2026-10-07" { // the 8th
		t.Error(next, err)
	}
}

// TestACalendarThatLeavesNoDayEnds: the search is bounded, and says that there is none.
func TestACalendarThatLeavesNoDayEnds(t *testing.T) {
	t.Parallel()
	never := checked(t, &calendar.Calendar{Name: "never"})
	for _, rule := range jobspec.AllCalendarRules {
		if rule == jobspec.CalendarDaysOff {
			continue
		}
		for _, s := range []jobspec.Schedule{
			{Type: jobspec.ScheduleCron, Conf: "* * * * * ?"}, {Type: jobspec.ScheduleCron, Conf: "0 0 0 29 2 ?"}, {Type: jobspec.ScheduleFixRate, Conf: "1"},
			{Type: jobspec.ScheduleFixDelay, Conf: "1"}, {Type: jobspec.ScheduleOnce, Conf: "2026-10-03 09:00:00"},
		} {
			s.Calendar, s.Rule = never, rule
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			if next, err := s.Next(now); err != nil || !next.IsZero() {
				t.Errorf("%s %s %s: %v, %v", s.Type, s.Conf, rule, next, err)
			}
			plan, err := jobspec.Decide(s, now, now, now.Add(time.Minute), 0)
			if err != nil || len(plan.Fires) > 0 || !plan.Next.IsZero() && s.Type != jobspec.ScheduleFixDelay {
				t.Errorf("%s %s %s: %+v, %v", s.Type, s.Conf, rule, plan, err)
			}
		}
	}
}

// drawn is a calendar with a zone of its own or none, and the zone of a job, around days on which clocks change. Each week has a working day
// and a day off: looking for others one by one takes minutes. Apia is not among the zones: of times that are moved over the date that it
// left out in 2011 the two searches make different things.
func drawn(t *rapid.T) (*calendar.Calendar, *time.Location, time.Time) {
	zones := []string{"Asia/Shanghai", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "UTC"}
	loc, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
	if err != nil {
		t.Fatal(err)
	}
	c := &calendar.Calendar{Name: "drawn"}
	if rapid.Bool().Draw(t, "own zone") {
		c.Zone = rapid.SampledFrom(zones).Draw(t, "calendar zone")
	}
	for _, w := range calendar.Weekdays {
		if rapid.IntRange(0, 9).Draw(t, w) < 6 {
			c.Week = append(c.Week, w)
		}
	}
	if len(c.Week) == 0 || len(c.Week) == 7 {
		c.Week = slices.Clone(calendar.Weekdays[:5])
	}
	from := rapid.SampledFrom([]time.Time{
		time.Date(2026, 3, 5, 0, 0, 0, 0, loc), time.Date(2026, 10, 20, 0, 0, 0, 0, loc), time.Date(2018, 10, 28, 0, 0, 0, 0, loc),
		time.Date(2018, 2, 10, 0, 0, 0, 0, loc), time.Date(2011, 12, 20, 0, 0, 0, 0, loc), time.Date(2026, 4, 1, 0, 0, 0, 0, loc),
	}).Draw(t, "from").Add(time.Duration(rapid.IntRange(0, 86_400).Draw(t, "into the day")) * time.Second)
	first := calendar.DayOf(from, loc)
	for d := range 40 {
		switch rapid.IntRange(0, 7).Draw(t, fmt.Sprint("day ", d)) {
		case 0:
			c.Days = append(c.Days, calendar.Span{From: (first + calendar.Day(d) - 10).String(), Kind: calendar.Off})
		case 1:
			c.Days = append(c.Days, calendar.Span{From: (first + calendar.Day(d) - 10).String(), Kind: calendar.Work})
		}
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	return c, loc, from
}

// TestCalendarProperties walks schedules along their calendar: never on a day that is left out, always later than the last, and for cron
// exactly the times that are found by looking at each time without the calendar.
func TestCalendarProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, loc, from := drawn(t)
		s := jobspec.Schedule{Zone: loc, Calendar: c, Rule: rapid.SampledFrom(jobspec.AllCalendarRules).Draw(t, "rule"),
			Type: rapid.SampledFrom([]jobspec.ScheduleType{jobspec.ScheduleCron, jobspec.ScheduleFixRate, jobspec.ScheduleFixDelay}).Draw(t, "type")}
		switch s.Type {
		case jobspec.ScheduleCron:
			s.Conf = rapid.SampledFrom([]string{
				"0 0 2 * * ?", "0 30 2 * * ?", "0 15 0 * * ?", "0 0/30 * * * ?", "0 45 23 * * ?", "0 0 1,3 * * ?", "0 10 2/3 ? * SAT,SUN", "0 0 12 1,15 * ?", "0 20/25 0-4 * * ?",
			}).Draw(t, "cron")
		default:
			s.Conf = fmt.Sprint(rapid.IntRange(600, 200_000).Draw(t, "seconds"))
		}
		until := from.Add(12 * 24 * time.Hour)
		if rapid.Bool().Draw(t, "bounded") {
			s.Start, s.End = from.Add(24*time.Hour), from.Add(9*24*time.Hour)
		}
		var got []time.Time
		for at := from; len(got) < 3000; {
			next, err := s.Next(at)
			if err != nil {
				t.Fatal(err)
			}
			if next.IsZero() || next.After(until) {
				break
			}
			works := c.Works(calendar.DayOf(next, c.Location(loc)))
			if !next.After(at) || works == (s.Rule == jobspec.CalendarDaysOff) || next.Before(s.Start) || !s.End.IsZero() && next.After(s.End) {
				t.Fatalf("%v after %v", next, at)
			}
			if s.Type == jobspec.ScheduleFixRate && len(got) > 0 {
				var every int
				fmt.Sscan(s.Conf, &every)
				if next.Sub(got[0])%(time.Duration(every)*time.Second) != 0 {
					t.Fatalf("%v is off the beat of %v", next, got[0])
				}
			}
			got, at = append(got, next), next
		}
		if s.Type != jobspec.ScheduleCron {
			return
		}
		if want := found(t, s, from, until); !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%s %s by %v: %v, want %v", s.Conf, s.Rule, c.Week, got, want)
		}
	})
}

// found looks at each time that the schedule would have without the calendar.
func found(t *rapid.T, s jobspec.Schedule, from, until time.Time) (times []time.Time) {
	plain, c := s, s.Calendar
	plain.Calendar = nil
	works := func(at time.Time) bool { return c.Works(calendar.DayOf(at, c.Location(s.Zone))) }
	const far = 40 * 24 * time.Hour // times that are moved to these days come from no farther than drawn's days reach
	for at := from.Add(-far); ; {
		next, err := plain.Next(at)
		if err != nil {
			t.Fatal(err)
		}
		if next.IsZero() || next.After(until.Add(far)) {
			break
		}
		at = next
		landed := next
		switch {
		case s.Rule == jobspec.CalendarWorkdays || s.Rule == jobspec.CalendarDaysOff:
			if works(next) == (s.Rule == jobspec.CalendarDaysOff) {
				continue
			}
		default:
			step, day := 1, next.In(s.Zone)
			if s.Rule == jobspec.CalendarPrevious {
				step = -1
			}
			for n := 1; !works(landed) && n <= 366; n++ {
				landed = onThatDay(day, step*n)
			}
			if !works(landed) {
				continue
			}
		}
		if landed.After(from) && !landed.After(until) && !landed.Before(s.Start) && (s.End.IsZero() || !landed.After(s.End)) {
			times = append(times, landed)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return slices.CompactFunc(times, time.Time.Equal)
}

// onThatDay looks for the last moment that shows the same time of day, minute by minute; where there is none, for the first after the gap.
func onThatDay(t time.Time, days int) time.Time {
	want := time.Date(t.Year(), t.Month(), t.Day()+days, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
	loc := t.Location()
	start := want.Add(-30 * time.Hour)
	var last time.Time
	var before int
	for at := start; at.Before(want.Add(30 * time.Hour)); at = at.Add(5 * time.Minute) { // all times here are of such
		in := at.In(loc)
		if _, offset := in.Zone(); at.Equal(start) {
			before = offset
		}
		if in.Format(time.DateTime) == want.Format(time.DateTime) {
			last = at
		}
	}
	if last.IsZero() {
		return want.Add(-time.Duration(before) * time.Second)
	}
	return last
}

// TestDecideKeepsToTheCalendar: what Decide plans, look by look, is the walk of Next, and a stored time that the calendar no longer allows does
// not fire.
func TestDecideKeepsToTheCalendar(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, loc, now := drawn(t)
		s := jobspec.Schedule{Zone: loc, Calendar: c, Rule: rapid.SampledFrom(jobspec.AllCalendarRules).Draw(t, "rule"),
			Misfire: rapid.SampledFrom(jobspec.AllMisfires).Draw(t, "misfire"), Type: jobspec.ScheduleCron, Conf: "0 0/20 * * * ?"}
		if rapid.Bool().Draw(t, "rate") {
			s.Type, s.Conf = jobspec.ScheduleFixRate, "1800"
		}
		next := now.Truncate(time.Second) // on whatever day
		want := next
		if !s.Allows(next) {
			if s.Type == jobspec.ScheduleFixRate {
				for !s.Allows(want) && want.Before(now.Add(60*24*time.Hour)) {
					want = want.Add(30 * time.Minute)
				}
				if !s.Allows(want) {
					return
				}
			} else {
				var err error
				if want, err = s.Next(next); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range rapid.IntRange(1, 12).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.Int64Range(0, 40*3600).Draw(t, "pause")) * time.Second)
			plan, err := jobspec.Decide(s, next, now, now.Add(8*time.Second), 0)
			if err != nil {
				t.Fatal(err)
			}
			want = checkPlan(t, s, plan, want, now, now.Add(8*time.Second))
			if next = plan.Next; plan.Next.IsZero() {
				return
			}
		}
	})
}

func BenchmarkCalendarNext(b *testing.B) {
	for _, rule := range jobspec.AllCalendarRules {
		b.Run(string(rule), func(b *testing.B) {
			s := jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0/5 * * * * ?", Zone: time.UTC, Calendar: shipped(b), Rule: rule}
			at := time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC)
			for b.Loop() {
				if _, err := s.Next(at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
