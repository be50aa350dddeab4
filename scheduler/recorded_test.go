package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// unsettled counts the runs that are neither sent nor failed.
func (b *bundle) unsettled() int { return b.countRuns("trigger_code = 0") }

func (b *bundle) countRuns(where string, args ...any) int {
	b.t.Helper()
	var n int
	if err := b.pool.QueryRowContext(b.t.Context(), "SELECT COUNT(*) FROM xxl_job_log WHERE "+where, args...).Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

// haltJobs stops all jobs but leaves their next times in place, for checkFires.
func (b *bundle) haltJobs() {
	b.t.Helper()
	if _, err := b.pool.ExecContext(b.t.Context(), "UPDATE xxl_job_info SET trigger_status = 0"); err != nil {
		b.t.Fatal(err)
	}
}

// checkFires checks that each of a job's planned fires from first on, one a second, up to but not including the job's
// next time, is in exactly one row, and returns how many there are.
func (b *bundle) checkFires(jobID int64, first time.Time) int {
	b.t.Helper()
	job, err := b.engine.queries.GetJob(b.t.Context(), b.pool, jobID)
	if err != nil {
		b.t.Fatal(err)
	}
	rows, err := b.pool.QueryContext(b.t.Context(), "SELECT planned_at, COUNT(*) FROM xxl_job_log WHERE job_id = ? AND trigger_type = 'CRON' GROUP BY planned_at ORDER BY planned_at", jobID)
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	want, n := first.UnixMilli(), 0
	for rows.Next() {
		var planned int64
		var times int
		if err := rows.Scan(&planned, &times); err != nil {
			b.t.Fatal(err)
		}
		if planned != want || times != 1 {
			b.t.Errorf("job %d: fire %d has %d rows, want one row of fire %d", jobID, planned, times, want)
			return n
		}
		want += time.Second.Milliseconds()
		n++
	}
	if err := rows.Err(); err != nil {
		b.t.Fatal(err)
	}
	if want != job.TriggerNextTime {
		b.t.Errorf("job %d: the fires end before %d, its next time is %d", jobID, want, job.TriggerNextTime)
	}
	return n
}

// TestP1NothingIsSentBeforeItsRowIsCommitted has the executor look the run up, on another connection, when it is called.
func TestP1NothingIsSentBeforeItsRowIsCommitted(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		var missing []string
		b := setup(t, pool, nil, addressA, addressB)
		b.executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
			row, err := b.engine.queries.GetRun(context.Background(), pool, req.LogID)
			if err != nil || row.JobID != req.JobID || row.OwnerNode != b.engine.node.ID() || row.TriggerCode != 0 {
				b.executors.mu.Lock()
				missing = append(missing, fmt.Sprintf("run %d of job %d: %+v %v", req.LogID, req.JobID, row, err))
				b.executors.mu.Unlock()
			}
			if req.ExecutorParams == "fails" {
				return wire.Answer{Code: 500}, nil
			}
			return yes, nil
		}
		// Every way to a run: due, by hand, broadcast, retry of a sending and of a result, child.
		child := b.addJob(nil)
		fails := b.addJob(func(p *db.InsertJobParams) { p.ExecutorParam, p.ExecutorFailRetryCount = "fails", 2 })
		parent := b.addJob(func(p *db.InsertJobParams) {
			p.ExecutorRouteStrategy, p.ExecutorFailRetryCount = jobspec.RouteShardingBroadcast, 1
			p.ChildJobIDs = db.Text(fmt.Sprint(child))
		})
		for range 20 {
			b.start(b.addJob(func(p *db.InsertJobParams) { p.MisfireStrategy = jobspec.MisfireFireOnceNow }), time.Now().Add(-time.Hour))
			b.start(b.addJob(nil), time.Now())
		}
		b.start(fails, time.Now())
		ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: parent, Type: jobspec.TriggerManual})
		if err != nil || len(ids) != 2 {
			t.Fatal(ids, err)
		}
		b.await("both are sent", func() bool { // one that has a result is not
			return b.countRuns("id IN (?, ?) AND trigger_code <> 0", ids[0], ids[1]) == 2
		})
		b.finish(ids[0], 200, "")
		b.finish(ids[1], 500, "")
		b.await("all are sent", func() bool { return b.unsettled() == 0 && b.countRuns("id > 0") == 40+3+2+1+1 })
		b.executors.mu.Lock()
		defer b.executors.mu.Unlock()
		for _, m := range missing {
			t.Errorf("sent without its record: %s", m)
		}
		if len(b.executors.runs) != 47 {
			t.Errorf("executor was called %d times, want 47", len(b.executors.runs))
		}
	})
}

