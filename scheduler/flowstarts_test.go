package scheduler

import (
	"database/sql"
	"encoding/json"
	"testing"

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
				got = append(got, item.Item)
			}
			if diff := cmp.Diff(want, got); diff != "" || len(m.starts.list) != len(got) {
				t.Errorf("after start %d there are %d runs of items (-want +got):\n%s", start, len(m.starts.list), diff)
			}
		}
	})
}
