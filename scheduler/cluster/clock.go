package cluster

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// All admins of a cluster go by one time, the database's: each asks for it with every beat and carries it on by its monotonic
// clock, which nobody can set. The clock of an admin's own machine decides nothing. The embedded database has no clock
// of its own; there the machine's takes its place.
//
//   - Small differences are drift: they are made up for by going up to a twentieth faster or slower.
//   - A larger one is a step. The engine goes on as before and notes by how much the database's clock is ahead of it (lead).
//   - The admins tell each other their leads. One whose lead is not that of the most is the odd one, for example because its machine
//     was suspended, and takes over theirs; of two, the smaller one. So the cluster agrees, whatever the database's clock says.
//   - A step that all have seen is followed when the clocks of most of the admins' machines have agreed with the database's for
//     [Config.FollowAfter]: then it was the time before that was wrong. Until then, and for ever if they do not agree, it is said and held.
//   - Who joins takes over the lead of those that are there.
const (
	// stepBound is from which difference on a clock was set, and did not drift.
	stepBound = 500 * time.Millisecond
	// slewPart is which part of the time that passes a difference is made up for with.
	slewPart = 20
	// slewBound is up to which difference the engine goes faster or slower, rather than leap.
	slewBound = time.Minute
	// oddBound is by how much the clock of a machine may be wrong before that is said.
	oddBound = time.Second
	// roundTrip is how long the database may take to tell the time; the longer it has told none, the longer.
	roundTrip = 250 * time.Millisecond
)

// clock is the engine's time.
type clock struct {
	n *Node

	reading atomic.Pointer[reading]

	mu       sync.Mutex
	lead     time.Duration // by how much the database's clock is ahead of the engine's, and is let be
	own      time.Duration // by how much the machine's clock is ahead of the engine's
	asked    time.Time     // when the database told the time; monotonic, as all below
	odd      time.Time     // since when the lead is not that of the most; zero: it is
	agreed   time.Time     // since when the machines' clocks agree with a database's clock that is not followed; zero: they do not
	lastWall time.Time     // of the machine
	lastMono time.Time
	said     time.Time // when it was said that the machine's clock is wrong
}

// reading is the engine's time at one moment, and how much of a difference is still to be made up for.
type reading struct {
	mono time.Time
	at   time.Time // without a monotonic reading
	slew time.Duration
}

func (r *reading) on(mono time.Time) time.Time {
	passed := mono.Sub(r.mono)
	part := passed / slewPart
	return r.at.Add(passed + max(-part, min(part, r.slew)))
}

func newClock(n *Node) *clock {
	c := &clock{n: n}
	c.set(n.cfg.Now(), 0)
	return c
}

func (c *clock) set(at time.Time, slew time.Duration) {
	c.reading.Store(&reading{mono: time.Now(), at: at.Round(0), slew: slew})
}

// now is the engine's time. It has no monotonic reading: differences of two are what has passed by this clock.
func (c *clock) now() time.Time { return c.reading.Load().on(time.Now()) }

// ask asks the database for its time, and gives what the engine's was at the middle of the round trip, and how far that may be
// off. ok is false where it took too long to say anything.
func (c *clock) ask(ctx context.Context) (theirs, ours time.Time, margin time.Duration, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.n.cfg.Lease/4)
	defer cancel()
	began := time.Now()
	theirs, err = c.n.cfg.Reference(ctx)
	if err != nil {
		return theirs, ours, 0, false, err
	}
	took := time.Since(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	if took > roundTrip+began.Sub(c.asked)/slewPart && !c.asked.IsZero() {
		return theirs, ours, 0, false, nil
	}
	c.asked = began
	return theirs, c.reading.Load().on(began.Add(took / 2)), took / 2, true, nil
}

// askWell asks some times and gives what the quickest answer said. That some came too late is no error.
func (c *clock) askWell(ctx context.Context) (theirs, ours time.Time, err error) {
	least := time.Duration(-1)
	for range 5 {
		t, o, margin, ok, failed := c.ask(ctx)
		if failed != nil {
			err = failed
			if ctx.Err() != nil {
				break
			}
		}
		if ok && (least < 0 || margin < least) {
			// As of now: what passes by the engine's clock in between passes by theirs.
			theirs, ours, least = t, o, margin
		}
	}
	if least >= 0 {
		err = nil
	}
	return theirs, ours, err
}

