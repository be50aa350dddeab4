package event_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

// echo says the key of a message and its arguments.
type echo struct{}

func (echo) T(key string, args ...any) string {
	text := key
	for _, a := range args[min(1, len(args)):] {
		if s, is := a.(string); is {
			text += " " + s
		}
	}
	return text
}
func (echo) Word(family, value string) string { return family + value }
func (echo) Duration(d time.Duration) string  { return d.String() }

func TestACauseIsToldInItsOwnWords(t *testing.T) {
	t.Parallel()
	teller := event.Teller{Printer: echo{}, Zone: time.UTC}
	long := strings.Repeat(`字"`, event.MaxArg)
	for name, tt := range map[string]struct{ cause, told, english string }{
		"another event":       {event.CauseOf(event.New(at, event.Unknown, "http://a/")), "event.unknown", "step a failed: http://a/ does not have the run"},
		"a value":             {event.CauseOfField(invalid.Field{Key: "k", Args: []any{"Text", invalid.Field{Key: "inner"}}}, "in English"), "k inner", "step a failed: in English"},
		"plain words":         {"as of before", "as of before", "step a failed: as of before"},
		"a list of nothing":   {"[1]", "[1]", "step a failed: [1]"},
		"an object of others": {`{"a":1}`, `{"a":1}`, `step a failed: {"a":1}`},
	} {
		e := event.New(at, event.FlowCause, "a", tt.cause)
		if got := teller.Tell(e); !strings.Contains(got, tt.told) {
			t.Errorf("%s is told as %q", name, got)
		}
		if got := "step " + strings.Join(e.PlainArgs(), " failed: "); got != tt.english {
			t.Errorf("%s is %q for programs, want %q", name, got, tt.english)
		}
		if got := e.String(); got != tt.english {
			t.Errorf("%s is %q, want %q", name, got, tt.english)
		}
	}
	for _, cause := range []string{event.CauseOf(event.New(at, event.Unreachable, long, 1, "refused", long)), event.CauseOfField(invalid.Field{Key: "k", Args: []any{"A", long, "B", invalid.Field{Key: "i", Args: []any{"C", long}}}}, long)} {
		e := event.New(at, event.FlowCause, "a", cause)
		if len(cause) > event.MaxArg || !utf8.ValidString(cause) || e.Text(1) != cause {
			t.Errorf("a cause of %d bytes", len(cause))
		}
		if got := teller.Tell(e); strings.ContainsAny(got, "[{") {
			t.Errorf("a long cause is told as %q", got)
		}
	}
}
