package logpipe

import (
	"context"
	"io"
	"log/slog"
	"sync"
)

// Handler makes the handler of a program's log. Where systemd's journal reads standard error, each line begins with its priority, which the
// journal takes off: `journalctl --priority=warning` then finds the warnings. It would have all lines for information.
func Handler(make func(io.Writer) slog.Handler, to io.Writer) slog.Handler {
	if !toJournal() {
		return make(to)
	}
	return withPriorities(make, to)
}

func withPriorities(make func(io.Writer) slog.Handler, to io.Writer) slog.Handler {
	w := &prioritized{to: to}
	return priorities{make(w), w}
}

// priorities is a handler each of whose lines begins with its priority.
type priorities struct {
	slog.Handler
	to *prioritized
}

// prioritized writes a priority before a line.
type prioritized struct {
	mu     sync.Mutex // held while a record is written
	to     io.Writer
	before string
}

// Write implements [io.Writer] for one line, in one write.
func (w *prioritized) Write(line []byte) (int, error) {
	if _, err := w.to.Write(append([]byte(w.before), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// Handle implements [slog.Handler].
func (h priorities) Handle(ctx context.Context, r slog.Record) error {
	h.to.mu.Lock()
	defer h.to.mu.Unlock()
	switch { // as syslog(3) counts
	case r.Level >= slog.LevelError:
		h.to.before = "<3>"
	case r.Level >= slog.LevelWarn:
		h.to.before = "<4>"
	case r.Level >= slog.LevelInfo:
		h.to.before = "<6>"
	default:
		h.to.before = "<7>"
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h priorities) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.Handler = h.Handler.WithAttrs(attrs)
	return h
}

// WithGroup implements [slog.Handler].
func (h priorities) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}
