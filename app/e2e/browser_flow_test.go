package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
)

// choose goes through a list, or buttons of which one is chosen, until a value is.
func (k typing) choose(selector, value, key string) {
	k.t.Helper()
	k.tab(selector)
	for range 30 {
		var is string
		k.do(chromedp.Evaluate(`document.activeElement.value`, &is))
		if is == value {
			return
		}
		k.press(key)
	}
	k.photograph()
	k.t.Fatalf("%s never has the value %s", selector, value)
}

// retype puts another text into the field with the focus.
func (k typing) retype(text string) {
	k.t.Helper()
	k.do(keys("a", input.ModifierCtrl))
	k.press(text)
}

// ids are what elements of a picture are called.
func (k typing) ids(selector string) (ids []string) {
	k.t.Helper()
	k.do(chromedp.Evaluate(fmt.Sprintf(`[...document.querySelectorAll(%q)].map((box) => box.id.replace("flow-wide-", ""))`, selector), &ids))
	return ids
}

// goesAbout goes to the picture, which is one stop of the tabulator key whatever has the focus in it, to its end, to its beginning, past it and back.
// Its boxes are given in their order.
func (k typing) goesAbout(boxes ...string) {
	k.t.Helper()
	at := func(box string) {
		k.t.Helper()
		k.sees(fmt.Sprintf(`document.activeElement.id === "flow-wide-%s" && document.querySelectorAll("svg.flow-wide [tabindex='0'], .flow-picture[tabindex='0']").length === 1`, box))
	}
	k.tab("svg.flow-wide a")
	k.press(kb.End)
	at(boxes[len(boxes)-1])
	k.press(kb.Home)
	at(boxes[0])
	k.press(kb.Tab)
	k.sees(`!document.activeElement.closest("svg.flow")`)
	k.do(keys(kb.Tab, input.ModifierShift))
	at(boxes[0])
}

