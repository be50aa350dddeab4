package scheduler

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// BenchmarkWholePath runs one-second jobs through claim, timer, HTTP, record and callback in one process, with a stub for
// the executor, and reports runs a second. make bench measures the real programs; this one is for profiles.
func BenchmarkWholePath(b *testing.B) {
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
			results := make(chan wire.Callback, 100_000)
			stub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				req, err := wire.DecodeRun(body)
				if err != nil {
					return
				}
				_, _ = w.Write([]byte(`{"code":200}`))
				results <- wire.Callback{LogID: req.LogID, HandleCode: 200}
			}))
			b.Cleanup(stub.Close)
			engine, err := New(Config{Pool: pool, Executors: wire.NewExecutorClient(nil), Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			const jobs = 15_000
			seed(b, pool, engine, stub.URL+"/", jobs)
			if err := engine.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			var finished atomic.Int64
			var reports sync.WaitGroup
			for range 4 {
				reports.Go(func() {
					for first := range results {
						batch := []wire.Callback{first}
						for len(batch) < 200 {
							select {
							case c, open := <-results:
								if open {
									batch = append(batch, c)
									continue
								}
							default:
							}
							break
						}
						if engine.Complete(b.Context(), batch) == nil {
							finished.Add(int64(len(batch)))
						}
					}
				})
			}
			b.ResetTimer()
			began := time.Now()
			for b.Loop() {
				target := finished.Load() + 2000
				for finished.Load() < target {
					time.Sleep(time.Millisecond)
				}
			}
			b.ReportMetric(float64(finished.Load())/time.Since(began).Seconds(), "runs/s")
			b.StopTimer()
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_ = engine.Stop(ctx)
			stub.Close()
			close(results)
			reports.Wait()
		})
	}
}

func seed(b *testing.B, pool *db.Pool, engine *Engine, address string, jobs int) {
	b.Helper()
	group, err := engine.queries.InsertGroup(b.Context(), pool, db.InsertGroupParams{AppName: "bench", Title: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	if err := engine.Register(b.Context(), wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "bench", RegistryValue: address}); err != nil {
		b.Fatal(err)
	}
	now := sql.NullTime{Time: pool.Wall(time.Now()), Valid: true}
	first := time.Now()
	err = pool.Tx(b.Context(), func(tx *sql.Tx) error {
		for i := range jobs {
			id, err := engine.queries.InsertJob(b.Context(), tx, db.InsertJobParams{
				JobGroup: group, JobDesc: "bench", AddTime: now, UpdateTime: now, ScheduleType: jobspec.ScheduleFixRate, ScheduleConf: "1",
				MisfireStrategy: jobspec.MisfireDoNothing, ExecutorRouteStrategy: jobspec.RouteRound, ExecutorHandler: "noop",
				ExecutorBlockStrategy: db.Text(wire.BlockSerial), GlueType: wire.GlueBean, GlueUpdateTime: now,
			})
			if err != nil {
				return err
			}
			next := first.Add(time.Second * time.Duration(i) / time.Duration(jobs))
			if _, err := engine.queries.StartJob(b.Context(), tx, db.StartJobParams{ID: id, NextTime: next.UnixMilli()}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
