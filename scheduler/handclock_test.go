package scheduler

import (
	"sync/atomic"
	"time"
)

// handClock is a time that passes by hand. It stands still while the test does something, however slow the machine is.
type handClock struct {
	start  time.Time
	passed atomic.Int64
}

// newHandClock begins with a whole second: databases keep the beats of executors in these.
func newHandClock() *handClock { return &handClock{start: time.Now().Truncate(time.Second)} }

func (c *handClock) now() time.Time       { return c.start.Add(time.Duration(c.passed.Load())) }
func (c *handClock) pass(d time.Duration) { c.passed.Add(int64(d)) }

// rule has an engine go by the clock. Its lease goes by the real one, and lasts for the whole test: a run that waits until a slow
// beat has renewed it would wait for a moment that never comes.
func (c *handClock) rule(cfg *Config) {
	cfg.Clock = c.now
	cfg.BeatEvery, cfg.Lease = time.Hour, 10*time.Hour
}
