package cluster

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// timepiece is a node's clock in a bubble, beside a database and a machine whose clocks can be set.
type timepiece struct {
	*clock
	work        *fakeWork
	log         bytes.Buffer
	steps       int
	asked       int
	db, machine time.Duration // by how much they are ahead of the bubble's
	delay       time.Duration // of an answer of the database
	answer      error
	within      time.Duration // that the last answer may take
}

func inClock(t *testing.T, configure func(*Config), test func(t *testing.T, c *timepiece)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &timepiece{work: new(fakeWork)}
		cfg := Config{
			BeatEvery: time.Second, Lease: 40 * time.Second, FollowAfter: time.Minute, Work: c.work,
			Now: func() time.Time { return time.Now().Add(c.machine) },
			Reference: func(ctx context.Context) (time.Time, error) {
				c.asked++
				if end, ok := ctx.Deadline(); ok {
					c.within = time.Until(end)
				}
				time.Sleep(c.delay / 2)
				at := time.Now().Add(c.db)
				time.Sleep(c.delay / 2)
				return at, c.answer
			},
			ClockSteps: goneCounter{inc: func() { c.steps++ }},
		}
		if configure != nil {
			configure(&cfg)
		}
		n := &Node{cfg: cfg, log: slog.New(slog.NewTextHandler(&c.log, nil)), start: time.Now()}
		n.clock = newClock(n)
		c.clock = n.clock
		c.lastWall, c.lastMono = cfg.Now(), time.Now()
		test(t, c)
	})
}

