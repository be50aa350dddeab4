package jobspec_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/scheduler/calendar"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func pause(from, until time.Duration, strategy jobspec.Pausing) *jobspec.Pause {
	p := &jobspec.Pause{Scope: jobspec.PauseAll, From: noon.Add(from), Strategy: strategy}
	if until != 0 {
		p.Until = noon.Add(until)
	}
	return p
}

func every(cron string) jobspec.Schedule {
	return jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: cron}
}

func TestStretchesOfPauses(t *testing.T) {
	t.Parallel()
	nightly := &jobspec.Pause{From: noon.AddDate(0, 0, -7), Until: noon.AddDate(0, 0, 7), Cron: "0 0 22 * * ?", Length: 4 * time.Hour, Strategy: jobspec.PauseOnce}
	early := *nightly
	early.Until = noon.Add(11 * time.Hour) // ended at 23:00, inside a window
	endless := &jobspec.Pause{From: noon, Cron: "0 * * * * ?", Length: time.Minute, Strategy: jobspec.PauseSkip}
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	abroad := *nightly
	abroad.Zone = shanghai
	for _, c := range []struct {
		name     string
		pauses   jobspec.Pauses
		at       time.Duration
		in       bool
		until    time.Duration // -1: open
		strategy jobspec.Pausing
	}{
		{"none", nil, 0, false, 0, ""},
		{"before", jobspec.Pauses{pause(0, time.Hour, "skip")}, -time.Millisecond, false, 0, ""},
		{"its first moment", jobspec.Pauses{pause(0, time.Hour, "skip")}, 0, true, time.Hour, "skip"},
		{"its last moment", jobspec.Pauses{pause(0, time.Hour, "skip")}, time.Hour - time.Millisecond, true, time.Hour, "skip"},
		{"its end", jobspec.Pauses{pause(0, time.Hour, "skip")}, time.Hour, false, 0, ""},
		{"open", jobspec.Pauses{pause(0, 0, "all")}, time.Hour, true, -1, "all"},
		{"two that meet", jobspec.Pauses{pause(time.Hour, 2*time.Hour, "all"), pause(0, time.Hour, "once")}, 0, true, 2 * time.Hour, "once"},
		{"two that overlap", jobspec.Pauses{pause(0, 2*time.Hour, "all"), pause(time.Hour, 3*time.Hour, "skip")}, 0, true, 3 * time.Hour, "skip"},
		{"a later one is apart", jobspec.Pauses{pause(0, time.Hour, "all"), pause(2*time.Hour, 3*time.Hour, "skip")}, 0, true, time.Hour, "all"},
		{"one leads into an open one", jobspec.Pauses{pause(0, time.Hour, "once"), pause(time.Hour, 0, "all")}, 0, true, -1, "once"},
		{"a window", jobspec.Pauses{nightly}, 10 * time.Hour, true, 14 * time.Hour, "once"},
		{"in a window, the day after", jobspec.Pauses{nightly}, 13 * time.Hour, true, 14 * time.Hour, "once"},
		{"between windows", jobspec.Pauses{nightly}, 14 * time.Hour, false, 0, ""},
		{"a window cut off", jobspec.Pauses{&early}, 10 * time.Hour, true, 11 * time.Hour, "once"},
		{"behind the cut", jobspec.Pauses{&early}, 12 * time.Hour, false, 0, ""},
		{"a window in another zone", jobspec.Pauses{&abroad}, 2 * time.Hour, true, 6 * time.Hour, "once"},
		{"windows without a gap", jobspec.Pauses{endless}, time.Hour, true, -1, "skip"},
	} {
		s, in := c.pauses.At(noon.Add(c.at))
		if in != c.in {
			t.Errorf("%s: in a pause: %v, want %v", c.name, in, c.in)
			continue
		}
		if !in {
			continue
		}
		if c.until < 0 != s.Until.IsZero() || c.until >= 0 && !s.Until.Equal(noon.Add(c.until)) || s.Strategy != c.strategy {
			t.Errorf("%s: until %v by %q, want %v by %q", c.name, s.Until, s.Strategy, c.until, c.strategy)
		}
	}
}

