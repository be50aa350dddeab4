package jobspec

import (
	"slices"
	"time"
)

// PauseScope says what a pause is about.
type PauseScope string

// The scopes, as stored.
const (
	PauseJob   PauseScope = "job"
	PauseGroup PauseScope = "group"
	PauseTag   PauseScope = "tag"
	PauseAll   PauseScope = "all"
)

// AllPauseScopes are the scopes, the narrowest first.
func AllPauseScopes() []PauseScope { return []PauseScope{PauseJob, PauseGroup, PauseTag, PauseAll} }

// Pausing says what becomes of the fires that fall into a pause.
type Pausing string

// The strategies, as stored, the most careful first: where pauses meet, the first that one of them has holds.
const (
	PauseSkip Pausing = "skip" // they are only written down
	PauseOnce Pausing = "once" // one run at the end stands for them
	PauseEach Pausing = "all"  // each has its run at the end, at most MaxMadeUp
)

// AllPausings are the strategies, the most careful first.
func AllPausings() []Pausing { return []Pausing{PauseSkip, PauseOnce, PauseEach} }

const (
	// MaxMadeUp is how many runs the end of a pause makes of one job; of more fires the oldest are skipped.
	MaxMadeUp = 100
	// maxWindows is how many windows of one pause are looked at in one go. A pause whose windows go on without a gap for longer is
	// taken to go on until it is changed.
	maxWindows = 1000
)

// Pause is a time in which a schedule holds still: from From up to, not including, Until, and where it is repeated, in windows between
// the two. What was begun before goes on, and so does what people, programs and other jobs start.
type Pause struct {
	ID       int64
	Scope    PauseScope
	Target   int64  // the job or group
	Tag      string // of PauseTag
	From     time.Time
	Until    time.Time // zero: until somebody ends it
	Strategy Pausing
	Cron     string        // when windows begin; "": the pause is one window
	Length   time.Duration // of a window
	Zone     *time.Location
	Reason   string
	By       string
}

// end is the end of the pause's window that a moment lies in; open: nobody knows when it ends.
func (p *Pause) end(at time.Time) (end time.Time, open, in bool) {
	if at.Before(p.From) || !p.Until.IsZero() && !at.Before(p.Until) {
		return time.Time{}, false, false
	}
	if p.Cron == "" {
		return p.Until, p.Until.IsZero(), true
	}
	begins := p.windows(at.Add(-p.Length))
	if begins.IsZero() || begins.After(at) {
		return time.Time{}, false, false
	}
	for range maxWindows { // windows may meet
		end = begins.Add(p.Length)
		if !p.Until.IsZero() && !end.Before(p.Until) {
			return p.Until, false, true
		}
		if begins = p.windows(begins); begins.IsZero() || begins.After(end) {
			return end, false, true
		}
	}
	return time.Time{}, true, true
}

// windows is when the first window after a moment begins that is inside the pause; zero: none. One that would have begun before the
// pause does is none.
func (p *Pause) windows(after time.Time) time.Time {
	if after.Before(p.From) {
		after = p.From.Add(-time.Nanosecond)
	}
	next, err := Next(ScheduleCron, p.Cron, after, p.Zone)
	if err != nil || !p.Until.IsZero() && !next.Before(p.Until) {
		return time.Time{} // what cannot be read holds nothing; it is refused when it is made
	}
	return next
}

// begins is when the pause, or its next window, begins after a moment; zero: not again.
func (p *Pause) begins(after time.Time) time.Time {
	if p.Cron != "" {
		return p.windows(after)
	}
	if p.From.After(after) && (p.Until.IsZero() || p.From.Before(p.Until)) {
		return p.From
	}
	return time.Time{}
}

// Active reports whether a moment lies in the pause, and when the window that it lies in ends; the zero time: not by itself.
func (p *Pause) Active(at time.Time) (until time.Time, active bool) {
	until, _, active = p.end(at)
	return until, active
}

// Begins is when the pause, or its next window, begins after a moment; zero: not again.
func (p *Pause) Begins(after time.Time) time.Time { return p.begins(after) }

