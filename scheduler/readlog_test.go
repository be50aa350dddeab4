package scheduler

import (
	"context"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
)

// patient notes how long a reading of a log may take.
type patient struct {
	*fakeExecutors
	left chan time.Duration
}

func (p patient) Log(ctx context.Context, to wire.Target, req wire.LogRequest) (wire.LogResult, wire.Answer, error) {
	if until, ok := ctx.Deadline(); ok {
		p.left <- time.Until(until)
	}
	return p.fakeExecutors.Log(ctx, to, req)
}

func TestReadingALogMayTakeLongerThanACall(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		left := make(chan time.Duration, 10)
		b := setup(t, pool, func(c *Config) { c.Executors = patient{c.Executors.(*fakeExecutors), left} }, addressA)
		run := b.trigger(b.addJob(nil))
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
		sent := b.run(run)
		if _, err := b.engine.outputs.Read(t.Context(), &sent, 1); err != nil {
			t.Fatal(err)
		}
		if got := <-left; got < 4*b.engine.cfg.Limits().CallTimeout || got > b.engine.cfg.LogTimeout {
			t.Errorf("reading a log may take %v", got)
		}
	})
}

// nothingNew answers the line that was asked for when there is none.
type nothingNew struct{ *fakeExecutors }

func (nothingNew) Log(_ context.Context, _ wire.Target, req wire.LogRequest) (wire.LogResult, wire.Answer, error) {
	return wire.LogResult{FromLineNum: req.FromLineNum, ToLineNum: req.FromLineNum}, wire.Answer{Code: wire.CodeSuccess}, nil
}

// TestALineWithoutTextIsNone: whoever follows an output would ask for the next one without an end.
func TestALineWithoutTextIsNone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.Executors = nothingNew{c.Executors.(*fakeExecutors)} }, addressA)
		run := b.trigger(b.addJob(nil))
		b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
		b.complete(run, wire.CodeSuccess)
		ended := b.run(run)
		piece, err := b.engine.outputs.Read(t.Context(), &ended, 5)
		if err != nil || piece.ToLineNum >= 5 || !piece.IsEnd {
			t.Errorf("%+v, %v", piece.LogResult, err)
		}
	})
}
