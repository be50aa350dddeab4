package app

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestARolloutLosesNoRun replaces executors one after another while runs of jobs without retries come in, wait at them and go on:
// each is done once, whoever shuts down, and whether they are called or ask.
func TestARolloutLosesNoRun(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]executor.Mode{"called": executor.Push, "asking": executor.Pull} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rolloutLosesNoRun(t, mode)
		})
	}
}

func rolloutLosesNoRun(t *testing.T, mode executor.Mode) {
	t.Helper()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		group, err := db.New().InsertGroup(t.Context(), a.pool, db.InsertGroupParams{AppName: "orders", Title: "orders"})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.engine.GroupsChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		done := make(map[string]int) // by parameter
		began := 0
		begin := func() *executor.Executor {
			t.Helper()
			cfg := executor.Config{
				AppName: "orders", Admins: []string{a.Welcome().URL}, Token: o.AccessToken, DataDir: t.TempDir(), Mode: mode,
				NoSync: true, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
			}
			if mode == executor.Pull {
				cfg.Name = "box-" + strconv.Itoa(began)
			} else {
				cfg.Listen = "127.0.0.1:0"
			}
			ex, err := executor.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			ex.Handle("work", func(_ context.Context, run *executor.Run) error {
				mu.Lock()
				defer mu.Unlock()
				done[run.Param]++
				return nil
			})
			if err := ex.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = ex.Stop(context.Background()) })
			began++
			executortest.Eventually(t, "it is registered", func() error {
				// As those see it who choose an address: its row is there a moment before.
				if len(a.engine.Addresses(group)) < min(began, 2) {
					return executortest.ErrNotYet
				}
				return nil
			})
			return ex
		}
		var jobs []int64
		for _, route := range []jobspec.Route{jobspec.RouteRound, jobspec.RouteFirst, jobspec.RouteFailover, jobspec.RouteShardingBroadcast} {
			id, err := db.New().InsertJob(t.Context(), a.pool, db.InsertJobParams{
				JobGroup: group, JobDesc: string(route), ScheduleType: jobspec.ScheduleNone, MisfireStrategy: jobspec.MisfireDoNothing,
				ExecutorRouteStrategy: route, ExecutorHandler: "work", ExecutorBlockStrategy: db.Text(wire.BlockSerial), GlueType: wire.GlueBean,
			})
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, id)
		}
		runs := 0 // how many fires' runs there must be
		trigger := func(n int) {
			t.Helper()
			for range n {
				for _, job := range jobs {
					param := strconv.Itoa(runs)
					ids, err := a.engine.Trigger(t.Context(), scheduler.TriggerRequest{JobID: job, Type: jobspec.TriggerManual, Param: &param})
					if err != nil {
						t.Fatal(err)
					}
					mu.Lock()
					done[param] -= len(ids)
					mu.Unlock()
					runs++
				}
			}
		}
		old := []*executor.Executor{begin(), begin()}
		for round := range 3 {
			trigger(10)
			next := begin()
			leaving := old[round%2]
			gone := make(chan error, 1)
			go func() { gone <- leaving.Drain(context.Background()) }()
			trigger(20)
			if err := <-gone; err != nil {
				t.Error(err)
			}
			old[round%2] = next
		}
		executortest.Eventually(t, "all runs have ended", func() error {
			var open int
			err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_log WHERE handle_code = 0 AND trigger_code IN (0, 200)").Scan(&open)
			if err == nil && open > 0 {
				err = executortest.ErrNotYet
			}
			return err
		})
		mu.Lock()
		defer mu.Unlock()
		for param, n := range done {
			if n != 0 {
				t.Errorf("what fire %s means was done %+d times too often", param, n)
			}
		}
		rows, err := a.pool.QueryContext(t.Context(), "SELECT outcome, trigger_type, trigger_msg FROM xxl_job_log WHERE outcome <> 1 AND executor_fail_retry_count <= 0")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var outcome event.Outcome
			var trigger, message string
			if err := rows.Scan(&outcome, &trigger, &message); err != nil {
				t.Fatal(err)
			}
			t.Errorf("a run (%s) ended as %s: %s", trigger, outcome, message)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	})
}
