package flow

import (
	"fmt"
	"strings"
	"testing"
)

func TestDifferencesOfTwoFlows(t *testing.T) {
	t.Parallel()
	const before = "steps:\n  - {id: a, job: 1}\n  - {id: gone, needs: a, job: 2}\n  - {id: b, needs: [gone], job: 3, retries: 2}\n  - {id: last, needs: b, wait: {seconds: 5}}\n"
	const after = "on_failure: continue\nsteps:\n  - id: new\n    job: 9\n  - {id: b, needs: a, if: always(), job: 3, retries: 2}\n  - id: a # as it was\n    job: 1\n"
	read := func(text string) *Definition {
		d, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	told := func(a, b string) string {
		var words []string
		for _, d := range Differences(read(a), read(b)) {
			words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s %s", d.ID, d.Change, strings.Join(d.Fields, ","))))
		}
		return strings.Join(words, "; ")
	}
	if got, want := told(before, after), "new added; b changed needs,if; last removed; a; gone removed"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := told(after, after), "new; b; a"; got != want {
		t.Errorf("the same: %s", got)
	}
	if got, want := told("steps: []", "steps:\n  - {id: a, job: 1}\n"), "a added"; got != want {
		t.Errorf("from nothing: %s", got)
	}
}
