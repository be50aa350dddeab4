//go:build go1.26

package executor

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// fakeSender takes results as an admin would, after delay, or fails.
type fakeSender struct {
	mu      sync.Mutex
	delay   time.Duration
	err     error
	batches [][]wire.Callback
	at      []time.Time // of every attempt
}

func (f *fakeSender) Callback(ctx context.Context, callbacks []wire.Callback) error {
	f.mu.Lock()
	f.at = append(f.at, time.Now())
	delay, err := f.delay, f.err
	f.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.batches = append(f.batches, callbacks)
	f.mu.Unlock()
	return nil
}

func (f *fakeSender) fail(err error) {
	f.mu.Lock()
	f.err = err
	f.mu.Unlock()
}

func (f *fakeSender) attempts() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.at)
}

func (f *fakeSender) results() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.batches {
		n += len(b)
	}
	return n
}

// inBubble runs a reporter with a journal in dir inside a synctest bubble.
func inBubble(t *testing.T, sender *fakeSender, batch int, test func(t *testing.T, r *reporter, stop func())) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		j := openTestJournal(t, dir)
		go j.run()
		r := newReporter(sender, j, batch, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { r.run(ctx) })
		stop := func() { cancel(); wg.Wait() }
		test(t, r, stop)
		stop()
		j.close()
		if n := len(j.live); n != r.undelivered() {
			t.Errorf("the journal keeps %d results, the reporter %d", n, r.undelivered())
		}
	})
}

func (r *reporter) addResult(id int64, msg string) {
	cb := &wire.Callback{LogID: id, HandleCode: 200, HandleMsg: msg}
	r.add(result{cb: cb, safe: r.journal.finished(cb)})
}

func TestReporterBatches(t *testing.T) {
	t.Parallel()
	sender := &fakeSender{delay: time.Second}
	inBubble(t, sender, 10, func(t *testing.T, r *reporter, _ func()) {
		for id := range int64(100) {
			r.addResult(id, "")
		}
		time.Sleep(time.Minute)
		if n := sender.results(); n != 100 {
			t.Errorf("%d results sent", n)
		}
		synctest.Wait()
		for _, b := range sender.batches {
			if len(b) > 10 {
				t.Errorf("a batch of %d", len(b))
			}
		}
		if len(sender.batches) > 13 {
			t.Errorf("%d requests for 100 results", len(sender.batches))
		}
		big := string(make([]byte, maxBatchBytes/2))
		sender.batches = nil
		for id := range int64(6) {
			r.addResult(id+1000, big)
		}
		time.Sleep(time.Minute)
		if n := sender.results(); n != 6 || len(sender.batches) < 3 {
			t.Errorf("%d big results in %d requests", n, len(sender.batches))
		}
	})
}

func TestReporterBacksOffAndDeliversLater(t *testing.T) {
	t.Parallel()
	sender := &fakeSender{err: errors.New("admin is away")}
	inBubble(t, sender, 10, func(t *testing.T, r *reporter, _ func()) {
		for id := range int64(30) {
			r.addResult(id, "")
		}
		time.Sleep(10 * time.Minute)
		before := sender.attempts()
		if before < 20 || before > 60 {
			t.Errorf("%d attempts in ten minutes", before)
		}
		for id := range int64(600) { // new results are no reason to try more often
			r.addResult(1000+id, "")
			time.Sleep(time.Second)
		}
		if n := sender.attempts() - before; n > 60 {
			t.Errorf("%d attempts in ten minutes in which a result came every second", n)
		}
		if got := r.undelivered(); got != 630 {
			t.Errorf("%d undelivered", got)
		}
		sender.fail(nil)
		time.Sleep(lastRetry + time.Second)
		if sender.results() != 630 || r.undelivered() != 0 {
			t.Errorf("%d delivered, %d not", sender.results(), r.undelivered())
		}
		r.addResult(99, "")
		synctest.Wait()
		if sender.results() != 631 {
			t.Error("a new result waits although the admin is back")
		}
	})
}

func TestReporterFlush(t *testing.T) {
	t.Parallel()
	t.Run("waits for what is under way", func(t *testing.T) {
		t.Parallel()
		sender := &fakeSender{delay: 2 * time.Second}
		inBubble(t, sender, 10, func(t *testing.T, r *reporter, _ func()) {
			for id := range int64(25) {
				r.addResult(id, "")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r.flush(ctx)
			if sender.results() != 25 {
				t.Errorf("%d delivered", sender.results())
			}
		})
	})
	t.Run("gives up when no admin answers", func(t *testing.T) {
		t.Parallel()
		sender := &fakeSender{err: errors.New("away"), delay: time.Second}
		inBubble(t, sender, 10, func(t *testing.T, r *reporter, _ func()) {
			r.addResult(1, "")
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r.flush(ctx)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("flush took %v", took)
			}
			if r.undelivered() != 1 {
				t.Errorf("%d undelivered", r.undelivered())
			}
		})
	})
}

func TestAReporterIsFullAtItsBounds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		results, bytes int
		want           bool
	}{
		{"nothing", 0, 0, false},
		{"one less than too many", maxUndelivered - 1, 0, false},
		{"too many", maxUndelivered, 0, true},
		{"a byte less than too large", 1, maxUndeliveredBytes - 1, false},
		{"too large", 1, maxUndeliveredBytes, true},
	} {
		r := &reporter{queue: make([]result, tt.results), bytes: tt.bytes}
		if got := r.full(); got != tt.want {
			t.Errorf("%s: full %v, want %v", tt.name, got, tt.want)
		}
	}
	r, half := newReporter(nil, nil, 1, nil), strings.Repeat("x", maxUndeliveredBytes/2)
	for _, want := range []bool{false, true} {
		r.add(result{cb: &wire.Callback{HandleMsg: half}})
		if r.full() != want {
			t.Errorf("full %v after %d results of half the size", r.full(), len(r.queue))
		}
	}
}
