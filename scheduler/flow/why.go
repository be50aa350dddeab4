package flow

import (
	"encoding/json"
	"strings"

	"github.com/punctual-job/punctual/scheduler/event"
)

// whyFirst is how what a step has begins where it keeps why it ended, beside what its runs gave.
const whyFirst = `{"why":`

// WhyOf takes out of what a step has the event that it ended by, where none of its runs has said that; ok is false where there is none.
// rest is what its runs gave.
func WhyOf(output string) (why event.Event, rest string, ok bool) {
	if !strings.HasPrefix(output, whyFirst) {
		return why, output, false
	}
	var all map[string]json.RawMessage
	var text string
	if json.Unmarshal([]byte(output), &all) != nil || json.Unmarshal(all["why"], &text) != nil {
		return why, output, false
	}
	if why, ok = event.IsCause(text); !ok {
		return why, output, false
	}
	if delete(all, "why"); len(all) == 0 {
		return why, "", true
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return why, "", true // cannot be: it was read just now
	}
	return why, string(raw), true
}

// CauseOf is why a step ended, as an argument of an event, by what it has; "" where its runs have said it, or there is nothing to say.
func CauseOf(output string) string {
	if why, _, ok := WhyOf(output); ok {
		return event.CauseOf(why)
	}
	if fault, ok := FaultOf("", output); ok {
		return event.CauseOfField(fault.Told(), fault.Said())
	}
	return ""
}
