package scheduler

import "testing"

func TestHubTellsThoseWhoAskedAndMergesSignals(t *testing.T) {
	t.Parallel()
	h := newHub()
	all, cancelAll := h.subscribe(0)
	seven, cancelSeven := h.subscribe(7)
	signalled := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	tests := []struct {
		name       string
		change     func()
		all, seven bool
	}{
		{"nothing has happened", func() {}, false, false},
		{"another run", func() { h.changed(1, 2) }, true, false},
		{"the run among others", func() { h.changed(1, 7) }, true, true},
		{"new runs without a number", func() { h.changed() }, true, false},
		{"many changes are one signal", func() {
			for range 100 {
				h.changed(7)
			}
		}, true, true},
		{"which is then used up", func() {}, false, false},
	}
	for _, tt := range tests {
		tt.change()
		if gotAll, gotSeven := signalled(all), signalled(seven); gotAll != tt.all || gotSeven != tt.seven {
			t.Errorf("%s: signals %t and %t, want %t and %t", tt.name, gotAll, gotSeven, tt.all, tt.seven)
		}
	}
	cancelSeven()
	cancelSeven()
	cancelAll()
	h.changed(7)
	if signalled(all) || signalled(seven) || len(h.subs) != 0 {
		t.Error("who unsubscribed is still told")
	}
}
