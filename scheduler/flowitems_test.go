package scheduler

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// TestAForeachOfTenThousandItemsIsBounded: whatever the length of its list, as many items run as may, and a decision reads and writes what it
// is about and no more. Its results go to a step that reads all of them, once.
func TestAForeachOfTenThousandItemsIsBounded(t *testing.T) {
	t.Parallel()
	const items, parallel = flow.MaxItems, 50
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
		// The executor registers once, and a busy machine may take longer than that holds.
		b.engine = newEngine(t, pool, b.executors, func(c *Config) { c.SweepEvery, c.DeadAfter = 2*time.Second, time.Hour })
		b.group = b.addGroup("orders", addressA)
		each, sum := b.addJob(nil), b.addJob(nil)

		var mu sync.Mutex
		var seen struct{ moves, read, wrote, mostRead, mostWrote, mostOpen, mostEnds int }
		b.engine.flows.watched = func(m *flowMove) {
			mu.Lock()
			defer mu.Unlock()
			ends := len(m.ends)
			if len(m.runs) == 1 && m.runs[0].job.id == sum { // the one that reads all results
				if m.read > items+2*parallel {
					t.Errorf("to read the results of all items took %d rows", m.read)
				}
				m.read = 0
			}
			seen.moves, seen.read, seen.wrote = seen.moves+1, seen.read+m.read, seen.wrote+m.wrote
			seen.mostRead, seen.mostWrote, seen.mostEnds = max(seen.mostRead, m.read), max(seen.mostWrote, m.wrote), max(seen.mostEnds, ends)
			for _, f := range m.decided {
				seen.mostOpen = max(seen.mostOpen, f.run.Steps[0].Items.Open)
			}
			// Two steps and an item for each end are read, and once the list. Written are the run of the flow, both steps, the items that ended,
			// and of each that starts its row, its run, and in its row which run it has.
			if most := 2 + ends + 1; m.read > most {
				t.Errorf("the decision about %d ends read %d rows, more than %d", ends, m.read, most)
			}
			if most := 1 + 2 + ends + 3*parallel; m.wrote > most {
				t.Errorf("the decision about %d ends wrote %d rows, more than %d", ends, m.wrote, most)
			}
		}
		answers := make(chan int64, items+1)
		b.executors.call = func(_ context.Context, _ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
			answers <- req.LogID
			return yes, nil
		}
		b.startEngine(b.engine)
		var reports sync.WaitGroup
		t.Cleanup(reports.Wait)
		for range 2 { // whatever has been sent is reported together
			reports.Go(func() {
				for {
					var ended []wire.Callback
					select {
					case <-t.Context().Done():
						return
					case id := <-answers:
						ended = append(ended, wire.Callback{LogID: id, HandleCode: 200, HandleMsg: "1"})
					}
					for range len(answers) {
						select {
						case id := <-answers:
							ended = append(ended, wire.Callback{LogID: id, HandleCode: 200, HandleMsg: "1"})
						default:
						}
					}
					for b.engine.Complete(t.Context(), ended) != nil && t.Context().Err() == nil { // an executor sends again what was not taken
					}
				}
			})
		}

		fan := step("each", each)
		fan.Foreach, fan.Param = &flow.Foreach{Items: fmt.Sprintf("1..%d", items), Parallel: parallel}, new("${{ item }}")
		last := step("sum", sum, "each")
		last.Param = new("${{ sum(map(steps.each.items, int(.message))) }}")
		run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{fan, last}}, nil))
		for done := 0; done < items; done += items / 100 { // a busy machine may take its time, as long as it goes on
			b.await(fmt.Sprintf("%d items have ended", done), func() bool {
				steps, err := b.engine.queries.ListFlowSteps(t.Context(), pool, []int64{run}) // without the list, which would be read each time
				return err == nil && len(steps) == 2 && steps[0].Succeeded >= int64(done)
			})
		}
		if r := b.ended(run); r.Outcome != event.Succeeded {
			t.Fatalf("it ended as %v: %s, %s", r.Outcome, b.states(run), r.HandleMsg)
		}
		mu.Lock()
		defer mu.Unlock()
		if seen.mostOpen != parallel {
			t.Errorf("%d items were open at a time, want %d", seen.mostOpen, parallel)
		}
		if most := 4*items + 4*seen.moves; seen.read > most {
			t.Errorf("%d rows were read in %d moves, more than %d", seen.read, seen.moves, most)
		}
		if got := string(b.run(b.steps(run)["sum"].RunID).ExecutorParam); got != fmt.Sprint(items) {
			t.Errorf("the sum of what the items gave is %s", got)
		}
		b.wantEachItemOnce(run, each, items)
	})
}

