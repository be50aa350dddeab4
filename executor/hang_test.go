//go:build go1.26

package executor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// quiet is a listener that nobody reaches.
type quiet struct{ closed chan struct{} }

func (l quiet) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

func (l quiet) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (quiet) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9} }

// TestADiskThatHangsHoldsNoStop: an executor whose disk does not answer any more, without an error, is stopped all the same, within a bound, and
// says that not all went to its end. Who called it is free when its time is up.
func TestADiskThatHangsHoldsNoStop(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Push, Pull} {
		t.Run("mode "+string(mode), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				var handed, hangs atomic.Bool
				results := make(chan wire.Callback, 10)
				disk := make(chan struct{})
				var served sync.WaitGroup
				admin := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
					}
					value := []byte("null")
					if r.URL.Path == "/api/callback" {
						callbacks, err := wire.DecodeCallbacks(body)
						if err != nil {
							t.Error(err)
						}
						for _, cb := range callbacks {
							results <- cb
						}
					}
					if r.URL.Path == "/api/pull" {
						response := wire.PullResponse{}
						if hangs.Load() && !handed.Swap(true) {
							response.Calls = []wire.PulledCall{{ID: "a.1", Path: "/run", Left: 3000, Body: []byte(`{"jobId":2,"logId":2,"executorHandler":"work","glueType":"BEAN"}`)}}
						} else {
							time.Sleep(time.Second)
						}
						value, _ = json.Marshal(response)
					}
					_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, value))
				})
				config := Config{
					AppName: "orders", Admins: []string{"http://inside"}, HTTPClient: &http.Client{Transport: wire.HandlerTransport{Handler: admin}}, InsecureNoToken: true,
					DataDir: dir, NoSync: true, LogRetentionDays: KeepLogs, Logger: slog.New(slog.DiscardHandler), Mode: mode, OverlapGrace: time.Hour,
				}
				if mode == Push {
					config.Listener, config.Address = quiet{make(chan struct{})}, "http://127.0.0.1:9/"
				}
				e, err := New(config)
				if err != nil {
					t.Fatal(err)
				}
				begun := make(chan int64, 10)
				e.Handle("work", func(_ context.Context, run *Run) error {
					run.Logf("it begins")
					begun <- run.LogID
					<-disk // its own files are there too
					return nil
				})
				if err := e.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				e.journal.writeAt = func(f *os.File, p []byte, offset int64) (int, error) {
					if hangs.Load() {
						<-disk
					}
					return f.WriteAt(p, offset)
				}
				write := e.logs.write
				e.logs.write = func(f *os.File, p []byte) (int, error) {
					if hangs.Load() {
						<-disk
					}
					return write(f, p)
				}
				client := wire.NewExecutorClient(&http.Client{Transport: wire.HandlerTransport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					r.RequestURI = r.URL.Path
					served.Add(1)
					defer served.Done()
					e.ServeHTTP(w, r)
				})}})
				run := func(id int64, limit int) error {
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
					defer cancel()
					answer, err := client.Run(ctx, wire.Target{Address: "http://inside"}, &wire.RunRequest{JobID: id, LogID: id, ExecutorHandler: "work", GlueType: wire.GlueBean, TimeoutSeconds: limit})
					if err == nil && !answer.OK() {
						t.Errorf("run %d: %+v", id, answer)
					}
					return err
				}
				if err := errors.Join(run(1, 0), run(4, 5)); err != nil {
					t.Fatal(err)
				}
				<-begun
				<-begun
				hangs.Store(true)
				if err := run(3, 0); wire.FaultOf(err) != wire.FaultLate {
					t.Errorf("a call of one whose disk hangs: %v", err)
				}
				if cb := <-results; cb.LogID != 4 || cb.HandleCode != wire.CodeTimeout || !strings.Contains(cb.HandleMsg, "log is incomplete") {
					t.Errorf("a run whose time is up has the result %+v", cb)
				}
				asked := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				err = e.Drain(ctx)
				if took := time.Since(asked); err == nil || took > 40*time.Second {
					t.Errorf("the drain took %s: %v", took, err)
				}
				for range 2 {
					if cb := <-results; cb.HandleCode != wire.CodeFail || cb.Undone == "" {
						t.Errorf("of one that is stopped the result is %+v", cb)
					}
				}
				if len(begun) != 0 {
					t.Error("a run began of which the disk knows nothing")
				}
				close(disk)
				served.Wait()
				time.Sleep(time.Minute) // what was left to itself ends when the disk is back
			})
		})
	}
}
