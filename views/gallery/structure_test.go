package gallery

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/static"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/runs"
)

// Every page in every language keeps the rules that screen readers, keyboards and the Content-Security-Policy rely on.
func TestPagesKeepTheRules(t *testing.T) {
	t.Parallel()
	catalogue := locales.New()
	for _, lang := range locales.Languages() {
		f := fakes{Printer: catalogue.Printer(lang), theme: layout.ThemeAuto, now: time.Date(2026, 11, 21, 10, 5, 12, 0, time.UTC)}
		for _, p := range f.pages() {
			t.Run(lang+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				var buf bytes.Buffer
				if err := p.component.Render(t.Context(), &buf); err != nil {
					t.Fatal(err)
				}
				doc, err := goquery.NewDocumentFromReader(&buf)
				if err != nil {
					t.Fatal(err)
				}
				checkPage(t, doc, lang)
			})
		}
	}
}

func checkPage(t *testing.T, doc *goquery.Document, lang string) {
	t.Helper()
	if got := doc.Find("html").AttrOr("lang", ""); got != lang {
		t.Errorf("lang is %q, want %q", got, lang)
	}
	if got := doc.Find("h1").Length(); got != 1 {
		t.Errorf("%d h1, want one", got)
	}
	if got := doc.Find("main#content").Length(); got != 1 {
		t.Errorf("%d main, want one", got)
	}
	text := doc.Text()
	if html, _ := doc.Html(); strings.Contains(html, "<no value>") || strings.Contains(text, "%!") {
		t.Error("a message lacks a value")
	}
	doc.Find(`[hx-target="#dialog"]`).Each(func(_ int, s *goquery.Selection) {
		if swap := s.Closest("[hx-swap]").AttrOr("hx-swap", ""); strings.HasPrefix(swap, "outerHTML") {
			t.Errorf("what %q brings takes the place of the dialog itself, as the form around it says", strings.TrimSpace(s.Text()))
		}
	})
	doc.Find("button[aria-label], a.button[aria-label]").Each(func(_ int, s *goquery.Selection) {
		seen := s.Clone()
		seen.Find("svg, kbd, [aria-hidden], .visually-hidden").Remove()
		if text := strings.TrimSuffix(strings.Join(strings.Fields(seen.Text()), " "), "…"); !strings.Contains(strings.ToLower(s.AttrOr("aria-label", "")), strings.ToLower(text)) {
			t.Errorf("who says %q does not reach the button of that name, which is %q", text, s.AttrOr("aria-label", ""))
		}
	})
	// What has no other name has its title's: said a second time, that would be read a second time.
	doc.Find("[title]").Each(func(_ int, s *goquery.Selection) {
		if title := s.AttrOr("title", ""); title == s.AttrOr("aria-label", "") && s.Is("a, button, summary, input, select, textarea, [role], [tabindex]") {
			t.Errorf("the title %q repeats the name", title)
		}
	})
	for class := range rareParts(t) {
		if doc.Find("."+class).Length() > 0 && doc.Find(`link[href="`+static.URL("rare.css")+`"]`).Length() == 0 {
			t.Errorf("draws .%s without rare.css, which alone says how that looks", class)
		}
	}
	if doc.Find("[data-filter-rows], [data-all-rights]").Length() > 0 && doc.Find(`script[src="`+static.URL("rights.js")+`"]`).Length() != 1 {
		t.Error("has a list that is narrowed or a box for all its lines without rights.js, which alone answers them")
	}
	if results := doc.Find("[data-results]"); results.Length() > 0 && (results.AttrOr("role", "") != "group" || results.AttrOr("aria-label", "") == "") {
		t.Error("the list has the focus when what had it is gone, and would be read with all that is in it for a name")
	}
	ids := make(map[string]bool)
	doc.Find("*").Each(func(_ int, s *goquery.Selection) {
		for _, a := range s.Get(0).Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || strings.HasPrefix(a.Key, "hx-on") {
				t.Errorf("%s has %s, which the Content-Security-Policy forbids", s.Get(0).Data, a.Key)
			}
			if strings.HasPrefix(a.Val, "javascript:") {
				t.Errorf("%s has %s=%q", s.Get(0).Data, a.Key, a.Val)
			}
			if missingKey(a.Val) {
				t.Errorf("%s: no message %s", a.Key, a.Val)
			}
			if a.Key == "id" {
				if ids[a.Val] {
					t.Errorf("id %s twice", a.Val)
				}
				ids[a.Val] = true
			}
		}
		for n := s.Get(0).FirstChild; n != nil; n = n.NextSibling {
			if missingKey(n.Data) {
				t.Errorf("no message %s", n.Data)
			}
		}
	})
	doc.Find("script").Each(func(_ int, s *goquery.Selection) {
		if src := s.AttrOr("src", ""); !strings.HasPrefix(src, "/static/") || s.Text() != "" {
			t.Errorf("script from %q with text %q", src, s.Text())
		}
	})
	doc.Find("style").Each(func(_ int, _ *goquery.Selection) { t.Error("inline style sheet") })

	doc.Find("input:not([type=hidden]), select, textarea").Each(func(_ int, s *goquery.Selection) {
		id := s.AttrOr("id", "")
		labelled := s.AttrOr("aria-label", s.AttrOr("title", "")) != "" || s.Closest("label").Length() > 0 || (id != "" && doc.Find("label[for='"+id+"']").Length() == 1)
		if !labelled {
			t.Errorf("control %s has no label", s.AttrOr("name", id))
		}
		for ref := range strings.FieldsSeq(s.AttrOr("aria-describedby", "")) {
			if !ids[ref] {
				t.Errorf("control %s is described by %s, which does not exist", s.AttrOr("name", id), ref)
			}
		}
	})
	// What was sent and refused; a script and the steps of a flow are looked at while they are typed.
	if wrong := doc.Find(`:is(input, select, textarea)[aria-invalid="true"]:not([name="source"], [name^="step_"])`); wrong.Length() > 0 {
		if first := doc.Find("[autofocus]").First(); first.AttrOr("aria-invalid", "") != "true" {
			t.Errorf("%s is wrong, and the keyboard begins at %q", wrong.AttrOr("name", ""), first.AttrOr("name", ""))
		}
	}
	doc.Find("a, button, summary").Each(func(_ int, s *goquery.Selection) {
		hidden := s.AttrOr("hidden", "-") != "-" || s.Closest("[hidden]").Length() > 0
		if !hidden && strings.TrimSpace(s.Text()) == "" && s.AttrOr("aria-label", s.AttrOr("title", "")) == "" {
			html, _ := goquery.OuterHtml(s)
			t.Errorf("nameless control: %.120s", html)
		}
	})
	doc.Find("a").Each(func(_ int, s *goquery.Selection) {
		if s.AttrOr("href", "") == "" {
			t.Errorf("link without an address: %s", s.Text())
		}
		// What opens as a dialog is a page of its own for browsers without script.
		if get := s.AttrOr("hx-get", ""); get != "" && get != s.AttrOr("href", "") {
			t.Errorf("hx-get %s, href %s", get, s.AttrOr("href", ""))
		}
	})
	doc.Find("form").Each(func(_ int, s *goquery.Selection) {
		if post := s.AttrOr("hx-post", ""); post != "" && (post != s.AttrOr("action", "") || s.AttrOr("method", "") != "post") {
			t.Errorf("form for %s does not work without script", post)
		}
	})
	doc.Find("table").Each(func(_ int, s *goquery.Selection) {
		columns := s.Find("thead th").Length()
		s.Find("tbody tr").Each(func(_ int, r *goquery.Selection) {
			if got := r.Find("td").Length(); got != columns {
				t.Errorf("row %s has %d cells under %d columns", r.AttrOr("id", "?"), got, columns)
			}
		})
	})
	doc.Find("img").Each(func(_ int, s *goquery.Selection) {
		if _, ok := s.Attr("alt"); !ok {
			t.Error("picture without alt")
		}
	})
}

