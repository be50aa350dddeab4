package jobspec_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestMissedFiresAreMadeUpForAsTheStrategySays plans until nothing is missed any more, as claims do, and compares with a walk over all due
// times: each is made up for or skipped, once, the oldest are skipped, and what is made up for comes in its order.
func TestMissedFiresAreMadeUpForAsTheStrategySays(t *testing.T) {
	t.Parallel()
	cal := shipped(t)
	rapid.Check(t, func(t *rapid.T) {
		s := jobspec.Schedule{
			Type: jobspec.ScheduleCron, Zone: time.UTC,
			Conf:    rapid.SampledFrom([]string{"* * * * * ?", "0/20 * * * * ?", "0 * * * * ?", "0/5 0-3 * * * ?", "0 0 2 * * ?", "0 0/7 1-5 ? * MON-FRI"}).Draw(t, "cron"),
			Misfire: rapid.SampledFrom([]jobspec.Misfire{jobspec.MisfireFireAll, jobspec.MisfireFireLast, jobspec.MisfireFireWithin}).Draw(t, "strategy"),
			Last:    rapid.IntRange(0, 1100).Draw(t, "last"),
			Within:  time.Duration(rapid.IntRange(0, 100_000).Draw(t, "within")) * time.Second,
		}
		if rapid.Bool().Draw(t, "rate") {
			s.Type, s.Conf = jobspec.ScheduleFixRate, rapid.SampledFrom([]string{"1", "7", "60", "3600"}).Draw(t, "every")
		}
		if rapid.Bool().Draw(t, "calendar") {
			s.Calendar, s.Rule = cal, jobspec.CalendarWorkdays
		}
		now := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 100_000).Draw(t, "now")) * time.Second)
		first, err := s.Next(now.Add(-time.Duration(rapid.IntRange(1, 200_000).Draw(t, "down")) * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "ends") {
			s.End = now.Add(-time.Duration(rapid.IntRange(-100, 1000).Draw(t, "end")) * time.Second)
			if first.After(s.End) {
				return
			}
		}
		cutoff := now.Add(-jobspec.DefaultMisfireAfter)
		var missed []time.Time
		for at := first; !at.IsZero() && at.Before(cutoff); {
			missed = append(missed, at)
			if at, err = s.Next(at); err != nil {
				t.Fatal(err)
			}
		}
		want := missed[max(0, len(missed)-jobspec.MaxMissed):]
		switch {
		case s.Misfire == jobspec.MisfireFireLast:
			want = missed[max(0, len(missed)-min(s.Last, jobspec.MaxMissed)):]
		case s.Misfire == jobspec.MisfireFireWithin:
			want = slices.Clone(want)
			want = slices.DeleteFunc(want, func(at time.Time) bool { return at.Before(now.Add(-s.Within)) })
		}
		var made []time.Time
		skipped := 0
		next := first
		for range 200 {
			plan, err := jobspec.Decide(s, next, now, now, 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.MadeUp)+len(plan.Fires) > jobspec.MaxFires || plan.Misfire != nil {
				t.Fatalf("a plan of %d and %d runs", len(plan.MadeUp), len(plan.Fires))
			}
			made = append(made, plan.MadeUp...)
			if p := plan.Skipped; p != nil {
				if older := len(missed) - len(want); skipped > 0 || older == 0 || !p.First.Equal(missed[0]) || !p.Last.Equal(missed[older-1]) || !p.More && p.Count != older {
					t.Fatalf("skipped %+v of %d missed, of which %d are made up for", p, len(missed), len(want))
				}
				skipped++
			}
			if next = plan.Next; next.IsZero() || next.After(now) || len(plan.Fires) > 0 {
				break
			}
		}
		if !slices.EqualFunc(made, want, time.Time.Equal) || skipped == 0 && len(missed) > len(want) {
			t.Fatalf("%d of %d missed are made up for, want %d", len(made), len(missed), len(want))
		}
	})
}

// TestMisfireStrategiesAreStoredInTwoParts has what an XXL-JOB admin makes of the first part.
func TestMisfireStrategiesAreStoredInTwoParts(t *testing.T) {
	t.Parallel()
	for _, m := range jobspec.AllMisfires {
		if got := m.Plain().With(m.More()); got != m {
			t.Errorf("%s comes back as %s", m, got)
		}
		if p := m.Plain(); p != jobspec.MisfireDoNothing && p != jobspec.MisfireFireOnceNow {
			t.Errorf("%s is stored as %s, which no XXL-JOB admin knows", m, p)
		}
		if got := jobspec.MisfireDoNothing.With(m.More()); got != jobspec.MisfireDoNothing {
			t.Errorf("%s, set to DO_NOTHING by an XXL-JOB admin, is %s", m, got)
		}
		kept := jobspec.Job{Misfire: m.Plain()}.WithOptionsOf(jobspec.Job{Misfire: m})
		if kept.Misfire != m {
			t.Errorf("%s, written back by a program that cannot say it, is %s", m, kept.Misfire)
		}
	}
	if got := jobspec.MisfireFireOnceNow.With("nonsense"); got != jobspec.MisfireFireOnceNow {
		t.Errorf("nonsense is %s", got)
	}
}

func TestStrategiesHaveTheirNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		j  jobspec.Job
		ok bool
	}{
		{jobspec.Job{Misfire: jobspec.MisfireFireLast, MisfireLast: 1000}, true},
		{jobspec.Job{Misfire: jobspec.MisfireFireLast}, false},
		{jobspec.Job{Misfire: jobspec.MisfireFireLast, MisfireLast: 1001}, false},
		{jobspec.Job{Misfire: jobspec.MisfireFireWithin, MisfireWithin: 1}, true},
		{jobspec.Job{Misfire: jobspec.MisfireFireWithin, MisfireLast: 5}, false},
		{jobspec.Job{Misfire: jobspec.MisfireFireAll, MisfireLast: 5}, true}, // which is forgotten
		{jobspec.Job{Misfire: jobspec.MisfireFireAll, MisfireLast: -1}, false},
	} {
		ok := true
		for _, e := range jobspec.Validate(c.j.Normalize()) {
			ok = ok && e.Name != jobspec.FieldMisfireLast && e.Name != jobspec.FieldMisfireSpan
		}
		if ok != c.ok {
			t.Errorf("%s with %d and %d: allowed %v", c.j.Misfire, c.j.MisfireLast, c.j.MisfireWithin, ok)
		}
	}
}
