package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheSameWarningIsWrittenOnceAMinute: an admin whose database refuses it tries again every second, in six places.
func TestTheSameWarningIsWrittenOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger := slog.New(newSeldom(slog.NewTextHandler(&out, nil)))
		lines := func() []string {
			defer out.Reset()
			return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		}
		http := logger.With("part", "HTTP jobs")
		for range 90 {
			logger.Warn("renew lease", "error", errors.New("access denied"))
			logger.Warn("renew lease", "error", errors.New("disk full"))
			http.Warn("renew lease", "error", errors.New("disk full"))
			http.WithGroup("of").Error("renew lease", "error", errors.New("disk full"))
			time.Sleep(time.Second) // of the bubble's clock
		}
		got := lines()
		if len(got) != 8 {
			t.Fatalf("%d lines:\n%s", len(got), strings.Join(got, "\n"))
		}
		for i, line := range got {
			if want := i >= 4; strings.Contains(line, "repeated=54") != want {
				t.Errorf("line %d: %s", i, line)
			}
		}
		for range 3 {
			logger.Info("registered")
		}
		if got := lines(); len(got) != 3 {
			t.Errorf("news of which nobody is warned are %q", got)
		}
		for i := range 2 * mostRepeats { // of so many different ones nobody keeps count
			logger.Warn("run log cannot be written", "log_id", strconv.Itoa(i))
		}
		if got := lines(); len(got) != 2*mostRepeats {
			t.Errorf("%d of %d different ones are written", len(got), 2*mostRepeats)
		}
		time.Sleep(repeatAfter)
		for range 2 {
			logger.Warn("renew lease", "error", errors.New("disk full"))
		}
		if got := lines(); len(got) != 1 {
			t.Errorf("after many different ones: %q", got)
		}
	})
}

// TestOnlyTheLevelDebugRepeats: who looks for something sees all of it.
func TestOnlyTheLevelDebugRepeats(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]int{"info": 1, "error": 1, "debug": 2} {
		var out bytes.Buffer
		o, err := database{DataDir: t.TempDir(), LogLevel: level, LogFormat: "text"}.options(streams{err: &out})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			o.Logger.Error("renew lease")
		}
		if got := strings.Count(out.String(), "renew lease"); got != want {
			t.Errorf("%s: %d lines, want %d", level, got, want)
		}
	}
}