// TestAWindowIsWholeWhereClocksRepeatAnHour: it begins at 02:30, which is the second one that night, and no moment of it is outside.
func TestAWindowIsWholeWhereClocksRepeatAnHour(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	begins := time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC)
	p := &jobspec.Pause{From: begins.AddDate(0, 0, -7), Cron: "0 30 2 * * ?", Length: time.Hour, Zone: berlin, Strategy: jobspec.PauseSkip}
	for at := begins.Add(-3 * time.Hour); at.Before(begins.Add(3 * time.Hour)); at = at.Add(time.Minute) {
		want := !at.Before(begins) && at.Before(begins.Add(time.Hour))
		if until, active := p.Active(at); active != want || active && !until.Equal(begins.Add(time.Hour)) {
			t.Errorf("at %v: in the window: %v, until %v", at.In(berlin), active, until)
		}
	}
}

// TestAPauseHoldsAndLetsGo follows a job of every minute through a pause of an hour, claim after claim.
func TestAPauseHoldsAndLetsGo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		strategy      jobspec.Pausing
		want, skipped int
	}{{jobspec.PauseSkip, 0, 60}, {jobspec.PauseOnce, 1, 0}, {jobspec.PauseEach, 60, 0}, {"later versions'", 0, 60}} {
		ps := jobspec.Pauses{pause(time.Hour, 2*time.Hour, c.strategy)}
		l := live(t, every("0 * * * * ?"), ps, noon, noon.Add(3*time.Hour), func() time.Duration { return 10 * time.Second }, time.Hour)
		if len(l.made) != c.want || l.fired != 120 || l.skipped != c.skipped {
			t.Errorf("%s: %d fires, %d made up and %d skipped; want 120, %d and %d", c.strategy, l.fired, len(l.made), l.skipped, c.want, c.skipped)
		}
		for _, at := range l.made {
			if at.Before(noon.Add(2 * time.Hour)) {
				t.Errorf("%s: one is made up for at %v, in the pause", c.strategy, at)
			}
		}
	}
}

func TestTooManyToBeMadeUpFor(t *testing.T) {
	t.Parallel()
	for _, s := range []jobspec.Schedule{every("* * * * * ?"), {Type: jobspec.ScheduleFixRate, Conf: "1"}} {
		for _, hours := range []time.Duration{1, 40} {
			ps := jobspec.Pauses{pause(time.Hour, (1+hours)*time.Hour, jobspec.PauseEach)}
			end := noon.Add((1 + hours) * time.Hour)
			plan, err := jobspec.DecidePaused(s, ps, noon.Add(time.Hour), end, end, 0)
			if err != nil || len(plan.Held) != 1 {
				t.Fatalf("plan %+v, %v", plan, err)
			}
			h := plan.Held[0]
			if first := end.Add(-jobspec.MaxMadeUp * time.Second); len(h.Runs) != jobspec.MaxFires || !h.Runs[0].Equal(first) || h.Skipped == nil || !h.Skipped.Last.Equal(first.Add(-time.Second)) {
				t.Errorf("%s, %d hours: %d runs from %v, skipped %+v; want %d from %v", s.Type, hours, len(h.Runs), h.Runs[0], h.Skipped, jobspec.MaxFires, first)
			}
			if len(plan.Fires) > 0 || !plan.Next.Equal(h.Runs[0].Add(jobspec.MaxFires*time.Second)) {
				t.Errorf("%s: the next plan begins at %v", s.Type, plan.Next)
			}
		}
	}
}

