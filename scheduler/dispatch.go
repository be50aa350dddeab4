package scheduler

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// job is what sending a run needs to know of its job, as it was when the run was claimed.
type job struct {
	id, group      int64
	handler, param string
	route          jobspec.Route
	misfire        jobspec.Misfire
	block          wire.Block
	timeoutSeconds int
	retries        int64
	glue           wire.Glue
	glueUpdated    int64  // epoch ms
	backoff        string // how long retries wait, see package backoff
	again          bool   // a lost run is run once more, see again.go
	delayed        bool   // FIX_DELAY: its next time hangs on the end of this run
	parent         bool   // a success starts other jobs
	limit          int    // runs at a time in the cluster; 0: no limit
	line           int64  // in which its runs wait for the limit of its group; lower ones are first
	policy         jobspec.Concurrency
	apart          bool   // a trial: it counts for no limit
	zone           string // "" for the installation's
	keep           jobspec.Keep
}

// dispatch is one run between its commit and the record of its sending.
type dispatch struct {
	id      int64
	fresh   bool  // its row was inserted by the transaction under way and is not counted yet
	owner   int64 // the node id it was claimed under; a node that rejoined must not send it
	job     *job
	planned time.Time
	due     time.Time // the time of the schedule that it is for: what its parameter and its program mean by planned
	at      time.Time // when the timer lets it go: planned, or later when it had to be put back
	claimed time.Time // when this admin made the run; zero for one that was taken over
	trigger jobspec.TriggerType
	param   string
	retries int64
	again   extra    // the retry it has left is one that its job's retries do not give it
	avoid   []string // executors that refused it because they shut down
	origin  int64
	step    int64      // the step of a flow that it carries out, see flows.go; 0: none
	of      *flowStart // that step, until the run is inserted
	user    string     // who triggered it by hand

	address    string   // chosen, or planned ahead
	given      []string // addresses given by hand for this run; nil: the group's
	pinned     bool     // address must not be chosen anew: a shard, or given by hand
	shard      wireShard
	events     event.List // what happened to it, as far as this node knows
	stored     string     // the address that its row was inserted with
	told       int        // how many of the events are in its row
	held       bool       // put back because the node might not act
	waited     bool       // for a slot
	short      bool       // put back because this machine could call nobody
	fired      time.Time  // when the timer let it go
	dead       time.Time  // since when nobody listens at the address that a broadcast passes over: it is not sent
	unanswered time.Time  // when it was sent, if that brought no answer and it is not settled; see unanswered.go
	called     time.Time  // when it was sent first, if that brought no answer
	recheck    bool       // a retry: the run it repeats may have succeeded when it leaves
	taken      bool       // taken over from a node that is gone: it may have been sent already
	read       bool       // made of its row, whose group its job may have left since
	waiting    bool       // must be given a slot before it is sent
	noted      int        // pendingSet's: the era in which it was noted there; 0: it is not
}

// wireShard is a broadcast's slice; Total is 1 when not broadcasting.
type wireShard struct{ Index, Total int }

// pendingSet holds the ids of this node's runs that are committed and not yet recorded, and the transactions under way
// that make more, so that the node can tell the cluster below which id nothing of it is open. A run may be in several
// dispatches: one that waits for a slot is tried when its time comes and when a slot is given back. It is done when all are.
type pendingSet struct {
	mu      sync.Mutex
	runs    map[int64]int    // in how many dispatches a run is
	era     int              // raised when all is forgotten: what is noted since is not what was noted before
	kills   map[int64]string // of these, the ones that somebody wants ended, and who
	marked  atomic.Int64     // how many these are, for a look without the lock
	top     int64            // the highest id this node has inserted
	under   map[int64]int64  // transactions under way, by number: a number that all their ids are above
	last    int64            // number of the newest transaction
	inDoubt []int64          // as under's values, of transactions that may have been committed or not
}

func (p *pendingSet) init() {
	p.runs, p.kills, p.under = make(map[int64]int), make(map[int64]string), make(map[int64]int64)
	p.era = 1
}

// raise notes that there are runs up to an id already, so that whatever this node inserts lies above it.
func (p *pendingSet) raise(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.top = max(p.top, id)
}

// highest is the highest id of a run that this node has seen.
func (p *pendingSet) highest() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.top
}

// begin notes a transaction and gives its number. Its runs have ids above floor, and new ones ids above top anyway.
func (p *pendingSet) begin(floor int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	p.under[p.last] = min(p.top, floor)
	return p.last
}

// commit ends a transaction with the runs that it made this node's; none after a roll-back.
func (p *pendingSet) commit(tx int64, runs []*dispatch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.under, tx)
	p.note(runs...)
}

// leaveInDoubt ends a transaction of which nobody knows whether it was committed. [Engine.sweepInDoubt] finds out.
func (p *pendingSet) leaveInDoubt(tx int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inDoubt = append(p.inDoubt, p.under[tx])
	delete(p.under, tx)
}

// add notes a run that this node makes its own.
func (p *pendingSet) add(d *dispatch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(d)
}

func (p *pendingSet) note(runs ...*dispatch) {
	for _, d := range runs {
		if d.noted != p.era {
			d.noted = p.era
			p.runs[d.id]++
		}
		p.top = max(p.top, d.id)
	}
}

// leaveRunInDoubt ends a dispatch of a run that may have become this node's own, or not.
func (p *pendingSet) leaveRunInDoubt(d *dispatch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(d)
	p.inDoubt = append(p.inDoubt, d.id-1)
}

// done ends a dispatch: what became of the run is recorded, or it waits in the database, or it is another node's.
func (p *pendingSet) done(d *dispatch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(d)
}

func (p *pendingSet) drop(d *dispatch) {
	if d.noted != p.era {
		return
	}
	d.noted = 0
	if p.runs[d.id]--; p.runs[d.id] > 0 {
		return
	}
	delete(p.runs, d.id)
	if _, ok := p.kills[d.id]; ok {
		delete(p.kills, d.id)
		p.marked.Add(-1)
	}
}

// kill marks a run as to be ended. It reports false when the run is not this node's.
func (p *pendingSet) kill(id int64, user string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.runs[id]; !ok {
		return false
	}
	if _, ok := p.kills[id]; !ok {
		p.kills[id] = user
		p.marked.Add(1)
	}
	return true
}

// killed tells who wants a run ended, if anybody does.
func (p *pendingSet) killed(id int64) (user string, ok bool) {
	if p.marked.Load() == 0 {
		return "", false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	user, ok = p.kills[id]
	return user, ok
}

func (p *pendingSet) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.runs) + len(p.under)
}

// clear forgets the runs and the commits in doubt. Transactions under way stay: they end by themselves.
func (p *pendingSet) clear() {
	p.mu.Lock()
	p.era++
	clear(p.runs)
	clear(p.kills)
	p.marked.Store(0)
	p.inDoubt = nil
	p.mu.Unlock()
}

// low is an id below which no run of this node is unsent.
func (p *pendingSet) low() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	low := p.top
	for id := range p.runs {
		low = min(low, id)
	}
	for _, floor := range p.under {
		low = min(low, floor)
	}
	for _, floor := range p.inDoubt {
		low = min(low, floor)
	}
	return low
}
