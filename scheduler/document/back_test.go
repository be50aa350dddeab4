package document

import (
	"math/rand/v2"
	"testing"
)

// TestWhatIsWrittenReadsAsItWas in both formats: an export that cannot be read, or says something else, is no export.
func TestWhatIsWrittenReadsAsItWas(t *testing.T) {
	t.Parallel()
	texts := []string{"\ttab\n", "\ttab\n\tmore\n", "if true; then\n\techo\nfi\n", "a\n\t\n", "\t\n"}
	odd := []rune("aé对😀0 \t\n\n\r.-:#|>'\"\\~\u0085\u00a0\u2028\ufeff")
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		text := ""
		for range 1 + random.IntN(9) {
			text += string(odd[random.IntN(len(odd))])
		}
		texts = append(texts, text)
	}
	for _, text := range texts {
		for _, format := range []Format{YAML, JSON} {
			var inner, tree Node
			inner.Kind, tree.Kind = Mapping, Mapping
			inner.AddText("script", text)
			inner.AddText("after", "it")
			tree.Add("jobs", Node{Kind: List, Items: []Node{inner}})
			written, err := Write(tree, format, "# head\n")
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			got, fault := Read(written, 1<<20)
			if fault != nil {
				t.Fatalf("%q is written as\n%s\nwhich line %d of is not read: %s %v", text, written, fault.Line, fault.Key, fault.Args)
			}
			if back := got.Items[0].Items[0].Items[0].Text; back != text {
				t.Fatalf("%q comes back as %q from\n%s", text, back, written)
			}
		}
	}
}
