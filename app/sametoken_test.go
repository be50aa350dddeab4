package app

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestATokenIsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		u := newUntouched(t, o, "punctual_api_token")
		often(t, func(r *rapid.T) bool {
			sent := map[string]any{"name": oddLine(40).Draw(r, "name"), "scope": rapid.SliceOfN(rapid.SampledFrom([]string{"run", "view", "edit"}), 1, 3).Draw(r, "scope")}
			if rapid.Bool().Draw(r, "for a group") {
				sent["group_ids"] = []int{1}
			}
			maybe(r, sent, "days", anyOf(0, 1, 90, 3660))
			p, ok := u.make(r, "POST", "/tokens", sent)
			if !ok {
				return false
			}
			defer p.delete()
			life := 90
			if days, said := sent["days"]; said {
				life = days.(int)
			}
			switch ends, ok := p.was["expires_at"].(string); {
			case !ok && life != 0:
				r.Fatalf("it never ends\nof %s", p.sent)
			case ok:
				at, err := time.Parse(time.RFC3339, ends)
				if days := time.Until(at).Hours() / 24; err != nil || life == 0 || days < float64(life)-1 || days > float64(life)+1 {
					r.Fatalf("it ends at %s\nof %s", ends, p.sent)
				}
			}
			groups := 0
			if sent["group_ids"] != nil {
				groups = 1
			}
			if got := p.was["group_ids"].([]any); len(got) != groups {
				r.Fatalf("it is for %v\nof %s", got, p.sent)
			}
			if page := u.root.get("/tokens").document(t).Find("td.title-cell .title, td.title-cell").Text(); !strings.Contains(page, strings.Join(strings.Fields(p.was["name"].(string)), " ")) && !strings.Contains(page, p.was["name"].(string)) {
				r.Fatalf("the page says %q\nof %s", page, p.sent)
			}
			return true
		})
	})
}
