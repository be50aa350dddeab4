// Package docs is the manual: the Markdown files of this folder in English, and of zh-CN in Chinese. It draws them as HTML, for the program
// that carries them, and searches them. It holds no fact about the program; the tests compare the two languages with each other, and with
// the sources.
//
// The anchors of a page are those of its English headings in both languages, so that whoever changes the language stays where they are. In
// the Markdown of a Chinese page, links have the anchors that its headings get where Markdown is usually shown.
package docs

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// The languages of the manual.
const (
	English = "en"
	Chinese = "zh-CN"
)

//go:embed *.md zh-CN/*.md
var files embed.FS

// chapters are the parts of the manual in their order, each with its pages.
var chapters = []struct {
	name  string
	pages []string
}{
	{"start", []string{"quickstart", "install", "concepts", "glossary"}},
	{"move", []string{"moving-in", "from-crontab", "from-kubernetes", "migration", "differences", "compat"}},
	{"run", []string{"operations", "monitoring", "cluster", "capacity", "sign-in", "hardening", "alarms", "troubleshooting", "runbooks", "faq"}},
	{"jobs", []string{"http-jobs", "flows", "flow-recipes", "jobfile", "api", "api-reference", "webhooks", "cli", "assistants"}},
	{"executors", []string{"executor", "executor-java", "executor-go", "executor-python", "executor-node", "executor-php", "executor-shell"}},
	{"project", []string{"performance", "decisions", "upgrading", "changelog"}},
}

// Chapter is a part of the manual.
type Chapter struct {
	Name  string
	Pages []*Page
}

// Page is one page, drawn.
type Page struct {
	Name     string // as in its address
	Title    string
	Lead     string // its first sentence
	HTML     string
	Headings []Heading // without the title

	passages []passage
}

// Heading is a place on a page.
type Heading struct {
	Level     int // 2 or more
	ID, Title string
}

// Manual is every page in one language. It is read-only and safe for concurrent use.
type Manual struct {
	Lang     string
	Chapters []Chapter
	pages    map[string]*Page
}

// In is the manual that a reader of a language of the console gets: the Chinese one for all who read Chinese, else the English one. It is drawn
// when it is first asked for. Links between pages are relative: the addresses of the pages differ in their names alone.
func In(lang string) *Manual {
	if lang == "zh" || strings.HasPrefix(lang, "zh-") {
		return chinese()
	}
	return english()
}

var (
	english = sync.OnceValue(func() *Manual { return draw(English) })
	chinese = sync.OnceValue(func() *Manual { return draw(Chinese) })
)

func (m *Manual) Page(name string) (*Page, bool) {
	p, ok := m.pages[name]
	return p, ok
}

// Names lists the pages in their order.
func Names() []string {
	var all []string
	for _, c := range chapters {
		all = append(all, c.pages...)
	}
	return all
}

// source is the Markdown of a page, the English one where a language has none.
func source(lang, name string) []byte {
	where := []string{name + ".md"}
	if lang != English {
		where = slices.Insert(where, 0, path.Join(lang, name+".md"))
	}
	for _, file := range where {
		if raw, err := fs.ReadFile(files, file); err == nil {
			return raw
		}
	}
	return nil
}
