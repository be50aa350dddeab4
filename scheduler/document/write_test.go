package document

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDocumentsAreWrittenAsByTheLibrary in every byte: what is written of a node at once, and what writer does.
func TestDocumentsAreWrittenAsByTheLibrary(t *testing.T) {
	t.Parallel()
	texts := []string{"", "a", "close the day", "对账", "𠮷野家", "😀", "a\n🚀 b\n", "yes", "null", "12", "0x1", "- a", "a: b", "# no", "a\nb", "a\n\nb\n", "a\n  b", " a", "a ", "\ta", "'", "\"", "a\x00b", "~", "2026-03-04", "!!str a", "é\n\n", "yes\n", strings.Repeat("long: text ", 50) + ".", strings.Repeat("对账", 200),
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
		if err := EncodeYAML(&whole, toYAML(tree)); err != nil {
			t.Fatal(err)
		}
		var ours bytes.Buffer
		if err := writeYAML(&ours, tree); err != nil || ours.String() != whole.String() {
			t.Fatalf("seed %d: %v\n%s\nwant\n%s", seed, err, ours.String(), whole.String())
		}
	}
}

// TestCharactersBeyondTheBasicPlaneStayReadable, and all others are written as the library writes them. What is written reads as it was.
func TestCharactersBeyondTheBasicPlaneStayReadable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"😀":                           "😀\n",
		"对账 𠮷 🚀":                      "对账 𠮷 🚀\n",
		"a: 😀":                        "'a: 😀'\n",
		"echo 🚀\nexit 0\n":            "|\n  echo 🚀\n  exit 0\n",
		" 👩\u200d💻":                   "\" 👩\u200d💻\"\n",
		`\U0001F600 😀`:                `\U0001F600 😀` + "\n",
		"\ue000 \ue001😀\U00020000":    "\"\ue000 \ue001😀\U00020000\"\n",
		"\ufeff😀":                     `"\uFEFF\U0001F600"` + "\n",
		"a\U000e0067\U000f0000":       `"a\U000E0067\U000F0000"` + "\n", // invisible, and private
		"\u65e5\u672c \u0e01\u0301 é": "\u65e5\u672c \u0e01\u0301 é\n",
	} {
		var out bytes.Buffer
		n := toYAML(Node{Kind: Scalar, Text: text})
		if err := EncodeYAML(&out, n); err != nil || out.String() != want || n.Value != text {
			t.Errorf("%q is written %v as\n%q, not\n%q", text, err, out.String(), want)
		}
		var back string
		if err := yaml.Unmarshal(out.Bytes(), &back); err != nil || back != text {
			t.Errorf("%q reads %v as %q", text, err, back)
		}
	}
	t.Run("more of them than there are private characters", func(t *testing.T) {
		t.Parallel()
		var all strings.Builder
		for r := rune(0x20000); r < 0x20000+7000; r++ {
			all.WriteRune(r)
		}
		var out bytes.Buffer
		var back string
		if err := EncodeYAML(&out, toYAML(Node{Kind: Scalar, Text: all.String()})); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(out.Bytes(), &back); err != nil || back != all.String() || !strings.Contains(out.String(), "\U00020000") {
			t.Errorf("reads %v as %d characters", err, len([]rune(back)))
		}
	})
}