func (c *timepiece) beats(t *testing.T) {
	t.Helper()
	if err := c.beat(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// off is by how much the clock is ahead of the bubble's.
func (c *timepiece) off() time.Duration { return time.Until(c.now()) }

// TestAStartNeedsOneAnswerInTime of the five for which the database is asked, which may be as busy as the machine.
func TestAStartNeedsOneAnswerInTime(t *testing.T) {
	t.Parallel()
	inClock(t, nil, func(t *testing.T, c *timepiece) {
		reference, late := c.n.cfg.Reference, errors.New("too late")
		c.n.cfg.Reference = func(ctx context.Context) (time.Time, error) {
			at, err := reference(ctx)
			if c.asked != 3 {
				return time.Time{}, late
			}
			return at, err
		}
		c.db = time.Hour
		if theirs, ours, err := c.askWell(t.Context()); err != nil || theirs.Sub(ours) != time.Hour {
			t.Errorf("%v, %v, %v", theirs, ours, err)
		}
		if _, _, err := c.askWell(t.Context()); !errors.Is(err, late) || c.asked != 10 {
			t.Errorf("without any: %v after %d questions", err, c.asked)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if _, _, err := c.askWell(ended); err == nil || c.asked != 11 {
			t.Errorf("for somebody who has gone: %v after %d questions", err, c.asked)
		}
	})
}

func TestTheDatabaseIsAskedForTheMiddleOfARoundTrip(t *testing.T) {
	t.Parallel()
	inClock(t, nil, func(t *testing.T, c *timepiece) {
		began := time.Now()
		c.delay, c.db = 100*time.Millisecond, time.Hour
		theirs, ours, margin, ok, err := c.ask(t.Context())
		if middle := began.Add(50 * time.Millisecond); err != nil || !ok || margin != 50*time.Millisecond || !ours.Equal(middle) || !theirs.Equal(middle.Add(time.Hour)) {
			t.Errorf("theirs %v, ours %v, margin %v, %v, %v", theirs.Sub(began), ours.Sub(began), margin, ok, err)
		}
		if c.within != 10*time.Second {
			t.Errorf("it may take %v to answer, want a quarter of the lease", c.within)
		}
		// The longer it has told no time, the longer it may take.
		time.Sleep(time.Until(began.Add(20 * time.Second)))
		c.delay = roundTrip + time.Second + 1000
		if _, _, _, ok, err := c.ask(t.Context()); ok || err != nil {
			t.Errorf("a bit too slow: %v, %v", ok, err)
		}
		time.Sleep(time.Until(began.Add(40 * time.Second)))
		c.delay = roundTrip + 2*time.Second
		if _, _, _, ok, err := c.ask(t.Context()); !ok || err != nil {
			t.Errorf("just in time: %v, %v", ok, err)
		}
		c.delay = roundTrip + 2*time.Second // it has just told one
		if _, _, _, ok, _ := c.ask(t.Context()); ok {
			t.Error("slow, soon behind another answer, it counts")
		}
		c.answer = errors.New("away")
		if _, _, _, ok, err := c.ask(t.Context()); ok || err == nil {
			t.Errorf("away: %v, %v", ok, err)
		}
	})
}

func TestOfSeveralAnswersTheQuickestCounts(t *testing.T) {
	t.Parallel()
	delays := []time.Duration{200 * time.Millisecond, 600 * time.Millisecond, 40 * time.Millisecond, 40 * time.Millisecond, 100 * time.Millisecond}
	inClock(t, nil, func(t *testing.T, c *timepiece) {
		reference := c.n.cfg.Reference
		c.n.cfg.Reference = func(ctx context.Context) (time.Time, error) {
			c.delay, c.db = delays[c.asked], time.Duration(c.asked+1)*time.Hour
			return reference(ctx)
		}
		theirs, ours, err := c.askWell(t.Context())
		if ahead := theirs.Sub(ours); err != nil || ahead != 3*time.Hour {
			t.Errorf("the answer that counts is %v ahead: %v", ahead, err)
		}
		c.asked, c.answer = 0, errors.New("away")
		if _, _, err := c.askWell(t.Context()); err == nil {
			t.Error("a database that is away tells the time")
		}
	})
}

// TestADifferenceIsDriftOrAStep: up to half a second it is made up for, as far as the answer is sure; from there on it is noted once.
func TestADifferenceIsDriftOrAStep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name             string
		ahead, delay     time.Duration
		lead, made, slow time.Duration // slow: what a second makes up for
	}{
		{"none", 0, 0, 0, 0, 0},
		{"ahead", 100 * time.Millisecond, 0, 0, 100 * time.Millisecond, 50 * time.Millisecond},
		{"behind", -100 * time.Millisecond, 0, 0, -100 * time.Millisecond, -50 * time.Millisecond},
		{"within what the answer is sure of", 30 * time.Millisecond, 100 * time.Millisecond, 0, 0, 0},
		{"a bit more than that", 80 * time.Millisecond, 100 * time.Millisecond, 0, 30 * time.Millisecond, 30 * time.Millisecond},
		{"behind by a bit more", -80 * time.Millisecond, 100 * time.Millisecond, 0, -30 * time.Millisecond, -30 * time.Millisecond},
		{"just no step", stepBound - 1, 0, 0, stepBound - 1, 50 * time.Millisecond},
		{"a step", stepBound, 0, stepBound, 0, 0},
		{"a step back", -stepBound, 0, -stepBound, 0, 0},
	} {
		inClock(t, nil, func(t *testing.T, c *timepiece) {
			c.db, c.delay = tt.ahead, tt.delay
			c.beats(t)
			if got := c.off(); got != 0 {
				t.Errorf("%s: it leaps by %v", tt.name, got)
			}
			time.Sleep(time.Second)
			if got := c.off(); (got - tt.slow).Abs() > time.Microsecond {
				t.Errorf("%s: a second later %v is made up for, want %v", tt.name, got, tt.slow)
			}
			time.Sleep(time.Minute)
			if got := c.off(); got != tt.made {
				t.Errorf("%s: %v is made up for, want %v", tt.name, got, tt.made)
			}
			if lead, _ := c.leads(); lead != tt.lead {
				t.Errorf("%s: the database is %v ahead, want %v", tt.name, lead, tt.lead)
			}
			before := c.steps
			c.beats(t)
			if want := min(1, int(tt.lead.Abs())); before != want || c.steps != want {
				t.Errorf("%s: %d steps, then %d, want %d", tt.name, before, c.steps, want)
			}
		})
	}
}

func TestAnAnswerThatSaysNothingMovesNothing(t *testing.T) {
	t.Parallel()
	inClock(t, nil, func(t *testing.T, c *timepiece) {
		c.beats(t)
		c.db, c.delay = time.Hour, 5*time.Second
		c.beats(t)
		if lead, _ := c.leads(); lead != 0 || c.steps != 0 || c.off() != 0 {
			t.Errorf("too slow: lead %v, %d steps, off by %v", lead, c.steps, c.off())
		}
		c.answer = errors.New("away")
		if err := c.beat(t.Context()); err == nil {
			t.Error("a database that is away is no error")
		}
	})
	inClock(t, func(c *Config) { c.Clock = time.Now }, func(t *testing.T, c *timepiece) {
		c.db = time.Hour
		c.beats(t)
		c.lead = time.Hour
		c.agree([]Told{{Lead: new(time.Duration)}, {Lead: new(time.Duration)}})
		if c.asked != 0 || !c.odd.IsZero() || c.join(t.Context()) != nil {
			t.Errorf("a time that is set by hand is compared: %d questions, odd since %v", c.asked, c.odd)
		}
	})
}

// TestTheMachinesClockIsOnlyWatched: a step of more than a second is counted once, and said again every ten minutes while it lasts.
func TestTheMachinesClockIsOnlyWatched(t *testing.T) {
	t.Parallel()
	inClock(t, nil, func(t *testing.T, c *timepiece) {
		said := func() int { return strings.Count(c.log.String(), "is not that of the cluster") }
		for _, s := range []struct {
			ahead, after time.Duration
			steps, said  int
		}{
			{oddBound, 0, 0, 0},
			{0, 0, 0, 0},
			{oddBound + 1, 0, 1, 1},
			{oddBound + 1, 10 * time.Minute, 1, 1},
			{oddBound + 1, 1, 1, 2},
			{-oddBound - 1, 0, 2, 3},
			{0, 0, 3, 3},
		} {
			c.machine = s.ahead
			time.Sleep(s.after)
			c.compare()
			if _, own := c.leads(); own != s.ahead || c.steps != s.steps || said() != s.said {
				t.Errorf("%v ahead, after %v: it is %v ahead, %d steps, said %d times; want %d and %d", s.ahead, s.after, own, c.steps, said(), s.steps, s.said)
			}
			if c.off() != 0 {
				t.Errorf("%v ahead: the cluster's time moved by %v", s.ahead, c.off())
			}
			got := c.n.Clocks()
			if want := (Clocks{Machine: s.ahead, MachineOff: s.ahead.Abs() > oddBound}); got != want {
				t.Errorf("told: %+v, want %+v", got, want)
			}
		}
		before := c.steps
		c.machine = time.Hour
		c.beats(t)
		if _, own := c.leads(); own != time.Hour || c.steps != before+1 {
			t.Errorf("a beat does not look at the machine's clock: %v ahead, %d steps", own, c.steps-before)
		}
		c.lead, c.own = stepBound, 0
		if got := c.n.Clocks(); got.Database != stepBound || !got.DatabaseOff {
			t.Errorf("told: %+v", got)
		}
		c.lead = stepBound - 1
		if c.n.Clocks().DatabaseOff {
			t.Error("a drift is told as a step")
		}
	})
	// Where the machine's is the only clock, its step is that of the reference, and counted as such.
	inClock(t, func(c *Config) { c.ownReference = true }, func(t *testing.T, c *timepiece) {
		c.db, c.machine = time.Hour, time.Hour
		c.beats(t)
		if c.steps != 1 || c.n.Clocks().MachineOff {
			t.Errorf("%d steps, %+v", c.steps, c.n.Clocks())
		}
	})
}

func told(lead, own time.Duration) Told { return Told{Lead: &lead, Own: own} }

// TestWhatTheClusterAgreesOn: what is tried is the lead of this admin after some looks at the others, a second apart.
func TestWhatTheClusterAgreesOn(t *testing.T) {
	t.Parallel()
	const two = 2 * time.Second
	apart := func(d time.Duration) []Told { return []Told{told(d, 0), told(d, 0)} }
	for _, tt := range []struct {
		name      string
		lead, own time.Duration
		others    []Told
		looks     int
		want      time.Duration // the lead
		moved     time.Duration
	}{
		{"alone, with its machine, in time", two, two, nil, 60, two, 0},
		{"alone, with its machine, after a minute", two, two, nil, 61, 0, two},
		{"alone, a machine that is nearly right", two, two - oddBound, nil, 61, 0, two},
		{"alone, a machine that is not", two, two - oddBound - 1, nil, 200, two, 0},
		{"alone, against its machine", two, 0, nil, 200, two, 0},
		{"alone, ahead on the other side", two, -two, nil, 200, two, 0},
		{"the least step", stepBound, stepBound, nil, 61, 0, stepBound},
		{"no step", stepBound - 1, stepBound - 1, nil, 200, stepBound - 1, 0},
		{"most machines", two, 0, []Told{told(two, two), told(two, two)}, 61, 0, two},
		{"as many as not", two, two, []Told{told(two, 0)}, 200, two, 0},
		{"most are against it", two, two, []Told{told(two, 0), told(two, 0)}, 200, two, 0},
		{"an older release says nothing", two, two, []Told{{}, {}, {}}, 61, 0, two},
		{"the odd one waits for three beats", 0, 0, apart(two), 4, 0, 0},
		{"and takes over what the others have", 0, 0, apart(two), 5, two, -two},
		{"behind the others", two, 0, apart(0), 5, 0, two},
		{"not odd", 0, 0, apart(oddBound), 200, 0, 0},
		{"odd", 0, 0, apart(oddBound + 1), 5, oddBound + 1, -oddBound - 1},
		{"of two the smaller difference", two, 0, []Told{told(0, 0)}, 5, 0, two},
		{"of two it has the smaller", 0, 0, []Told{told(two, 0)}, 200, 0, 0},
	} {
		inClock(t, nil, func(t *testing.T, c *timepiece) {
			c.lead, c.own = tt.lead, tt.own
			for i := range tt.looks {
				if i > 0 {
					time.Sleep(time.Second)
				}
				c.agree(tt.others)
			}
			if lead, _ := c.leads(); lead != tt.want {
				t.Errorf("%s: the lead is %v, want %v", tt.name, lead, tt.want)
			}
			time.Sleep(time.Hour)
			if got := c.off(); got != tt.moved {
				t.Errorf("%s: moved by %v, want %v", tt.name, got, tt.moved)
			}
		})
	}
}

// TestAnAgreementThatEndsBeginsAnew: what was so for a while and then was not counts from its new beginning on.
func TestAnAgreementThatEndsBeginsAnew(t *testing.T) {
	t.Parallel()
	const two = 2 * time.Second
	inClock(t, nil, func(t *testing.T, c *timepiece) {
		odd := []Told{told(two, 0), told(two, 0)}
		for range 4 {
			c.agree(odd)
			c.agree(nil)
			time.Sleep(time.Minute)
		}
		if lead, _ := c.leads(); lead != 0 {
			t.Errorf("it was odd for moments only, and takes over %v", lead)
		}
		c.lead = two
		for range 4 {
			c.own = two
			c.agree(nil)
			c.own = 0
			c.agree(nil)
			time.Sleep(time.Minute)
		}
		if lead, _ := c.leads(); lead != two {
			t.Errorf("the machine agreed for moments only, and the lead is %v", lead)
		}
	})
}

// TestHowAClockMoves: a minute is made up for little by little, more at once, of which the engine is told first.
func TestHowAClockMoves(t *testing.T) {
	t.Parallel()
	for by, want := range map[time.Duration]struct {
		atOnce bool
		leapt  []time.Duration
	}{
		slewBound: {false, nil}, -slewBound: {false, nil},
		slewBound + 1: {true, []time.Duration{slewBound + 1}}, -slewBound - 1: {true, []time.Duration{0}},
	} {
		inClock(t, nil, func(t *testing.T, c *timepiece) {
			c.move(by)
			if atOnce := c.off() == by; atOnce != want.atOnce || !slices.Equal(c.work.leapt, want.leapt) || c.work.more.Load() != int64(len(want.leapt)) {
				t.Errorf("by %v: %v at once; told %v, and %d times that more is due", by, c.off(), c.work.leapt, c.work.more.Load())
			}
			time.Sleep(time.Hour)
			if c.off() != by {
				t.Errorf("by %v: moved by %v", by, c.off())
			}
		})
	}
}

func TestTheMiddleOfSeveralLeads(t *testing.T) {
	t.Parallel()
	for want, all := range map[time.Duration][]time.Duration{
		0: nil, 7: {7}, 2: {3, 1, 2}, 1: {-5, 1}, -1: {2, -1}, 4: {9, 4, 0, 8, 3},
	} {
		if got := middle(all); got != want {
			t.Errorf("of %v: %d, want %d", all, got, want)
		}
	}
}

// TestWhoJoinsTakesOverTheLead of those that live and tell one.
func TestWhoJoinsTakesOverTheLead(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		const ahead, lead = time.Hour, 20 * time.Minute
		steps := 0
		w := &watching{Node: newNode(t, pool, "joins", func(c *Config) {
			c.Logger = slog.New(slog.DiscardHandler)
			c.Lease, c.ClockSteps = time.Minute, goneCounter{inc: func() { steps++ }}
			c.Reference = func(context.Context) (time.Time, error) { return time.Now().Add(ahead), nil }
		}), t: t}
		cluster := time.Now().Add(ahead - lead) // by which the others go
		for name, n := range map[string]struct {
			told  Told
			beat  time.Time
			state int
		}{
			"lives": {told(lead, 0), cluster, 1}, "lives too": {told(lead, 0), cluster.Add(-20 * time.Second), 1},
			"is silent": {told(5*time.Hour, 0), cluster.Add(-10 * time.Hour), 1}, "is gone": {told(ahead, 0), time.Now(), 0},
			"is gone too": {told(ahead, 0), time.Now(), 0}, "is gone as well": {told(ahead, 0), time.Now(), 0},
			"is an older release": {Told{}, cluster, 1}, "tells no lead": {Told{}, cluster, 1},
		} {
			w.exec("UPDATE punctual_node SET beat_at = ?, state = ? WHERE id = ?", n.beat.UnixMilli(), n.state, w.other(name, n.told))
		}
		w.exec("UPDATE punctual_node SET load_figures = '' WHERE name = 'is an older release'")
		if err := w.SetClock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, _ := w.clock.leads(); got != lead {
			t.Errorf("its lead is %v, want %v", got, lead)
		}
		if off := time.Until(w.Now()) - (ahead - lead); off.Abs() > 10*time.Second {
			t.Errorf("its time is off by %v", off)
		}
		if _, own := w.clock.leads(); (own + ahead - lead).Abs() > 10*time.Second {
			t.Errorf("its machine is %v ahead", own)
		}
		if steps != 0 {
			t.Errorf("%d steps of a clock that nobody set", steps)
		}
		w.cfg.Reference = func(context.Context) (time.Time, error) { return time.Time{}, errors.New("away") }
		if w.SetClock(t.Context()) == nil {
			t.Error("it joins by the time of a database that is away")
		}
	})
}

func TestANodeNeedsItsParts(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.SQLite)
	full := Config{Pool: pool, Logger: slog.New(slog.DiscardHandler), Work: new(fakeWork)}
	for name, cfg := range map[string]Config{
		"a pool": {Logger: full.Logger, Work: full.Work}, "a logger": {Pool: pool, Work: full.Work}, "work": {Pool: pool, Logger: full.Logger},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("one without %s is made", name)
		}
	}
	n, err := New(full)
	if err != nil {
		t.Fatal(err)
	}
	if c := n.cfg; c.BeatEvery != time.Second || c.Lease != 5*time.Second || c.FollowAfter != time.Minute || !c.ownReference {
		t.Errorf("by itself: %+v", c)
	}
	for _, c := range []prometheus.Counter{n.cfg.Gone, n.cfg.ClockSteps} {
		c.Inc()
	}
}