// Of reports whether the pause is about a job.
func (p *Pause) Of(job, group int64, tags []string) bool {
	switch p.Scope {
	case PauseJob:
		return p.Target == job
	case PauseGroup:
		return p.Target == group
	case PauseTag:
		return slices.Contains(tags, p.Tag)
	case PauseAll:
		return true
	}
	return false
}

// Pauses are those of one job.
type Pauses []*Pause

// Stretch is a time without fires: pauses that meet or overlap are one.
type Stretch struct {
	From, Until time.Time // Until zero: nobody knows
	Strategy    Pausing
	Pause       *Pause // the one that explains it: the last to end
}

// At is the stretch that a moment lies in, from that moment on; false: it lies in none.
func (ps Pauses) At(at time.Time) (Stretch, bool) {
	s := Stretch{From: at, Until: at}
	for range maxWindows {
		grown := false
		for _, p := range ps {
			end, open, in := p.end(s.Until)
			if !in {
				continue
			}
			s.Strategy = careful(s.Strategy, p.Strategy)
			if s.Pause = p; open {
				s.Until = time.Time{}
				ps.join(&s)
				return s, true
			}
			s.Until, grown = end, true
		}
		if !grown {
			if s.Pause == nil {
				return Stretch{}, false
			}
			ps.join(&s)
			return s, true
		}
	}
	s.Until = time.Time{}
	return s, true
}

// Between are the stretches that touch the time from one moment to another, in their order and no more than most. The first may have begun before,
// the last may end later.
func (ps Pauses) Between(from, until time.Time, most int) []Stretch {
	var list []Stretch
	for at := from; len(list) < most && at.Before(until); {
		s, in := ps.At(at)
		if in {
			list = append(list, s)
			if s.Until.IsZero() {
				break
			}
			at = s.Until
			continue
		}
		next := time.Time{}
		for _, p := range ps {
			if begins := p.begins(at); !begins.IsZero() && (next.IsZero() || begins.Before(next)) {
				next = begins
			}
		}
		if next.IsZero() {
			break
		}
		at = next
	}
	return list
}

// join has the stretch keep to the most careful strategy of the pauses that lie in it.
func (ps Pauses) join(s *Stretch) {
	for _, p := range ps {
		if _, _, now := p.end(s.From); now {
			s.Strategy = careful(s.Strategy, p.Strategy)
		} else if begins := p.begins(s.From); !begins.IsZero() && !s.Until.IsZero() && begins.Before(s.Until) {
			s.Strategy = careful(s.Strategy, p.Strategy)
		}
	}
}

// careful is the more careful of two strategies. One that this version does not know skips.
func careful(a, b Pausing) Pausing {
	if a == "" {
		a = b
	}
	for _, s := range AllPausings() {
		if a == s || b == s {
			return s
		}
	}
	return PauseSkip
}

