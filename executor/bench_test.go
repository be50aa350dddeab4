//go:build go1.26

package executor_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// BenchmarkAcceptRun sends runs over real HTTP and waits until every one is accepted, executed and called back to an
// admin, which runs on the same machine as client and executor.
func BenchmarkAcceptRun(b *testing.B) {
	for name, tc := range map[string]struct {
		noSync  bool
		handler executor.Handler
	}{
		"quiet handler, synced journal":   {false, func(context.Context, *executor.Run) error { return nil }},
		"quiet handler, journal unsynced": {true, func(context.Context, *executor.Run) error { return nil }},
		"handler that logs, unsynced":     {true, func(_ context.Context, run *executor.Run) error { run.Logf("hello"); return nil }},
		"handler that logs, synced":       {false, func(_ context.Context, run *executor.Run) error { run.Logf("hello"); return nil }},
	} {
		b.Run(name, func(b *testing.B) {
			var reported, requests atomic.Int64
			all := make(chan struct{})
			admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.URL.Path == "/api/callback" {
					callbacks, err := wire.DecodeCallbacks(body)
					if err != nil {
						b.Error(err)
					}
					requests.Add(1)
					if reported.Add(int64(len(callbacks))) == int64(b.N) {
						close(all)
					}
				}
				_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, nil))
			}))
			defer admin.Close()
			ex := executortest.New(b, admin.URL, executortest.Handlers{"h": tc.handler}, func(c *executor.Config) { c.NoSync = tc.noSync })
			client := wire.NewExecutorClient(wire.NewHTTPClient(64))
			var ids atomic.Int64
			target := ex.Target()
			b.ReportAllocs()
			b.ResetTimer()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					id := ids.Add(1)
					req := wire.RunRequest{JobID: id % 2000, ExecutorHandler: "h", LogID: id, LogDateTime: time.Now().UnixMilli(), GlueType: wire.GlueBean}
					if answer, err := client.Run(b.Context(), target, &req); err != nil || !answer.OK() {
						b.Errorf("%+v %v", answer, err)
						return
					}
				}
			})
			<-all
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
			b.ReportMetric(float64(b.N)/float64(requests.Load()), "results/request")
		})
	}
}
