package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/punctual-job/punctual/db"
)

// startSecond starts another admin on the same database and waits until it answers, ready or not: one that has too much to
// do is not. Where and as whom it runs is in y.other and y.second.
func (y *system) startSecond(ctx context.Context) error {
	first, address := y.admin, y.address
	_, err := y.startAdminUntil(ctx, "/healthz", "PUNCTUAL_DATA_DIR="+filepath.Join(y.dir, "other"))
	y.other, y.second = y.admin, y.address
	y.admin, y.address = first, address
	return err
}

func (y *system) stopSecond() { stop(y.other, syscall.SIGTERM); y.other = nil }

// overloadOfTwo offers more than the machine can run to one admin and to two of them, and counts what is claimed, sent and
// recorded per second by all together. On one machine two can hardly do more than one; they must not do less because they
// fight for the same rows. Each begins with a database of its own, and in an order in which a machine that gets slower or
// faster does the same to both.
func overloadOfTwo(ctx context.Context, s Settings, database string) error {
	if database == embedded {
		return nil // the embedded database has one admin
	}
	for _, admins := range []int{1, 2, 2, 1} {
		if err := overload(ctx, s, database, admins); err != nil {
			return err
		}
	}
	return nil
}

func overload(ctx context.Context, s Settings, database string, admins int) error {
	y, err := prepared(ctx, s, database, func(pool *db.Pool) error {
		return addJobs(ctx, pool, s.Rate, time.Second, time.Now().Add(3*time.Second), true)
	})
	if err != nil {
		return err
	}
	defer y.close()
	if admins == 2 {
		if err := y.startSecond(ctx); err != nil {
			return err
		}
		defer y.stopSecond()
		// The executor is to know both admins, as executors do.
		stop(y.executor, syscall.SIGTERM)
		if err := y.startExecutor(ctx); err != nil {
			return err
		}
	}
	if err := wait(ctx, 8*time.Second); err != nil {
		return err
	}
	before, err := y.allMetrics()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := wait(ctx, time.Duration(s.Seconds)*time.Second); err != nil {
		return err
	}
	after, err := y.allMetrics()
	if err != nil {
		return err
	}
	rate := func(metric string) float64 { return (after[metric] - before[metric]) / time.Since(began).Seconds() }
	s.report(database, fmt.Sprintf("overload of %d", admins), "offered %d/s: claimed %.0f, sent %.0f, results recorded %.0f /s; %.1f conflicts/s",
		s.Rate, rate(`punctual_claims_total{decision="fired"}`), rate(`punctual_sends_total{outcome="ok"}`), rate("punctual_callback_batch_size_sum"),
		rate(`punctual_claims_total{decision="conflict"}`))
	return nil
}

// member is an admin among several.
type member struct {
	cmd     *exec.Cmd
	address string
}

// moreAdmins runs the same work, which the machine can do, with one, two and three admins, and says what a run costs: what more of them
// add is their price, as none of them has more to do than before. The order is one in which a machine that gets slower or faster does the
// same to all.
func moreAdmins(ctx context.Context, s Settings, database string) error {
	if database == embedded {
		return nil
	}
	for _, n := range []int{1, 2, 3, 3, 2, 1} {
		if err := withAdmins(ctx, s, database, n); err != nil {
			return err
		}
	}
	return nil
}

