package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/views/browsertest"
)

// screen is the size of a window.
type screen struct {
	name          string
	width, height int64
}

var (
	desk   = screen{"desk", 1440, 900}
	laptop = screen{"laptop", 1280, 720}
	phone  = screen{"phone", 390, 844}
)

// window is a browser's window on the console of one admin. It reports what no page may do: throw, write errors to the
// browser's console (a breach of the Content-Security-Policy is one), or ask another origin for anything.
type window struct {
	t      *testing.T
	ctx    context.Context
	origin string
	friend string    // another origin to which this test is sent
	frames *sync.Map // those that have been looked at, and how; nil: each is looked at

	mu       sync.Mutex
	expected []string // beginnings of console messages that this test provokes
	asked    int      // how often the browser asked whether to leave a changed form
}

// newWindow starts a headless chromium with a window of its own, for the console at an origin.
func newWindow(t *testing.T, origin string, s screen) *window {
	t.Helper()
	// No page lives long enough here for its scripts to be made fast, which would be a third of what axe-core takes.
	options := append(browsertest.Options(t), chromedp.Flag("js-flags", "--no-turbofan --no-maglev --always-sparkplug"))
	alloc, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc, chromedp.WithErrorf(func(string, ...any) {})) // it reports events of newer browsers as errors
	t.Cleanup(cancel)
	w := &window{t: t, ctx: ctx, origin: origin}
	chromedp.ListenTarget(ctx, w.listen)
	// The first run starts the browser, which lives as long as the context of that run.
	if err := chromedp.Run(ctx, network.Enable(), log.Enable()); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	w.resize(s)
	return w
}

// resize makes the window a desk's or a phone's.
func (w *window) resize(s screen) {
	w.t.Helper()
	w.do(chromedp.EmulateViewport(s.width, s.height), emulation.SetTouchEmulationEnabled(s == phone))
}

// listen judges what the browser reports.
func (w *window) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		w.t.Errorf("exception: %s", e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			w.complain(string(e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			w.complain(e.Entry.Text + " " + e.Entry.URL)
		}
	case *page.EventJavascriptDialogOpening:
		if e.Type == page.DialogTypeBeforeunload {
			w.mu.Lock()
			w.asked++
			w.mu.Unlock()
		}
		go func() { _ = chromedp.Run(w.ctx, page.HandleJavaScriptDialog(true)) }() // the page may be gone already
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, w.origin+"/") && !strings.HasPrefix(u, "data:") && (w.friend == "" || !strings.HasPrefix(u, w.friend+"/")) && u != "about:blank" {
			w.t.Errorf("a page asks for %s", u)
		}
	}
}

func (w *window) complain(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.HasPrefix(text, `"htmx:`) || strings.HasPrefix(text, `"Response Status Error Code`) {
		return // htmx notes every request that it replaces or that is refused; the browser notes the refused ones too
	}
	if strings.HasPrefix(text, "Error while trying to use the following icon from the Manifest") {
		return // the browser was still fetching it when the page was left; TestBrowserInstalls asks whether it can use one
	}
	for _, e := range w.expected {
		if strings.Contains(text, e) {
			return
		}
	}
	w.t.Errorf("in the browser's console: %s", text)
}

// expect allows console messages that contain one of these texts from now on.
func (w *window) expect(texts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected = append(w.expected, texts...)
}

// leaves is how often the browser asked whether to leave a changed form since the last call.
func (w *window) leaves() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := w.asked
	w.asked = 0
	return asked
}

// do runs actions one after the other and fails the test when one of them fails, with what the page looked like.
func (w *window) do(actions ...chromedp.Action) {
	w.t.Helper()
	if err := browsertest.Run(w.ctx, actions...); err != nil {
		w.photograph()
		w.t.Fatal(err)
	}
}

// stands is the page in words: where it is, what has the focus, what an open dialog and the messages say.
const stands = `[location.href, document.readyState, "focus on " + document.activeElement.outerHTML.slice(0, 200),
	...[...document.querySelectorAll("dialog[open], #toasts")].map((e) => e.id + " says " + e.innerText.slice(0, 400))].join("\n")`

// photograph says in the log how the window looks, for somebody who wonders why a test failed, and leaves a picture of it where BROWSER_PICTURES
// says.
func (w *window) photograph() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
	defer cancel()
	var words string
	if err := chromedp.Run(ctx, chromedp.Evaluate(stands, &words)); err != nil {
		w.t.Logf("the page does not say how it stands: %v", err)
		return
	}
	w.t.Logf("the page: %s", words)
	dir := os.Getenv("BROWSER_PICTURES")
	if dir == "" {
		return
	}
	var picture []byte
	if err := chromedp.Run(ctx, chromedp.CaptureScreenshot(&picture)); err != nil {
		w.t.Logf("no picture: %v", err)
		return
	}
	name := dir + "/" + strings.ReplaceAll(w.t.Name(), "/", "_") + ".png"
	if err := os.WriteFile(name, picture, 0o644); err != nil {
		w.t.Logf("no picture: %v", err)
	}
}

