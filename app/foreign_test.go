package app

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

func TestWhatIsNoExecutorIsSaidOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f := newForeign(slog.New(slog.NewTextHandler(&log, nil)))
		calls := func(n int, address string) {
			for range n {
				f.note(address, &wire.CallError{Stage: wire.StageStatus, Body: "<html>"})
			}
		}
		said := func(when string, want ...string) {
			t.Helper()
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			log.Reset()
			if len(want) == 0 && lines[0] == "" {
				return
			}
			if len(lines) != len(want) {
				t.Fatalf("%s: %d lines, want %d: %q", when, len(lines), len(want), lines)
			}
			for i := range want {
				if !strings.HasSuffix(lines[i], want[i]) {
					t.Errorf("%s: %s, want the end %s", when, lines[i], want[i])
				}
			}
		}
		calls(500, "http://a/")
		calls(2, "http://b/")
		said("at first", "body=<html> calls=1", "body=<html> calls=1")
		time.Sleep(foreignEvery - 1)
		calls(3, "http://a/")
		said("within the minute")
		time.Sleep(time.Nanosecond)
		calls(4, "http://a/")
		said("after it", "calls=503")
		for i := range foreignMost - 2 {
			f.due(fmt.Sprint(i), time.Now())
		}
		calls(1, "http://c/") // the one of b is over
		said("of another, when there are many", "calls=1")
		calls(1, "http://d/")
		said("of one more")
	})
}
