package executortest

import (
	"sync"
	"time"
)

// Stalls are the moments in which the machine let nobody go on who could: nothing is late by them. In each of them a tick is late.
type Stalls struct {
	over chan struct{}

	mu     sync.Mutex
	ticked time.Time // last
	all    []stall
}

type stall struct{ from, to time.Time }

const stallTick = 20 * time.Millisecond

// NoteStalls notes them until [Stalls.End] is called.
func NoteStalls() *Stalls {
	s := &Stalls{over: make(chan struct{}), ticked: time.Now()}
	go func() {
		tick := time.NewTicker(stallTick)
		defer tick.Stop()
		for {
			select {
			case <-s.over:
				return
			case <-tick.C:
				s.tick()
			}
		}
	}()
	return s
}

func (s *Stalls) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if due := s.ticked.Add(2 * stallTick); now.After(due) {
		s.all = append(s.all, stall{due, now})
	}
	s.ticked = now
}

// End ends the noting.
func (s *Stalls) End() { close(s.over) }

// Between is how long those took that fell between two moments.
func (s *Stalls) Between(from, to time.Time) (took time.Duration) {
	s.tick() // the one that has just ended, if there was one
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		begin, end := one.from, one.to
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		took += max(0, end.Sub(begin))
	}
	return took
}

// Watch measures time until it is asked how much has passed, but for [Stalls].
func Watch() (passed func() time.Duration) {
	began, s := time.Now(), NoteStalls()
	return func() time.Duration {
		defer s.End()
		now := time.Now()
		return now.Sub(began) - s.Between(began, now)
	}
}
