package jobs

import (
	"strings"
	"testing"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/views/layout"
)

// What can be done to nothing is no question: the reasons are what there is to read.
func TestABulkDeedForNothingAsksNothing(t *testing.T) {
	t.Parallel()
	for do, asks := range map[string]string{"start": "Start 0 jobs?", deedKill: "Kill 0 runs?", deedRerun: "Run 0 runs again?", "delete": "Delete 0 jobs?"} {
		p := BulkPage{Page: layout.Page{Printer: locales.New().Printer(locales.English)}, Do: do, Items: []BulkItem{{ID: 7, Name: "Nightly", Problem: "It has ended."}}}
		var b strings.Builder
		if err := Bulk(p).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), asks) || !strings.Contains(b.String(), p.T("jobs.bulk.none")) || !strings.Contains(b.String(), "It has ended.") || !strings.Contains(b.String(), "disabled") {
			t.Errorf("%s: it asks %q, or does not say why not:\n%s", do, asks, b.String())
		}
	}
}