// join sets the clock by the database's, as those do that are there.
func (c *clock) join(ctx context.Context) error {
	if c.n.cfg.Clock != nil {
		return nil
	}
	nodes, err := c.n.queries.ListNodes(ctx, c.n.cfg.Pool)
	if err != nil {
		return err
	}
	theirs, ours, err := c.askWell(ctx)
	if err != nil {
		return err
	}
	var leads []time.Duration
	for _, n := range nodes {
		f, ok := parseTold(n.LoadFigures)
		if !ok || n.State != 1 || f.Lead == nil {
			continue
		}
		if beat := theirs.Add(-*f.Lead).Sub(time.UnixMilli(n.BeatAt)).Abs(); beat < c.n.cfg.Lease { // it lives
			leads = append(leads, *f.Lead)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lead = middle(leads)
	c.set(c.now().Add(theirs.Sub(ours)-c.lead), 0)
	c.lastWall, c.lastMono = c.n.cfg.Now(), time.Now()
	c.compare()
	return nil
}

// beat compares the engine's clock with the database's and with the machine's.
func (c *clock) beat(ctx context.Context) error {
	if c.n.cfg.Clock != nil {
		return nil
	}
	theirs, ours, margin, ok, err := c.ask(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n.cfg.ownReference { // or a step of the one clock would be told twice
		c.lastWall, c.lastMono = c.n.cfg.Now(), time.Now()
	}
	c.compare()
	if !ok {
		return nil
	}
	lead := theirs.Sub(ours)
	if drift := lead - c.lead; drift.Abs() < stepBound {
		c.set(c.now(), drift-max(-margin, min(margin, drift)))
		return nil
	}
	c.n.cfg.ClockSteps.Inc()
	says := "the database's clock was set; the jobs go on by the time before until the admins' machines agree with it"
	if c.n.cfg.ownReference {
		says = "this machine's clock was set; the jobs go on by the time before until it has stayed so"
	}
	c.n.log.Warn(says, "step", (lead - c.lead).String(), "ahead", lead.String())
	c.lead, c.agreed = lead, time.Time{}
	return nil
}

// compare looks at the machine's clock, which nothing depends on.
func (c *clock) compare() {
	wall, mono := c.n.cfg.Now(), time.Now()
	// Round(0) strips the monotonic reading, so that this is the step of the wall clock.
	if step := wall.Round(0).Sub(c.lastWall.Round(0)) - mono.Sub(c.lastMono); step.Abs() > oddBound {
		c.n.cfg.ClockSteps.Inc()
		c.n.log.Warn("this machine's clock was set; the jobs go by the database's", "step", step.String())
		c.said = time.Time{}
	}
	c.lastWall, c.lastMono = wall, mono
	c.own = wall.Round(0).Sub(c.now())
	if c.own.Abs() > oddBound && (c.said.IsZero() || mono.Sub(c.said) > 10*time.Minute) {
		c.said = mono
		c.n.log.Warn("this machine's clock is not that of the cluster; the jobs go by the database's", "ahead", c.own.Round(time.Millisecond).String())
	}
}

// agree finds a common lead with the other admins that live, given what they told last.
func (c *clock) agree(others []Told) {
	if c.n.cfg.Clock != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	leads := []time.Duration{c.lead}
	right, wrong := 0, 0 // machines whose clocks agree with the database's
	count := func(own, lead time.Duration) {
		if (own - lead).Abs() <= oddBound {
			right++
		} else {
			wrong++
		}
	}
	count(c.own, c.lead)
	for _, f := range others {
		if f.Lead != nil {
			leads = append(leads, *f.Lead)
			count(f.Own, *f.Lead)
		}
	}
	most := middle(leads)
	if (c.lead - most).Abs() > oddBound {
		switch {
		case c.odd.IsZero():
			c.odd = now
		case now.Sub(c.odd) > 3*c.n.cfg.BeatEvery: // by then all have told what they see now
			c.n.log.Warn("this admin's time was not that of the others", "behind", (c.lead - most).String())
			c.move(c.lead - most)
			c.lead, c.odd = most, time.Time{}
		}
		return
	}
	c.odd = time.Time{}
	switch {
	case c.lead.Abs() < stepBound || right <= wrong:
		c.agreed = time.Time{}
	case c.agreed.IsZero():
		c.agreed = now
	case now.Sub(c.agreed) >= c.n.cfg.FollowAfter:
		c.n.log.Warn("the time is set to the database's, with which the admins' machines agree", "step", c.lead.String())
		c.move(c.lead)
		c.lead, c.agreed = 0, time.Time{}
	}
}

// move sets the engine's clock ahead or back: little by little, or at once where that would take hours.
func (c *clock) move(by time.Duration) {
	if by.Abs() <= slewBound {
		c.set(c.now(), by)
		return
	}
	c.n.cfg.Work.Leapt(max(0, by)) // before anybody can see the new time
	c.set(c.now().Add(by), 0)
	c.n.cfg.Work.SharesMore()
}

// leads tells by how much the database's clock and this machine's are ahead of the engine's.
func (c *clock) leads() (database, machine time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lead, c.own
}

// middle is the median; of the two in the middle the one nearer to nothing.
func middle(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	a, b := all[(len(all)-1)/2], all[len(all)/2]
	return slices.MinFunc([]time.Duration{a, b}, func(a, b time.Duration) int { return cmp.Compare(a.Abs(), b.Abs()) })
}
