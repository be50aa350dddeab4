package pull

import (
	"context"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// The bounds that tests go up to.
const (
	MaxWaiting      = maxWaiting
	MaxWaitingBytes = maxWaitingBytes
	MaxAllWaiting   = maxAllWaiting
	MaxAllBytes     = maxAllWaitingBytes
	MaxPulls        = maxPulls
	SeenEvery       = seenEvery
	Between         = between
)

// WriteSeen is a round of what an admin does every SeenEvery.
func (m *Mailbox) WriteSeen(ctx context.Context) error { return m.writeSeen(ctx) }

// Open is how many pulls wait.
func (m *Mailbox) Open() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pulls
}

// Waiting is how many calls of this admin have no answer yet.
func (m *Mailbox) Waiting() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.calls)
}

// Silent says whether a call to an executor would be refused.
func (m *Mailbox) Silent(ctx context.Context, to wire.Target) (time.Time, bool) {
	return m.silent(ctx, box{to.AppName, to.Address})
}
