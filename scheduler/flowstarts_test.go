package scheduler

import (
	"database/sql"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// TestNoItemStartsTwice of a foreach that is run again: not one that has succeeded before, however many of those lie between two that have not,
// and not one that the move has started already and has not written yet.
func TestNoItemStartsTwice(t *testing.T) {
	t.Parallel()
	const items = 3*itemsAtOnce + 1
	left := []int64{0, itemsAtOnce + itemsAtOnce/2, items - 1} // with more than a page of others between them
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := still(t, pool)
		list := make([]int, items)
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		rows := []*db.FlowStep{{FlowLogID: 1, Step: "each", Item: -1, State: int64(flow.Running), Attempt: 2, Total: items, Items: db.Text(text)}}
		for i := range int64(items) {
			if i != left[0] && i != left[1] && i != left[2] {
				rows = append(rows, &db.FlowStep{FlowLogID: 1, Step: "each", Item: i, State: int64(flow.Success)})
			}
		}
		if err := db.InsertFlowSteps(t.Context(), pool, pool, rows); err != nil {
			t.Fatal(err)
		}
		f := stateOf(t, "steps: [{id: each, job: 7, foreach: {items: flow.param, parallel: 2}}]", *rows[0])
		f.row.LogID, f.steps[0].FlowLogID, f.steps[0].Items = 1, 1, ""
		m := newFlowMove()
		for start, want := range [][]int64{left[:2], left, left} { // two start, then one more, then there is none
			if err := pool.Tx(t.Context(), func(tx *sql.Tx) error {
				return b.engine.flows.startItems(t.Context(), tx, m, f, &flow.Start{Items: 2}, flow.Data{})
			}); err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, item := range m.starts.items {
				if got = append(got, item.Item); item.Attempt != 2 {
					t.Errorf("item %d began in attempt %d of its step", item.Item, item.Attempt)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || len(m.starts.list) != len(got) {
				t.Errorf("after start %d there are %d runs of items (-want +got):\n%s", start, len(m.starts.list), diff)
			}
		}
	})
}

// TestWhatAStartMakesOfItsStep: its times are those of this beginning, and the time limit of a foreach does not move when more of its items start.
func TestWhatAStartMakesOfItsStep(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	at := now.UnixMilli()
	type after struct {
		Began, Ended, Due int64
		Param             db.Text
		Runs              int
	}
	for name, tt := range map[string]struct {
		step  string
		row   db.FlowStep
		start flow.Start
		want  after
	}{
		"a wait":                     {"wait: {seconds: 60}", db.FlowStep{}, flow.Start{}, after{Began: at, Due: at + 60_000}},
		"a wait that ended before":   {"wait: {seconds: 60}", db.FlowStep{BeganAt: 3, EndedAt: 5}, flow.Start{}, after{Began: at, Due: at + 60_000}},
		"a moment":                   {"wait: {until: 2030-01-01 00:00:00}", db.FlowStep{}, flow.Start{Until: now.Add(time.Hour)}, after{Began: at, Due: at + 3_600_000}},
		"a moment before all others": {"wait: {until: 2030-01-01 00:00:00}", db.FlowStep{}, flow.Start{Until: time.UnixMilli(-7)}, after{Began: at, Due: 1}},
		"an approval":                {"approve: {message: yes}", db.FlowStep{}, flow.Start{Text: "yes?"}, after{Began: at, Param: "yes?"}},
		"one that somebody awaits":   {"approve: {message: yes, timeout_seconds: 60}", db.FlowStep{}, flow.Start{Text: "yes?"}, after{Began: at, Due: at + 60_000, Param: "yes?"}},
		"a job":                      {"job: 7", db.FlowStep{}, flow.Start{}, after{Began: at, Runs: 1}},
		"a job that has a time":      {"job: 7, timeout_seconds: 60", db.FlowStep{}, flow.Start{}, after{Began: at, Due: at + 60_000, Runs: 1}},
		"items":                      {"job: 7, foreach: {items: 1..3}, timeout_seconds: 60", db.FlowStep{Attempt: 1}, flow.Start{Items: 2, List: []any{1, 2, 3}, Text: "[1,2,3]"}, after{Began: at, Due: at + 60_000, Runs: 2}},
		"more items":                 {"job: 7, foreach: {items: 1..3}, timeout_seconds: 60", db.FlowStep{Attempt: 1, Items: "[1,2,3]", BeganAt: 3, DueAt: at + 5, NextItem: 1}, flow.Start{Items: 1}, after{Began: 3, Due: at + 5, Runs: 1}},
	} {
		f := stateOf(t, "steps: [{id: a, "+tt.step+"}]", tt.row)
		f.run.Steps[0].State = flow.Running
		f.run.Steps[0].Items = flow.Items{Total: 3, Open: tt.start.Items, Succeeded: int(tt.row.NextItem)}
		m := &flowMove{now: now}
		if err := newFlows(flowsConfig{}).startStep(t.Context(), nil, m, f, &tt.start, flow.Data{}); err != nil {
			t.Fatal(err)
		}
		s := f.steps[0]
		if diff := cmp.Diff(tt.want, after{s.BeganAt, s.EndedAt, s.DueAt, s.Param, len(m.starts.list)}); diff != "" || !s.changed || s.State != int64(flow.Running) {
			t.Errorf("%s: %+v (-want +got):\n%s", name, s, diff)
		}
		for i, start := range m.starts.list {
			if s := start.step; start.flow != f || len(m.starts.items) > 0 && (s != m.starts.items[i] || s.Item != tt.row.NextItem+int64(i)) {
				t.Errorf("%s: run %d is of %+v", name, i, s)
			}
		}
	}
}

// TestAStepWhoseJobThereIsNotHasFailed, as has an item of a foreach, which counts for its step.
func TestAStepWhoseJobThereIsNotHasFailed(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	for definition, word := range map[string]string{
		"steps: [{id: a, job: 7}]": "job #7 does not exist", "steps: [{id: a, flow: 7}]": "flow #7 would start itself", "steps: [{id: a, job: 7, foreach: {items: 1..3}}]": "job #7 does not exist",
	} {
		f := stateOf(t, definition, db.FlowStep{State: int64(flow.Running), BeganAt: 3})
		f.run.Steps[0].Items = flow.Items{Total: 3, Open: 2}
		step := &f.plan.def.Steps[0]
		start := &flowStart{flow: f, step: f.steps[0], ref: step.Ref(), ring: step.Kind() == flow.KindFlow}
		if step.Foreach != nil {
			start.step = &flowStep{FlowStep: db.FlowStep{Step: "a", Item: 1, State: int64(flow.Running), BeganAt: 3}}
		}
		start.fail(now)
		row := start.step
		if row.State != int64(flow.Failed) || row.EndedAt != now.UnixMilli() || row.Code == 0 || !row.changed || !strings.Contains(string(row.Message), word) {
			t.Errorf("%s: its row is %+v", definition, row.FlowStep)
		}
		if s := f.steps[0]; step.Foreach != nil && (s.State != int64(flow.Running) || s.Failed != 1 || s.Going != 1) {
			t.Errorf("%s: of its items the step has %+v", definition, s.FlowStep)
		}
		if failed := step.Foreach == nil; (f.row.FailedStep == "a") != failed {
			t.Errorf("%s: the step that failed first is %q", definition, f.row.FailedStep)
		}
	}
}

// TestAStepMeansTheJobOfItsVeryName, where a database takes names for equal that differ in their letters' case.
func TestAStepMeansTheJobOfItsVeryName(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := still(t, pool)
		b.group = b.addGroup("orders")
		want := make(map[string]int64)
		for _, name := range []string{"Import", "IMPORT", "import"} {
			want[name] = b.addJob(func(p *db.InsertJobParams) { p.JobDesc = name })
		}
		want["iMPORT"] = 0
		fs := newFlows(flowsConfig{Pool: pool, GroupsOf: func(string) []int64 { return []int64{b.group} }})
		s := &starts{named: make(map[flow.JobRef]int64)}
		for range 2 { // from the database, and from what is known
			for name, id := range want {
				var got int64
				if err := pool.Tx(t.Context(), func(tx *sql.Tx) (err error) {
					got, err = fs.jobNamed(t.Context(), tx, s, flow.JobRef{AppName: "orders", Description: name})
					return err
				}); err != nil || got != id {
					t.Errorf("%s is job %d, want %d: %v", name, got, id, err)
				}
			}
		}
	})
}

// TestAStepFindsItsJobInEachGroupOfAnAppName: a database that XXL-JOB filled may have several, and a flow may be saved that names a job of any.
func TestAStepFindsItsJobInEachGroupOfAnAppName(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := still(t, pool)
		want := map[string]int64{"nobody's": 0}
		for _, name := range []string{"import", "export"} {
			b.group = b.addGroup("orders")
			want[name] = b.addJob(func(p *db.InsertJobParams) { p.JobDesc = name })
		}
		if err := b.engine.directory.reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := &starts{named: make(map[flow.JobRef]int64)}
		for name, id := range want {
			for app, id := range map[string]int64{"Orders": id, "others": 0} {
				var got int64
				if err := pool.Tx(t.Context(), func(tx *sql.Tx) (err error) {
					got, err = b.engine.flows.jobNamed(t.Context(), tx, s, flow.JobRef{AppName: app, Description: name})
					return err
				}); err != nil || got != id {
					t.Errorf("%s of %s is job %d, want %d: %v", name, app, got, id, err)
				}
			}
		}
	})
}
