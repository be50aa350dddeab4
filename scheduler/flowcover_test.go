package scheduler

import (
	"fmt"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// TestAnOlderRunOfAFlowCoversNoNewerOne: it came to ask for its place when the newer one had it.
func TestAnOlderRunOfAFlowCoversNoNewerOne(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("a", b.addJob(nil))}}, nil)
		newer := b.trigger(job)
		sent := b.runOf(newer, "a")
		older := b.trigger(job)
		b.await("it waits", func() bool { return b.run(older).OwnerNode == waitingOwner })
		b.exec("UPDATE xxl_job_info SET executor_block_strategy = ? WHERE id = ?", string(wire.BlockCoverEarly), job)
		for _, q := range []string{"UPDATE xxl_job_log SET planned_at = ? WHERE id = ?", "UPDATE punctual_slot SET planned_at = ? WHERE log_id = ?"} {
			b.exec(q, b.run(newer).PlannedAt-1000, older)
		}
		rows, err := b.engine.queries.ListRunsByID(t.Context(), pool, []int64{older})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		row, err := b.engine.queries.GetJob(t.Context(), pool, job)
		if err != nil {
			t.Fatal(err)
		}
		d := b.engine.adopted((*db.ListUnsentRunsOfNodeRow)(&rows[0]), waitingOwner, jobOf(&row, pool))
		d.taken, d.waiting, d.waited = false, true, true
		// It is told that there is no place. Fired, it could be in one batch with the engine's own attempt, by how the job was before.
		b.engine.pending.add(d)
		b.engine.noSlot(t.Context(), d, db.CountSlotsRow{Running: 1, Waiting: 1})
		if r := b.ended(older); r.Outcome != event.Killed {
			t.Errorf("the older run ended as %v", r.Outcome)
		}
		if e, ok := b.events(older).Last(event.KilledAt); !ok || e.Text(0) != fmt.Sprintf("#%d", newer) {
			t.Errorf("it does not say which run ended it: %s", b.events(older))
		}
		b.finish(sent, 200, "")
		if r := b.ended(newer); r.Outcome != event.Succeeded {
			t.Errorf("the newer run ended as %v", r.Outcome)
		}
		third := b.trigger(job)
		b.finish(b.runOf(third, "a"), 200, "")
		if r := b.ended(third); r.Outcome != event.Succeeded {
			t.Errorf("a run after that ended as %v: its place was not free", r.Outcome)
		}
	})
}

func TestWhichRunOfAFlowIsNewer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		planned, id, thanPlanned, thanID int64
		want                             bool
	}{
		{5, 1, 4, 2, true}, {4, 2, 5, 1, false}, {5, 2, 5, 1, true}, {5, 1, 5, 2, false}, {5, 1, 5, 1, false},
	} {
		if got := isNewer(tt.planned, tt.id, tt.thanPlanned, tt.thanID); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
