package scheduler

import (
	"slices"
	"sync"
)

// lanes queue runs by executor address. Each address has a bound on calls at a time, and inside it each job has one, and
// waiting jobs take turns: so a slow address delays only its own runs, and a slow job at an address only itself. This is
// what upstream's fast and slow pools are for (docs/compat.md §4.5), decided by where a run goes instead of by its past.
type lanes struct {
	perAddress, perJob int
	run                func(*lane, *dispatch) // sends one run; called in a goroutine of its own

	mu      sync.Mutex
	byAddr  map[string]*lane
	queued  int
	stopped bool
	sends   sync.WaitGroup // runs being sent; grows under mu and only while not stopped
}

// lane is one address's queue. Its fields are guarded by lanes.mu.
type lane struct {
	address  string
	inFlight int
	queued   int
	jobs     map[int64]*jobQueue
	ready    []*jobQueue // jobs with something queued and below their bound, in turn
}

// jobQueue is one job's runs at one address.
type jobQueue struct {
	waiting  []*dispatch
	inFlight int
	listed   bool // stands in ready
}

func newLanes(perAddress, perJob int, run func(*lane, *dispatch)) *lanes {
	return &lanes{perAddress: perAddress, perJob: perJob, run: run, byAddr: make(map[string]*lane)}
}

// add queues a run for the address. It reports false when the lanes are stopped or limit runs wait for the address already:
// one that takes nothing must not use up the room of the others.
func (l *lanes) add(address string, d *dispatch, limit int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.byAddr[address]
	if l.stopped || ln != nil && ln.queued >= limit {
		return false
	}
	if ln == nil {
		ln = &lane{address: address, jobs: make(map[int64]*jobQueue)}
		l.byAddr[address] = ln
	}
	q := ln.jobs[d.job.id]
	if q == nil {
		q = &jobQueue{}
		ln.jobs[d.job.id] = q
	}
	q.waiting = append(q.waiting, d)
	ln.queued++
	l.queued++
	l.list(ln, q)
	l.pump(ln)
	return true
}

// list puts a job in its lane's turn when it may send.
func (l *lanes) list(ln *lane, q *jobQueue) {
	if !q.listed && len(q.waiting) > 0 && q.inFlight < l.perJob {
		q.listed = true
		ln.ready = append(ln.ready, q)
	}
}

// pump starts as many sends as the bounds allow.
func (l *lanes) pump(ln *lane) {
	for !l.stopped && ln.inFlight < l.perAddress && len(ln.ready) > 0 {
		q := ln.ready[0]
		ln.ready[0] = nil
		ln.ready = ln.ready[1:]
		q.listed = false
		d := q.waiting[0]
		q.waiting[0] = nil
		q.waiting = q.waiting[1:]
		ln.queued--
		l.queued--
		ln.inFlight++
		q.inFlight++
		l.list(ln, q)
		l.sends.Go(func() { l.work(ln, q, d) })
	}
}

func (l *lanes) work(ln *lane, q *jobQueue, d *dispatch) {
	l.run(ln, d)
	l.mu.Lock()
	defer l.mu.Unlock()
	ln.inFlight--
	q.inFlight--
	if q.inFlight == 0 && len(q.waiting) == 0 {
		delete(ln.jobs, d.job.id)
	}
	l.list(ln, q)
	l.pump(ln)
	if ln.inFlight == 0 && ln.queued == 0 && l.byAddr[ln.address] == ln {
		delete(l.byAddr, ln.address)
	}
}

// remove takes a run that has not begun to be sent out of its queue; nil when it is not here.
func (l *lanes) remove(id int64) *dispatch {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ln := range l.byAddr {
		for jobID, q := range ln.jobs {
			i := slices.IndexFunc(q.waiting, func(d *dispatch) bool { return d.id == id })
			if i < 0 {
				continue
			}
			d := q.waiting[i]
			q.waiting = slices.Delete(q.waiting, i, i+1)
			ln.queued--
			l.queued--
			if len(q.waiting) == 0 && q.listed {
				q.listed = false
				ln.ready = slices.DeleteFunc(ln.ready, func(other *jobQueue) bool { return other == q })
			}
			if len(q.waiting) == 0 && q.inFlight == 0 {
				delete(ln.jobs, jobID)
			}
			return d
		}
	}
	return nil
}

// clear drops what is queued; the runs stay in the database.
func (l *lanes) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ln := range l.byAddr {
		l.queued -= ln.queued
		ln.queued = 0
		ln.ready = nil
		for id, q := range ln.jobs {
			q.waiting, q.listed = nil, false
			if q.inFlight == 0 {
				delete(ln.jobs, id)
			}
		}
	}
}

// stop lets nothing more start.
func (l *lanes) stop() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.clear()
}

// wait waits, after stop, for what is being sent.
func (l *lanes) wait() { l.sends.Wait() }

// resume undoes stop, for an engine that is started again.
func (l *lanes) resume() {
	l.mu.Lock()
	l.stopped = false
	l.mu.Unlock()
}

// load is how many runs wait for, and are being sent to, an address.
func (l *lanes) load(address string) (queued, inFlight int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ln := l.byAddr[address]; ln != nil {
		return ln.queued, ln.inFlight
	}
	return 0, 0
}

func (l *lanes) depth() (queued, inFlight int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ln := range l.byAddr {
		inFlight += ln.inFlight
	}
	return l.queued, inFlight
}
