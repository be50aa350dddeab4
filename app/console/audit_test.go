package console

import (
	"testing"

	"github.com/punctual-job/punctual/app/manage"
)

// TestWhatIsDoneToARunIsNoClearing: an entry about one run, such as that a step was approved, leads to that run.
func TestWhatIsDoneToARunIsNoClearing(t *testing.T) {
	t.Parallel()
	for _, a := range manage.Actions() {
		want := a == manage.ActionClear || a == manage.ActionStop
		if got := isClearing(manage.ObjectRun, string(a)); got != want {
			t.Errorf("%s of runs is a clearing: %t", a, got)
		}
	}
}
