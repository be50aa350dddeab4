package scheduler

import (
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
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
	glueUpdated    int64 // epoch ms
	children       string
}

// dispatch is one run between its commit and the record of its sending.
type dispatch struct {
	id      int64
	owner   int64 // the node id it was claimed under; a node that rejoined must not send it
	job     *job
	planned time.Time
	at      time.Time // when the timer lets it go: planned, or later when it had to be put back
	trigger jobspec.TriggerType
	param   string
	retries int64
	origin  int64
	user    string // who triggered it by hand

	address string   // chosen, or planned ahead
	given   []string // addresses given by hand for this run; nil: the group's
	pinned  bool     // address must not be chosen anew: a shard, or given by hand
	shard   wireShard
	late    string // why it is late, when it is
	taken   bool   // taken over from a node that is gone: it may have been sent already
	probes  []string
}

// wireShard is a broadcast's slice; Total is 1 when not broadcasting.
type wireShard struct{ Index, Total int }

// pendingSet holds the ids of this node's runs that are committed and not yet recorded, and the floor of claims under
// way, so that the node can tell the cluster below which id nothing of it is open.
type pendingSet struct {
	mu     sync.Mutex
	runs   map[int64]struct{}
	claims int   // transactions under way, whose ids are not known yet
	top    int64 // the highest id this node has inserted
}

func (p *pendingSet) begin() {
	p.mu.Lock()
	p.claims++
	p.mu.Unlock()
}

// commit ends a begin with the ids that were inserted; none after a roll-back.
func (p *pendingSet) commit(ids []int64) {
	p.mu.Lock()
	p.claims--
	for _, id := range ids {
		p.runs[id] = struct{}{}
		p.top = max(p.top, id)
	}
	p.mu.Unlock()
}

func (p *pendingSet) done(id int64) {
	p.mu.Lock()
	delete(p.runs, id)
	p.mu.Unlock()
}

func (p *pendingSet) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.runs) + p.claims
}

func (p *pendingSet) clear() {
	p.mu.Lock()
	clear(p.runs)
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
	return low
}
