package jobs

import (
	"fmt"
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