// rareParts are the classes that rare.css begins a rule with: no other sheet knows them.
func rareParts(t *testing.T) map[string]bool {
	t.Helper()
	sheet, err := os.ReadFile("../../static/src/css/rare.css")
	if err != nil {
		t.Fatal(err)
	}
	classes := make(map[string]bool)
	for _, found := range regexp.MustCompile(`(?m)^\.([\w-]+)`).FindAllStringSubmatch(string(sheet), -1) {
		classes[found[1]] = true
	}
	for _, known := range []string{"changes", "spread-picture", "clearings"} {
		if !classes[known] {
			t.Fatalf("rare.css has no .%s any more: %v", known, classes)
		}
	}
	return classes
}

// missingKey sees the shape that Printer.T gives a key it does not know.
func missingKey(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) > 4 && strings.HasPrefix(s, "!") && strings.HasSuffix(s, "!") && strings.Contains(s, ".")
}

// Output of jobs is data: whatever it holds, it stays text.
func TestOutputIsNeverMarkup(t *testing.T) {
	t.Parallel()
	f := fakes{Printer: locales.New().Printer(locales.English), now: time.Now()}
	p := f.runLive()
	p.Log.Lines = []string{`<script>alert(1)</script>`, `</li></ol><img src=x onerror=alert(1)>`}
	p.Timeline.ResultNote = []string{`<b>bold</b><br>`}
	p.Timeline.Param = `"><script>1</script>`
	for _, page := range []page{
		{"detail", "", runs.Detail(p)},
		{"chunk", "", runs.LogChunk(runs.LogPage{Page: p.Page, LogID: p.Timeline.LogID, Log: p.Log})},
	} {
		var buf bytes.Buffer
		if err := page.component.Render(t.Context(), &buf); err != nil {
			t.Fatal(err)
		}
		doc, err := goquery.NewDocumentFromReader(&buf)
		if err != nil {
			t.Fatal(err)
		}
		if n := doc.Find("script:not([src]), img[src=x], .note b").Length(); n != 0 {
			t.Errorf("%s: %d elements came out of text", page.name, n)
		}
	}
}
