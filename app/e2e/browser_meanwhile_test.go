package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/views/link"
)

// TestBrowserMeanwhile has things change while somebody works on a page: its clock, the run that it shows, the rows of a list, the form that
// is being filled in.
func TestBrowserMeanwhile(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	slow := n.job("Settle", countdown)
	for _, c := range []struct {
		name  string
		story func(n *night, slow int64)
	}{
		{"a wrong clock", (*night).hasAWrongClock},
		{"two trials", (*night).triesTwice},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := *n
			own.window = newWindow(t, n.admin.url, desk)
			own.enter(n.session)
			c.story(&own, slow)
		})
	}
	n.admin.noPanic(t)
}

// before runs a script in every page before its own.
func (w *window) before(script string) {
	w.do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
		return err
	}))
}

// hasAWrongClock looks at times in a browser whose clock is two hours ahead, and then is set right. The time beside the list is one that no
// answer draws anew.
func (n *night) hasAWrongClock(slow int64) {
	n.before(`{ const now = Date.now; Date.now = () => now() + (window.right ? 0 : 7200000); }`)
	n.run(slow, "")
	const told = `/^(now|\d+ (s|min) ago)$/.test(time.textContent)`
	for _, path := range []string{"/runs", "/jobs"} {
		n.visit(path)
		n.do(chromedp.Evaluate(`window.time = document.querySelector("tbody time[data-relative]").cloneNode(); document.body.append(time)`, nil), holds(`time.textContent`), holds(told))
	}
	n.do(chromedp.Evaluate(`window.right = true`, nil), holds(`/^in 1 h/.test(time.textContent) || `+told),
		chromedp.Evaluate(`document.dispatchEvent(new Event("visibilitychange"))`, nil), holds(told))
}

// triesTwice tries a script while its first trial goes on: what is shown is the second, and nothing listens to the first any more.
func (n *night) triesTwice(slow int64) {
	n.before(`{ const Source = window.EventSource; window.sources = []; window.EventSource = class extends Source { constructor(...all) { super(...all); sources.push(this); } }; }`)
	const shown = `document.querySelector("#run-badge a").pathname`
	n.visit(link.JobGlue(slow))
	n.do(click(".glue-run button"), holds(`window.sources.length === 1 && document.querySelectorAll("#glue-output li").length > 100`), chromedp.Evaluate(`window.first = `+shown, nil),
		click(".glue-run button"), holds(shown+` !== window.first && document.querySelectorAll("#glue-output li").length > 100`),
		holds(shown+` !== window.first && sources[0].readyState === 2 && sources.at(-1).readyState === 1`))
}
