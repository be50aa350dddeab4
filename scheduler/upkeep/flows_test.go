package upkeep

import (
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestWhatIsKeptOfRunsOfFlowsGoesWithThem: with their retention, and with their job. A flow that goes on is stopped first.
func TestWhatIsKeptOfRunsOfFlowsGoesWithThem(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, nil)
		ctx := t.Context()
		kept, err := db.InsertRuns(ctx, pool, []db.NewRun{{JobID: 1, Type: jobspec.TriggerManual, TriggerTime: pool.Wall(s.cfg.Now())}})
		if err != nil {
			t.Fatal(err)
		}
		old, going := kept+100, kept+200
		for _, digest := range []string{"kept", "old"} {
			if err := db.InsertFlowTexts(ctx, pool, []db.FlowText{{JobID: 1, Digest: digest, MadeAt: s.cfg.Now().Add(-48 * time.Hour).UnixMilli(), Source: "x"}}); err != nil {
				t.Fatal(err)
			}
		}
		ids := make(map[string]int64)
		for _, digest := range []string{"kept", "old"} {
			texts, err := s.queries.FindFlowTexts(ctx, pool, []int64{1})
			if err != nil || len(texts) != 2 {
				t.Fatal(err)
			}
			ids[digest] = texts[slices.IndexFunc(texts, func(r db.FindFlowTextsRow) bool { return r.Digest == digest })].ID
		}
		runs := []db.FlowRun{{LogID: kept, TextID: ids["kept"], State: 2}, {LogID: old, TextID: ids["old"], State: 2}, {LogID: going, TextID: ids["kept"]}}
		if err := db.InsertFlowRuns(ctx, pool, runs); err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			if err := db.InsertFlowSteps(ctx, pool, pool, []*db.FlowStep{{FlowLogID: r.LogID, Step: "a", Item: -1}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.forgetFlows(ctx); err != nil {
			t.Fatal(err)
		}
		left, err := s.queries.ListFlowRuns(ctx, pool, []int64{kept, old, going})
		if err != nil {
			t.Fatal(err)
		}
		steps, err := s.queries.ListFlowSteps(ctx, pool, []int64{kept, old, going})
		if err != nil {
			t.Fatal(err)
		}
		if len(left) != 2 || left[0].LogID != kept || left[1].LogID != going || len(steps) != 2 {
			t.Errorf("left are %+v with the steps %+v", left, steps)
		}
		if _, err := s.queries.GetFlowText(ctx, pool, ids["old"]); err == nil {
			t.Error("the definition of no run is left")
		}
		if _, err := s.queries.GetFlowText(ctx, pool, ids["kept"]); err != nil {
			t.Errorf("the definition of a run: %v", err)
		}
	})
}

// TestForgettingFlowsLocksNoRun: flows go on all the time, and neither waits for the other.
func TestForgettingFlowsLocksNoRun(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL) // the embedded database lets writers in one after the other
	s := newService(t, pool, nil)
	ctx := t.Context()
	run, err := db.InsertRuns(ctx, pool, []db.NewRun{{JobID: 1, Type: jobspec.TriggerManual, TriggerTime: pool.Wall(s.cfg.Now())}})
	if err != nil {
		t.Fatal(err)
	}
	for _, digest := range []string{"of the run", "of none"} {
		if err := db.InsertFlowTexts(ctx, pool, []db.FlowText{{JobID: 1, Digest: digest, MadeAt: 1, Source: "x"}}); err != nil {
			t.Fatal(err)
		}
	}
	texts, err := s.queries.FindFlowTexts(ctx, pool, []int64{1})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.InsertFlowRuns(ctx, pool, []db.FlowRun{{LogID: run, TextID: texts[0].ID}}); err != nil {
		t.Fatal(err)
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	dbtest.Hold(t, pool, tx)
	if _, err := tx.ExecContext(ctx, "UPDATE punctual_flow_run SET revision = 1"); err != nil {
		t.Fatal(err)
	}
	if err := s.forgetFlows(ctx); err != nil {
		t.Errorf("while a decision writes the run: %v", err)
	}
	if texts, err := s.queries.FindFlowTexts(ctx, pool, []int64{1}); err != nil || len(texts) != 1 {
		t.Errorf("%d definitions are left, %v, want that of the run", len(texts), err)
	}
}
