package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/views/alarms"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/webhooks"
)

// cable is the way between a browser and an admin, which can be cut.
type cable struct {
	url string
	to  string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

func newCable(t *testing.T, origin string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{url: "http://" + l.Addr().String(), to: strings.TrimPrefix(origin, "http://"), conns: make(map[net.Conn]bool)}
	var pipes sync.WaitGroup
	pipes.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			pipes.Go(func() { c.carry(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		c.set(true)
		pipes.Wait()
	})
	return c
}

// carry takes a connection through, unless the wire is cut.
func (c *cable) carry(conn net.Conn) {
	there, err := net.Dial("tcp", c.to)
	if err != nil {
		_ = conn.Close()
		return
	}
	c.mu.Lock()
	if c.cut {
		c.mu.Unlock()
		_, _ = conn.Close(), there.Close()
		return
	}
	c.conns[conn], c.conns[there] = true, true
	c.mu.Unlock()
	var ways sync.WaitGroup
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_, _ = to.Close(), from.Close()
	}
	ways.Go(func() { pipe(there, conn) })
	ways.Go(func() { pipe(conn, there) })
	ways.Wait()
	c.mu.Lock()
	delete(c.conns, conn)
	delete(c.conns, there)
	c.mu.Unlock()
}

// set cuts the wire, or mends it.
func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	if cut {
		for conn := range c.conns {
			_ = conn.Close()
		}
	}
}

const (
	pageIs   = `document.documentElement.dataset.live === `
	liveMark = `document.querySelector("[data-live-mark]")`
	// shownColor is the colour of what refreshes itself.
	shownColor = `getComputedStyle(document.querySelector("[data-live-every], [data-live-runs], .run-head")).color`
)

// TestBrowserSaysWhatItKnows cuts every page that refreshes itself off from the admin, and ends its session: the page says so
// and since when, keeps to what it knew, and goes on by itself.
func TestBrowserSaysWhatItKnows(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	way := newCable(t, n.admin.url)
	n.window = newWindow(t, way.url, desk)
	n.enter(n.session)
	n.expect("ERR_", "401")
	beat := n.schedule("Heartbeat", "echo alive", url.Values{jobs.FieldScheduleType: {"FIX_RATE"}, jobs.FieldSeconds: {"1800"}})
	n.must(t, link.JobStart(beat), nil)
	run := n.run(n.job("Settle", countdown), "")
	channel := n.must(t, link.AlarmsPath, mailChannel(n.group)).Get("Location")
	if code, body, _ := n.post(t, link.WebhooksPath, url.Values{webhooks.FieldName: {"Hub"}, webhooks.FieldURL: {"http://127.0.0.1:1/"}, webhooks.FieldTypes: {"punctual.job.created"}}); code != http.StatusOK {
		t.Fatalf("a webhook: %d\n%s", code, body)
	}
	_, body := n.get(t, link.WebhooksPath)
	hook := link.Webhook(lastID(t, body, link.WebhooksPath+`/(\d+)"`), "taken", 0)

	for _, path := range []string{"/", "/jobs", link.Job(beat), "/runs", "/nodes", link.WallPath, link.ForecastPath, link.TimelinePath, link.AlarmsOpenPath, link.ExecutorsPath, link.Executor(n.group), run, link.AlarmsPath, channel, link.WebhooksPath, hook} {
		n.visit(path)
		n.do(holds(pageIs+`"live" && `+liveMark+`.checkVisibility() && `+liveMark+`.innerText.trim() === "Live"`),
			chromedp.Evaluate(`window.same = true; window.color = `+shownColor, nil))
		way.set(true)
		n.do(seenAgain(), holds(`document.dispatchEvent(new Event("visibilitychange")) && `+pageIs+`"lost"`),
			holds(`/^Connection lost · as of\s+(now|\d+ (s|min) ago)$/.test(`+liveMark+`.innerText.trim())`),
			holds(shownColor+` !== window.color && getComputedStyle(`+liveMark+`).color !== `+shownColor))
		way.set(false)
		n.do(holds(`document.dispatchEvent(new Event("visibilitychange")) && `+pageIs+`"live" && window.same`), holds(liveMark+`.innerText.trim() === "Live"`))

		n.do(network.ClearBrowserCookies())
		if strings.HasPrefix(path, "/runs") {
			way.set(true) // a stream asks for the session every few seconds, and at once when it is opened
			way.set(false)
		}
		n.do(holds(`document.dispatchEvent(new Event("visibilitychange")) && `+pageIs+`"ended" && window.same`),
			holds(fmt.Sprintf(`/^Session ended · as of/.test(%s.innerText) && %s.querySelector("a").checkVisibility() && %s.querySelector("a").search === "?next=%s"`, liveMark, liveMark, liveMark, url.QueryEscape(path))))
		n.enter(n.session)
		n.do(holds(`document.dispatchEvent(new Event("visibilitychange")) && ` + pageIs + `"live" && window.same`))
	}
	n.keepsToTimes(way, beat)
	n.sendsFilterAgain(way)
	n.knowsWhatIsGone(beat)
	n.admin.noPanic(t)
}

