package jobs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
)

func TestOnlyThisYearIsLeftOut(t *testing.T) {
	t.Parallel()
	p := layout.Page{Drawn: "2026-11-27T21:00:00.000+08:00"}
	for at, want := range map[string]string{"": "", "2026-12-31 23:30:00": "12-31 23:30:00", "2027-12-31 23:30:00": "2027-12-31 23:30"} {
		if got := shortTime(p, format.Time{Absolute: at}); got != want {
			t.Errorf("%q: got %q, want %q", at, got, want)
		}
	}
}

func TestARowOfManyTagsStaysLow(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{0: 0, 6: 6, 7: 7, 50: 7} { // the last leads to the others
		r := Row{ID: 5, Name: "Nightly"}
		for i := range n {
			r.Tags = append(r.Tags, fmt.Sprintf("tag-%d", i))
		}
		var b strings.Builder
		if err := row(layout.Page{Printer: locales.New().Printer(locales.English)}, r).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), `class="tag" href`); got != want {
			t.Errorf("%d tags: got %d in the row, want %d", n, got, want)
		}
		if n == 50 && !(strings.Contains(b.String(), `>44 more</a>`) && strings.Contains(b.String(), "tag-49")) {
			t.Errorf("the others are not named:\n%s", b.String())
		}
	}
}

// TestARowOfLongTagsStaysLow: how many a row shows goes by their length, too, and one it always does.
func TestARowOfLongTagsStaysLow(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]int{"night": 6, "settlement-run": 5, strings.Repeat("x", 40): 2, strings.Repeat("x", 41): 1, strings.Repeat("对", 20): 2, strings.Repeat("对", 21): 1, strings.Repeat("x", 200): 1} {
		r := Row{Tags: slices.Repeat([]string{tag}, 8)}
		if shown, others := r.tagsInRow(); len(shown) != want || len(others) != 8-want {
			t.Errorf("of tags such as %s %d are shown and %d are not, want %d", tag, len(shown), len(others), want)
		}
	}
	if shown, others := (Row{}).tagsInRow(); len(shown)+len(others) > 0 {
		t.Errorf("no tags: %v, %v", shown, others)
	}
}
