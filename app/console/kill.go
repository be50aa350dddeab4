package console

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/ui"
)

func (c *runPages) runKillForm(ec echo.Context) error {
	page, _, err := c.killPage(ec, "")
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, runs.Kill(page), ui.FragmentDialog)
}

// killPage asks about a run, and about those that may be meant along with it: the rest of its broadcast, and whatever else
// of its job has not ended. It also gives the runs that a scope stands for.
func (c *runPages) killPage(ec echo.Context, scope string) (runs.KillPage, []int64, error) {
	ctx, p := ec.Request().Context(), who(ec)
	logID, err := id(ec)
	if err != nil {
		return runs.KillPage{}, nil, err
	}
	if _, err := c.runs.Need(ctx, p, logID, auth.RightRun); err != nil {
		return runs.KillPage{}, nil, err
	}
	page := runs.KillPage{Page: c.Page(ec)}
	timeline, err := c.timeline(ctx, page.Page, p, logID)
	if err != nil {
		return page, nil, err
	}
	page.Row, page.Ended, page.Flow = timeline.Row, !timeline.State.Open(), timeline.Glue == string(jobspec.GlueFlow)
	open, err := c.runs.OpenOfJob(ctx, p, timeline.JobID)
	if err != nil {
		return page, nil, err
	}
	meant := map[string][]int64{runs.KillOne: {logID}}
	for _, s := range timeline.Shards {
		if s.State.Open() {
			meant[runs.KillBroadcast] = append(meant[runs.KillBroadcast], s.LogID)
		}
	}
	for _, r := range open {
		meant[runs.KillJob] = append(meant[runs.KillJob], r.ID)
		if r.ID != logID && timeline.Address != "" && string(r.ExecutorAddress) == timeline.Address {
			page.Beside++
		}
	}
	same := len(meant[runs.KillBroadcast]) == len(meant[runs.KillJob]) // one choice says it
	if _, known := meant[scope]; !known {
		scope = runs.KillOne
	}
	for _, name := range []string{runs.KillOne, runs.KillBroadcast, runs.KillJob} {
		if n := len(meant[name]); name == runs.KillOne || n > 1 && !(same && name == runs.KillJob) {
			page.Scopes = append(page.Scopes, ui.Option{Value: name, Label: page.T("runs.kill.scope."+name, "N", strconv.Itoa(n), "ID", strconv.FormatInt(logID, 10)), Selected: name == scope})
		}
	}
	return page, meant[scope], nil
}

// runKill ends a run, or several. That an executor cannot be asked is said in the dialog, where it can be tried again.
func (c *runPages) runKill(ec echo.Context) error {
	page, ids, err := c.killPage(ec, ec.FormValue(runs.FieldScope))
	if err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	if len(ids) > 1 || ids[0] != page.Row.LogID { // the run itself may have ended since it was asked
		ended, err := c.runs.KillAll(ctx, p, ids)
		if err == nil {
			return c.goTo(ec, link.Run(page.Row.LogID), done("runs.flash.killedall", "Count", strconv.Itoa(ended), "N", strconv.Itoa(ended)))
		}
		return c.killFault(ec, page, err, func(why string) string {
			return page.T("runs.kill.some", "N", strconv.Itoa(ended), "All", strconv.Itoa(len(ids)), "Why", why)
		})
	}
	err = c.runs.Kill(ctx, p, page.Row.LogID)
	if err == nil {
		return c.goTo(ec, link.Run(page.Row.LogID), done("runs.flash.killed", "ID", strconv.FormatInt(page.Row.LogID, 10)))
	}
	return c.killFault(ec, page, err, func(why string) string { return why })
}

func (c *runPages) killFault(ec echo.Context, page runs.KillPage, err error, say func(why string) string) error {
	switch p := problem.From(err); p.Kind {
	case problem.Executor, problem.Conflict:
		page.Problem = say(p.Text(page.Printer))
		return renderPart(ec, http.StatusUnprocessableEntity, runs.Kill(page), ui.FragmentDialog)
	default:
		return err
	}
}
