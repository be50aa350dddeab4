package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
)

// pairs are the pages that are written in both languages, by their paths in the repository.
func pairs(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"README.md": "README.zh-CN.md"}
	for _, name := range Names() {
		all[path.Join("docs", name+".md")] = path.Join("docs", Chinese, name+".md")
	}
	return all
}

// TestEveryPageIsInTheManual and in both languages: no file of the folders is left out, and none is missing.
func TestEveryPageIsInTheManual(t *testing.T) {
	t.Parallel()
	want := make([]string, 0, len(Names()))
	for _, name := range Names() {
		want = append(want, name+".md")
	}
	slices.Sort(want)
	for _, folder := range []string{".", Chinese} {
		found, err := filepath.Glob(filepath.Join(folder, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range found {
			found[i] = filepath.Base(found[i])
		}
		for _, name := range want {
			if !slices.Contains(found, name) {
				t.Errorf("%s lacks %s", folder, name)
			}
		}
		for _, name := range found {
			if !slices.Contains(want, name) {
				t.Errorf("%s in %s is no page of the manual (chapters in docs.go)", name, folder)
			}
		}
	}
}

// file is a page as the tests read it.
type file struct {
	sheet
	path string // in the repository
}

func readFile(t *testing.T, name string) file {
	t.Helper()
	if f, known := readBefore.Load(name); known {
		return f.(file)
	}
	raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	f := file{sheet: read(raw), path: name}
	readBefore.Store(name, f)
	return f
}

// readBefore are the files that were read, by their names: each link leads to one.
var readBefore sync.Map

// outline is what a page and its translation have in common, part by part: the headings with their levels, and under each the code blocks,
// the tables and what stands in code spans.
func (f file) outline() (levels []string, blocks, spans map[int][]string) {
	blocks, spans = make(map[int][]string), make(map[int][]string)
	part := 0
	_ = ast.Walk(f.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			levels = append(levels, strings.Repeat("#", n.Level))
			part = len(levels)
		case *ast.FencedCodeBlock:
			blocks[part] = append(blocks[part], string(n.Language(f.src))+"\n"+withoutComments(string(n.Lines().Value(f.src))))
		case *ast.CodeBlock:
			blocks[part] = append(blocks[part], withoutComments(string(n.Lines().Value(f.src))))
		case *tables.Table:
			blocks[part] = append(blocks[part], fmt.Sprintf("a table of %d rows", n.ChildCount()))
		case *ast.CodeSpan:
			spans[part] = append(spans[part], plain(n, f.src))
		}
		return ast.WalkContinue, nil
	})
	for i := range spans {
		slices.Sort(spans[i])
		spans[i] = slices.Compact(spans[i])
	}
	return levels, blocks, spans
}

var comment = regexp.MustCompile(`(?m)(?:^|\s+)(?:#|//|--) .*$`)

// withoutComments leaves out of an example what a translation says in other words.
func withoutComments(code string) string {
	return strings.TrimSpace(comment.ReplaceAllString(code, ""))
}

// TestBothLanguagesSayTheSame compares each page with its translation: headings, examples, tables, settings and whatever else is code, and the
// targets of links.
func TestBothLanguagesSayTheSame(t *testing.T) {
	t.Parallel()
	setting := regexp.MustCompile(`PUNCTUAL_[A-Z_]*[A-Z]`)
	settings := func(f file) []string {
		all := setting.FindAllString(string(f.src), -1)
		slices.Sort(all)
		return slices.Compact(all)
	}
	for english, chinese := range pairs(t) {
		en, zh := readFile(t, english), readFile(t, chinese)
		enLevels, enBlocks, enSpans := en.outline()
		zhLevels, zhBlocks, zhSpans := zh.outline()
		if !slices.Equal(enLevels, zhLevels) {
			t.Errorf("%s has the headings %v, %s has %v", english, enLevels, chinese, zhLevels)
			continue
		}
		for part := range len(enLevels) + 1 {
			at := "before the first heading"
			if part > 0 {
				at = "under " + plain(en.headings[part-1], en.src)
			}
			if got, want := zhBlocks[part], enBlocks[part]; !slices.Equal(got, want) {
				t.Errorf("%s, %s: examples and tables are\n%q\nin English\n%q", chinese, at, got, want)
			}
			for _, x := range enSpans[part] {
				if !slices.Contains(zhSpans[part], x) {
					t.Errorf("%s, %s: `%s` is missing", chinese, at, x)
				}
			}
			for _, x := range zhSpans[part] {
				if !slices.Contains(enSpans[part], x) {
					t.Errorf("%s, %s: `%s` is not in the English page", chinese, at, x)
				}
			}
		}
		if got, want := settings(zh), settings(en); !slices.Equal(got, want) {
			t.Errorf("%s names the settings %v, in English %v", chinese, got, want)
		}
		if got, want := targets(t, zh), targets(t, en); !slices.Equal(got, want) {
			t.Errorf("%s links to\n%q\nin English\n%q", chinese, got, want)
		}
	}
}

// targets lists where a page links to, in words that do not depend on the language: the English file, and the number of the heading. Chinese
// pages link to Chinese ones.
func targets(t *testing.T, f file) []string {
	t.Helper()
	pages := pairs(t)
	translated := strings.Contains(f.path, Chinese)
	english := make(map[string]string)
	for en, zh := range pages {
		english[zh] = en
	}
	var all []string
	_ = ast.Walk(f.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		l, ok := n.(*ast.Link)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		to := string(l.Destination)
		if strings.Contains(to, "://") {
			all = append(all, to)
			return ast.WalkContinue, nil
		}
		name, fragment, _ := strings.Cut(to, "#")
		if name == "" {
			name = f.path
		} else {
			name = path.Join(path.Dir(f.path), name)
		}
		same := name
		if en, ok := english[name]; ok {
			same = en
			if !translated {
				same = name // an English page that leads to a Chinese one, such as the choice of the language
			}
		} else if _, ok := pages[name]; ok && translated && plain(l, f.src) != "English" {
			t.Errorf("%s links to the English %s", f.path, name)
		}
		if fragment != "" && strings.HasSuffix(name, ".md") {
			at := slices.Index(readFile(t, name).slugs, fragment)
			if at < 0 {
				t.Errorf("%s links to #%s of %s, which is not there", f.path, fragment, name)
			}
			same += fmt.Sprintf(" heading %d", at)
		}
		// The two READMEs lead to each other.
		if f.path == "README.md" && name == "README.zh-CN.md" || f.path == "README.zh-CN.md" && name == "README.md" {
			same = "the other README"
		}
		all = append(all, same)
		return ast.WalkContinue, nil
	})
	slices.Sort(all)
	return all
}

// TestChineseIsChinese finds paragraphs that were left in English.
func TestChineseIsChinese(t *testing.T) {
	t.Parallel()
	for _, name := range pairs(t) {
		f := readFile(t, name)
		for n := f.root.FirstChild(); n != nil; n = n.NextSibling() {
			if n.Kind() != ast.KindParagraph && n.Kind() != ast.KindList && n.Kind() != ast.KindHeading {
				continue
			}
			text := plain(n, f.src)
			if len(text) > 40 && !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x4e00 && r <= 0x9fff }) && onlyCode(n) > 0 {
				t.Errorf("%s: %q", name, text)
			}
		}
	}
}

// onlyCode counts the texts of a node that are not code.
func onlyCode(n ast.Node) int {
	found := 0
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Kind() == ast.KindCodeSpan {
			return ast.WalkSkipChildren, nil
		}
		if entering && n.Kind() == ast.KindText {
			found++
		}
		return ast.WalkContinue, nil
	})
	return found
}
