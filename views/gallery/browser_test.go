package gallery

import (
	"context"
	"strings"
	"testing"

	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/views/browsertest"
)

// open starts a headless browser and fails the test on anything its console reports, such as a breach of the policy.
func open(t *testing.T) context.Context {
	t.Helper()
	alloc, stop := chromedp.NewExecAllocator(t.Context(), browsertest.Options(t)...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc, chromedp.WithErrorf(func(string, ...any) {})) // it reports events of newer browsers as errors
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *cdp.EventJavascriptDialogOpening: // a changed form is left
			go func() { _ = chromedp.Run(ctx, cdp.HandleJavaScriptDialog(true)) }()
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
