package route

import "math/rand/v2"

// usage is what one job has used: counts for LEAST_FREQUENTLY_USED, order for LEAST_RECENTLY_USED.
type usage struct {
	counts map[string]int
	order  []string // eldest first
}

func (t *Table) usageOf(jobID int64) *usage {
	u := t.used[jobID]
	if u == nil {
		u = &usage{counts: make(map[string]int)}
		t.used[jobID] = u
	}
	return u
}

// leastFrequent gives the address that was used least. A new one starts at a random count below the number of addresses, as upstream has
// it: not every job begins with the same, and beside others that were used for long it gets the runs until it has caught up. Ties go to the
// first in order.
func (t *Table) leastFrequent(jobID int64, addresses []string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.usageOf(jobID)
	known := make(map[string]int, len(addresses))
	best := ""
	for _, a := range addresses {
		n, ok := u.counts[a]
		if !ok || n > 1_000_000 {
			n = rand.IntN(len(addresses))
		}
		known[a] = n
		if best == "" || n < known[best] {
			best = a
		}
	}
	known[best]++
	u.counts = known
	return best
}

// leastRecent gives the address whose last use is longest ago; new ones queue behind the known.
func (t *Table) leastRecent(jobID int64, addresses []string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.usageOf(jobID)
	wanted := make(map[string]bool, len(addresses))
	for _, a := range addresses {
		wanted[a] = true
	}
	order := make([]string, 0, len(addresses))
	for _, a := range u.order {
		if wanted[a] {
			order = append(order, a)
			delete(wanted, a)
		}
	}
	for _, a := range addresses {
		if wanted[a] {
			order = append(order, a)
			delete(wanted, a)
		}
	}
	best := order[0]
	u.order = append(order[1:], best)
	return best
}