// TestP1EveryPlannedFireIsAccountedFor lets calls fail in all ways.
func TestP1EveryPlannedFireIsAccountedFor(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.MisfireAfter = time.Hour }, addressA, addressB)
		b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
			switch rand.IntN(6) {
			case 0:
				return wire.Answer{Code: 500, Msg: "busy"}, nil
			case 1:
				return wire.Answer{}, &wire.CallError{Stage: wire.StageDial, Err: errors.New("refused")}
			case 2:
				return wire.Answer{}, &wire.CallError{Stage: wire.StageAnswer, MaybeDelivered: true, Err: errors.New("reset")}
			}
			return yes, nil
		}
		first := time.Now().Add(-60 * time.Second).Truncate(time.Second)
		var jobs []int64
		for i := range 8 {
			id := b.addJob(func(p *db.InsertJobParams) {
				p.ScheduleConf = "1"
				p.ExecutorFailRetryCount = int64(i % 3)
				p.ExecutorRouteStrategy = jobspec.AllRoutes[i%3]
			})
			jobs = append(jobs, id)
			b.start(id, first)
		}
		b.awaitAll("fires of a minute recorded", 8*60, func() int { return b.countRuns("trigger_type = 'CRON'") })
		b.haltJobs()
		b.await("all are sent", func() bool { return b.unsettled() == 0 })
		ctx, cancel := context.WithTimeout(t.Context(), executortest.Patience)
		defer cancel()
		if err := b.engine.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		if n := b.unsettled(); n != 0 {
			t.Errorf("%d runs are neither sent nor failed", n)
		}
		for _, id := range jobs {
			if n := b.checkFires(id, first); n < 30 {
				t.Errorf("job %d: only %d fires", id, n)
			}
		}
		failed := b.countRuns("trigger_code <> 200 AND executor_fail_retry_count > 0 AND outcome <> 8") // what was too late is skipped
		if retries := b.countRuns("trigger_type = 'RETRY'"); retries != failed || retries == 0 {
			t.Errorf("%d retries of %d failures that have retries left", retries, failed)
		}
		if n := b.countRuns("trigger_msg IS NULL OR trigger_msg NOT LIKE '%result: %'"); n != 0 {
			t.Errorf("%d runs do not tell what became of them", n)
		}
		sent := make(map[int64]int)
		for _, r := range b.executors.received() {
			sent[r.req.LogID]++
		}
		for id, n := range sent {
			if n != 1 {
				t.Errorf("run %d was sent %d times", id, n)
			}
		}
	})
}

// TestP1ARunWhoseCommitWasNotConfirmedIsSentOnce breaks the connection in the worst moment: the transaction is committed
// and the answer lost.
func TestP1ARunWhoseCommitWasNotConfirmedIsSentOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		id := b.addJob(nil)
		row, err := b.engine.queries.GetJob(t.Context(), pool, id)
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.engine.commit(t.Context(), func(tx *sql.Tx) ([]*dispatch, error) {
			runs := b.engine.newRuns(jobOf(&row, pool), cause{trigger: jobspec.TriggerCron, planned: time.Now()})
			if err := b.engine.insert(t.Context(), tx, runs); err != nil {
				return nil, err
			}
			return runs, tx.Commit() // so that the commit after it fails
		})
		if !errors.Is(err, sql.ErrTxDone) {
			t.Fatalf("commit: %v, want an error", err)
		}
		// Others go on meanwhile, and nothing of this admin is forgotten by the mark that tells where to look after its death.
		if _, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: id, Type: jobspec.TriggerManual}); err != nil {
			t.Fatal(err)
		}
		unconfirmed := b.allRuns()[0].ID
		if low := b.engine.pending.low(); low > unconfirmed {
			t.Errorf("low mark %d is above the run %d", low, unconfirmed)
		}
		b.await("both are sent", func() bool { return b.unsettled() == 0 })
		if n := len(b.executors.received()); n != 2 {
			t.Errorf("executor received %d requests, want 2", n)
		}
		if r := b.allRuns()[0]; !b.has(r.ID, event.FoundAgain) {
			t.Errorf("%+v does not say why it is late", r)
		}
		if _, n := b.engine.pending.commitsInDoubt(); n != 0 {
			t.Errorf("%d commits are left in doubt", n)
		}
	})
}

