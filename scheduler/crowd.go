package scheduler

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
)

// Where more is due than executors take, or this machine can send, the runs that wait would be more with every second. So of a group whose
// executors all have enough waiting nothing more is claimed until they have not: what is due stays due, the oldest first, for another admin
// or for the jobs' misfire strategies. Other groups do not notice.

// crowd knows the groups of which nothing is claimed for now.
type crowd struct {
	e *Engine

	mu    sync.Mutex
	since map[int64]time.Time // groups that are held back, and since when
}

func newCrowd(e *Engine) *crowd { return &crowd{e: e, since: make(map[int64]time.Time)} }

// crowdedAt is how many runs wait for an executor from which on it has enough. What is claimed already comes to them.
func (e *Engine) crowdedAt() int { return max(1, e.cfg.MaxWaiting/10) }

// full reports whether all executors of a group have enough waiting, and notes it.
func (c *crowd) full(group int64) bool {
	full := c.e.crowded(group)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, was := c.since[group]; full && !was {
		c.since[group] = c.e.now()
	} else if !full && was {
		delete(c.since, group)
	}
	return full
}

// crowded looks at the queues of a group's executors.
func (e *Engine) crowded(group int64) bool {
	enough := e.crowdedAt()
	if queued, _ := e.queues.depth(); queued < enough {
		return false
	}
	if asking, _ := e.queues.load(probeQueue(group)); asking >= enough {
		return true
	}
	g := e.directory.get(group)
	if g == nil {
		return false
	}
	addresses := e.directory.usable(g, g.addresses)
	waiting := 0
	for _, a := range addresses {
		queued, _ := e.queues.load(string(g.place(a)))
		waiting += queued
	}
	return len(addresses) > 0 && waiting >= enough*len(addresses)
}

// held are the groups that are held back still.
func (c *crowd) held() []int64 {
	c.mu.Lock()
	groups := slices.Collect(maps.Keys(c.since))
	c.mu.Unlock()
	groups = slices.DeleteFunc(groups, func(id int64) bool { return !c.full(id) })
	slices.Sort(groups)
	return groups
}

// without leaves out the jobs of groups that are held back.
func (c *crowd) without(rows []db.ListDueJobsRow) []db.ListDueJobsRow {
	full := make(map[int64]bool, 1)
	return slices.DeleteFunc(rows, func(r db.ListDueJobsRow) bool {
		is, known := full[r.JobGroup]
		if !known {
			is = c.full(r.JobGroup)
			full[r.JobGroup] = is
		}
		return is
	})
}

// drained has what was held back claimed, now that one address has little waiting.
func (c *crowd) drained() {
	if groups, _ := c.waiting(); groups > 0 {
		c.e.claimSoon()
	}
}

// waiting is how many groups are held back, and since when the first of them.
func (c *crowd) waiting() (groups int, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.since {
		if since.IsZero() || at.Before(since) {
			since = at
		}
	}
	return len(c.since), since
}
