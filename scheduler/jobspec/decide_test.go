package jobspec_test

import (
	"strconv"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// at is a time of one day, in which most cases happen.
func at(clock string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", "2026-03-02 "+clock)
	if err != nil {
		panic(err)
	}
	return t
}

func TestDecide(t *testing.T) {
	t.Parallel()
	const (
		skip = jobspec.MisfireDoNothing
		once = jobspec.MisfireFireOnceNow
	)
	rate := func(seconds string, m jobspec.Misfire) jobspec.Schedule {
		return jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: seconds, Misfire: m}
	}
	cron := func(text string, m jobspec.Misfire) jobspec.Schedule {
		return jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: text, Misfire: m}
	}
	for _, tt := range []struct {
		name               string
		schedule           jobspec.Schedule
		next, now, horizon string
		want               jobspec.Plan
	}{
		{"a job that is not due stays as it is", rate("60", skip), "10:01:00", "10:00:00", "10:00:05",
			jobspec.Plan{Next: at("10:01:00")}},
		{"a fire within the horizon is planned ahead", rate("60", skip), "10:00:03", "10:00:00", "10:00:05",
			jobspec.Plan{Fires: []time.Time{at("10:00:03")}, Last: at("10:00:03"), Next: at("10:01:03")}},
		{"the horizon itself is within", rate("60", skip), "10:00:05", "10:00:00", "10:00:05",
			jobspec.Plan{Fires: []time.Time{at("10:00:05")}, Last: at("10:00:05"), Next: at("10:01:05")}},
		{"a fire five seconds late still fires, in its phase", rate("60", skip), "09:59:55", "10:00:00", "10:00:05",
			jobspec.Plan{Fires: []time.Time{at("09:59:55")}, Last: at("09:59:55"), Next: at("10:00:55")}},
		{"a fire of a cron five seconds late still fires", cron("55 59 9 * * ?", skip), "09:59:55", "10:00:00", "10:00:05",
			jobspec.Plan{Fires: []time.Time{at("09:59:55")}, Last: at("09:59:55"), Next: at("09:59:55").AddDate(0, 0, 1)}},
		{"of two fires of a cron the one five seconds late still fires", cron("54,55 59 9 * * ?", skip), "09:59:54", "10:00:00", "10:00:05",
			jobspec.Plan{
				Skipped: &jobspec.Passed{First: at("09:59:54"), Last: at("09:59:54"), Count: 1},
				Fires:   []time.Time{at("09:59:55")}, Last: at("09:59:55"), Next: at("09:59:54").AddDate(0, 0, 1),
			}},
		{"a fixed delay on the horizon is within", jobspec.Schedule{Type: jobspec.ScheduleFixDelay, Conf: "60"}, "10:00:05", "10:00:00", "10:00:05",
			jobspec.Plan{Fires: []time.Time{at("10:00:05")}, Last: at("10:00:05"), Next: jobspec.Waiting}},
		{"what was due behind the end of its window ends the job", jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "60", End: at("10:00:00")},
			"10:00:01", "10:00:02", "10:00:05", jobspec.Plan{}},
		{"what is due at the end of its window fires", jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "60", End: at("10:00:01")},
			"10:00:01", "10:00:02", "10:00:05", jobspec.Plan{Fires: []time.Time{at("10:00:01")}, Last: at("10:00:01")}},
		{"misfires of a rate are made up for until its window ends", jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "60", Misfire: once, End: at("10:00:01")},
			"09:58:00", "10:00:00", "10:00:05", jobspec.Plan{
				Misfire: &jobspec.Merged{At: at("10:00:00"), Passed: jobspec.Passed{First: at("09:58:00"), Last: at("10:00:00"), Count: 3}}, Last: at("10:00:00"),
			}},
		{"a fire six seconds late is skipped", rate("60", skip), "09:59:54", "10:00:00", "10:00:05",
			jobspec.Plan{Skipped: &jobspec.Passed{First: at("09:59:54"), Last: at("09:59:54"), Count: 1}, Last: at("09:59:54"), Next: at("10:00:54")}},
		{"skipped and due fires are told apart", rate("2", skip), "09:59:50", "10:00:00", "10:00:03",
			jobspec.Plan{
				Skipped: &jobspec.Passed{First: at("09:59:50"), Last: at("09:59:54"), Count: 3},
				Fires:   []time.Time{at("09:59:56"), at("09:59:58"), at("10:00:00"), at("10:00:02")},
				Last:    at("10:00:02"), Next: at("10:00:04"),
			}},
		{"all misfires become one fire now", cron("0 0 * * * ?", once), "06:00:00", "10:30:00", "10:30:05",
			jobspec.Plan{
				Misfire: &jobspec.Merged{At: at("10:30:00"), Passed: jobspec.Passed{First: at("06:00:00"), Last: at("10:00:00"), Count: 5}},
				Last:    at("10:00:00"), Next: at("11:00:00"),
			}},
		{"an unknown misfire strategy skips", cron("0 0 * * * ?", "WHATEVER"), "10:00:00", "10:30:00", "10:30:05",
			jobspec.Plan{Skipped: &jobspec.Passed{First: at("10:00:00"), Last: at("10:00:00"), Count: 1}, Last: at("10:00:00"), Next: at("11:00:00")}},
		{"misfires of a cron are counted up to a thousand", cron("* * * * * ?", skip), "01:00:00", "10:00:00", "10:00:00",
			jobspec.Plan{
				Skipped: &jobspec.Passed{First: at("01:00:00"), Last: at("09:59:54"), Count: 1000, More: true},
				Fires:   []time.Time{at("09:59:55"), at("09:59:56"), at("09:59:57"), at("09:59:58"), at("09:59:59"), at("10:00:00")},
				Last:    at("10:00:00"), Next: at("10:00:01"),
			}},
		{"misfires of a fixed rate are all counted", rate("1", skip), "01:00:00", "10:00:00", "10:00:00",
			jobspec.Plan{
				Skipped: &jobspec.Passed{First: at("01:00:00"), Last: at("09:59:54"), Count: 9*3600 - 5},
				Fires:   []time.Time{at("09:59:55"), at("09:59:56"), at("09:59:57"), at("09:59:58"), at("09:59:59"), at("10:00:00")},
				Last:    at("10:00:00"), Next: at("10:00:01"),
			}},
		{"the last fire ends the schedule", cron("0 0 10 2 3 ? 2026", skip), "10:00:00", "10:00:00", "10:00:05",
			jobspec.Plan{Fires: []time.Time{at("10:00:00")}, Last: at("10:00:00")}},
		{"a last fire that was missed ends the schedule too", cron("0 0 10 2 3 ? 2026", skip), "10:00:00", "11:00:00", "11:00:05",
			jobspec.Plan{Skipped: &jobspec.Passed{First: at("10:00:00"), Last: at("10:00:00"), Count: 1}, Last: at("10:00:00")}},
		{"a type that does not schedule runs what was planned and ends", jobspec.Schedule{Type: jobspec.ScheduleNone, Conf: "5"}, "10:00:00", "10:00:00", "10:00:05",
			jobspec.Plan{Fires: []time.Time{at("10:00:00")}, Last: at("10:00:00")}},
		{"a horizon before now is now", rate("60", skip), "10:00:00", "10:00:00", "09:00:00",
			jobspec.Plan{Fires: []time.Time{at("10:00:00")}, Last: at("10:00:00"), Next: at("10:01:00")}},
	} {
		got, err := jobspec.Decide(tt.schedule, at(tt.next), at(tt.now), at(tt.horizon), 0)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestDecidePlansNoMoreThanItsShare(t *testing.T) {
	t.Parallel()
	s := jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "1"}
	plan, err := jobspec.Decide(s, at("10:00:00"), at("10:00:00"), at("10:05:00"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Fires) != jobspec.MaxFires || !plan.Next.Equal(at("10:00:16")) {
		t.Errorf("got %d fires and next %v, want %d and 10:00:16", len(plan.Fires), plan.Next, jobspec.MaxFires)
	}
}

// isEmpty says that nothing of a plan is due yet.
func isEmpty(p jobspec.Plan) bool {
	return cmp.Equal(p, jobspec.Plan{Last: p.Last, Next: p.Next, Hold: p.Hold})
}

// TestFrom goes on where all before a moment has been decided: what is due at that moment has not.
func TestFrom(t *testing.T) {
	t.Parallel()
	rate := jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "60"}
	ending := rate
	ending.End = at("10:02:30")
	for _, tt := range []struct {
		name         string
		schedule     jobspec.Schedule
		next, moment string
		want         time.Time
	}{
		{"what lies ahead stays", rate, "10:00:00", "09:59:59", at("10:00:00")},
		{"what is due at the moment stays", rate, "10:00:00", "10:00:00", at("10:00:00")},
		{"a rate keeps its phase", rate, "10:00:00", "10:00:01", at("10:01:00")},
		{"a rate is due at the moment", rate, "10:00:00", "10:02:00", at("10:02:00")},
		{"a rate over several periods", rate, "10:00:00", "10:02:01", at("10:03:00")},
		{"a rate in its window", ending, "10:00:00", "10:01:30", at("10:02:00")},
		{"a rate behind its window", ending, "10:00:00", "10:02:01", time.Time{}},
		{"a cron due at the moment", jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 * * * * ?"}, "10:00:00", "10:02:00", at("10:02:00")},
		{"a cron between two", jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 * * * * ?"}, "10:00:00", "10:02:01", at("10:03:00")},
		{"a fixed delay waits for its run", jobspec.Schedule{Type: jobspec.ScheduleFixDelay, Conf: "60"}, "10:00:00", "10:00:01", jobspec.Waiting},
	} {
		got, err := tt.schedule.From(at(tt.next), at(tt.moment))
		if err != nil || !got.Equal(tt.want) {
			t.Errorf("%s: %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
	if _, err := (jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "no"}).From(at("10:00:00"), at("10:00:01")); err == nil {
		t.Error("an interval that cannot be read has a next time")
	}
}

func TestDecideWithoutScheduleDoesNothing(t *testing.T) {
	t.Parallel()
	plan, err := jobspec.Decide(jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "* * * * * ?"}, time.Time{}, at("10:00:00"), at("10:00:05"), 0)
	if err != nil || !isEmpty(plan) || !plan.Next.IsZero() {
		t.Errorf("got %+v, %v, want an empty plan", plan, err)
	}
}

func TestDecideReportsTextThatIsNoSchedule(t *testing.T) {
	t.Parallel()
	for _, s := range []jobspec.Schedule{
		{Type: jobspec.ScheduleCron, Conf: "not a cron"},
		{Type: jobspec.ScheduleCron, Conf: "0 0 9 1 L ?"},
		{Type: jobspec.ScheduleFixRate, Conf: "0"},
		{Type: jobspec.ScheduleFixDelay, Conf: "0"},
	} {
		for _, next := range []string{"10:00:00", "09:00:00"} {
			plan, err := jobspec.Decide(s, at(next), at("10:00:00"), at("10:00:05"), 0)
			if err == nil {
				t.Errorf("%v due at %s: got plan %+v, want an error", s, next, plan)
			}
		}
	}
}

// However irregularly somebody looks, each due time ends in exactly one plan, in order, in the part where it belongs.
func TestNoFireIsDoubledOrLost(t *testing.T) {
	t.Parallel()
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := jobspec.Schedule{
			Misfire: rapid.SampledFrom(jobspec.AllMisfires).Draw(t, "misfire"),
			Zone:    rapid.SampledFrom([]*time.Location{time.UTC, newYork}).Draw(t, "zone"),
		}
		if rapid.Bool().Draw(t, "cron") {
			s.Type = jobspec.ScheduleCron
			s.Conf = rapid.SampledFrom([]string{"0/7 * * * * ?", "0 0/5 * * * ?", "0 30 1,2 * * ?", "0 0 12 ? * MON-FRI", "0 0 0 L * ? 2026"}).Draw(t, "text")
		} else {
			s.Type = jobspec.ScheduleFixRate
			s.Conf = strconv.Itoa(rapid.IntRange(1, 4000).Draw(t, "seconds"))
		}
		// Shortly before the clocks of New York change, in spring or autumn.
		now := rapid.SampledFrom([]time.Time{
			time.Date(2026, 3, 8, 6, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 4, 50, 0, 0, time.UTC),
		}).Draw(t, "start")
		next, err := s.Next(now)
		if err != nil {
			t.Fatal(err)
		}
		want := next // the due time that has to come next
		for range rapid.IntRange(1, 20).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.Int64Range(0, 1_500_000).Draw(t, "pause")) * time.Millisecond)
			horizon := now.Add(time.Duration(rapid.Int64Range(0, 8000).Draw(t, "ahead")) * time.Millisecond)
			plan, err := jobspec.Decide(s, next, now, horizon, 5*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			want = checkPlan(t, s, plan, want, now, horizon)
			if next = plan.Next; plan.Next.IsZero() {
				return
			}
		}
	})
}

