package gallery

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/punctual-job/punctual/locales"
)

// flowing are the elements whose text reads on from what stands before them. Others stand apart by their looks.
var flowing = map[string]bool{"a": true, "time": true, "strong": true, "b": true, "em": true, "span": true}

// chineseFaults are what Chinese text has only where English was put together with blanks, commas and colons of its own.
var chineseFaults = map[string]*regexp.Regexp{
	"a blank after full-width punctuation":  regexp.MustCompile(`[。；，：？！、）」] [^\x00 ]`),
	"a blank before full-width punctuation": regexp.MustCompile(`[^\x00 ] [。；，：？！、（）]`),
	"half-width punctuation":                regexp.MustCompile(`\p{Han}(?:[,:;!?](?: |$)|[,;!?]\p{Han})`),
	"half-width brackets":                   regexp.MustCompile(`\([^()\x00]*\p{Han}[^()\x00]*\)`),
}

// TestChineseIsPutTogetherAsChinese reads the pages as they are drawn: what is joined there is joined as each language joins it. The manual
// has a test of its own.
func TestChineseIsPutTogetherAsChinese(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{locales.Chinese, locales.Traditional} {
		f := fakes{Printer: locales.New().Printer(lang), now: time.Date(2026, 11, 21, 10, 5, 12, 0, time.UTC)}
		for _, p := range f.pages() {
			if strings.HasPrefix(p.name, "docs") {
				continue
			}
			var buf bytes.Buffer
			if err := p.component.Render(t.Context(), &buf); err != nil {
				t.Fatal(err)
			}
			page, err := html.Parse(&buf)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range passages(page) {
				for fault, pattern := range chineseFaults {
					if at := pattern.FindString(text); at != "" {
						t.Errorf("%s: %s has %s at %q: %s", lang, p.name, fault, at, strings.ReplaceAll(text, "\x00", " | "))
					}
				}
			}
		}
	}
}

// passages are the texts of a page that are read in one go, and those of its attributes. A zero stands where something else lies between.
func passages(page *html.Node) []string {
	var all []string
	var text strings.Builder
	end := func() {
		if s := strings.Trim(strings.Join(strings.Fields(text.String()), " "), "\x00 "); s != "" {
			all = append(all, s)
		}
		text.Reset()
	}
	var read func(n *html.Node)
	read = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			lines := strings.Split(strings.Trim(n.Data, "\n"), "\n") // of a text with lines of its own
			text.WriteString(strings.Join(lines, "\x00"))
			return
		case n.Type != html.ElementNode && n.Type != html.DocumentNode:
			return
		}
		apart, quoted := false, false // what an executor said
		for _, a := range n.Attr {
			switch a.Key {
			case "aria-label", "title", "alt", "placeholder", "hx-confirm":
				all = append(all, a.Val)
			case "class":
				apart = a.Val != "" && !strings.Contains(a.Val, "visually-hidden") && n.Data != "time" && (n.Data != "a" || strings.Contains(a.Val, "tag") || strings.Contains(a.Val, "button"))
				quoted = a.Val == "note"
			}
		}
		if quoted {
			return
		}
		switch n.Data {
		case "script", "style", "pre", "code", "textarea", "svg", "head", "template":
			text.WriteString("\x00")
			return
		case "small", "button", "input", "select", "label", "kbd", "br":
			apart = true
		}
		if n.Type == html.ElementNode && !flowing[n.Data] && !apart {
			end()
			defer end()
		}
		if apart {
			text.WriteString("\x00")
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			read(c)
		}
		if apart {
			text.WriteString("\x00")
		}
	}
	read(page)
	end()
	return all
}
