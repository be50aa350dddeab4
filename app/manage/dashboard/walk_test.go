package dashboard

import (
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestAWalkTellsWhatTheEngineDecides has the engine decide on schedules with pauses again and again, in steps of a few minutes, and compares
// the runs that it makes with what was foreseen at the beginning.
func TestAWalkTellsWhatTheEngineDecides(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		s := jobspec.Schedule{Type: jobspec.ScheduleCron, Zone: time.UTC, Conf: rapid.SampledFrom([]string{"0 0/10 * * * ?", "0 0/7 6,7 * * ?", "30 5,6 * * * ?", "0 0 9 * * ?"}).Draw(t, "cron")}
		if rapid.Bool().Draw(t, "rate") {
			s.Type, s.Conf = jobspec.ScheduleFixRate, rapid.SampledFrom([]string{"120", "450", "1000", "7200"}).Draw(t, "every")
		}
		minute := func(name string, low, high int) time.Time {
			return from.Add(time.Duration(rapid.IntRange(low, high).Draw(t, name)) * time.Minute)
		}
		var pauses jobspec.Pauses
		for range rapid.IntRange(0, 3).Draw(t, "pauses") {
			p := &jobspec.Pause{Scope: jobspec.PauseAll, From: minute("begins", 0, 300), Strategy: rapid.SampledFrom(jobspec.AllPausings()).Draw(t, "strategy")}
			switch {
			case rapid.IntRange(0, 5).Draw(t, "open") == 0:
			case rapid.Bool().Draw(t, "again"):
				p.Cron, p.Length, p.Zone = "0 15 * * * ?", time.Duration(rapid.IntRange(1, 70).Draw(t, "length"))*time.Minute, time.UTC
			default:
				p.Until = minute("ends", 0, 400)
			}
			pauses = append(pauses, p)
		}
		until := minute("until", 30, 360)
		due, err := s.Next(from)
		if err != nil {
			t.Fatal(err)
		}

		got := map[int64]int{}
		if !walk(s, pauses, due, until, time.Minute, func(from time.Time, steps, n int) bool {
			for i := range steps {
				got[from.Add(time.Duration(i)*time.Minute).Unix()] += n
			}
			return true
		}) {
			t.Fatal("ended early")
		}
		want := map[int64]int{}
		next, wake := due, due
		for now := from; now.Before(until) && !next.IsZero(); now = now.Add(time.Second) {
			if wake.After(now) {
				continue
			}
			plan, err := jobspec.DecidePaused(s, pauses, next, now, now, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range plan.Fires {
				want[at.Truncate(time.Minute).Unix()]++
			}
			for _, h := range plan.Held {
				if runs := len(h.Runs); h.Once || runs > 0 {
					want[h.Until.Truncate(time.Minute).Unix()] += max(runs, 1)
				}
			}
			if next, wake = plan.Next, plan.Next; !plan.Hold.IsZero() {
				next = plan.Hold
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%s %q with %d pauses up to %v: foreseen %v, decided %v", s.Type, s.Conf, len(pauses), until, got, want)
		}
	})
}
