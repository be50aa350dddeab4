package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
)

// scenario is one measurement.
type scenario struct {
	name    string
	measure func(ctx context.Context, s Settings, database string) error
}

// scenarios are for those who develop Punctual.
func scenarios() []scenario {
	return []scenario{
		{"saturation", saturation},
		{"lateness at 3000/s", latenessAt(3000)},
		{"3,000 on the second", onTheSecond("3,000", 3000)},
		{"1,000 jobs, 100/s due", func(ctx context.Context, s Settings, database string) error {
			return lateness(ctx, s, database, 100, 900)
		}},
		{"200,000 jobs, 100/s due", func(ctx context.Context, s Settings, database string) error {
			return lateness(ctx, s, database, 100, 199_900)
		}},
		{"garbage", besideGarbage},
		{"audit", auditOfAMonth},
		{"retries", retries},
		{"alarms", alarms},
		{"take-over", takeOver},
		{"overload of two", overloadOfTwo},
		{"more admins", moreAdmins},
		{"joining", joining},
		{"a big log", bigTable},
		{"retention", retention},
		{"upkeep", upkeepOfBig},
		{"pages", pages},
		{"receivers away", receiverDown},
		{"receivers by turns", receiverRounds},
		{"pull, one admin", pulling(1, false, "one admin")},
		{"pull, two admins", pulling(2, false, "two admins")},
		{"pull, two behind a balancer", pulling(2, true, "two behind a balancer")},
		{"pull, idle", idlePullers},
		{"start-up of many jobs", startUpOfMany},
		{"flows, steps a second", stepsASecond},
		{"flows, the next step", nextStep},
		{"flows, a foreach", longForeach},
		{"flows beside", besideFlows},
		{"output, cost", keepingCost},
		{"output, search", searchOutput},
	}
}

// addJobs inserts n started jobs of the handler "noop": fixed rate, their phases spread evenly over the period, or all on
// the full second.
func addJobs(ctx context.Context, pool *db.Pool, n int, every time.Duration, first time.Time, spread bool) error {
	return addJobsOf(ctx, pool, "noop", 0, n, every, first, spread)
}

// addJobsOf is addJobs for another handler, with retries.
func addJobsOf(ctx context.Context, pool *db.Pool, handler string, retries, n int, every time.Duration, first time.Time, spread bool) error {
	if _, err := pool.ExecContext(ctx, "INSERT INTO xxl_job_group (app_name, title, address_type) SELECT 'bench', 'bench', 0 WHERE NOT EXISTS (SELECT 1 FROM xxl_job_group WHERE app_name = 'bench')"); err != nil {
		return err
	}
	var group int64
	if err := pool.QueryRowContext(ctx, "SELECT id FROM xxl_job_group WHERE app_name = 'bench'").Scan(&group); err != nil {
		return err
	}
	now := pool.Wall(time.Now())
	return pool.Tx(ctx, func(tx *sql.Tx) error {
		for done := 0; done < n; {
			part := min(500, n-done)
			var q strings.Builder
			q.WriteString(`INSERT INTO xxl_job_info (job_group, job_desc, add_time, update_time, author, schedule_type, schedule_conf, misfire_strategy,
 executor_route_strategy, executor_handler, executor_param, executor_block_strategy, glue_type, glue_updatetime, executor_fail_retry_count, trigger_status, trigger_next_time) VALUES `)
			var args []any
			for i := range part {
				if i > 0 {
					q.WriteByte(',')
				}
				q.WriteString("(?,?,?,?,'bench','FIX_RATE',?,'DO_NOTHING','ROUND',?,'',?,'BEAN',?,?,1,?)")
				next := first
				if spread {
					next = first.Add(every * time.Duration(done+i) / time.Duration(n))
				}
				args = append(args, group, fmt.Sprintf("job %d", done+i), now, now, fmt.Sprint(int(every.Seconds())), handler, "SERIAL_EXECUTION", now, retries, next.UnixMilli())
			}
			if _, err := tx.ExecContext(ctx, q.String(), args...); err != nil {
				return err
			}
			done += part
		}
		return nil
	})
}

// prepared is a system with jobs in its database and admin and executor running.
func prepared(ctx context.Context, s Settings, database string, fill func(*db.Pool) error) (*system, error) {
	y, err := unattended(ctx, s, database, fill)
	if err != nil {
		return nil, err
	}
	if err := y.startExecutor(ctx); err != nil {
		return nil, fmt.Errorf("%w (%v)", err, y.close())
	}
	return y, nil
}

