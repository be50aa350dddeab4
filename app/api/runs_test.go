package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
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

// TestOneAnswerHasSoMuchOfAnOutput as an executor gives within some time, up to a size: an executor may give it in small pieces, one after the
// other, without an end.
func TestOneAnswerHasSoMuchOfAnOutput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		size, pieces int           // that the executor has
		each         time.Duration // for one
		lines        int
		more         bool
	}{
		{10, 5, time.Second, 5, false},
		{10, 1_000_000, time.Second, 10, true},
		{10, 2, time.Minute, 1, true},
		{maxOutput / 4, 5, 0, 4, true},
		{10, 0, time.Minute, 0, false},
	} {
		now := time.Unix(0, 0)
		out := outputAnswer{Next: 1, End: true}
		err := out.read(func() time.Time { return now }, func(line int) (scheduler.Piece, error) {
			now = now.Add(tt.each)
			if line > tt.pieces {
				return scheduler.Piece{LogResult: wire.LogResult{FromLineNum: line, ToLineNum: line - 1, IsEnd: true}}, nil
			}
			return scheduler.Piece{LogResult: wire.LogResult{FromLineNum: line, ToLineNum: line, LogContent: strings.Repeat("x", tt.size-1) + "\n"}}, nil
		})
		if err != nil || out.Next != tt.lines+1 || len(out.Body) != tt.lines*tt.size || out.More != tt.more || out.End == tt.more {
			t.Errorf("of %d pieces of %d bytes: %d bytes, the next line is %d, more %t, end %t, %v", tt.pieces, tt.size, len(out.Body), out.Next, out.More, out.End, err)
		}
	}
}
