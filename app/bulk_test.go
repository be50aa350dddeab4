package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// TestManyJobsOverHTTP picks jobs in the list, looks at what would happen, does it, and takes it back.
func TestManyJobsOverHTTP(t *testing.T) {
	t.Parallel()
	b := open(t, start(t, testOptions(t))).mustLogin()
	for _, name := range []string{"orders", "others"} {
		b.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"auto"}})
	}
	for range 2 {
		if got := b.post("/jobs", form(nil)); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
	}
	if n := b.get("/jobs").document(t).Find(`tbody .pick[form="bulk"]`).Length(); n != 2 {
		t.Errorf("%d boxes", n)
	}
	started := func() int { return b.get("/jobs").document(t).Find(`.switch[aria-checked="true"]`).Length() }
	preview := b.do("GET", "/jobs/bulk?do=start&id=1&id=2&id=99", nil, "HX-Request", "true")
	if n := preview.document(t).Find(`input[name="id"]`).Length(); preview.status != http.StatusOK || n != 2 || strings.Contains(preview.body, "<html") || started() != 0 {
		t.Fatalf("preview: %d, %d jobs: %s", preview.status, n, preview.body)
	}
	values := func(doc *goquery.Document) url.Values {
		v := url.Values{}
		doc.Find("form.panel input").Each(func(_ int, s *goquery.Selection) { v.Add(s.AttrOr("name", ""), s.AttrOr("value", "")) })
		return v
	}
	done := b.do("POST", "/jobs/bulk", values(preview.document(t)), "HX-Request", "true")
	if done.status != http.StatusOK || done.header.Get("HX-Trigger") != "jobs-changed" || started() != 2 {
		t.Fatalf("start: %d, %d run: %s", done.status, started(), done.body)
	}
	if got := b.post("/jobs/bulk", values(done.document(t))); got.status != http.StatusOK || started() != 0 {
		t.Errorf("undo: %d, %d run", got.status, started())
	}
	move := b.post("/jobs/bulk", url.Values{"do": {"move"}, "id": {"1", "2"}, "group": {"2"}})
	if n := b.get("/jobs?group=2").document(t).Find("tr[data-id]").Length(); move.status != http.StatusOK || n != 2 {
		t.Errorf("moved: %d, %d jobs there", move.status, n)
	}
	if got := b.post("/jobs/bulk", values(move.document(t))); got.status != http.StatusOK || b.get("/jobs?group=1").document(t).Find("tr[data-id]").Length() != 2 {
		t.Errorf("moved back: %d", got.status)
	}
	tag := b.post("/jobs/bulk", url.Values{"do": {"tag"}, "id": {"1"}, "add": {"<b>eu</b>， night"}, "drop": {""}})
	if got := b.get("/jobs?tag=night"); tag.status != http.StatusOK || got.document(t).Find("tr[data-id]").Length() != 1 || strings.Contains(got.body, "<b>eu") {
		t.Errorf("tagged: %d", tag.status)
	}
	if got := b.get("/jobs/bulk?do=move&id=1").document(t).Find("#bulk-group option").Length(); got != 2 {
		t.Errorf("%d groups to move to", got)
	}
	for path, want := range map[string]int{"/jobs/bulk": 400, "/jobs/bulk?do=burn&id=1": 400, "/jobs/bulk?do=start&id=x": 400, "/jobs/bulk?do=delete&id=1": 200} {
		if got := b.get(path); got.status != want {
			t.Errorf("%s: %d, want %d", path, got.status, want)
		}
	}
	b.post("/jobs/bulk", url.Values{"do": {"delete"}, "id": {"1", "2"}})
	if n := b.get("/jobs").document(t).Find("tr[data-id]").Length(); n != 0 {
		t.Errorf("%d jobs are left", n)
	}
}

// TestASwitchIsTakenBack starts a job by mistake and takes that back from the message, with and without script.
func TestASwitchIsTakenBack(t *testing.T) {
	t.Parallel()
	b := open(t, start(t, testOptions(t))).mustLogin()
	b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"manual"}, "addresses": {"http://10.0.0.1:9999"}})
	b.post("/jobs", form(nil))
	b.get("/jobs") // takes the message away
	started := func() int { return b.get("/jobs").document(t).Find(`.switch[aria-checked="true"]`).Length() }
	undo := func(page *goquery.Document) (string, url.Values) {
		v := url.Values{}
		page.Find(".toast .undo input").Each(func(_ int, s *goquery.Selection) { v.Set(s.AttrOr("name", ""), s.AttrOr("value", "")) })
		return page.Find(".toast .undo").AttrOr("action", ""), v
	}
	b.post("/jobs/1/start", nil)
	path, values := undo(b.get("/jobs").document(t))
	if path != "/jobs/1/stop" || started() != 1 {
		t.Fatalf("started: undone by %q", path)
	}
	if got := b.post(path, values); got.status != http.StatusSeeOther || started() != 0 {
		t.Errorf("taken back: %d, %d run", got.status, started())
	}
	htmx := []string{"HX-Request", "true"}
	row := b.do("POST", "/jobs/1/start", nil, htmx...)
	path, values = undo(row.document(t))
	back := b.do("POST", path, values, htmx...)
	if back.header.Get("HX-Trigger") != "jobs-changed" || strings.Contains(back.body, "<tr") || !strings.Contains(back.body, "hx-swap-oob") || started() != 0 {
		t.Errorf("taken back with script: %d %s", back.status, back.body)
	}
	// What changed nothing has nothing to take back.
	if path, _ := undo(b.do("POST", "/jobs/1/stop", nil, htmx...).document(t)); path != "" {
		t.Errorf("stopped twice, and undone by %q", path)
	}
	page := b.do("POST", "/executors/1/addresses", url.Values{"address": {"http://10.0.0.1:9999/"}, "disabled": {"1"}}, htmx...).document(t)
	path, values = undo(page)
	if path != "/executors/1/addresses" || page.Find(".toast .undo").AttrOr("hx-target", "") != "#results" {
		t.Errorf("taken out of rotation: undone by %q", path)
	}
	if got := b.do("POST", path, values, htmx...); got.status != http.StatusOK || b.get("/executors/1").document(t).Find(".badge.disabled").Length() != 0 {
		t.Errorf("put back: %d", got.status)
	}
}
