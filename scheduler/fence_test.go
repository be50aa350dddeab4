package scheduler

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
)

// TestP3AnAdminThatStopsBeforeTheFirstByteSendsNothing has the lease run out between the last look at it and the sending.
func TestP3AnAdminThatStopsBeforeTheFirstByteSendsNothing(t *testing.T) {
	t.Parallel()
	var arrived atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Add(1)
		_, _ = io.WriteString(w, `{"code":200}`)
	}))
	defer server.Close()
	var slept atomic.Int64
	b := setup(t, dbtest.New(t, db.SQLite), func(c *Config) {
		c.BeatEvery, c.Lease, c.slept = time.Hour, time.Hour, func() time.Duration { return time.Duration(slept.Load()) }
	}, server.URL)
	client := wire.NewExecutorClient(nil)
	defer client.Close()
	held := make(chan error, 10)
	stopped := false
	b.executors.call = func(ctx context.Context, to wire.Target, req *wire.RunRequest) (wire.Answer, error) {
		if !stopped {
			stopped = true
			slept.Store(int64(time.Hour))
		}
		answer, err := client.Run(ctx, to, req)
		held <- err
		return answer, err
	}
	id := b.trigger(b.addJob(nil))
	if err := <-held; !errors.Is(err, wire.ErrGate) || arrived.Load() != 0 {
		t.Errorf("the call: %v, and %d arrived", err, arrived.Load())
	}
	b.engine.node.BeatSoon()
	b.await("the run is sent when the lease is renewed", func() bool { return b.run(id).TriggerCode == wire.CodeSuccess })
	if n := arrived.Load(); n != 1 {
		t.Errorf("the run arrived %d times", n)
	}
}

// TestP3ARunOfAnEarlierIDDoesNotLeave: who was declared gone while a call was being made has a fresh lease under another id, and the run
// is another's.
func TestP3ARunOfAnEarlierIDDoesNotLeave(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), alone, addressA)
	for owner, want := range map[int64]bool{b.engine.node.ID(): true, b.engine.node.ID() - 1: false} {
		if got := b.engine.mayReach([]leaving{{d: &dispatch{owner: owner}}})(); got != want {
			t.Errorf("a run of %d may leave node %d: %v", owner, b.engine.node.ID(), got)
		}
	}
}

// TestP3ACallEndsBeforeItsRunIsTakenOver: another admin would ask the executor while the request is still on its way.
func TestP3ACallEndsBeforeItsRunIsTakenOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ lease, call, want time.Duration }{
		"a long call": {20 * time.Minute, time.Hour, 20 * time.Minute}, "a short one": {time.Hour, 20 * time.Minute, 20 * time.Minute},
	} {
		left := make(chan time.Duration, 1)
		b := setup(t, dbtest.New(t, db.SQLite), func(cfg *Config) { cfg.BeatEvery, cfg.Lease, cfg.CallTimeout = 10*time.Hour, c.lease, c.call }, addressA)
		b.executors.call = func(ctx context.Context, _ wire.Target, _ *wire.RunRequest) (wire.Answer, error) {
			end, _ := ctx.Deadline()
			left <- time.Until(end)
			return yes, nil
		}
		b.trigger(b.addJob(nil))
		if got := <-left; got > c.want || got < c.want-10*time.Minute {
			t.Errorf("%s has %v, want %v", name, got, c.want)
		}
	}
}
