package scheduler

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/scheduler/event"
)

// The text columns of XXL-JOB's table are for people, and for an old admin that shows them: nothing reads them to decide. What
// a program wants to know is in the columns and in the events.

// newRunText is what trigger_msg says of a run from its insert on, in lines of "key: value".
func (e *Engine) newRunText(d *dispatch) string {
	var room [512]byte
	b := append(room[:0], "trigger type: "...)
	b = append(b, d.trigger...)
	line := func(key, value string) {
		b = append(b, '\n')
		b = append(b, key...)
		b = append(b, ": "...)
		b = append(b, value...)
	}
	if d.user != "" {
		line("triggered by", d.user)
	}
	if d.origin != 0 {
		line("origin", strconv.FormatInt(d.origin, 10))
	}
	line("admin", e.cfg.Name)
	b = append(b, "\nplanned: "...)
	b = d.planned.In(e.cfg.JobZone).AppendFormat(b, "2006-01-02 15:04:05.000 -0700")
	if stands, ok := d.events.Last(event.StandsFor); ok {
		b = append(b, '\n')
		b = append(b, stands.In(e.cfg.JobZone)...)
	}
	if d.job.route != "" {
		line("route strategy", string(d.job.route))
	}
	if d.shard.Total > 1 {
		line("shard", fmt.Sprintf("%d/%d", d.shard.Index, d.shard.Total))
	}
	return clip(string(b), maxMessage)
}

// maxRecord is how many bytes one write adds to trigger_msg.
const maxRecord = 16_000

// recordText is what trigger_msg says of events, each on a line of its own, the last as the result.
func (e *Engine) recordText(address string, events event.List) string {
	var b strings.Builder
	b.Grow(64 + len(address))
	if address != "" {
		b.WriteString("\naddress: ")
		b.WriteString(address)
	}
	for i, ev := range events {
		if ev.Key == event.Routed {
			continue
		}
		b.WriteByte('\n')
		if i == len(events)-1 {
			b.WriteString("result: ")
		}
		switch ev.Key {
		case event.Sent, event.Refused: // without what differs from run to run and stands in the events
			b.WriteString(strings.TrimSpace(ev.Text(2) + " " + ev.Text(3)))
		default:
			b.WriteString(ev.In(e.cfg.JobZone))
		}
	}
	return clip(strings.ToValidUTF8(b.String(), "\uFFFD"), maxRecord)
}
