package scheduler

import (
	"database/sql"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// still is a bundle whose engine is not started: nothing happens by itself.
func still(t *testing.T, pool *db.Pool) *bundle {
	t.Helper()
	b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
	b.engine = newEngine(t, pool, b.executors, nil)
	return b
}

// made inserts runs of a flow that are to begin.
func (b *bundle) made(n int) []*dispatch {
	b.t.Helper()
	j := &job{id: 3, group: 1, glue: jobspec.GlueFlow, block: wire.BlockSerial, timeoutSeconds: 90}
	var runs []*dispatch
	for range n {
		runs = append(runs, b.engine.newRuns(j, cause{trigger: jobspec.TriggerManual, planned: time.UnixMilli(1_000_000)})...)
	}
	for _, d := range runs {
		d.owner = 5
	}
	if err := b.pool.Tx(b.t.Context(), func(tx *sql.Tx) error { return b.engine.insert(b.t.Context(), tx, runs) }); err != nil {
		b.t.Fatal(err)
	}
	return runs
}

// definition puts one on record, and gives its row.
func (b *bundle) definition(digest, source string) (id int64) {
	b.t.Helper()
	if err := db.InsertFlowTexts(b.t.Context(), b.pool, []db.FlowText{{JobID: 3, Digest: digest, Source: source}}); err != nil {
		b.t.Fatal(err)
	}
	if err := b.pool.QueryRowContext(b.t.Context(), "SELECT id FROM punctual_flow_text WHERE digest = ?", digest).Scan(&id); err != nil {
		b.t.Fatal(err)
	}
	return id
}

// flowRun inserts a run of a flow in a state, with rows of its steps, and gives the first of these.
func (b *bundle) flowRun(run, text, state int64, steps ...string) int64 {
	b.t.Helper()
	if err := db.InsertFlowRuns(b.t.Context(), b.pool, []db.FlowRun{{LogID: run, JobID: 3, JobGroup: 1, TextID: text, State: state, FromLogID: 2}}); err != nil {
		b.t.Fatal(err)
	}
	var rows []*db.FlowStep
	for _, id := range steps {
		rows = append(rows, &db.FlowStep{FlowLogID: run, Step: id, Item: -1})
	}
	if err := db.InsertFlowSteps(b.t.Context(), b.pool, b.pool, rows); err != nil {
		b.t.Fatal(err)
	}
	return rows[0].ID
}

const waits = "steps: [{id: a, wait: {seconds: 60}}, {id: b, wait: {seconds: 60}}]"

// TestRunsOfFlowsThatMayNotBegin are those that another admin has, that have begun, and that have ended: what their rows say counts, where they
// are read.
func TestRunsOfFlowsThatMayNotBegin(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := still(t, pool)
		runs := b.made(4)
		for i, change := range []string{"owner_node = 6", "trigger_code = 200", "handle_code = 500"} {
			b.exec("UPDATE xxl_job_log SET "+change+" WHERE id = ?", runs[i].id)
		}
		for read, want := range map[bool]int{true: 1, false: 4} {
			begins := &beginning{fs: b.engine.flows, byID: make(map[int64]*dispatch)}
			var rows []db.ListRunsByIDRow
			if err := pool.Tx(t.Context(), func(tx *sql.Tx) (err error) {
				rows, err = begins.read(t.Context(), tx, runs, read)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if len(rows) != want || rows[len(rows)-1].ID != runs[3].id {
				t.Errorf("read %t: %d runs may begin: %+v", read, len(rows), rows)
			}
		}
	})
}

// TestARunWithGivenStepsBegins at the revision that its row has, with the time limit of its job from now on, whatever another one that cannot be
// read was to do beside it.
func TestARunWithGivenStepsBegins(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := still(t, pool)
		runs := b.made(2)
		b.flowRun(runs[0].id, b.definition("bad", "steps: 7"), flowGiven, "a", "b")
		b.flowRun(runs[1].id, b.definition("good", waits), flowGiven, "a", "b")
		b.exec("UPDATE punctual_flow_run SET revision = 4")
		begun, err := b.engine.flows.begin(t.Context(), runs, false)
		if err != nil || len(begun.bad) != 1 || begun.bad[runs[0]] == nil {
			t.Fatalf("which cannot be read: %v, %v", begun.bad, err)
		}
		if got := b.run(runs[1].id); got.TriggerCode != 0 {
			t.Errorf("the other one is sent with %d in a try that did nothing", got.TriggerCode)
		}
		if _, err := b.engine.flows.begin(t.Context(), runs[1:], false); err != nil {
			t.Fatal(err)
		}
		row, err := b.engine.queries.GetFlowRun(t.Context(), pool, runs[1].id)
		if err != nil {
			t.Fatal(err)
		}
		if row.State != flowGoing || row.Revision != 5 || row.FromLogID != 2 || row.Deadline-row.BeganAt != 90_000 || b.run(runs[1].id).TriggerCode != wire.CodeSuccess {
			t.Errorf("it begins as %+v", row)
		}
		if got := b.states(runs[1].id); got != "a running, b running" {
			t.Errorf("its steps: %s", got)
		}
	})
}

