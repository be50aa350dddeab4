package jobspec_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/punctual-job/punctual/scheduler/calendar"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestTheFireThatADeadlineBelongsTo has moments, and of the deadlines before and after each the fire and the time.
func TestTheFireThatADeadlineBelongsTo(t *testing.T) {
	t.Parallel()
	berlin, shanghai := zoned(t, "Europe/Berlin"), zoned(t, "Asia/Shanghai")
	off := checked(t, &calendar.Calendar{Name: "c", Week: []string{"mon", "tue", "wed", "thu", "fri"}})
	cron := func(conf string, zone *time.Location) jobspec.Schedule {
		return jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: conf, Zone: zone}
	}
	weekdays, moved := cron("0 0 5 * * ?", shanghai), cron("0 0 5 * * ?", shanghai)
	weekdays.Calendar, weekdays.Rule = off, jobspec.CalendarWorkdays
	moved.Calendar, moved.Rule = off, jobspec.CalendarNext
	ends := cron("0 0 5 * * ?", shanghai)
	ends.End = time.Date(2026, 3, 2, 5, 0, 0, 0, shanghai)
	beat := time.Date(2026, 3, 2, 11, 20, 0, 0, shanghai)
	for _, c := range []struct {
		name   string
		s      jobspec.Schedule
		by     string
		zone   *time.Location
		at     string
		last   string // its fire and its time
		coming string
	}{
		{"in the morning", cron("0 0 5 * * ?", shanghai), "06:00", shanghai, "2026-03-02 05:30", "03-01 05:00 03-01 06:00", "03-02 05:00 03-02 06:00"},
		{"at the moment itself it is the last", cron("0 0 5 * * ?", shanghai), "06:00", shanghai, "2026-03-02 06:00", "03-02 05:00 03-02 06:00", "03-03 05:00 03-03 06:00"},
		{"begins in the evening", cron("0 0 22 * * ?", shanghai), "06:00", shanghai, "2026-03-02 23:00", "03-01 22:00 03-02 06:00", "03-02 22:00 03-03 06:00"},
		{"the last of many", cron("0 0/10 * * * ?", shanghai), "06:00", shanghai, "2026-03-02 05:59", "03-01 05:50 03-01 06:00", "03-02 05:50 03-02 06:00"},
		{"no fire on Sundays", cron("0 0 5 ? * MON-SAT", shanghai), "06:00", shanghai, "2026-03-01 05:30", "02-28 05:00 02-28 06:00", "none 03-01 06:00"},
		{"no fire on days off", weekdays, "06:00", shanghai, "2026-03-01 05:30", "none 02-28 06:00", "none 03-01 06:00"},
		{"moved from days off", moved, "06:00", shanghai, "2026-03-01 06:00", "none 03-01 06:00", "03-02 05:00 03-02 06:00"},
		{"behind its end", ends, "06:00", shanghai, "2026-03-02 06:00", "03-02 05:00 03-02 06:00", "none 03-03 06:00"},
		{"a fixed rate keeps its beat", jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "3600", Zone: shanghai}, "06:00", shanghai, "2026-03-02 05:30", "03-01 05:20 03-01 06:00", "03-02 05:20 03-02 06:00"},
		{"a delay has no planned times", jobspec.Schedule{Type: jobspec.ScheduleFixDelay, Conf: "3600", Zone: shanghai}, "06:00", shanghai, "2026-03-02 05:30", "none 03-01 06:00", "none 03-02 06:00"},
		{"once", jobspec.Schedule{Type: jobspec.ScheduleOnce, Conf: "2026-03-02 05:30:00", Zone: shanghai}, "06:00", shanghai, "2026-03-02 05:45", "none 03-01 06:00", "03-02 05:30 03-02 06:00"},
		{"a time that is not shown is later", cron("0 0 1 * * ?", berlin), "02:30", berlin, "2026-03-29 01:30", "03-28 01:00 03-28 02:30", "03-29 01:00 03-29 03:30"},
		{"a time that is shown twice is the second", cron("0 0 1 * * ?", berlin), "02:30", berlin, "2026-10-25 01:30", "10-24 01:00 10-24 02:30", "10-25 01:00 10-25 02:30"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at, err := time.ParseInLocation("2006-01-02 15:04", c.at, c.zone)
			if err != nil {
				t.Fatal(err)
			}
			clock, ok := jobspec.ParseClock(c.by)
			if !ok {
				t.Fatal("no time of day")
			}
			text := func(d jobspec.Deadline) string {
				by := " " + d.By.In(c.zone).Format("01-02 15:04")
				if d.Fire.IsZero() {
					return "none" + by
				}
				return d.Fire.In(c.zone).Format("01-02 15:04") + by
			}
			last, coming, err := c.s.Deadlines(clock, beat, at)
			if err != nil || text(last) != c.last || text(coming) != c.coming {
				t.Errorf("at %s: %q and %q, %v; want %q and %q", c.at, text(last), text(coming), err, c.last, c.coming)
			}
		})
	}
	// Of the second 02:30, an hour and a half later than it looks.
	clock, _ := jobspec.ParseClock("02:30")
	_, d, err := cron("0 0 1 * * ?", berlin).Deadlines(clock, beat, time.Date(2026, 10, 25, 1, 30, 0, 0, berlin))
	if err != nil || d.By.Sub(d.Fire) != 2*time.Hour+30*time.Minute {
		t.Errorf("%v from the fire to its deadline, %v", d.By.Sub(d.Fire), err)
	}
}

