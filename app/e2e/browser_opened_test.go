package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/users"
)

// TestBrowserOpened opens what pages keep closed, menus, questions and searches, with the pointer still on what was pressed, and has axe-core
// look at each as at the pages themselves: in both themes and in a reader's own colours, on a desk and on a phone.
func TestBrowserOpened(t *testing.T) {
	works(t)
	a := startAdmin(t, adminSettings{env: []string{"PUNCTUAL_SAMPLE=on"}})
	s := a.login(t, testPassword)
	// A search that finds lines, and somebody with more executors than a list shows.
	keep := s.form(t, link.ExecutorEdit(1), link.Executor(1))
	keep.Set(groups.FieldKeepOutput, "ALL")
	s.must(t, link.Executor(1), keep)
	s.runOnce(t, 2, "")
	found := link.SearchOutput(link.OutputSearch{RunFilter: link.RunFilter{Text: "start", Group: 1}})
	eventually(t, "kept output", func() error {
		if _, body := s.get(t, found); !strings.Contains(body, "match-lines") {
			return errNotYet
		}
		return nil
	})
	rights := []string{"1.view"}
	for id := 2; id < 7; id++ {
		name := fmt.Sprintf("group-%d", id)
		s.must(t, link.ExecutorsPath, url.Values{groups.FieldAppName: {name}, groups.FieldTitle: {name}, groups.FieldType: {groups.TypeAuto}})
		rights = append(rights, fmt.Sprintf("%d.view", id))
	}
	s.must(t, link.UsersPath, url.Values{users.FieldName: {"weili"}, users.FieldRole: {link.UserNormal}, users.FieldState: {link.UserActive}, users.FieldPassword: {viewerPassword}, users.FieldRights: rights})
	const dialog = `document.querySelector("dialog[open]")`
	still := holds(`document.getAnimations().every((a) => a.playState !== "running" || a.effect.getTiming().iterations === Infinity)`)
	pick := chromedp.Tasks{click("tbody .pick"), holds(`document.querySelector(".bulk-bar").checkVisibility()`)}
	for _, on := range []screen{desk, phone} {
		t.Run(on.name, func(t *testing.T) {
			w := newWindow(t, a.url, on)
			w.cookie("lang", "zh-CN")
			w.enter(s)
			for _, o := range []struct {
				what, path string
				open       chromedp.Tasks
			}{
				{"this hour of the week", "/", chromedp.Tasks{holds(`document.querySelector(".heat td.now a.cell").tabIndex === 0`)}},
				{"an hour that is read out", "/", chromedp.Tasks{over(".heat td.now a.cell"), holds(`document.querySelector(".readout").checkVisibility()`)}},
				{"lines that a search has found", found, chromedp.Tasks{over(".match-lines a"), holds(`document.querySelector(".match-lines a:hover")`)}},
				{"all executors of a user", link.UsersPath, chromedp.Tasks{click("details.more summary"), holds(`document.querySelector("details.more[open] .tag-list .tag").checkVisibility()`)}},
				{"the account's menu", "/", chromedp.Tasks{click(".account-button"), holds(`document.querySelector("#menu-zone").checkVisibility()`)}},
				{"the menu of a row", "/jobs", chromedp.Tasks{click("tbody .menu summary"), holds(`document.querySelector("tbody .menu[open] .menu-item").checkVisibility()`)}},
				{"how a list looks", "/jobs", chromedp.Tasks{click(".look summary"), holds(`document.querySelector(".look .check").checkVisibility()`)}},
				{"a run by hand", "/jobs", chromedp.Tasks{click(`#job-2 [hx-get$="/run"]`), holds(dialog)}},
				{"picked jobs", "/jobs", pick},
				{"what many jobs are done to", "/jobs", append(pick[:len(pick):len(pick)], click(`.bulk-bar button[value=stop]`), holds(dialog))},
				{"the search for everything", "/jobs", chromedp.Tasks{keys("k", input.ModifierCtrl), holds(dialog), write(`dialog [data-palette-box] input`, "go"), holds(`document.querySelector("[data-hit]")`)}},
				{"the keys", "/jobs", chromedp.Tasks{keys("?"), holds(dialog)}},
				{"the menu of a job", "/jobs/2", chromedp.Tasks{click(".page-head .menu summary"), holds(`document.querySelector(".page-head .menu-item").checkVisibility()`)}},
				{"jobs to pause, found", "/pauses", chromedp.Tasks{write("[name=job_search]", "go"), holds(`document.querySelector("[role=option][data-job]")`)}},
			} {
				w.visit(o.path)
				w.do(o.open...)
				w.do(still)
				w.inspectNow(o.what)
				w.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}}), still)
				w.inspectForced(o.what)
				w.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{}))
			}
		})
	}
}

// inspectForced does so in the reader's own colours. Whether those differ enough is up to the reader, and axe-core reads the page's.
func (w *window) inspectForced(what string) {
	w.t.Helper()
	var found []string
	w.do(chromedp.Evaluate(strings.Replace(fmt.Sprintf(examine, "light", "document"), "rules: {", `rules: { "color-contrast": { enabled: false },`, 1), &found, awaited))
	for _, v := range found {
		w.t.Errorf("%s, in forced colours: %s", what, v)
	}
}
