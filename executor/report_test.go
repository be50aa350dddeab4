//go:build go1.26

package executor

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strconv"
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
	nodes   []int64     // that it can tell apart
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

func (f *fakeSender) Knows(node int64) bool { return slices.Contains(f.nodes, node) }

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
			if id < senders {
				synctest.Wait() // or it is the scheduler's choice how many of them a sender finds
			}
		}
		time.Sleep(time.Minute)
		if n := sender.results(); n != 100 {
			t.Errorf("%d results sent", n)
		}
		synctest.Wait()
		var sizes []int
		for _, b := range sender.batches {
			sizes = append(sizes, len(b))
		}
		// Each sender takes one alone; what comes while they are busy goes in full batches.
		slices.Sort(sizes) // some are sent at the same time
		if want := []int{1, 1, 1, 1, 6, 10, 10, 10, 10, 10, 10, 10, 10, 10}; !slices.Equal(sizes, want) {
			t.Errorf("100 results went in requests of %v, want %v", sizes, want)
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

// TestResultsAreDeliveredAtOnceWhereAnAdminIsReachedAgain, also where an attempt that was made before is still under way then; and no sooner where
// nothing had failed.
func TestResultsAreDeliveredAtOnceWhereAnAdminIsReachedAgain(t *testing.T) {
	t.Parallel()
	for name, delay := range map[string]time.Duration{"between attempts": 0, "during an attempt": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sender := &fakeSender{err: errors.New("the network is away"), delay: delay}
			inBubble(t, sender, 10, func(t *testing.T, r *reporter, _ func()) {
				r.reached() // of which nothing is left
				r.addResult(1, "")
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				before := sender.attempts()
				for sender.attempts() == before { // the longest pause begins, or the attempt
					time.Sleep(time.Millisecond)
					synctest.Wait()
				}
				sender.mu.Lock()
				sender.err, sender.delay = nil, 0
				sender.mu.Unlock()
				r.reached()
				time.Sleep(delay)
				synctest.Wait()
				if sender.results() != 1 {
					t.Errorf("it is not delivered %v after an admin was reached again", delay)
				}
			})
		})
	}
}

