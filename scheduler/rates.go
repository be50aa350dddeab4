package scheduler

import (
	"sync"
	"sync/atomic"
	"time"
)

// rateBeats is over how many beats a rate is taken: long enough to be calm, short enough to be of now.
const rateBeats = 10

// rates tell how much this admin does in a second.
type rates struct {
	claimed, sent atomic.Int64

	mu    sync.Mutex
	marks []rateMark // the oldest first
}

type rateMark struct {
	at            time.Time
	claimed, sent int64
}

// mark notes where the counts stand; called with every beat.
func (r *rates) mark(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marks = append(r.marks, rateMark{at: now, claimed: r.claimed.Load(), sent: r.sent.Load()})
	if len(r.marks) > rateBeats+1 {
		r.marks = append(r.marks[:0], r.marks[1:]...)
	}
}

// read is what was done in a second between the oldest mark and the newest.
func (r *rates) read() (claimed, sent float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.marks) == 0 {
		return 0, 0
	}
	first, last := r.marks[0], r.marks[len(r.marks)-1]
	seconds := last.at.Sub(first.at).Seconds()
	if seconds <= 0 {
		return 0, 0
	}
	return float64(last.claimed-first.claimed) / seconds, float64(last.sent-first.sent) / seconds
}
