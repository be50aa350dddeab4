package manage

import (
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// hookBundle is a bundle with webhooks, to which nothing is sent.
func hookBundle(t *testing.T, pool *db.Pool) *bundle {
	t.Helper()
	b := userBundle(t, pool)
	service, err := webhook.New(webhook.Config{Pool: pool, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Key: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	b.Webhooks.cfg.Webhooks = service
	return b
}

// TestAWebhookThatIsGoneStaysSo until somebody switches it on: that its receiver said so is not lost with a change of its name.
func TestAWebhookThatIsGoneStaysSo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx := hookBundle(t, pool), t.Context()
		id, _, err := b.Webhooks.Create(ctx, b.admin, WebhookInput{Name: "hub", URL: "http://127.0.0.1:1/"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(ctx, "UPDATE punctual_webhook SET state = 'gone' WHERE id = ?", id); err != nil {
			t.Fatal(err)
		}
		var states []webhook.State
		for _, off := range []bool{true, false, true} {
			w, err := b.Webhooks.Get(ctx, b.admin, id)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Webhooks.Update(ctx, b.admin, id, w.Version, WebhookInput{Name: w.Name + "!", Off: off}); err != nil {
				t.Fatal(err)
			}
			if w, err = b.Webhooks.Get(ctx, b.admin, id); err != nil {
				t.Fatal(err)
			}
			states = append(states, w.State)
		}
		if diff := cmp.Diff([]webhook.State{webhook.Gone, webhook.On, webhook.Off}, states); diff != "" {
			t.Error(diff)
		}
	})
}

// TestADeletedWebhookTakesNobodysName while it waits for its deliveries to go.
func TestADeletedWebhookTakesNobodysName(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx := hookBundle(t, pool), t.Context()
		make := func(name string) int64 {
			t.Helper()
			id, _, err := b.Webhooks.Create(ctx, b.admin, WebhookInput{Name: name, URL: "http://127.0.0.1:1/"})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		first := make("hub")
		make("#" + strconv.FormatInt(first, 10))
		make(strconv.FormatInt(first, 10))
		if err := b.Webhooks.Delete(ctx, b.admin, first); err != nil {
			t.Fatal(err)
		}
		make("hub")
	})
}

// TestAWebhookIsMadeThoughNobodyHearsOfItYet: its secret is told this once, also where the webhooks cannot be read anew at once. They are read
// every second.
func TestAWebhookIsMadeThoughNobodyHearsOfItYet(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx := userBundle(t, pool), t.Context()
		closed := dbtest.New(t, db.SQLite)
		if err := closed.Close(); err != nil {
			t.Fatal(err)
		}
		service, err := webhook.New(webhook.Config{Pool: closed, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Key: make([]byte, 32)})
		if err != nil {
			t.Fatal(err)
		}
		b.Webhooks.cfg.Webhooks, b.Groups.cfg.Webhooks = service, service
		b.Webhooks.cfg.Logger, b.Groups.cfg.Logger = slog.New(slog.DiscardHandler), slog.New(slog.DiscardHandler)
		gone, err := b.Groups.Create(ctx, b.admin, GroupInput{AppName: "gone-soon", Title: "g"})
		if err != nil {
			t.Fatal(err)
		}
		id, secret, err := b.Webhooks.Create(ctx, b.admin, WebhookInput{Name: "hub", URL: "http://127.0.0.1:1/", Groups: []int64{gone}})
		if err != nil || id == 0 || secret == "" {
			t.Fatalf("made: %d, %v", id, err)
		}
		if fresh, err := b.Webhooks.Rotate(ctx, b.admin, id, b.now.UnixMilli()); err != nil || fresh == secret {
			t.Errorf("a new secret: %v", err)
		}
		if err := b.Groups.Delete(ctx, b.admin, gone); err != nil {
			t.Errorf("its group is deleted: %v", err)
		}
		if err := b.Webhooks.Delete(ctx, b.admin, id); err != nil {
			t.Errorf("deleted: %v", err)
		}
	})
}

// TestAdministratorsAreToldOfWebhooksThatFail for minutes and are switched on, until somebody changes them.
func TestAdministratorsAreToldOfWebhooksThatFail(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := hookBundle(t, pool)
		ctx := t.Context()
		orders, _ := b.hook(t, "orders", nil)
		alerts, _ := b.hook(t, "alerts", nil)
		fails := func(id int64, ago time.Duration, state webhook.State) {
			t.Helper()
			if _, err := pool.ExecContext(ctx, "UPDATE punctual_webhook SET failing_since = ?, state = ? WHERE id = ?", b.now.Add(-ago).UnixMilli(), string(state), id); err != nil {
				t.Fatal(err)
			}
		}
		told := func(when string, count int, first int64, name string) {
			t.Helper()
			if n, id, is := b.Webhooks.Failing(ctx); n != count || id != first || is != name {
				t.Errorf("%s: %d, %d %q; want %d, %d %q", when, n, id, is, count, first, name)
			}
		}
		told("none fails", 0, 0, "")
		fails(orders, failingFor, webhook.On)
		b.Webhooks.failing.until = b.Webhooks.failing.until.Add(time.Hour) // however long this test is kept from going on
		told("within half a minute", 0, 0, "")
		b.Webhooks.failing.until = time.Time{}
		told("one fails", 1, orders, "orders")
		fails(alerts, failingFor-time.Second, webhook.On)
		b.Webhooks.failing.until = time.Time{}
		told("another has just begun to", 1, orders, "orders")
		fails(alerts, failingFor, webhook.On)
		b.Webhooks.failing.until = time.Time{}
		told("both fail", 2, alerts, "alerts")
		fails(alerts, failingFor, webhook.Off)
		w, err := b.Webhooks.Get(ctx, b.admin, orders)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Webhooks.Update(ctx, b.admin, orders, w.Version, WebhookInput{Name: "orders"}); err != nil {
			t.Fatal(err)
		}
		told("one was saved again, and the other is off", 0, 0, "")
	})
}