// unattended is [prepared] without an executor.
func unattended(ctx context.Context, s Settings, database string, fill func(*db.Pool) error) (*system, error) {
	y, err := newSystem(ctx, s, database)
	if err != nil {
		return nil, err
	}
	if err = y.fill(ctx, fill); err == nil {
		_, err = y.startAdmin(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%w (%v)", err, y.close())
	}
	return y, nil
}

// fill does something to the database of a system whose admin does not run.
func (y *system) fill(ctx context.Context, fill func(*db.Pool) error) error {
	pool, err := y.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(fill(pool), pool.Close())
}

// windowOf is a window of a [prepared] system, after a while in which it settles.
func windowOf(ctx context.Context, s Settings, database string, settle time.Duration, fill func(*db.Pool) error) (w window, err error) {
	y, err := prepared(ctx, s, database, fill)
	if err != nil {
		return w, err
	}
	defer y.close()
	return y.window(ctx, settle, time.Duration(s.Seconds)*time.Second)
}

// window lets a running system settle, then measures it for a while.
type window struct {
	seconds  float64
	executor executorStats
	before   map[string]float64
	after    map[string]float64
	adminCPU float64 // share of one core
	adminRSS float64
	dbCPU    float64
	execCPU  float64
}

func (w window) rate(metric string) float64 { return (w.after[metric] - w.before[metric]) / w.seconds }

func (y *system) window(ctx context.Context, settle, length time.Duration) (w window, err error) {
	if err := wait(ctx, settle); err != nil {
		return w, err
	}
	return y.during(func() error {
		if y.profile != "" {
			return y.profiled(ctx, length)
		}
		return wait(ctx, length)
	})
}

// profiled lets time pass and keeps what the admin computed meanwhile.
func (y *system) profiled(ctx context.Context, length time.Duration) (err error) {
	if err := os.MkdirAll(y.profile, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(y.profile, y.database+"-*.pprof")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", y.pprof, int(length.Seconds())), nil)
	if err != nil {
		return err
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	_, err = io.Copy(f, r.Body)
	return err
}

// wait lets time pass.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// during measures a running system while something is done.
func (y *system) during(do func() error) (w window, err error) {
	if w.before, err = y.metrics(); err != nil {
		return w, err
	}
	if _, err = y.stats(); err != nil {
		return w, err
	}
	admin, _ := usage(y.admin)
	maria, _ := usage(y.maria)
	ex, _ := usage(y.executor)
	began := time.Now()
	if err := do(); err != nil {
		return w, err
	}
	if w.executor, err = y.stats(); err != nil {
		return w, err
	}
	w.seconds = time.Since(began).Seconds()
	if w.after, err = y.metrics(); err != nil {
		return w, err
	}
	admin2, rss := usage(y.admin)
	maria2, _ := usage(y.maria)
	ex2, _ := usage(y.executor)
	w.adminCPU, w.adminRSS = (admin2-admin).Seconds()/w.seconds, rss
	w.dbCPU, w.execCPU = (maria2-maria).Seconds()/w.seconds, (ex2-ex).Seconds()/w.seconds
	return w, nil
}

// saturation offers more one-second jobs than the machine can run and counts what gets through each stage per second. What
// is too much is not lost: it is recorded as skipped, by the jobs' misfire strategy.
func saturation(ctx context.Context, s Settings, database string) error {
	w, err := windowOf(ctx, s, database, 10*time.Second, func(pool *db.Pool) error {
		return addJobs(ctx, pool, s.Rate, time.Second, time.Now().Add(3*time.Second), true)
	})
	if err != nil {
		return err
	}
	s.report(database, "saturation", "offered %d/s: claimed %.0f, sent %.0f, executed %.0f, results recorded %.0f /s (skipped %.0f/s); lateness p50 %.0f ms p99 %.0f ms; CPU admin %.2f, executor %.2f, database %.2f cores; admin %.0f MB; writes claim %s, outcomes %s, results %s, %.0f %% of the outcomes with them",
		s.Rate, w.rate(`punctual_claims_total{decision="fired"}`), w.rate(`punctual_sends_total{outcome="ok"}`), float64(w.executor.Executed)/w.seconds,
		w.rate("punctual_callback_batch_size_sum"), w.rate(`punctual_claims_total{decision="skipped"}`), w.executor.P50, w.executor.P99, w.adminCPU, w.execCPU, w.dbCPU, w.adminRSS,
		w.mean("claim_seconds", ""), w.mean("record_seconds", "record_batch_size"), w.mean("callback_seconds", "callback_batch_size"), 100*w.rate("punctual_record_carried_total")/max(1, w.rate(`punctual_sends_total{outcome="ok"}`)))
	return nil
}

// mean is the mean time of a kind of write in the window, and how many rows it carried.
func (w window) mean(seconds, rows string) string {
	delta := func(name string) float64 { return w.after["punctual_"+name] - w.before["punctual_"+name] }
	n := delta(seconds + "_count")
	if n == 0 {
		return "none"
	}
	text := fmt.Sprintf("%.0f ms", 1000*delta(seconds+"_sum")/n)
	if rows != "" {
		text += fmt.Sprintf(" of %.0f rows", delta(rows+"_sum")/delta(rows+"_count"))
	}
	return text
}

// lateness runs jobs at a rate the machine can follow, their phases spread over the second, and asks the executor how long
// after the planned millisecond each was called. idle adds started jobs that are not due.
func lateness(ctx context.Context, s Settings, database string, rate, idle int) error {
	w, err := windowOf(ctx, s, database, 8*time.Second, func(pool *db.Pool) error {
		if idle > 0 {
			if err := addJobs(ctx, pool, idle, 24*time.Hour, time.Now().Add(time.Hour), true); err != nil {
				return err
			}
		}
		return addJobs(ctx, pool, rate, time.Second, time.Now().Add(3*time.Second), true)
	})
	if err != nil {
		return err
	}
	name := fmt.Sprintf("lateness at %d/s", rate)
	if idle > 0 {
		name = fmt.Sprintf("%d jobs, %d/s due", rate+idle, rate)
	}
	executed := float64(w.executor.Executed) / w.seconds
	s.reportFigures(database, name, append(latenessOf(w), figure{"executed", executed, "runs/s"}, figure{"admin_memory", w.adminRSS, "MB"}),
		"executed %.0f/s; lateness p50 %.1f p90 %.1f p99 %.1f max %.0f ms; CPU admin %.2f, executor %.2f, database %.2f cores; admin %.0f MB",
		executed, w.executor.P50, w.executor.P90, w.executor.P99, w.executor.Max, w.adminCPU, w.execCPU, w.dbCPU, w.adminRSS)
	return nil
}

func latenessOf(w window) []figure {
	return []figure{{"lateness_p50", w.executor.P50, "ms"}, {"lateness_p90", w.executor.P90, "ms"}, {"lateness_p99", w.executor.P99, "ms"}, {"lateness_max", w.executor.Max, "ms"}}
}

// onTheSecond is the same with all jobs planned for the same millisecond of every second, as cron jobs are: the figures say
// how long it takes until the last of the crowd is served.
func onTheSecond(name string, jobs int) func(context.Context, Settings, string) error {
	return func(ctx context.Context, s Settings, database string) error {
		w, err := windowOf(ctx, s, database, 8*time.Second, func(pool *db.Pool) error {
			return addJobs(ctx, pool, jobs, time.Second, time.Now().Add(3*time.Second).Truncate(time.Second), false)
		})
		if err != nil {
			return err
		}
		s.reportFigures(database, name+" in one millisecond", latenessOf(w), "executed %.0f/s; lateness p50 %.1f p90 %.1f p99 %.1f max %.0f ms", float64(w.executor.Executed)/w.seconds,
			w.executor.P50, w.executor.P90, w.executor.P99, w.executor.Max)
		return nil
	}
}

// startUp starts the admin on an existing database with jobs that are not due, and looks at its memory once it has been idle for a while.
func startUp(ctx context.Context, s Settings, database string) error {
	return startUpWith(ctx, s, database, "start-up and idle memory", 10_000)
}

// startUpOfMany does so with many jobs.
func startUpOfMany(ctx context.Context, s Settings, database string) error {
	return startUpWith(ctx, s, database, fmt.Sprintf("start-up, %d jobs", s.Jobs), s.Jobs)
}

func startUpWith(ctx context.Context, s Settings, database, name string, jobs int) error {
	y, err := newSystem(ctx, s, database)
	if err != nil {
		return err
	}
	defer y.close()
	if err := y.fill(ctx, func(pool *db.Pool) error {
		if err := addJobs(ctx, pool, jobs, 24*time.Hour, time.Now().Add(time.Hour), true); err != nil {
			return err
		}
		// Otherwise the admin would be busy with them when it is looked at.
		_, err := db.NewSchedules(pool, pool.Zone(), time.Now).Notice(ctx, pool, 0, func(time.Duration) error { return ctx.Err() })
		return err
	}); err != nil {
		return err
	}
	if _, err := y.startAdmin(ctx); err != nil { // the first start makes the administrator
		return err
	}
	y.stopAdmin()
	took, err := y.startAdmin(ctx)
	if err != nil {
		return err
	}
	started, _ := usage(y.admin)
	w, err := y.window2(ctx)
	if err != nil {
		return err
	}
	own := resident(y.admin, "RssAnon:")
	s.reportFigures(database, name, []figure{{"ready", ms(took), "ms"}, {"start_cpu", ms(started), "ms"}, {"memory", w.adminRSS, "MB"}, {"own_memory", own, "MB"}, {"cpu", w.adminCPU, "cores"}},
		"ready after %d ms, with %d ms of CPU; idle for 15 s: %.0f MB resident, %.0f MB without the program's file, %.3f cores", took.Milliseconds(), started.Milliseconds(), w.adminRSS, own, w.adminCPU)
	return nil
}

// window2 is a window without an executor.
func (y *system) window2(ctx context.Context) (w window, err error) {
	before, _ := usage(y.admin)
	select {
	case <-ctx.Done():
		return w, ctx.Err()
	case <-time.After(15 * time.Second):
	}
	after, rss := usage(y.admin)
	w.adminCPU, w.adminRSS = (after-before).Seconds()/15, rss
	return w, nil
}
