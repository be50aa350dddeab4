package note

import (
	"slices"
	"strings"
	"testing"
)

// counted is a Printer that counts what it is asked for.
type counted struct{ n int }

func (c *counted) T(key string, _ ...any) string {
	c.n++
	return key
}

// A run's message comes from its executor: 60 kB of one sentence within another took 20 s, each time somebody looked at it.
func TestSentencesWithinSentencesEnd(t *testing.T) {
	t.Parallel()
	for _, s := range slices.Concat(Sentences, executorSentences, callSentences, []Sentence{{Format: "500 %s"}}) {
		before, _, quotes := strings.Cut(s.Format, "%s")
		if !quotes || before == "" {
			continue
		}
		text := strings.Repeat(before, 60_000/len(before)) + "x"
		for name, said := range map[string]func(Printer, string) string{"Said": Said} {
			if c := new(counted); said(c, text) == "" || c.n > 20 {
				t.Errorf("%s of %q, which goes on: %d sentences", name, before, c.n)
			}
		}
	}
}

func FuzzSaid(f *testing.F) {
	for _, s := range slices.Concat(Sentences, executorSentences, callSentences) {
		f.Add(s.Format)
	}
	f.Add("500 result lost: discarded: a\nops@example.com: send mail: EOF")
	f.Fuzz(func(t *testing.T, text string) {
		for name, said := range map[string]func(Printer, string) string{"Said": Said} {
			c := new(counted)
			if got := said(c, text); c.n == 0 && got != text {
				t.Errorf("%s of %q, which is no sentence: %q", name, text, got)
			}
		}
	})
}
