package ui

import (
	"strings"
	"testing"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/static"
)

// TestDifferencesBringTheirSheet: they stand in the forms of many pages, none of which loads what is seldom seen.
func TestDifferencesBringTheirSheet(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	p := locales.New().Printer("en")
	if err := Differences(p, []Differing{{Label: "Name", Theirs: "a", Mine: "b"}}).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), static.URL("rare.css")) {
		t.Errorf("no sheet in %s", b.String())
	}
}
