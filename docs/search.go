package docs

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
)

// passage is what is found: a heading, a paragraph, a row of a table, an example.
type passage struct {
	id, heading string // where it stands; id is empty before the first heading
	title       bool   // it is a heading
	text, small string // as it is written, and in small letters
}

// Hit is a passage that holds every word that was looked for.
type Hit struct {
	Page, ID       string
	Title, Heading string
	Before, Match  string // the passage about the first of the words
	After          string
}

// maxHits bounds the answer; who has more looks for more words.
const maxHits = 50

// excerpt is how many bytes of a passage stand on either side of what was found.
const excerpt = 120

// passages cuts the page into what can be found, and tells its first paragraph.
func (s sheet) passages(title string, ids []string) (all []passage, lead string) {
	at, heading, next := "", title, 0
	_ = ast.Walk(s.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		text := ""
		switch n.Kind() {
		case ast.KindHeading:
			text = plain(n, s.src)
			if n.(*ast.Heading).Level > 1 {
				at, heading = ids[next], text
			}
			next++
			all = append(all, passage{id: at, heading: heading, title: true, text: text})
			return ast.WalkSkipChildren, nil
		case ast.KindParagraph, ast.KindTextBlock, tables.KindTableRow, tables.KindTableHeader:
			text = plain(n, s.src)
		case ast.KindFencedCodeBlock, ast.KindCodeBlock:
			text = string(n.Lines().Value(s.src))
		default:
			return ast.WalkContinue, nil
		}
		if lead == "" && n.Kind() == ast.KindParagraph {
			lead = firstSentence(text)
		}
		all = append(all, passage{id: at, heading: heading, text: strings.Join(strings.Fields(text), " ")})
		return ast.WalkSkipChildren, nil
	})
	for i := range all {
		all[i].small = strings.ToLower(all[i].text)
	}
	return all, lead
}

// firstSentence ends at a full stop.
func firstSentence(text string) string {
	if i := strings.Index(text, "。"); i >= 0 {
		return text[:i+len("。")]
	}
	if i := strings.Index(text, ". "); i >= 0 {
		return text[:i+1]
	}
	return text
}

// Search finds the passages that hold all the words of a text, in any order and within longer words too; headings come first. Words that stand
// in the heading or the title of a passage count as well, as long as one is in the passage itself.
func (m *Manual) Search(text string) []Hit {
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 {
		return nil
	}
	var titles, others []Hit
	for _, c := range m.Chapters {
		for _, p := range c.Pages {
			for _, x := range p.passages {
				at, length := x.find(p.Title, words)
				if at < 0 {
					continue
				}
				h := x.hit(p, at, length)
				if x.title {
					titles = append(titles, h)
				} else {
					others = append(others, h)
				}
			}
		}
	}
	all := slices.Concat(titles, others)
	return all[:min(len(all), maxHits)]
}

// find tells where the first of the words is that the passage holds itself, or -1.
func (x passage) find(title string, words []string) (at, length int) {
	at = -1
	about := strings.ToLower(title + " " + x.heading)
	for _, w := range words {
		switch i := strings.Index(x.small, w); {
		case i >= 0 && (at < 0 || i < at):
			at, length = i, len(w)
		case i < 0 && !strings.Contains(about, w):
			return -1, 0
		}
	}
	return at, length
}

func (x passage) hit(p *Page, at, length int) Hit {
	h := Hit{Page: p.Name, ID: x.id, Title: p.Title, Heading: x.heading}
	text := x.text
	if len(x.small) != len(text) { // a letter whose small form has another length: the places in it are not those of the text
		text = x.small
	}
	from, to := boundary(text, max(0, at-excerpt)), boundary(text, min(len(text), at+length+excerpt))
	h.Before, h.Match, h.After = text[from:at], text[at:at+length], text[at+length:to]
	if from > 0 {
		h.Before = "…" + h.Before
	}
	if to < len(text) {
		h.After += "…"
	}
	return h
}

// boundary is the beginning of the letter at or before a place.
func boundary(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
