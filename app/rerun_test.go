package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/executor/executortest"
)

// TestManyRunsAreRunAgainOverHTTP picks runs in the list, and all that match its filter, looks at what would happen, and does it.
func TestManyRunsAreRunAgainOverHTTP(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		b := open(t, a).mustLogin()
		var made struct{ ID int }
		c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"settle","author":"a","handler":"nobody","parameter":"day"}`)
		const first = 3
		for range first {
			c.json(201, new(struct{}), "POST", fmt.Sprintf("/jobs/%d/trigger", made.ID), "")
		}
		failed := func(want int) (ids []string) {
			t.Helper()
			executortest.Eventually(t, "failed runs", func() error {
				ids = nil
				b.get(fmt.Sprintf("/runs?result=failed&job=%d", made.ID)).document(t).Find(`tbody .pick[form="bulk"]`).Each(func(_ int, s *goquery.Selection) { ids = append(ids, s.AttrOr("value", "")) })
				if len(ids) != want {
					return fmt.Errorf("%d runs can be picked, want %d", len(ids), want)
				}
				return nil
			})
			return ids
		}
		ids := failed(first) // nobody takes them: there is no executor
		values := func(doc *goquery.Document) url.Values {
			v := url.Values{}
			doc.Find(bulkFields).Each(func(_ int, s *goquery.Selection) { v.Add(s.AttrOr("name", ""), s.AttrOr("value", "")) })
			return v
		}
		if list := b.get("/runs").document(t); list.Find(`form#bulk[action="/runs/rerun"]`).Length() != 1 || list.Find("[data-pick-every]").Length() != 0 {
			t.Error("the list has no way to run its runs again, or one for others than it shows")
		}
		preview := b.do("GET", "/runs/rerun?id="+ids[0]+"&id="+ids[1]+"&id=999999", nil, "HX-Request", "true")
		doc := preview.document(t)
		if preview.status != http.StatusOK || doc.Find(".bulk-items .good").Length() != 2 || doc.Find(".bulk-items .bad").Length() != 1 || !strings.Contains(doc.Find("h1").Text(), "2") || strings.Contains(preview.body, "<html") {
			t.Fatalf("preview: %d %s", preview.status, preview.body)
		}
		failed(first)
		wish := values(doc)
		var news []string
		for range 2 { // the same form once more sends nothing again
			done := b.do("POST", "/runs/rerun", wish, "HX-Request", "true")
			news = nil
			done.document(t).Find(`.bulk-items .good a[href^="/runs/"]`).Each(func(_ int, s *goquery.Selection) { news = append(news, s.AttrOr("href", "")) })
			if done.status != http.StatusOK || len(news) != 2 || news[0] == "/runs/"+ids[0] {
				t.Fatalf("done: %d, new runs %v: %s", done.status, news, done.body)
			}
		}
		if again := b.get(news[0]).document(t); again.Find("main h1").Length() != 1 || !strings.Contains(again.Find("main").Text(), "day") {
			t.Error("the new run has no page, or not the parameter")
		}
		failed(first + 2)

		// All that match: the answer goes on by itself until all are done.
		every := b.get(fmt.Sprintf("/runs/rerun?all=1&result=failed&job=%d", made.ID)).document(t)
		if !strings.Contains(every.Find("h1").Text(), "5") || every.Find(`input[name=set]`).Length() != 1 {
			t.Fatalf("all: %s", every.Text())
		}
		if done := b.post("/runs/rerun", values(every)); done.status != http.StatusOK || done.document(t).Find(".bulk-items .good").Length() != 5 {
			t.Errorf("all done: %d %s", done.status, done.body)
		}
		failed(2 * (first + 2))
		for path, want := range map[string]int{"/runs/rerun": 400, "/runs/rerun?id=x": 400, "/runs/rerun?all=1&job=999": 400, "/runs/rerun?id=999": 200} {
			if got := b.get(path); got.status != want {
				t.Errorf("%s: %d, want %d", path, got.status, want)
			}
		}

		type answered struct {
			Done  bool
			Items []struct {
				Run, NewRun int64
				Again       bool
				Code        string
				New         int64 `json:"new_run"`
			}
		}
		var got answered
		body := fmt.Sprintf(`{"runs":[%s,999999]}`, ids[0])
		c.json(200, &got, "POST", "/runs/rerun?dry_run=true", body)
		if got.Done || len(got.Items) != 2 || !got.Items[0].Again || got.Items[0].New != 0 || got.Items[1].Code != "run.gone" {
			t.Errorf("dry run: %+v", got)
		}
		failed(2 * (first + 2))
		var once [2]answered
		for i := range once {
			c.json(200, &once[i], "POST", "/runs/rerun", body, "Idempotency-Key", "tonight")
		}
		if once[0].Items[0].New == 0 || once[0].Items[0].New != once[1].Items[0].New || !once[0].Done {
			t.Errorf("done: %+v", once)
		}
		failed(2*(first+2) + 1)
		if got := c.do("POST", "/runs/rerun", `{"runs":[]}`); got.status != 422 && got.status != 400 {
			t.Errorf("no runs: %d", got.status)
		}
	})
}

