package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/app/auth/directory/directorytest"
)

// TestBrowserSignIn goes from the login page to a provider and back, with scripts on a desk and a phone, and without any: to where
// one wanted to go, and out again when no rule lets one in any more.
func TestBrowserSignIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		screen  screen
		scripts bool
	}{{"desk", desk, true}, {"phone", phone, true}, {"without scripts", desk, false}} {
		t.Run(c.name, func(t *testing.T) {
			works(t)
			p := directorytest.NewOIDC(t)
			p.Ask()
			p.SetUser(map[string]any{"sub": "1", "preferred_username": "ann.li", "groups": []string{"ops"}})
			secret, err := json.Marshal(directorytest.ClientSecret)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "sign-in.yaml")
			text := fmt.Sprintf("passwords: break-glass\noidc:\n  - {name: company, label: Company account, issuer: %q, client_id: %s, client_secret: %s, insecure: true, "+
				"rules: [{claim: groups, value: ops, rights: {\"*\": [run]}}]}\n", p.URL, directorytest.ClientID, secret)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			a := startAdmin(t, adminSettings{env: []string{"PUNCTUAL_SAMPLE=on", "PUNCTUAL_SIGN_IN_FILE=" + file}})
			w := newWindow(t, a.url, c.screen)
			w.friend = p.URL
			w.expect("403", "favicon")
			if !c.scripts {
				w.do(emulation.SetScriptExecutionDisabled(true))
			}
			toProvider := func() {
				t.Helper()
				w.do(chromedp.WaitVisible(".ways a", chromedp.ByQuery), chromedp.Click(".ways a", chromedp.ByQuery),
					chromedp.WaitVisible("#go", chromedp.ByQuery), chromedp.Click("#go", chromedp.ByQuery))
			}
			w.visit("/jobs?q=greet")
			w.do(shows("/login"), holds(`!document.querySelector("details.break-glass").open`))
			toProvider()
			w.do(shows("/jobs"), holds(`location.search === "?q=greet" && document.querySelectorAll("tbody tr").length > 0`))
			w.visit("/profile")
			w.do(holds(`!document.querySelector("[name=password]") && document.querySelector("main").textContent.includes("company")`))

			p.SetUser(map[string]any{"sub": "1", "preferred_username": "ann.li", "groups": []string{}})
			w.visit("/profile")
			w.do(chromedp.Click(".account-button", chromedp.ByQuery), chromedp.WaitVisible(`[action="/logout"] button`, chromedp.ByQuery),
				chromedp.Click(`[action="/logout"] button`, chromedp.ByQuery), shows("/login"))
			toProvider()
			w.do(holds(`document.querySelector(".notice.error")?.textContent.includes("no rule here lets you in")`))
			w.visit("/jobs")
			w.do(shows("/login"), chromedp.Click("details.break-glass summary", chromedp.ByQuery), write("#name", "admin"), write("#password", testPassword),
				chromedp.Click(".sign-in .primary", chromedp.ByQuery), shows("/jobs"))
			a.noPanic(t)
		})
	}
}
