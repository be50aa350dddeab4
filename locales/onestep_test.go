package locales

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/scheduler/event"
)

// TestEventsOfOneAreTold: an event that counts has a message for one, which English has a form of its own for.
func TestEventsOfOneAreTold(t *testing.T) {
	t.Parallel()
	texts := New()
	for _, lang := range Languages() {
		teller := event.Teller{Printer: texts.Printer(lang), Zone: time.UTC}
		for key, spec := range event.Specs {
			e := event.Event{Key: key}
			for range spec.Args {
				e.Args = append(e.Args, "1")
			}
			if got := teller.Tell(e); strings.Contains(got, "!event.") {
				t.Errorf("%s in %s: %s", key, lang, got)
			}
		}
	}
}
