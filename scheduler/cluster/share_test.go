package cluster

import (
	"math"
	"testing"
)

// shares tells which of the nodes each job belongs to, as each node computes it for itself.
func shares(t *testing.T, nodes []int64, jobs int64) []int64 {
	t.Helper()
	owners := make([]int64, jobs)
	for _, me := range nodes {
		n := &Node{}
		n.id.Store(me)
		n.setAlive(nodes)
		mine := n.Mine()
		for id := range jobs {
			if mine(id) {
				if owners[id] != 0 {
					t.Fatalf("job %d belongs to the nodes %d and %d", id, owners[id], me)
				}
				owners[id] = me
			}
		}
	}
	for id, owner := range owners {
		if owner == 0 {
			t.Fatalf("job %d belongs to nobody", id)
		}
	}
	return owners
}

func TestNodesShareJobsEvenlyAndEachJobHasOne(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		nodes []int64
	}{
		{"one", []int64{1}},
		{"two in a row", []int64{1, 2}},
		{"three, as after restarts", []int64{7, 8, 9}},
		{"three on a cluster that counts in threes", []int64{100, 103, 106}},
		{"ten", []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"three whose ids are far apart", []int64{1000, 2000, 3000}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const jobs = 20_000
			counts := make(map[int64]int)
			for _, owner := range shares(t, tt.nodes, jobs) {
				counts[owner]++
			}
			fair := float64(jobs) / float64(len(tt.nodes))
			for id, n := range counts {
				if math.Abs(float64(n)-fair) > fair/10 {
					t.Errorf("node %d has %d jobs, a fair share is %.0f", id, n, fair)
				}
			}
		})
	}
}

func TestANodeThatGoesMovesOnlyItsOwnShare(t *testing.T) {
	t.Parallel()
	before := shares(t, []int64{3, 4, 5, 6}, 10_000)
	after := shares(t, []int64{3, 4, 6}, 10_000)
	moved := map[int64]int{}
	for id := range before {
		if before[id] == 5 {
			moved[after[id]]++
		} else if before[id] != after[id] {
			t.Fatalf("job %d moved from node %d, which stays, to %d", id, before[id], after[id])
		}
	}
	for _, id := range []int64{3, 4, 6} {
		if moved[id] < 600 {
			t.Errorf("node %d took %d of the share of about 2500", id, moved[id])
		}
	}
}
