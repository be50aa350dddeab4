package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// spoken are the protocols that were spoken on the two sides of a proxy.
type spoken struct {
	mu         sync.Mutex
	to, beyond []string
}

func (s *spoken) note(list *[]string, protocol string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(*list, protocol) {
		*list = append(*list, protocol)
	}
}

// proxied is the address of a proxy that speaks HTTP/2 on both sides.
func (s *spoken) proxied(t *testing.T, ca *executortest.CA, admin string) string {
	t.Helper()
	target, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := wire.TLSOptions{CAFile: ca.File}.Config()
	if err != nil {
		t.Fatal(err)
	}
	beyond := &http.Transport{TLSClientConfig: trusted, ForceAttemptHTTP2: true}
	t.Cleanup(beyond.CloseIdleConnections)
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Transport: beyond, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		Rewrite: func(r *httputil.ProxyRequest) {
			s.note(&s.to, r.In.Proto)
			r.SetURL(target)
		},
		ModifyResponse: func(r *http.Response) error {
			s.note(&s.beyond, r.Proto)
			return nil
		},
	})
	server.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t)}}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.Listener.Addr().String()
}

// TestAnExecutorAsksThroughAProxyThatSpeaksHTTP2, with an authority of the house: it runs, is read while it runs, is ended, and goes on when the
// proxy is gone without a word and another has taken its place.
func TestAnExecutorAsksThroughAProxyThatSpeaksHTTP2(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		ca := executortest.NewCA(t)
		o.TLSCert, o.TLSKey = ca.Issue(t, t.TempDir(), "admin")
		a := start(t, o)
		group, err := db.New().InsertGroup(t.Context(), a.pool, db.InsertGroupParams{AppName: "orders", Title: "orders"})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.engine.GroupsChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		job, err := db.New().InsertJob(t.Context(), a.pool, db.InsertJobParams{
			JobGroup: group, JobDesc: "work", ScheduleType: jobspec.ScheduleNone, MisfireStrategy: jobspec.MisfireDoNothing,
			ExecutorRouteStrategy: jobspec.RouteFirst, ExecutorHandler: "work", ExecutorBlockStrategy: db.Text(wire.BlockSerial), GlueType: wire.GlueBean,
		})
		if err != nil {
			t.Fatal(err)
		}
		var s spoken
		admin := "https://" + o.Listener.Addr().String()
		way := executortest.NewWay(t, s.proxied(t, ca, admin))
		ex, err := executor.New(executor.Config{
			AppName: "orders", Admins: []string{"https://" + way.Addr().String()}, Token: o.AccessToken, Mode: executor.Pull, Name: "far",
			AdminTLS: wire.TLSOptions{CAFile: ca.File}, DataDir: t.TempDir(), NoSync: true, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		began, ended := make(chan string, 10), make(chan error, 10)
		ex.Handle("work", func(ctx context.Context, run *executor.Run) error {
			run.Logf("this is %s", run.Param)
			began <- run.Param
			if run.Param == "long" {
				<-ctx.Done()
				ended <- context.Cause(ctx)
			}
			return ctx.Err()
		})
		if err := ex.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ex.Stop(context.Background()) })
		executortest.Eventually(t, "it is registered", func() error {
			if len(a.engine.Addresses(group)) != 1 {
				return executortest.ErrNotYet
			}
			return nil
		})
		trigger := func(param string) int64 {
			t.Helper()
			ids, err := a.engine.Trigger(t.Context(), scheduler.TriggerRequest{JobID: job, Type: jobspec.TriggerManual, Param: &param})
			if err != nil || len(ids) != 1 {
				t.Fatal(ids, err)
			}
			return ids[0]
		}
		read := func(id int64) db.Run {
			t.Helper()
			run, err := db.New().GetRun(t.Context(), a.pool, id)
			if err != nil {
				t.Fatal(err)
			}
			return run
		}
		// settled is how a run ends that is asked for now, which has begun if and only if it succeeds.
		settled := func(param string) event.Outcome {
			t.Helper()
			id := trigger(param)
			var run db.Run
			executortest.Eventually(t, "the end of "+param, func() error {
				if run = read(id); run.Outcome == event.Open {
					return fmt.Errorf("it is sent as %d: %s", run.TriggerCode, run.TriggerMsg)
				}
				return nil
			})
			if n := len(began); n != 1 && run.Outcome == event.Succeeded || n != 0 && run.Outcome != event.Succeeded {
				t.Errorf("%s: %d runs began, and it is %s: %s", param, n, run.Outcome, run.TriggerMsg)
			} else if n == 1 {
				<-began
			}
			return run.Outcome
		}
		succeeds := func(param string) {
			t.Helper()
			if outcome := settled(param); outcome != event.Succeeded {
				t.Errorf("%s is %s", param, outcome)
			}
		}
		succeeds("the first")

		long := trigger("long")
		<-began
		executortest.Eventually(t, "the run is recorded as sent", func() error {
			if read(long).TriggerCode != wire.CodeSuccess {
				return executortest.ErrNotYet
			}
			return nil
		})
		run := read(long)
		if piece, err := a.engine.Outputs().Read(t.Context(), &run, 1); err != nil || piece.IsEnd || !strings.Contains(piece.LogContent, "this is long") {
			t.Errorf("what it writes while it runs: %+v, %v", piece, err)
		}
		if err := a.engine.Kill(t.Context(), long, "ada"); err != nil {
			t.Error(err)
		}
		if cause := <-ended; cause == nil || read(long).Outcome != event.Killed {
			t.Errorf("the run that was ended knows %v and is %+v", cause, read(long))
		}

		// The executor waits for the answer to its request, which goes into the void. Until it asks again a run may be given up, and says so.
		way.Cut(s.proxied(t, ca, admin))
		for well, n := 0, 0; well < 2; n++ {
			switch outcome := settled("run " + strconv.Itoa(n) + " after the cut"); {
			case outcome == event.Succeeded:
				well++
			case outcome == event.NotSent && n < 5:
				well = 0
			default:
				t.Fatalf("run %d after the cut is %s", n, outcome)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if want := []string{"HTTP/2.0"}; !slices.Equal(s.to, want) || !slices.Equal(s.beyond, want) {
			t.Errorf("spoken were %v to the proxy and %v beyond it", s.to, s.beyond)
		}
	})
}
