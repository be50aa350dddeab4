package shadow

import (
	"cmp"
	"slices"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

const (
	// Patience is how long after a fire's time its run may come and still be called late; after that it is missed.
	Patience = 2 * time.Minute
	// OnTime is the most that a run's time lies behind its fire's and is on time. The tables keep whole seconds, rounded or cut off.
	OnTime = 2 * time.Second
	// ahead is how far fires are planned.
	ahead = 30 * time.Second
	// maxFindings is how many of the newest findings are kept.
	maxFindings = 1000
)

// Job is a started job as the admin's table has it.
type Job struct {
	ID      int64
	Spec    jobspec.Schedule
	Next    time.Time // when it is due next, as the admin has written
	Retries int       // runs with fewer left are retries
}

// Run is a run that was made, by the clock or otherwise.
type Run struct {
	ID      int64
	JobID   int64
	At      time.Time // in whole seconds
	Retries int       // left
	Shard   int       // of a broadcast, from 0; 0 of any other run
}

// Kind is what became of a planned fire, or what a run was that no fire explains.
type Kind string

const (
	Late    Kind = "late"    // run, but later than [OnTime]
	Missed  Kind = "missed"  // never run
	Doubled Kind = "doubled" // run once more within [OnTime] of a fire that was run already, without being a retry
)

// Finding is a fire that the admin did not keep.
type Finding struct {
	JobID   int64         `json:"job"`
	Planned time.Time     `json:"planned"`
	Kind    Kind          `json:"kind"`
	Late    time.Duration `json:"lateNs,omitempty"`
	RunID   int64         `json:"run,omitempty"`
}

// Tally counts fires.
type Tally struct {
	Planned int64         `json:"planned"`
	OnTime  int64         `json:"onTime"`
	Late    int64         `json:"late"`
	Missed  int64         `json:"missed"`
	Doubled int64         `json:"doubled"`
	Other   int64         `json:"other"`   // runs that no fire explains: by hand, by another job, by a program, or retries
	Worst   time.Duration `json:"worstNs"` // the latest that came
}

func (t *Tally) add(u Tally) {
	t.Planned += u.Planned
	t.OnTime += u.OnTime
	t.Late += u.Late
	t.Missed += u.Missed
	t.Doubled += u.Doubled
	t.Other += u.Other
	t.Worst = max(t.Worst, u.Worst)
}

// Kept reports that every planned fire was run once and on time.
func (t Tally) Kept() bool { return t.Late == 0 && t.Missed == 0 && t.Doubled == 0 }

// Watch holds what is planned, what was made, and what was found so far.
type Watch struct {
	Total    Tally
	Jobs     map[int64]Tally
	Findings []Finding       // the newest [maxFindings], oldest first
	Unread   map[int64]error // jobs whose times cannot be computed

	plans map[int64]*plan
	seen  map[int64]time.Time // runs, by id, with their time
}

// plan is one job with its fires that are not settled.
type plan struct {
	job    Job
	err    error       // why its times cannot be computed
	looked time.Time   // when it was last seen to be as it is
	since  time.Time   // runs before this one that are no fire's are nobody's business
	next   time.Time   // the first fire that is not among these; zero: none
	fires  []time.Time // ascending
	last   time.Time   // the last fire that was settled
	runs   []Run
}

// NewWatch starts with nothing seen.
func NewWatch() *Watch {
	return &Watch{Jobs: make(map[int64]Tally), Unread: make(map[int64]error), plans: make(map[int64]*plan), seen: make(map[int64]time.Time)}
}

// See takes all started jobs as they are now, and plans their fires. What was planned of a job that is not as it was, for after the
// last look at it, is forgotten: nobody knows when it was changed.
func (w *Watch) See(jobs []Job, now time.Time) {
	present := make(map[int64]bool, len(jobs))
	for _, j := range jobs {
		present[j.ID] = true
		p := w.plans[j.ID]
		switch {
		case p == nil:
			p = new(plan)
			w.plans[j.ID] = p
			p.begin(j, now)
		case p.job.Spec != j.Spec || p.job.Retries != j.Retries || p.stopped() || p.restarted(j.Next):
			p.forget(p.looked)
			p.begin(j, now)
		}
		p.job, p.looked = j, now
		p.extend(now.Add(ahead))
		if p.err != nil {
			w.Unread[j.ID] = p.err
		} else {
			delete(w.Unread, j.ID)
		}
	}
	for id, p := range w.plans {
		if !present[id] && !p.stopped() {
			p.forget(p.looked)
			p.next, p.job.Next = time.Time{}, time.Time{}
		}
	}
}

// begin judges a job from its next fire on.
func (p *plan) begin(j Job, now time.Time) {
	p.next, p.err = j.Spec.From(j.Next, now)
	p.since = p.next
}

// stopped reports that the job was not among the started ones at the last look.
func (p *plan) stopped() bool { return p.job.Next.IsZero() }

// restarted reports that a fixed rate has another phase than it had, as after its job or its admin was started anew.
func (p *plan) restarted(next time.Time) bool {
	if p.job.Spec.Type != jobspec.ScheduleFixRate || p.next.IsZero() {
		return false
	}
	every, err := jobspec.Interval(p.job.Spec.Conf)
	return err == nil && next.Sub(p.next)%every != 0
}

// forget drops the fires after a moment.
func (p *plan) forget(after time.Time) {
	p.fires = slices.DeleteFunc(p.fires, func(at time.Time) bool { return at.After(after) })
}

func (p *plan) extend(until time.Time) {
	for p.err == nil && !p.next.IsZero() && !p.next.After(until) {
		p.fires = append(p.fires, p.next)
		p.next, p.err = p.job.Spec.Next(p.next)
	}
}

// Made takes runs that were made; one that was seen already is passed over. Runs of jobs that are not watched are not kept.
func (w *Watch) Made(runs []Run) {
	for _, r := range runs {
		if _, known := w.seen[r.ID]; known {
			continue
		}
		w.seen[r.ID] = r.At
		if p := w.plans[r.JobID]; p != nil && r.Shard == 0 {
			p.runs = append(p.runs, r)
		}
	}
}

// Settle judges the fires whose patience is over.
func (w *Watch) Settle(now time.Time) {
	until := now.Add(-Patience)
	for id, p := range w.plans {
		t, findings := p.settle(until)
		if t != (Tally{}) {
			w.Total.add(t)
			all := w.Jobs[id]
			all.add(t)
			w.Jobs[id] = all
		}
		w.Findings = append(w.Findings, findings...)
		if p.stopped() && len(p.fires) == 0 && len(p.runs) == 0 {
			delete(w.plans, id)
		}
	}
	slices.SortStableFunc(w.Findings, func(a, b Finding) int { return a.Planned.Compare(b.Planned) })
	if n := len(w.Findings) - maxFindings; n > 0 {
		w.Findings = slices.Delete(w.Findings, 0, n)
	}
	for id, at := range w.seen {
		if at.Before(until.Add(-2 * Patience)) {
			delete(w.seen, id)
		}
	}
}

// Open counts the fires before a moment that are not judged yet, because their runs may still come.
func (w *Watch) Open(until time.Time) (n int64) {
	for _, p := range w.plans {
		due, _ := slices.BinarySearchFunc(p.fires, until, time.Time.Compare)
		n += int64(due)
	}
	return n
}

// settle judges the fires before a moment.
func (p *plan) settle(until time.Time) (t Tally, findings []Finding) {
	slices.SortFunc(p.runs, func(a, b Run) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return int(a.ID - b.ID)
	})
	n, _ := slices.BinarySearchFunc(p.fires, until, time.Time.Compare)
	due := p.fires[:n]
	of := p.match()
	for i, at := range due {
		t.Planned++
		run := of[i]
		if run < 0 {
			t.Missed++
			findings = append(findings, Finding{JobID: p.job.ID, Planned: at, Kind: Missed})
			continue
		}
		late := max(p.runs[run].At.Sub(at), 0)
		if t.Worst = max(t.Worst, late); late <= OnTime {
			t.OnTime++
			continue
		}
		t.Late++
		findings = append(findings, Finding{JobID: p.job.ID, Planned: at, Kind: Late, Late: late, RunID: p.runs[run].ID})
	}
	rest := p.rest(of, due, until, &t, &findings)
	if n > 0 {
		p.last = due[n-1]
	}
	p.fires, p.runs = slices.Clone(p.fires[n:]), rest
	return t, findings
}

