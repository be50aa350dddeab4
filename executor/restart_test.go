//go:build go1.26

package executor_test

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// TestARestartAccountsForEveryRun that a killed executor had: what was done is told, what had begun has failed, what waited is done in its
// order, and what nobody can do any more says so. None is taken a second time.
func TestARestartAccountsForEveryRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	begun, free := make(chan int64, 10), make(chan struct{})
	blocks := func(_ context.Context, run *executor.Run) error {
		run.Logf("on its way")
		if run.Param != "at once" {
			begun <- run.LogID
			<-free
		}
		run.SetResult("done")
		return nil
	}
	b := setup(t, executortest.Handlers{"h": blocks, "gone": blocks}, func(c *executor.Config) { c.DataDir = folder })
	b.admin.Refuse(true)
	done := onJob(request(10), 1, wire.BlockSerial)
	done.ExecutorParams = "at once"
	b.mustRun(t, done)
	executortest.Eventually(t, "run 10 is done", func() error {
		if answer, err := b.client.IdleBeat(t.Context(), b.Target(), wire.IdleBeatRequest{JobID: 1}); err != nil || !answer.OK() {
			return executortest.ErrNotYet
		}
		return nil
	})
	going := onJob(request(20), 7, wire.BlockSerial)
	going.KeepOutput = &wire.OutputWish{Bytes: 64 << 10}
	b.mustRun(t, going)
	b.mustRun(t, onJob(request(21), 7, wire.BlockSerial))
	b.mustRun(t, onJob(request(22), 7, wire.BlockSerial))
	for _, id := range []int64{29, 30} {
		req := onJob(request(id), 8, wire.BlockSerial)
		req.ExecutorHandler = "gone"
		b.mustRun(t, req)
	}
	b.mustRun(t, script(40, wire.GlueShell, "echo ready; while :; do sleep 1; done"))
	<-begun
	<-begun
	executortest.Eventually(t, "the script runs", func() error {
		if !strings.Contains(b.log(t, script(40, wire.GlueShell, "")), "ready") {
			return executortest.ErrNotYet
		}
		return nil
	})
	killed := t.TempDir() // what a killed executor leaves
	if err := os.CopyFS(killed, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}

	order := make(chan int64, 10)
	again := setup(t, executortest.Handlers{"h": func(_ context.Context, run *executor.Run) error {
		order <- run.LogID
		return nil
	}}, func(c *executor.Config) { c.DataDir = killed })
	const cutOff, cannot = "the executor restarted while the run was going on", "the executor restarted before the run began, and cannot take it up again: job handler [gone] not found."
	for _, want := range []wire.Callback{
		{LogID: 10, HandleCode: 200, HandleMsg: "done"},
		{LogID: 20, HandleCode: 500, HandleMsg: cutOff, Undone: wire.UndoneRunning},
		{LogID: 21, HandleCode: 200},
		{LogID: 22, HandleCode: 200},
		{LogID: 29, HandleCode: 500, HandleMsg: cutOff, Undone: wire.UndoneRunning},
		{LogID: 30, HandleCode: 500, HandleMsg: cannot},
		{LogID: 40, HandleCode: 500, HandleMsg: cutOff, Undone: wire.UndoneRunning},
	} {
		if cb := again.admin.Result(t, want.LogID); cb.HandleCode != want.HandleCode || cb.HandleMsg != want.HandleMsg || cb.Undone != want.Undone || cb.Waited <= 0 {
			t.Errorf("the result is %+v, want %+v", cb, want)
		}
	}
	if first, second := <-order, <-order; first != 21 || second != 22 {
		t.Errorf("run %d began before %d", first, second)
	}
	if outputs := again.admin.Outputs(); len(outputs) != 1 || outputs[0].LogID != 20 || !strings.Contains(outputs[0].Head, "on its way") || !strings.Contains(outputs[0].Head, "----------- "+cutOff+" -----------") {
		t.Errorf("of the run that was cut off is kept %+v", outputs)
	}
	if text := again.log(t, onJob(request(30), 8, wire.BlockSerial)); !strings.Contains(text, "cannot take it up again") {
		t.Errorf("the log of the run that cannot be done says %q", text)
	}
	for _, req := range []*wire.RunRequest{done, going, onJob(request(22), 7, wire.BlockSerial)} {
		if answer := again.run(t, req); answer.OK() || !strings.HasPrefix(answer.Msg, "repeat trigger job") {
			t.Errorf("run %d a second time: %+v", req.LogID, answer)
		}
	}
	executortest.Eventually(t, "all is told", func() error {
		if s := again.Stats(); s.Undelivered != 0 || s.Running != 0 || s.Waiting != 0 {
			return executortest.ErrNotYet
		}
		return nil
	})
	ids := make([]int64, 0, 7)
	for _, cb := range again.admin.Callbacks() {
		ids = append(ids, cb.LogID)
	}
	if slices.Sort(ids); !slices.Equal(ids, []int64{10, 20, 21, 22, 29, 30, 40}) {
		t.Errorf("there are results of %v", ids)
	}
	// The script that was left behind is ended, as the one that took its place would do.
	b.admin.Refuse(false)
	if runtime.GOOS == "linux" {
		if cb := b.admin.Result(t, 40); cb.HandleCode == wire.CodeSuccess {
			t.Errorf("the script that was left goes on to its end: %+v", cb)
		}
	}
	close(free)
}
