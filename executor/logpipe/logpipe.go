// Package logpipe writes a program's log to a pipe or a socket that somebody else reads, who may stop: a daemon of logs that hangs, a
// container's log driver whose disk is full. A write to it would wait for as long, and with it whoever logs.
package logpipe

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

const (
	// patience is how long a write waits to have happened. When one has not, nobody waits before all that was kept is written.
	patience = 200 * time.Millisecond
	// most is how much is kept meanwhile, bytes. What is more is lost, and counted.
	most = 1 << 20
)

// Writer is an [io.Writer] that does not stand still for longer than a moment. As long as what it writes to takes it, a write has happened
// when it returns.
type Writer struct {
	to  io.Writer
	say func(lines int64) []byte

	mu     sync.Mutex
	queue  []entry
	size   int           // of what is in it
	late   bool          // a write has taken too long
	idle   chan struct{} // closed when nothing is to be written any more; nil: nothing is
	untold int64         // lines that were lost, and not said to be
	lost   int64
}

type entry struct {
	text    []byte
	written chan struct{}
}

// New makes a writer of lines. say is the line that tells how many were lost; it is written when others can be again.
func New(to io.Writer, say func(lines int64) []byte) *Writer { return &Writer{to: to, say: say} }

// Line is the line for [New] as a handler writes it.
func Line(handler func(io.Writer) slog.Handler) func(lines int64) []byte {
	return func(lines int64) []byte {
		var line bytes.Buffer
		slog.New(handler(&line)).Error("lines of this log were lost: whoever reads it did not take them", "lines", lines)
		return line.Bytes()
	}
}

// OutliveReader has the program go on when whoever read its output is gone. It would be killed, as is right for a command in a pipeline.
func OutliveReader() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// Write implements [io.Writer] for one line. It keeps a copy, and has no error: a line that cannot be written is counted by [Writer.Lost].
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	if w.size > 0 && w.size+len(line) > most {
		w.lose(1)
		w.mu.Unlock()
		return len(line), nil
	}
	e := entry{bytes.Clone(line), make(chan struct{})}
	w.queue = append(w.queue, e)
	w.size += len(line)
	if w.idle == nil {
		w.idle = make(chan struct{})
		go w.empty()
	}
	late := w.late
	w.mu.Unlock()
	if late {
		return len(line), nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-e.written:
	case <-timer.C:
		w.mu.Lock()
		defer w.mu.Unlock()
		w.late = w.idle != nil
	}
	return len(line), nil
}

// Lost is how many lines were lost.
func (w *Writer) Lost() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// Flush waits until everything is written, or the limit is over.
func (w *Writer) Flush(limit time.Duration) {
	w.mu.Lock()
	idle := w.idle
	w.mu.Unlock()
	if idle == nil {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}

func (w *Writer) lose(lines int64) {
	w.lost += lines
	w.untold += lines
}

// empty writes what is in the queue, until there is no more.
func (w *Writer) empty() {
	failed := false
	for {
		w.mu.Lock()
		if len(w.queue) > 0 {
			e := w.queue[0]
			w.queue = w.queue[1:]
			w.mu.Unlock()
			failed = !w.put(e.text, 1)
			close(e.written)
			w.mu.Lock()
			w.size -= len(e.text)
			w.mu.Unlock()
			continue
		}
		untold := w.untold
		if untold == 0 || failed { // it would fail as well
			close(w.idle)
			w.queue, w.idle, w.late = nil, nil, false
			w.mu.Unlock()
			return
		}
		w.untold = 0
		w.mu.Unlock()
		if line := w.say(untold); !w.put(line, 0) {
			failed = true
			w.mu.Lock()
			w.untold += untold
			w.mu.Unlock()
		}
	}
}

// put writes, and counts the lines as lost if that fails.
func (w *Writer) put(text []byte, lines int64) bool {
	_, err := w.to.Write(text)
	if err != nil {
		w.mu.Lock()
		w.lose(lines)
		w.mu.Unlock()
	}
	return err == nil
}