// checkPlan walks the ideal sequence of due times along a plan and gives the one that follows it.
func checkPlan(t *rapid.T, s jobspec.Schedule, plan jobspec.Plan, want, now, horizon time.Time) time.Time {
	t.Helper()
	step := func(got time.Time, part string) {
		if !got.Equal(want) {
			t.Fatalf("%s has %v where %v is due", part, got, want)
		}
		following, err := s.Next(want)
		if err != nil {
			t.Fatal(err)
		}
		want = following
	}
	passed := plan.Skipped
	if plan.Misfire != nil {
		if passed != nil || s.Misfire != jobspec.MisfireFireOnceNow || !plan.Misfire.At.Equal(now) {
			t.Fatalf("wrong misfire %+v", plan)
		}
		passed = &plan.Misfire.Passed
	}
	if passed != nil {
		if !passed.First.Equal(want) {
			t.Fatalf("misfires start at %v where %v is due", passed.First, want)
		}
		until := now.Add(-5 * time.Second)
		if plan.Misfire != nil && s.Type == jobspec.ScheduleFixRate { // one run stands for what is about to be due, too
			seconds, err := strconv.Atoi(s.Conf)
			if err != nil {
				t.Fatal(err)
			}
			until = now.Add(time.Duration(seconds) * time.Second / 10)
		}
		for range passed.Count {
			if !want.Before(until) {
				t.Fatalf("%v is no misfire at %v", want, now)
			}
			last := want
			if step(want, "misfires"); want.After(passed.Last) && !last.Equal(passed.Last) {
				t.Fatalf("misfires end at %v, want %v", passed.Last, last)
			}
		}
	}
	for _, due := range plan.MadeUp {
		if !s.Misfire.Each() || !due.Before(now.Add(-5*time.Second)) || !plan.MadeUpAt.Equal(now) {
			t.Fatalf("%v is made up for by %s at %v", due, s.Misfire, plan.MadeUpAt)
		}
		step(due, "made up for")
	}
	for _, fire := range plan.Fires {
		if fire.Before(now.Add(-5*time.Second)) || fire.After(horizon) {
			t.Fatalf("%v should not fire at %v with horizon %v", fire, now, horizon)
		}
		step(fire, "fires")
	}
	if !plan.Next.Equal(want) {
		t.Fatalf("next is %v where %v is due", plan.Next, want)
	}
	if len(plan.Fires)+len(plan.MadeUp) < jobspec.MaxFires && !want.IsZero() && !want.After(horizon) {
		t.Fatalf("%v is due and left out", want)
	}
	return want
}

