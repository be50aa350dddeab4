package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// sleeper is a page of a machine that can be sent to sleep: sleep() is a minute later, all timers are due at once, and before anything that
// came meanwhile is heard, as when a lid is opened again. Questions asked after hold() come to nothing with it.
const sleeper = `(() => {
	const timers = new Map(), later = setTimeout, never = clearTimeout, clock = Date.now, ask = fetch, Source = EventSource;
	let slept = 0, held = false, woken = [];
	window.lost = window.opened = window.answered = window.waits = 0;
	Date.now = () => clock() + slept;
	window.setTimeout = (what, ms, ...args) => {
		const done = () => (timers.delete(id), never(id), what(...args));
		const id = later(done, ms);
		timers.set(id, done);
		return id;
	};
	window.clearTimeout = (id) => (timers.delete(id), never(id));
	window.fetch = async (...args) => {
		if (held) return new Promise((_, fail) => (window.waits++, woken.push(() => fail(new DOMException("", "TimeoutError")))));
		const answer = await ask(...args);
		window.answered++;
		return answer;
	};
	window.EventSource = class extends Source {
		constructor(address) {
			super(address);
			this.addEventListener("open", () => window.opened++);
		}
	};
	new MutationObserver(() => document.documentElement.dataset.live === "lost" && window.lost++).observe(document, { subtree: true, attributeFilter: ["data-live"] });
	window.hold = () => (held = true);
	window.sleep = () => {
		held = false;
		slept += 60000;
		for (const fail of woken) fail();
		for (const due of [...timers.values()]) due();
		window.opened = window.answered = 0;
	};
})()`

// TestBrowserWakes opens the lid of a laptop: what the page shows is old then for the moment that its next question takes, but nothing is lost.
func TestBrowserWakes(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	run := n.run(n.job("Settle", countdown), "")
	n.do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(sleeper).Do(ctx)
		return err
	}))
	for path, steps := range map[string]chromedp.Action{
		"/runs": holds(`window.opened`),
		run:     holds(`window.opened`),
		"/":     chromedp.Tasks{holds(`window.answered`), chromedp.Evaluate(`hold()`, nil), holds(`window.waits`)},
	} {
		n.visit(path)
		var lost int
		n.do(holds(pageIs+`"live"`), steps, chromedp.Evaluate(`sleep()`, nil), holds(`window.opened || window.answered`), holds(pageIs+`"live"`), chromedp.Evaluate(`window.lost`, &lost))
		if lost > 0 {
			t.Errorf("%s: calls itself lost when the machine wakes", path)
		}
	}
}