func TestAFixedDelayGoesOnBehindAPause(t *testing.T) {
	t.Parallel()
	s := jobspec.Schedule{Type: jobspec.ScheduleFixDelay, Conf: "600"}
	end := noon.Add(time.Hour)
	for strategy, want := range map[jobspec.Pausing]time.Time{jobspec.PauseSkip: end.Add(10 * time.Minute), jobspec.PauseOnce: jobspec.Waiting, jobspec.PauseEach: jobspec.Waiting} {
		ps := jobspec.Pauses{pause(0, time.Hour, strategy)}
		plan, err := jobspec.DecidePaused(s, ps, noon, noon, noon.Add(time.Second), 0)
		if err != nil || !plan.Hold.Equal(noon) || !isEmpty(plan) {
			t.Errorf("%s: in the pause %+v, %v", strategy, plan, err)
		}
		plan, err = jobspec.DecidePaused(s, ps, noon, end, end, 0)
		if err != nil || len(plan.Held) != 1 || !plan.Next.Equal(want) || plan.Held[0].Once != want.Equal(jobspec.Waiting) {
			t.Errorf("%s: at the end %+v, %v; want next %v", strategy, plan, err, want)
		}
	}
}

// TestMissedBeforeAPauseIsMadeUpForBehindIt: nobody looked from 11:30 on, and at 12:30 the job is paused.
func TestMissedBeforeAPauseIsMadeUpForBehindIt(t *testing.T) {
	t.Parallel()
	s := every("0 */10 * * * ?")
	s.Misfire = jobspec.MisfireFireOnceNow
	ps := jobspec.Pauses{pause(0, time.Hour, jobspec.PauseSkip)}
	first := noon.Add(-30 * time.Minute)
	plan, err := jobspec.DecidePaused(s, ps, first, noon.Add(30*time.Minute), noon.Add(30*time.Minute), 0)
	if err != nil || !isEmpty(plan) || !plan.Hold.Equal(first) {
		t.Fatalf("in the pause: %+v, %v", plan, err)
	}
	end := noon.Add(time.Hour)
	plan, err = jobspec.DecidePaused(s, ps, first, end, end, 0)
	if err != nil || plan.Misfire == nil || plan.Misfire.Count != 3 || len(plan.Held) != 1 || plan.Held[0].Count != 6 || len(plan.Fires) != 1 {
		t.Errorf("behind it: %+v, %v; want 3 missed, 6 held, and the fire of 13:00", plan, err)
	}
	// One that is only late by a moment, from before the pause, is sent.
	plan, err = jobspec.DecidePaused(s, ps, noon.Add(-time.Minute), noon.Add(100*time.Millisecond-time.Minute), noon.Add(-59*time.Second), 0)
	if err != nil || len(plan.Fires) != 1 {
		t.Errorf("late by a moment: %+v, %v", plan, err)
	}
}

// lived is what became of the fires of a job.
type lived struct {
	of      map[int64]int // by due time: in how many decisions it was
	made    []time.Time   // when runs that make up for held ones are due
	fired   int
	skipped int
}

