package sqlite

import "sync"

// kind is what a statement does, as far as locks, ids and counts care.
type kind uint8

const (
	kindOther        kind = iota // DDL, PRAGMA … : the writer pool when executed
	kindRead                     // SELECT, EXPLAIN, PRAGMA as a query, VALUES, WITH … SELECT
	kindInsert                   // plain INSERT and REPLACE
	kindInsertIgnore             //
	kindUpsert                   // INSERT … ON DUPLICATE KEY UPDATE
	kindChange                   // UPDATE, DELETE
)

// plan is a statement as SQLite gets it.
type plan struct {
	text string
	kind kind
}

// planCache remembers rewritten statements. A program has a few hundred; batch statements, of which there are hundreds of
// sizes, are long and not worth remembering: reading one is a thousandth of running it.
type planCache struct {
	mu    sync.RWMutex
	plans map[string]*plan
}

const (
	maxPlans    = 1024
	maxPlanText = 8 << 10
)

func (c *planCache) get(query string) (*plan, error) {
	if len(query) > maxPlanText {
		return newPlan(query)
	}
	c.mu.RLock()
	p := c.plans[query]
	c.mu.RUnlock()
	if p != nil {
		return p, nil
	}
	p, err := newPlan(query)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plans == nil || len(c.plans) >= maxPlans {
		// Full only if somebody builds statements without end; starting afresh keeps the rest simple.
		c.plans = make(map[string]*plan)
	}
	c.plans[query] = p
	return p, nil
}
