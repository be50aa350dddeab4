package scheduler

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestAPushIsTakenByWhatThisAdminSent: an admin that has sent a run lately reads nothing to take what its executor pushes, and refuses it to
// others by the same rules. Any other admin reads whose run it is.
func TestAPushIsTakenByWhatThisAdminSent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		watched := dbtest.Watch(t, pool)
		keeps := func(c *Config) {
			store, err := archive.OpenFolder(filepath.Join(t.TempDir(), "outputs"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			c.Output = Output{Store: store, Limits: func() archive.Limits {
				return archive.Limits{Keep: jobspec.KeepAll, RunBytes: 16 << 10, MaxUncopy: 1000}
			}}
		}
		b := setup(t, pool, keeps, addressA)
		b.addGroup("stock")
		if err := b.engine.Register(t.Context(), wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: addressA, TakesEnvironment: true}); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.directory.reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		two := b.second(keeps)
		asks := func() (n int) { // what takes pushes asks outside of transactions
			for _, statements := range watched.Transactions("ListRunsToKeep") {
				if len(statements) == 1 {
					n++
				}
			}
			return n
		}
		send := func(job int64) int64 {
			t.Helper()
			run := b.trigger(job)
			b.await("it is sent", func() bool { return b.run(run).TriggerCode == 200 })
			if sent := b.sentFor(run); len(sent) != 1 || sent[0].KeepOutput == nil {
				t.Fatalf("its executor was told %+v", sent)
			}
			return run
		}
		push := func(at *Engine, scope string, asked int, want error, runs ...int64) {
			t.Helper()
			var outputs []wire.PushedOutput
			for _, run := range runs {
				outputs = append(outputs, wire.PushedOutput{LogID: run, Head: fmt.Sprintf("of %d\n", run)})
			}
			before := asks()
			if err := at.Outputs().Take(t.Context(), Caller{Scope: scope}, nil, outputs); !errors.Is(err, want) {
				t.Errorf("the push of %d by %q: %v, want %v", runs, scope, err, want)
			}
			if n := asks() - before; n != asked {
				t.Errorf("the push of %d by %q asked the database %d times, want %d", runs, scope, n, asked)
			}
		}
		job := b.addJob(nil)
		own, foreign, elsewhere, stopped := send(job), send(job), send(job), send(job)
		const nowhere = 1 << 40
		push(b.engine, "orders", 0, nil, own)
		push(b.engine, "stock", 0, ErrNotTheirs, foreign)
		push(two, "stock", 1, ErrNotTheirs, foreign)
		push(two, "orders", 1, nil, elsewhere)
		push(b.engine, "", 1, nil, nowhere, stopped)
		for _, run := range []int64{own, foreign, elsewhere, stopped} {
			if err := b.engine.Complete(t.Context(), []wire.Callback{{LogID: run, HandleCode: 500, Pushed: run != foreign}}); err != nil {
				t.Fatal(err)
			}
		}
		kept := func(run int64) bool {
			r, err := b.engine.queries.GetOutput(t.Context(), pool, run)
			return err == nil && r.Pushed == 1 && r.State == db.OutputWhole
		}
		b.await("what was pushed is kept", func() bool { return kept(own) && kept(elsewhere) && kept(stopped) })
		if kept(foreign) || kept(nowhere) {
			t.Error("what was refused is kept, or what is nobody's")
		}

		// A run that was read from its row may be of another group than its job is now.
		dead := db.Node{ID: b.deadNode(db.NewRun{JobID: job, PlannedAt: time.Now().UnixMilli(), Type: jobspec.TriggerCron})}
		if err := b.engine.takeOver(t.Context(), dead); err != nil {
			t.Fatal(err)
		}
		runs := b.runsOf(job)
		adopted := slices.MaxFunc(runs, func(a, b db.Run) int { return int(a.ID - b.ID) }).ID
		b.await("it is sent after all", func() bool { return len(b.sentFor(adopted)) == 1 })
		push(b.engine, "orders", 1, nil, adopted)
	})
}

// TestSentRunsAreForgotten: how many are remembered does not grow.
func TestSentRunsAreForgotten(t *testing.T) {
	t.Parallel()
	var s sentRuns
	most := 0
	outputs := make([]wire.PushedOutput, 5*sentHalf)
	for i := range outputs {
		outputs[i].LogID = int64(i)
		s.add(runToKeep{Run: archive.Run{ID: int64(i)}})
		most = max(most, len(s.now)+len(s.old))
	}
	runs := make(map[int64]runToKeep)
	unknown := s.find(outputs, runs)
	if most > 2*sentHalf || len(runs)+len(unknown) != len(outputs) || len(runs) < sentHalf {
		t.Errorf("%d were remembered at most, %d are at the end", most, len(runs))
	}
	for _, last := range outputs[len(outputs)-sentHalf:] {
		if _, known := runs[last.LogID]; !known {
			t.Fatalf("%d is forgotten, one of the last", last.LogID)
		}
	}
}
