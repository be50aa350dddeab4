package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestAPullBeginsItsAnswerEarly when it is asked to, so that who asks knows that the admin lives; what follows is the answer as ever.
func TestAPullBeginsItsAnswerEarly(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, orders, _, _ := programs(t, o)
		pull := func(early bool) (begin time.Duration, h http.Header, rest string) {
			t.Helper()
			body := fmt.Sprintf(`{"registryKey":"orders","registryValue":"pull://box","instance":"a.1","pull":"a.1.%v","max":1,"wait":1000,"early":%v}`, early, early)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, orders.base+"/api/pull", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set(wire.HeaderToken, orders.token)
			began := time.Now()
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			begin = time.Since(began)
			defer func() { _ = resp.Body.Close() }()
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return begin, resp.Header, string(text)
		}
		_, h, text := pull(true)
		answer, err := wire.DecodeAnswer([]byte(text))
		if err != nil || !answer.OK() || !strings.HasPrefix(text, " {") || h.Get("Content-Length") != "" || h.Get("X-Accel-Buffering") != "no" || !strings.HasPrefix(h.Get("Content-Type"), "application/json") {
			t.Errorf("%q, %v; %v", text, err, h)
		}
		if begin, h, text := pull(false); begin < time.Second || !strings.HasPrefix(text, "{") || h.Get("Content-Length") == "" {
			t.Errorf("one that does not ask for it: after %s %q; %v", begin, text, h)
		}
	})
}

// TestAnExecutorThatAsksServesItsGroup: it registers with the group's own token, gets runs beside one that is called, its output is read, a
// run is ended there, and people see it by its name.
func TestAnExecutorThatAsksServesItsGroup(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, orders, _, groups := programs(t, o)
		root := open(t, a).mustLogin()
		group := "/executors/" + strconv.FormatInt(groups["orders"], 10)
		if got := root.post(group, url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}}); got.status != http.StatusSeeOther {
			t.Fatalf("automatic addresses: %d %s", got.status, got.body)
		}
		where := make(chan string, 10)
		for _, mode := range []executor.Mode{executor.Push, executor.Pull} {
			cfg := executor.Config{AppName: "orders", Admins: []string{orders.base}, Token: orders.token, DataDir: t.TempDir(), NoSync: true, Mode: mode, Logger: slog.New(slog.DiscardHandler)}
			if mode == executor.Push {
				cfg.Listen = "127.0.0.1:0"
			} else {
				cfg.Name = "behind-nat"
			}
			ex, err := executor.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			ex.Handle("tell", func(_ context.Context, run *executor.Run) error {
				run.Logf("this is %q", mode)
				where <- ex.Address()
				return nil
			})
			ex.Handle("wait", func(ctx context.Context, _ *executor.Run) error {
				where <- ex.Address()
				<-ctx.Done()
				return ctx.Err()
			})
			if err := ex.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = ex.Stop(context.Background()) })
		}
		executortest.Eventually(t, "both are there", func() error {
			if page := root.get(group).body; !strings.Contains(page, "pull://behind-nat") || len(a.engine.Addresses(groups["orders"])) != 2 {
				return errors.New("not both")
			}
			return nil
		})
		job := func(handler, route string) int64 {
			t.Helper()
			id, err := db.New().InsertJob(t.Context(), a.pool, db.InsertJobParams{
				JobGroup: groups["orders"], JobDesc: handler, ExecutorHandler: db.Text(handler), GlueType: "BEAN", ScheduleType: "NONE", MisfireStrategy: "DO_NOTHING",
				ExecutorRouteStrategy: jobspec.Route(route), ExecutorBlockStrategy: "SERIAL_EXECUTION",
			})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		trigger := func(id int64, addresses string) {
			t.Helper()
			form := url.Values{"addresses": {addresses}}
			if got := root.post("/jobs/"+strconv.FormatInt(id, 10)+"/run", form); got.status >= 400 {
				t.Fatalf("trigger: %d %s", got.status, got.body)
			}
		}
		newest := func(id int64) (run db.Run) {
			t.Helper()
			rows, err := db.FindRunIDs(t.Context(), a.pool, db.RunFilter{Job: id}, 0, 1<<62, 1, true)
			if err != nil || len(rows) != 1 {
				t.Fatalf("runs: %v, %v", rows, err)
			}
			if run, err = db.New().GetRun(t.Context(), a.pool, rows[0]); err != nil {
				t.Fatal(err)
			}
			return run
		}
		tell := job("tell", "SHARDING_BROADCAST")
		trigger(tell, "")
		seen := map[string]bool{<-where: true, <-where: true}
		if len(seen) != 2 || !seen["pull://behind-nat"] {
			t.Errorf("the broadcast went to %v", seen)
		}
		// Chosen by hand it is the only one.
		alone := job("tell", "FIRST")
		trigger(alone, "PULL://Behind-NAT/")
		if at := <-where; at != "pull://behind-nat" {
			t.Errorf("the run went to %s", at)
		}
		executortest.Eventually(t, "the result", func() error {
			if run := newest(alone); run.HandleCode != 200 || string(run.ExecutorAddress) != "pull://behind-nat" {
				return errors.New("no result")
			}
			return nil
		})
		run := newest(alone)
		piece, err := a.engine.Outputs().Read(t.Context(), &run, 1)
		if err != nil || !strings.Contains(piece.LogContent, `this is "pull"`) {
			t.Errorf("the output is %q, %v", piece.LogContent, err)
		}
		long := job("wait", "FIRST")
		trigger(long, "pull://behind-nat")
		<-where
		executortest.Eventually(t, "the run is recorded as sent", func() error {
			if newest(long).TriggerCode != 200 {
				return errors.New("not yet")
			}
			return nil
		})
		if err := a.engine.Kill(t.Context(), newest(long).ID, "ada"); err != nil {
			t.Error(err)
		}
		if run := newest(long); run.Outcome != event.Killed {
			t.Errorf("the run that was ended: %+v", run)
		}
		// A list that somebody types may name it, and misspelt it is told.
		typed := url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"manual"}, "addresses": {"pull://behind nat"}}
		if got := root.post(group, typed); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a name that is none: %d", got.status)
		}
		typed.Set("addresses", "PULL://behind-nat/")
		if got := root.post(group, typed); got.status != http.StatusSeeOther {
			t.Errorf("a typed list: %d %s", got.status, got.body)
		}
		trigger(alone, "")
		if at := <-where; at != "pull://behind-nat" {
			t.Errorf("of the typed list the run went to %s", at)
		}
	})
}
