package scheduler

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// stuck is a store that neither takes anything nor says that it does not, until it is closed.
type stuck struct{ closed chan struct{} }

func (s stuck) Name() string { return "stuck" }

func (s stuck) wait(ctx context.Context) error {
	select {
	case <-s.closed:
	case <-ctx.Done():
	}
	return errors.New("it is stuck")
}

func (s stuck) Put(ctx context.Context, _ archive.Object, _ []byte) error { return s.wait(ctx) }
func (s stuck) Get(ctx context.Context, _ archive.Object, _, _ int64) ([]byte, error) {
	return nil, s.wait(ctx)
}
func (s stuck) Delete(ctx context.Context, _ archive.Object) error { return s.wait(ctx) }
func (s stuck) Check(ctx context.Context) error                    { return s.wait(ctx) }

func TestTheEngineWaitsForNoStore(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		store := stuck{make(chan struct{})}
		b := setup(t, pool, func(c *Config) {
			c.Output = Output{Store: store, Limits: func() archive.Limits {
				return archive.Limits{Keep: jobspec.KeepAll, RunBytes: 16 << 10, MaxUncopy: 1000}
			}}
		}, addressA)
		job := b.addJob(nil)
		for range 20 {
			run := b.trigger(job)
			b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
			b.finish(run, 500, "no")
			if r := b.run(run); r.HandleCode != 500 {
				t.Fatalf("its result is %d", r.HandleCode)
			}
		}
		var due int
		if err := pool.QueryRowContext(t.Context(), "SELECT (SELECT SUM(runs) FROM punctual_output_ended) + (SELECT COUNT(*) FROM punctual_output WHERE state = 0)").Scan(&due); err != nil || due != 20 {
			t.Errorf("%d runs are noted, %v", due, err)
		}
		close(store.closed)
		b.await("it is said", func() bool { return b.stands(ConditionOutput) })
		if err := b.engine.Ready(); err != nil {
			t.Errorf("it is not ready: %v", err)
		}
	})
}

// unhurriedly notes how long it is given to answer with an output.
type unhurriedly struct {
	*fakeExecutors
	limits chan time.Duration
}

func (p unhurriedly) Log(ctx context.Context, to wire.Target, req wire.LogRequest) (wire.LogResult, wire.Answer, error) {
	if until, ok := ctx.Deadline(); ok && req.FromLineNum == 1 {
		select {
		case p.limits <- time.Until(until):
		default:
		}
	}
	return p.fakeExecutors.Log(ctx, to, req)
}

// TestAnOutputMayTakeAsLongAsACall: who lets calls of executors take longer than usual lets the copying of outputs do so too, from then on.
func TestAnOutputMayTakeAsLongAsACall(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		limits := make(chan time.Duration, 1)
		store := stuck{make(chan struct{})}
		t.Cleanup(func() { close(store.closed) })
		var call atomic.Int64
		call.Store(int64(time.Minute))
		b := setup(t, pool, func(c *Config) {
			c.Executors = unhurriedly{c.Executors.(*fakeExecutors), limits}
			c.Limits = func() Limits {
				return Limits{CallTimeout: time.Duration(call.Load()), MisfireAfter: 5 * time.Second, LostAfter: time.Minute, IdleAfter: time.Minute}
			}
			c.Output = Output{Store: store, Limits: func() archive.Limits {
				return archive.Limits{Keep: jobspec.KeepAll, RunBytes: 16 << 10, MaxUncopy: 1000}
			}}
		}, addressA)
		job := b.addJob(nil)
		for _, tt := range []struct{ call, least, most time.Duration }{{time.Minute, 10 * time.Second, time.Minute}, {time.Second, 0, 10 * time.Second}} {
			call.Store(int64(tt.call))
			run := b.trigger(job)
			b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
			b.finish(run, 500, "no")
			select {
			case got := <-limits:
				if got > tt.most || got <= tt.least {
					t.Errorf("calls may take %s, and the copy of an output %s", tt.call, got)
				}
			case <-time.After(executortest.Patience):
				t.Fatal("the output is not asked for")
			}
		}
	})
}