// TestARunOfAFlowHasTheTimeThatItsJobHas from its beginning on.
func TestARunOfAFlowHasTheTimeThatItsJobHas(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	for seconds, want := range map[int]int64{0: 0, 1: 1_001_000, 90: 1_090_000, -1: 0} {
		d := &dispatch{id: 4, owner: 5, job: &job{id: 3, timeoutSeconds: seconds}}
		fs := newFlows(flowsConfig{Engine: &Engine{cfg: Config{JobZone: time.UTC}}})
		b := &beginning{fs: fs, now: now, byID: map[int64]*dispatch{4: d}, move: newFlowMove(), sent: make(map[int64][]db.Sent)}
		plan, err := newFlowPlan(1, waits)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.start(t.Context(), nil, &db.ListRunsByIDRow{ID: 4, JobID: 3}, plan, nil); err != nil {
			t.Fatal(err)
		}
		if got := b.move.begun[0].row; got.Deadline != want || got.BeganAt != now.UnixMilli() {
			t.Errorf("of %d seconds: it begins at %d and has until %d, want %d", seconds, got.BeganAt, got.Deadline, want)
		}
	}
}

// TestARunOfAFlowThatWaitedForItsPlaceSaysSo, is over with its end, and is recorded as sent as all are, also where it would have ended an older one.
func TestARunOfAFlowThatWaitedForItsPlaceSaysSo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		b := setup(t, pool, nil, addressA)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("a", b.addJob(nil))}}, nil)
		first := b.trigger(job)
		a := b.runOf(first, "a")
		var asked atomic.Bool // for its slot, which its row does not say
		sent.Before("CountSlots", func() { asked.Store(true) })
		second := b.trigger(job)
		b.await("it waits", func() bool {
			return asked.Load() && b.run(second).OwnerNode == waitingOwner && b.engine.pending.len() == 0
		})
		b.finish(a, 200, "")
		a = b.runOf(second, "a")
		if e, ok := b.events(second).Last(event.Waited); !ok || e.Duration(0) <= 0 || b.has(first, event.Waited) {
			t.Errorf("that waited: %s; that did not: %s", b.events(second), b.events(first))
		}
		b.finish(a, 200, "")
		b.ended(second)
		if f, err := b.engine.queries.GetFlowRun(t.Context(), pool, second); err != nil || f.State != flowOver || f.EndedAt == 0 {
			t.Errorf("with its end it is not over: %+v, %v", f, err)
		}
		b.exec("UPDATE xxl_job_info SET executor_block_strategy = ? WHERE id = ?", string(wire.BlockCoverEarly), job)
		third := b.trigger(job)
		b.runOf(third, "a")
		if r := b.run(third); r.TriggerCode != wire.CodeSuccess || !b.has(third, event.FlowBegan) {
			t.Errorf("that could end another one is sent with %d: %s", r.TriggerCode, b.events(third))
		}
	})
}

