package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/punctual-job/punctual/scheduler/tick"
)

// Indexes of a big log take minutes to build, and nothing that schedules needs them: where the log is big they are built after the
// start, in the background, while everybody writes.

// deferred are the migrations that build them.
var deferred = []int64{77}

// deferAbove is from how many runs on the indexes are built after the start: below, it takes a second.
const deferAbove = 100_000

// laterMigrations are those that this start leaves for later.
func (p *Pool) laterMigrations(ctx context.Context, target *sql.DB) ([]int64, error) {
	if p.dialect != MySQL {
		return nil, nil
	}
	var runs, bytes int64
	err := target.QueryRowContext(ctx, `SELECT COALESCE(MAX(table_rows), 0), COALESCE(MAX(data_length), 0) FROM information_schema.tables
		WHERE table_schema = DATABASE() AND table_name = 'xxl_job_log'`).Scan(&runs, &bytes)
	if err != nil {
		return nil, fmt.Errorf("read the size of the log: %w", Error(err))
	}
	if runs <= p.deferAbove {
		return nil, nil
	}
	p.logger.Info("the log is big: its indexes are built after the start, beside the work", "runs", runs, "bytes", bytes, "estimate", IndexTime(runs))
	return deferred, nil
}

// builtPerSecond is how many runs a small machine indexes in a second (docs/migration.md says how that was measured).
const builtPerSecond = 100_000

// IndexTime estimates how long the indexes of a log of so many runs take.
func IndexTime(runs int64) time.Duration {
	return time.Duration(runs/builtPerSecond+1) * time.Second
}

// onlyLater says that nothing is missing but what may be made later.
func onlyLater(missing []int64) bool {
	return !slices.ContainsFunc(missing, func(v int64) bool { return !slices.Contains(deferred, v) })
}

// What Pool.built holds: nothing, or how far an index is and one.
const (
	builtAll   = 0
	builtBegun = 1
)

// buildLook is how often the server is asked how far it is.
const buildLook = 2 * time.Second

// Building says whether indexes are being built in the background, and how far that is in percent; 0 where the server does not tell.
func (p *Pool) Building() (percent int, building bool) {
	n := p.built.Load()
	return int(max(n-builtBegun, 0)), n != builtAll
}

// BuildIndexes builds what the start left for later. It takes minutes on a big log; writers go on meanwhile.
func (p *Pool) BuildIndexes(ctx context.Context) error {
	if _, building := p.Building(); !building {
		return nil
	}
	began := time.Now()
	watch, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		p.watchBuild(watch)
	}()
	err := p.lockedMigrate(ctx, nil)
	stop()
	<-watched
	if err != nil {
		return fmt.Errorf("build indexes: %w", err)
	}
	p.built.Store(builtAll)
	p.logger.Info("the indexes of the log are built", "took", time.Since(began))
	return nil
}

// watchBuild asks how far the server is. MariaDB tells in the list of its sessions; where nothing is told nothing is known.
func (p *Pool) watchBuild(ctx context.Context) {
	for range tick.Every(ctx, buildLook) {
		var percent float64
		err := p.QueryRowContext(ctx, `SELECT COALESCE(MAX(((stage - 1) * 100 + progress) / NULLIF(max_stage, 0)), 0) FROM information_schema.processlist
			WHERE db = DATABASE() AND max_stage > 0`).Scan(&percent)
		if err != nil {
			return // MySQL has no such columns
		}
		p.built.Store(builtBegun + int64(min(percent, 99)))
	}
}
