package scheduler

import (
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/backfill"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestABackfillLosesNoTimeToItsJobsRules: of a job that leaves runs out, or ends those that go on, where more come than may, no more are under way at a
// time than may be, and none is sent beside a run that goes on.
func TestABackfillLosesNoTimeToItsJobsRules(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flow   bool
		change func(*db.InsertJobParams)
		most   int
		covers bool
	}{
		"a limit that discards": {change: func(p *db.InsertJobParams) {
			p.MaxConcurrent, p.ConcurrencyPolicy = 2, string(jobspec.ConcurrencyDiscard)
		}, most: 2},
		"executors that discard": {change: func(p *db.InsertJobParams) { p.ExecutorBlockStrategy = db.Text(wire.BlockDiscardLater) }, most: 1},
		"executors that cover": {change: func(p *db.InsertJobParams) {
			p.ExecutorBlockStrategy, p.MaxConcurrent = db.Text(wire.BlockCoverEarly), 3
		}, most: 1, covers: true},
		"a flow that discards": {flow: true, change: func(p *db.InsertJobParams) { p.ExecutorBlockStrategy = db.Text(wire.BlockDiscardLater) }, most: 1},
		"a flow that discards the third": {flow: true, change: func(p *db.InsertJobParams) {
			p.ExecutorBlockStrategy, p.MaxConcurrent = db.Text(wire.BlockDiscardLater), 2
		}, most: 2},
		"a flow that covers": {flow: true, change: func(p *db.InsertJobParams) { p.ExecutorBlockStrategy = db.Text(wire.BlockCoverEarly) }, most: 1, covers: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, alone, addressA)
				b.byHand(b.engine)
				work := b.addJob(nil)
				job := work
				if tt.flow {
					job = b.addFlow(flow.Definition{Steps: []flow.Step{step("a", work)}}, tt.change)
				} else {
					job = b.addJob(tt.change)
				}
				end := func(run int64) {
					t.Helper()
					if tt.flow {
						run = b.runOf(run, "a")
					}
					b.finish(run, wire.CodeSuccess, "")
				}
				row, err := b.engine.queries.GetJob(t.Context(), pool, job)
				if err != nil {
					t.Fatal(err)
				}
				if busy := b.engine.WhenBusy(&row); busy != (WhenBusy{AtOnce: tt.most, Covers: tt.covers}) {
					t.Errorf("when it is busy: %+v", busy)
				}
				others := make([]int64, tt.most) // runs of its schedule, say
				for i := range others {
					others[i] = b.trigger(job)
				}
				const days = 5
				id := b.addBackfill(job, days, 4)
				b.round(b.engine)
				if f := b.backfill(id); f.Sent != 0 {
					t.Errorf("%d are sent while others go on", f.Sent)
				}
				for _, run := range others {
					end(run)
					if r := b.ended(run); r.Outcome != event.Succeeded {
						t.Errorf("a run of before ended as %v", r.Outcome)
					}
				}
				seen := len(others)
				for seen < days+len(others) {
					b.round(b.engine)
					runs := b.runsOf(job)
					if n := len(runs) - seen; n < 1 || n > tt.most {
						t.Fatalf("%d are under way, want at most %d", n, tt.most)
					}
					for _, r := range runs[seen:] {
						end(r.ID)
						b.ended(r.ID)
					}
					seen = len(runs)
				}
				b.round(b.engine)
				if f := b.backfill(id); f.State != backfill.Done || f.Succeeded != days || f.Failed != 0 {
					t.Errorf("%+v", f)
				}
			})
		})
	}
}

// TestABackfillOfAnyOtherJobWaitsForNothing: its runs wait for their places by themselves.
func TestABackfillOfAnyOtherJobWaitsForNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		b.byHand(b.engine)
		for _, limit := range []int64{0, 1} {
			job := b.addJob(func(p *db.InsertJobParams) { p.MaxConcurrent = limit })
			b.trigger(job)
			id := b.addBackfill(job, 5, 4)
			b.round(b.engine)
			if f := b.backfill(id); f.Sent != 4 {
				t.Errorf("%d are sent of a job with the limit %d", f.Sent, limit)
			}
		}
	})
}