// TestOnlyRunsThatGoOnAreLoaded: of one that is decided, over or has not begun, and of one whose definition cannot be read, nothing is read and nothing done, whether it
// is looked at or a step of it ends. The others beside it go on.
func TestOnlyRunsThatGoOnAreLoaded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := still(t, pool)
		good, bad := b.definition("good", waits), b.definition("bad", "steps: 7")
		var steps []int64
		for run, state := range []int64{flowGoing, flowDecided, flowOver, flowGiven} {
			steps = append(steps, b.flowRun(int64(run+1), good, state, "a", "b"))
		}
		steps = append(steps, b.flowRun(5, bad, flowGoing, "a", "b"))
		for name, m := range map[string]*flowMove{
			"looked at":     {look: []int64{1, 2, 3, 4, 5}},
			"steps end":     {ends: []stepEnd{{step: steps[0]}, {step: steps[1]}, {step: steps[2]}, {step: steps[3]}, {step: steps[4]}}},
			"steps go on":   {next: map[int64]int64{steps[0]: 7, steps[1]: 7, steps[2]: 7, steps[3]: 7, steps[4]: 7}},
			"somebody does": {deeds: []flowDeed{{log: 1}, {log: 2}, {log: 3}, {log: 4}, {log: 5}}},
		} {
			if err := pool.Tx(t.Context(), func(tx *sql.Tx) error { return b.engine.flows.load(t.Context(), tx, m) }); err != nil {
				t.Fatal(err)
			}
			if len(m.states) != 1 || m.states[1] == nil {
				t.Errorf("%s: %d runs are loaded", name, len(m.states))
			}
			if f := m.states[1]; f != nil && (len(f.steps) != 2 || f.steps[0].ID != steps[0]) {
				t.Errorf("%s: its steps are %+v", name, f.steps)
			}
			want := 2 // of the steps of the run that goes on
			if len(m.ends)+len(m.next) > 0 {
				want += 4 // and those that are of no run that was loaded
			}
			if m.read != want {
				t.Errorf("%s: %d rows of steps are read, want %d", name, m.read, want)
			}
		}
	})
}

// TestAStepIsInsertedOnce with its long texts, which what is written after it in the transaction does not write again.
func TestAStepIsInsertedOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := still(t, pool)
		s := &flowStep{changed: true, FlowStep: db.FlowStep{FlowLogID: 1, Step: "a", Item: -1, State: int64(flow.Running), Message: "said", Items: "[1]", Output: "{}"}}
		m := &flowMove{}
		run := &dispatch{id: 7, of: &flowStart{step: s}}
		if err := pool.Tx(t.Context(), func(tx *sql.Tx) error {
			if err := b.engine.flows.insertSteps(t.Context(), tx, m, []*flowStep{s}); err != nil {
				return err
			}
			m.runs = []*dispatch{run}
			moves := m.stepMoves()
			if len(moves) != 1 || moves[0].Now.Message != "" || moves[0].Now.Items != "" || moves[0].Now.Output != "" {
				t.Errorf("it is written again: %+v", moves)
			}
			return db.MoveFlowSteps(t.Context(), tx, moves)
		}); err != nil {
			t.Fatal(err)
		}
		got := b.steps(1)["a"]
		want := db.FlowStep{ID: s.ID, FlowLogID: 1, Step: "a", Item: -1, State: int64(flow.Running), RunID: 7, Going: 1, Message: "said", Items: "[1]", Output: "{}"}
		if diff := cmp.Diff(want, got); diff != "" || m.wrote != 1 {
			t.Errorf("%d rows are written (-want +got):\n%s", m.wrote, diff)
		}
	})
}
