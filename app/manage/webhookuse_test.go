package manage

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// hook makes a webhook, and gives its id and secret.
func (b *bundle) hook(t *testing.T, name string, change func(*WebhookInput)) (int64, string) {
	t.Helper()
	in := WebhookInput{Name: name, URL: "https://example.com/hooks?key=hush"}
	if change != nil {
		change(&in)
	}
	id, secret, err := b.Webhooks.Create(t.Context(), b.admin, in)
	if err != nil {
		t.Fatal(err)
	}
	return id, secret
}

func TestWebhooksAreChecked(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := hookBundle(t, pool)
		b.hook(t, "taken", nil)
		long := func(n int) string { return "https://example.com/" + strings.Repeat("a", n-len("https://example.com/")) }
		tests := []struct {
			what   string
			change func(*WebhookInput)
			want   string
		}{
			{"64 characters", func(in *WebhookInput) { in.Name = strings.Repeat("钩", 64) }, "ok"},
			{"65", func(in *WebhookInput) { in.Name = strings.Repeat("钩", 65) }, "422 name:job.error.too_long"},
			{"blanks", func(in *WebhookInput) { in.Name = " \t" }, "422 name:job.error.required"},
			{"two lines", func(in *WebhookInput) { in.Name = "a\nb" }, "422 name:job.error.characters"},
			{"another's name", func(in *WebhookInput) { in.Name = " taken " }, "422 name:webhooks.error.name_taken"},
			{"no address", func(in *WebhookInput) { in.URL = " " }, "422 url:webhooks.error.url"},
			{"http", func(in *WebhookInput) { in.Name, in.URL = "http", "http://example.com" }, "ok"},
			{"neither http nor https", func(in *WebhookInput) { in.URL = "ftp://example.com/" }, "422 url:webhooks.error.url"},
			{"no host", func(in *WebhookInput) { in.URL = "https:///hooks" }, "422 url:webhooks.error.url"},
			{"no address at all", func(in *WebhookInput) { in.URL = "https://[::1" }, "422 url:webhooks.error.url"},
			{"somebody's name in it", func(in *WebhookInput) { in.URL = "https://ann:pw@example.com/" }, "422 url:webhooks.error.url"},
			{"2000 characters", func(in *WebhookInput) { in.Name, in.URL = "long", long(2000) }, "ok"},
			{"2001", func(in *WebhookInput) { in.URL = long(2001) }, "422 url:webhooks.error.url"},
			{"types that there are not, told once", func(in *WebhookInput) { in.Types = []webhook.Type{"x", "y"} }, "422 types:webhooks.error.types"},
			{"groups that there are not, told once", func(in *WebhookInput) { in.Groups = []int64{b.group, 998, 999} }, "422 groups:webhooks.error.group"},
			{"tags of nothing, told once", func(in *WebhookInput) { in.Tags = []string{"night", " ", ""} }, "422 tags:pauses.error.tag"},
			{"two tags in one", func(in *WebhookInput) { in.Tags = []string{"a，b"} }, "422 tags:pauses.error.tag"},
			{"a tag of two lines", func(in *WebhookInput) { in.Tags = []string{"a\nb", "c\nd"} }, "422 tags:job.error.characters"},
			{"500 characters of tags", func(in *WebhookInput) {
				in.Name, in.Tags = "tags", []string{strings.Repeat("夜", 249), strings.Repeat("夜", 250)}
			}, "ok"},
			{"501", func(in *WebhookInput) { in.Tags = []string{strings.Repeat("夜", 250), strings.Repeat("夜", 250)} }, "422 tags:job.error.too_long"},
		}
		for _, tt := range tests {
			in := WebhookInput{Name: "orders", URL: "https://example.com/hooks"}
			tt.change(&in)
			if _, secret, err := b.Webhooks.Create(t.Context(), b.admin, in); kind(err) != tt.want || (secret == "") != (err != nil) {
				t.Errorf("%s: %s, want %s", tt.what, kind(err), tt.want)
			}
		}
		for what, err := range map[string]error{
			"list": second(b.Webhooks.List(t.Context(), b.user)), "get": second(b.Webhooks.Get(t.Context(), b.user, 1)), "update": b.Webhooks.Update(t.Context(), b.user, 1, 1, WebhookInput{}),
			"delete": b.Webhooks.Delete(t.Context(), b.user, 1), "test": b.Webhooks.Test(t.Context(), b.user, 1), "rotate": second(b.Webhooks.Rotate(t.Context(), b.user, 1, 1)),
			"deliveries": second(b.Webhooks.Deliveries(t.Context(), b.user, 1, 0, 0, 1)), "send again": second(b.Webhooks.SendAgain(t.Context(), b.user, 1, 0)),
		} {
			if kind(err) != "403" {
				t.Errorf("%s, by who is no administrator: %s", what, kind(err))
			}
		}
	})
}

