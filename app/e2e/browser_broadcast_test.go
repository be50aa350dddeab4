package e2e

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
)

// TestBrowserBroadcast ends a run of a broadcast to two executors alone, and then what is left of the next broadcast as a
// whole: the question says which runs are meant by each answer.
func TestBrowserBroadcast(t *testing.T) {
	t.Parallel()
	for _, s := range []screen{desk, phone} {
		t.Run(s.name, func(t *testing.T) {
			works(t)
			n := startNight(t, s)
			second := startExecutor(t, executorSettings{admins: []string{n.admin.url}, appName: "payments"})
			eventually(t, "second executor", func() error {
				if _, body := n.get(t, link.Executor(n.group)); strings.Contains(body, second.url) {
					return nil
				}
				return errNotYet
			})
			toAll := url.Values{jobs.FieldRoute: {"SHARDING_BROADCAST"}}
			// The page knows an executor before the routes do: they do when a broadcast becomes two runs.
			probe, before := n.schedule("Probe", "exit 0", toAll), 0
			eventually(t, "a broadcast to both", func() error {
				n.run(probe, "")
				_, body := n.get(t, link.RunsPath)
				had := before
				newest := regexp.MustCompile(`id="run-(\d+)"`).FindStringSubmatch(body)
				var err error
				if before, err = strconv.Atoi(newest[1]); err == nil && before == had+2 {
					return nil
				}
				return errNotYet
			})
			job, first := n.schedule("Settle", countdown, toAll), before+1
			n.run(job, "")
			// Requests sent at once may overtake each other: the first broadcast has its executors before there is a second.
			for i := range 2 {
				eventually(t, "the first broadcast to begin", func() error {
					if _, body := n.get(t, link.Run(int64(first+i))); strings.Contains(body, "line 150") {
						return nil
					}
					return errNotYet
				})
			}
			n.run(job, "")
			at := func(i int) string { return fmt.Sprint("/runs/", first+i) }
			scopes := `[...document.querySelectorAll("dialog [name=scope]")].map((s) => s.value).join(" ")`
			shards := `[...document.querySelectorAll(".shards li")]`
			// A kill loads the page again; what is visited meanwhile would be lost.
			leave, comesBack := chromedp.Evaluate(`window.before = true`, nil), holds(`!window.before`)
			n.visit(at(0))
			n.do(holds(shards+`.length === 2 && document.querySelectorAll("[data-log-lines] li").length > 160`), click(`#run-head [hx-get$="/kill"]`), holds(`document.querySelector("dialog").open`))
			n.inspectNow("the question")
			n.do(holds(scopes+` === "run broadcast job"`), holds(`document.querySelector("dialog [name=scope]:checked").value === "run"`),
				// The other executor goes on.
				leave, click("dialog .danger"), holds(shards+`.filter((shard) => shard.querySelector(".badge.killed")).length === 1`), holds(shards+`.filter((shard) => shard.textContent.includes("Running")).length === 1`),
				holds(`document.querySelector("#run-head .badge.killed")`), comesBack)
			// The second broadcast runs on the executor that is free and waits at the other: both are ended at once.
			n.visit(at(2))
			n.do(holds(shards+`.length === 2`), click(`#run-head [hx-get$="/kill"]`), holds(scopes+` === "run broadcast job"`), click(`dialog [name=scope][value=broadcast]`), leave, click("dialog .danger"),
				holds(shards+`.filter((shard) => shard.querySelector(".badge.killed")).length === 2`), shows(at(2)), comesBack)
			n.visit(at(1))
			n.do(holds(`document.querySelector("#run-head .badge").textContent.includes("Running")`))
			n.admin.noPanic(t)
		})
	}
}