// TestDeadlinesAreFoundAsBySteppingThroughThem compares what is found by halving with a walk over all fires.
func TestDeadlinesAreFoundAsBySteppingThroughThem(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 226))
	zones := []*time.Location{time.UTC, zoned(t, "Europe/Berlin"), zoned(t, "America/New_York"), zoned(t, "Asia/Shanghai"), zoned(t, "Australia/Lord_Howe")}
	confs := []string{"0 17 3 * * ?", "0 0/7 * * * ?", "0 30 1,2,3 * * ?", "0 0 5 ? * MON,THU", "0 0 0 1 * ?", "30 59 23 * * ?"}
	for range 400 {
		s := jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: confs[r.IntN(len(confs))], Zone: zones[r.IntN(len(zones))]}
		next := time.Date(2026, 1, 1, 0, r.IntN(60), 0, 0, time.UTC)
		if r.IntN(4) == 0 {
			s.Type, s.Conf = jobspec.ScheduleFixRate, []string{"420", "7200", "200000"}[r.IntN(3)]
		}
		clock := jobspec.Clock(r.IntN(24 * 60))
		at := time.Date(2026, 1, 2, 0, 0, 0, 0, s.Zone).Add(time.Duration(r.IntN(365*24*60)) * time.Minute)
		last, coming, err := s.Deadlines(clock, next, at)
		if err != nil {
			t.Fatal(err)
		}
		if last.By.After(at) || !coming.By.After(at) || coming.By.Sub(last.By) > 26*time.Hour {
			t.Fatalf("%v: deadlines %v and %v", at, last.By, coming.By)
		}
		var want time.Time
		due := next
		if s.Type == jobspec.ScheduleCron {
			due, _ = s.Next(last.By.Add(-time.Nanosecond))
		}
		for due.Before(coming.By) {
			if !due.Before(last.By) {
				want = due
			}
			if due, err = s.Next(due); err != nil {
				t.Fatal(err)
			}
		}
		if !want.Equal(coming.Fire) {
			t.Fatalf("%s %s in %v, done by %v: fire %v, want %v", s.Type, s.Conf, s.Zone, coming.By, coming.Fire, want)
		}
		if by, ok, err := s.DeadlineOf(clock, next, coming.Fire); !want.IsZero() && (err != nil || !ok || !by.Equal(coming.By)) {
			t.Fatalf("the deadline of its own fire is %v, %v, %v; want %v", by, ok, err, coming.By)
		}
	}
}

func TestTimesOfDayThatCanBeRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"06:00": "06:00", " 6:00 ": "06:00", "6：05": "06:05", "23:59": "23:59", "00:00": "00:00",
		"24:00": "", "6": "", "6:5": "", "12:60": "", "-1:00": "", "+6:00": "", "006:00": "", "06:00:00": "", ":30": "",
	} {
		j := jobspec.Job{ScheduleType: jobspec.ScheduleCron, DoneBy: text}.Normalize()
		if _, ok := jobspec.ParseClock(j.DoneBy); ok != (want != "") || ok && j.DoneBy != want {
			t.Errorf("%q becomes %q, want %q", text, j.DoneBy, want)
		}
	}
}

func FuzzClock(f *testing.F) {
	for _, s := range []string{"06:00", "6:00", "24:00", "", ":", "0x:00", "١٢:٠٠"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := jobspec.ParseClock(text)
		if again, still := jobspec.ParseClock(c.String()); ok && (c < 0 || c >= 24*60 || !still || again != c) {
			t.Errorf("%q is %d, written %q", text, c, c)
		}
	})
}

func TestOnlyJobsWithPlannedTimesHaveADeadline(t *testing.T) {
	t.Parallel()
	for kind, want := range map[jobspec.ScheduleType]bool{
		jobspec.ScheduleCron: true, jobspec.ScheduleFixRate: true, jobspec.ScheduleOnce: true, jobspec.ScheduleFixDelay: false, jobspec.ScheduleNone: false,
	} {
		j := jobspec.Job{ScheduleType: kind, DoneBy: "06:00"}
		refused := false
		for _, e := range jobspec.Validate(j) {
			refused = refused || e.Name == jobspec.FieldDoneBy && e.Key == jobspec.CodeNoFires
		}
		if refused == want {
			t.Errorf("%s: refused %v", kind, refused)
		}
	}
}

// TestOnlyTheLastFireBeforeADeadlineHasIt: the others of the day may run until the next.
func TestOnlyTheLastFireBeforeADeadlineHasIt(t *testing.T) {
	t.Parallel()
	s := jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0/10 * * * ?", Zone: time.UTC}
	clock, ok := jobspec.ParseClock("06:00")
	if !ok {
		t.Fatal("no time of day")
	}
	due := time.Date(2026, 3, 2, 6, 0, 0, 0, time.UTC)
	for before, want := range map[time.Duration]bool{20 * time.Minute: false, 10 * time.Minute: true} {
		by, ok, err := s.DeadlineOf(clock, due, due.Add(-before))
		if err != nil || ok != want || ok && !by.Equal(due) {
			t.Errorf("%v before: by %v, %v, %v; want %v", before, by, ok, err, want)
		}
	}
}
