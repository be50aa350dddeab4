package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestSavedViews keeps a filter under a name, uses it from the list and from the palette, changes it and forgets it.
func TestSavedViews(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}})
		b.post("/jobs", form(nil))
		if got := b.get("/jobs").document(t).Find(".views").Length(); got != 0 {
			t.Error("a bar without a view and without a filter")
		}
		offer := b.get("/jobs?page=1&author=ann&nonsense=1").document(t).Find(".view-save").AttrOr("href", "")
		if offer != "/views/new?page=jobs&params=author%3Dann" {
			t.Errorf("the offer leads to %s", offer)
		}
		if got := b.get(offer); got.status != http.StatusOK || got.document(t).Find(`input[name="params"]`).AttrOr("value", "") != "author=ann" {
			t.Errorf("the form: %d", got.status)
		}
		for _, path := range []string{"/views/new", "/views/new?page=jobs", "/views/new?page=nodes&params=q%3Da", "/views/99/edit"} {
			if got := b.get(path); got.status != http.StatusNotFound {
				t.Errorf("%s: %d", path, got.status)
			}
		}
		view := url.Values{"page": {"jobs"}, "params": {"author=ann&page=7&evil=1"}, "name": {""}}
		if got := b.post("/views", view); got.status != http.StatusUnprocessableEntity || got.document(t).Find(".field .error").Length() != 1 {
			t.Errorf("without a name: %d", got.status)
		}
		view.Set("name", "Ann's <b>jobs")
		view.Set("shared", "1")
		if got := b.post("/views", view); got.header.Get("Location") != "/jobs?author=ann" {
			t.Fatalf("kept: %d %s", got.status, got.body)
		}
		taken := b.do("POST", "/views", view, "HX-Request", "true")
		if taken.status != http.StatusUnprocessableEntity || taken.document(t).Find(`input[name="replace"]`).Length() != 1 || strings.Contains(taken.body, "<html") {
			t.Errorf("kept twice: %d", taken.status)
		}
		view.Set("replace", "1")
		if got := b.do("POST", "/views", view, "HX-Request", "true"); got.header.Get("HX-Redirect") != "/jobs?author=ann" {
			t.Errorf("replaced: %d %s", got.status, got.body)
		}

		used := b.do("GET", "/jobs?author=ann", nil, "HX-Request", "true")
		bar := used.document(t).Find(".views")
		if bar.Find(".view.current").Length() != 1 || bar.Find(".view-save").Length() != 0 || bar.Find(`a[href="/views/1/edit"]`).Length() != 1 || strings.Contains(used.body, "<b>jobs") {
			t.Errorf("the bar: %s", bar.Text())
		}
		ann := normalUser(t, a)
		hers := ann.get("/jobs").document(t).Find(".views")
		if hers.Find(`.view a[href="/jobs?author=ann"]`).Length() != 1 || ann.get("/jobs?author=ann").document(t).Find(`a[href="/views/1/edit"]`).Length() != 0 {
			t.Errorf("what ann sees: %s", hers.Text())
		}
		if got := ann.get("/views/1/edit"); got.status != http.StatusNotFound {
			t.Errorf("ann edits what is not hers: %d", got.status)
		}
		if got := ann.get("/views/new?page=jobs&params=q%3Da").document(t).Find(`input[name="shared"]`).Length(); got != 0 {
			t.Error("ann is offered to share")
		}
		if got := ann.do("GET", "/palette?part=hits&q=ann%27s", nil, "HX-Request", "true").document(t).Find(`[data-hit][href="/jobs?author=ann"]`).Length(); got != 1 {
			t.Error("the palette does not find it")
		}
		for page, filter := range map[string]string{"runs": "range=7d&result=failed", "executors": "q=x", "audit": "action=login"} {
			if got := b.post("/views", url.Values{"page": {page}, "params": {filter}, "name": {"kept"}}); got.header.Get("Location") != "/"+page+"?"+filter {
				t.Errorf("kept of %s: %d %s", page, got.status, got.header.Get("Location"))
			}
			if got := b.get("/" + page + "?" + filter).document(t).Find(".view.current").Length(); got != 1 {
				t.Errorf("%s does not show its view", page)
			}
		}

		if got := b.post("/views/1", url.Values{"name": {"Ann"}}); got.header.Get("Location") != "/jobs?author=ann" {
			t.Errorf("renamed: %d", got.status)
		}
		if got := ann.get("/jobs").document(t).Find(".views").Length(); got != 0 {
			t.Error("ann sees what is shared no more")
		}
		if got := b.post("/views/1/delete", nil); got.header.Get("Location") != "/jobs?author=ann" {
			t.Errorf("deleted: %d", got.status)
		}
		if got := b.get("/jobs?author=ann").document(t).Find(".view").Length(); got != 0 {
			t.Error("deleted, and still there")
		}
	})
}
