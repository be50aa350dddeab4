//go:build go1.26

package logpipe_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/executor/logpipe"
)

// reader is who takes the log.
type reader struct {
	mu    sync.Mutex
	text  bytes.Buffer
	fails bool
	gate  chan struct{} // if not nil, it reads when that is closed
}

func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	gate := r.gate
	r.mu.Unlock()
	if gate != nil {
		<-gate
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails {
		return 0, errors.New("no space left on device")
	}
	return r.text.Write(p)
}

func (r *reader) set(fails bool, gate chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails, r.gate = fails, gate
}

func (r *reader) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func say(lines int64) []byte { return fmt.Appendf(nil, "lost %d\n", lines) }

func write(t *testing.T, w io.Writer, line string) (took time.Duration) {
	t.Helper()
	began := time.Now()
	if n, err := io.WriteString(w, line); n != len(line) || err != nil {
		t.Errorf("write: %d, %v", n, err)
	}
	return time.Since(began)
}

func TestAWriteHasHappenedWhenItReturns(t *testing.T) {
	t.Parallel()
	var r reader
	w := logpipe.New(&r, say)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for k := range 100 {
				line := fmt.Sprintf("%d.%d\n", i, k)
				write(t, w, line)
				if !strings.Contains(r.String(), line) {
					t.Errorf("%q is not written yet", line)
				}
			}
		})
	}
	all.Wait()
	if n := strings.Count(r.String(), "\n"); n != 400 || w.Lost() != 0 {
		t.Errorf("%d lines, %d lost", n, w.Lost())
	}
}

// TestNobodyWaitsForAReaderThatDoesNotRead but the first, for a moment. What was kept comes in its order when it reads again.
func TestNobodyWaitsForAReaderThatDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r reader
		w := logpipe.New(&r, say)
		gate := make(chan struct{})
		r.set(false, gate)
		if took := write(t, w, "first\n"); took != 200*time.Millisecond {
			t.Errorf("the first waited for %v", took)
		}
		line := strings.Repeat("x", 1023) + "\n"
		for range 2000 {
			if took := write(t, w, line); took != 0 {
				t.Fatalf("a later one waited for %v", took)
			}
		}
		began := time.Now()
		w.Flush(time.Second)
		if took := time.Since(began); took != time.Second {
			t.Errorf("flushed after %v", took)
		}
		if r.String() != "" {
			t.Errorf("read: %q", r.String())
		}
		r.set(false, nil)
		close(gate)
		w.Flush(time.Minute)
		kept := 1<<20/1024 - 1 // the first takes the room of one
		if want := "first\n" + strings.Repeat(line, kept) + fmt.Sprintf("lost %d\n", 2000-kept); r.String() != want {
			t.Errorf("read %d lines: %.20q … %q", strings.Count(r.String(), "\n"), r.String(), r.String()[max(0, len(r.String())-30):])
		}
		if w.Lost() != int64(2000-kept) {
			t.Errorf("lost %d", w.Lost())
		}
		// It is as before.
		gate = make(chan struct{})
		r.set(false, gate)
		if took := write(t, w, "again\n"); took != 200*time.Millisecond {
			t.Errorf("the first of the next time waited for %v", took)
		}
		close(gate)
		w.Flush(time.Minute)
		if !strings.HasSuffix(r.String(), "again\n") {
			t.Error("the last line is missing")
		}
	})
}

// TestAWriteThatIsSlowIsWaitedFor as long as it is not too slow.
func TestAWriteThatIsSlowIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r reader
		w := logpipe.New(&r, say)
		for range 3 {
			gate := make(chan struct{})
			r.set(false, gate)
			time.AfterFunc(150*time.Millisecond, func() { close(gate) })
			if took := write(t, w, "slow\n"); took != 150*time.Millisecond {
				t.Errorf("it took %v", took)
			}
		}
		if r.String() != "slow\nslow\nslow\n" {
			t.Errorf("%q", r.String())
		}
	})
}

// TestALineThatCannotBeWrittenIsCounted, and said to be lost when others can.
func TestALineThatCannotBeWrittenIsCounted(t *testing.T) {
	t.Parallel()
	var r reader
	w := logpipe.New(&r, say)
	write(t, w, "one\n")
	r.set(true, nil)
	write(t, w, "two\n")
	write(t, w, "three\n")
	if w.Lost() != 2 {
		t.Errorf("lost %d", w.Lost())
	}
	r.set(false, nil)
	write(t, w, "four\n")
	w.Flush(time.Minute)
	if want := "one\nfour\nlost 2\n"; r.String() != want {
		t.Errorf("%q, want %q", r.String(), want)
	}
	// A line of any length is one.
	write(t, w, strings.Repeat("y", 3<<20)+"\n")
	if n := len(r.String()); n < 3<<20 || w.Lost() != 2 {
		t.Errorf("%d bytes, %d lost", n, w.Lost())
	}
}
