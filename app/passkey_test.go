package app

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/views/browsertest"
)

// foreignPasskey makes a passkey that nobody has registered and answers the question of the page with it.
const foreignPasskey = `(async () => {
	const form = document.querySelector("[data-passkey-show]")
	const asked = JSON.parse(form.dataset.passkeyShow)
	await navigator.credentials.create({ publicKey: {
		rp: { id: "localhost", name: "x" }, user: { id: new Uint8Array([1]), name: "x", displayName: "x" }, challenge: new Uint8Array(32),
		pubKeyCredParams: [{ type: "public-key", alg: -7 }], authenticatorSelection: { residentKey: "required" } } })
	const options = PublicKeyCredential.parseRequestOptionsFromJSON({ ...asked, allowCredentials: [] })
	const answer = await navigator.credentials.get({ publicKey: options })
	form.querySelector("[name=credential]").value = JSON.stringify(answer)
	form.submit()
})()`

// countShown counts, over page loads, how often the page asks the browser for a passkey: an answer more than one would be sent too, to
// a question that has been answered.
const countShown = `(() => {
	const get = navigator.credentials.get.bind(navigator.credentials)
	sessionStorage.shown = 0
	navigator.credentials.get = (options) => { sessionStorage.shown++; return get(options) }
})()`

// TestAPasskeyIsMadeAndShown does both in a real browser, with an authenticator that the browser plays.
func TestAPasskeyIsMadeAndShown(t *testing.T) {
	t.Parallel()
	onBoth(t, makeAndShowPasskey)
}

func makeAndShowPasskey(t *testing.T, o Options) {
	ctx := openChromium(t)
	a := start(t, o)
	base := strings.Replace(a.Welcome().URL, "127.0.0.1", "localhost", 1) // there are no passkeys for numbers
	do := func(what string, actions ...chromedp.Action) {
		t.Helper()
		if err := browsertest.Run(ctx, actions...); err != nil {
			var body string
			_ = browsertest.Run(ctx, chromedp.Text("main", &body, chromedp.ByQuery))
			t.Fatalf("%s: %v\n%s", what, err, body)
		}
	}
	logIn := chromedp.Tasks{
		chromedp.Navigate(base + "/login"), chromedp.SendKeys("[name=name]", "admin"), chromedp.SendKeys("[name=password]", testPassword), chromedp.Click("button.primary"),
	}
	// A form that is sent before its script is there has no answer of the browser's in it.
	loaded := chromedp.Poll(`document.readyState === "complete"`, nil)
	authenticator := &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
	}
	var mine webauthn.AuthenticatorID
	do("authenticator", webauthn.Enable(), chromedp.ActionFunc(func(ctx context.Context) error {
		var err error
		mine, err = webauthn.AddVirtualAuthenticator(authenticator).Do(ctx)
		return err
	}))
	do("make", logIn, chromedp.WaitVisible("#dashboard"), chromedp.Navigate(base+"/profile/second/passkey"),
		chromedp.SendKeys("[name=name]", "laptop"), chromedp.SendKeys("[name=old_password]", testPassword), chromedp.Click(".form-foot .primary"),
		chromedp.WaitVisible(".recovery-codes"), chromedp.Navigate(base+"/profile/second"), chromedp.WaitVisible(".session-list li"))
	var used, shown string
	await := func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
	do("show", chromedp.Evaluate(`fetch("/logout", { method: "POST" }).then(() => true)`, nil, await), logIn,
		chromedp.WaitVisible("[data-passkey-show]"), loaded, chromedp.Evaluate(countShown, nil), chromedp.Click("[data-passkey-show] button"),
		chromedp.WaitVisible("#dashboard"), chromedp.Evaluate("sessionStorage.shown", &shown),
		chromedp.Navigate(base+"/profile/second"), chromedp.Text(".session-list li .sub", &used))
	if shown != "1" {
		t.Errorf("the browser was asked %s times", shown)
	}
	if !strings.Contains(used, "last used") {
		t.Errorf("the passkey was not used: %q", used)
	}
	if got := audited(t, a, "login"); !strings.HasSuffix(got[len(got)-1], `{"factor":"passkey","way":"password"}`) {
		t.Errorf("on record: %q", got)
	}
	// The same device once more.
	var said string
	do("twice", chromedp.Navigate(base+"/profile/second/passkey"), loaded, chromedp.SendKeys("[name=old_password]", testPassword), chromedp.Click(".form-foot .primary"),
		chromedp.Poll(`document.querySelector("[data-passkey-error]").textContent !== ""`, nil), chromedp.Text("[data-passkey-error]", &said))
	if !strings.Contains(said, "has a passkey for you here already") {
		t.Errorf("the same device once more: %q", said)
	}
	// Another authenticator knows none of hers.
	do("another authenticator", chromedp.Evaluate(`fetch("/logout", { method: "POST" }).then(() => true)`, nil, await), chromedp.ActionFunc(func(ctx context.Context) error {
		if err := webauthn.RemoveVirtualAuthenticator(mine).Do(ctx); err != nil {
			return err
		}
		_, err := webauthn.AddVirtualAuthenticator(authenticator).Do(ctx)
		return err
	}), logIn, chromedp.WaitVisible("[data-passkey-show]"), loaded, chromedp.Click("[data-passkey-show] button"),
		chromedp.Poll(`document.querySelector("[data-passkey-error]").textContent !== ""`, nil), chromedp.Text("[data-passkey-error]", &said))
	if !strings.Contains(said, "did not give a passkey") {
		t.Errorf("another authenticator: %q", said)
	}
	// And a passkey of somebody else's, which answers the same question, is refused by the server.
	do("somebody else's", chromedp.Evaluate(foreignPasskey, nil, await), chromedp.WaitVisible(".notice.error"), chromedp.Text(".notice.error", &said))
	if !strings.Contains(said, "could not be checked") {
		t.Errorf("somebody else's passkey: %q", said)
	}
	if got := audited(t, a, "login_refused"); len(got) != 1 || !strings.HasSuffix(got[0], `{"reason":"passkey"}`) {
		t.Errorf("on record: %q", got)
	}
	// What a browser answers counts for its question only, and once.
	b := open(t, a)
	b.login("admin", testPassword)
	if got := b.do("POST", "/login/second", map[string][]string{"credential": {`{"id":"x"}`}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("nonsense for a passkey: %d", got.status)
	}
}
