package bench

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

const (
	bigDays = 30
	bigJobs = 400 // the ids that the rows are spread over, none of which exists
	// 1 in failedEvery failed: rare enough that a list of failures has to look for them.
	failedEvery = 1000
)

// bigTable measures an empty log and one of --runs of the last month in the same way: the pages of the run list, through the use
// case that the console calls, on a quiet database; then lateness at 1,000 triggers/s with the time of a claim's transaction; then
// saturation. A run takes about 600 bytes with its indexes.
func bigTable(ctx context.Context, s Settings, database string) error {
	for _, runs := range []int{0, s.Runs} {
		if err := tableOf(ctx, s, database, runs); err != nil {
			return err
		}
	}
	return nil
}

func tableOf(ctx context.Context, s Settings, database string, runs int) error {
	name := fmt.Sprintf("a log of %d runs", runs)
	if runs == 0 {
		name = "empty log"
	}
	const rate = 1000
	y, err := prepared(ctx, s, database, func(pool *db.Pool) error {
		began := time.Now()
		now := time.Now()
		if err := addRuns(ctx, pool, runs, now.AddDate(0, 0, -bigDays), now.Add(-time.Minute)); err != nil {
			return err
		}
		if runs > 0 {
			s.report(database, name, "filled in %.0f s", time.Since(began).Seconds())
			if err := runPages(ctx, s, database, name, pool); err != nil {
				return err
			}
		}
		return addJobs(ctx, pool, rate, time.Second, time.Now().Add(3*time.Second), true)
	})
	if err != nil {
		return err
	}
	defer y.close()
	length := time.Duration(s.Seconds) * time.Second
	w, err := y.window(ctx, 8*time.Second, length)
	if err != nil {
		return err
	}
	s.report(database, name+", 1,000/s", "lateness p50 %.1f p99 %.1f max %.0f ms; a claim %.1f ms, a record %.1f ms, a callback %.1f ms; CPU admin %.2f, database %.2f cores; admin %.0f MB",
		w.executor.P50, w.executor.P99, w.executor.Max, w.meanMs("punctual_claim_seconds"), w.meanMs("punctual_record_seconds"), w.meanMs("punctual_callback_seconds"), w.adminCPU, w.dbCPU, w.adminRSS)
	y.stopAdmin()
	pool, err := y.open(ctx)
	if err != nil {
		return err
	}
	if runs == 0 { // what the first window wrote makes the pages comparable: there is something to show
		err = runPages(ctx, s, database, name, pool)
	}
	if err == nil {
		err = addJobs(ctx, pool, s.Rate-rate, time.Second, time.Now().Add(5*time.Second), true)
	}
	if err := pool.Close(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	stop(y.executor, 9) // its admin has moved
	if _, err := y.startAdmin(ctx); err != nil {
		return err
	}
	if err := y.startExecutor(ctx); err != nil {
		return err
	}
	if w, err = y.window(ctx, 10*time.Second, length); err != nil {
		return err
	}
	s.report(database, name+", saturation", "offered %d/s: claimed %.0f, sent %.0f, results recorded %.0f /s; a claim %.1f ms; CPU admin %.2f, database %.2f cores",
		s.Rate, w.rate(`punctual_claims_total{decision="fired"}`), w.rate(`punctual_sends_total{outcome="ok"}`), w.rate("punctual_callback_batch_size_sum"),
		w.meanMs("punctual_claim_seconds"), w.adminCPU, w.dbCPU)
	return nil
}

// meanMs is the mean of a histogram of seconds within the window, in milliseconds.
func (w window) meanMs(histogram string) float64 {
	n := w.after[histogram+"_count"] - w.before[histogram+"_count"]
	if n == 0 {
		return 0
	}
	return 1000 * (w.after[histogram+"_sum"] - w.before[histogram+"_sum"]) / n
}

// addRuns writes n finished runs planned between two moments, ids rising with the time.
func addRuns(ctx context.Context, pool *db.Pool, n int, first, last time.Time) error {
	const rows, statements = 1000, 20
	var q strings.Builder
	q.WriteString(`INSERT INTO xxl_job_log (job_group, job_id, executor_address, executor_handler, executor_param, trigger_time, trigger_code, trigger_msg,
 handle_time, handle_code, handle_msg, alarm_status, planned_at, owner_node, trigger_type, sent_at, finished_at) VALUES `)
	message := "trigger type: CRON\nadmin: bench\nplanned: 2026-01-01 00:00:00.000 +0000\nroute: ROUND\naddresses: http://10.0.0.1:9999/, http://10.0.0.2:9999/, http://10.0.0.3:9999/\nblock strategy: SERIAL_EXECUTION\ntime-out: none\nresult: accepted by http://10.0.0.1:9999/"
	for i := range rows {
		if i > 0 {
			q.WriteByte(',')
		}
		code := 200
		if i%failedEvery == failedEvery-1 {
			code = 500
		}
		job := 1_000_000 + i*7919%bigJobs
		fmt.Fprintf(&q, "(%d,%d,'http://10.0.0.1:9999/','noop','',?,200,'%s',?,%d,'',0,?,1,'CRON',?,?)", 100+job%5, job, message, code)
	}
	args := make([]any, 0, 5*rows)
	for done := 0; done < n; {
		err := pool.Tx(ctx, func(tx *sql.Tx) error {
			for at := done; at < min(done+rows*statements, n); at += rows {
				args = args[:0]
				for i := range rows {
					planned := first.Add(time.Duration(float64(last.Sub(first)) * float64(at+i) / float64(n)))
					wall, ms := pool.Wall(planned), planned.UnixMilli()
					args = append(args, wall, wall, ms, ms+3, ms+200)
				}
				if _, err := tx.ExecContext(ctx, q.String(), args...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("write runs: %w", err)
		}
		done += rows * statements
	}
	return nil
}

// runPages opens pages of the run list and says how long they took.
func runPages(ctx context.Context, s Settings, database, name string, pool *db.Pool) error {
	runs := manage.New(manage.Config{Pool: pool}).Runs
	admin := auth.Principal{Admin: true}
	top, err := db.New().MaxRunID(ctx, pool)
	if err != nil {
		return err
	}
	day := time.Now().Add(-24 * time.Hour)
	job := int64(1_000_000 + 7919%bigJobs)
	pages := []struct {
		name   string
		filter manage.RunFilter
	}{
		{"newest", manage.RunFilter{}},
		{"of today", manage.RunFilter{Since: day}},
		{"in the middle", manage.RunFilter{Before: top / 2}},
		{"of a job", manage.RunFilter{Job: job}},
		{"of a group", manage.RunFilter{Group: 100 + job%5}},
		{"failed today", manage.RunFilter{Since: day, Result: manage.Failed}},
		{"failed ever", manage.RunFilter{Result: manage.Failed}},
		{"open ever", manage.RunFilter{Result: manage.Open}},
	}
	for _, p := range pages {
		p.filter.Limit = 20
		var took []time.Duration
		began := time.Now()
		for range 100 {
			one := time.Now()
			if _, err := runs.List(ctx, admin, p.filter); err != nil {
				return fmt.Errorf("page %q: %w", p.name, err)
			}
			took = append(took, time.Since(one))
			if time.Since(began) > 10*time.Second {
				break
			}
		}
		slices.Sort(took)
		s.report(database, name+", page "+p.name, "p50 %.2f p95 %.2f ms", ms(took[len(took)/2]), ms(took[len(took)*95/100]))
	}
	began := time.Now()
	if _, _, err := upkeep.Days(ctx, pool, day.AddDate(0, 0, -30), time.Now()); err != nil {
		return err
	}
	s.report(database, name+", report of a month", "%.2f ms", ms(time.Since(began)))
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
