package db_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// BenchmarkRunLife writes runs as the hot path does: inserted in batches of 300, then updated twice (sent, finished) with
// CASE statements, every batch durable before the next. One iteration is one run with its three writes. On disk:
//
//	TEST_DB_DIR=$HOME TMPDIR=$HOME go test ./db -run '^$' -bench RunLife
func BenchmarkRunLife(b *testing.B) {
	for _, rows := range []int{1, 30, 300} {
		b.Run(fmt.Sprintf("sqlite/rows=%d", rows), func(b *testing.B) {
			pool := dbtest.Open(b, db.Config{DataDir: b.TempDir()})
			if err := pool.Migrate(b.Context()); err != nil {
				b.Fatal(err)
			}
			benchmarkRunLife(b, pool, rows, 1)
		})
		b.Run(fmt.Sprintf("mariadb/rows=%d", rows), func(b *testing.B) {
			benchmarkRunLife(b, dbtest.New(b, db.MySQL), rows, 2)
		})
	}
}

func benchmarkRunLife(b *testing.B, pool *db.Pool, rows, writers int) {
	b.ReportAllocs()
	b.ResetTimer()
	var done atomic.Int64
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for done.Add(int64(rows)) <= int64(b.N)+int64(rows) {
				if err := runLife(b.Context(), pool, rows); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

func runLife(ctx context.Context, pool *db.Pool, rows int) error {
	var first int64
	err := pool.Tx(ctx, func(tx *sql.Tx) error {
		query, args := insertRuns(rows, pool.Wall(time.Now()))
		res, err := tx.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		first, err = res.LastInsertId()
		return err
	})
	if err != nil {
		return err
	}
	for _, column := range []string{"trigger_code", "handle_code"} {
		query, args := updateRuns(column, first, rows)
		res, err := pool.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n != int64(rows) {
			return fmt.Errorf("updated %d of %d rows: %w", n, rows, err)
		}
	}
	return nil
}

func insertRuns(rows int, at time.Time) (string, []any) {
	const one = "(?,?,?,?,?,?,0,0,?,?,?)"
	query := "INSERT INTO xxl_job_log (job_group, job_id, executor_handler, executor_param, executor_fail_retry_count, trigger_time, " +
		"trigger_code, handle_code, planned_at, owner_node, trigger_type) VALUES " + one + strings.Repeat(","+one, rows-1)
	args := make([]any, 0, rows*9)
	for i := range rows {
		args = append(args, 1, i+1, "demoJobHandler", "", 0, at, at.UnixMilli(), 1, "cron")
	}
	return query, args
}

func updateRuns(column string, first int64, rows int) (string, []any) {
	msg := strings.Replace(column, "code", "msg", 1)
	query := "UPDATE xxl_job_log SET " + column + " = CASE id" + strings.Repeat(" WHEN ? THEN ?", rows) + " END, " +
		msg + " = CASE id" + strings.Repeat(" WHEN ? THEN ?", rows) + " END WHERE id IN (?" + strings.Repeat(",?", rows-1) + ") AND " + column + " = 0"
	args := make([]any, 0, rows*5)
	for i := range rows {
		args = append(args, first+int64(i), 200)
	}
	for i := range rows {
		args = append(args, first+int64(i), "address http://10.0.0.1:9999/ answered 200 in 3 ms")
	}
	for i := range rows {
		args = append(args, first+int64(i))
	}
	return query, args
}
