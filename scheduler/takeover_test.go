package scheduler

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// alone is an engine whose own beats do nothing while a test lasts.
func alone(c *Config) { c.BeatEvery, c.Lease = time.Hour, 10*time.Hour }

// waiting are runs of a job that are far from their time.
func waiting(job int64, n int) []db.NewRun {
	runs := make([]db.NewRun, n)
	for i := range runs {
		runs[i] = db.NewRun{JobID: job, PlannedAt: time.Now().Add(time.Hour).UnixMilli(), Type: jobspec.TriggerCron}
	}
	return runs
}

// TestP3MoreThanABatchIsTakenOver: what a dead admin left is read in batches.
func TestP3MoreThanABatchIsTakenOver(t *testing.T) {
	t.Parallel()
	const n = db.MaxBatch + 2
	b := setup(t, dbtest.New(t, db.SQLite), alone, addressA)
	dead := db.Node{ID: b.deadNode(waiting(b.addJob(nil), n)...)}
	if err := b.engine.takeOver(t.Context(), dead); err != nil {
		t.Fatal(err)
	}
	if got := b.engine.timer.len(); got != n {
		t.Errorf("%d runs wait for their time, want %d", got, n)
	}
	for _, r := range b.allRuns() {
		if r.OwnerNode != b.engine.node.ID() {
			t.Fatalf("run %d is of %d", r.ID, r.OwnerNode)
		}
	}
}

// TestP3ResultsOfADeadAdminsRunsSayThatTheyWereSent: it died between a call and its record, and the executor reported to another.
// Noted are runs that have a result, up to the last that it can have made.
func TestP3ResultsOfADeadAdminsRunsSayThatTheyWereSent(t *testing.T) {
	t.Parallel()
	const n = db.MaxBatch + 3
	b := setup(t, dbtest.New(t, db.SQLite), alone, addressA)
	dead := db.Node{ID: b.deadNode(waiting(b.addJob(nil), n)...)}
	runs := b.allRuns()
	open, last, above := runs[1].ID, runs[n-2].ID, runs[n-1].ID
	if _, err := b.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET handle_code = 200, executor_address = ? WHERE id <> ?", addressA, open); err != nil {
		t.Fatal(err)
	}
	if err := b.engine.recordReported(t.Context(), dead, last); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.allRuns() {
		sent := r.ID != open && r.ID != above
		if (r.TriggerCode == wire.CodeSuccess) != sent || b.has(r.ID, event.Known) != sent {
			t.Errorf("run %d of %d to %d: code %d, %s", r.ID, runs[0].ID, above, r.TriggerCode, b.eventsOf(r.ID))
		}
	}
}

// TestP3ARetryThatIsTakenOverIsWithdrawn: its admin died before it was its time, and meanwhile the run before it succeeded.
func TestP3ARetryThatIsTakenOverIsWithdrawn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		job := b.addJob(nil)
		retryOf := make(map[int]int64) // by the code of what it is to repeat
		for _, code := range []int{wire.CodeSuccess, wire.CodeFail} {
			run := b.trigger(job)
			b.await("it is sent", func() bool { return b.run(run).TriggerCode == wire.CodeSuccess })
			b.complete(run, code)
			dead := db.Node{ID: b.deadNode(db.NewRun{JobID: job, PlannedAt: time.Now().UnixMilli(), Type: jobspec.TriggerRetry, Origin: run})}
			if err := b.engine.takeOver(t.Context(), dead); err != nil {
				t.Fatal(err)
			}
			all := b.runsOf(job)
			retryOf[code] = all[len(all)-1].ID
		}
		b.await("both are settled", func() bool { return b.unsettled() == 0 })
		if r := b.run(retryOf[wire.CodeSuccess]); r.Outcome != event.Cancelled {
			t.Errorf("the retry of a success is %v, with code %d", r.Outcome, r.TriggerCode)
		}
		if r := b.run(retryOf[wire.CodeFail]); r.TriggerCode != wire.CodeSuccess {
			t.Errorf("the retry of a failure has code %d: %s", r.TriggerCode, b.eventsOf(r.ID))
		}
	})
}

// TestP3WhatIsDecidedMeanwhileIsNotTakenOver: between the look at the runs of a dead admin and their taking, its last record or an executor's
// result may arrive.
func TestP3WhatIsDecidedMeanwhileIsNotTakenOver(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		dead := db.Node{ID: b.deadNode(waiting(b.addJob(nil), 3)...)}
		rows, err := b.engine.queries.ListUnsentRunsOfNode(t.Context(), pool, db.ListUnsentRunsOfNodeParams{OwnerNode: dead.ID, Limit: 10})
		if err != nil || len(rows) != 3 {
			t.Fatalf("%d runs: %v", len(rows), err)
		}
		b.exec("UPDATE xxl_job_log SET trigger_code = 200 WHERE id = ?", rows[0].ID)
		b.exec("UPDATE xxl_job_log SET handle_code = 200 WHERE id = ?", rows[1].ID)
		if err := b.engine.adopt(t.Context(), dead, rows); err != nil {
			t.Fatal(err)
		}
		for i, want := range []int64{dead.ID, dead.ID, b.engine.node.ID()} {
			if r := b.run(rows[i].ID); r.OwnerNode != want {
				t.Errorf("run %d is of %d, want %d", i, r.OwnerNode, want)
			}
		}
		if n := b.engine.timer.len(); n != 1 {
			t.Errorf("%d runs wait for their time, want 1", n)
		}
	})
}