// live decides a job claim after claim, as the engine does.
func live(t *testing.T, s jobspec.Schedule, ps jobspec.Pauses, from, until time.Time, step func() time.Duration, misfireAfter time.Duration) lived {
	t.Helper()
	l := lived{of: make(map[int64]int)}
	next, hold := from, time.Time{}
	passed := func(p *jobspec.Passed) {
		if p == nil {
			return
		}
		n := 0
		for at := p.First; !at.IsZero() && !at.After(p.Last); n++ {
			l.of[at.UnixMilli()]++
			following, err := s.Next(at)
			if err != nil {
				t.Fatal(err)
			}
			at = following
		}
	}
	notIn := func(at time.Time) {
		if _, in := ps.At(at); in {
			t.Fatalf("what was missed is made up for at %v, in a pause", at)
		}
	}
	for now := from; now.Before(until); now = now.Add(step()) {
		for range 1000 {
			if next.IsZero() || next.After(now.Add(time.Second)) {
				break
			}
			first := next
			if !hold.IsZero() {
				first = hold
			}
			plan, err := jobspec.DecidePaused(s, ps, first, now, now.Add(time.Second), misfireAfter)
			if err != nil {
				t.Fatal(err)
			}
			if m := plan.Misfire; m != nil {
				notIn(m.At)
				n := 0
				for at := m.First; !at.After(m.Last); n++ {
					if _, in := ps.At(at); in { // one run stands for what was missed on both sides of a pause
						n--
					} else {
						l.of[at.UnixMilli()]++
					}
					following, err := s.Next(at)
					if err != nil {
						t.Fatal(err)
					}
					at = following
				}
				if n != m.Count && !m.More {
					t.Fatalf("%d were missed from %v to %v, and a run stands for %d", n, m.First, m.Last, m.Count)
				}
			}
			for _, at := range plan.MadeUp {
				l.of[at.UnixMilli()]++
				notIn(plan.MadeUpAt)
			}
			for _, at := range plan.Fires {
				if _, in := ps.At(at); in {
					t.Fatalf("%v fires in a pause", at)
				}
				l.of[at.UnixMilli()]++
				l.fired++
			}
			passed(plan.Skipped)
			for i := range plan.Held {
				h := &plan.Held[i]
				if _, in := ps.At(h.At); in && (h.Once || len(h.Runs) > 0) {
					t.Fatalf("what fell in is made up for at %v, in a pause", h.At)
				}
				if h.Skipped != nil {
					l.skipped += h.Skipped.Count
					passed(h.Skipped)
				}
				if h.Once {
					passed(&h.Passed)
					l.made = append(l.made, h.At)
				}
				for _, at := range h.Runs {
					l.of[at.UnixMilli()]++
					l.made = append(l.made, h.At)
				}
			}
			hold, next = plan.Hold, plan.Next
			if !hold.IsZero() {
				break
			}
		}
	}
	return l
}

// TestNoFireIsLostOrDoubledByPauses: whatever pauses there are and however claims fall, each due time is decided once, and none
// fires in a pause.
func TestNoFireIsLostOrDoubledByPauses(t *testing.T) {
	t.Parallel()
	schedules := []jobspec.Schedule{every("0 */7 * * * ?"), every("30 0 * * * ?"), {Type: jobspec.ScheduleFixRate, Conf: "660"}}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 195))
		s := schedules[r.IntN(len(schedules))]
		var ps jobspec.Pauses
		for range r.IntN(5) {
			from := time.Duration(r.IntN(600)) * time.Minute
			p := pause(from, from+time.Duration(1+r.IntN(200))*time.Minute, jobspec.AllPausings()[r.IntN(3)])
			if r.IntN(3) == 0 {
				p.Cron, p.Length, p.Until = "0 13 * * * ?", time.Duration(1+r.IntN(50))*time.Minute, noon.Add(12*time.Hour)
			}
			ps = append(ps, p)
		}
		until := noon.Add(14 * time.Hour)
		step := time.Duration(1+r.IntN(1200)) * time.Second
		l := live(t, s, ps, noon, until, func() time.Duration { return step }, time.Hour)
		end := noon.Add(13 * time.Hour) // behind all pauses
		n := 0
		for at := noon; at.Before(end); n++ {
			if l.of[at.UnixMilli()] != 1 {
				t.Fatalf("seed %d: the fire of %v is in %d decisions", seed, at, l.of[at.UnixMilli()])
			}
			next, err := s.Next(at)
			if err != nil {
				t.Fatal(err)
			}
			at = next
		}
		if n < 10 {
			t.Fatalf("seed %d: %d fires", seed, n)
		}
	}
}

