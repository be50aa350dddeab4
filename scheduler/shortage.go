package scheduler

import (
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// An admin whose machine has no sockets left can call nobody. That says nothing of the executors: none is taken for gone because of it, no
// run for lost, and what is to be sent waits. The other admins claim its share meanwhile, see [Engine.stuck].

// shortage is since when calls could not be made for want of sockets or memory.
type shortage struct {
	mu          sync.Mutex
	first, last time.Time
}

// own reports whether a call was not made because this machine is short of something, and remembers it.
func (s *shortage) own(err error) bool {
	if wire.FaultOf(err) != wire.FaultOwn || wire.Delivered(err) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.last) > lateBound {
		s.first = now
	}
	s.last = now
	return true
}

// lasts is for how long it has been so; 0 when it is over.
func (s *shortage) lasts() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.IsZero() || time.Since(s.last) > lateBound {
		return 0
	}
	return max(time.Millisecond, time.Since(s.first))
}

// later has a run wait that could not be sent for it.
func (e *Engine) later(d *dispatch) {
	d.at, d.short = e.now().Add(putBack), true
	e.timer.add(d)
}
