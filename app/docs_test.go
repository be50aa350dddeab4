package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/docs"
)

// TestTheManual is read and searched in the language of its reader, by everybody who is logged in and by nobody else.
func TestTheManual(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	admin := open(t, a).mustLogin()
	for _, name := range docs.Names() {
		page := admin.get("/docs/" + name)
		if page.status != http.StatusOK || page.document(t).Find(".docs-text h1").Length() != 1 {
			t.Errorf("%s: %d", name, page.status)
		}
	}
	for _, path := range []string{"/docs/nothing", "/docs/..%2fREADME", "/docs/operations.md"} {
		if got := admin.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	front := admin.get("/docs").document(t)
	if got := front.Find(".docs-contents a").Length(); got != len(docs.Names()) {
		t.Errorf("%d pages are listed of %d", got, len(docs.Names()))
	}
	found := admin.do("GET", "/docs?q=misfire_seconds", nil, "HX-Request", "true")
	if hit := found.document(t).Find(".docs-hits a").First().AttrOr("href", ""); !strings.HasPrefix(hit, "/docs/") || strings.Contains(found.body, "<html") {
		t.Errorf("found: %s", found.body)
	}
	if got := admin.get("/docs?q=" + url.QueryEscape("<script>qwertz")); got.status != http.StatusOK || strings.Contains(got.body, "<script>qwertz") || got.document(t).Find(".empty").Length() != 1 {
		t.Errorf("nothing found: %d", got.status)
	}
	for lang, title := range map[string]string{"zh-CN": "部署与运维", "zh-TW": "部署与运维", "en": "Running Punctual"} {
		admin.post("/preferences", url.Values{"lang": {lang}, "next": {"/"}})
		page := admin.get("/docs/operations").document(t)
		if got := page.Find(".docs-text h1").Text(); got != title {
			t.Errorf("%s: %s", lang, got)
		}
		if got := page.Find(".page-lede").Length(); got == 1 != (lang == "zh-TW") {
			t.Errorf("%s: told %d times that the manual is in another language", lang, got)
		}
		if page.Find(`h2[id="several-admins"]`).Length() != 1 {
			t.Errorf("%s: the anchors are not those of the English page", lang)
		}
	}
	if ann := normalUser(t, a).get("/docs/hardening"); ann.status != http.StatusOK {
		t.Errorf("a user without rights: %d", ann.status)
	}
	if got := open(t, a).get("/docs"); got.status == http.StatusOK {
		t.Error("a stranger reads the manual")
	}
}

// TestTheConsoleLeadsIntoTheManual to pages and headings that are there.
func TestTheConsoleLeadsIntoTheManual(t *testing.T) {
	t.Parallel()
	b := open(t, start(t, testOptions(t))).mustLogin()
	m := docs.In("en")
	links := 0
	for _, path := range []string{
		"/", "/jobs", "/jobs/import", "/runs", "/executors", "/executors/token/rotate", "/alarms", "/alarms/messages", "/nodes", "/users", "/teams", "/audit", "/settings", "/tokens", "/profile/second", "/help",
	} {
		b.get(path).document(t).Find(`a[href^="/docs"]`).Each(func(_ int, s *goquery.Selection) {
			links++
			address := strings.TrimPrefix(s.AttrOr("href", ""), "/docs")
			if address == "" {
				return
			}
			name, id, _ := strings.Cut(strings.TrimPrefix(address, "/"), "#")
			page, ok := m.Page(name)
			if !ok || id != "" && !strings.Contains(page.HTML, ` id="`+id+`"`) {
				t.Errorf("%s leads to /docs%s", path, address)
			}
		})
	}
	if links < 35 {
		t.Errorf("%d links", links)
	}
}
