package api

import (
	"testing"
	"time"
)

// TestAProxyThatAllowsAMinuteHasItsAnswer in time: it would give up at the moment at which a request that waits as long is answered.
func TestAProxyThatAllowsAMinuteHasItsAnswer(t *testing.T) {
	t.Parallel()
	for wait, want := range map[string]time.Duration{"": 0, "0s": 0, "10s": 10 * time.Second, "60s": 55 * time.Second} {
		if got, err := waitOf(wait); err != nil || got != want {
			t.Errorf("%q waits %s, %v", wait, got, err)
		}
	}
	for _, wait := range []string{"61s", "x"} {
		if _, err := waitOf(wait); err == nil {
			t.Errorf("%q is taken", wait)
		}
	}
}
