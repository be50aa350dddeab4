package jobs

import (
	"strings"
	"testing"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/views/layout"
)

// TestSentencesFollowOneAnother as they do in the reader's language: a full stop of Chinese has its own space.
func TestSentencesFollowOneAnother(t *testing.T) {
	t.Parallel()
	for lang, joined := range map[string]string{locales.English: "a. b. c.", locales.Chinese: "a。b。c。", locales.Traditional: "a。b。c。"} {
		words := locales.New().Printer(lang)
		stop := strings.TrimLeft(joined, "a")[:len(strings.Split(joined, "b")[0])-1]
		var uses []string
		for _, name := range []string{"a", "b", "c"} {
			uses = append(uses, name+strings.TrimSpace(stop))
		}
		if got := (BulkPage{Page: layout.Page{Printer: words}}).sentences(uses); got != joined {
			t.Errorf("%s: %q, not %q", lang, got, joined)
		}
		var page strings.Builder
		if err := kept(words, Kept{Source: "git/jobs"}).Render(t.Context(), &page); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.String(), stop+words.T("jobs.kept.text")) {
			t.Errorf("%s: %s", lang, page.String())
		}
	}
}
