//go:build go1.26

package executor_test

import (
	"bytes"
	"context"
	"fmt"
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

// BenchmarkAcceptRuns hands over runs a hundred to a request, ten requests at once as on the second, and waits until all are executed and
// reported. The unit is a run.
func BenchmarkAcceptRuns(b *testing.B) {
	const burst, share = 1000, 100
	for name, noSync := range map[string]bool{"synced": false, "unsynced": true} {
		b.Run(name, func(b *testing.B) {
			var reported atomic.Int64
			told := make(chan struct{}, 1)
			admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.URL.Path == "/api/callback" {
					reported.Add(int64(bytes.Count(body, []byte(`"executeResult"`))))
					select {
					case told <- struct{}{}:
					default:
					}
				}
				_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, nil))
			}))
			defer admin.Close()
			handlers := executortest.Handlers{"h": func(context.Context, *executor.Run) error { return nil }}
			ex := executortest.New(b, admin.URL, handlers, func(c *executor.Config) { c.NoSync = noSync })
			now := time.Now().UnixMilli()
			b.ReportAllocs()
			b.ResetTimer()
			for from := 0; from < b.N; from += burst {
				done := make(chan struct{})
				for part := range burst / share {
					var body bytes.Buffer
					body.WriteString(`{"runs":[`)
					for i := range share {
						id := from + part*share + i + 1
						if i > 0 {
							body.WriteByte(',')
						}
						fmt.Fprintf(&body, `{"jobId":%d,"executorHandler":"h","executorParams":"","executorBlockStrategy":"SERIAL_EXECUTION","executorTimeout":0,`+
							`"logId":%d,"logDateTime":%d,"glueType":"BEAN","glueUpdatetime":0,"broadcastIndex":0,"broadcastTotal":1,"plannedAt":%d,"node":7}`,
							id%burst, id, now, now)
					}
					body.WriteString("]}")
					r := httptest.NewRequest("POST", "/runs", &body)
					r.Header.Set(wire.HeaderToken, executortest.Token)
					r.Header.Set("Content-Type", "application/json")
					go func() {
						w := httptest.NewRecorder()
						ex.ServeHTTP(w, r)
						if bytes.Contains(w.Body.Bytes(), []byte(`"code":500`)) {
							b.Errorf("refused: %.200s", w.Body)
						}
						done <- struct{}{}
					}()
				}
				for range burst / share {
					<-done
				}
				for reported.Load() < int64(from+burst) {
					<-told
				}
			}
		})
	}
}
