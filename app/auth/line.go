package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// errBusy means that so many strangers wait for a password check already that another would wait too long.
var errBusy = errors.New("too many password checks are waiting")

// line lets a few in at a time. Those who are known go before strangers however many of these wait, and of strangers only so
// many may.
type line struct {
	most int // strangers that may wait

	mu        sync.Mutex
	free      int
	known     []chan struct{} // closed when it is one's turn
	strangers []chan struct{}
}

func newLine(atATime, most int) *line { return &line{free: max(1, atATime), most: most} }

// enter waits for one's turn. Whoever was let in must leave.
func (l *line) enter(ctx context.Context, known bool) error {
	l.mu.Lock()
	if l.free > 0 {
		l.free--
		l.mu.Unlock()
		return nil
	}
	if !known && len(l.strangers) >= l.most {
		l.mu.Unlock()
		return errBusy
	}
	turn := make(chan struct{})
	queue := &l.strangers
	if known {
		queue = &l.known
	}
	*queue = append(*queue, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	at := slices.Index(*queue, turn)
	if at >= 0 {
		*queue = slices.Delete(*queue, at, at+1)
	}
	l.mu.Unlock()
	if at < 0 { // it became one's turn meanwhile
		l.leave()
	}
	return fmt.Errorf("wait for a password check: %w", ctx.Err())
}

// leave makes room for the next.
func (l *line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, queue := range []*[]chan struct{}{&l.known, &l.strangers} {
		if len(*queue) > 0 {
			close((*queue)[0])
			*queue = slices.Delete(*queue, 0, 1)
			return
		}
	}
	l.free++
}