// TestAWebhookIsChangedAsItWasSeen: each change has a version of its own, also within a millisecond, and one that changes nothing keeps it. What
// became of it is in the log, without its address.
func TestAWebhookIsChangedAsItWasSeen(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := hookBundle(t, pool)
		ctx := t.Context()
		id, first := b.hook(t, "orders", func(in *WebhookInput) {
			in.Types = []webhook.Type{webhook.JobStopped, webhook.RunSent, webhook.JobStopped}
			in.Groups, in.Tags = []int64{b.closed, b.group, b.closed}, []string{" night "}
		})
		read := func() Webhook {
			t.Helper()
			w, err := b.Webhooks.Get(ctx, b.admin, id)
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		w := read()
		want := Webhook{
			ID: id, Name: "orders", Place: "https://example.com", Types: []webhook.Type{webhook.RunSent, webhook.JobStopped}, Groups: []int64{b.group, b.closed}, Tags: []string{"night"},
			State: webhook.On, MadeBy: "root", Version: b.now.UnixMilli(),
		}
		if diff := cmp.Diff(want, w); diff != "" || !w.Unsealed() {
			t.Errorf("(-want +got):\n%s", diff)
		}
		in := WebhookInput{Name: w.Name, Types: w.Types, Groups: w.Groups, Tags: w.Tags}
		update := func(version int64, want string) {
			t.Helper()
			if err := b.Webhooks.Update(ctx, b.admin, id, version, in); kind(err) != want {
				t.Errorf("%+v: %s, want %s", in, kind(err), want)
			}
		}
		update(w.Version, "ok")
		if got := read().Version; got != w.Version {
			t.Errorf("saved as it is, it is of version %d, and was of %d", got, w.Version)
		}
		in.Off = true
		update(w.Version, "ok") // within the millisecond
		if got := read(); got.Version != w.Version+1 || got.State != webhook.Off {
			t.Errorf("changed, it is %+v", got)
		}
		update(w.Version, "409 problem.changed")
		b.now = b.now.Add(time.Hour)
		in.URL, in.Off = "https://other.example.com/?key=hush", false
		update(w.Version+1, "ok")
		w = read()
		if w.Version != b.now.UnixMilli() || w.Place != "https://other.example.com" || w.State != webhook.On {
			t.Errorf("changed an hour later, it is %+v", w)
		}
		rotated, err := b.Webhooks.Rotate(ctx, b.admin, id, w.Version)
		if err != nil {
			t.Fatal(err)
		}
		row, err := db.New().GetWebhook(ctx, pool, id)
		if err != nil {
			t.Fatal(err)
		}
		settings, err := b.Webhooks.cfg.Webhooks.Open(&row)
		if err != nil || settings.Secret != rotated || settings.Old != first || !settings.OldUntil.Equal(b.now.Add(24*time.Hour)) || first == rotated {
			t.Errorf("after a rotation it has %+v, %v", settings, err)
		}
		b.hook(t, "alerts", nil)
		list, err := b.Webhooks.List(ctx, b.admin)
		if err != nil || len(list) != 2 || list[0].Name != "alerts" || list[1].ID != id {
			t.Errorf("the list: %+v, %v", list, err)
		}
		if err := b.Webhooks.DeleteVersion(ctx, b.admin, id, w.Version); kind(err) != "409 problem.changed" {
			t.Errorf("deleted as it was before: %s", kind(err))
		}
		if err := b.Webhooks.Delete(ctx, b.admin, id); err != nil {
			t.Error(err)
		}
		if list, err := b.Webhooks.List(ctx, b.admin); err != nil || len(list) != 1 || list[0].Name != "alerts" {
			t.Errorf("without it, the list is: %+v, %v", list, err)
		}
		for what, err := range map[string]error{"get": second(b.Webhooks.Get(ctx, b.admin, id)), "delete": b.Webhooks.Delete(ctx, b.admin, id), "test": b.Webhooks.Test(ctx, b.admin, id)} {
			if kind(err) != "404 problem.webhook.gone" {
				t.Errorf("%s what is deleted: %s", what, kind(err))
			}
		}
		log := []string{"root create webhook orders", "root update webhook orders", "root update webhook orders", "root rotate webhook orders", "root create webhook alerts", "root delete webhook orders"}
		if diff := cmp.Diff(log, b.story(t, AuditFilter{Kind: ObjectWebhook})); diff != "" {
			t.Errorf("the log (-want +got):\n%s", diff)
		}
		var told int
		if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM punctual_audit WHERE before_json LIKE '%hush%' OR after_json LIKE '%hush%'").Scan(&told); err != nil || told != 0 {
			t.Errorf("%d entries tell an address, %v", told, err)
		}
	})
}