func withAdmins(ctx context.Context, s Settings, database string, n int) error {
	const rate = 3_000
	y, err := prepared(ctx, s, database, func(pool *db.Pool) error {
		return addJobs(ctx, pool, rate, time.Second, time.Now().Add(3*time.Second), true)
	})
	if err != nil {
		return err
	}
	defer y.close()
	all := []member{{y.admin, y.address}}
	var others []string
	for range n - 1 {
		if err := y.startSecond(ctx); err != nil {
			return err
		}
		more := member{y.other, y.second}
		defer stop(more.cmd, syscall.SIGKILL)
		all, others = append(all, more), append(others, more.address)
	}
	stop(y.executor, syscall.SIGTERM)
	y.second = strings.Join(others, ",") // as the executor is to know them
	if err := y.startExecutor(ctx); err != nil {
		return err
	}
	y.other, y.second = nil, ""
	if err := wait(ctx, 8*time.Second); err != nil {
		return err
	}
	count := func() (claimed, conflicts, recorded float64, admins time.Duration, err error) {
		for _, one := range all {
			y.address = one.address
			m, err := y.metrics()
			if err != nil {
				return 0, 0, 0, 0, err
			}
			cpu, _ := usage(one.cmd)
			claimed, conflicts = claimed+m[`punctual_claims_total{decision="fired"}`], conflicts+m[`punctual_claims_total{decision="conflict"}`]
			recorded, admins = recorded+m["punctual_callback_batch_size_sum"], admins+cpu
		}
		y.address = all[0].address
		return claimed, conflicts, recorded, admins, nil
	}
	claimed, conflicts, recorded, admins, err := count()
	if err != nil {
		return err
	}
	w, err := y.during(func() error { return wait(ctx, time.Duration(s.Seconds)*time.Second) })
	if err != nil {
		return err
	}
	claimed2, conflicts2, recorded2, admins2, err := count()
	if err != nil {
		return err
	}
	runs := max(1, recorded2-recorded)
	s.report(database, fmt.Sprintf("%d admins", n), "offered %d/s: claimed %.0f, recorded %.0f /s; lateness p99 %.1f ms; CPU of a run: admins %.0f µs, database %.0f µs, executor %.0f µs; %.0f conflicts",
		rate, (claimed2-claimed)/w.seconds, runs/w.seconds, w.executor.P99, 1e6*(admins2-admins).Seconds()/runs, 1e6*w.dbCPU*w.seconds/runs, 1e6*w.execCPU*w.seconds/runs, conflicts2-conflicts)
	return nil
}

// allMetrics are the counters of all admins together.
func (y *system) allMetrics() (map[string]float64, error) {
	sum, err := y.metrics()
	if err != nil || y.other == nil {
		return sum, err
	}
	first := y.address
	y.address = y.second
	more, err := y.metrics()
	y.address = first
	for name, value := range more {
		sum[name] += value
	}
	return sum, err
}

// joining has a second admin join one that runs 103 jobs a second, and leave, and says how late the executor was called
// around it.
func joining(ctx context.Context, s Settings, database string) error {
	if database == embedded {
		return nil
	}
	const rate = 103
	y, err := prepared(ctx, s, database, func(pool *db.Pool) error {
		return addJobs(ctx, pool, rate, time.Second, time.Now().Add(3*time.Second), true)
	})
	if err != nil {
		return err
	}
	defer y.close()
	alone, err := y.window(ctx, 8*time.Second, 8*time.Second)
	if err != nil {
		return err
	}
	figures := func(what string, w window) {
		s.report(database, what, "executed %.0f/s; lateness p50 %.1f p99 %.1f max %.0f ms; executed twice %d",
			float64(w.executor.Executed)/w.seconds, w.executor.P50, w.executor.P99, w.executor.Max, w.executor.Doubled)
	}
	figures("103/s, alone", alone)
	for range 3 {
		w, err := y.during(func() error { return errors.Join(y.startSecond(ctx), wait(ctx, 6*time.Second)) })
		if err != nil {
			return err
		}
		figures("103/s, another joins", w)
		w, err = y.during(func() error { y.stopSecond(); return wait(ctx, 3*time.Second) })
		if err != nil {
			return err
		}
		figures("103/s, it leaves", w)
	}
	return nil
}

// answers asks an admin until it answers with 200.
func answers(ctx context.Context, url string) error {
	return poll(ctx, 30*time.Second, func() error {
		r, err := http.Get(url)
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return errors.New(r.Status)
		}
		return nil
	})
}