// TestManyRunsAreEndedOverHTTP picks runs that wait in the list, and all that match its filter, looks at what would happen, and does it.
func TestManyRunsAreEndedOverHTTP(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		b := open(t, a).mustLogin()
		var made struct{ ID int }
		c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"settle","author":"a","handler":"nobody","max_concurrent":1}`)
		ctx := t.Context()
		var ids []string
		for range 5 { // somebody else has given them no slot yet
			res, err := a.pool.ExecContext(ctx, "INSERT INTO xxl_job_log (job_group, job_id, trigger_code, handle_code, owner_node, trigger_type, planned_at) VALUES (1, ?, 0, 0, -1, 'MANUAL', 1)", made.ID)
			if err != nil {
				t.Fatal(err)
			}
			id, err := res.LastInsertId()
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, fmt.Sprint(id))
		}
		killed := func(want int) {
			t.Helper()
			var n int
			if err := a.pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM xxl_job_log WHERE job_id = ? AND outcome = 6", made.ID).Scan(&n); err != nil || n != want {
				t.Errorf("%d are ended, %v, want %d", n, err, want)
			}
		}
		values := func(doc *goquery.Document) url.Values {
			v := url.Values{}
			doc.Find(bulkFields).Each(func(_ int, s *goquery.Selection) { v.Add(s.AttrOr("name", ""), s.AttrOr("value", "")) })
			return v
		}
		list := b.get(fmt.Sprintf("/runs?state=waiting&range=all&job=%d", made.ID)).document(t)
		if list.Find(`#bulk button[formaction="/runs/kill"]`).Length() != 1 || list.Find(`tbody .pick[form="bulk"]`).Length() != 5 {
			t.Errorf("the list has no way to end its runs: %s", list.Find("main").Text())
		}
		doc := b.get("/runs/kill?id=" + ids[0] + "&id=999999").document(t)
		if doc.Find(".bulk-items .good").Length() != 1 || doc.Find(".bulk-items .bad").Length() != 1 || doc.Find("button.danger").Length() != 1 {
			t.Errorf("preview: %s", doc.Find("main").Text())
		}
		killed(0)
		if done := b.post("/runs/kill", values(doc)); done.status != http.StatusOK || done.document(t).Find(".bulk-items .good").Length() != 1 {
			t.Errorf("done: %d %s", done.status, done.body)
		}
		killed(1)

		var got struct {
			Done  bool
			Items []struct {
				Run   int64
				Ended bool
				Code  string
			}
		}
		body := fmt.Sprintf(`{"runs":[%s,%s,999999]}`, ids[0], ids[1])
		for i, path := range []string{"/runs/kill?dry_run=true", "/runs/kill"} {
			c.json(200, &got, "POST", path, body)
			if got.Done != (i == 1) || len(got.Items) != 3 || got.Items[0].Code != "run.notrunning" || !got.Items[1].Ended || got.Items[2].Code != "run.gone" {
				t.Errorf("%s: %+v", path, got)
			}
			killed(1 + i)
		}
		if got := c.do("POST", "/runs/kill", `{"runs":[]}`); got.status != 422 && got.status != 400 {
			t.Errorf("no runs: %d", got.status)
		}

		every := b.get(fmt.Sprintf("/runs/kill?all=1&state=waiting&range=all&job=%d", made.ID)).document(t)
		if !strings.Contains(every.Find("h1").Text(), "3") || every.Find(`input[name=set]`).Length() != 1 {
			t.Fatalf("all: %s", every.Text())
		}
		if done := b.post("/runs/kill", values(every)); done.status != http.StatusOK {
			t.Errorf("all done: %d %s", done.status, done.body)
		}
		killed(5)

		// A page of the list may have twice as many rows as are ended in one go.
		picks := ""
		for range manage.MaxKill + 1 {
			res, err := a.pool.ExecContext(ctx, "INSERT INTO xxl_job_log (job_group, job_id, trigger_code, handle_code, owner_node, trigger_type, planned_at) VALUES (1, ?, 0, 0, -1, 'MANUAL', 1)", made.ID)
			if err != nil {
				t.Fatal(err)
			}
			id, err := res.LastInsertId()
			if err != nil {
				t.Fatal(err)
			}
			picks += fmt.Sprintf("&id=%d", id)
		}
		form := values(b.get("/runs/kill?" + picks[1:]).document(t))
		for parts := 0; len(form) > 0 && parts < 5; parts++ {
			done := b.post("/runs/kill", form)
			if done.status != http.StatusOK {
				t.Fatalf("a page of picks: %d %s", done.status, done.body)
			}
			form = values(done.document(t))
		}
		killed(5 + manage.MaxKill + 1)
	})
}
