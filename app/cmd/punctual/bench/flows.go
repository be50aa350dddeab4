package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// stepJobs are the jobs that steps of flows run, by turns, so that the steps of many flows do not wait for each other in one executor thread.
const stepJobs = 100

// addFlows inserts flows of so many steps one after the other, of a fixed rate and with their phases spread over it. The parameter of a step
// is "flow/step", by which the executor knows what comes after what.
func addFlows(ctx context.Context, pool *db.Pool, n, steps int, every time.Duration, first time.Time) error {
	return addFlowsOf(ctx, pool, n, every, first, func(i int, job int64) string {
		var text strings.Builder
		text.WriteString("steps:\n")
		for s := range steps {
			fmt.Fprintf(&text, "  - id: s%d\n    job: %d\n    parameter: %d/%d\n", s, job+int64((i*steps+s)%stepJobs), i, s)
			if s > 0 {
				fmt.Fprintf(&text, "    needs: s%d\n", s-1)
			}
		}
		return text.String()
	})
}

// addFlowsOf inserts flows of such definitions, whose steps may run the jobs from a number on.
func addFlowsOf(ctx context.Context, pool *db.Pool, n int, every time.Duration, first time.Time, define func(i int, job int64) string) error {
	if err := addJobsOf(ctx, pool, "step", 0, stepJobs, time.Hour, first, true); err != nil {
		return err
	}
	var group, job int64
	if err := pool.QueryRowContext(ctx, "SELECT MIN(job_group), MIN(id) FROM xxl_job_info WHERE executor_handler = 'step'").Scan(&group, &job); err != nil {
		return err
	}
	if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET trigger_status = 0, trigger_next_time = 0 WHERE executor_handler = 'step'"); err != nil {
		return err
	}
	now := pool.Wall(time.Now())
	return pool.Tx(ctx, func(tx *sql.Tx) error {
		for i := range n {
			_, err := tx.ExecContext(ctx, `INSERT INTO xxl_job_info (job_group, job_desc, add_time, update_time, author, schedule_type, schedule_conf, misfire_strategy,
 executor_route_strategy, executor_block_strategy, glue_type, glue_source, glue_updatetime, max_concurrent, trigger_status, trigger_next_time)
 VALUES (?,?,?,?,'bench','FIX_RATE',?,'DO_NOTHING','ROUND','SERIAL_EXECUTION',?,?,?,100,2,?)`, group, fmt.Sprintf("flow %d", i), now, now, fmt.Sprint(int(every.Seconds())),
				jobspec.GlueFlow, define(i, job), now, first.Add(every*time.Duration(i)/time.Duration(n)).UnixMilli())
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// flowSteps is how many steps the flows of the measurements have.
const flowSteps = 10

// stepsASecond offers more flows than the machine can run, and counts the steps that were executed.
func stepsASecond(ctx context.Context, s Settings, database string) error {
	flows := max(1, s.Steps/flowSteps)
	w, err := windowOf(ctx, s, database, 8*time.Second, func(pool *db.Pool) error {
		return addFlows(ctx, pool, flows, flowSteps, time.Second, time.Now().Add(3*time.Second))
	})
	if err != nil {
		return err
	}
	s.report(database, "flows, steps a second", "offered %d/s in flows of %d: %.0f steps/s executed, %.0f results/s recorded (one more of each flow); next step after the end of the last p50 %.1f p99 %.1f ms; CPU admin %.2f, executor %.2f, database %.2f cores; admin %.0f MB; results %s, outcomes %s",
		flows*flowSteps, flowSteps, float64(w.executor.Executed)/w.seconds, w.rate("punctual_callback_batch_size_sum"), w.executor.NextP50, w.executor.NextP99,
		w.adminCPU, w.execCPU, w.dbCPU, w.adminRSS, w.mean("callback_seconds", "callback_batch_size"), w.mean("record_seconds", "record_batch_size"))
	return nil
}

// nextStep runs steps at a rate that the machine can follow, and asks the executor how long after the end of a step the next one came. That is
// the way of the report to the admin, the commit of the decision, and the way of the request: more than what the admin alone takes.
func nextStep(ctx context.Context, s Settings, database string) error {
	const rate = 500
	w, err := windowOf(ctx, s, database, 8*time.Second, func(pool *db.Pool) error {
		return addFlows(ctx, pool, rate/flowSteps, flowSteps, time.Second, time.Now().Add(3*time.Second))
	})
	if err != nil {
		return err
	}
	s.report(database, "flows, the next step", "%.0f steps/s executed; after the end of the last p50 %.1f p90 %.1f p99 %.1f max %.1f ms; CPU admin %.2f, executor %.2f, database %.2f cores; results %s",
		float64(w.executor.Executed)/w.seconds, w.executor.NextP50, w.executor.NextP90, w.executor.NextP99, w.executor.NextMax, w.adminCPU, w.execCPU, w.dbCPU,
		w.mean("callback_seconds", "callback_batch_size"))
	return nil
}

// longForeach runs one job for each of 10,000 items, 50 at a time, and says how long that takes and what it costs: how much of the log and of
// memory one decision takes is what TestAForeachOfTenThousandItemsIsBounded is about.
func longForeach(ctx context.Context, s Settings, database string) error {
	const items, parallel = flow.MaxItems, 50
	y, err := prepared(ctx, s, database, func(pool *db.Pool) error {
		return addFlowsOf(ctx, pool, 1, time.Hour, time.Now().Add(5*time.Second), func(_ int, job int64) string {
			return fmt.Sprintf("steps:\n  - id: each\n    job: %d\n    parameter: 0/${{ item }}\n    foreach: {items: 1..%d, parallel: %d}\n", job, items, parallel)
		})
	})
	if err != nil {
		return err
	}
	defer y.close()
	_, before := usage(y.admin)
	executed, doubled := 0, 0
	w, err := y.during(func() error {
		for executed < items {
			if err := wait(ctx, 50*time.Millisecond); err != nil {
				return err
			}
			now, err := y.stats()
			if err != nil {
				return err
			}
			executed, doubled = executed+now.Executed, now.Doubled
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.report(database, "flows, a foreach", "%d items, %d at a time, %d twice, within %.1f s of the start of the program: %.0f/s; admin %.0f MB, %.0f before; CPU admin %.2f, executor %.2f, database %.2f cores; results %s",
		executed, parallel, doubled, w.seconds, float64(executed)/w.seconds, w.adminRSS, before, w.adminCPU, w.execCPU, w.dbCPU, w.mean("callback_seconds", "callback_batch_size"))
	return nil
}

// besideFlows runs jobs of no flow, by turns without any flow in the installation and with a thousand that are not due, three times each.
func besideFlows(ctx context.Context, s Settings, database string) error {
	const rate = 1000
	for range 3 {
		for _, flows := range []int{0, 1000} {
			y, err := prepared(ctx, s, database, func(pool *db.Pool) error {
				if flows > 0 {
					if err := addFlows(ctx, pool, flows, flowSteps, 24*time.Hour, time.Now().Add(time.Hour)); err != nil {
						return err
					}
				}
				return addJobs(ctx, pool, rate, time.Second, time.Now().Add(3*time.Second), true)
			})
			if err != nil {
				return err
			}
			w, err := y.window(ctx, 8*time.Second, time.Duration(s.Seconds)*time.Second)
			if err := errors.Join(err, y.close()); err != nil {
				return err
			}
			runs := float64(w.executor.Executed)
			s.report(database, fmt.Sprintf("flows beside, %d of them", flows), "executed %.0f/s of no flow; lateness p50 %.1f p99 %.1f ms; CPU of 1,000 runs: admin %.0f ms, database %.0f ms",
				runs/w.seconds, w.executor.P50, w.executor.P99, 1e6*w.adminCPU*w.seconds/runs, 1e6*w.dbCPU*w.seconds/runs)
		}
	}
	return nil
}
