package main

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// busy is a program with a run that goes on until it is ended.
func busy(t *testing.T, admin *executortest.Admin, args ...string) *program {
	t.Helper()
	p := startProgram(t, t.TempDir(), admin.URL, append(args, "--log-retention-days=0")...)
	if answer := p.run(t, script(1, "trap '' TERM; echo ready; while :; do sleep 1; done")); !answer.OK() {
		t.Fatal(answer)
	}
	poll(t, "output of the run", func(ctx context.Context) bool {
		piece, _, err := p.client.Log(ctx, p.target, wire.LogRequest{LogID: 1, LogDateTime: 1_767_225_600_000, FromLineNum: 1})
		return err == nil && strings.Contains(piece.LogContent, "ready")
	})
	return p
}

// TestWithoutADrainTimeRunsAreEndedAtOnce: 0 is no time, and not the time that is the default.
func TestWithoutADrainTimeRunsAreEndedAtOnce(t *testing.T) {
	t.Parallel()
	admin := executortest.NewAdmin(t)
	p := busy(t, admin, "--drain-timeout=0s")
	passed := executortest.Watch()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if cb := admin.Result(t, 1); cb.HandleCode != wire.CodeFail || !strings.HasPrefix(cb.HandleMsg, "the executor is shutting down.") {
		t.Errorf("its result is %d %q", cb.HandleCode, cb.HandleMsg)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if took := passed(); took > 29*time.Second { // the default is 30 s
		t.Errorf("it took %s", took)
	}
}

// TestASecondSignalEndsTheProgramAtOnce, while the first has it wait for what runs.
func TestASecondSignalEndsTheProgramAtOnce(t *testing.T) {
	t.Parallel()
	admin := executortest.NewAdmin(t)
	p := busy(t, admin, "--drain-timeout=1h")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	poll(t, "drain", func(context.Context) bool { return strings.Contains(p.output.String(), "executor is draining") })
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	poll(t, "end", func(context.Context) bool {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // again, should the second have come before the first was done with
		select {
		case err := <-ended:
			exit, _ := errors.AsType[*exec.ExitError](err)
			if exit == nil || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
				t.Errorf("it ended with %v", err)
			}
			return true
		default:
			return false
		}
	})
}
