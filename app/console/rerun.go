package console

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// rerunForm shows which of the runs that are picked, or of all under a filter, would be run again.
func (c *runPages) rerunForm(ec echo.Context) error {
	in := readRerun(ec)
	in.Batch = manage.NewBatch()
	all := ec.QueryParam(jobs.FieldAll) != ""
	if all {
		var err error
		if in.IDs, err = c.runs.Matching(ec.Request().Context(), who(ec), c.runFilter(link.RunsFrom(ec.QueryParams()), c.zoneFor(who(ec)))); err != nil {
			return err
		}
	}
	page, err := c.rerunPage(ec, in, c.jobs.PreviewRerun)
	if err != nil {
		return err
	}
	if all {
		page.Fix(false)
	}
	return renderPart(ec, http.StatusOK, jobs.Bulk(page), ui.FragmentDialog)
}

// rerun does it: to those that are named, or to the next of those that a preview named.
func (c *runPages) rerun(ec echo.Context) error {
	in := readRerun(ec)
	form := ec.Request().Form
	in.Batch = form.Get(jobs.FieldBatch)
	var set []jobs.Marked
	var told []jobs.BulkTold
	all := form.Has(jobs.FieldSet)
	if all {
		var ok, okTold bool
		set, ok = jobs.ReadSet(form.Get(jobs.FieldSet))
		told, okTold = jobs.ReadTold(form.Get(jobs.FieldTold))
		if !ok || !okTold || len(set)+len(told) > manage.MaxMatching {
			return problem.New(problem.Malformed, "problem.rerun.none")
		}
		in.IDs = nil
		for _, one := range set[:min(len(set), rerunPart)] {
			in.IDs = append(in.IDs, one.ID)
		}
	}
	page, err := c.rerunPage(ec, in, c.jobs.Rerun)
	if err != nil {
		return err
	}
	if all {
		page.GoOn(told, set[len(in.IDs):], false)
		if len(page.Rest) > 0 {
			return renderPart(ec, http.StatusOK, jobs.BulkGoesOn(page), ui.FragmentDialog)
		}
	}
	return renderPart(ec, http.StatusOK, jobs.BulkDone(page), ui.FragmentDialog)
}

// rerunPart is how many runs are run again at once, so that their progress is seen.
const rerunPart = 50

func readRerun(ec echo.Context) manage.Rerun {
	_ = ec.Request().ParseForm() // a body that cannot be read has been refused
	return manage.Rerun{Type: jobspec.TriggerManual, IDs: picked(ec.Request().Form)}
}

func (c *runPages) rerunPage(ec echo.Context, in manage.Rerun, do func(context.Context, auth.Principal, manage.Rerun) ([]manage.BulkItem, error)) (jobs.BulkPage, error) {
	page := jobs.BulkPage{Page: c.Page(ec), Do: manage.BulkRerun, Batch: in.Batch}
	items, err := do(ec.Request().Context(), who(ec), in)
	if err != nil {
		return page, err
	}
	for _, item := range items {
		drawn := jobs.BulkItem{ID: item.ID, Name: item.Name, Changes: item.Changes, Was: item.Was}
		if item.Err != nil {
			drawn.Problem = refusal(page.Page, item.Err)
		} else if drawn.Changes {
			page.Count++
		}
		page.Items = append(page.Items, drawn)
	}
	return page, nil
}
