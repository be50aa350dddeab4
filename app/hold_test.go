package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/webhook"
	"github.com/punctual-job/punctual/views/nodes"
)

// TestACopyOfProductionIsHeld is the drill of docs/operations.md: an admin on a copy shows everything, and until somebody says go it calls no
// executor, sends nothing that waits, takes nothing from executors and runs nothing by hand. Then it goes on where production was.
func TestACopyOfProductionIsHeld(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		var told atomic.Int64
		receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { told.Add(1) }))
		t.Cleanup(receiver.Close)
		worker := executortest.NewStub(t)

		made, err := New(t.Context(), o) // what production left: a job that is due, and an event that nobody has told yet
		if err != nil {
			t.Fatal(err)
		}
		q, pool := db.New(), made.pool
		group, err := q.InsertGroup(t.Context(), pool, db.InsertGroupParams{AppName: "orders", Title: "orders", AddressType: 1, AddressList: db.Text(worker.URL)})
		if err != nil {
			t.Fatal(err)
		}
		job, err := q.InsertJob(t.Context(), pool, db.InsertJobParams{
			JobGroup: group, JobDesc: "close the day", ScheduleType: jobspec.ScheduleCron, ScheduleConf: "* * * * * ?", MisfireStrategy: jobspec.MisfireDoNothing,
			ExecutorRouteStrategy: jobspec.RouteFirst, ExecutorHandler: "close", ExecutorBlockStrategy: "SERIAL_EXECUTION", GlueType: wire.GlueBean,
		})
		if err != nil {
			t.Fatal(err)
		}
		due := time.Now().Truncate(time.Second)
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ? WHERE id = ?", due.UnixMilli(), job); err != nil {
			t.Fatal(err)
		}
		config, err := made.webhooks.Close(webhook.Settings{URL: receiver.URL, Secret: webhook.NewSecret()})
		if err != nil {
			t.Fatal(err)
		}
		hook, err := q.InsertWebhook(t.Context(), pool, db.InsertWebhookParams{Name: "warehouse", Config: config, State: string(webhook.On)})
		if err != nil {
			t.Fatal(err)
		}
		if err := made.webhooks.WriteTo(t.Context(), pool, hook, webhook.Event{Type: webhook.WebhookTest, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if err := made.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}

		if err := Hold(t.Context(), o, "a drill"); err != nil {
			t.Fatal(err)
		}
		a := start(t, o)
		b := open(t, a).mustLogin()
		executortest.Eventually(t, "fires that are overdue", func() error {
			if time.Since(due) < 3*time.Second {
				return executortest.ErrNotYet
			}
			return nil
		})
		if got := open(t, a).get("/readyz"); got.status != http.StatusServiceUnavailable || !strings.HasPrefix(got.body, "held") {
			t.Errorf("/readyz: %d %s", got.status, got.body)
		}
		if got := b.get("/jobs"); !strings.Contains(got.body, "close the day") || !strings.Contains(got.body, "This database is held") {
			t.Errorf("the list of jobs: %d", got.status)
		}
		if got := b.get("/nodes"); !strings.Contains(got.body, "a drill") || !strings.Contains(got.body, `action="/nodes/go"`) {
			t.Errorf("the nodes: %d", got.status)
		}
		if got := b.post(fmt.Sprintf("/jobs/%d/run", job), url.Values{}); got.status != http.StatusConflict || !strings.Contains(got.body, "This database is held") {
			t.Errorf("a run by hand: %d", got.status)
		}
		if err := a.engine.Kill(t.Context(), 1, "admin"); err == nil {
			t.Error("a run is killed")
		}
		beat := `{"registryGroup":"EXECUTOR","registryKey":"orders","registryValue":"http://10.0.0.1:1/"}`
		for _, path := range []string{"/api/registry", "/api/callback", "/xxl-job-admin/api/registry", httpPath + "/run", callbackPath + "x"} {
			got := open(t, a).raw("POST", path, strings.NewReader(beat), wire.HeaderToken, o.AccessToken)
			if got.status != http.StatusServiceUnavailable {
				t.Errorf("%s: %d %s", path, got.status, got.body)
			}
		}
		var runs int
		if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_log").Scan(&runs); err != nil || runs != 0 {
			t.Errorf("%d runs, %v", runs, err)
		}
		if n := len(worker.Requests()); n != 0 || told.Load() != 0 {
			t.Errorf("%d calls of the executor, %d events were told", n, told.Load())
		}

		if got := b.post("/nodes/go", url.Values{}); got.status != http.StatusSeeOther {
			t.Fatalf("go: %d %s", got.status, got.body)
		}
		open(t, a).eventually("/readyz", http.StatusOK)
		executortest.Eventually(t, "what waited", func() error {
			if len(worker.Requests()) == 0 || told.Load() == 0 {
				return executortest.ErrNotYet
			}
			return nil
		})
		if got := b.post("/nodes/go", url.Values{}); got.status != http.StatusConflict {
			t.Errorf("go again: %d %s", got.status, got.body)
		}
		wantAudited(t, a, string(manage.ActionUpdate), `command line  setting hold {"value":"{\"by\":\"command line\",\"reason\":\"a drill\"}"}`, "admin 127.0.0.1 setting hold ")
	})
}

