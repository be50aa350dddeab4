package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestBrowserTransfer picks child jobs by their names, is told of a ring, downloads all jobs as a file, changes it in an editor
// and uploads it again: preview, import, result.
func TestBrowserTransfer(t *testing.T) {
	works(t)
	a := startAdmin(t, adminSettings{env: []string{"PUNCTUAL_SAMPLE=on"}})
	w := newWindow(t, a.url, desk)
	w.expect("422")
	w.visit("/login")
	w.logIn(testPassword)
	w.do(shows("/"))

	// By the keyboard: job 2 becomes a child of job 1.
	w.visit("/jobs/1/edit")
	w.do(holds(`document.querySelector("#children").hidden && !document.querySelector("[data-job-search]").hidden`),
		write("#job-search", "2"), holds(`document.querySelector('#job-popup:not([hidden]) [data-job="2"]:only-child')`),
		keys(kb.ArrowDown), holds(`document.querySelector("#job-search").getAttribute("aria-activedescendant")`), keys(kb.Enter),
		holds(`document.querySelector("#children").value === "2" && document.querySelectorAll("[data-chip]").length === 1 && document.querySelector("#job-popup").hidden`),
		click(".form-foot .primary"), shows("/jobs"))
	// With the mouse: job 1 may not become a child of job 2; another may, and goes again.
	w.visit("/jobs/2/edit")
	w.do(write("#job-search", "1"), holds(`document.querySelector('#job-hits [data-job="1"][aria-disabled="true"]:only-child .ring')`),
		write("#job-search", "3"), holds(`document.querySelector('#job-hits [data-job="3"]:not([aria-disabled]):only-child')`), click(`#job-hits [data-job="3"]`),
		holds(`document.querySelector("#children").value === "3"`), click("[data-chip-remove]"), holds(`document.querySelector("#children").value === ""`))
	// A ring that is typed where no script looks is refused with its jobs.
	w.do(chromedp.Evaluate(`document.querySelector("#children").value = "1"`, nil), click(".form-foot .primary"),
		holds(`document.querySelector("#children-error")?.textContent.split("→").length === 3`))

	dir := t.TempDir()
	w.visit("/jobs")
	w.do(browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(dir),
		click(`.page-head [formaction="/jobs/export"]`), holds(`document.querySelector("dialog").open`), click("dialog .primary"))
	var text string
	eventually(t, "the downloaded file", func() error {
		raw, err := os.ReadFile(filepath.Join(dir, "punctual-jobs.yaml"))
		if err != nil || len(raw) == 0 {
			return errNotYet
		}
		text = string(raw)
		return nil
	})
	if strings.Count(text, "- description: ") != 6 || !strings.Contains(text, "children:") {
		t.Fatalf("exported\n%s", text)
	}

	file := filepath.Join(dir, "changed.yaml")
	upload := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w.visit("/jobs/import")
		w.do(chromedp.SetUploadFiles("#file", []string{file}, chromedp.ByQuery), click(".form-foot .primary"))
	}
	upload(text)
	w.do(holds(`document.querySelectorAll("details .import-items li").length === 6 && !document.querySelector("button[name=confirm]")`))
	upload(strings.Replace(text, "author:", "autor:", 1))
	w.do(holds(`document.querySelector(".import-faults b") && document.querySelector("#text").value.includes("autor:")`))
	upload(strings.Replace(text, "author: ", "retries: 7\n        author: ", 1))
	w.do(holds(`document.querySelectorAll(".import-plan > .import-items .changes-table tbody tr").length === 1`), click("button[name=confirm]"),
		holds(`document.querySelectorAll(".import-items .badge.success").length === 1 && document.querySelector(".import-items a.title")`),
		click(".import-items a.title"), click(`.job .actions a[href*="/edit"]`), holds(`document.querySelector("#retries")?.value === "7"`))
	a.noPanic(t)
}
