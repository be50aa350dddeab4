package docs

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// markdown leaves HTML out that stands in a page. A style attribute would not be allowed by the console's policy.
var markdown = goldmark.New(goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))))

// sheet is a page that was read.
type sheet struct {
	src      []byte
	root     ast.Node
	headings []*ast.Heading
	slugs    []string // of the headings, as Markdown is usually shown
}

func read(src []byte) sheet {
	s := sheet{src: src, root: markdown.Parser().Parse(text.NewReader(src))}
	seen := make(map[string]int)
	for n := s.root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			s.headings = append(s.headings, h)
			s.slugs = append(s.slugs, slug(plain(h, src), seen))
		}
	}
	return s
}

// slug is the anchor that a heading gets in the usual places: small letters, no signs, hyphens for spaces.
func slug(title string, seen map[string]int) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	made := b.String()
	n := seen[made]
	seen[made]++
	if n > 0 {
		return made + "-" + strconv.Itoa(n)
	}
	return made
}

// plain is the text of a node.
func plain(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Kind() == tables.KindTableCell {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(bytes.ReplaceAll(n.Segment.Value(src), []byte("\n"), []byte(" "))) // code may go over a line's end
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.URL(src))
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// draw makes the pages of a language.
func draw(lang string) *Manual {
	m := &Manual{Lang: lang, pages: make(map[string]*Page)}
	sheets, ids := make(map[string]sheet), make(map[string][]string)
	for _, name := range Names() {
		s := read(source(lang, name))
		sheets[name], ids[name] = s, s.slugs
		if english := read(source(English, name)); len(english.slugs) == len(s.slugs) {
			ids[name] = english.slugs
		}
	}
	anchor := func(page, fragment string) string {
		if i := slices.Index(sheets[page].slugs, fragment); i >= 0 {
			return ids[page][i]
		}
		return fragment
	}
	for _, c := range chapters {
		chapter := Chapter{Name: c.name}
		for _, name := range c.pages {
			s := sheets[name]
			p := &Page{Name: name}
			for i, h := range s.headings {
				h.SetAttributeString("id", []byte(ids[name][i]))
				title := plain(h, s.src)
				if h.Level == 1 {
					p.Title = title
					continue
				}
				p.Headings = append(p.Headings, Heading{Level: h.Level, ID: ids[name][i], Title: title})
			}
			s.relink(func(page, fragment string) (address, title string, ok bool) {
				page = cmp.Or(page, name)
				to, ok := sheets[page]
				if !ok {
					return "", "", false
				}
				if fragment == "" {
					return page, to.title(), true
				}
				return page + "#" + anchor(page, fragment), to.title(), true
			})
			p.passages, p.Lead = s.passages(p.Title, ids[name])
			p.HTML = s.html()
			m.pages[name] = p
			chapter.Pages = append(chapter.Pages, p)
		}
		m.Chapters = append(m.Chapters, chapter)
	}
	return m
}

// title is the page's first heading.
func (s sheet) title() string {
	if len(s.headings) == 0 {
		return ""
	}
	return plain(s.headings[0], s.src)
}

// relink leads links between pages to where they are served, and calls a page by its title where the text names its file. What leads elsewhere in the repository is text, because it is not served; pictures
// are left out for the same reason.
func (s sheet) relink(to func(page, fragment string) (address, title string, ok bool)) {
	var gone []ast.Node
	_ = ast.Walk(s.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.HTMLBlock, *ast.RawHTML:
			gone = append(gone, n)
		case *ast.Image:
			gone = append(gone, n)
		case *ast.Link:
			file, fragment, _ := strings.Cut(string(n.Destination), "#")
			if strings.Contains(file, ":") {
				return ast.WalkContinue, nil
			}
			page, ok := strings.CutSuffix(file, ".md")
			var address, title string
			if ok || file == "" {
				address, title, ok = to(page, fragment)
			}
			if !ok {
				gone = append(gone, n)
				return ast.WalkContinue, nil
			}
			n.Destination = []byte(address)
			if rest, named := strings.CutPrefix(plain(n, s.src), file); named && file != "" {
				n.RemoveChildren(n)
				n.AppendChild(n, ast.NewString([]byte(title+rest)))
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range gone {
		parent := n.Parent()
		for c := n.FirstChild(); c != nil; c = n.FirstChild() {
			parent.InsertBefore(parent, n, c)
		}
		parent.RemoveChild(parent, n)
	}
}

// html draws the page. What may be wider than a phone can be scrolled, also with the keyboard. Text never looks like these tags: it is escaped.
func (s sheet) html() string {
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, s.src, s.root); err != nil {
		panic(err) // a buffer takes everything
	}
	return strings.NewReplacer(
		"<table>", `<div class="docs-scroll" tabindex="0"><table>`, "</table>", "</table></div>",
		"<pre>", `<pre tabindex="0">`,
		"<th></th>", `<th><span class="visually-hidden">·</span></th>`, // a heading has a name
	).Replace(b.String())
}