// mailChannel is a channel of an executor group by a mail server that is not there.
func mailChannel(group int64) url.Values {
	return url.Values{
		alarms.FieldKind: {"mail"}, alarms.FieldName: {"Night shift"}, alarms.FieldGroup: {fmt.Sprint(group)}, alarms.FieldEnabled: {"1"}, alarms.FieldHost: {"127.0.0.1"},
		alarms.FieldPort: {"1"}, alarms.FieldSecurity: {"none"}, alarms.FieldFrom: {"punctual@example.com"}, alarms.FieldRecipients: {"ops@example.com"}, alarms.FieldQuietMode: {"queue"},
	}
}

// TestBrowserKeepsATestOfAnAlarm has the page of a channel draw itself anew while somebody types where a test goes, and while its answer is read.
func TestBrowserKeepsATestOfAnAlarm(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	n.before(`{ window.rounds = 0; const ask = window.fetch; window.fetch = async (...all) => { const answer = await ask(...all); rounds += String(all[0]).includes("/alarms/"); return answer; }; }`)
	channel := n.must(t, link.AlarmsPath, mailChannel(n.group)).Get("Location")
	const (
		field = `document.querySelector("#to")`
		again = `document.dispatchEvent(new Event("visibilitychange")) && rounds > seen + 1`
	)
	n.visit(channel)
	n.do(holds(pageIs+`"live"`), write("#to", "me@example.com"), chromedp.Evaluate(`window.seen = rounds; window.typed = `+field, nil),
		holds(again), holds(`typed.isConnected && typed.value === "me@example.com" && document.activeElement === typed`))
	n.do(click("#test-button"), holds(`document.querySelector("#test [role=status] .notice.warning") && document.querySelector("#test .badge.failed")`), chromedp.Evaluate(`window.seen = rounds`, nil), holds(again),
		holds(`document.querySelector("#test [role=status] .notice.warning") && `+field+`.value === "me@example.com"`),
		// Why it failed is said once.
		holds(`document.querySelector("#test").innerText.split("refused").length === 2`))
	n.admin.noPanic(t)
}

// TestBrowserStaysEnded leaves a page open whose part is drawn anew so seldom that it asks between whether the admin is there. That it is
// changes nothing for somebody whose session has ended.
func TestBrowserStaysEnded(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	n.passes()
	n.expect("401")
	n.visit(link.AlarmsOpenPath)
	n.do(holds(pageIs+`"live"`), network.ClearBrowserCookies(), holds(`pass(1) && `+pageIs+`"ended"`))
	for range 12 {
		var now string
		if n.do(chromedp.Evaluate(`pass(1)`, &now, awaited)); now != "ended" {
			t.Fatalf("the page says that it is %s", now)
		}
	}
	n.enter(n.session)
	n.do(holds(`pass(1) && ` + pageIs + `"live"`))
	n.admin.noPanic(t)
}

// TestBrowserNoticesAFrozenAdmin stops the admin where it is: it takes calls and says nothing, so no call fails. The long waits of the
// page pass when the test says so, and are those that somebody at the screen would sit through.
func TestBrowserNoticesAFrozenAdmin(t *testing.T) {
	works(t)
	n := startNight(t, desk)
	n.passes()
	for path, late := range map[string]int{link.RunsPath: 11, "/jobs": 13} {
		n.visit(path)
		n.do(holds(pageIs + `"live"`))
		n.admin.freeze(t)
		for _, silent := range []struct {
			seconds int
			is      string
		}{{7, "live"}, {late, "lost"}} { // 7 s may be a slow network
			var now string
			if n.do(chromedp.Evaluate(fmt.Sprintf(`silence(%d)`, silent.seconds), &now, awaited)); now != silent.is {
				t.Errorf("%s is %s after %d s without a word", path, now, silent.seconds)
			}
		}
		n.do(holds(`/^Connection lost/.test(` + liveMark + `.innerText)`))
		n.admin.thaw(t)
		n.do(holds(`pass(1) && ` + pageIs + `"live"`))
	}
	n.admin.noPanic(t)
}

