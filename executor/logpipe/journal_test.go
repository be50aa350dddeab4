package logpipe

import (
	"bytes"
	"io"
	"log/slog"
	"testing"
)

// TestLinesForTheJournalHaveTheirPriority, those of a logger with attributes and groups too.
func TestLinesForTheJournalHaveTheirPriority(t *testing.T) {
	var out bytes.Buffer
	l := slog.New(withPriorities(func(to io.Writer) slog.Handler {
		return slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})
	}, &out))
	l.Error("a")
	l.With("job_id", 1).Warn("b")
	l.WithGroup("of").Info("c", "n", 2)
	l.Debug("d")
	want := "<3>level=ERROR msg=a\n<4>level=WARN msg=b job_id=1\n<6>level=INFO msg=c of.n=2\n<7>level=DEBUG msg=d\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestOnlyTheJournalGetsPriorities: the variable is also in the environment of what was sent into a file.
func TestOnlyTheJournalGetsPriorities(t *testing.T) {
	for _, stream := range []string{"", "0:0", "nonsense"} {
		t.Setenv("JOURNAL_STREAM", stream)
		var out bytes.Buffer
		slog.New(Handler(func(to io.Writer) slog.Handler { return slog.NewTextHandler(to, nil) }, &out)).Error("a")
		if got := out.String(); got == "" || got[0] == '<' {
			t.Errorf("JOURNAL_STREAM=%s: %q", stream, got)
		}
	}
}