// match gives each fire its run; -1 where it has none. Fires take the runs that are on time, and then every run that is left goes to
// the last fire before it that has none: an earlier one was dropped rather than that late.
func (p *plan) match() []int {
	of, taken := make([]int, len(p.fires)), make([]bool, len(p.runs))
	from := 0
	for i, at := range p.fires {
		of[i] = -1
		for ; from < len(p.runs) && p.runs[from].At.Before(at.Truncate(time.Second)); from++ {
		}
		for r := from; r < len(p.runs) && p.runs[r].At.Sub(at) <= OnTime; r++ {
			if !taken[r] && p.runs[r].Retries >= p.job.Retries {
				of[i], taken[r] = r, true
				break
			}
		}
	}
	for r, run := range p.runs {
		if taken[r] || run.Retries < p.job.Retries {
			continue
		}
		after, _ := slices.BinarySearchFunc(p.fires, run.At, func(at, run time.Time) int {
			return cmp.Or(at.Truncate(time.Second).Compare(run), -1)
		})
		for i := after - 1; i >= 0 && run.At.Sub(p.fires[i]) <= Patience; i-- {
			if of[i] < 0 {
				of[i] = r
				break
			}
		}
	}
	return of
}

// rest counts the runs before a moment that no fire explains, and returns those that may still belong to a fire.
func (p *plan) rest(of []int, due []time.Time, until time.Time, t *Tally, findings *[]Finding) (rest []Run) {
	fire := make(map[int]int) // of a run that is a fire's
	for i, r := range of {
		if r >= 0 {
			fire[r] = i
		}
	}
	for r, run := range p.runs {
		i, matched := fire[r]
		switch {
		case matched && i < len(due): // judged
		case matched || !run.At.Before(until):
			rest = append(rest, run)
		case run.At.Before(p.since.Truncate(time.Second)): // of a fire before anybody looked
		default:
			if at, double := p.doubles(run, due); double {
				t.Doubled++
				*findings = append(*findings, Finding{JobID: p.job.ID, Planned: at, Kind: Doubled, RunID: run.ID})
				continue
			}
			t.Other++
		}
	}
	return rest
}

// doubles reports that a run stands beside one of a fire that has its own.
func (p *plan) doubles(run Run, due []time.Time) (time.Time, bool) {
	if run.Retries < p.job.Retries {
		return time.Time{}, false
	}
	for _, at := range append([]time.Time{p.last}, due...) {
		if late := run.At.Sub(at.Truncate(time.Second)); late >= 0 && late <= OnTime {
			return at, true
		}
	}
	return time.Time{}, false
}
