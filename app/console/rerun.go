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

// runDeed is something that is done to many runs.
type runDeed struct {
	name        string
	preview, do func(context.Context, auth.Principal, manage.Rerun) ([]manage.BulkItem, error)
}

func (c *runPages) rerunDeed() runDeed {
	return runDeed{manage.BulkRerun, c.jobs.PreviewRerun, c.jobs.Rerun}
}

func (c *runPages) killDeed() runDeed {
	return runDeed{
		manage.BulkKill,
		func(ctx context.Context, p auth.Principal, in manage.Rerun) ([]manage.BulkItem, error) {
			return c.runs.PreviewKill(ctx, p, in.IDs)
		},
		func(ctx context.Context, p auth.Principal, in manage.Rerun) ([]manage.BulkItem, error) {
			return c.runs.KillMany(ctx, p, in.IDs)
		},
	}
}

// bulkForm shows to which of the runs that are picked, or of all under a filter, it would be done.
func (c *runPages) bulkForm(ec echo.Context, deed runDeed) error {
	in := readRerun(ec)
	in.Batch = manage.NewBatch()
	all := ec.QueryParam(jobs.FieldAll) != ""
	if all {
		var err error
		if in.IDs, err = c.runs.Matching(ec.Request().Context(), who(ec), c.runFilter(link.RunsFrom(ec.QueryParams()), c.zoneFor(who(ec)))); err != nil {
			return err
		}
	}
	page, err := c.bulkPage(ec, in, deed.name, deed.preview)
	if err != nil {
		return err
	}
	if all || len(in.IDs) > runsPart {
		page.Fix(false)
	}
	return renderPart(ec, http.StatusOK, jobs.Bulk(page), ui.FragmentDialog)
}

// bulk does it: to those that are named, or to the next of those that a preview named.
func (c *runPages) bulk(ec echo.Context, deed runDeed) error {
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
		for _, one := range set[:min(len(set), runsPart)] {
			in.IDs = append(in.IDs, one.ID)
		}
	}
	page, err := c.bulkPage(ec, in, deed.name, deed.do)
	if err != nil {
		return err
	}
	if all {
		page.GoOn(told, set[len(in.IDs):], false)
		if len(page.Rest) > 0 {
			return bulkGoesOn(ec, page)
		}
	}
	return bulkDone(ec, page)
}

// runsPart is to how many runs it is done at once, so that their progress is seen.
const runsPart = 50

func readRerun(ec echo.Context) manage.Rerun {
	_ = ec.Request().ParseForm() // a body that cannot be read has been refused
	return manage.Rerun{Type: jobspec.TriggerManual, IDs: picked(ec.Request().Form)}
}

func (c *runPages) bulkPage(ec echo.Context, in manage.Rerun, name string, do func(context.Context, auth.Principal, manage.Rerun) ([]manage.BulkItem, error)) (jobs.BulkPage, error) {
	page := jobs.BulkPage{Page: c.Page(ec), Do: name, Batch: in.Batch}
	items, err := do(ec.Request().Context(), who(ec), in)
	if err != nil {
		return page, err
	}
	for _, item := range items {
		drawn := jobs.BulkItem{ID: item.ID, Name: item.Name, Changes: item.Changes, Was: item.Was}
		if item.Later {
			drawn.Later = refusal(page.Page, item.Err)
		} else if item.Err != nil {
			drawn.Problem = refusal(page.Page, item.Err)
		} else if drawn.Changes {
			page.Count++
		}
		page.Items = append(page.Items, drawn)
	}
	return page, nil
}
