// Package browsertest finds the browser that tests try pages in.
package browsertest

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/executor/executortest"
)

// programs are what is looked for. The shell is Chromium without the windows, menus and extensions around a page, at half the time of
// the processor; Debian's command of that name leaves the browser behind when it is stopped, so the program itself is started.
var programs = []string{"/usr/lib/chromium/chromium-headless-shell", "chromium"}

// Options start a headless Chromium that asks for nothing by itself. Without one the test is skipped, or fails where TEST_BROWSER is
// "required".
func Options(t *testing.T) []chromedp.ExecAllocatorOption {
	t.Helper()
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		return append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.WSURLReadTimeout(executortest.Patience), // it would give up a browser after 20 s, which a busy machine may take to start it
			chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
			chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("lang", "en"))
	}
	if os.Getenv("TEST_BROWSER") == "required" {
		t.Fatal("there is no chromium, which TEST_BROWSER=required asks for")
	}
	t.Skip("there is no chromium: make deps, or apt-get install chromium-headless-shell fonts-noto-cjk, to try pages in a browser")
	return nil
}

// Run does things in a browser one after the other. Each has [executortest.Patience] to itself: on a busy machine many of them together may take
// any time.
func Run(browser context.Context, actions ...chromedp.Action) error {
	for _, a := range actions {
		ctx, cancel := context.WithTimeout(browser, executortest.Patience)
		err := chromedp.Run(ctx, a)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}
