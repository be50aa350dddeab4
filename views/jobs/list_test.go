package jobs

import (
	"testing"

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
