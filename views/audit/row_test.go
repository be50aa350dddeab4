package audit

import (
	"strings"
	"testing"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/views/layout"
)

// TestWhatNobodyDidHasNoBlank: an executor that registers an address by itself is nobody's doing.
func TestWhatNobodyDidHasNoBlank(t *testing.T) {
	t.Parallel()
	for user, want := range map[string]string{"": ">–</td>", "ana": ">ana</td>"} {
		var b strings.Builder
		p := ListPage{Page: layout.Page{Printer: locales.New().Printer(locales.English)}}
		if err := row(p, Row{ID: 7, User: user, Action: "register", Name: "http://10.0.0.1:9999/"}).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q: %s", user, b.String())
		}
	}
}
