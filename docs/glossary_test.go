package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
)

// terms reads the table of a glossary: English, Chinese.
func terms(t *testing.T, name string) [][2]string {
	t.Helper()
	f := readFile(t, name)
	var all [][2]string
	_ = ast.Walk(f.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Kind() == tables.KindTableRow {
			first := n.FirstChild()
			all = append(all, [2]string{plain(first, f.src), plain(first.NextSibling(), f.src)})
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
	en, zh := messages(English), messages(Chinese)
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
			if held++; !strings.Contains(zh[key], term[1]) {
				t.Errorf("%s: %q is %q, without %s", key, text, zh[key], term[1])
			}
		}
	}
	if held < 60 {
		t.Errorf("%d texts were held to the glossary; the search misses some", held)
	}
}
