package db_test

import (
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestOfAStepIsWrittenWhatChanged: a decision that knows the rows before it writes the columns that it changed, one that does not all.
func TestOfAStepIsWrittenWhatChanged(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ctx := t.Context()
		steps := []*db.FlowStep{{FlowLogID: 1, Step: "a", Item: -1, RunID: 7}, {FlowLogID: 1, Step: "b", Item: -1, RunID: 8}}
		if err := db.InsertFlowSteps(ctx, pool, pool, steps); err != nil {
			t.Fatal(err)
		}
		was := []db.FlowStep{*steps[0], *steps[1]}
		if _, err := pool.ExecContext(ctx, "UPDATE punctual_flow_step SET remark = 'kept'"); err != nil {
			t.Fatal(err)
		}
		rows := func() (rows [2]db.FlowStep) {
			t.Helper()
			for i, s := range steps {
				row, err := db.New().GetFlowStep(ctx, pool, db.GetFlowStepParams{FlowLogID: 1, Step: s.Step})
				if err != nil {
					t.Fatal(err)
				}
				rows[i] = row
			}
			return rows
		}
		steps[0].State, steps[0].Output, steps[1].RunID = 3, "{}", 9
		moves := []db.StepMove{{Now: steps[0], Was: &was[0]}, {Now: steps[1], Was: &was[1]}}
		if err := db.MoveFlowSteps(ctx, pool, moves); err != nil {
			t.Fatal(err)
		}
		if got := rows(); got[0].State != 3 || got[0].RunID != 7 || got[0].Output != "{}" || got[1].State != 0 || got[1].RunID != 9 ||
			got[0].Remark != "kept" || got[1].Remark != "kept" {
			t.Errorf("the rows are %+v", got)
		}
		if err := db.MoveFlowSteps(ctx, pool, []db.StepMove{{Now: &was[1], Was: &was[1]}}); err != nil {
			t.Errorf("of nothing that changed: %v", err)
		}
		if err := db.MoveFlowSteps(ctx, pool, []db.StepMove{{Now: steps[0]}}); err != nil {
			t.Fatal(err)
		}
		if got := rows(); got[0].Remark != "" || got[1].Remark != "kept" {
			t.Errorf("of one whose row is not known all is written: %+v", got)
		}
	})
}
