package flows

import (
	"io"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/locales"
)

// TestWhatIsWrongWithAStepIsSeenInTheList: who reads the list in place of the picture knows it by more than a colour.
func TestWhatIsWrongWithAStepIsSeenInTheList(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	go func() {
		w.CloseWithError(List(locales.New().Printer(locales.English), Graph{Nodes: []Node{{ID: "a", Title: "Load"}, {ID: "b", Title: "Sum", Wrong: "There is no step c."}}}).Render(t.Context(), w))
	}()
	doc, err := goquery.NewDocumentFromReader(r)
	if err != nil {
		t.Fatal(err)
	}
	if fault := doc.Find("li:has(.flow-form-fault)"); fault.Length() != 1 || fault.Find(".flow-form-fault .icon").Length() != 1 {
		t.Errorf("of two steps, of which one is wrong: %d", fault.Length())
	}
}
