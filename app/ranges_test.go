package app

import (
	"net/url"
	"strings"
	"testing"
)

// TestARangeThatEndsBeforeItBeginsIsSaid, keeps what was typed, and leads to the list with the two times swapped.
func TestARangeThatEndsBeforeItBeginsIsSaid(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := open(t, start(t, o)).mustLogin()
		const early, late = "2026-11-25T12:00", "2026-11-26T12:00"
		for list, more := range map[string]string{"/runs": "", "/audit": "", "/runs/search": "&group=1&q=done"} {
			address := func(from, to string) string {
				return list + "?" + url.Values{"range": {"custom"}, "from": {from}, "to": {to}}.Encode() + more
			}
			page := b.get(address(late, early)).document(t)
			if text := page.Find("main .empty").Text(); !strings.Contains(text, "The range ends before it begins") {
				t.Errorf("%s says %q", list, text)
			}
			if from, to := page.Find("input[name=from]").AttrOr("value", ""), page.Find("input[name=to]").AttrOr("value", ""); from != late || to != early {
				t.Errorf("%s keeps %s and %s", list, from, to)
			}
			page = b.get(page.Find("main .empty a").AttrOr("href", "")).document(t)
			if from, to := page.Find("input[name=from]").AttrOr("value", ""), page.Find("input[name=to]").AttrOr("value", ""); from != early || to != late {
				t.Errorf("%s swapped: %s and %s", list, from, to)
			}
			for _, right := range []string{address(early, late), address(early, early), address(late, "")} {
				if text := b.get(right).document(t).Find("main").Text(); strings.Contains(text, "ends before") {
					t.Errorf("%s: %q", right, text)
				}
			}
		}
	})
}
