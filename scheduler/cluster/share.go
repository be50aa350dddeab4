package cluster

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
)

// Mine is a function that tells whether a job is this node's to look after: the highest rendezvous weight over the live nodes.
// A node that comes or goes moves only its own share of the jobs. Nothing depends on the nodes agreeing: the guard in the
// claim's update decides, the shares only keep them from trying the same rows.
func (n *Node) Mine() func(jobID int64) bool {
	n.mu.RLock()
	rank := ranks(n.id.Load(), n.alive)
	n.mu.RUnlock()
	return func(jobID int64) bool { return rank(jobID) == 0 }
}

// Rank is a function that tells the place of this node in the line of those that may claim a job: 0 where the job is in its
// share. Nodes that cannot claim have no share.
func (n *Node) Rank() func(jobID int64) int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return ranks(n.id.Load(), n.claiming)
}

func ranks(me int64, nodes []int64) func(jobID int64) int {
	if len(nodes) <= 1 {
		return func(int64) int { return 0 }
	}
	return func(jobID int64) (place int) {
		own := weight(me, jobID)
		for _, id := range nodes {
			if id != me {
				if w := weight(id, jobID); w > own || (w == own && id > me) {
					place++
				}
			}
		}
		return place
	}
}

func weight(nodeID, jobID int64) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], uint64(nodeID))
	binary.LittleEndian.PutUint64(b[8:], uint64(jobID))
	h := fnv.New64a()
	_, _ = h.Write(b[:])
	x := h.Sum64() // FNV alone leaves the high bits of close inputs alike; one mixing round spreads them
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// Leading reports whether this node is the one that looks after the database: of the live nodes the one with the lowest id,
// which every node finds without asking. Should two believe it for a moment, no harm is done, as every step is guarded
// or the same when done twice.
func (n *Node) Leading() bool {
	if !n.MayAct() || n.cfg.Work.Draining() {
		return false
	}
	me := n.id.Load()
	n.mu.RLock()
	defer n.mu.RUnlock()
	return !slices.ContainsFunc(n.alive, func(id int64) bool { return id < me })
}

// Living are the nodes that beat, as this one sees them, also those that stop and share no work any more.
func (n *Node) Living() []int64 {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return slices.Clone(n.living)
}

// Alive are those of them that share the work.
func (n *Node) Alive() []int64 {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return slices.Clone(n.alive)
}

// Others reports whether other nodes live, also such that stop and share no work any more.
func (n *Node) Others() bool { return n.others.Load() }

// Claiming are those in Alive that share the claims: not one that says that it is stuck.
func (n *Node) Claiming() []int64 {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return slices.Clone(n.claiming)
}
