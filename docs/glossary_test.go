package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
)

// terms reads the table of a glossary: English, Chinese, Traditional Chinese.
func terms(t *testing.T, name string) [][3]string {
	t.Helper()
	f := readFile(t, name)
	var all [][3]string
	_ = ast.Walk(f.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Kind() == tables.KindTableRow {
			first := n.FirstChild()
			second := first.NextSibling()
			all = append(all, [3]string{plain(first, f.src), plain(second, f.src), plain(second.NextSibling(), f.src)})
		}
		return ast.WalkContinue, nil
	})
	return all
}

// TestTheConsoleUsesTheGlossary holds the Chinese texts of the console to the terms: a term of several words wherever the English text has it,
// one of a single word, which English uses for other things too, where it is the whole text.
func TestTheConsoleUsesTheGlossary(t *testing.T) {
	t.Parallel()
	messages := func(lang string) map[string]string {
		raw, err := os.ReadFile(filepath.Join(root, "locales", lang+".json"))
		if err != nil {
			t.Fatal(err)
		}
		all, flat := make(map[string]any), make(map[string]string)
		if err := json.Unmarshal(raw, &all); err != nil {
			t.Fatal(err)
		}
		for key, message := range all {
			if text, ok := message.(string); ok { // those with plural forms count things
				flat[key] = text
			}
		}
		return flat
	}
	en, others := messages(English), []map[string]string{messages(Chinese), messages("zh-TW")}
	english := terms(t, "docs/glossary.md")
	chinese := terms(t, "docs/zh-CN/glossary.md")
	if len(english) < 20 || len(english) != len(chinese) {
		t.Fatalf("%d terms in English, %d in Chinese", len(english), len(chinese))
	}
	held := 0
	for i, term := range english {
		if chinese[i] != term {
			t.Errorf("the glossaries have %v and %v", term, chinese[i])
		}
		if term[0] == "run" { // more often a verb, and the list of them keeps XXL-JOB's name
			continue
		}
		said := `\b` + regexp.QuoteMeta(term[0]) + `s?\b`
		if !strings.Contains(term[0], " ") {
			said = `^` + regexp.QuoteMeta(term[0]) + `s?$`
		}
		pattern := regexp.MustCompile(`(?i)` + said)
		for key, text := range en {
			if !pattern.MatchString(text) {
				continue
			}
			held++
			for i, other := range others {
				if !strings.Contains(other[key], term[i+1]) {
					t.Errorf("%s: %q is %q, without %s", key, text, other[key], term[i+1])
				}
			}
		}
	}
	if held < 60 {
		t.Errorf("%d texts were held to the glossary; the search misses some", held)
	}
}

// TestTheChineseManualHasOneWordForAThing: words that stand for another of the glossary, or for two things at once (处理器 is a CPU and
// a handler), and punctuation as Chinese has it. A flow of OAuth (授权码流程) is none of ours. Code is not looked at.
func TestTheChineseManualHasOneWordForAThing(t *testing.T) {
	t.Parallel()
	code := regexp.MustCompile("`[^`]*`")
	target := regexp.MustCompile(`\]\([^)]*\)`)
	cells := regexp.MustCompile(`\s*\|\s*`)
	faults := regexp.MustCompile(`[。；，：？！、）」] [^ ]|\p{Han}(?:[,;:!?](?: |$)|[,;!?]\p{Han})|\([^()]*\p{Han}[^()]*\)|你|渠道|处理器|回填|报警|分组|执行器组|(?:^|[^码])流程`)
	quoted := []string{"监控报警"} // what others write
	pages, err := filepath.Glob(filepath.Join(root, "docs", Chinese, "*.md"))
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.zh-CN.md")) {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		inCode := false
		for i, line := range strings.Split(string(raw), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				inCode = !inCode
			}
			if inCode {
				continue
			}
			text := cells.ReplaceAllString(target.ReplaceAllString(code.ReplaceAllString(line, "`x`"), "]"), "|")
			if at := faults.FindString(text); at != "" && !slices.ContainsFunc(quoted, func(q string) bool { return strings.Contains(text, q) }) {
				t.Errorf("%s:%d has %q: %s", filepath.Base(page), i+1, at, line)
			}
		}
	}
}
