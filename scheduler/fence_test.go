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
