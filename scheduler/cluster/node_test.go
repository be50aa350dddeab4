package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// A node stops acting when six tenths of its lease have passed without a beat, asleep or awake, and not a tick earlier.
func TestTheFenceOfALease(t *testing.T) {
	t.Parallel()
	const lease = 10 * time.Second
	const fence = lease * 6 / 10
	tests := []struct {
		name           string
		awake, asleep  time.Duration
		member, mayAct bool
	}{
		{"a tick before", fence - 1, 0, true, true},
		{"at the moment", fence, 0, true, false},
		{"a tick after", fence + 1, 0, true, false},
		{"asleep until a tick before", time.Second, fence - time.Second - 1, true, true},
		{"asleep until the moment", time.Second, fence - time.Second, true, false},
		{"before it has joined", 0, 0, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := &Node{cfg: Config{Lease: lease, Slept: func() time.Duration { return time.Hour + tt.asleep }}, start: time.Now()}
				if tt.member {
					n.id.Store(1)
				}
				n.asleep.Store(int64(time.Hour))
				time.Sleep(time.Minute)
				n.beatAt.Store(int64(time.Minute))
				time.Sleep(tt.awake)
				if n.MayAct() != tt.mayAct {
					t.Errorf("it may act: %v", n.MayAct())
				}
			})
		})
	}
}

// TestTheFenceComesLongBeforeTheTakeOver: what a node may still be sending has arrived when the others take it for gone.
func TestTheFenceComesLongBeforeTheTakeOver(t *testing.T) {
	t.Parallel()
	n := &Node{cfg: Config{Lease: 10 * time.Second, BeatEvery: time.Second}}
	if fence := time.Duration(float64(n.cfg.Lease) * fenceShare); n.goneAfter()-fence < n.cfg.Lease/4 {
		t.Errorf("fenced after %s, gone after %s", fence, n.goneAfter())
	}
}

// Another node is gone when its beat has stood still for a lease but a tenth of a beat, and its sessions are ended when it has
// for some time and several looks.
func TestWhenANodeIsSilent(t *testing.T) {
	t.Parallel()
	n := &Node{cfg: Config{Lease: 10 * time.Second, BeatEvery: time.Second}, peers: make(map[int64]*peer)}
	seen := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	looks := []struct {
		after               time.Duration
		beat                int64
		wantSilent, wantEnd bool
		wantRunsOut         time.Duration
	}{
		{0, 1, false, false, 9900 * time.Millisecond},
		{1, 1, false, false, 9900*time.Millisecond - 1},
		{quietAfter, 1, false, false, 9900*time.Millisecond - quietAfter}, // the second look
		{quietAfter, 1, false, true, 9900*time.Millisecond - quietAfter},
		{9900*time.Millisecond - 1, 1, false, true, 1},
		{9900 * time.Millisecond, 1, true, true, 0},
		{9901 * time.Millisecond, 2, false, false, 9900 * time.Millisecond}, // it lives
		{9902 * time.Millisecond, 2, false, false, 9899 * time.Millisecond},
		{9903 * time.Millisecond, 2, false, false, 9898 * time.Millisecond},
		{9901*time.Millisecond + quietAfter - 1, 2, false, false, 9900*time.Millisecond - quietAfter + 1},
		{9901*time.Millisecond + quietAfter, 2, false, true, 9900*time.Millisecond - quietAfter},
	}
	for i, l := range looks {
		now, other := seen.Add(l.after), db.Node{ID: 5, Beat: l.beat}
		silent := n.silent(other, now)
		if ends := n.quiet(other, now); silent != l.wantSilent || ends != l.wantEnd {
			t.Errorf("look %d, after %s: silent %v, its sessions end %v", i, l.after, silent, ends)
		}
		if wait := n.runsOut(now); wait != l.wantRunsOut {
			t.Errorf("look %d, after %s: its lease runs out in %s, want %s", i, l.after, wait, l.wantRunsOut)
		}
	}
	// Of several the next one counts, in whatever order they come.
	n.silent(db.Node{ID: 6}, seen.Add(9901*time.Millisecond+quietAfter))
	for range 50 {
		if wait := n.runsOut(seen.Add(9901*time.Millisecond + quietAfter)); wait != 9900*time.Millisecond-quietAfter {
			t.Fatalf("the next lease runs out in %s", wait)
		}
		if wait := n.runsOut(seen.Add(9901*time.Millisecond + 9900*time.Millisecond)); wait != quietAfter {
			t.Fatalf("one has run out, and the next does in %s", wait)
		}
	}
	if (&Node{peers: nil}).quiet(db.Node{ID: 1}, seen) {
		t.Error("sessions end of a node that was never seen")
	}
}

// A look reads the runs above the gone node's mark, which may be many: 70 ms beside 34,000 open ones, twice a second.
func TestWhatAGoneAdminLeftIsLookedForLessAndLessOften(t *testing.T) {
	t.Parallel()
	gone := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	w := watch{since: gone, next: gone.Add(time.Second)}
	if w.due(gone.Add(time.Second-1)) || !w.due(gone.Add(time.Second)) {
		t.Error("it is looked at before its time, or not at it")
	}
	w.next = time.Time{}
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

// TestARenewalIsSeenAlsoBehindOneWhoseAnswerWasLost: the others judge a node by its beat alone, so a renewal that they cannot tell from
// the one before would let them declare a node gone that believes in its lease, and goes on sending.
func TestARenewalIsSeenAlsoBehindOneWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		n := newNode(t, pool, "one", nil)
		if err := n.join(t.Context()); err != nil {
			t.Fatal(err)
		}
		seen := func() int64 {
			nodes, err := n.queries.ListNodes(t.Context(), pool)
			if err != nil || len(nodes) != 1 {
				t.Fatal(nodes, err)
			}
			return nodes[0].Beat
		}
		for range 3 {
			if _, err := pool.ExecContext(t.Context(), "UPDATE punctual_node SET beat = beat + 1"); err != nil { // what arrived
				t.Fatal(err)
			}
			before := seen()
			if err := n.renew(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			if after := seen(); after == before {
				t.Fatalf("the beat is %d still", after)
			}
		}
	})
}
