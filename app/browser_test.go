package app

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/views/browsertest"
)

// openChromium is [browsertest.Open] with a window and a profile.
func openChromium(t *testing.T) context.Context {
	t.Helper()
	profile, err := os.MkdirTemp("", "punctual-browser")
	if err != nil {
		t.Fatal(err)
	}
	// Not t.TempDir: the browser's helpers may still write for a moment after it has ended, and a file more is no failure.
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	return browsertest.Open(t, chromedp.WindowSize(1440, 900), chromedp.UserDataDir(profile))
}

// TestTheStoryInABrowser is what a newcomer does, by clicking and typing.
func TestTheStoryInABrowser(t *testing.T) {
	t.Parallel()
	browser := openChromium(t)
	o := testOptions(t)
	o.Sample = SampleOn
	a := start(t, o)
	base := a.Welcome().URL
	helper := open(t, a).mustLogin() // somebody else, whose doing must appear by itself

	step := func(what string, actions ...chromedp.Action) {
		t.Helper()
		if err := browsertest.Run(browser, actions...); err != nil {
			picture(t, browser, "failed")
			t.Fatalf("%s: %v\n%s", what, err, shown(browser))
		}
		picture(t, browser, what)
	}
	// until waits for an expression of the page to hold. It asks again and again, because a page that is being left answers
	// nothing.
	until := func(expression string) chromedp.Action {
		return chromedp.ActionFunc(func(ctx context.Context) error {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for {
				var holds bool
				if err := chromedp.Evaluate(`document.readyState === "complete" && !!window.htmx && !!(`+expression+`)`, &holds).Do(ctx); err == nil && holds {
					return nil
				}
				select {
				case <-ctx.Done():
					return fmt.Errorf("%s: %w", expression, ctx.Err())
				case <-tick.C:
				}
			}
		})
	}
	there := func(selector string) string { return `document.querySelector("` + selector + `")` }
	// click goes through the page: Chromium throws away mouse events for a page that it has only just painted.
	click := func(selector string) chromedp.Action {
		return chromedp.Tasks{until(there(selector) + "?.checkVisibility()"), chromedp.Evaluate(there(selector)+".click()", nil)}
	}
	// fill types into a field what is not in it yet.
	fill := func(selector, text string) chromedp.Action {
		return chromedp.Tasks{
			until(there(selector)), chromedp.Evaluate(there(selector)+`.value = ""`, nil), chromedp.SendKeys(selector, text, chromedp.ByQuery),
			until(there(selector) + `.value === ` + strconv.Quote(text)),
		}
	}
	// The jobs in the order in which a new installation gets them.
	const greet, slow, retry = "#job-2", "#job-3", "#job-4"
	// What the slow one starts by itself every five minutes would end what is started by hand here.
	if got := helper.post("/jobs/3/stop", nil); got.status >= 400 {
		t.Fatal(got.status, got.body)
	}
	eventually(t, "what it has planned already is sent", func() bool {
		var unsent int
		err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_log WHERE job_id = 3 AND trigger_code = 0").Scan(&unsent)
		return err == nil && unsent == 0
	})

	step("wrong password", chromedp.Navigate(base+"/jobs"), fill("[name=name]", "admin"), fill("[name=password]", "wrong"), click(".sign-in .primary"),
		until(there(".notice")))
	step("login", fill("[name=password]", testPassword), click(".sign-in .primary"), until(there(slow)))
	step("stop a job", click(retry+" .switch"), until(there(retry+" .switch")+`.ariaChecked === "false"`))
	step("start it again", click(retry+" .switch"), until(there(retry+" .switch")+`.ariaChecked === "true"`))

	step("edit a schedule", click(slow+" .menu summary"), click(slow+` a[href$='/edit']`), fill("#cron", "0 15 10 ? * MON-FRI"), until(there("#preview")+`?.textContent.includes("10:15:00")`))
	step("a wrong schedule", fill("#cron", "0 15 25 ? * MON"), until(there("#preview .notice")))
	step("which is not saved", click(".form-foot .primary"), until(there("#cron")+`?.ariaInvalid === "true"`))
	step("and then a right one", fill("#cron", "0 15 10 ? * MON-FRI"), click(".form-foot .primary"), until(there(slow)+" !== null && "+there("#toasts .toast")+" !== null"))

	step("run it once", click(slow+" [hx-get$='/run']"), until(there("dialog")+".open"), fill("#run-param", "600"), click("dialog .primary"),
		until(there("[data-log-lines]")+`?.textContent.includes("2 of 600 s")`))
	step("kill it", click("#run-head [hx-get$='/kill']"), click("dialog .danger"), until(there("#run-head .badge.killed")))

	step("open the run list", chromedp.Navigate(base+"/runs?range=1h"), until(there("tbody tr")))
	run := helper.runOnce("/jobs/"+strings.TrimPrefix(greet, "#job-"), url.Values{"param": {"by somebody else"}})
	step("somebody else's run appears", until(there("#run-"+strings.TrimPrefix(run, "/runs/")+" .badge.success")))

	step("executors", chromedp.Navigate(base+"/executors"), until(there(".address.online")))
	step("in the dark", click(".account-button"), click("button[name=theme][value=dark]"), until(`document.documentElement.dataset.theme === "dark"`))
	step("in Chinese", chromedp.Navigate(base+"/jobs"), click(".account-button"), click("button[name=lang][value=zh-CN]"), until(`document.documentElement.lang === "zh-CN"`))
	step("logged out", chromedp.Navigate(base+"/jobs"), click(".account-button"), click("form[action='/logout'] button"), until(there("[name=password]")))
}

// shown is the address and the text of the page that a step failed on.
func shown(browser context.Context) (text string) {
	ctx, cancel := context.WithTimeout(browser, 5*time.Second)
	defer cancel()
	if err := chromedp.Run(ctx, chromedp.Evaluate(`location.href + "\n" + document.body.innerText.slice(0, 3000)`, &text)); err != nil {
		return err.Error()
	}
	return text
}

// picture keeps what the browser shows in the folder PUNCTUAL_PICTURES, for people to look at.
func picture(t *testing.T, browser context.Context, name string) {
	t.Helper()
	folder := os.Getenv("PUNCTUAL_PICTURES")
	if folder == "" {
		return
	}
	var png []byte
	ctx, cancel := context.WithTimeout(browser, 10*time.Second)
	defer cancel()
	if err := chromedp.Run(ctx, chromedp.CaptureScreenshot(&png)); err != nil {
		t.Logf("picture of %s: %v", name, err)
		return
	}
	if err := os.WriteFile(filepath.Join(folder, strings.ReplaceAll(name, " ", "-")+".png"), png, 0o600); err != nil {
		t.Error(err)
	}
}
