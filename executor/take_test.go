//go:build go1.26

package executor

import (
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// TestWhatIsTakenAndGivenBackIsCounted: the bound of the results that wait is about what really waits.
func TestWhatIsTakenAndGivenBackIsCounted(t *testing.T) {
	t.Parallel()
	r := newReporter(nil, nil, 2, slog.New(slog.DiscardHandler))
	for id := range int64(3) {
		r.add(result{cb: &wire.Callback{LogID: id, HandleMsg: "0123456789"}})
	}
	want := func(when string, bytes, undelivered int, ids ...int64) {
		t.Helper()
		var got []int64
		for _, res := range r.queue {
			got = append(got, res.cb.LogID)
		}
		if r.bytes != bytes || r.undelivered() != undelivered || !slices.Equal(got, ids) {
			t.Errorf("%s: %d bytes of %v wait, %d are undelivered; want %d of %v, %d", when, r.bytes, got, r.undelivered(), bytes, ids, undelivered)
		}
	}
	taken := r.take(true)
	want("two under way", 10, 3, 2)
	r.giveBack(taken, nil)
	want("given back", 30, 3, 0, 1, 2)
	if r.failing {
		t.Error("nothing failed")
	}
	taken = r.take(false)
	r.giveBack(taken, errors.New("no admin answers"))
	want("failed", 30, 3, 0, 1, 2)
	if r.take(false) != nil {
		t.Error("another sender tries while requests fail")
	}
	if taken = r.take(true); len(taken) != 2 || r.take(true) != nil {
		t.Error("while requests fail, one is tried at a time")
	}
}

// TestARequestHasResultsForOneAdmin: what others sent is left for the next, in its order. While requests fail, whoever answers gets all.
func TestARequestHasResultsForOneAdmin(t *testing.T) {
	t.Parallel()
	const batch = 3
	for _, tt := range []struct {
		name       string
		nodes      []int64 // of the results, by their places
		failing    bool
		takes      [][]int64 // places, request by request
		remembered []int64   // that the client can tell apart
	}{
		{"one admin", []int64{7, 7, 7, 7}, false, [][]int64{{0, 1, 2}, {3}}, []int64{7}},
		{"two by turns", []int64{7, 8, 7, 8, 7, 8, 7}, false, [][]int64{{0, 2, 4}, {1, 3, 5}, {6}}, []int64{7, 8}},
		{"those that are not known go together", []int64{7, 9, 0, 7, 10}, false, [][]int64{{0, 3}, {1, 2, 4}}, []int64{7}},
		{"none is known", []int64{7, 8, 7}, false, [][]int64{{0, 1, 2}}, nil},
		{"while requests fail", []int64{7, 8, 7, 8}, true, [][]int64{{0, 1, 2}, {3}}, []int64{7, 8}},
		{"not farther than is looked", []int64{7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7}, false, [][]int64{{0}, {1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11}, {12}}, []int64{7, 8}},
	} {
		r := newReporter(&fakeSender{nodes: tt.remembered}, nil, batch, slog.New(slog.DiscardHandler))
		for at, node := range tt.nodes {
			r.add(result{cb: &wire.Callback{LogID: int64(at), Node: node, HandleMsg: "0123456789"}})
		}
		r.failing = tt.failing
		left := len(tt.nodes)
		for i, want := range tt.takes {
			taken := r.take(true)
			var got []int64
			for _, res := range taken {
				got = append(got, res.cb.LogID)
			}
			left -= len(taken)
			if !slices.Equal(got, want) || len(r.queue) != left || r.bytes != 10*left || r.undelivered() != left+r.sending {
				t.Errorf("%s: request %d has %v, want %v; %d wait with %d bytes, want %d", tt.name, i, got, want, len(r.queue), r.bytes, left)
			}
			if !slices.IsSortedFunc(r.queue, func(a, b result) int { return int(a.cb.LogID - b.cb.LogID) }) {
				t.Errorf("%s: what waits has another order", tt.name)
			}
			r.sending = 0 // it was delivered
		}
		if left != 0 || r.take(true) != nil {
			t.Errorf("%s: %d wait at the end", tt.name, left)
		}
	}
}

// TestASecondOutageBeginsAnew: after a delivery the next failure is tried again as soon as the first was.
func TestASecondOutageBeginsAnew(t *testing.T) {
	t.Parallel()
	away := errors.New("admin is away")
	sender := &fakeSender{err: away}
	inBubble(t, sender, 10, func(t *testing.T, r *reporter, _ func()) {
		r.addResult(1, "")
		time.Sleep(10 * time.Minute)
		sender.fail(nil)
		time.Sleep(lastRetry)
		if sender.results() != 1 {
			t.Fatalf("%d delivered", sender.results())
		}
		sender.fail(away)
		before := sender.attempts()
		r.addResult(2, "")
		time.Sleep(firstRetry + time.Millisecond)
		if n := sender.attempts() - before; n != 2 {
			t.Errorf("%d attempts in the first %v of an outage, want 2", n, firstRetry)
		}
		sender.fail(nil)
		time.Sleep(lastRetry)
	})
}

// TestWhoeverFailsTheResultIsTriedAgain: which of the senders a result wakes is chance, and only the first tries again.
func TestWhoeverFailsTheResultIsTriedAgain(t *testing.T) {
	t.Parallel()
	sender := &fakeSender{}
	inBubble(t, sender, 10, func(t *testing.T, r *reporter, _ func()) {
		for n := range 3 * senders {
			synctest.Wait()
			for range n % senders { // wakes as many before
				r.addResult(int64(1000+sender.results()), "")
				synctest.Wait()
			}
			delivered := sender.results()
			sender.fail(errors.New("admin is away"))
			r.addResult(int64(n), "")
			time.Sleep(time.Hour)
			sender.fail(nil)
			time.Sleep(lastRetry)
			if got := sender.results() - delivered; got != 1 {
				t.Fatalf("after %d others, a result that failed was delivered %d times within %v after the admin was back", n%senders, got, lastRetry)
			}
		}
	})
}
