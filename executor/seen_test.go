//go:build go1.26

package executor

import "testing"

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
		{"an id of a dropped block", 1, now, true},
	} {
		if got := s.add(tc.id, tc.at); got != tc.want {
			t.Errorf("%s: new = %v, want %v", tc.name, got, tc.want)
		}
	}
	if len(s.blocks) != 2 || len(s.order) != 2 {
		t.Errorf("%d blocks kept, limit is 2", len(s.blocks))
	}
	s.remove(4096)
	if s.has(4096) || !s.add(4096, now) {
		t.Error("a removed id is still known")
	}
}
