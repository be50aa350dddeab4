package app

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// TestAPasskeyIsMadeAndShown does both in a real browser, with an authenticator that the browser plays.
func TestAPasskeyIsMadeAndShown(t *testing.T) {
	t.Parallel()
	ctx := openChromium(t)
	a := start(t, testOptions(t))
	base := strings.Replace(a.Welcome().URL, "127.0.0.1", "localhost", 1) // there are no passkeys for numbers
	do := func(what string, actions ...chromedp.Action) {
		t.Helper()
		if err := chromedp.Run(ctx, actions...); err != nil {
			var body string
			_ = chromedp.Run(ctx, chromedp.Text("main", &body, chromedp.ByQuery))
			t.Fatalf("%s: %v\n%s", what, err, body)
		}
	}
	logIn := chromedp.Tasks{
		chromedp.Navigate(base + "/login"), chromedp.SendKeys("[name=name]", "admin"), chromedp.SendKeys("[name=password]", testPassword), chromedp.Click("button.primary"),
	}
	do("authenticator", webauthn.Enable(), chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := webauthn.AddVirtualAuthenticator(&webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
			HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
		}).Do(ctx)
		return err
	}))
	do("make", logIn, chromedp.WaitVisible("#dashboard"), chromedp.Navigate(base+"/profile/second/passkey"),
		chromedp.SendKeys("[name=name]", "laptop"), chromedp.SendKeys("[name=old_password]", testPassword), chromedp.Click(".form-foot .primary"),
		chromedp.WaitVisible(".recovery-codes"), chromedp.Navigate(base+"/profile/second"), chromedp.WaitVisible(".session-list li"))
	var used string
	do("show", chromedp.Evaluate(`fetch("/logout", { method: "POST" }).then(() => true)`, nil, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }), logIn,
		chromedp.WaitVisible("[data-passkey-show]"), chromedp.Click("[data-passkey-show] button"), chromedp.WaitVisible("#dashboard"),
		chromedp.Navigate(base+"/profile/second"), chromedp.Text(".session-list li .sub", &used))
	if !strings.Contains(used, "last used") {
		t.Errorf("the passkey was not used: %q", used)
	}
	// What a browser answers counts for its question only, and once.
	b := open(t, a)
	b.login("admin", testPassword)
	if got := b.do("POST", "/login/second", map[string][]string{"credential": {`{"id":"x"}`}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("nonsense for a passkey: %d", got.status)
	}
}
