// Package browsertest finds the browser that tests try pages in.
package browsertest

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
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

// Open starts a browser and fails the test on anything its console reports, such as a breach of the policy.
func Open(t *testing.T, options ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	alloc, stop := chromedp.NewExecAllocator(t.Context(), append(Options(t), options...)...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc, chromedp.WithErrorf(func(string, ...any) {})) // it reports events of newer browsers as errors
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *page.EventJavascriptDialogOpening: // a changed form is left
			go func() { _ = chromedp.Run(ctx, page.HandleJavaScriptDialog(true)) }()
		case *runtime.EventExceptionThrown:
			t.Errorf("exception: %s", e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			// htmx notes every refused or replaced request as an error, and the tests make some on purpose.
			text := string(e.Args[0].Value)
			if e.Type == runtime.APITypeError && !strings.HasPrefix(text, `"Response Status Error Code`) && !strings.HasPrefix(text, `"htmx:`) {
				t.Errorf("console: %+v", e.Args[0])
			}
		}
	})
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	return ctx
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
