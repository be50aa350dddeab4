package document

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDocumentsAreWrittenAsByTheLibrary in every byte.
func TestDocumentsAreWrittenAsByTheLibrary(t *testing.T) {
	t.Parallel()
	texts := []string{"", "a", "close the day", "对账", "yes", "null", "12", "0x1", "- a", "a: b", "# no", "a\nb", "a\n\nb\n", "a\n  b", " a", "a ", "\ta", "'", "\"", "a\x00b", "~", "2026-03-04", "!!str a", "é\n\n", "yes\n", strings.Repeat("long: text ", 50) + ".", strings.Repeat("对账", 200),
		"0 46 0 * * ?", "0 0/5 8-18 * * ?", "12 7", "1 ?", "2026-03-04 5", "1_000 a", "0x1 b", "1e3", "region=Shanghai;size=1", "a,b", "a?", "a*", "7,8"}
	odd := []rune("aZ对é😀0 \t\r\n.-:#,?!&*|>%@`'\"\\[]{}=~<\u0085\u00a0\u00ad\u0301\u200b\u2028\ue000\ufeff\ufffd")
	plain := []rune("0159 *?,;/-=._aeExT")
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 1))
		var grow func(depth int) Node
		grow = func(depth int) Node {
			n := Node{Kind: Kind(random.IntN(4))}
			if depth == 0 {
				n.Kind = Scalar
			} else if depth == 5 {
				n.Kind = Kind(2 + random.IntN(2))
			}
			switch n.Kind {
			case List, Mapping:
				for i := range random.IntN(6) {
					if n.Kind == Mapping {
						n.Keys = append(n.Keys, Node{Kind: Scalar, Text: []string{"a", "日", "is key", "on", "7", "x.y_z", "t:"}[i]})
					}
					n.Items = append(n.Items, grow(depth-1))
				}
			case Nothing, Scalar:
				n.Text = texts[random.IntN(len(texts))]
				if random.IntN(2) == 0 {
					n.Text = ""
					letters := [][]rune{odd, plain}[random.IntN(2)]
					for range random.IntN(9) {
						n.Text += string(letters[random.IntN(len(letters))])
					}
				}
				if random.IntN(4) == 0 {
					n.Plain, n.Text = true, "42"
				}
			}
			return n
		}
		tree := grow(5)
		var whole bytes.Buffer
		encoder := yaml.NewEncoder(&whole)
		encoder.SetIndent(2)
		if err := encoder.Encode(toYAML(tree)); err != nil {
			t.Fatal(err)
		}
		if err := encoder.Close(); err != nil {
			t.Fatal(err)
		}
		var ours bytes.Buffer
		if err := writeYAML(&ours, tree); err != nil || ours.String() != whole.String() {
			t.Fatalf("seed %d: %v\n%s\nwant\n%s", seed, err, ours.String(), whole.String())
		}
	}
}
