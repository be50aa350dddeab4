//go:build go1.26

package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// inside calls a handler of this process.
func inside(h http.HandlerFunc) *ExecutorClient {
	return NewExecutorClient(&http.Client{Transport: HandlerTransport{Handler: h}})
}

// TestAHandlerThatHangsHoldsNobody: a deadline frees who calls, with the failure that a peer elsewhere would have given. The run may have
// been taken, so that nobody sends it again; and the handler learns that nobody waits.
func TestAHandlerThatHangsHoldsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		disk := make(chan struct{})
		told := make(chan error, 1)
		client := inside(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			told <- context.Cause(r.Context())
			<-disk // is away, and knows of no context
		})
		gone := errors.New("nobody waits any more")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, gone)
		defer cancel()
		begun := time.Now()
		_, err := client.Run(ctx, Target{Address: "http://inside/"}, &RunRequest{JobID: 1, LogID: 2})
		call, ok := as[*CallError](err)
		if took := time.Since(begun); took != 3*time.Second || !ok || call.Stage != StageAnswer || !call.MaybeDelivered || !errors.Is(err, context.DeadlineExceeded) || FaultOf(err) != FaultLate {
			t.Errorf("after %s: %v (%s)", took, err, FaultOf(err))
		}
		if cause := <-told; cause != gone {
			t.Errorf("the handler is told %v", cause)
		}
		close(disk)
	})
}

func TestAHandlerInsideFailsLikeOneElsewhere(t *testing.T) {
	t.Parallel()
	shut := WithGate(t.Context(), func() bool { return false })
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx   context.Context
		h     http.HandlerFunc
		stage Stage
		maybe bool
		fault Fault
	}{
		"it panics":               {t.Context(), func(http.ResponseWriter, *http.Request) { panic("oh") }, StageAnswer, true, FaultBroken},
		"it lets the peer go":     {t.Context(), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, StageAnswer, true, FaultBroken},
		"it ends its goroutine":   {t.Context(), func(http.ResponseWriter, *http.Request) { runtime.Goexit() }, StageAnswer, true, FaultBroken},
		"it has a status":         {t.Context(), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, StageStatus, true, FaultStatus},
		"nobody may call":         {shut, func(http.ResponseWriter, *http.Request) { t.Error("it is called") }, StageDial, false, FaultOther},
		"the caller is gone":      {gone, func(http.ResponseWriter, *http.Request) { t.Error("it is called") }, StageDial, false, FaultStopped},
		"it says nothing at all":  {t.Context(), func(http.ResponseWriter, *http.Request) {}, StageDecode, true, FaultProtocol},
		"it reads and says a bit": {t.Context(), func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, io.LimitReader(r.Body, 5)) }, StageDecode, true, FaultProtocol},
	} {
		_, err := inside(tt.h).Run(tt.ctx, Target{Address: "http://inside/"}, &RunRequest{JobID: 1, LogID: 2})
		if call, ok := as[*CallError](err); !ok || call.Stage != tt.stage || call.MaybeDelivered != tt.maybe || FaultOf(err) != tt.fault {
			t.Errorf("%s: %v (%s)", name, err, FaultOf(err))
		}
	}
}

// TestAHandlerInsideHasAContextOfItsOwn: what it calls in turn is not its caller's, which would take their connections for its own.
func TestAHandlerInsideHasAContextOfItsOwn(t *testing.T) {
	t.Parallel()
	var kept context.Context
	client := inside(func(w http.ResponseWriter, r *http.Request) {
		kept = r.Context()
		if gateOf(kept) != nil || kept.Value(traceParentKey{}) != nil {
			t.Error("it has what the caller's context holds")
		}
		if kept.Err() != nil {
			t.Error("it is over before it is")
		}
		_, _ = io.WriteString(w, okAnswer)
	})
	ctx := context.WithValue(WithGate(t.Context(), func() bool { return true }), traceParentKey{}, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if answer, err := client.Run(ctx, Target{Address: "http://inside/"}, &RunRequest{JobID: 1, LogID: 2}); err != nil || !answer.OK() {
		t.Fatalf("%+v, %v", answer, err)
	}
	if kept.Err() == nil {
		t.Error("its context goes on after it")
	}
}
