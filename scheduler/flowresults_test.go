package scheduler

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// readResults is what expressions of a run read of some steps.
func readResults(t *testing.T, pool *db.Pool, m *flowMove, f *flowState, ids ...string) map[string]flow.Result {
	t.Helper()
	fs := newFlows(flowsConfig{Pool: pool})
	read := func(tx *sql.Tx) error { return fs.readResults(t.Context(), tx, m, f, ids) }
	run := func() error { return read(nil) }
	if pool != nil {
		run = func() error { return pool.Tx(t.Context(), read) }
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
	return f.results
}

// TestResultsAreReadAsFarAsThereIsRoom for all of them together: what does not fit is as nothing, and what fits to the byte is read.
func TestResultsAreReadAsFarAsThereIsRoom(t *testing.T) {
	t.Parallel()
	const output = `{"values":{"k":"v"}}`
	for name, tt := range map[string]struct {
		first int // bytes of the message
		want  []string
	}{
		"all fit":        {flow.MaxResultSize - len(output) - len("two"), []string{"a", "b"}},
		"one byte less":  {flow.MaxResultSize - len(output) - len("two") + 1, []string{"a"}},
		"the first fits": {flow.MaxResultSize - len(output), []string{"a"}},
		"none does":      {flow.MaxResultSize - len(output) + 1, nil},
	} {
		f := stateOf(t, "steps: [{id: a, job: 7}, {id: b, job: 8}]",
			db.FlowStep{State: int64(flow.Success), Code: 200, Message: db.Text(strings.Repeat("x", tt.first)), Output: output},
			db.FlowStep{State: int64(flow.Success), Code: 200, Message: "two"})
		f.fresh = true
		readResults(t, nil, newFlowMove(), f, "a")
		readResults(t, nil, newFlowMove(), f, "a") // is not counted again
		results := readResults(t, nil, newFlowMove(), f, "a", "b")
		var got []string
		for _, id := range []string{"a", "b"} {
			if r := results[id]; r.Code == 200 {
				got = append(got, id)
			} else if diff := cmp.Diff(flow.Result{}, r); diff != "" {
				t.Errorf("%s: what does not fit (-want +got):\n%s", name, diff)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestResultsOfItemsAreReadInTheirOrder, those that ended as they were to start among the others, and all of them count for the room there is.
func TestResultsOfItemsAreReadInTheirOrder(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		item := func(log int64, step string, i int64) *flowStep {
			return &flowStep{FlowStep: db.FlowStep{
				FlowLogID: log, Step: step, Item: i, State: int64(flow.Success), Message: db.Text(fmt.Sprintf("%s %d", step, i)), Output: `{"values":{"k":"v"}}`,
			}}
		}
		written := []*db.FlowStep{&item(5, "each", 0).FlowStep, &item(5, "each", 2).FlowStep, &item(5, "each", 4).FlowStep, &item(5, "other", 1).FlowStep, &item(6, "each", 1).FlowStep,
			{FlowLogID: 5, Step: "silent", State: int64(flow.Success)}}
		if err := db.InsertFlowSteps(t.Context(), pool, pool, written); err != nil {
			t.Fatal(err)
		}
		read := func(size int, step string) (flow.Result, int) {
			f := stateOf(t, "steps: [{id: "+step+", job: 7, foreach: {items: 1..5}}]", db.FlowStep{State: int64(flow.Failed)})
			f.row.LogID, f.size = 5, size
			m := newFlowMove()
			ends := item(5, "each", 2) // in the move under way
			ends.ID, ends.Message, ends.State = written[1].ID, "now", int64(flow.Failed)
			m.rows = map[int64]*flowStep{ends.ID: ends}
			m.starts.items = []*flowStep{item(5, "other", 3), item(5, "each", 3), item(6, "each", 3), item(5, "each", 1)}
			return readResults(t, pool, m, f, step)[step], f.size
		}
		all, size := read(0, "each")
		var got []string
		for _, r := range all.Items {
			got = append(got, r.Message)
		}
		if diff := cmp.Diff([]string{"each 0", "each 1", "now", "each 3", "each 4"}, got); diff != "" {
			t.Errorf("items (-want +got):\n%s", diff)
		}
		if all.State != flow.Failed || len(all.Items) > 2 && all.Items[2].State != flow.Failed {
			t.Errorf("the step is %v, and its items are %+v", all.State, all.Items)
		}
		if want := 4*len("each 0") + len("now") + 5*len(`{"values":{"k":"v"}}`); size != want {
			t.Errorf("they have %d bytes, want %d", size, want)
		}
		if r, _ := read(flow.MaxResultSize-size, "each"); len(r.Items) != 5 {
			t.Errorf("%d items are read that fit to the byte", len(r.Items))
		}
		if r, _ := read(flow.MaxResultSize-size+1, "each"); r.State != flow.Waiting || r.Items != nil {
			t.Errorf("%d items are read for which there is no room", len(r.Items))
		}
		if r, _ := read(flow.MaxResultSize, "silent"); len(r.Items) != 1 {
			t.Errorf("%d items are read that need no room", len(r.Items))
		}
	})
}
