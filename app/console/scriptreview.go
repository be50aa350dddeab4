package console

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/views/glue"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
)

// glueWaiting is the change of a script that waits, beside what runs.
func (c *gluePages) glueWaiting(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	j, change, ok, err := c.jobs.ScriptChange(ec.Request().Context(), who(ec), jobID)
	if err != nil {
		return err
	}
	if !ok {
		return c.noneWaits(ec, jobID)
	}
	page := glue.WaitingPage{
		Page: c.pageWithFlash(ec), JobID: j.ID, Name: j.JobDesc, Type: string(j.GlueType), Author: change.Author, Remark: change.Remark,
		At: c.at(c.Page(ec), fromMillis(change.MadeAt)), Old: string(j.GlueSource), New: change.Source, Version: manage.ScriptChangeVersion(change),
		MayApprove: c.jobs.MayApprove(who(ec), j, change), Moved: change.Base != manage.GlueVersion(j), Nonce: styleNonce(ec),
		Lines: lineDifference(string(j.GlueSource), change.Source, differenceContext),
	}
	if c.mayTryWaiting(ec, j, change) {
		page.Trial = c.trial(ec, page.Page, j, string(j.ExecutorParam), "")
	}
	return render(ec, http.StatusOK, glue.Waiting(page))
}

// glueDecide approves or rejects the waiting change that was looked at.
func (c *gluePages) glueDecide(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	decide, word := c.jobs.RejectScript, "glue.flash.rejected"
	if ec.FormValue(glue.FieldDecision) == glue.DecisionApprove {
		decide, word = c.jobs.ApproveScript, "glue.flash.approved"
	}
	err = decide(ec.Request().Context(), who(ec), jobID, ec.FormValue(glue.FieldVersion))
	if err == nil {
		return c.goTo(ec, link.JobGlue(jobID), done(word))
	}
	switch why := problem.From(err); why.Key {
	case "problem.script.none":
		return c.noneWaits(ec, jobID)
	case "problem.changed":
		return c.goTo(ec, link.JobGlueWaiting(jobID), flash{Kind: layout.FlashError, Key: "glue.flash.another"})
	case "problem.script.base": // the page says what to do
		return ec.Redirect(http.StatusSeeOther, link.JobGlueWaiting(jobID))
	}
	return err
}

// noneWaits leads from a change that waits no more to the script, and says what became of it.
func (c *gluePages) noneWaits(ec echo.Context, jobID int64) error {
	action, by, err := c.jobs.LastDecision(ec.Request().Context(), who(ec), jobID)
	if err != nil {
		return err
	}
	f := flash{Kind: layout.FlashInfo, Key: "problem.script.none"}
	if action == manage.ActionApprove {
		f.Key, f.Args = "glue.flash.decided.approve", []string{"Name", by}
	} else if action == manage.ActionReject {
		f.Key, f.Args = "glue.flash.decided.reject", []string{"Name", by}
	}
	return c.goTo(ec, link.JobGlue(jobID), f)
}
