package archive

import (
	"slices"
	"sync"
	"time"
)

// speed tells how many bytes were copied in a second of late.
type speed struct {
	mu    sync.Mutex
	bytes int64
	marks []mark // of the last seconds, oldest first
}

// mark is how much had been copied at a moment.
type mark struct {
	at    time.Time
	bytes int64
}

// speedOver is the time that a speed is the mean of.
const speedOver = 10 * time.Second

func (s *speed) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += int64(n)
}

// mark is called every second or so.
func (s *speed) mark(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks = slices.DeleteFunc(s.marks, func(m mark) bool { return now.Sub(m.at).Abs() > speedOver })
	s.marks = append(s.marks, mark{now, s.bytes})
}

// read is the mean between the oldest mark and the newest.
func (s *speed) read() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.marks) < 2 {
		return 0
	}
	first, last := s.marks[0], s.marks[len(s.marks)-1]
	if span := last.at.Sub(first.at); span > 0 {
		return float64(last.bytes-first.bytes) / span.Seconds()
	}
	return 0
}
