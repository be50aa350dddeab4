package sqlite

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errClosed = errors.New("sqlite: database is closed")

// ErrStuck is the error of who waited for a session as long as one may: a disk that does not answer holds those that are lent.
var ErrStuck = errors.New("sqlite: no session came free; its disk may not answer")

// WaitsFor is how long somebody waits for a session who would wait longer. Nothing but a build of indexes, or a disk, takes that long.
const WaitsFor = 40 * time.Second

// sessionPool lends a bounded number of sessions. Who asks first is served first, and who stops waiting (its context ends) leaves no trace.
type sessionPool struct {
	slots chan struct{} // one element per session lent; a channel's senders are served in order
	open  func(context.Context) (*session, error)

	mu     sync.Mutex
	idle   []*session // a stack: under little load the same warm session serves again
	closed bool
}

func newSessionPool(size int, open func(context.Context) (*session, error)) *sessionPool {
	return &sessionPool{slots: make(chan struct{}, size), open: open}
}

func (l *sessionPool) acquire(ctx context.Context) (*session, error) {
	// A context that has ended must not win a free slot by the luck of select.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case l.slots <- struct{}{}:
	default:
		if err := l.wait(ctx); err != nil {
			return nil, err
		}
	}
	s, err := l.pop()
	if err == nil && s == nil {
		s, err = l.open(ctx)
	}
	if err != nil {
		<-l.slots
		return nil, err
	}
	return s, nil
}

// wait waits for a slot.
func (l *sessionPool) wait(ctx context.Context) error {
	enough := time.NewTimer(WaitsFor)
	defer enough.Stop()
	select {
	case l.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-enough.C:
		return ErrStuck
	}
}

func (l *sessionPool) pop() (*session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	if len(l.idle) == 0 {
		return nil, nil
	}
	s := l.idle[len(l.idle)-1]
	l.idle = l.idle[:len(l.idle)-1]
	return s, nil
}

// release takes a session back. One that is broken, or that the driver no longer vouches for, is closed; the next caller opens another.
func (l *sessionPool) release(s *session, broken bool) {
	defer func() { <-l.slots }()
	if !broken && s.raw.IsValid() {
		l.mu.Lock()
		if !l.closed {
			l.idle = append(l.idle, s)
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
	}
	s.close()
}

func (l *sessionPool) close() error {
	l.mu.Lock()
	idle := l.idle
	l.idle, l.closed = nil, true
	l.mu.Unlock()
	var errs []error
	for _, s := range idle {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}
