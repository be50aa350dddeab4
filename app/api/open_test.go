package api

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2/humatest"
)

// TestWhatWasTakenComesBack with time, and what is said of it agrees with that.
func TestWhatWasTakenComesBack(t *testing.T) {
	t.Parallel()
	l := newLimiter(Limit{Burst: 2, Every: 1500 * time.Millisecond})
	began := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, tt := range []struct {
		after             time.Duration
		left, reset, wait string
	}{
		{0, "1", "2", ""},
		{0, "0", "3", ""},
		{time.Second, "0", "3", "2"},
		{1500 * time.Millisecond, "0", "3", ""},
		{time.Minute, "1", "2", ""},
	} {
		w := httptest.NewRecorder()
		err := l.take(humatest.NewContext(nil, httptest.NewRequest("GET", "/", nil), w), 1, began.Add(tt.after))
		h := w.Header()
		if got := h.Get("Retry-After"); (err != nil) != (tt.wait != "") || got != tt.wait || h.Get("RateLimit-Limit") != "2" || h.Get("RateLimit-Remaining") != tt.left || h.Get("RateLimit-Reset") != tt.reset {
			t.Errorf("after %s: %v, Retry-After %q, want %q, %v", tt.after, err, got, tt.wait, h)
		}
	}
}
