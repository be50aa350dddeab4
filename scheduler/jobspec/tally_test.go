package jobspec_test

import (
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestATallyCountsWhatAWalkFinds compares it with going from due time to due time, also where clocks change and calendars leave days out,
// and where it is told to end.
func TestATallyCountsWhatAWalkFinds(t *testing.T) {
	t.Parallel()
	cal := shipped(t)
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom([]string{"UTC", "Asia/Shanghai", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe"}).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		s := jobspec.Schedule{Zone: zone}
		switch rapid.IntRange(0, 4).Draw(t, "type") {
		case 0:
			s.Type, s.Conf = jobspec.ScheduleFixRate, rapid.SampledFrom([]string{"1", "7", "60", "90", "450", "900", "901", "3600", "5000", "86400"}).Draw(t, "every")
		case 1:
			s.Type, s.Conf = jobspec.ScheduleOnce, "2026-03-29 02:30:00"
		default:
			s.Type, s.Conf = jobspec.ScheduleCron, rapid.SampledFrom([]string{
				"0/20 * * * * ?", "0 * * * * ?", "0 0/7 1-5 ? * MON-FRI", "0 0 2 * * ?", "0 30 1,2,3 * * ?", "5,10 7/11 0/3 * * ?", "0 45 23 L * ?", "59 59 * * * ?", "0 14,15 */2 29 3 ?", "0 0 9 ? * 2#1",
			}).Draw(t, "cron")
		}
		if rapid.Bool().Draw(t, "calendar") {
			s.Calendar, s.Rule = cal, rapid.SampledFrom([]jobspec.CalendarRule{jobspec.CalendarWorkdays, jobspec.CalendarDaysOff, jobspec.CalendarNext, jobspec.CalendarPrevious}).Draw(t, "rule")
		}
		// Clocks are set forward on 29 March in Berlin and on 4 October at Lord Howe, and back on 25 October and 5 April.
		from := rapid.SampledFrom([]time.Time{
			time.Date(2026, 3, 28, 20, 0, 0, 0, time.UTC), time.Date(2026, 4, 4, 9, 0, 0, 0, time.UTC), time.Date(2026, 10, 3, 3, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC), time.Date(2026, 9, 30, 0, 0, 0, 0, time.UTC),
		}).Draw(t, "from").Add(time.Duration(rapid.IntRange(0, 7300).Draw(t, "later")) * time.Second)
		until := from.Add(time.Duration(rapid.IntRange(1, 80*3600).Draw(t, "for")) * time.Second)
		if rapid.Bool().Draw(t, "ends") {
			s.End = from.Add(time.Duration(rapid.IntRange(0, 40*3600).Draw(t, "end")) * time.Second)
		}
		step := rapid.SampledFrom([]time.Duration{time.Minute, 15 * time.Minute}).Draw(t, "step")
		due, err := s.Next(from)
		if err != nil {
			t.Fatal(err)
		}
		most := -1
		if rapid.Bool().Draw(t, "told to end") {
			most = rapid.IntRange(0, 50).Draw(t, "most")
		}

		got, added := map[int64]int{}, 0
		next, err := s.Tally(due, until, step, func(from time.Time, steps, n int) bool {
			if added++; added == most+1 {
				return false
			}
			if !from.Equal(from.Truncate(step)) || steps < 1 || n < 1 {
				t.Fatalf("%d in each of %d steps from %v", n, steps, from)
			}
			for i := range steps {
				got[from.Add(time.Duration(i)*step).Unix()] += n
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		stopped := most >= 0 && added == most+1
		want := map[int64]int{}
		at := due
		for !at.IsZero() && at.Before(until) {
			want[at.Truncate(step).Unix()]++
			if at, err = s.Next(at); err != nil {
				t.Fatal(err)
			}
		}
		if stopped {
			for from, n := range got {
				if n > want[from] {
					t.Fatalf("%s %q stopped: %d in the step from %v, where there are %d", s.Type, s.Conf, n, time.Unix(from, 0).In(zone), want[from])
				}
			}
			return
		}
		if !maps.Equal(got, want) || !next.Equal(at) {
			maps.DeleteFunc(got, func(from int64, n int) bool {
				same := want[from] == n
				if same {
					delete(want, from)
				}
				return same
			})
			t.Fatalf("%s %q %s from %v: %v, next %v; want %v, next %v", s.Type, s.Conf, s.Rule, due.In(zone), got, next, want, at)
		}
	})
}

// BenchmarkTally foresees two weeks of a job by quarters of an hour.
func BenchmarkTally(b *testing.B) {
	from := time.Date(2026, 3, 4, 5, 7, 0, 0, time.UTC)
	for _, tt := range []struct {
		typ  jobspec.ScheduleType
		conf string
	}{{jobspec.ScheduleCron, "* * * * * ?"}, {jobspec.ScheduleCron, "0 0/5 * * * ?"}, {jobspec.ScheduleCron, "0 30 2 * * ?"}, {jobspec.ScheduleFixRate, "10"}, {jobspec.ScheduleFixRate, "7"}} {
		b.Run(string(tt.typ)+" "+tt.conf, func(b *testing.B) {
			s := jobspec.Schedule{Type: tt.typ, Conf: tt.conf, Zone: time.UTC}
			for b.Loop() {
				due, err := s.Next(from)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Tally(due, from.AddDate(0, 0, 14), 15*time.Minute, func(time.Time, int, int) bool { return true }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
