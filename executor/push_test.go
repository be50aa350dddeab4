//go:build go1.26

package executor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// talking writes as many lines as its parameter has letters, and fails if that ends in "!".
func talking(_ context.Context, run *executor.Run) error {
	for i := range len(run.Param) {
		fmt.Fprintf(run, "line %d\n", i+1)
	}
	if strings.HasSuffix(run.Param, "!") {
		return errors.New("it failed")
	}
	return nil
}

// wishing is a request whose output is wanted.
func wishing(logID int64, param string, wish *wire.OutputWish) *wire.RunRequest {
	req := request(logID)
	req.ExecutorParams, req.KeepOutput = param, wish
	return req
}

// Whoever has a result has the output that belongs to it, without asking the executor, which may be gone by then. Admins that do not
// say that they want it, as those of XXL-JOB, are sent nothing.
func TestOutputIsPushedBeforeItsResult(t *testing.T) {
	t.Parallel()
	b := setup(t, executortest.Handlers{"h": talking})
	all, failed := &wire.OutputWish{Bytes: 64 << 10}, &wire.OutputWish{FailedOnly: true, Bytes: 64 << 10}
	want := map[int64]bool{1: true, 2: true, 3: false, 4: true, 5: false}
	b.mustRun(t, wishing(1, "abc", all))
	b.mustRun(t, wishing(2, "abc!", all))
	b.mustRun(t, wishing(3, "abc", failed))
	b.mustRun(t, wishing(4, "abc!", failed))
	b.mustRun(t, wishing(5, "abc!", nil))
	for id, pushed := range want {
		cb := b.admin.Result(t, id)
		i := slices.IndexFunc(b.admin.Outputs(), func(o wire.PushedOutput) bool { return o.LogID == id })
		if cb.Pushed != pushed || i >= 0 != pushed {
			t.Errorf("run %d: its result says that it is pushed %v, and it is %v; want %v", id, cb.Pushed, i >= 0, pushed)
			continue
		}
		if !pushed {
			continue
		}
		if got := b.admin.Outputs()[i]; !strings.Contains(got.Head, "line 1\nline 2\nline 3\n") || !strings.Contains(got.Head, "handleCode") || got.Head != b.log(t, request(id)) {
			t.Errorf("run %d: pushed is %+v", id, got)
		}
	}
}

// Of a long output both ends are pushed, and of one that wrote nothing its two lines.
func TestOfALongOutputBothEndsArePushed(t *testing.T) {
	t.Parallel()
	b := setup(t, executortest.Handlers{"h": talking, "quiet": func(context.Context, *executor.Run) error { return nil }})
	b.mustRun(t, wishing(1, strings.Repeat("x", 20_000), &wire.OutputWish{Bytes: 8 << 10}))
	quiet := wishing(2, "", &wire.OutputWish{Bytes: 8 << 10})
	quiet.ExecutorHandler = "quiet"
	b.mustRun(t, quiet)
	b.admin.Result(t, 1)
	b.admin.Result(t, 2)
	for _, got := range b.admin.Outputs() {
		text, lines := got.Head+got.Tail, strings.Count(got.Head+got.Tail, "\n")
		if got.LogID == 2 {
			if text != b.log(t, quiet) || lines == 0 {
				t.Errorf("of a quiet run is pushed %q", text)
			}
			continue
		}
		if whole := strings.Count(b.log(t, request(1)), "\n"); len(text) > 8<<10 || lines+got.LeftLines != whole || !strings.Contains(got.Head, "line 1\n") || !strings.Contains(got.Tail, "line 20000\n") {
			t.Errorf("pushed are %d bytes, %d lines and %d left out of %d", len(text), lines, got.LeftLines, whole)
		}
	}
	if n := len(b.admin.Outputs()); n != 2 {
		t.Errorf("%d outputs are pushed", n)
	}
}

// Results do not wait for an admin that takes no outputs: it hears that it has to ask for them.
func TestAResultIsSentWithoutItsOutput(t *testing.T) {
	t.Parallel()
	b := setup(t, executortest.Handlers{"h": talking})
	b.admin.RefuseOutputs()
	for id := range int64(3) {
		b.mustRun(t, wishing(id+1, "abc!", &wire.OutputWish{Bytes: 64 << 10}))
		if cb := b.admin.Result(t, id+1); cb.Pushed || cb.HandleCode != wire.CodeFail {
			t.Errorf("result %+v", cb)
		}
	}
	if got := b.log(t, request(3)); !strings.Contains(got, "line 3\n") {
		t.Errorf("asked for, it is %q", got)
	}
}

// A run that the end of its executor cuts off is pushed with what it had written: a pod that is stopped leaves its output behind.
func TestTheOutputOfARunThatAStopCutsOffIsPushed(t *testing.T) {
	t.Parallel()
	write := newBlocker()
	b := setup(t, executortest.Handlers{"h": func(ctx context.Context, run *executor.Run) error {
		fmt.Fprintln(run, "so far")
		return write.handle(ctx, run)
	}})
	b.mustRun(t, wishing(1, "", &wire.OutputWish{Bytes: 64 << 10}))
	<-write.begun
	_ = b.Stop(t.Context())
	cb, out := b.admin.Result(t, 1), b.admin.Outputs()
	if !cb.Pushed || len(out) != 1 || !strings.Contains(out[0].Head, "so far\n") || !strings.Contains(out[0].Head, "shutting down") {
		t.Errorf("the result %+v, the output %+v", cb, out)
	}
}
