package cluster

import (
	"encoding/json"
	"time"
)

// Told is what the admins tell each other of their standing, among the figures of their rows; the field names are what a row
// holds.
type Told struct {
	Draining bool `json:"draining,omitempty"` // it finishes what it has and claims nothing more
	Stuck    bool `json:"stuck,omitempty"`    // it cannot claim now: the others divide its share

	// By how much the database's clock and the machine's are ahead of the time the admin goes by, see clock.go.
	Lead *time.Duration `json:"clock_lead,omitempty"` // nil: an older release, that goes by its own clock
	Own  time.Duration  `json:"clock_own,omitempty"`
}

// parseTold reads what another admin tells; ok is false where it has written nothing.
func parseTold(text string) (t Told, ok bool) {
	return t, text != "" && json.Unmarshal([]byte(text), &t) == nil
}