func TestReporterFlush(t *testing.T) {
	t.Parallel()
	t.Run("waits for what is under way", func(t *testing.T) {
		t.Parallel()
		sender := &fakeSender{delay: 2 * time.Second}
		inBubble(t, sender, 10, func(t *testing.T, r *reporter, _ func()) {
			r.mu.Lock() // or a sender takes the first of them alone
			for id := range int64(25) {
				r.queue = append(r.queue, result{cb: &wire.Callback{LogID: id}})
			}
			r.mu.Unlock()
			for range senders {
				r.poke()
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			synctest.Wait() // all of it is in requests
			start := time.Now()
			r.flush(ctx)
			if took := time.Since(start); sender.results() != 25 || took != sender.delay {
				t.Errorf("%d delivered after %v", sender.results(), took)
			}
		})
	})
	t.Run("sees that what is under way fails", func(t *testing.T) {
		t.Parallel()
		sender := &fakeSender{err: errors.New("away"), delay: time.Second}
		inBubble(t, sender, 10, func(t *testing.T, r *reporter, _ func()) {
			r.addResult(1, "")
			synctest.Wait()
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r.flush(ctx)
			if took := time.Since(start); took > 5*time.Second || r.undelivered() != 1 {
				t.Errorf("%d undelivered after %v", r.undelivered(), took)
			}
		})
	})
	t.Run("waits for the attempt that may be the first to succeed", func(t *testing.T) {
		t.Parallel()
		sender := &fakeSender{err: errors.New("away")}
		inBubble(t, sender, 10, func(t *testing.T, r *reporter, _ func()) {
			for id := range int64(20) {
				r.addResult(id, "")
			}
			synctest.Wait()
			sender.mu.Lock()
			sender.err, sender.delay = nil, 2*time.Second
			before := len(sender.at)
			sender.mu.Unlock()
			for sender.attempts() == before {
				time.Sleep(time.Millisecond)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if r.flush(ctx); sender.results() != 20 {
				t.Errorf("%d delivered", sender.results())
			}
		})
	})
	t.Run("sends what nobody else sends", func(t *testing.T) {
		t.Parallel()
		sender := &fakeSender{}
		inBubble(t, sender, 10, func(t *testing.T, r *reporter, stop func()) {
			stop()
			for id := range int64(25) {
				r.addResult(id, "")
			}
			if r.flush(t.Context()); sender.results() != 25 || sender.attempts() != 3 {
				t.Errorf("%d delivered in %d requests", sender.results(), sender.attempts())
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

// TestWhatOneRequestTakes: no more than a body may have, nor than a batch, and never nothing.
func TestWhatOneRequestTakes(t *testing.T) {
	t.Parallel()
	bytes := func(n int) result { return result{cb: &wire.Callback{HandleMsg: strings.Repeat("x", n)}} }
	outputs := func(n int) result {
		return result{cb: &wire.Callback{Outputs: map[string]string{"key": strings.Repeat("x", n-3)}}}
	}
	const most = maxBatchBytes
	for _, tt := range []struct {
		name  string
		queue []result
		want  int
	}{
		{"nothing", nil, 0},
		{"all that fits", []result{bytes(most / 2), bytes(most / 2)}, 2},
		{"not a byte more", []result{bytes(most / 2), bytes(most/2 + 1)}, 1},
		{"one that is too large goes alone", []result{bytes(most + 1), bytes(0)}, 1},
		{"what a run gave counts", []result{outputs(most / 2), outputs(most/2 + 1)}, 1},
		{"to the byte", []result{outputs(most / 2), outputs(most / 2)}, 2},
		{"no more than a batch", []result{bytes(1), bytes(1), bytes(1), bytes(1)}, 3},
	} {
		r := newReporter(nil, nil, 3, nil)
		for _, res := range tt.queue {
			r.add(res)
		}
		before, all := r.bytes, r.queue
		taken := r.take(false)
		if len(taken) != tt.want || r.undelivered() != len(tt.queue) || len(r.queue) != len(tt.queue)-tt.want {
			t.Errorf("%s: %d taken, want %d; %d are undelivered", tt.name, len(taken), tt.want, r.undelivered())
		}
		for i := range taken {
			if all[i].cb != nil {
				t.Errorf("%s: the queue holds on to what was taken", tt.name)
			}
		}
		if left := len(tt.queue) - tt.want; (left == 0) != (r.queue == nil) {
			t.Errorf("%s: the queue of %d is kept", tt.name, left)
		}
		r.giveBack(taken, nil)
		for i := range tt.queue {
			if r.queue[i].cb != tt.queue[i].cb {
				t.Errorf("%s: the order is another when it was given back", tt.name)
			}
		}
		if r.bytes != before || r.sending != 0 || r.failing || len(r.trouble) != 0 {
			t.Errorf("%s: given back without an error: %d bytes of %d, failing %t, trouble %d", tt.name, r.bytes, before, r.failing, len(r.trouble))
		}
	}
}

// TestWhileRequestsFailOnlyOneTries, one request at a time, whoever's failed first.
func TestWhileRequestsFailOnlyOneTries(t *testing.T) {
	t.Parallel()
	r := newReporter(nil, nil, 1, slog.New(slog.DiscardHandler))
	state := func(retries, stuck bool) {
		t.Helper()
		if r.retries() != retries || r.stuck() != stuck {
			t.Errorf("retries %t, stuck %t, want %t, %t", r.retries(), r.stuck(), retries, stuck)
		}
	}
	r.add(result{cb: &wire.Callback{LogID: 1}})
	state(false, false)
	r.add(result{cb: &wire.Callback{LogID: 2}})
	one, two := r.take(false), r.take(true)
	r.giveBack(one, errors.New("away"))
	if len(r.trouble) != 1 {
		t.Error("the first sender is not told")
	}
	state(true, false)
	if len(r.take(true)) != 0 {
		t.Error("a second request is begun while requests fail")
	}
	r.giveBack(two, errors.New("away"))
	state(true, true)
	if len(r.take(false)) != 0 {
		t.Error("another than the first sender tries")
	}
	again := append(r.take(true), r.take(true)...)
	if len(again) != 1 {
		t.Errorf("the first sender has %d requests at a time", len(again))
	}
	r.sending--
	r.queue = nil
	state(false, true)
	<-r.changed
	if r.giveBack(nil, nil); len(r.changed) != 0 {
		t.Error("nothing was given back, and somebody is woken")
	}
}

// TestAllSendAgainWhenTheAdminIsBack: the first request that succeeds wakes the others.
func TestAllSendAgainWhenTheAdminIsBack(t *testing.T) {
	t.Parallel()
	sender := &fakeSender{err: errors.New("away")}
	inBubble(t, sender, 10, func(t *testing.T, r *reporter, _ func()) {
		for id := range int64(70) {
			r.addResult(id, "")
		}
		time.Sleep(time.Minute)
		sender.mu.Lock()
		sender.err, sender.delay, sender.at = nil, time.Second, nil
		sender.mu.Unlock()
		time.Sleep(lastRetry + 10*time.Second)
		synctest.Wait() // nobody writes what is read
		var at []time.Duration
		for _, when := range sender.at {
			at = append(at, when.Sub(sender.at[0]))
		}
		if want := []time.Duration{0, 1e9, 1e9, 1e9, 1e9, 2e9, 2e9}; !slices.Equal(at, want) {
			t.Errorf("seven requests began after %v, want %v", at, want)
		}
	})
}

// TestAResultIsInTheJournalBeforeItIsSent, or the admin would hear of it, and this process not know that it was done.
func TestAResultIsInTheJournalBeforeItIsSent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		sender := &fakeSender{}
		j := openTestJournal(t, dir)
		r := newReporter(sender, j, 10, slog.New(slog.DiscardHandler))
		r.addResult(1, "")
		var sent sync.WaitGroup
		sent.Go(func() { r.sendOnce(t.Context(), true) })
		synctest.Wait()
		if sender.attempts() != 0 {
			t.Error("it is sent before the journal has it")
		}
		go j.run()
		sent.Wait()
		if sender.results() != 1 || r.undelivered() != 0 {
			t.Errorf("%d delivered, %d not", sender.results(), r.undelivered())
		}
		r.add(result{cb: &wire.Callback{LogID: 2}}) // the journal had it
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if r.sendOnce(over, true) || len(r.queue) != 1 || r.undelivered() != 1 {
			t.Errorf("a stop loses what was to be sent: %d are undelivered", r.undelivered())
		}
		if !r.sendOnce(t.Context(), true) || sender.results() != 2 {
			t.Error("what the journal had is not sent")
		}
		j.close()
	})
}

// TestResultsSayHowLongTheyWaited, by which the admin knows when their runs ended: within one process, and of what the journal kept.
func TestResultsSayHowLongTheyWaited(t *testing.T) {
	sender := &fakeSender{err: errors.New("no admin can be reached")}
	inBubble(t, sender, 10, func(t *testing.T, r *reporter, stop func()) {
		at := time.Now()
		kept := &wire.Callback{LogID: 1, HandleCode: 200, Ended: at.UnixMilli()}
		r.add(result{cb: kept, ended: at, safe: r.journal.finished(kept)})
		r.add(result{cb: &wire.Callback{LogID: 2, HandleCode: 200}, ended: time.UnixMilli(0)}) // of a former version's journal
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if body, err := json.Marshal(r.journal.live[1].result); err != nil || !strings.Contains(string(body), `"endedAt":`+strconv.FormatInt(at.UnixMilli(), 10)) {
			t.Errorf("the journal has %s, %v", body, err)
		}
		sender.fail(nil)
		time.Sleep(lastRetry)
		r.add(result{cb: &wire.Callback{LogID: 3, HandleCode: 200}, ended: time.Now()})
		synctest.Wait()
		got := make(map[int64]wire.Callback)
		for _, b := range sender.batches {
			for _, cb := range b {
				got[cb.LogID] = cb
			}
		}
		if w := got[1].Waited; w < (10*time.Minute).Milliseconds() || w > (10*time.Minute+lastRetry).Milliseconds() || got[1].Ended != 0 {
			t.Errorf("sent %+v", got[1])
		}
		if got[2].Waited != 0 || got[3].Waited != 1 {
			t.Errorf("sent %+v and %+v", got[2], got[3])
		}
		stop()
	})
}
