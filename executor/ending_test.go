//go:build go1.26

package executor_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// TestAHandlerKnowsWhyItsRunEnds, and so does middleware around it.
func TestAHandlerKnowsWhyItsRunEnds(t *testing.T) {
	t.Parallel()
	kill := func(t *testing.T, b *bundle) {
		if _, err := b.client.Kill(t.Context(), b.Target(), wire.KillRequest{JobID: 1, LogID: 1}); err != nil {
			t.Error(err)
		}
	}
	cover := func(t *testing.T, b *bundle) { b.mustRun(t, onJob(request(2), 1, wire.BlockCoverEarly)) }
	stop := func(t *testing.T, b *bundle) { _ = b.Stop(t.Context()) }
	reasons := []error{executor.ErrKilled, executor.ErrCovered, executor.ErrShutdown, executor.ErrTimeout}
	for name, tt := range map[string]struct {
		end  func(*testing.T, *bundle)
		time int
		want error
	}{
		"somebody ends it":     {kill, 0, executor.ErrKilled},
		"a later one comes":    {cover, 0, executor.ErrCovered},
		"the executor stops":   {stop, 0, executor.ErrShutdown},
		"its time limit is up": {nil, 1, executor.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, seen := make(chan int64, 2), make(chan error, 4)
			b := setup(t, executortest.Handlers{"h": func(ctx context.Context, run *executor.Run) error {
				if begun <- run.LogID; run.LogID > 1 {
					return nil
				}
				until, limited := ctx.Deadline()
				if left := time.Until(until); limited != (tt.time > 0) || limited && (left <= 0 || left > time.Duration(tt.time)*time.Second) {
					t.Errorf("a run with a limit of %d s has the deadline %s, %t", tt.time, until, limited)
				}
				<-ctx.Done()
				seen <- context.Cause(ctx)
				if tt.want == executor.ErrTimeout != errors.Is(ctx.Err(), context.DeadlineExceeded) {
					t.Errorf("the context ends with %v", ctx.Err())
				}
				return errors.New("what it says counts for nothing any more")
			}})
			b.Use(func(next executor.Handler) executor.Handler {
				return func(ctx context.Context, run *executor.Run) error {
					err := next(ctx, run)
					if run.LogID == 1 {
						seen <- context.Cause(ctx)
					}
					return err
				}
			})
			req := request(1)
			req.TimeoutSeconds = tt.time
			b.mustRun(t, req)
			<-begun
			if tt.end != nil {
				tt.end(t, b)
			}
			for range 2 {
				cause := <-seen
				for _, reason := range reasons {
					if errors.Is(cause, reason) != (reason == tt.want) {
						t.Errorf("the cause is %q, which %q is or is not", cause, reason)
					}
				}
			}
			if cb := b.admin.Result(t, 1); cb.HandleCode == wire.CodeSuccess || strings.Contains(cb.HandleMsg, "counts for nothing") {
				t.Errorf("its result is %+v", cb)
			}
		})
	}
}

// TestARunThatIsOverTakesNothingMore: what a goroutine that it left behind still says goes nowhere, and harms nobody.
func TestARunThatIsOverTakesNothingMore(t *testing.T) {
	t.Parallel()
	kept := make(chan *executor.Run, 1)
	ended := make(chan context.Context, 1)
	b := setup(t, executortest.Handlers{"h": func(ctx context.Context, run *executor.Run) error {
		run.Logf("what it says in time")
		run.SetResult("done")
		kept <- run
		ended <- ctx
		return nil
	}})
	b.mustRun(t, request(1))
	cb := b.admin.Result(t, 1)
	run, ctx := <-kept, <-ended
	<-ctx.Done() // when it is forgotten
	before := b.log(t, request(1))
	run.Logf("too late")
	run.Logger().Error("too late", "again", true)
	if n, err := io.WriteString(run, "too late"); n != 8 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	run.SetResult("too late")
	if err := run.SetOutput("late", "too late"); err != nil {
		t.Error(err)
	}
	if after := b.log(t, request(1)); after != before || strings.Contains(after, "too late") || !strings.Contains(after, "in time") {
		t.Errorf("the log was\n%s\nand is\n%s", before, after)
	}
	if cb.HandleMsg != "done" || len(cb.Outputs) != 0 {
		t.Errorf("%+v", cb)
	}
	if cause := context.Cause(ctx); cause != context.Canceled {
		t.Errorf("the context of a run that has ended by itself has the cause %v", cause)
	}
}

