//go:build go1.26

package executor

import (
	"testing"
	"time"
)

func TestSeen(t *testing.T) {
	t.Parallel()
	s := newSeen(2)
	const now = 1_767_225_600_000
	for _, id := range []int64{1, 2, 4095, 4096, -1} { // -1 is a third block, so the first one goes
		if !s.add(id, now) {
			t.Errorf("%d is refused the first time", id)
		}
	}
	for _, tc := range []struct {
		name string
		id   int64
		at   int64
		want bool
	}{
		{"the same run again", 4096, now, false},
		{"a resend with its time rounded up", 4096, now + 999, false},
		{"a neighbour", 4097, now, true},
		{"an id of a new database", 4096, now + 60_000, true},
		{"the new one again", 4096, now + 60_000, false},
		{"its neighbour of the new database", 4097, now + 60_000, true},
		{"at the edge of what a rounded time explains", 4096, now + 60_000 + seenSlack, false},
		{"beyond it", 4096, now + 60_000 + seenSlack + 1, true},
		{"a neighbour that is earlier", 4098, now, true},
		{"does not make the later one new", 4096, now + 60_000 + seenSlack + 1, false},
		{"an id of a dropped block", 1, now, true},
	} {
		if got := s.add(tc.id, tc.at); got != tc.want {
			t.Errorf("%s: new = %v, want %v", tc.name, got, tc.want)
		}
	}
	if len(s.blocks) != 2 || len(s.order) != 2 {
		t.Errorf("%d blocks kept, limit is 2", len(s.blocks))
	}
	s.remove(1)
	if s.has(1) || !s.add(1, now) {
		t.Error("a removed id is still known")
	}
}

// TestSeenIsPutBack: what a snapshot of the journal gives back is what was seen, in the old order.
func TestSeenIsPutBack(t *testing.T) {
	t.Parallel()
	before, after := newSeen(2), newSeen(2)
	const now = 1_767_225_600_000
	before.add(1, now)
	before.add(seenBlockIDs, now)
	for range 2 { // a second snapshot replaces the first
		before.each(after.restore)
		if !after.has(1) || !after.has(seenBlockIDs) || after.has(2) || len(after.order) != 2 {
			t.Errorf("put back: %d blocks in order", len(after.order))
		}
	}
	if after.add(seenBlockIDs, now) {
		t.Error("a run that was put back is new")
	}
	if !after.add(2*seenBlockIDs, now) || after.has(1) || !after.has(seenBlockIDs) {
		t.Error("the block that was made first does not go first")
	}
}

// TestWhatWasDroppedIsNotSaidToBeRemembered: the oldest block goes, and with it the knowledge of the time until its last run.
func TestWhatWasDroppedIsNotSaidToBeRemembered(t *testing.T) {
	t.Parallel()
	const now = 1_767_225_600_000
	for name, fill := range map[string]func(s *seen){
		"runs that came":          func(s *seen) { s.add(1, now); s.add(seenBlockIDs, now) },
		"those of before a start": func(s *seen) { s.restore(0, new(seenBlock)); s.restore(1, new(seenBlock)) },
	} {
		s := newSeen(2)
		s.begins(time.Now().Add(-time.Hour))
		fill(s)
		if got := s.reach(); got < time.Hour {
			t.Errorf("%s: it reaches back %v", name, got)
		}
		s.add(2*seenBlockIDs, now)
		if got := s.reach(); got >= time.Hour {
			t.Errorf("%s: with a block dropped it reaches back %v", name, got)
		}
		if s.begins(time.Now().Add(-2 * time.Hour)); s.reach() >= time.Hour {
			t.Errorf("%s: it has remembered something again", name)
		}
	}
}
