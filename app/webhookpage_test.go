package app

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
)

// TestDeliveriesLeadToWhatThereIs: a run or an executor that was deleted since is named, and no link leads to it.
func TestDeliveriesLeadToWhatThereIs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		for path, form := range map[string]url.Values{
			"/webhooks":  {"name": {"hub"}, "url": {"http://127.0.0.1:1/"}, "types": {"punctual.job.created"}, "off": {"1"}},
			"/executors": {"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}, "idle": {"wait"}},
		} {
			if got := root.post(path, form); got.status >= 400 {
				t.Fatalf("%s: %d", path, got.status)
			}
		}
		var hook, group int64
		for query, id := range map[string]*int64{"SELECT id FROM punctual_webhook": &hook, "SELECT id FROM xxl_job_group WHERE app_name = 'orders'": &group} {
			if err := a.pool.QueryRowContext(t.Context(), query).Scan(id); err != nil {
				t.Fatal(err)
			}
		}
		run, err := a.pool.ExecContext(t.Context(), "INSERT INTO xxl_job_log (job_group, job_id, trigger_code, handle_code) VALUES (?, 1, 200, 200)", group)
		if err != nil {
			t.Fatal(err)
		}
		there, err := run.LastInsertId()
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().UnixMilli()
		if err := db.InsertDeliveries(t.Context(), a.pool, []db.NewDelivery{
			{WebhookID: hook, Type: "punctual.run.sent", JobGroup: group, JobID: 1, Run: there, At: at}, {WebhookID: hook, Type: "punctual.run.sent", JobGroup: group, JobID: 1, Run: 987654, At: at},
			{WebhookID: hook, Type: "punctual.executor.lost", JobGroup: group, At: at}, {WebhookID: hook, Type: "punctual.executor.lost", JobGroup: 9876, At: at},
		}); err != nil {
			t.Fatal(err)
		}
		doc := root.get("/webhooks/" + strconv.FormatInt(hook, 10) + "?state=waiting").document(t)
		for address, want := range map[string]int{"/runs/" + strconv.FormatInt(there, 10): 1, "/runs/987654": 0, "/executors/" + strconv.FormatInt(group, 10): 1, "/executors/9876": 0} {
			if n := doc.Find(`a[href="` + address + `"]`).Length(); n != want {
				t.Errorf("%d links to %s, want %d", n, address, want)
			}
		}

		// What is being sent is gone a moment later: the page draws itself anew, in the state that it shows.
		path := "/webhooks/" + strconv.FormatInt(hook, 10)
		if part := root.do("GET", path, nil, "HX-Request", "true", "Punctual-Live", "1"); strings.Contains(part.body, "<html") || part.document(t).Find("#webhook").AttrOr("data-live-from", "") != path+"?state=waiting" {
			t.Errorf("what changes of it: %s", part.body)
		}
		if page := root.get(path + "?state=taken").document(t); page.Find("#webhook[data-live-every]").AttrOr("data-live-from", "") != path+"?state=taken" || page.Find(".page-head [data-live-mark]").Length() != 1 {
			t.Error("the page does not refresh itself")
		}
		// So is what can be done with it, once the receiver has said that it is gone, or somebody has switched it on.
		for state, want := range map[string]int{"on": 1, "gone": 0} {
			if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_webhook SET state = ? WHERE id = ?", state, hook); err != nil {
				t.Fatal(err)
			}
			part := root.do("GET", path, nil, "HX-Request", "true", "Punctual-Live", "1").document(t)
			if got := part.Find(`form[action="` + path + `/test"]`).Length(); got != want || part.Find(`form[id][action="`+path+`/secret"]`).Length() != 1 {
				t.Errorf("of one that is %s the page offers %d tests, want %d", state, got, want)
			}
		}

		// Cancel leads to where saving leads.
		edit := root.get("/executors/" + strconv.FormatInt(group, 10) + "/edit")
		if to := edit.document(t).Find(".form-foot a").AttrOr("href", ""); edit.status != http.StatusOK || to != "/executors/"+strconv.FormatInt(group, 10) {
			t.Errorf("cancel leads to %s", to)
		}
	})
}

// TestAReceiverThatRefusesIsSaid in the list, on its page and, after some minutes, on every page of an administrator.
func TestAReceiverThatRefusesIsSaid(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		create := func(name string) answer {
			got := root.post("/webhooks", url.Values{"name": {name}, "url": {"http://127.0.0.1:1/"}, "types": {"punctual.job.created"}})
			if got.status != http.StatusOK {
				t.Fatalf("a webhook: %d", got.status)
			}
			return got
		}
		if n := create("hub").document(t).Find(".notice.alert").Length(); n != 0 {
			t.Fatalf("%d alerts of a webhook that nothing was sent to", n)
		}
		var id int64
		if err := a.pool.QueryRowContext(t.Context(), "SELECT id FROM punctual_webhook").Scan(&id); err != nil {
			t.Fatal(err)
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_webhook SET failing_since = ?, last_reason = 'refused', last_status = 422", time.Now().Add(-10*time.Minute).UnixMilli()); err != nil {
			t.Fatal(err)
		}
		page := "/webhooks/" + strconv.FormatInt(id, 10)
		if got := create("other").document(t).Find(`.notice.alert a[href="` + page + `"]`).Parent().Text(); !strings.Contains(got, "“hub”") {
			t.Errorf("the alert: %q", got)
		}
		for _, path := range []string{"/webhooks", page} {
			doc := root.get(path).document(t)
			if got := strings.TrimSpace(doc.Find(".badge.failed").Text()); got != "Refuses events" || !strings.Contains(doc.Text(), "Status 422") {
				t.Errorf("%s: %q", path, got)
			}
		}
	})
}
