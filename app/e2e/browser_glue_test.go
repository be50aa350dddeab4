package e2e

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/punctual-job/punctual/views/link"
)

const (
	editorText = `document.querySelector("#glue-source").value`
	versions   = `document.querySelectorAll(".versions > li").length`
)

// TestBrowserScriptEditor writes a script where it runs: types into the editor, saves with a remark, runs it with the output
// beside it, compares with an earlier version and takes that back.
func TestBrowserScriptEditor(t *testing.T) {
	t.Parallel()
	for _, s := range []screen{desk, phone} {
		t.Run(s.name, func(t *testing.T) {
			works(t)
			startNight(t, s).writesScript(s)
		})
	}
}

func (n *night) writesScript(s screen) {
	n.expect("422") // a version without a remark
	job := n.job("Settle", "echo first edition")
	n.visit(link.JobGlue(job))
	n.do(click(".cm-content"), holds(`document.activeElement.matches(".cm-content")`),
		keys("a", input.ModifierCtrl), keys(kb.Delete), holds(editorText+` === ""`),
		keys("# <tags> & "), input.InsertText("付款"), keys(kb.Enter+"echo second edition"), holds(editorText+` === "# <tags> & 付款\necho second edition"`),
		// Keys of lists and searches are letters here.
		keys("/?gjx"), holds(editorText+`.endsWith("edition/?gjx") && !document.querySelector("dialog").open`),
		keys(strings.Repeat(kb.Backspace, 5)), holds(editorText+`.endsWith("second edition")`))
	// A version has a remark; what was typed stays.
	n.do(write("#glue-remark", "new"), chromedp.Evaluate(`document.querySelector("[data-glue-form]").noValidate = true`, nil), click(".glue-save .primary"),
		holds(`document.querySelector("#glue-remark-error") && document.querySelector(".cm-content").textContent.includes("second edition") && `+editorText+`.includes("付款")`),
		write("#glue-remark", "second edition"), click(".cm-content"), keys("s", input.ModifierCtrl),
		holds(`document.querySelector("#toasts .success") && `+versions+` === 2`))
	// What is typed runs once before it is saved, with its output beside it, and stays.
	n.do(click(".cm-content"), keys(kb.End, input.ModifierCtrl), keys(" drafted"),
		click(".glue-run button"), holds(`document.querySelector("#run-badge .badge.success")`), holds(`document.querySelector("#glue-output [data-log-lines]").textContent.includes("second edition drafted")`),
		holds(`document.querySelector(".cm-content").textContent.includes("second edition drafted") && `+versions+` === 2`),
		write("#glue-output [data-find] input", "SECOND"), holds(`CSS.highlights.get("found").size === 1`))
	n.inspectNow("a script with its output")
	// The first version beside the current one, side by side where there is room, and back to it. What was said about the save
	// lies over nothing that is pressed here.
	n.do(click(".versions > li:last-child .icon-button"), holds(`document.querySelector(".cm-mergeView, .difference table")`))
	if s == desk {
		n.do(holds(`document.querySelector(".cm-merge-a")?.textContent.includes("first edition") && document.querySelector(".cm-merge-b")?.textContent.includes("second edition")`))
	} else {
		n.do(holds(`document.querySelector("td.left").textContent.includes("first edition") && document.querySelector("td.right").textContent.includes("付款")`))
	}
	n.do(click(".page-head .primary"), holds(versions+` === 3 && `+editorText+` === "echo first edition"`))
	n.do(click(".glue-run button"), holds(`document.querySelector("#glue-output [data-log-lines]")?.textContent.includes("first edition")`))
	n.admin.noPanic(n.t)
}

// TestBrowserScriptConflict saves a script that somebody else has saved meanwhile: what only they changed is in the editor, of what both changed all
// three texts are shown, theirs is taken with a key, and what is saved then has both.
func TestBrowserScriptConflict(t *testing.T) {
	t.Parallel()
	for _, s := range []screen{desk, phone} {
		t.Run(s.name, func(t *testing.T) {
			works(t)
			n := startNight(t, s)
			n.expect("422")
			const first = "set -e\n\necho one\necho two\n\nls /tmp\n\ndate\n"
			job := n.job("Settle", first)
			n.visit(link.JobGlue(job))
			n.do(holds(`document.querySelector(".cm-content")`))
			_, page := n.get(n.t, link.JobGlue(job))
			version := regexp.MustCompile(`name="version" value="([^"]+)"`).FindStringSubmatch(page)
			n.must(n.t, link.JobGlue(job), url.Values{"source": {strings.NewReplacer("two", "2 <b>", "date", "date -u").Replace(first)}, "remark": {"theirs"}, "version": {version[1]}})
			// Typed by hand into the editor: the whole text anew, since keys alone differ between machines.
			n.do(click(".cm-content"), keys("a", input.ModifierCtrl), keys(kb.Delete), holds(editorText+` === ""`),
				input.InsertText(strings.NewReplacer("two", "zwei", "/tmp", "/var").Replace(first)), holds(editorText+`.includes("zwei")`),
				write("#glue-remark", "both of us"), click(".glue-save .primary"),
				holds(`document.querySelector(".conflicts pre:nth-child(2)")?.textContent === "echo two" && document.querySelector(".cm-content").textContent.includes("date -u") && `+editorText+`.includes("ls /var") && `+editorText+`.includes("zwei")`),
				holds(versions+` === 2 && document.querySelector("#glue-remark").value === "both of us"`))
			n.inspectNow("a script that two people changed")
			n.do(chromedp.Focus(".conflicts button[name=take]", chromedp.ByQuery), keys(kb.Enter),
				holds(`!document.querySelector(".conflicts") && `+editorText+` === `+strconv.Quote(strings.NewReplacer("two", "2 <b>", "/tmp", "/var", "date", "date -u").Replace(first))),
				click(".glue-save .primary"), holds(`document.querySelector("#toasts .success") && `+versions+` === 3 && `+editorText+`.includes("2 <b>") && `+editorText+`.includes("ls /var")`))
			n.admin.noPanic(n.t)
		})
	}
}