// TestP3AResultThatComesBeforeATakeoverIsConfirmedIsNoted: a dead admin had sent the run, the one that took it over never heard that its
// commit came through, and before it looked again the executor reported. What this admin itself is sending is left alone.
func TestP3AResultThatComesBeforeATakeoverIsConfirmedIsNoted(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { alone(c); c.SweepEvery = time.Hour }, addressA)
		e := b.engine
		me, job := e.node.ID(), b.addJob(nil)
		dead := b.deadNode(waiting(job, 2)...)
		taken := b.allRuns()
		for i, reports := range []string{"before the first look", "between the looks"} {
			id := taken[i].ID
			_, err := e.commitAbove(t.Context(), id-1, func(tx *sql.Tx) ([]*dispatch, error) {
				n, err := e.queries.TakeOverRuns(t.Context(), tx, db.TakeOverRunsParams{NewOwner: me, OldOwner: dead, Ids: []int64{id}})
				if err != nil || n != 1 {
					return nil, fmt.Errorf("%d rows: %w", n, err)
				}
				return []*dispatch{{id: id}}, tx.Commit() // so that the commit after it fails
			})
			if !errors.Is(err, sql.ErrTxDone) {
				t.Fatalf("commit: %v, want an error", err)
			}
			own := waiting(job, 1)
			own[0].Owner, own[0].JobGroup, own[0].Handler, own[0].TriggerTime = me, b.group, "handler", pool.Wall(time.Now())
			first, err := db.InsertRuns(t.Context(), pool, own)
			if err != nil {
				t.Fatal(err)
			}
			sending := &dispatch{id: first}
			e.pending.add(sending)
			report := func() {
				if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET executor_address = ? WHERE id IN (?, ?)", addressA, id, sending.id); err != nil {
					t.Fatal(err)
				}
				b.complete(id, wire.CodeSuccess)
				b.complete(sending.id, wire.CodeSuccess)
			}
			var look inDoubt
			if i == 0 {
				report()
			}
			if err := e.sweepInDoubt(t.Context(), &look); err != nil {
				t.Fatal(err)
			}
			if i == 1 {
				report()
			}
			if err := e.sweepInDoubt(t.Context(), &look); err != nil {
				t.Fatal(err)
			}
			if r := b.run(id); r.TriggerCode != wire.CodeSuccess || r.HandleCode != wire.CodeSuccess || !b.has(id, event.FoundAgain) || !b.has(id, event.Known) {
				t.Errorf("reported %s: the run has code %d and result %d; %s", reports, r.TriggerCode, r.HandleCode, b.eventsOf(id))
			}
			if r := b.run(sending.id); r.TriggerCode != 0 || b.has(sending.id, event.Known) {
				t.Errorf("reported %s: what is being sent was noted as sent: %s", reports, b.eventsOf(sending.id))
			}
			if _, n := e.pending.commitsInDoubt(); n != 0 {
				t.Errorf("%d commits are left in doubt", n)
			}
			e.pending.done(sending)
		}
		if n := len(b.executors.received()); n != 0 {
			t.Errorf("%d runs were sent", n)
		}
	})
}

