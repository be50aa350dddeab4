package scheduler

import (
	"context"
	"database/sql"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// BenchmarkRunsWritten writes runs as the hot path does: inserted, recorded as sent and finished, 300 at a time. It reports the
// processor time of this process for a run, which a busy machine falsifies less than the clock does.
func BenchmarkRunsWritten(b *testing.B) {
	for _, dialect := range []db.Dialect{db.SQLite, db.MySQL} {
		b.Run(string(dialect), func(b *testing.B) {
			cfg := db.Config{DataDir: b.TempDir()}
			if dialect == db.MySQL {
				cfg = db.Config{URL: dbtest.MariaDB(b)}
			}
			pool := dbtest.Open(b, cfg)
			if err := pool.Migrate(b.Context()); err != nil {
				b.Fatal(err)
			}
			e, err := New(Config{Pool: pool, Executors: &fakeExecutors{}, Name: "admin-1", Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			if err := e.node.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			defer func() { _ = e.node.Stop(context.WithoutCancel(b.Context())) }()
			j := &job{id: 1, group: 1, handler: "handler", route: jobspec.RouteRound, block: "SERIAL_EXECUTION"}
			addresses := []string{"http://10.0.0.1:9999/", "http://10.0.0.2:9999/", "http://10.0.0.3:9999/"}
			const rows = 300
			b.ResetTimer()
			began := processorTime()
			for n := 0; n < b.N; n += rows {
				var runs []*dispatch
				for range rows {
					runs = append(runs, e.newRuns(j, cause{trigger: jobspec.TriggerCron, planned: time.Now(), given: addresses})...)
				}
				err := pool.Tx(b.Context(), func(tx *sql.Tx) error { return e.insert(b.Context(), tx, runs) })
				if err != nil {
					b.Fatal(err)
				}
				batch, results := make([]*outcome, rows), make([]finishing, rows)
				for i, d := range runs {
					batch[i] = recorded(e, d)
					results[i] = finishing{id: d.id, code: 200}
				}
				if err := e.recordOnce(b.Context(), batch, nil); err != nil {
					b.Fatal(err)
				}
				if _, err := e.finishOnce(b.Context(), results, true, false, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(processorTime()-began)/float64(b.N), "cpu-ns/run")
		})
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func recorded(e *Engine, d *dispatch) *outcome {
	now := e.now()
	d.events = append(d.events, sentEvent(now, d.address, 3*time.Millisecond, wire.Answer{Code: wire.CodeSuccess}))
	fresh := d.events[d.told:]
	return &outcome{d: d, sent: db.Sent{ID: d.id, Address: d.address, Stays: d.address == d.stored, Code: 200, At: now.UnixMilli(), Events: fresh.Stored(), Message: e.recordText(d.address, fresh)}}
}
