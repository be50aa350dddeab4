package live

import "testing"

func TestStreamsAreCounted(t *testing.T) {
	t.Parallel()
	l := New(nil)
	for range maxStreamsPerUser {
		if !l.Enter(1) {
			t.Fatal("refused too early")
		}
	}
	if l.Enter(1) {
		t.Error("one user has too many")
	}
	if !l.Enter(2) {
		t.Error("another user is refused")
	}
	l.Leave(2)
	for range maxStreamsPerUser {
		l.Leave(1)
	}
	if len(l.byUser) != 0 || l.all != 0 {
		t.Errorf("left over: %+v", l)
	}
	for user := range int64(maxStreams) {
		l.Enter(user)
	}
	if l.Enter(-1) {
		t.Error("the process has too many")
	}
}
