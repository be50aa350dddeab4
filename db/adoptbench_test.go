package db_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// BenchmarkAdoption adopts a database of 2.3.0 with 20,000 jobs and a million runs while somebody writes to it like an old admin: how
// long it takes until it serves, how long the indexes take after that, and what the writer waited at most. On disk:
//
//	TEST_DB_DIR=$HOME TMPDIR=$HOME go test ./db -run '^$' -bench Adoption -benchtime 1x
func BenchmarkAdoption(b *testing.B) {
	for range b.N {
		b.StopTimer()
		server := dbtest.NewServer(b)
		pool := dbtest.Open(b, db.Config{URL: server.Database(b)})
		e := eraNamed("2.3.0")
		e.create(b, pool.DB)
		e.fill(b, pool.DB)
		mustExec(b, pool.DB, `INSERT INTO xxl_job_info (job_group, job_desc, schedule_type, schedule_conf, executor_param, glue_type, trigger_status, trigger_last_time, trigger_next_time)
			SELECT 1, CONCAT('job ', seq), 'FIX_RATE', '60', 'x', 'BEAN', 0, 0, 0 FROM seq_1_to_20000`)
		mustExec(b, pool.DB, `INSERT INTO xxl_job_log (job_group, job_id, executor_address, executor_handler, executor_param, trigger_time, trigger_code, trigger_msg, handle_time, handle_code, handle_msg)
			SELECT 1 + seq MOD 7, 1 + seq * 7919 MOD 20000, 'http://10.0.0.1:9999/', 'demoJobHandler', 'x', '2026-01-01' + INTERVAL seq SECOND, 200, REPEAT('what was chosen<br>', 30),
			'2026-01-01' + INTERVAL seq SECOND, 200, '' FROM seq_1_to_1000000`)
		mustExec(b, pool.DB, "ANALYZE TABLE xxl_job_log")
		w := &oldWriter{db: pool.DB}
		ctx, stop := context.WithCancel(b.Context())
		var writing sync.WaitGroup
		writing.Go(func() { w.run(ctx) })
		b.StartTimer()
		began := time.Now()
		if err := pool.Migrate(b.Context()); err != nil {
			b.Fatal(err)
		}
		serves, stalled := time.Since(began), w.longest()
		began = time.Now()
		if err := pool.BuildIndexes(b.Context()); err != nil {
			b.Fatal(err)
		}
		indexes, later := time.Since(began), w.longest()
		stop()
		writing.Wait()
		b.ReportMetric(serves.Seconds(), "s-to-serve")
		b.ReportMetric(stalled.Seconds(), "s-longest-write")
		b.ReportMetric(indexes.Seconds(), "s-to-index")
		b.ReportMetric(later.Seconds(), "s-longest-write-then")
		if w.err != nil {
			b.Errorf("the writer: %v", w.err)
		}
	}
}

// oldWriter makes runs and moves jobs on as an XXL-JOB admin does, without a pause.
type oldWriter struct {
	db  *sql.DB
	err error // read when it has stopped

	mu    sync.Mutex
	began time.Time // of the write under way
	most  time.Duration
}

func (w *oldWriter) run(ctx context.Context) {
	for i := 1; ctx.Err() == nil; i++ {
		w.step()
		id := 1 + i%20_000
		if _, err := w.db.ExecContext(ctx, "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code) VALUES (1, ?, NOW(), 0, 0)", id); err != nil && ctx.Err() == nil {
			w.err = err
		}
		if _, err := w.db.ExecContext(ctx, "UPDATE xxl_job_info SET trigger_last_time = ?, trigger_next_time = ? WHERE id = ?", i, i, id); err != nil && ctx.Err() == nil {
			w.err = err
		}
	}
}

// step ends one write and begins the next.
func (w *oldWriter) step() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if !w.began.IsZero() {
		w.most = max(w.most, now.Sub(w.began))
	}
	w.began = now
}

// longest is how long a write has taken at most since it was asked last.
func (w *oldWriter) longest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	most := max(w.most, time.Since(w.began))
	w.most = 0
	return most
}