// wantEachItemOnce says that each item of a step has one run, whose parameter is its number.
func (b *bundle) wantEachItemOnce(run, job int64, items int) {
	b.t.Helper()
	var runs, params, rows int
	var least, most sql.NullInt64
	q := "SELECT COUNT(*), COUNT(DISTINCT executor_param), MIN(executor_param + 0), MAX(executor_param + 0) FROM xxl_job_log WHERE job_id = ?"
	if err := b.pool.QueryRowContext(b.t.Context(), q, job).Scan(&runs, &params, &least, &most); err != nil {
		b.t.Fatal(err)
	}
	q = "SELECT COUNT(*) FROM punctual_flow_step WHERE flow_log_id = ? AND item >= 0 AND state = ?"
	if err := b.pool.QueryRowContext(b.t.Context(), q, run, int(flow.Success)).Scan(&rows); err != nil {
		b.t.Fatal(err)
	}
	if runs != items || params != items || rows != items || least.Int64 != 1 || most.Int64 != int64(items) {
		b.t.Errorf("%d runs with %d parameters from %d to %d, of %d items that succeeded; want %d", runs, params, least.Int64, most.Int64, rows, items)
	}
}

// TestItemsThatAreRunAgainAreFoundBehindThoseThatAreNot: of a list of which every third item failed these run once more, and no decision looks at
// more of the others than lie between.
func TestItemsThatAreRunAgainAreFoundBehindThoseThatAreNot(t *testing.T) {
	t.Parallel()
	const items, parallel, failed = 1000, 3, 334
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		each := b.addJob(nil)
		fan := step("each", each)
		fan.Foreach, fan.Param = &flow.Foreach{Items: fmt.Sprintf("1..%d", items), Parallel: parallel}, new("${{ item }}")
		job := b.addFlow(flow.Definition{Steps: []flow.Step{fan}, OnFailure: flow.OnFailureContinue}, nil)
		// The first run is as it would have ended.
		run := b.trigger(job)
		b.sentRuns(each, parallel)
		if err := b.engine.Kill(t.Context(), run, "ada"); err != nil {
			t.Fatal(err)
		}
		b.ended(run)
		b.await("it is over", func() bool {
			f, err := b.engine.queries.GetFlowRun(t.Context(), pool, run)
			return err == nil && f.State == flowOver
		})
		b.exec("DELETE FROM punctual_flow_step WHERE flow_log_id = ? AND item >= 0", run)
		b.exec("UPDATE punctual_flow_step SET state = ?, going = 0, cancelled = 0, failed = ?, succeeded = ? WHERE flow_log_id = ? AND item = -1", int(flow.Failed), failed, items-failed, run)
		rows := make([]*db.FlowStep, items)
		for i := range rows {
			state := flow.Success
			if i%3 == 0 {
				state = flow.Failed
			}
			rows[i] = &db.FlowStep{FlowLogID: run, Step: "each", Item: int64(i), State: int64(state), Message: "kept"}
		}
		if err := db.InsertFlowSteps(t.Context(), pool, pool, rows); err != nil {
			t.Fatal(err)
		}
		b.exec("DELETE FROM xxl_job_log WHERE job_id = ?", each)

		again, err := b.engine.flows.Repeat(t.Context(), Repeat{Run: run, User: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		done := make(map[int64]bool)
		for len(done) < failed {
			open := b.sentRuns(each, min(parallel, failed-len(done)), done)
			var calls []wire.Callback
			for _, id := range open {
				done[id] = true
				calls = append(calls, wire.Callback{LogID: id, HandleCode: 200})
			}
			if err := b.engine.Complete(t.Context(), calls); err != nil {
				t.Fatal(err)
			}
		}
		if r := b.ended(again); r.Outcome != event.Succeeded {
			t.Errorf("it ended as %v", r.Outcome)
		}
		var n, kept int
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*), SUM(CASE WHEN message = 'kept' THEN 1 ELSE 0 END) FROM punctual_flow_step WHERE flow_log_id = ? AND item >= 0 AND state = ?", again, int(flow.Success)).Scan(&n, &kept); err != nil {
			t.Fatal(err)
		}
		if n != items || kept != items-failed {
			t.Errorf("%d items have succeeded, %d of them in the first run", n, kept)
		}
		var runs, wrong int
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(DISTINCT executor_param), SUM(CASE WHEN (executor_param + 0) % 3 = 1 THEN 0 ELSE 1 END) FROM xxl_job_log WHERE job_id = ?", each).Scan(&runs, &wrong); err != nil {
			t.Fatal(err)
		}
		if runs != failed || wrong != 0 {
			t.Errorf("%d items ran again, %d of which need not", runs, wrong)
		}
	})
}

// sentRuns waits until so many runs of a job are sent that are not among some, and gives them.
func (b *bundle) sentRuns(job int64, n int, not ...map[int64]bool) (ids []int64) {
	b.t.Helper()
	b.await(fmt.Sprintf("%d runs are sent", n), func() bool {
		rows, err := b.pool.QueryContext(b.t.Context(), "SELECT id FROM xxl_job_log WHERE job_id = ? AND trigger_code = 200 AND handle_code = 0 ORDER BY id", job)
		if err != nil {
			b.t.Fatal(err)
		}
		defer rows.Close()
		ids = ids[:0]
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				b.t.Fatal(err)
			}
			if len(not) == 0 || !not[0][id] {
				ids = append(ids, id)
			}
		}
		return len(ids) == n
	})
	return ids
}