// Begins is when the next pause begins after a moment; zero: none does.
func (ps Pauses) Begins(after time.Time) time.Time {
	var first time.Time
	for _, p := range ps {
		if at := p.begins(after); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// Held are fires that fell into a pause that is over, and what becomes of them.
type Held struct {
	Stretch
	Passed              // all of them
	Skipped *Passed     // those that are only written down: all, or the oldest of too many
	Runs    []time.Time // the due times that have a run of their own, at At
	Once    bool        // one run, at At, stands for all
	At      time.Time
}

// DecidePaused is [Decide] for a job with pauses. The fires before a pause and behind it are decided as ever. Those that fall into one are
// left until it ends, when its strategy says what becomes of them: until then the plan has Hold, which is when the first of them is due,
// and Next is when to decide again, a millisecond behind the end, so that it is no due time by itself.
func DecidePaused(s Schedule, ps Pauses, next, now, horizon time.Time, misfireAfter time.Duration) (Plan, error) {
	if len(ps) == 0 {
		return Decide(s, next, now, horizon, misfireAfter)
	}
	if horizon.Before(now) {
		horizon = now
	}
	if misfireAfter <= 0 {
		misfireAfter = DefaultMisfireAfter
	}
	if !next.IsZero() && !s.Allows(next) { // the calendar was changed since
		var err error
		if next, err = s.allowed(next); err != nil {
			return Plan{}, err
		}
	}
	plan := Plan{Next: next}
	still, isStill := ps.At(now)
	if isStill && (still.Until.IsZero() || still.Until.After(horizon)) && next.Before(now.Add(-misfireAfter)) {
		// Whatever is to be made up for is made up for behind the pause, and known as missed then.
		plan.hold(next, still)
		return plan, nil
	}
	for range maxWindows {
		if plan.Next.IsZero() || plan.Next.After(horizon) || plan.size() >= MaxFires {
			return plan, nil
		}
		if stretch, in := ps.At(plan.Next); in {
			if stretch.Until.IsZero() || stretch.Until.After(horizon) {
				plan.hold(plan.Next, stretch)
				return plan, nil
			}
			at := stretch.Until
			if now.After(at) {
				at = now
			}
			if later, in := ps.At(at); in && stretch.Strategy != PauseSkip { // nobody looked until the next pause had begun
				if later.Until.IsZero() || later.Until.After(horizon) {
					plan.hold(plan.Next, later)
					return plan, nil
				}
				at = later.Until
			}
			if err := plan.end(s, stretch, at); err != nil {
				return Plan{}, err
			}
			continue
		}
		if full, err := plan.between(s, ps, now, horizon, misfireAfter); err != nil {
			return Plan{}, err
		} else if full {
			return plan, nil
		}
	}
	return plan, nil // the rest is decided next
}

// size is how many runs the plan makes.
func (p *Plan) size() int {
	n := len(p.Fires) + len(p.MadeUp)
	for _, h := range p.Held {
		if n += len(h.Runs); h.Once {
			n++
		}
	}
	return n
}

// hold leaves the fires from the given one on until the pause has ended.
func (p *Plan) hold(first time.Time, s Stretch) {
	p.Hold, p.Next = first, Waiting.Add(time.Millisecond)
	if !s.Until.IsZero() {
		p.Next = s.Until.Truncate(time.Millisecond).Add(time.Millisecond)
	}
}

// between decides the fires up to the next pause. The plan is full when there are misfires to be written down on both sides of a pause:
// each record says from when to when they were.
func (p *Plan) between(s Schedule, ps Pauses, now, horizon time.Time, misfireAfter time.Duration) (full bool, err error) {
	part := s
	if begins := ps.Begins(p.Next); !begins.IsZero() && (s.End.IsZero() || !s.End.Before(begins)) && p.Next.Before(Waiting) {
		part.End = begins.Add(-time.Nanosecond)
	}
	made, err := Decide(part, p.Next, now, horizon, misfireAfter)
	if err != nil {
		return false, err
	}
	if made.Next.IsZero() && !made.Last.IsZero() && !part.End.Equal(s.End) {
		if made.Next, err = s.Next(made.Last); err != nil {
			return false, err
		}
	}
	if p.Skipped != nil && made.Skipped != nil {
		return true, nil
	}
	p.Fires = append(p.Fires, made.Fires...)
	if made.Skipped != nil {
		p.Skipped = made.Skipped
	}
	if made.Misfire != nil {
		merged := *made.Misfire
		if p.Misfire != nil {
			merged.Passed = together(p.Misfire.Passed, merged.Passed)
		}
		merged.At = ps.over(merged.At)
		p.Misfire = &merged
	}
	if len(made.MadeUp) > 0 {
		p.MadeUp, p.MadeUpAt = append(p.MadeUp, made.MadeUp...), ps.over(made.MadeUpAt)
	}
	if !made.Last.IsZero() {
		p.Last = made.Last
	}
	p.Next = made.Next
	return false, nil
}

// over is the given moment, or the end of the pause that it falls into, which has one within the horizon.
func (ps Pauses) over(at time.Time) time.Time {
	if still, in := ps.At(at); in && !still.Until.IsZero() {
		return still.Until
	}
	return at
}

// together are the due times of both, of which those of a come first.
func together(a, b Passed) Passed {
	return Passed{First: a.First, Last: b.Last, Count: a.Count + b.Count, More: a.More || b.More}
}

// end decides the fires that fell into a pause which is over; runs that make up for them are due at the given moment.
func (p *Plan) end(s Schedule, stretch Stretch, at time.Time) error {
	h := Held{Stretch: stretch, At: at}
	if s.Type == ScheduleFixDelay {
		return p.endDelay(s, h)
	}
	due, err := s.held(p.Next, stretch.Until, MaxMadeUp)
	if err != nil {
		return err
	}
	h.Passed, p.Last, p.Next = due.Passed, due.Last, due.next
	switch stretch.Strategy {
	case PauseOnce:
		h.Once = true
	case PauseEach:
		if n := due.Count - len(due.last); n > 0 {
			h.Skipped = &Passed{First: due.First, Last: due.before, Count: n, More: due.More}
		}
		h.Runs = due.last
		if room := MaxFires - p.size(); len(h.Runs) > room { // the others are found in the same pause by the next plan
			p.Next = h.Runs[room]
			h.Runs = h.Runs[:room]
			p.Last = h.Runs[room-1]
		}
	case PauseSkip:
		h.Skipped = &due.Passed
	default:
		h.Skipped = &due.Passed
	}
	p.Held = append(p.Held, h)
	return nil
}

// endDelay goes on with a fixed delay behind a pause: a run of it is due at the end, or where fires are skipped, a delay later.
func (p *Plan) endDelay(s Schedule, h Held) error {
	h.Passed = Passed{First: p.Next, Last: p.Next, Count: 1}
	p.Last = p.Next
	if h.Strategy == PauseOnce || h.Strategy == PauseEach {
		h.Once, p.Next = true, Waiting
		p.Held = append(p.Held, h)
		return nil
	}
	h.Skipped = &h.Passed
	p.Held = append(p.Held, h)
	next, err := s.Next(h.Until)
	p.Next = next
	return err
}

// heldFires are the due times of a schedule before a moment.
type heldFires struct {
	Passed
	last   []time.Time // the newest
	before time.Time   // the one before them
	next   time.Time   // the first behind; zero: none
}

// held finds the due times from one up to, not including, a moment, and the newest n of them.
func (s Schedule) held(first, until time.Time, n int) (heldFires, error) {
	count := s.counting()
	cutoff := until
	if s.ended(cutoff) {
		cutoff = s.End.Add(time.Nanosecond)
	}
	passed, next, err := count(s, first, cutoff)
	if err != nil {
		return heldFires{}, err
	}
	if s.ended(next) {
		next = time.Time{}
	}
	h := heldFires{Passed: passed, next: next}
	start := first
	for span := cutoff.Sub(first); ; span /= 2 { // from where there are not too many to be looked at one by one
		if start, err = s.From(first, cutoff.Add(-span)); err != nil {
			return heldFires{}, err
		}
		some, _, err := count(s, start, cutoff)
		if err != nil {
			return heldFires{}, err
		}
		if !some.More && some.Count <= maxCounted {
			break
		}
	}
	for at := start; !at.IsZero() && at.Before(cutoff); {
		if len(h.last) == n {
			h.before = h.last[0]
			h.last = slices.Delete(h.last, 0, 1)
		}
		h.last = append(h.last, at)
		if at, err = s.Next(at); err != nil {
			return heldFires{}, err
		}
	}
	return h, nil
}

// NextRun is the moment at which a run comes next of a job with pauses whose schedule is due next at the given one; the zero time where
// there is none, or where nobody knows because a pause has no end.
func (s Schedule) NextRun(ps Pauses, next time.Time) (time.Time, error) {
	var err error
	for range maxWindows {
		if err != nil || next.IsZero() {
			return next, err
		}
		stretch, in := ps.At(next)
		switch {
		case !in:
			return next, nil
		case stretch.Until.IsZero():
			return time.Time{}, nil
		case stretch.Strategy == PauseOnce || stretch.Strategy == PauseEach:
			return stretch.Until, nil
		case s.Type == ScheduleFixDelay:
			next, err = s.Next(stretch.Until)
		default:
			next, err = s.From(next, stretch.Until)
		}
	}
	return time.Time{}, nil
}
