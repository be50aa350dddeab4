//go:build go1.26

package executor

import (
	"os"
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// Covering finds a run that waits or runs; what it gives does what a COVER_EARLY of that run does when it is on record.
func (e *Executor) Covering(logID int64) func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.live[logID]
	return func() { e.cover(t) }
}

// Admit queues a run; what it gives does what follows when it is on record.
func (e *Executor) Admit(req *wire.RunRequest) (settle func() error, err error) {
	t, err := e.prepare(req)
	runs := []asked{{req: req, task: t, err: err}}
	e.admit(runs)
	return func() error { e.settle(runs); return runs[0].err }, runs[0].err
}

// HoldJournal has the next write of an executor's journal wait until it is let go. held is closed when there is one.
func HoldJournal(e *Executor) (held <-chan struct{}, free func()) {
	came, gone := make(chan struct{}), make(chan struct{})
	e.journal.writeAt = func(f *os.File, p []byte, offset int64) (int, error) {
		e.journal.writeAt = (*os.File).WriteAt
		close(came)
		<-gone
		return f.WriteAt(p, offset)
	}
	return came, sync.OnceFunc(func() { close(gone) })
}

// LeaveUndelivered makes it look as if results of so many runs, or of so many bytes in all, waited for an admin, until the end.
func (e *Executor) LeaveUndelivered(runs, size int) (end func()) {
	r := e.reporter
	r.mu.Lock()
	defer r.mu.Unlock()
	queue, bytes := r.queue, r.bytes
	r.queue, r.bytes = make([]result, runs), size
	r.failing, r.sending = true, r.sending+1 // nobody takes any of them
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.queue, r.bytes, r.failing = append(queue, r.queue[runs:]...), bytes+r.bytes-size, false
		r.sending--
	}
}

// EndTimeout is how long handlers have to return.
const EndTimeout = endTimeout

// AwaitHandlers has a shutdown wait for handlers for longer, as those of a busy machine take.
func (e *Executor) AwaitHandlers(limit time.Duration) { e.returning = limit }

const (
	MaxUndelivered      = maxUndelivered
	MaxUndeliveredBytes = maxUndeliveredBytes
)

// LeaveHeld makes it look as if the requests of runs took all but so many of the bytes that they may.
func (e *Executor) LeaveHeld(bytes int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held = maxHeldBytes - bytes
}

// ScriptsFolder is where the scripts of an executor are.
func ScriptsFolder(e *Executor) string { return e.scripts.dir }
