//go:build go1.26

package executor_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// hookedRun is a run of handler "hooked" that is of its own job.
func hookedRun(logID int64) *wire.RunRequest {
	req := request(logID)
	req.ExecutorHandler = "hooked"
	return req
}

func TestHooksSurroundTheRuns(t *testing.T) {
	t.Parallel()
	var inits, destroys, runs, outside atomic.Int32
	var open atomic.Bool
	hooks := make(chan context.Context, 1)
	b := setup(t, nil)
	b.HandleWith("hooked", executor.HandlerSpec{
		Init: func(ctx context.Context) error {
			hooks <- ctx
			inits.Add(1)
			open.Store(true)
			return nil
		},
		Run: func(context.Context, *executor.Run) error {
			runs.Add(1)
			if !open.Load() {
				outside.Add(1)
			}
			return nil
		},
		Destroy: func(context.Context) error {
			destroys.Add(1)
			open.Store(false)
			return errors.New("only logged")
		},
	})
	b.HandleWith("unused", executor.HandlerSpec{
		Run:     succeed,
		Init:    func(context.Context) error { t.Error("init of a handler that nobody used"); return nil },
		Destroy: func(context.Context) error { t.Error("destroy of a handler that nobody used"); return nil },
	})
	for id := range int64(20) { // of twenty jobs, so that they begin together
		b.mustRun(t, hookedRun(id+1))
	}
	for id := range int64(20) {
		b.wantResult(t, id+1, 200, "")
	}
	ctx := <-hooks
	if ctx.Err() != nil {
		t.Error("the context of Init ends with the first run")
	}
	if err := b.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if ctx.Err() == nil {
		t.Error("the context of Init outlives the executor")
	}
	if inits.Load() != 1 || runs.Load() != 20 || destroys.Load() != 1 || outside.Load() != 0 {
		t.Errorf("%d inits, %d runs (%d of them outside), %d destroys", inits.Load(), runs.Load(), outside.Load(), destroys.Load())
	}
}

func TestAFailedInitFailsTheRunAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	var inits atomic.Int32
	b := setup(t, nil)
	b.HandleWith("hooked", executor.HandlerSpec{
		Run: succeed,
		Init: func(context.Context) error {
			switch inits.Add(1) {
			case 1:
				return errors.New("no connection")
			case 2:
				panic("oh")
			}
			return nil
		},
	})
	b.mustRun(t, hookedRun(1))
	b.wantResult(t, 1, 500, "handler init: no connection")
	b.mustRun(t, hookedRun(2))
	if cb := b.admin.Result(t, 2); cb.HandleCode != 500 || !strings.HasPrefix(cb.HandleMsg, "handler init: init panicked: oh") {
		t.Errorf("after a panic: %+v", cb)
	}
	b.mustRun(t, hookedRun(3))
	b.wantResult(t, 3, 200, "")
}

func TestAKilledRunDoesNotWaitForInit(t *testing.T) {
	t.Parallel()
	begun, free := make(chan struct{}), make(chan struct{})
	b := setup(t, nil)
	b.HandleWith("hooked", executor.HandlerSpec{Run: succeed, Init: func(context.Context) error {
		close(begun) // a second call would panic
		<-free
		return nil
	}})
	b.mustRun(t, hookedRun(1))
	<-begun
	if _, err := b.client.Kill(t.Context(), b.Target(), wire.KillRequest{JobID: 1}); err != nil {
		t.Fatal(err)
	}
	b.wantResult(t, 1, 500, "scheduling center kill job. [job running, killed]")
	waitUntilIdle(t, b, 1)
	b.mustRun(t, hookedRun(2))
	close(free)
	b.wantResult(t, 2, 200, "")
}

func TestDestroyIsLeftOutWhileARunGoesOn(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	h.deaf = true
	var destroyed atomic.Bool
	ex := executortest.New(t, "", nil)
	ex.HandleWith("hooked", executor.HandlerSpec{Run: h.handle, Destroy: func(context.Context) error { destroyed.Store(true); return nil }})
	client := wire.NewExecutorClient(nil)
	t.Cleanup(client.Close)
	if answer, err := client.Run(t.Context(), ex.Target(), hookedRun(1)); err != nil || !answer.OK() {
		t.Fatalf("%+v, %v", answer, err)
	}
	<-h.begun
	if err := ex.Stop(t.Context()); err == nil {
		t.Error("a handler did not return, and Stop does not say so")
	}
	close(h.free)
	if destroyed.Load() {
		t.Error("destroyed under a run")
	}
}