// TestARateDoesNotFireTwiceWithinMoments: the run that makes up for misfires stands for the fire that is due next, if that is
// a small part of the period away.
func TestARateDoesNotFireTwiceWithinMoments(t *testing.T) {
	t.Parallel()
	s := jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "60", Misfire: jobspec.MisfireFireOnceNow, Zone: time.UTC}
	next := time.Date(2026, 3, 8, 6, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		now   time.Duration // since the first that was missed
		stand int           // for how many fires the one stands
		fires int
	}{
		{10*time.Minute - 43*time.Millisecond, 11, 0}, // the next is 43 ms away
		{10*time.Minute + 43*time.Millisecond, 11, 0}, // and has just passed
		{10*time.Minute + 10*time.Second, 11, 0},
		{10*time.Minute - 7*time.Second, 10, 1},
	} {
		now := next.Add(tc.now)
		plan, err := jobspec.Decide(s, next, now, now.Add(8*time.Second), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Misfire == nil || plan.Misfire.Count != tc.stand || len(plan.Fires) != tc.fires {
			t.Errorf("after %v: %+v, misfire %+v", tc.now, plan, plan.Misfire)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	s := jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0/5 * * * * ?", Zone: time.UTC}
	for b.Loop() {
		if _, err := jobspec.Decide(s, at("10:00:05"), at("10:00:03"), at("10:00:08"), 0); err != nil {
			b.Fatal(err)
		}
	}
}
