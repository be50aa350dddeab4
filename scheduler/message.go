package scheduler

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/note"
)

// message is the story of a dispatch in lines of "key: value". The keys are fixed English words that the console
// translates, so that the language of a page is the reader's and not that of the day the run was sent.
func (e *Engine) message(d *dispatch, address string, at time.Time, took time.Duration, result string) string {
	var b strings.Builder
	b.Grow(384)
	line := func(key, value string) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(key)
		b.WriteString(": ")
		b.WriteString(value)
	}
	line("trigger type", string(d.trigger))
	if d.user != "" {
		line("triggered by", d.user)
	}
	if d.origin != 0 {
		line("origin", strconv.FormatInt(d.origin, 10))
	}
	line("admin", e.cfg.Name)
	line("planned", d.planned.In(e.cfg.JobZone).Format("2006-01-02 15:04:05.000 -0700"))
	if !d.claimed.IsZero() && d.planned.Sub(d.claimed).Abs() < 12*time.Hour { // else a time of day would mislead
		line("claimed", clock(d.claimed, e.cfg.JobZone))
		if d.routed.Sub(d.claimed) >= time.Millisecond {
			line("routed", clock(d.routed, e.cfg.JobZone))
		}
	}
	if d.late != "" {
		line("late", d.late)
	}
	if d.stray {
		line("found again", note.Unconfirmed.With())
	} else if d.taken {
		line("taken over", note.Orphan.With())
	}
	if candidates := e.candidates(d); len(candidates) > 1 {
		line("address list", clip(strings.Join(candidates, ", "), 2000))
	}
	line("route strategy", string(d.job.route))
	if d.shard.Total > 1 {
		line("shard", fmt.Sprintf("%d/%d", d.shard.Index, d.shard.Total))
	}
	for _, p := range d.probes {
		line("asked", clip(p, 500))
	}
	line("block strategy", string(d.job.block))
	if d.job.timeoutSeconds > 0 {
		line("timeout", strconv.Itoa(d.job.timeoutSeconds)+" s")
	}
	if d.retries > 0 {
		line("retries left", strconv.FormatInt(d.retries, 10))
	}
	if address != "" {
		line("address", address)
	}
	if !at.IsZero() {
		line("sent", clock(at, e.cfg.JobZone)+" ("+strconv.FormatInt(took.Milliseconds(), 10)+" ms)")
	}
	line("result", clip(result, 8000))
	return clip(b.String(), maxMessage)
}

func clock(t time.Time, zone *time.Location) string { return t.In(zone).Format("15:04:05.000") }
