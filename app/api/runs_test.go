package api

import (
	"encoding/json"
	"testing"
	"time"
)

// TestAPageSaysThatTheTimeWasOver and one that is at its end does not.
func TestAPageSaysThatTheTimeWasOver(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 8, 0, 0, 0, time.FixedZone("", 8*3600))
	for want, page := range map[string]any{
		`{"items":[],"next":"41","searched_to":"2026-11-25T00:00:00Z"}`: listRun{Items: []run{}, Next: nextBelow(41), SearchedTo: searchedTo(true, at)},
		`{"items":[],"next":"7"}`: listAuditEntry{Items: []auditEntry{}, Next: nextBelow(7), SearchedTo: searchedTo(false, at)},
		`{"items":[]}`:            listRun{Items: []run{}, Next: nextBelow(0), SearchedTo: searchedTo(false, time.Time{})},
	} {
		if got, err := json.Marshal(page); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}

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
