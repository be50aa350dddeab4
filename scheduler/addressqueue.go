package scheduler

import (
	"slices"
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// addressQueues queue runs by executor address. Each address has a bound on calls at a time, and inside it each job has one on its runs, and
// waiting jobs take turns: so a slow address delays only its own runs, and a slow job at an address only itself. This is
// what upstream's fast and slow pools are for (docs/compat.md §4.5), decided by where a run goes instead of by its past.
//
// Runs that may share a call go at once while few such calls are under way. Then they wait for others, until there is a call's worth of
// them or one of those calls ends: a run that comes alone waits for nobody. Runs that come together go in as few calls as they fill, and the
// last of them with those before it. A job that has as many runs as it may is none that others would share a call with.
type addressQueues struct {
	perAddress, perJob int
	run                func(*addressQueue, []*dispatch) // sends runs in one call, beside other calls
	share              func(*dispatch) int              // how many bytes a run takes of a call that it may share; 0: it has one of its own
	low                int                              // when only so many wait for an address, drained is called; it must not come back here
	drained            func()
	hangAfter          time.Duration // how long a shared call counts as one that others wait for

	mu      sync.Mutex
	byAddr  map[string]*addressQueue
	queued  int
	stopped bool
	gather  bool            // runs come together: they go when they fill a call, or all are here
	coming  []*addressQueue // where some of them wait for that
	sends   *crew[*call]    // calls under way; begun under mu and only while not stopped
}

const (
	// sharedAhead is how many shared calls are under way before runs wait for each other.
	sharedAhead = 4
	// sharedFor is how long a call counts as one that others wait for. Then it hangs.
	sharedFor = 200 * time.Millisecond
	// sharedRuns bounds the runs of an address that shared calls are under way for.
	sharedRuns = 10 * wire.MaxRuns
	// sharedBytes bounds the body of a shared call.
	sharedBytes = 47 << 10
)

// addressQueue is one address's queue. Its fields are guarded by addressQueues.mu.
type addressQueue struct {
	address  string
	calls    int // under way
	shared   int // of these, such that others wait for
	inFlight int // runs
	queued   int
	turn     int  // of these, those of jobs that are in ready
	whole    int  // of these, such that wait for no others
	filled   bool // with a call's worth of those that come together
	jobs     map[int64]*jobQueue
	ready    []*jobQueue // jobs with something queued and below their bound, in turn
}

// jobQueue is one job's runs at one address.
type jobQueue struct {
	waiting  []*dispatch
	inFlight int
	turn     int  // how many of those that wait count in the address's turn
	listed   bool // stands in ready
}

func newAddressQueues(perAddress, perJob int, run func(*addressQueue, []*dispatch), share func(*dispatch) int) *addressQueues {
	l := &addressQueues{perAddress: perAddress, perJob: perJob, run: run, share: share, byAddr: make(map[string]*addressQueue), drained: func() {}, hangAfter: sharedFor}
	l.sends = newCrew(l.work)
	return l
}

// add queues a run for the address. It reports false when they are stopped or limit runs wait for the address already:
// one that takes nothing must not use up the room of the others.
func (l *addressQueues) add(address string, d *dispatch, limit int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	aq := l.byAddr[address]
	if l.stopped || aq != nil && aq.queued >= limit {
		return false
	}
	if aq == nil {
		aq = &addressQueue{address: address, jobs: make(map[int64]*jobQueue)}
		l.byAddr[address] = aq
	}
	q := aq.jobs[d.job.id]
	if q == nil {
		q = &jobQueue{}
		aq.jobs[d.job.id] = q
	}
	q.waiting = append(q.waiting, d)
	aq.queued++
	l.queued++
	l.list(aq, q)
	if l.gather && l.share(d) > 0 {
		if n := len(l.coming); n == 0 || l.coming[n-1] != aq {
			l.coming = append(l.coming, aq)
		}
		if aq.turn < wire.MaxRuns {
			return true
		}
		aq.filled = true
	}
	l.pump(aq)
	return true
}

// together adds the runs that add does as such that come together.
func (l *addressQueues) together(add func()) {
	l.mu.Lock()
	l.gather = true
	l.mu.Unlock()
	add()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gather = false
	for _, aq := range l.coming {
		if aq.filled {
			aq.filled, aq.whole = false, aq.turn
		}
		l.pump(aq)
	}
	l.coming = nil
}

// list puts a job in its address's turn when it may send, and counts its runs there.
func (l *addressQueues) list(aq *addressQueue, q *jobQueue) {
	turn := 0
	if q.inFlight < l.perJob {
		turn = len(q.waiting)
	}
	aq.turn += turn - q.turn
	aq.whole = min(aq.whole, aq.turn)
	q.turn = turn
	if !q.listed && turn > 0 {
		q.listed = true
		aq.ready = append(aq.ready, q)
	}
}

// pump starts as many calls as the bounds allow.
func (l *addressQueues) pump(aq *addressQueue) {
	for !l.stopped && aq.calls < l.perAddress && len(aq.ready) > 0 {
		size := l.share(aq.next())
		if size > 0 && (aq.inFlight >= sharedRuns || (l.gather || aq.shared >= sharedAhead) && aq.turn < wire.MaxRuns && aq.whole == 0) {
			return
		}
		c := &call{aq: aq}
		for aq.calls++; ; {
			l.take(c)
			if size == 0 || len(c.runs) == wire.MaxRuns || len(aq.ready) == 0 || aq.next().job.group != c.runs[0].job.group {
				break
			}
			more := l.share(aq.next())
			if size += more; more == 0 || size > sharedBytes {
				break
			}
		}
		if size > 0 {
			aq.shared++
			c.waited = time.AfterFunc(l.hangAfter, func() { l.hangs(c) })
		}
		l.sends.start(c)
	}
}

// call is a call that is under way. Its fields are guarded by addressQueues.mu but for runs, which do not change.
type call struct {
	aq     *addressQueue
	jobs   []*jobQueue // of its runs, in their order
	runs   []*dispatch
	waited *time.Timer // ends others' waiting for it; nil: none waits
}

// next is the run whose turn it is.
func (aq *addressQueue) next() *dispatch { return aq.ready[0].waiting[0] }

// take has the next run go with a call.
func (l *addressQueues) take(c *call) {
	aq := c.aq
	q := aq.ready[0]
	aq.ready[0] = nil
	aq.ready = aq.ready[1:]
	q.listed = false
	c.jobs, c.runs = append(c.jobs, q), append(c.runs, q.waiting[0])
	q.waiting[0] = nil
	q.waiting = q.waiting[1:]
	l.waitsNoMore(aq)
	aq.whole = max(0, aq.whole-1)
	aq.inFlight++
	q.inFlight++
	l.list(aq, q)
}

// waitsNoMore counts one run less that waits for an address.
func (l *addressQueues) waitsNoMore(aq *addressQueue) {
	l.queued--
	if aq.queued--; aq.queued == l.low {
		l.drained()
	}
}

// hangs lets no others wait for a call any more.
func (l *addressQueues) hangs(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waitNoMore(c)
	l.pump(c.aq)
}

func (l *addressQueues) waitNoMore(c *call) {
	if c.waited != nil {
		c.waited.Stop()
		c.waited = nil
		c.aq.shared--
	}
}

func (l *addressQueues) work(c *call) {
	l.run(c.aq, c.runs)
	l.mu.Lock()
	defer l.mu.Unlock()
	aq := c.aq
	aq.calls--
	l.waitNoMore(c)
	for i, q := range c.jobs {
		aq.inFlight--
		q.inFlight--
		if q.inFlight == 0 && len(q.waiting) == 0 {
			delete(aq.jobs, c.runs[i].job.id)
		}
		l.list(aq, q)
	}
	l.pump(aq)
	l.forget(aq)
}

// forget drops the queue of an address for which nothing waits and nothing is under way.
func (l *addressQueues) forget(aq *addressQueue) {
	if aq.calls == 0 && aq.queued == 0 && l.byAddr[aq.address] == aq {
		delete(l.byAddr, aq.address)
	}
}

// remove takes a run that has not begun to be sent out of its queue; nil when it is not here.
func (l *addressQueues) remove(id int64) *dispatch {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, aq := range l.byAddr {
		for jobID, q := range aq.jobs {
			i := slices.IndexFunc(q.waiting, func(d *dispatch) bool { return d.id == id })
			if i < 0 {
				continue
			}
			d := q.waiting[i]
			q.waiting = slices.Delete(q.waiting, i, i+1)
			l.waitsNoMore(aq)
			l.list(aq, q)
			if len(q.waiting) == 0 && q.listed {
				q.listed = false
				aq.ready = slices.DeleteFunc(aq.ready, func(other *jobQueue) bool { return other == q })
			}
			if len(q.waiting) == 0 && q.inFlight == 0 {
				delete(aq.jobs, jobID)
			}
			l.forget(aq)
			return d
		}
	}
	return nil
}

// clear drops what is queued; the runs stay in the database.
func (l *addressQueues) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, aq := range l.byAddr {
		l.queued -= aq.queued
		aq.queued, aq.turn, aq.whole = 0, 0, 0
		aq.ready = nil
		for id, q := range aq.jobs {
			q.waiting, q.turn, q.listed = nil, 0, false
			if q.inFlight == 0 {
				delete(aq.jobs, id)
			}
		}
		l.forget(aq)
	}
}

// stop lets nothing more start.
func (l *addressQueues) stop() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.clear()
}

// wait waits, after stop, for what is being sent.
func (l *addressQueues) wait() { l.sends.wait() }

// resume undoes stop, for an engine that is started again.
func (l *addressQueues) resume() {
	l.mu.Lock()
	l.stopped = false
	l.mu.Unlock()
}

// load is how many runs wait for, and are being sent to, an address.
func (l *addressQueues) load(address string) (queued, inFlight int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if aq := l.byAddr[address]; aq != nil {
		return aq.queued, aq.inFlight
	}
	return 0, 0
}

func (l *addressQueues) depth() (queued, inFlight int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, aq := range l.byAddr {
		inFlight += aq.inFlight
	}
	return l.queued, inFlight
}
