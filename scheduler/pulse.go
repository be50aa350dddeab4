package scheduler

import (
	"math"
	"sync"
	"time"
)

const (
	// pulseMinutes is how far back the pulse reaches.
	pulseMinutes = 60
	// The bins of the lateness grow by pulseGrowth from pulseFirst on, so that a quantile is right within a fifth.
	pulseBins   = 96
	pulseFirst  = 500 * time.Microsecond
	pulseGrowth = 1.2
)

// Pulse is what this admin sent in the last hour. It is kept in memory, because counting it out of the runs of a busy hour
// would read millions of rows; it begins anew with every start.
type Pulse struct {
	Since   time.Time     // an hour ago, or when this admin started
	Minutes []PulseMinute // always an hour of them, the oldest first; the last one is not over
	Sent    int64
	// Half and nearly all of the runs were sent within P50 and P99 of their planned time; 0 while none was.
	P50, P99 time.Duration
}

// PulseMinute is one minute of a [Pulse].
type PulseMinute struct {
	Sent     int64
	P50, P99 time.Duration
}

// PerSecond is the mean rate over the whole of it.
func (p Pulse) PerSecond(now time.Time) float64 {
	seconds := now.Sub(p.Since).Seconds()
	if seconds < 1 {
		return float64(p.Sent)
	}
	return float64(p.Sent) / seconds
}

// Pulse tells what this admin sent in the last hour.
func (e *Engine) Pulse() Pulse { return e.pulse.read(e.now()) }

// pulse is a ring of minutes.
type pulse struct {
	began time.Time // of the process; there is nothing to tell from before

	mu      sync.Mutex
	minutes [pulseMinutes]pulseSlot
}

type pulseSlot struct {
	minute int64 // since the epoch; another one's counts are old
	sent   int64
	bins   [pulseBins]uint32
}

func newPulse(now time.Time) *pulse { return &pulse{began: now} }

// add notes a run that is being sent.
func (p *pulse) add(now time.Time, late time.Duration) {
	minute := now.Unix() / 60
	bin := pulseBin(late)
	p.mu.Lock()
	defer p.mu.Unlock()
	slot := &p.minutes[minute%pulseMinutes]
	if slot.minute != minute {
		*slot = pulseSlot{minute: minute}
	}
	slot.sent++
	slot.bins[bin]++
}

func (p *pulse) read(now time.Time) Pulse {
	last := now.Unix() / 60
	first := last - pulseMinutes + 1
	out := Pulse{Since: time.Unix(first*60, 0)}
	if out.Since.Before(p.began) {
		out.Since = p.began
	}
	var all [pulseBins]uint64
	p.mu.Lock()
	defer p.mu.Unlock()
	for minute := first; minute <= last; minute++ {
		slot := &p.minutes[minute%pulseMinutes]
		if slot.minute != minute {
			out.Minutes = append(out.Minutes, PulseMinute{})
			continue
		}
		var bins [pulseBins]uint64
		for i, n := range slot.bins {
			bins[i] = uint64(n)
			all[i] += uint64(n)
		}
		out.Minutes = append(out.Minutes, PulseMinute{Sent: slot.sent, P50: quantile(&bins, 0.5), P99: quantile(&bins, 0.99)})
		out.Sent += slot.sent
	}
	out.P50, out.P99 = quantile(&all, 0.5), quantile(&all, 0.99)
	return out
}

// late is within which time nearly all of the runs of this minute and the last were sent; 0 while none was.
func (p *pulse) late(now time.Time) time.Duration {
	var all [pulseBins]uint64
	p.mu.Lock()
	defer p.mu.Unlock()
	for minute := now.Unix()/60 - 1; minute <= now.Unix()/60; minute++ {
		if slot := &p.minutes[minute%pulseMinutes]; slot.minute == minute {
			for i, n := range slot.bins {
				all[i] += uint64(n)
			}
		}
	}
	return quantile(&all, 0.99)
}

// pulseBin is the bin of a lateness; what is early by a clock's doing counts as on time.
func pulseBin(late time.Duration) int {
	if late <= pulseFirst {
		return 0
	}
	return min(pulseBins-1, int(math.Ceil(math.Log(float64(late)/float64(pulseFirst))/math.Log(pulseGrowth)-1e-9)))
}

// quantile is the upper bound of the bin in which a share of the counts is reached; 0 without any.
func quantile(bins *[pulseBins]uint64, share float64) time.Duration {
	var total, seen uint64
	for _, n := range bins {
		total += n
	}
	if total == 0 {
		return 0
	}
	need := uint64(math.Ceil(share * float64(total)))
	for i, n := range bins {
		if seen += n; seen >= need {
			return time.Duration(float64(pulseFirst) * math.Pow(pulseGrowth, float64(i)))
		}
	}
	return 0
}