// TestBrowserFlow makes a flow of three steps in the form, without a mouse, and follows its run. Another one waits for an approval, which is
// given with a remark, fails, and is run again from what failed.
func TestBrowserFlow(t *testing.T) {
	works(t)
	a := startAdmin(t, adminSettings{})
	gate, mended := make(chan struct{}), make(chan struct{})
	ex := executortest.New(t, a.url, executortest.Handlers{
		"work": func(_ context.Context, r *executor.Run) error { return nil },
		"gated": func(ctx context.Context, _ *executor.Run) error {
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		"broken": func(context.Context, *executor.Run) error {
			select {
			case <-mended:
				return nil
			default:
				return errors.New("the ledger is locked")
			}
		},
	}, func(c *executor.Config) { c.Token, c.AppName = testToken, "ledger" })
	s := a.login(t, testPassword)
	s.must(t, "/executors", url.Values{"app_name": {"ledger"}, "title": {"Ledger"}, "type": {"manual"}, "addresses": {ex.URL}})
	job := func(name, handler, glue, source string) {
		t.Helper()
		s.must(t, "/jobs", url.Values{
			"name": {name}, "group": {"1"}, "author": {"mina"}, "schedule_type": {"NONE"}, "misfire": {"DO_NOTHING"}, "glue": {glue}, "handler": {handler}, "source": {source},
			"route": {"FIRST"}, "block": {"SERIAL_EXECUTION"}, "timeout": {"0"}, "retries": {"0"},
		})
	}
	job("Fetch rates", "work", "BEAN", "")
	job("Write ledger", "gated", "BEAN", "")
	job("Close ledger", "broken", "BEAN", "")
	job("Pay", "", "FLOW", "steps:\n  - id: ask\n    approve: {message: \"Pay the suppliers?\"}\n  - id: close\n    needs: ask\n    job: 3\n  - id: fetch\n    needs: close\n    job: 1\n")

	k := typing{newWindow(t, a.url, desk)}
	k.visit("/login")
	k.sees(`document.activeElement.name === "name"`)
	k.press("admin", kb.Tab, testPassword, kb.Enter)
	k.do(shows("/"))
	k.visit("/jobs/new")
	k.sees(`document.activeElement.id === "name"`)
	k.press("End of day")
	k.choose(`[name="schedule_type"]`, "NONE", kb.ArrowRight)
	k.choose("#glue", "FLOW", kb.ArrowDown)
	k.sees(`document.querySelector("#flow-add-step")`)

	// has waits for a line of the text, and for the answer that the form was drawn from.
	has := func(line string) {
		t.Helper()
		k.sees(fmt.Sprintf(`document.querySelector("#source").value.split("\n").includes(%q) && !document.querySelector("[data-flow]").classList.contains("htmx-request")`, line))
	}
	step := func(kind, key, id string) {
		t.Helper()
		k.choose("#flow_add", kind, key)
		k.tab("#flow-add-step")
		k.press(kb.Enter)
		k.sees(`document.activeElement.id === "step_id" && document.activeElement.value.startsWith("step")`)
		k.retype(id)
		k.press(kb.Enter)
		has("  - id: " + id)
	}
	pick := func(text, id string) {
		t.Helper()
		k.tab("#step-job-search")
		k.press(text)
		k.sees(fmt.Sprintf(`document.querySelector('#step-job-popup:not([hidden]) [data-job=%q]:only-child')`, id))
		k.press(kb.ArrowDown, kb.Enter)
		has("    job: " + id)
	}
	step("job", kb.ArrowUp, "fetch")
	pick("Fetch", "1")
	step("wait", kb.ArrowDown, "pause")
	has("    needs: fetch")
	k.tab("#step_seconds")
	k.press("1", kb.Enter)
	has("      seconds: 1")
	step("job", kb.ArrowUp, "write")
	pick("Write", "2")
	// It comes after both: the box of the first is ticked with the space bar.
	k.tab(`[name="step_needs"][value="fetch"]`)
	k.press(" ")
	has("    needs: [pause, fetch]")
	k.sees(`document.activeElement.matches('[name="step_needs"][value="fetch"]')`)
	// Moved up and down again: the keyboard stays with the step.
	k.tab(`[data-deed="up write"]`)
	k.press(kb.Enter)
	k.sees(`document.activeElement.matches('[data-deed="up write"]') && document.querySelector("#source").value.indexOf("id: write") < document.querySelector("#source").value.indexOf("id: pause")`)
	k.sees(`document.querySelectorAll("svg.flow-wide .flow-step").length === 3 && !document.querySelector(".flow-faults")`)
	// From a step of the picture to its fields, by keyboard and by mouse.
	k.goesAbout("fetch", "write", "pause")
	k.press(kb.ArrowRight)
	k.sees(`document.activeElement.id === "flow-wide-pause"`)
	k.press(kb.ArrowRight)
	k.sees(`document.activeElement.id === "flow-wide-write"`)
	k.press(kb.ArrowLeft)
	k.sees(`document.activeElement.id === "flow-wide-pause"`)
	k.press(kb.Enter)
	k.sees(`document.activeElement.id === "step_id" && document.activeElement.value === "pause"`)
	k.do(click("#flow-wide-write"))
	k.sees(`document.activeElement.id === "step_id" && document.activeElement.value === "write"`)
	// What is typed last, and not left yet, is saved too.
	k.tab("#step_name")
	k.press("Write the ledger")
	k.tab(".form-foot .primary")
	k.press(kb.Enter)
	k.do(shows("/jobs"))

	k.visit("/jobs/5")
	k.sees(`document.querySelectorAll("svg.flow-wide .flow-step").length === 3 && document.querySelector(".flow-list").textContent.includes("Write the ledger")`)
	k.tab(`[hx-get="/jobs/5/run"]`)
	k.press(kb.Enter)
	k.sees(`document.querySelector("dialog").open && document.activeElement.id === "run-param"`)
	k.tab("dialog .primary")
	k.press(kb.Enter)
	k.sees(`/^\/runs\/\d+$/.test(location.pathname) && document.querySelectorAll("svg.flow-wide .at-success").length === 2 && document.querySelectorAll("svg.flow-wide .at-running").length === 1`)
	k.do(chromedp.Evaluate(`window.same = true`, nil))
	close(gate)
	k.sees(`window.same && document.querySelectorAll("svg.flow-wide .flow-step.at-success").length === 3 && document.querySelector("#run-head .badge.success")`)

	k.goesAbout("fetch", "write", "pause")
	k.press(kb.ArrowRight, kb.ArrowRight, kb.Enter)
	k.sees(`/^\/runs\/\d+$/.test(location.pathname) && document.querySelector(".step-of")`)

	// Who starts whom is a picture of the same kind.
	k.visit("/executors/1/lineage")
	k.goesAbout(k.ids("svg.flow-wide a")...)

	w := k.window
	w.visit("/jobs/4/run")
	w.do(click("main .primary, dialog .primary"), holds(`/^\/runs\/\d+$/.test(location.pathname) && document.querySelector("svg.flow-wide .at-approval")`))
	first := strings.TrimPrefix(w.address(), a.url)
	w.do(click(`#step-ask [hx-get$="/approve"]`), holds(`document.querySelector("dialog").open && document.querySelector("dialog").textContent.includes("Pay the suppliers?")`),
		write(`dialog [name="remark"]`, "the amounts agree"), click("dialog .primary"))
	w.do(holds(`document.querySelectorAll("svg.flow-wide .at-failed").length === 1 && document.querySelector("#step-ask").textContent.includes("the amounts agree") && document.querySelector("#step-close").textContent.includes("the ledger is locked")`))
	close(mended)
	w.do(click(`.page-head [href$="/rerun"]`), holds(`document.querySelector("dialog").open`), click("dialog .primary"),
		holds(fmt.Sprintf(`/^\/runs\/\d+$/.test(location.pathname) && location.pathname !== %q && document.querySelectorAll("svg.flow-wide .at-success").length === 3`, first)))
}
