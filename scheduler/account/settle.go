package account

import (
	"cmp"
	"slices"
	"sort"

	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Finding is what became of one fire.
type Finding struct {
	At    int64 // epoch ms
	Class Class
	Run   int64 // 0: there is none
	Why   event.Event
}

// Ledger is what is known of a job's runs in a time.
type Ledger struct {
	Fires []Fire // in their order, no two at one time
	Runs  []Run
	From  int64 // of the fires; runs planned outside are looked at for what they stand for alone
	To    int64
	Now   int64
	// Erased says why the record of a fire was deleted on purpose, if it was; nil: nothing was.
	Erased func(at int64) (event.Event, bool)
	// Delayed says that a moment is under a FIX_DELAY definition, whose runs are its fires; nil: none is.
	Delayed func(at int64) bool
	// Unclear says that a moment is one of which nobody knows the definition; nil: none is.
	Unclear func(at int64) bool
}

// settled is what has been found out about a fire.
type settled struct {
	own    []*Run // runs of its own
	covers []*Run // that stand for it or skip it, exactly
	filled *Run   // the same, as far as one can say
	class  Class
	why    event.Event
	run    int64
}

// Settle finds out what became of each fire, and which runs belong to none, in the order of time.
func (l *Ledger) Settle() []Finding {
	all := make([]settled, len(l.Fires))
	var extra []*Run // runs for times at which no fire was planned
	var covers []cover
	var foreign []*Run
	runs := slices.Clone(l.Runs)
	slices.SortFunc(runs, func(a, b Run) int { return cmp.Compare(a.ID, b.ID) })
	for i := range runs {
		r := &runs[i]
		switch {
		case r.Planned == 0 && r.Type == "":
			foreign = append(foreign, r)
		case r.Type == jobspec.TriggerMisfire && r.Outcome != event.Stopped:
			covers = append(covers, r.covers())
		case r.Type == jobspec.TriggerCron:
			if n, ok := l.find(r.Planned); ok {
				all[n].own = append(all[n].own, r)
			} else if r.Planned >= l.From && r.Planned < l.To {
				extra = append(extra, r)
			}
		}
	}
	l.cover(all, covers)
	l.foreign(all, foreign)
	findings := make([]Finding, 0, len(all)+len(extra))
	for i := range all {
		l.judge(&all[i], &l.Fires[i])
		findings = append(findings, Finding{At: l.Fires[i].At, Class: all[i].class, Run: all[i].run, Why: all[i].why})
	}
	findings = append(findings, l.unplanned(extra)...)
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(a.At, b.At) })
	return findings
}

func (l *Ledger) find(at int64) (int, bool) {
	return slices.BinarySearchFunc(l.Fires, at, func(f Fire, at int64) int { return cmp.Compare(f.At, at) })
}

// cover notes at the fires which runs stand for them.
func (l *Ledger) cover(all []settled, covers []cover) {
	for _, c := range covers {
		if c.assumed {
			continue
		}
		first, _ := l.find(c.from)
		last, exact := l.find(c.to)
		if exact {
			last++
		}
		for i := first; i < last; i++ {
			all[i].covers = append(all[i].covers, c.run)
		}
		if c.open {
			for i := last; i < len(all) && len(all[i].own) == 0 && len(all[i].covers) == 0 && l.Fires[i].fate != awaited; i++ {
				all[i].filled = c.run
			}
		}
	}
	for _, c := range covers {
		if c.assumed {
			l.fill(all, c)
		}
	}
}

// overtaken is how far before the end of what an old row stands for there may be fires with runs of their own, in ms: those that
// were not late enough to be misfires.
const overtaken = 60_000

// fill gives the fires before an old row's moment to it, back to the last that has a run of its own.
func (l *Ledger) fill(all []settled, c cover) {
	for _, r := range l.Runs {
		if r.Type == jobspec.TriggerCron && r.Planned >= l.To && r.Planned < c.to-overtaken {
			return // it stands for later fires
		}
	}
	last, exact := l.find(c.to)
	if exact {
		last++
	}
	i := last - 1
	for i >= 0 && len(all[i].own) > 0 && l.Fires[i].At > c.to-overtaken {
		i--
	}
	for ; i >= 0 && len(all[i].own) == 0 && len(all[i].covers) == 0 && all[i].filled == nil; i-- {
		all[i].filled = c.run
	}
}

// foreignBefore and foreignAfter are how far the trigger time of an XXL-JOB admin's run, which has whole seconds, may be from its fire, in ms.
const foreignBefore, foreignAfter = 1000, 10_000

