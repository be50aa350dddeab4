package app

import (
	"log/slog"
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

const (
	// foreignEvery is how often the log says of an address what answers there. A proxy whose executor is gone answers each call with a page,
	// and there are as many calls as runs, and questions after them.
	foreignEvery = time.Minute
	// foreignMost is for how many addresses it is known; of more nothing is said until the minute of one of them is over.
	foreignMost = 200
)

// foreign says in the log what answered in place of executors.
type foreign struct {
	logger *slog.Logger

	mu   sync.Mutex
	said map[string]*foreignSaid // by address
}

type foreignSaid struct {
	at    time.Time
	calls int // since then
}

func newForeign(logger *slog.Logger) *foreign {
	return &foreign{logger: logger, said: make(map[string]*foreignSaid)}
}

// note takes note of a call.
func (f *foreign) note(address string, e *wire.CallError) {
	calls, due := f.due(address, time.Now())
	if due {
		f.logger.Info("what answered is no executor", "executor", address, "stage", string(e.Stage), "body", e.Body, "calls", calls)
	}
}

// due reports whether something is to be said of an address, and of how many calls.
func (f *foreign) due(address string, now time.Time) (calls int, due bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.said[address]
	if s == nil {
		if len(f.said) >= foreignMost {
			for a, other := range f.said {
				if now.Sub(other.at) >= foreignEvery {
					delete(f.said, a)
				}
			}
		}
		if len(f.said) >= foreignMost {
			return 0, false
		}
		f.said[address] = &foreignSaid{at: now}
		return 1, true
	}
	s.calls++
	if now.Sub(s.at) < foreignEvery {
		return 0, false
	}
	calls, s.at, s.calls = s.calls, now, 0
	return calls, true
}
