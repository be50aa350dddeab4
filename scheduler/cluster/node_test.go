package cluster

import (
	"testing"
	"time"
)

// A look reads the runs above the gone node's mark, which may be many: 70 ms beside 34,000 open ones, twice a second.
func TestWhatAGoneAdminLeftIsLookedForLessAndLessOften(t *testing.T) {
	t.Parallel()
	gone := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	w := watch{since: gone}
	var looks []time.Duration // since the node is gone
	for after := time.Duration(0); after <= keepGone; after += 500 * time.Millisecond {
		if w.due(gone.Add(after)) {
			w.looked(gone.Add(after))
			looks = append(looks, after)
		}
	}
	if len(looks) > 40 {
		t.Errorf("%d looks in %s, which is too many", len(looks), keepGone)
	}
	// A commit that was under way comes within seconds, and is then seen soon.
	if len(looks) < 3 || looks[0] != 0 || looks[1] > time.Second {
		t.Errorf("the first looks: %s", looks[:min(3, len(looks))])
	}
	for i := 1; i < len(looks); i++ {
		if wait := looks[i] - looks[i-1]; wait > looks[i-1]/4+500*time.Millisecond {
			t.Errorf("no look for %s, %s after the node is gone", wait, looks[i-1])
		}
	}
}
