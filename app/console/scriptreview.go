package console

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/views/glue"
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
		return problem.New(problem.NotFound, "problem.script.none")
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
	ctx, p, version := ec.Request().Context(), who(ec), ec.FormValue(glue.FieldVersion)
	if ec.FormValue(glue.FieldDecision) == glue.DecisionApprove {
		if err := c.jobs.ApproveScript(ctx, p, jobID, version); err != nil {
			return err
		}
		return c.goTo(ec, link.JobGlue(jobID), done("glue.flash.approved"))
	}
	if err := c.jobs.RejectScript(ctx, p, jobID, version); err != nil {
		return err
	}
	return c.goTo(ec, link.JobGlue(jobID), done("glue.flash.rejected"))
}
