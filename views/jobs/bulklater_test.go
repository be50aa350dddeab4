package jobs

import (
	"strings"
	"testing"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/views/layout"
)

// TestWhatIsDoneLaterIsNoFailure: of many runs that are ended, one whose wish is on record stands by itself, also when it comes through a form
// that carries what became of the parts before.
func TestWhatIsDoneLaterIsNoFailure(t *testing.T) {
	t.Parallel()
	p := BulkPage{Page: layout.Page{Printer: locales.New().Printer(locales.English)}, Do: deedKill, Items: []BulkItem{{ID: 7, Name: "a", Changes: true}, {ID: 8, Name: "b", Later: "it is asked again"}, {ID: 9, Name: "c", Problem: "it refused"}}}
	p.GoOn(nil, nil, false)
	told, ok := ReadTold(writeTold(p.Told))
	if !ok {
		t.Fatal("what is told cannot be read")
	}
	p.Items = nil
	p.GoOn(told, nil, false)
	var page strings.Builder
	if err := BulkDone(p).Render(t.Context(), &page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	later, left := strings.Index(text, "Done as soon as possible:"), strings.Index(text, "Left as they are:")
	if p.Count != 1 || later < 0 || left < later || !strings.Contains(text[later:left], "it is asked again") || strings.Contains(text[later:left], "it refused") || strings.Count(text, `<li class="bad">`) != 1 || strings.Count(text, `<li class="later">`) != 1 {
		t.Errorf("%d are ended, and the page says\n%s", p.Count, text)
	}
}

// TestProgressIsCounted: one job is no jobs.
func TestProgressIsCounted(t *testing.T) {
	t.Parallel()
	for do, want := range map[string]string{"start": "0 of 1 job<", deedKill: "0 of 1 run<"} {
		p := BulkPage{Page: layout.Page{Printer: locales.New().Printer(locales.English)}, Do: do, All: true, Rest: []Marked{{ID: 7}}}
		var page strings.Builder
		if err := BulkGoesOn(p).Render(t.Context(), &page); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.String(), want) {
			t.Errorf("%s: no %q in\n%s", do, want, page.String())
		}
	}
}
