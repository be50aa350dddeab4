package tick

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestEveryYieldsOnceAPeriodUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		n := 0
		for now := range Every(ctx, time.Second) {
			if n++; now.Sub(began) != time.Duration(n)*time.Second {
				t.Errorf("number %d after %v", n, now.Sub(began))
			}
		}
		if n != 3 || time.Since(began) != 3500*time.Millisecond {
			t.Errorf("%d times in %v, want 3 until the context ended", n, time.Since(began))
		}
		for range Every(t.Context(), time.Second) {
			break
		}
		if over := time.Since(began); over != 4500*time.Millisecond {
			t.Errorf("left after %v", over)
		}
	})
}