// TestAHoldIsForACopy, and none for an installation that works.
func TestAHoldIsForACopy(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		if err := Hold(t.Context(), o, ""); err == nil {
			t.Error("a database is held on which an admin works")
		}
		if a.engine.Held() {
			t.Error("the admin is held")
		}
	})
}

// TestAHeldAdminStops before anybody says go, and the next one is held too, until a command says so.
func TestAHeldAdminStops(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.Listener, o.Listen = nil, "127.0.0.1:0" // each start has its own
		if _, err := Migrate(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if err := Hold(t.Context(), o, ""); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			a, err := New(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !a.engine.Held() {
				t.Error("it is not held")
			}
			ctx, cancel := context.WithTimeout(t.Context(), executortest.Patience)
			if err := a.Stop(ctx); err != nil {
				t.Error(err)
			}
			cancel()
		}
		if err := EndHold(t.Context(), o, false); err != nil {
			t.Fatal(err)
		}
		if err := EndHold(t.Context(), o, false); err == nil {
			t.Error("the hold ends twice")
		}
		open(t, start(t, o)).eventually("/readyz", http.StatusOK)
	})
}

// TestAHeldAdminKeepsTheAuditLog of years ago: what is too old goes when somebody has said go.
func TestAHeldAdminKeepsTheAuditLog(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		if _, err := Migrate(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if err := Hold(t.Context(), o, ""); err != nil {
			t.Fatal(err)
		}
		a := start(t, o)
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_audit SET made_at = 1 WHERE object_name = 'hold'"); err != nil {
			t.Fatal(err)
		}
		old := func() (n int) {
			if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_audit WHERE made_at = 1").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if a.clean(t.Context()); old() != 1 {
			t.Error("an entry of the audit log is deleted on a copy that is held")
		}
		if got := open(t, a).mustLogin().post("/nodes/go", url.Values{}); got.status != http.StatusSeeOther {
			t.Fatalf("go: %d %s", got.status, got.body)
		}
		open(t, a).eventually("/readyz", http.StatusOK)
		if a.clean(t.Context()); old() != 0 {
			t.Error("it is kept after that")
		}
	})
}

// TestACopyLeavesProductionsOutputs where they are, unless who says go knows that nobody else has them.
func TestACopyLeavesProductionsOutputs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.Listener, o.Listen, o.OutputStore = nil, "127.0.0.1:0", t.TempDir() // each start has its own port
		made, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		object, err := db.New().InsertOutputObject(t.Context(), made.pool, db.InsertOutputObjectParams{Store: "folder", Name: "2026/01/02/A", CreatedAt: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := made.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			answer url.Values
			shared int64
		}{{url.Values{}, object}, {url.Values{nodes.FieldOwnStore: {"1"}}, 0}} {
			if err := Hold(t.Context(), o, ""); err != nil {
				t.Fatal(err)
			}
			a, err := New(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			b := open(t, a).mustLogin()
			if got := b.get("/nodes"); !strings.Contains(got.body, `name="own_store"`) {
				t.Error("the page does not ask whose the output store is")
			}
			if got := b.post("/nodes/go", tt.answer); got.status != http.StatusSeeOther {
				t.Errorf("go: %d %s", got.status, got.body)
			}
			if got := a.held.Outputs().Shared; got != tt.shared {
				t.Errorf("with %v the objects up to %d are shared, want %d", tt.answer, got, tt.shared)
			}
			if err := a.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestGoOutlastsAnErrorOfTheDatabase: the admin is held on, serves its pages, and begins when the database lets it.
func TestGoOutlastsAnErrorOfTheDatabase(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		if _, err := Migrate(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if err := Hold(t.Context(), o, ""); err != nil {
			t.Fatal(err)
		}
		failed := make(chan struct{}, 1)
		o.Logger = slog.New(noticing{"begin after the hold", failed})
		a := start(t, o)
		rename := func(from, to string) {
			t.Helper()
			if _, err := a.pool.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
				t.Fatal(err)
			}
		}
		rename("punctual_pause", "punctual_pause_away")
		if err := a.held.EndHold(t.Context(), auth.NewPrincipal(0, "admin", auth.RoleAdmin, ""), false); err != nil {
			t.Fatal(err)
		}
		select {
		case <-failed:
		case err := <-a.serveErr:
			t.Fatalf("the admin ends: %v", err)
		case <-time.After(executortest.Patience):
			t.Fatal("nothing is said of the error")
		}
		if got := open(t, a).get("/login"); got.status != http.StatusOK {
			t.Errorf("/login: %d", got.status)
		}
		rename("punctual_pause_away", "punctual_pause")
		open(t, a).eventually("/readyz", http.StatusOK)
	})
}