// TestNoFireIsLostOrDoubledInAnOutage: nor where nobody looks for hours, whatever becomes of missed fires, and by a calendar.
func TestNoFireIsLostOrDoubledInAnOutage(t *testing.T) {
	t.Parallel()
	c := checked(t, &calendar.Calendar{Name: "drawn", Zone: "UTC", Week: []string{"mon", "wed", "fri"}})
	strategies := []jobspec.Misfire{jobspec.MisfireDoNothing, jobspec.MisfireFireOnceNow, jobspec.MisfireFireAll, jobspec.MisfireFireLast, jobspec.MisfireFireWithin}
	schedules := []jobspec.Schedule{every("0 */7 * * * ?"), every("30 0 * * * ?"), {Type: jobspec.ScheduleFixRate, Conf: "660"}}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 286))
		s := schedules[r.IntN(len(schedules))]
		s.Misfire, s.Last, s.Within = strategies[r.IntN(len(strategies))], 1+r.IntN(20), time.Duration(1+r.IntN(200))*time.Minute
		if r.IntN(2) == 0 {
			s.Calendar, s.Rule = c, jobspec.AllCalendarRules[r.IntN(len(jobspec.AllCalendarRules))]
		}
		const days = 4
		var ps jobspec.Pauses
		for range r.IntN(5) {
			from := time.Duration(r.IntN(days*24*60)) * time.Minute
			p := pause(from, from+time.Duration(1+r.IntN(1500))*time.Minute, jobspec.AllPausings()[r.IntN(3)])
			if r.IntN(3) == 0 {
				p.Cron, p.Length, p.Until = "0 13 * * * ?", time.Duration(1+r.IntN(50))*time.Minute, noon.Add(days*24*time.Hour)
			}
			ps = append(ps, p)
		}
		first, err := s.Next(noon)
		if err != nil {
			t.Fatal(err)
		}
		end := noon.Add((days + 2) * 24 * time.Hour) // behind all pauses
		l := live(t, s, ps, first, end.Add(72*time.Hour), func() time.Duration {
			if r.IntN(3) > 0 {
				return time.Duration(1+r.IntN(5)) * time.Minute
			}
			return time.Duration(1+r.IntN(36*60)) * time.Minute
		}, 0)
		for at := first; at.Before(end); {
			if l.of[at.UnixMilli()] != 1 {
				t.Fatalf("seed %d, %s %s: the fire of %v is in %d decisions", seed, s.Misfire, s.Rule, at, l.of[at.UnixMilli()])
			}
			if at, err = s.Next(at); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestNextTimesKnowPauses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		s     jobspec.Schedule
		p     *jobspec.Pause
		after time.Duration
		want  time.Duration // -1: none
	}{
		{"skipped", every("0 */10 * * * ?"), pause(0, 15*time.Minute, "skip"), -time.Second, 20 * time.Minute},
		{"on the end", every("0 */10 * * * ?"), pause(0, 20*time.Minute, "skip"), -time.Second, 20 * time.Minute},
		{"at the end", every("0 */10 * * * ?"), pause(0, 15*time.Minute, "once"), -time.Second, 15 * time.Minute},
		{"never", every("0 */10 * * * ?"), pause(0, 0, "once"), -time.Second, -1},
		{"the beat stays", jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "420"}, pause(0, 15*time.Minute, "skip"), -time.Minute, 20 * time.Minute},
		{"before", every("0 */10 * * * ?"), pause(time.Hour, 0, "once"), 0, 10 * time.Minute},
	} {
		due, err := c.s.Next(noon.Add(c.after))
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.s.NextRun(jobspec.Pauses{c.p}, due)
		if err != nil || c.want < 0 != got.IsZero() || c.want >= 0 && !got.Equal(noon.Add(c.want)) {
			t.Errorf("%s: next is %v, %v; want %v", c.name, got, err, c.want)
		}
	}
	if !slices.Equal(jobspec.AllPauseScopes(), []jobspec.PauseScope{"job", "group", "tag", "all"}) {
		t.Error("the scopes are stored under other names than they were")
	}
}
