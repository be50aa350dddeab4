package docs

import (
	"slices"
	"strings"
	"testing"
)

// TestTheManualIsDrawn in both languages: titles, anchors, and links that lead to pages and anchors that are there.
func TestTheManualIsDrawn(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"en", "zh-CN", "zh-TW"} {
		m := In(lang)
		for _, name := range Names() {
			p, ok := m.Page(name)
			if !ok || p.Title == "" || p.Lead == "" || len(p.HTML) < 300 {
				t.Errorf("%s %s is not drawn: %+v", lang, name, p)
				continue
			}
			for link := range strings.SplitSeq(p.HTML, `href="`) {
				address, _, _ := strings.Cut(link, `"`)
				if link == p.HTML || strings.HasPrefix(link, "<") || strings.Contains(address, ":") {
					continue
				}
				page, id, _ := strings.Cut(address, "#")
				to, ok := m.Page(page)
				if !ok {
					t.Errorf("%s %s links to %s", lang, name, address)
					continue
				}
				if id != "" && !strings.Contains(to.HTML, ` id="`+id+`"`) {
					t.Errorf("%s %s links to %s, which has no such place", lang, name, address)
				}
			}
			if strings.Contains(p.HTML, "style=") || strings.Contains(p.HTML, "raw HTML omitted") || strings.Contains(p.HTML, "<img") {
				t.Errorf("%s %s has HTML that is not drawn or not allowed", lang, name)
			}
			if strings.Contains(p.HTML, ".md</a>") {
				t.Errorf("%s %s calls a page by its file", lang, name)
			}
		}
	}
	if In("zh-TW") != In("zh-CN") || In("fr") != In("en") {
		t.Error("readers of other languages get another manual")
	}
	en, _ := In("en").Page("operations")
	zh, _ := In("zh-CN").Page("operations")
	if en.Headings[3].ID != zh.Headings[3].ID || en.Headings[3].Title == zh.Headings[3].Title {
		t.Errorf("the anchors of a page are those of its English headings: %+v, %+v", en.Headings[3], zh.Headings[3])
	}
}

// TestSearch finds words in any order, within words, in Chinese, and says where.
func TestSearch(t *testing.T) {
	t.Parallel()
	hits := In("en").Search("Several ADMINS")
	if len(hits) == 0 || hits[0].Page != "operations" || hits[0].ID != "several-admins" || !strings.EqualFold(hits[0].Match, "Several") {
		t.Errorf("a heading comes first: %+v", hits)
	}
	isSetting := func(h Hit) bool { return h.Page == "operations" && h.ID == "settings" && h.Match == "misfire_seconds" }
	if hits = In("en").Search("MISFIRE_seconds"); !slices.ContainsFunc(hits, isSetting) {
		t.Errorf("a setting: %+v", hits)
	}
	if hits = In("zh-CN").Search("执行器"); len(hits) != maxHits {
		t.Errorf("a Chinese word: %d", len(hits))
	}
	for _, h := range In("zh-CN").Search("令牌 轮换") {
		if strings.ContainsRune(h.Before+h.After, '�') {
			t.Errorf("a letter is cut: %+v", h)
		}
	}
	for _, none := range []string{"", "   ", "qwertzuiop", "admins qwertzuiop"} {
		if hits = In("en").Search(none); len(hits) != 0 {
			t.Errorf("%q: %+v", none, hits)
		}
	}
	for _, wild := range []string{"İ", "\xff", strings.Repeat("a ", 100), "<b>"} {
		In("en").Search(wild) // letters whose small form is longer, broken text
	}
}