// visit opens a page and waits until it is drawn and its scripts have run.
func (w *window) visit(path string) {
	w.t.Helper()
	w.do(chromedp.ActionFunc(func(ctx context.Context) error {
		err := chromedp.Navigate(w.origin + path).Do(ctx)
		if err != nil && strings.Contains(err.Error(), "net::ERR_ABORTED") { // a download that was just saved was still under way as one to a page
			err = chromedp.Navigate(w.origin + path).Do(ctx)
		}
		return err
	}), holds("true"))
}

// holds waits for an expression to be true of a page whose scripts have run: what is typed before goes nowhere. It asks from
// outside the page, so that it works across page loads and in a page that may run no scripts of its own.
func holds(expression string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		err := executortest.Within(ctx, patience/2, func() error {
			// A browser may owe the answer to a question that came while a page went; the next page knows it.
			ask, cancel := context.WithTimeout(ctx, patience/6)
			defer cancel()
			var is bool
			if err := chromedp.Evaluate(`document.readyState === "complete" && !!(`+expression+`)`, &is).Do(ask); err != nil {
				return err
			}
			if !is {
				return errNotYet
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("never true: %s: %w", expression, err)
		}
		return nil
	})
}

// drawn waits until the page has been drawn twice: browsers drop clicks that come before the first picture of a page.
func drawn() chromedp.Action {
	return chromedp.Evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`, nil, awaited)
}

// click presses what a selector names, as soon as it is visible in a page whose scripts have run.
func click(selector string) chromedp.Action {
	return chromedp.Tasks{chromedp.WaitVisible(selector, chromedp.ByQuery), holds("true"), drawn(), chromedp.ActionFunc(func(ctx context.Context) error {
		for {
			err := chromedp.Click(selector, chromedp.ByQuery, chromedp.NodeVisible).Do(ctx)
			if !replaced(err) || ctx.Err() != nil {
				return err
			}
		}
	})}
}

// replaced says whether something was drawn anew after it had been found and before anything was done with it.
func replaced(err error) bool {
	e, ok := errors.AsType[*cdproto.Error](err)
	return ok && e.Code == -32000 && strings.HasPrefix(e.Message, "Could not find node")
}

// write replaces what stands in a field, key by key.
func write(selector, text string) chromedp.Action {
	return chromedp.Tasks{
		chromedp.WaitVisible(selector, chromedp.ByQuery),
		holds("true"),
		chromedp.Evaluate(fmt.Sprintf("(() => { const f = document.querySelector(%q); f.focus(); f.select(); })()", selector), nil),
		keys(text),
	}
}

// keys presses one key after the other. What a key means and the character that it brings come to the page as one event, as from a keyboard, so
// that what the first does is not done to the second.
func keys(text string, modifiers ...input.Modifier) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for _, r := range text {
			parts := kb.Encode(r)
			down, up := parts[0], parts[len(parts)-1]
			if len(parts) > 2 && len(modifiers) == 0 {
				down.Text, down.UnmodifiedText = parts[1].Text, parts[1].UnmodifiedText
			}
			for _, part := range []*input.DispatchKeyEventParams{down, up} {
				for _, m := range modifiers {
					part.Modifiers |= m
				}
				if err := part.Do(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// shows waits until the window shows a path (without its query).
func shows(want string) chromedp.Action {
	return holds(fmt.Sprintf("location.pathname === %q", want))
}

// logIn fills in the login form for the administrator.
func (w *window) logIn(password string) {
	w.t.Helper()
	w.do(write("#name", "admin"), write("#password", password), click(".sign-in .primary"))
}

// address is the address the window shows.
func (w *window) address() string {
	w.t.Helper()
	var at string
	w.do(chromedp.Location(&at))
	return at
}

// copied is what stands on the clipboard.
func (w *window) copied() (text string) {
	w.t.Helper()
	w.do(chromedp.ActionFunc(func(ctx context.Context) error {
		whole := cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser)
		return browser.SetPermission(&browser.PermissionDescriptor{Name: "clipboard-read"}, browser.PermissionSettingGranted).Do(whole)
	}), chromedp.Evaluate(`navigator.clipboard.readText()`, &text, awaited))
	return text
}

// awaited lets an evaluation wait for the promise it gives.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// cookie gives the window a cookie of its origin.
func (w *window) cookie(name, value string) {
	w.t.Helper()
	w.do(network.SetCookie(name, value).WithURL(w.origin))
}

// enter takes over a session that was opened over HTTP.
func (w *window) enter(s *session) {
	w.t.Helper()
	at, err := url.Parse(w.origin)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range s.Jar.Cookies(at) {
		w.cookie(c.Name, c.Value)
	}
}