// passes lets the long waits of a page pass when the test says so. pass(seconds) and silence(seconds) give what the page is then: after so
// many more, and after so many in which it heard nothing. What was on its way when the admin fell silent counts as heard when it came.
func (n *night) passes() {
	n.t.Helper()
	n.do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`{
			const wait = window.setTimeout, clear = window.clearTimeout, held = new Map();
			const ask = window.fetch, read = Response.prototype.text;
			let now = 0, last = 1e9, heard = 0;
			const hears = (what) => { heard = now; return what; };
			window.fetch = (...args) => ask(...args).then(hears);
			Response.prototype.text = function () { return read.call(this).then(hears); };
			window.EventSource = class extends EventSource {
				constructor(...args) { super(...args); super.addEventListener("open", hears); }
				addEventListener(name, what) { super.addEventListener(name, hears); super.addEventListener(name, what); }
			};
			window.setTimeout = (what, ms, ...args) => {
				if (!(ms >= 1000)) return wait(what, ms, ...args);
				held.set(++last, { due: now + ms, done: () => what(...args) });
				return last;
			};
			window.clearTimeout = (id) => held.delete(id) || clear(id);
			AbortSignal.timeout = (ms) => {
				const controller = new AbortController();
				setTimeout(() => controller.abort(new DOMException("", "TimeoutError")), ms);
				return controller.signal;
			};
			// Second by second, and what follows from one before the next.
			const until = async (end) => {
				while (now < end()) {
					now += 1000;
					for (const [id, { due, done }] of [...held]) if (due <= now && held.delete(id)) done();
					await new Promise((resume) => wait(resume, 20));
				}
				return document.documentElement.dataset.live;
			};
			window.pass = (seconds, from = now) => until(() => from + 1000 * seconds);
			window.silence = (seconds) => until(() => heard + 1000 * seconds);
		}`).Do(ctx)
		return err
	}))
}

// knowsWhatIsGone deletes a job whose page is open: the admin answers, so no connection is lost.
func (n *night) knowsWhatIsGone(job int64) {
	n.expect("404")
	n.visit(link.Job(job))
	n.do(holds(pageIs + `"live"`))
	n.must(n.t, link.JobDelete(job), nil)
	n.do(holds(`document.dispatchEvent(new Event("visibilitychange")) && `+pageIs+`"gone"`), holds(`/^Deleted, or no longer visible to you · as of/.test(`+liveMark+`.innerText.trim())`))
}

// keepsToTimes sees a next time pass: a page that is cut off says for when it was planned, and not that it is late.
func (n *night) keepsToTimes(way *cable, job int64) {
	next := at(job, "time[data-due]")
	n.visit("/jobs")
	n.do(holds(`/^in /.test(` + next + `.textContent)`))
	way.set(true)
	n.do(holds(`document.dispatchEvent(new Event("visibilitychange")) && `+pageIs+`"lost"`), holds(next+`.title.endsWith(`+next+`.textContent) && /^\d\d-\d\d \d\d:\d\d:\d\d$/.test(`+next+`.textContent)`),
		chromedp.Evaluate(next+`.dateTime = new Date(Date.now() - 40000).toISOString()`, nil), holds(next+`.dataset.seen ??= "", /^\d\d-\d\d /.test(`+next+`.textContent)`))
	way.set(false)
	n.do(holds(`document.dispatchEvent(new Event("visibilitychange")) && ` + pageIs + `"live" && /^in /.test(` + next + `.textContent)`))
}

// sendsFilterAgain narrows lists that are cut off: one that refreshes itself, and one that does not.
func (n *night) sendsFilterAgain(way *cable) {
	for _, path := range []string{"/jobs", "/users"} {
		n.visit(path)
		way.set(true)
		n.do(write("[name=q]", "no such name"), holds(`document.querySelector("#toasts .toast.error") && !location.search`))
		way.set(false)
		n.do(holds(`location.search.includes("q=no") && !document.querySelector("#results tbody tr") && !document.querySelector("#toasts .toast.error")`))
	}
}
