package e2e

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/executor/executortest"
)

// TestBrowserAdministration is what whoever looks after an installation does: finds out how to connect a program, takes an
// address out of rotation and back by keyboard, sets up an alarm channel, tests it, and looks at the cluster.
func TestBrowserAdministration(t *testing.T) {
	t.Parallel()
	for _, s := range []screen{desk, phone} {
		t.Run(s.name, func(t *testing.T) {
			works(t)
			hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			t.Cleanup(hook.Close)
			settings := adminSettings{dataDir: t.TempDir(), port: executortest.FreePort(t), env: []string{"PUNCTUAL_ADMIN_PASSWORD=correct-horse-lamp", "PUNCTUAL_SAMPLE=auto"}}
			w := newWindow(t, "http://127.0.0.1:"+settings.port, s)
			admin := startAdmin(t, settings)
			w.visit("/login")
			w.logIn("correct-horse-lamp")
			w.do(holds(`location.pathname !== "/login"`))
			w.expect("422") // a route of a job that does not exist

			w.visit("/executors")
			w.do(click("tbody .title"), holds(`document.querySelectorAll("#results tbody .badge.online").length === 1`))
			w.do(click(`#token a`), holds(`document.querySelector("#token-value")`))
			w.do(
				holds(`document.querySelector("pre#way-java").textContent.includes(document.querySelector("#token-value").textContent)`),
				chromedp.Click(`.connect input[value="go"]`, chromedp.ByQuery),
				holds(`document.querySelector("pre#way-go").checkVisibility() && !document.querySelector("pre#way-java").checkVisibility()`),
				// It says so for a moment only.
				chromedp.Evaluate(`new MutationObserver(() => (window.copied ||= document.querySelector(".way-go .copy.copied") !== null)).observe(document.querySelector(".way-go .copy"), { attributes: true })`, nil),
				click(`.way-go .copy`), holds(`window.copied`),
			)
			var way string
			if w.do(chromedp.Text(".way-go code, .way-go pre", &way, chromedp.ByQuery)); way == "" || w.copied() != way {
				t.Errorf("on the clipboard is %q, not %q", w.copied(), way)
			}
			// The table is drawn anew under the focus, which stays where it was.
			w.do(
				chromedp.Focus("#rotation-0", chromedp.ByQuery), keys("\r"),
				holds(`document.querySelector("#results .badge.disabled") && document.activeElement.id === "rotation-0"`),
				keys("\r"), holds(`!document.querySelector("#results .badge.disabled")`),
			)

			w.visit("/alarms")
			w.do(click(".empty .primary"), shows("/alarms/new"), click(`.kinds a[href$="webhook"]`), holds(`document.querySelector("#url")`))
			w.do(write("#name", "hook"), write("#url", hook.URL), click(".form-foot .primary"), shows("/alarms/1"))
			w.do(click("#test-button"), holds(`document.querySelector("#test .notice.info") && document.querySelector("#test .badge.success")`))
			w.do(click(`.card-head a[href$="/routes/new"]`), holds(`document.querySelector("dialog[open] .causes")`))
			w.do(chromedp.Click(`dialog input[value="job"]`, chromedp.ByQuery), holds(`!document.querySelector("[data-job-search]").hidden`),
				chromedp.Evaluate(`document.querySelector("#route-job").value = "999"`, nil), click("dialog .primary"),
				holds(`document.querySelector("dialog[open] .error")`))
			w.do(chromedp.Click(`dialog input[value="group"]`, chromedp.ByQuery), click("dialog .primary"), holds(`document.querySelectorAll("tr[id^=route-]").length === 2`))

			w.visit("/nodes")
			w.do(holds(`document.querySelectorAll(".badge.online").length === 1 && document.querySelector("tbody td.number, tbody td.num, tbody td")`))
			// The figures of a busy admin with the name of a pod stay in their card, wherever they show.
			for _, width := range []int64{760, 900, 1080, 1280, 1400, 1440} {
				w.resize(screen{"window", width, 720})
				w.do(holds(`(() => {
					const row = document.querySelector("#results tbody tr"), card = row.closest(".table-card");
					row.querySelector("b").textContent = "punctual-7c9f8d6b5-x2x7k";
					row.querySelector(".sub").textContent = "http://10.244.123.123:8080/";
					for (const cell of row.querySelectorAll("td.num")) cell.textContent = "123,456";
					return card.scrollWidth <= card.clientWidth;
				})()`))
			}
			w.resize(desk)
			admin.noPanic(t)
		})
	}
}