// TestP1ACommitIsTakenForUnconfirmedOnlyWhenNothingElseExplainsIt: a look waits for the transactions that were under way at the one before,
// settles the commits that one was about and no newer one, and finds more than a batch.
func TestP1ACommitIsTakenForUnconfirmedOnlyWhenNothingElseExplainsIt(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { alone(c); c.SweepEvery = time.Hour }, addressA)
		e := b.engine
		row, err := e.queries.GetJob(t.Context(), pool, b.addJob(nil))
		if err != nil {
			t.Fatal(err)
		}
		unconfirmed := func(n int) (ids []int64) {
			t.Helper()
			_, err := e.commit(t.Context(), func(tx *sql.Tx) (runs []*dispatch, err error) {
				for range n {
					runs = append(runs, e.newRuns(jobOf(&row, pool), cause{trigger: jobspec.TriggerCron, planned: time.Now()})...)
				}
				if err := e.insert(t.Context(), tx, runs); err != nil {
					return nil, err
				}
				for _, d := range runs {
					ids = append(ids, d.id)
				}
				return runs, tx.Commit() // so that the commit after it fails
			})
			if !errors.Is(err, sql.ErrTxDone) {
				t.Fatalf("commit: %v, want an error", err)
			}
			return ids
		}
		var look inDoubt
		sweep := func(what string, sent, left int) {
			t.Helper()
			if err := e.sweepInDoubt(t.Context(), &look); err != nil {
				t.Fatal(err)
			}
			b.await(fmt.Sprintf("%d are sent %s", sent, what), func() bool { return len(b.executors.received()) == sent && b.countRuns("trigger_code = 200") == sent })
			if _, n := e.pending.commitsInDoubt(); n != left {
				t.Errorf("%s %d commits are left in doubt, want %d", what, n, left)
			}
		}
		const many = db.MaxBatch + 1
		first := unconfirmed(many)
		slow := e.pending.begin(math.MaxInt64) // one of these runs may be its own, for all that a look knows
		sweep("at the first look", 0, 1)
		sweep("while a transaction of before is under way", 0, 1)
		e.pending.commit(slow, nil)
		second := unconfirmed(1)
		sweep("at the second look", many, 1)
		sweep("at the first look at the next", many, 1)
		look.node-- // this admin has another identity since: what it knew of the runs of the old one says nothing
		sweep("at a look under another name", many, 1)
		sweep("at the second one", many+1, 0)
		var sent []int64
		for _, r := range b.executors.received() {
			sent = append(sent, r.req.LogID)
		}
		slices.Sort(sent)
		if want := append(first, second...); !slices.Equal(sent, want) { // each once
			t.Errorf("sent were %v, want %v", sent, want)
		}
	})
}

func TestTheLowMarkStaysBelowTransactionsUnderWay(t *testing.T) {
	t.Parallel()
	var p pendingSet
	p.init()
	runs := make(map[int64]*dispatch)
	of := func(ids ...int64) (list []*dispatch) {
		for _, id := range ids {
			runs[id] = &dispatch{id: id}
			list = append(list, runs[id])
		}
		return list
	}
	a := p.begin(math.MaxInt64)
	p.commit(a, of(5, 6))
	slow := p.begin(math.MaxInt64) // it will insert 7 and 8, but 9 is known before
	quick := p.begin(math.MaxInt64)
	p.commit(quick, of(9))
	for _, id := range []int64{5, 6, 9} {
		p.done(runs[id])
	}
	if got := p.low(); got > 6 {
		t.Errorf("low mark %d while a transaction is under way, want at most 6", got)
	}
	p.commit(slow, of(7, 8))
	if got := p.low(); got != 7 {
		t.Errorf("low mark %d, want 7", got)
	}
	p.done(runs[7])
	p.done(runs[8])
	if got := p.low(); got != 9 || p.len() != 0 {
		t.Errorf("low mark %d with %d open, want 9 and none", got, p.len())
	}
	unsure := p.begin(math.MaxInt64)
	p.leaveInDoubt(unsure)
	b := p.begin(math.MaxInt64)
	p.commit(b, of(20))
	p.done(runs[20])
	if got := p.low(); got != 9 {
		t.Errorf("low mark %d with a transaction of unknown fate, want 9", got)
	}
	p.resolve(1, nil)
	if got := p.low(); got != 20 {
		t.Errorf("low mark %d, want 20", got)
	}
}

// A run that waits for a slot is tried by two dispatches: one finds that the other has its slot. The run is still this node's
// then, or a search for what was committed without an answer would send it a second time.
func TestARunIsPendingUntilItsLastDispatchIsDone(t *testing.T) {
	t.Parallel()
	var p pendingSet
	p.init()
	sending, second := &dispatch{id: 7}, &dispatch{id: 7}
	p.add(sending)
	p.add(sending)
	p.add(second)
	if !p.kill(7, "olga") {
		t.Error("the run cannot be marked")
	}
	p.done(second)
	p.done(second)
	if !p.has(7) {
		t.Error("the run is forgotten while it is being sent")
	}
	if user, ok := p.killed(7); !ok || user != "olga" {
		t.Errorf("who wants it ended is %q, %v after one of two dispatches", user, ok)
	}
	p.leaveRunInDoubt(sending)
	if _, ok := p.killed(7); ok || p.has(7) {
		t.Error("the run is pending although both dispatches are done")
	}
	p.add(sending)
	p.clear()
	third := &dispatch{id: 7} // taken over under a new id
	p.add(third)
	p.done(sending)
	if !p.has(7) {
		t.Error("a dispatch from before all was forgotten ended one of now")
	}
}
