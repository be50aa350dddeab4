package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

func TestAWebhookIsTheSameWhereverItIsSaved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		u := newUntouched(t, o, "punctual_webhook")
		// Nobody is at the address of this group, which webhooks would be told at some moment.
		u.c.json(200, &struct{}{}, "PATCH", "/groups/1", `{"type":"auto","addresses":[]}`)
		for _, app := range []string{"billing", "stock"} {
			u.c.json(201, &struct{}{}, "POST", "/groups", `{"app_name":"`+app+`","title":"`+app+`"}`)
		}
		types := make([]string, len(webhook.Types()))
		for i, what := range webhook.Types() {
			types[i] = string(what)
		}
		settings := func(r *rapid.T, w *thing) webhook.Settings {
			var row db.Webhook
			rows, err := db.New().ListWebhooks(t.Context(), u.a.pool)
			for _, row = range rows {
				if fmt.Sprint(row.ID) == idOf(w.was) {
					break
				}
			}
			s, err2 := u.a.webhooks.Open(&row)
			if err != nil || err2 != nil {
				r.Fatal(err, err2)
			}
			return s
		}
		often(t, func(r *rapid.T) bool {
			sent := map[string]any{
				"name": oddLine(64).Draw(r, "name"),
				"url":  rapid.SampledFrom([]string{"http://127.0.0.1:1/hook?a=1&b=%20#x", " https://中文.example/ ", "https://h.example/" + strings.Repeat("a", 1900)}).Draw(r, "url"),
			}
			if rapid.Bool().Draw(r, "with types") {
				sent["types"] = rapid.OneOf(rapid.Just(types), rapid.SliceOfN(rapid.SampledFrom(types), 0, 4)).Draw(r, "types")
			}
			if rapid.Bool().Draw(r, "with groups") {
				sent["group_ids"] = rapid.SliceOfN(rapid.SampledFrom([]int64{3, 2, 1}), 0, 4).Draw(r, "group_ids")
			}
			if rapid.Bool().Draw(r, "with tags") {
				sent["tags"] = rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom([]string{"night", " two words ", "中文，逗号", "007"}), oddText()), 0, 3).Draw(r, "tags")
			}
			maybe(r, sent, "enabled", anyOf(true, false))
			w, ok := u.make(r, "POST", "/webhooks", sent)
			if !ok {
				return false
			}
			defer func() {
				w.delete()
				// The admin drops what is left of it, at a moment of its own.
				if _, err := u.a.pool.ExecContext(t.Context(), "DELETE FROM punctual_webhook WHERE state = ?", string(webhook.Deleted)); err != nil {
					r.Fatal(err)
				}
			}()
			w.same("nothing")
			before := settings(r, w)
			id := idOf(w.was)
			late := w.form("/webhooks/"+id+"/edit", "/webhooks/"+id+"/edit")
			w.patched()
			w.posted("/webhooks/"+id+"/edit", late)
			if now := settings(r, w); now != before {
				r.Fatalf("its address or its secret is another: %+v, was %+v", now, before)
			}
			return true
		})
	})
}

// TestAWebhookOfAGroupThatIsGoneIsNotToldOfAll takes a group away that a webhook is narrowed to.
func TestAWebhookOfAGroupThatIsGoneIsNotToldOfAll(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		root := open(t, a).mustLogin()
		var group, hook struct {
			ID     int64
			Name   string
			Groups []int64 `json:"group_ids"`
		}
		c.json(201, &group, "POST", "/groups", `{"app_name":"billing","title":"Billing"}`)
		c.json(201, &hook, "POST", "/webhooks", fmt.Sprintf(`{"name":"narrow","url":"http://127.0.0.1:1/","group_ids":[%d]}`, group.ID))
		c.json(200, &struct{}{}, "DELETE", fmt.Sprintf("/groups/%d", group.ID), "")
		at := fmt.Sprintf("/webhooks/%d", hook.ID)
		c.json(200, &hook, "PATCH", at, `{"name":"renamed"}`)
		if hook.Name != "renamed" || len(hook.Groups) != 1 {
			t.Errorf("renamed: %+v", hook)
		}
		page := root.get(at + "/edit").document(t)
		if text := page.Text(); !strings.Contains(text, fmt.Sprintf("Deleted (#%d)", group.ID)) {
			t.Errorf("its form does not say that its group is gone:\n%s", text)
		}
		if got := root.post(at+"/edit", formTo(t, page, at+"/edit")); got.status != http.StatusSeeOther {
			t.Errorf("its form: %d", got.status)
		}
		if c.json(200, &hook, "GET", at, ""); len(hook.Groups) != 1 || hook.Groups[0] != group.ID {
			t.Errorf("after its form it is told of the jobs of %v", hook.Groups)
		}
		c.json(200, &struct{}{}, "PATCH", at, `{"url":"http://127.0.0.1:1/other"}`)
		if _, after := auditOf(t, a, manage.ObjectWebhook); after != `{"given":"url"}` {
			t.Errorf("the audit log says of another address on the same host: %s", after)
		}
	})
}
