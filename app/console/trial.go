package console

import (
	"maps"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/views/glue"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/ui"
)

// trial is the form that runs a script once; address is the one that was chosen, if any.
func (c *gluePages) trial(ec echo.Context, page layout.Page, j db.Job, param, address string) *glue.Trial {
	t := &glue.Trial{Param: param}
	for _, a := range c.reachable(page, who(ec), j.JobGroup) {
		t.Addresses = append(t.Addresses, ui.Option{Value: a.URL, Label: trialLabel(page, a), Selected: a.URL == address})
	}
	return t
}

// trialLabel says of an address that does not answer that it does not.
func trialLabel(page layout.Page, a groups.Address) string {
	if !isLost(a.State) {
		return a.URL
	}
	return a.URL + " · " + page.T("address."+string(a.State))
}

// glueTry runs a text once before it is saved. htmx gets its output to show beside the text; anybody else the editor with the text as it was
// typed, or the run where nothing is typed.
func (c *gluePages) glueTry(ec echo.Context) error {
	j, err := c.script(ec)
	if err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	param := ec.FormValue(glue.FieldParam)
	in := manage.TrialInput{Source: ec.FormValue(glue.FieldSource), Param: &param, Address: ec.FormValue(glue.FieldAddress)}
	run, err := c.jobs.TryScript(ctx, p, j.ID, in)
	page := glue.EditPage{Page: c.Page(ec), Source: in.Source, Remark: ec.FormValue(glue.FieldRemark), Version: ec.FormValue(glue.FieldVersion)}
	page.Path = link.JobGlue(j.ID) // nothing is there to be read at this one
	var errs map[string]string
	invalid := false
	if err != nil {
		errs, invalid = fieldErrors(page.Page, err)
	}
	switch {
	case invalid && isPartial(ec.Request()):
		return render(ec, http.StatusUnprocessableEntity, glue.Faults(slices.Sorted(maps.Values(errs))))
	case err != nil && !invalid:
		return err
	case err == nil && isPartial(ec.Request()):
		return c.trialOutput(ec, run)
	}
	may, fault := c.jobs.MayTry(ctx, p, j)
	if fault != nil {
		return fault
	}
	if !may { // the text that waits, of which nothing can be lost
		if invalid {
			return err
		}
		return c.goTo(ec, link.Run(run), done("glue.flash.tried", "Name", j.JobDesc))
	}
	page.Trial = c.trial(ec, page.Page, j, param, in.Address)
	page.Trial.Run, page.Trial.Errors, page.Errors = run, errs, errs
	status := http.StatusOK
	if invalid {
		status = http.StatusUnprocessableEntity
	}
	return c.glueForm(ec, status, page, j)
}

// trialOutput is a run as it stands beside the editor.
func (c *gluePages) trialOutput(ec echo.Context, run int64) error {
	ctx, p := ec.Request().Context(), who(ec)
	r, err := c.runs.Get(ctx, p, run)
	if err != nil {
		return err
	}
	page := runs.DetailPage{Page: c.Page(ec), Live: true, Log: runs.Log{Status: runs.LogLive, First: 1, Next: 1}}
	if page.Timeline, err = c.timelineOf(ctx, page.Page, p, r); err != nil {
		return err
	}
	return render(ec, http.StatusOK, runs.Output(page))
}

// mayTryWaiting says whether somebody may try the change that waits.
func (c *gluePages) mayTryWaiting(ec echo.Context, j db.Job, change db.ScriptChange) bool {
	return who(ec).Can(j.JobGroup, auth.RightRun) && c.jobs.MayApprove(who(ec), j, change)
}
