package route

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// asked is a set of fake executors: how long each takes to answer, and whether it says yes.
type asked struct {
	answers map[string]answer

	mu      sync.Mutex
	order   []string
	running int
	most    int
}

type answer struct {
	after time.Duration
	ok    bool
}

func (f *asked) ask(ctx context.Context, address string) Reply {
	f.mu.Lock()
	f.order = append(f.order, address)
	f.running++
	f.most = max(f.most, f.running)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.running--
		f.mu.Unlock()
	}()
	a := f.answers[address]
	timer := time.NewTimer(a.after)
	defer timer.Stop()
	select {
	case <-timer.C:
		return Reply{Address: address, OK: a.ok, Text: "answered"}
	case <-ctx.Done():
		return Reply{Address: address, Text: "cancelled"}
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		addresses []string
		answers   map[string]answer
		want      string
		replies   int
		takes     time.Duration
	}{
		{"nobody to ask", nil, nil, "", 0, 0},
		{"the first that says yes wins", []string{"a", "b"}, map[string]answer{"a": {time.Second, true}, "b": {time.Second, true}}, "a", 1, time.Second},
		{"the order decides, not the speed", []string{"a", "b"}, map[string]answer{"a": {3 * time.Second, true}, "b": {time.Millisecond, true}}, "a", 1, 3 * time.Second},
		{"a refusal passes on", []string{"a", "b"}, map[string]answer{"a": {time.Second, false}, "b": {time.Second, true}}, "b", 2, time.Second},
		{"dead executors cost one time-out together", []string{"a", "b", "c", "d"},
			map[string]answer{"a": {3 * time.Second, false}, "b": {3 * time.Second, false}, "c": {3 * time.Second, false}, "d": {time.Second, true}}, "d", 4, 3 * time.Second},
		{"nobody is waited for behind the winner", []string{"a", "b"}, map[string]answer{"a": {time.Second, true}, "b": {time.Hour, false}}, "a", 1, time.Second},
		{"nobody says yes", []string{"a", "b"}, map[string]answer{"a": {time.Second, false}, "b": {2 * time.Second, false}}, "", 2, 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &asked{answers: tt.answers}
				began := time.Now()
				got, replies := Probe(t.Context(), tt.addresses, f.ask)
				if got != tt.want || len(replies) != tt.replies {
					t.Errorf("got %q after the replies %v, want %q after %d", got, replies, tt.want, tt.replies)
				}
				for i, r := range replies {
					if r.Address != tt.addresses[i] {
						t.Errorf("reply %d is of %q, want the order of the addresses", i, r.Address)
					}
				}
				if took := time.Since(began); took != tt.takes {
					t.Errorf("took %s, want %s", took, tt.takes)
				}
			})
		})
	}
}

func TestProbeAsksOnlySoManyAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &asked{answers: make(map[string]answer)}
		var addresses []string
		for i := range 3 * probesAtOnce {
			a := fmt.Sprint("executor ", i)
			addresses = append(addresses, a)
			f.answers[a] = answer{after: time.Second}
		}
		began := time.Now()
		if got, replies := Probe(t.Context(), addresses, f.ask); got != "" || len(replies) != len(addresses) {
			t.Errorf("got %q after %d replies", got, len(replies))
		}
		if f.most != probesAtOnce {
			t.Errorf("asked %d at once, want %d", f.most, probesAtOnce)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %s, want three rounds of a second", took)
		}
		slices.Sort(f.order[:probesAtOnce])
		first := slices.Clone(addresses[:probesAtOnce])
		slices.Sort(first)
		if !slices.Equal(f.order[:probesAtOnce], first) {
			t.Errorf("asked first: %v", f.order[:probesAtOnce])
		}
	})
}

func TestProbeEndsWithItsContextAndLeavesNobodyBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &asked{answers: map[string]answer{"a": {time.Second, false}, "b": {time.Hour, true}, "c": {time.Hour, true}}}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		got, replies := Probe(ctx, []string{"a", "b", "c"}, f.ask)
		if got != "" || len(replies) != 3 || replies[0].Text != "answered" {
			t.Errorf("got %q after %v", got, replies)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("took %s, want 2s", took)
		}
		if f.running != 0 {
			t.Errorf("%d still ask", f.running)
		}
	})
}

// TestProbeAsksNobodyAfterItsContext has executors that are slow to hear that nobody waits for them any more.
func TestProbeAsksNobodyAfterItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var asked atomic.Int64
		_, replies := Probe(ctx, make([]string, probesAtOnce+5), func(ctx context.Context, address string) Reply {
			asked.Add(1)
			<-ctx.Done()
			time.Sleep(time.Second)
			return Reply{Address: address}
		})
		if n := asked.Load(); n != probesAtOnce || len(replies) != probesAtOnce+5 {
			t.Errorf("%d were asked, %d replied", n, len(replies))
		}
	})
}