// TestHandlersAreAddedWhileOthersRun from many goroutines, as programs do whose parts start by themselves.
func TestHandlersAreAddedWhileOthersRun(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	const parts = 20
	var added, ran [parts]chan struct{}
	for i := range parts {
		added[i], ran[i] = make(chan struct{}), make(chan struct{})
		name := "part" + string(rune('a'+i))
		go func() {
			b.Use(func(next executor.Handler) executor.Handler { return next })
			b.Handle(name, func(context.Context, *executor.Run) error { return nil })
			close(added[i])
		}()
		go func() {
			defer close(ran[i])
			<-added[i]
			req := request(int64(i + 1))
			req.ExecutorHandler = name
			if answer, err := b.client.Run(t.Context(), b.Target(), req); err != nil || !answer.OK() {
				t.Errorf("%s: %+v, %v", name, answer, err)
			}
		}()
	}
	for i := range parts {
		<-ran[i]
		if cb := b.admin.Result(t, int64(i+1)); cb.HandleCode != wire.CodeSuccess {
			t.Errorf("%+v", cb)
		}
	}
}

func TestWhatAProgramGivesWronglyPanicsAtItsStart(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, *executor.Run) error { return nil }
	for name, give := range map[string]func(e *executor.Executor){
		"no handler":          func(e *executor.Executor) { e.Handle("a", nil) },
		"a handler of no one": func(e *executor.Executor) { e.Handle("", nothing) },
		"hooks without a run": func(e *executor.Executor) {
			e.HandleWith("a", executor.HandlerSpec{Init: func(context.Context) error { return nil }})
		},
		"no JSON handler":     func(e *executor.Executor) { executor.HandleJSON[int](e, "a", nil) },
		"no middleware":       func(e *executor.Executor) { e.Use(func(next executor.Handler) executor.Handler { return next }, nil) },
		"a job of no name":    func(e *executor.Executor) { e.Declare(executor.Job{Handler: "a"}) },
		"a job twice at once": func(e *executor.Executor) { e.Declare(executor.Job{Name: "a"}, executor.Job{Name: "a"}) },
		"a job twice":         func(e *executor.Executor) { e.Declare(executor.Job{Name: "a"}); e.Declare(executor.Job{Name: "a"}) },
	} {
		e, err := executor.New(executor.Config{AppName: "orders"})
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if said, ok := recover().(string); !ok || !strings.HasPrefix(said, "executor: ") {
					t.Errorf("%s: %v", name, said)
				}
			}()
			give(e)
		}()
		e.Handle("fine", nothing) // nothing is held
	}
}

// TestWhoeverElseStopsItWaitsNoLongerThanTheyWant for a drain that somebody began.
func TestWhoeverElseStopsItWaitsNoLongerThanTheyWant(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle})
	b.mustRun(t, request(1))
	<-h.begun
	b.mustRun(t, onJob(request(2), 1, wire.BlockSerial))
	drained := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), executortest.Patience)
		defer cancel()
		drained <- b.Drain(ctx)
	}()
	b.admin.Result(t, 2) // the drain has begun
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Drain(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a second drain that does not wait: %v", err)
	}
	close(h.free)
	if err := <-drained; err != nil {
		t.Errorf("the first: %v", err)
	}
	if err := b.Drain(gone); err != nil {
		t.Errorf("when all is over: %v", err)
	}
}