// foreign gives the runs of an XXL-JOB admin to the fires that have none.
func (l *Ledger) foreign(all []settled, runs []*Run) {
	slices.SortFunc(runs, func(a, b *Run) int { return cmp.Compare(a.At, b.At) })
	for _, r := range runs {
		n := sort.Search(len(l.Fires), func(i int) bool { return l.Fires[i].At >= r.At-foreignAfter })
		for ; n < len(all) && l.Fires[n].At <= r.At+foreignBefore; n++ {
			if s := &all[n]; len(s.own) == 0 && len(s.covers) == 0 && s.filled == nil {
				s.filled = r
				break
			}
		}
	}
}

// judge classes one fire.
func (l *Ledger) judge(s *settled, f *Fire) {
	if a, b, twice := s.twice(); twice {
		s.class, s.run, s.why = Doubled, a.ID, why(WhyTwice, b.ID)
		return
	}
	switch {
	case len(s.own) > 0:
		s.class, s.why, s.run = worst(s.own, l.Now)
	case len(s.covers) > 0:
		s.class, s.why, s.run = stands(s.covers[0], l.Now)
	case s.filled != nil && s.filled.Planned == 0:
		s.class, s.why, s.run = OnTime, why(WhyForeign), s.filled.ID
		if s.filled.At-f.At > lateAfter {
			s.class = Late
		}
	case s.filled != nil:
		s.class, s.why, s.run = stands(s.filled, l.Now)
	default:
		s.class, s.why = l.absent(f)
	}
}

// absent classes a fire that is not on record.
func (l *Ledger) absent(f *Fire) (Class, event.Event) {
	switch f.fate {
	case dropped:
		return Skipped, f.why
	case uncertain:
		return Unknown, f.why
	case awaited:
		return Pending, f.why
	case decided:
	}
	if l.Erased != nil {
		if e, ok := l.Erased(f.At); ok {
			return Deleted, e
		}
	}
	return Missing, event.Event{}
}

// stands is what a run that stands for fires, or skips them, says of each.
func stands(r *Run, now int64) (Class, event.Event, int64) {
	class, e := r.became(now)
	if class == Skipped {
		return Skipped, e, r.ID
	}
	if e, ok := r.Events.Last(event.StandsFor); ok {
		return Stands, e, r.ID
	}
	return Stands, why(WhyCodes), r.ID
}

// worst is the fate of the worst run of a fire: a broadcast has several.
func worst(runs []*Run, now int64) (class Class, e event.Event, run int64) {
	for i, r := range runs {
		if c, because := r.became(now); i == 0 || c > class {
			class, e, run = c, because, r.ID
		}
	}
	return class, e, run
}

// twice finds two runs of one fire that are not the shards of one broadcast.
func (s *settled) twice() (a, b *Run, ok bool) {
	if len(s.own)+len(s.covers) < 2 {
		return nil, nil, false
	}
	if a, b, ok = same(s.own); ok {
		return a, b, true
	}
	if a, b, ok = same(s.covers); ok {
		return a, b, true
	}
	if len(s.own) > 0 && len(s.covers) > 0 {
		return s.own[0], s.covers[0], true
	}
	return nil, nil, false
}

// same finds two of a fire's runs that do the same. Runs of one broadcast have different shards; one without a shard beside them
// is a machine that was passed over.
func same(runs []*Run) (a, b *Run, ok bool) {
	if len(runs) < 2 {
		return nil, nil, false
	}
	broadcast := slices.ContainsFunc(runs, func(r *Run) bool { return r.Shard != "" })
	seen := make(map[string]*Run, len(runs))
	for _, r := range runs {
		if class, _ := r.became(r.Planned); broadcast && (r.Shard == "" || class == NotSent) {
			continue
		}
		if first := seen[r.Shard]; first != nil {
			return first, r, true
		}
		seen[r.Shard] = r
	}
	return nil, nil, false
}

// unplanned are the findings for runs at times at which no fire was planned.
func (l *Ledger) unplanned(runs []*Run) []Finding {
	byTime := make(map[int64][]*Run)
	var times []int64
	for _, r := range runs {
		if byTime[r.Planned] == nil {
			times = append(times, r.Planned)
		}
		byTime[r.Planned] = append(byTime[r.Planned], r)
	}
	var findings []Finding
	for _, at := range times {
		s := settled{own: byTime[at]}
		l.judge(&s, &Fire{At: at})
		planned := s.class == Doubled || l.Delayed != nil && l.Delayed(at) || l.Unclear != nil && l.Unclear(at)
		if !planned {
			s.class = Unplanned
		}
		findings = append(findings, Finding{At: at, Class: s.class, Run: s.run, Why: s.why})
	}
	return findings
}