// TestAWebhookOfAnotherKeyNeedsItsAddressAgain, and has a new secret then.
func TestAWebhookOfAnotherKeyNeedsItsAddressAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := hookBundle(t, pool)
		ctx := t.Context()
		id, secret := b.hook(t, "orders", nil)
		if _, err := pool.ExecContext(ctx, "UPDATE punctual_webhook SET config = 'sealed by others' WHERE id = ?", id); err != nil {
			t.Fatal(err)
		}
		w, err := b.Webhooks.Get(ctx, b.admin, id)
		if err != nil || w.Unsealed() {
			t.Errorf("it can be read: %+v, %v", w, err)
		}
		in := WebhookInput{Name: "orders"}
		if err := b.Webhooks.Update(ctx, b.admin, id, w.Version, in); kind(err) != "422 url:webhooks.error.url" {
			t.Errorf("without an address: %s", kind(err))
		}
		in.URL = "https://example.com/again"
		if err := b.Webhooks.Update(ctx, b.admin, id, w.Version, in); err != nil {
			t.Error(err)
		}
		row, err := db.New().GetWebhook(ctx, pool, id)
		if err != nil {
			t.Fatal(err)
		}
		settings, err := b.Webhooks.cfg.Webhooks.Open(&row)
		if err != nil || settings.URL != in.URL || len(settings.Secret) != len(secret) || settings.Secret == secret || settings.Old != "" {
			t.Errorf("it has %+v, %v", settings, err)
		}
	})
}

// TestWhatWaitsForAWebhook is counted as far as it is told, and listed with what is tried again, the newest first, a page after the other.
func TestWhatWaitsForAWebhook(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := hookBundle(t, pool)
		ctx := t.Context()
		job := b.create(t, nil)
		id, _ := b.hook(t, "orders", nil)
		var made []db.NewDelivery
		for i := range int64(6) {
			made = append(made, db.NewDelivery{WebhookID: id, Type: string(webhook.RunSent), JobGroup: b.group, JobID: job, Run: i + 1, At: b.now.Add(time.Duration(i) * time.Minute).UnixMilli()})
		}
		if err := db.InsertDeliveries(ctx, pool, made); err != nil {
			t.Fatal(err)
		}
		exec := func(q string, args ...any) {
			t.Helper()
			if _, err := pool.ExecContext(ctx, q, args...); err != nil {
				t.Fatal(err)
			}
		}
		exec("UPDATE punctual_webhook_delivery SET next_at = 5 WHERE log_id IN (2, 4)")
		exec("UPDATE punctual_webhook_delivery SET state = ? WHERE log_id = 6", webhook.GivenUp)
		exec("UPDATE punctual_webhook_delivery SET job_id = 999 WHERE log_id = 1")
		var ids []int64
		page := func(below int64, limit int) string {
			t.Helper()
			list, err := b.Webhooks.Deliveries(ctx, b.admin, id, webhook.Waiting, below, limit)
			if err != nil {
				t.Fatal(err)
			}
			var told []string
			ids = nil
			for _, d := range list {
				told = append(told, strconv.FormatInt(d.LogID, 10)+d.Job)
				ids = append(ids, d.ID)
			}
			return strings.Join(told, ", ")
		}
		if got, want := page(0, 10), "5close the day, 4close the day, 3close the day, 2close the day, 1"; got != want {
			t.Errorf("what waits: %s, want %s", got, want)
		}
		if got, want := page(0, 2), "5close the day, 4close the day"; got != want {
			t.Errorf("a page: %s, want %s", got, want)
		}
		if got, want := page(ids[1], 2), "3close the day, 2close the day"; got != want {
			t.Errorf("the next: %s, want %s", got, want)
		}
		if got := page(ids[1], 2); got != "1" {
			t.Errorf("the last: %s", got)
		}
		w, err := b.Webhooks.Get(ctx, b.admin, id)
		if err != nil || w.Waiting != 5 || w.More || w.GivenUp != 1 || !w.Oldest.Equal(b.now) {
			t.Errorf("%+v, %v", w, err)
		}
		for _, tt := range []struct {
			delivery int64
			want     string
			n        int64
		}{{0, "ok", 1}, {0, "ok", 0}, {ids[0], "409 problem.webhook.delivery_waits", 0}, {1 << 40, "404 problem.webhook.delivery_gone", 0}} {
			if n, err := b.Webhooks.SendAgain(ctx, b.admin, id, tt.delivery); kind(err) != tt.want || n != tt.n {
				t.Errorf("delivery %d again: %d, %s", tt.delivery, n, kind(err))
			}
		}
		exec("DELETE FROM punctual_webhook_delivery")
		if w, err := b.Webhooks.Get(ctx, b.admin, id); err != nil || w.Waiting != 0 || !w.Oldest.IsZero() {
			t.Errorf("of nothing: %+v, %v", w, err)
		}
		many := make([]db.NewDelivery, webhookCounted)
		for i := range many {
			many[i] = made[0]
		}
		for _, more := range []bool{false, true} {
			if err := db.InsertDeliveries(ctx, pool, many); err != nil {
				t.Fatal(err)
			}
			if w, err := b.Webhooks.Get(ctx, b.admin, id); err != nil || w.Waiting != webhookCounted || w.More != more {
				t.Errorf("of %d and more %v: %d, %v, %v", webhookCounted, more, w.Waiting, w.More, err)
			}
			many = many[:1]
		}
		if err := b.Webhooks.Test(ctx, b.admin, id); err != nil {
			t.Error(err)
		}
		if log := b.story(t, AuditFilter{Kind: ObjectWebhook}); fmt.Sprint(log[len(log)-1]) != "root test webhook orders" {
			t.Errorf("the log: %s", log)
		}
	})
}
