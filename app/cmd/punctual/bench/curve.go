package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
)

// The curve begins with curveFirst one-second jobs, their phases spread over the second, and doubles them as long as they are followed:
// keptUp of what is offered is recorded, and 99 % of the runs are sent within a second of their time. Between the last rate that
// was and the first that was not it looks twice more, and then offers two and three times the best.
const (
	curveFirst = 500
	curveMost  = 512_000
	keptUp     = 0.97
	lateLimit  = 1000 // ms
)

// point is one rate of the curve.
type point struct {
	offered             int
	recorded            float64 // results a second
	p50, p99            float64 // lateness, ms
	admin, exec, dbCPU  float64 // cores
	memory              float64 // MB of the admin
	databaseIsElsewhere bool
}

func (p point) followed() bool { return p.recorded >= keptUp*float64(p.offered) && p.p99 <= lateLimit }

// cpu is the processor time of admin and database for 1,000 runs, in ms.
func (p point) cpu() float64 { return 1e6 * (p.admin + p.dbCPU) / max(1, p.recorded) }

// curve finds how many runs a second this machine follows, and what happens beyond.
func curve(ctx context.Context, s Settings, database string) error {
	measured, err := findBreak(func(rate int) (point, error) {
		p, err := measurePoint(ctx, s, database, rate)
		if err == nil {
			s.reportPoint(database, p)
		}
		return p, err
	})
	if err != nil {
		return err
	}
	best, beyond := slices.MaxFunc(measured, byRecorded), measured[len(measured)-1]
	followed := 0
	for _, p := range measured {
		if p.followed() {
			followed = max(followed, p.offered)
		}
	}
	s.reportFigures(database, "curve", []figure{
		{"followed", float64(followed), "runs/s"}, {"best", best.recorded, "runs/s"}, {"beyond", beyond.recorded, "runs/s"}, {"offered_beyond", float64(beyond.offered), "runs/s"},
	}, "follows %d/s; records %.0f/s at best, and %.0f/s (%.0f %% of that) with %d/s offered", followed, best.recorded, beyond.recorded, 100*beyond.recorded/best.recorded, beyond.offered)
	return nil
}

func byRecorded(a, b point) int {
	switch {
	case a.recorded < b.recorded:
		return -1
	case a.recorded > b.recorded:
		return 1
	}
	return 0
}

// findBreak measures the curve's points in the order in which they are asked for.
func findBreak(measure func(rate int) (point, error)) (all []point, err error) {
	try := func(rate int) bool {
		if err != nil {
			return false
		}
		var p point
		if p, err = measure(rate); err != nil {
			return false
		}
		all = append(all, p)
		return p.followed()
	}
	low, high := 0, curveFirst
	for ; try(high) && high < curveMost; high *= 2 {
		low = high
	}
	for range 2 {
		if mid := (low + high) / 2; try(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	if err != nil {
		return all, err
	}
	best := int(slices.MaxFunc(all, byRecorded).recorded)
	try(2 * best)
	try(3 * best)
	return all, err
}

// measurePoint offers a rate to a new system.
func measurePoint(ctx context.Context, s Settings, database string, rate int) (point, error) {
	y, err := prepared(ctx, s, database, func(pool *db.Pool) error {
		return addJobs(ctx, pool, rate, time.Second, time.Now().Add(3*time.Second), true)
	})
	if err != nil {
		return point{}, err
	}
	defer y.close()
	w, err := y.window(ctx, 8*time.Second, time.Duration(s.Seconds)*time.Second)
	if err != nil {
		return point{}, err
	}
	return point{
		offered: rate, recorded: w.rate("punctual_callback_batch_size_sum"), p50: w.executor.P50, p99: w.executor.P99,
		admin: w.adminCPU, exec: w.execCPU, dbCPU: w.dbCPU, memory: w.adminRSS, databaseIsElsewhere: database == given,
	}, nil
}

func (s *Settings) reportPoint(database string, p point) {
	figures := []figure{
		{"offered", float64(p.offered), "runs/s"}, {"recorded", p.recorded, "runs/s"}, {"lateness_p50", p.p50, "ms"}, {"lateness_p99", p.p99, "ms"},
		{"admin", p.admin, "cores"}, {"executor", p.exec, "cores"}, {"admin_memory", p.memory, "MB"},
	}
	text := "database elsewhere"
	switch {
	case database == embedded:
		text = fmt.Sprintf("%.0f ms CPU for 1,000 runs", p.cpu())
		figures = append(figures, figure{"cpu_per_1000_runs", p.cpu(), "ms"})
	case !p.databaseIsElsewhere:
		text = fmt.Sprintf("database %.2f; %.0f ms CPU for 1,000 runs", p.dbCPU, p.cpu())
		figures = append(figures, figure{"database", p.dbCPU, "cores"}, figure{"cpu_per_1000_runs", p.cpu(), "ms"})
	}
	s.reportFigures(database, fmt.Sprintf("%d/s offered", p.offered), figures, "recorded %.0f/s; lateness p50 %.1f p99 %.1f ms; cores: admin %.2f, executor %.2f, %s; admin %.0f MB",
		p.recorded, p.p50, p.p99, p.admin, p.exec, text, p.memory)
}
