//go:build go1.26

package executor_test

import (
	"context"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// TestWhileNoAdminTakesResultsRunsAreRefused: results that nobody takes must not fill the memory.
func TestWhileNoAdminTakesResultsRunsAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		runs, size int
		taken      bool
	}{
		{"one less than the most", executor.MaxUndelivered - 1, executor.MaxUndeliveredBytes - 1, true},
		{"the most results", executor.MaxUndelivered, 0, false},
		{"the most bytes", 1, executor.MaxUndeliveredBytes, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newBlocker()
			b := setup(t, executortest.Handlers{"h": h.handle})
			end := b.LeaveUndelivered(tt.runs, tt.size)
			answer := b.run(t, request(1))
			if answer.OK() != tt.taken || !tt.taken && !strings.Contains(answer.Msg, "results wait for an admin") {
				t.Errorf("answer %+v", answer)
			}
			end()
			close(h.free)
			if tt.taken {
				b.wantResult(t, 1, 200, "")
			}
		})
	}
}

// TestCoverEarlyEndsNothingThatCameLater: between a run's being queued and its being on record another may come, and begin.
func TestCoverEarlyEndsNothingThatCameLater(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle})
	covers := make(map[int64]func())
	for id := int64(1); id <= 4; id++ {
		b.mustRun(t, onJob(request(id), 7, wire.BlockSerial))
		covers[id] = b.Covering(id)
	}
	if id := <-h.begun; id != 1 {
		t.Fatalf("run %d began", id)
	}
	covers[3]()
	b.wantResult(t, 1, 500, "block strategy effect：Cover Early [job running, killed]")
	b.wantResult(t, 2, 500, "block strategy effect：Cover Early [job not executed, in the job queue, killed.]")
	if id := <-h.begun; id != 3 {
		t.Fatalf("run %d began", id)
	}
	covers[2]() // late: 3 runs, and came after it
	close(h.free)
	b.wantResult(t, 3, 200, "")
	b.wantResult(t, 4, 200, "")
}

// TestACoverThatADrainHandsBackEndsWhatItCovers: it was being put on record when the drain began. It runs elsewhere, so that the run whose place it
// takes must not go on here, and the drain does not wait for that.
func TestACoverThatADrainHandsBackEndsWhatItCovers(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle})
	b.mustRun(t, onJob(request(1), 7, wire.BlockSerial))
	<-h.begun
	held, free := executor.HoldJournal(b.Executor.Executor)
	defer free()
	answered := make(chan wire.Answer, 1)
	go func() {
		answer, err := b.client.Run(context.WithoutCancel(t.Context()), b.Target(), onJob(request(2), 7, wire.BlockCoverEarly))
		if err != nil {
			t.Error(err)
		}
		answered <- answer
	}()
	<-held
	drained := make(chan error, 1)
	go func() { drained <- b.Drain(context.WithoutCancel(t.Context())) }()
	executortest.Eventually(t, "run 2 is handed back", func() error {
		if b.Stats().Waiting > 0 {
			return executortest.ErrNotYet
		}
		return nil
	})
	free()
	if answer := <-answered; !answer.OK() {
		t.Errorf("run 2 is refused, and handed back: %s", answer.Msg)
	}
	b.wantResult(t, 1, 500, "block strategy effect：Cover Early [job running, killed]")
	if cb := b.admin.Result(t, 2); cb.Undone != wire.UndoneWaiting {
		t.Errorf("run 2: %+v", cb)
	}
	if err := <-drained; err != nil {
		t.Errorf("drain: %v", err)
	}
	close(h.free)
}

// TestAJobThatWasKilledBeforeItBeganBeginsAnew: its runs were queued and not yet on record, and another came before all of them were.
func TestAJobThatWasKilledBeforeItBeganBeginsAnew(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle})
	admit := func(id int64) (settle func()) {
		t.Helper()
		done, err := b.Admit(onJob(request(id), 7, wire.BlockSerial))
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			t.Helper()
			if err := done(); err != nil {
				t.Error(err)
			}
		}
	}
	first, second := admit(1), admit(2)
	if answer, err := b.client.Kill(t.Context(), b.Target(), wire.KillRequest{JobID: 7}); err != nil || !answer.OK() {
		t.Fatal(answer, err)
	}
	for id := range int64(2) {
		b.wantResult(t, id+1, 500, "scheduling center kill job. [job not executed, in the job queue, killed.]")
	}
	first()
	admit(3)()
	if id := <-h.begun; id != 3 {
		t.Errorf("run %d began", id)
	}
	second()
	if answer, err := b.client.IdleBeat(t.Context(), b.Target(), wire.IdleBeatRequest{JobID: 7}); err != nil || answer.OK() {
		t.Errorf("while its run goes on it is idle: %+v %v", answer, err)
	}
	close(h.free)
	b.wantResult(t, 3, 200, "")
}

// TestRequestsAreHeldToABound: scripts come with each of them.
func TestRequestsAreHeldToABound(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle})
	b.LeaveHeld(10)
	if answer := b.run(t, request(1)); answer.OK() || !strings.Contains(answer.Msg, "the requests of") {
		t.Errorf("a request for which there is no room: %+v", answer)
	}
	b.LeaveHeld(1 << 20)
	b.mustRun(t, request(2))
	close(h.free)
	b.wantResult(t, 2, 200, "")
}
