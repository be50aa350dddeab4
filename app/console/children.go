package console

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/flows"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

// jobChildren answers the search of a job's form for children, and that of a flow's for the job of a step. It leaves out those that are chosen already.
func (c *jobPages) jobChildren(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	if !p.CanAnywhere(auth.RightEdit) {
		return &problem.Error{Kind: problem.Forbidden}
	}
	jobID, _ := strconv.ParseInt(ec.QueryParam("job"), 10, 64) // 0 is a new one
	chosen, _, _ := jobspec.ChildIDs(ec.QueryParam(jobs.FieldChildren))
	find, mark := c.jobs.FindChildren, ""
	if kind := flow.Kind(ec.QueryParam("step")); kind != "" { // of a flow
		chosen, _, _ = jobspec.ChildIDs(ec.QueryParam(flows.FieldPick))
		mark, find = flows.PickMark, func(ctx context.Context, p auth.Principal, jobID int64, text string, chosen []int64) ([]manage.Child, error) {
			return c.jobs.FindForStep(ctx, p, jobID, text, chosen, kind == flow.KindFlow)
		}
	}
	found, err := find(ctx, p, jobID, searched(ec), chosen)
	if err != nil {
		return err
	}
	return c.jobHits(ec, mark, found)
}

// searched is what the search of a job picker looks for.
func searched(ec echo.Context) string {
	text := strings.TrimPrefix(strings.TrimSpace(ec.QueryParam(ui.FieldJobSearch)), "#")
	if r := []rune(text); len(r) > 100 {
		text = string(r[:100])
	}
	return text
}

// jobHits answers the search of a job picker.
func (f *frame) jobHits(ec echo.Context, mark string, found []manage.Child) error {
	groups, err := f.groupTitles(ec)
	if err != nil {
		return err
	}
	page := f.Page(ec)
	return render(ec, http.StatusOK, ui.JobHits(page.Printer, mark, drawnChildren(page, found, groups)))
}

// pickedJob is the job of a form with its name, if whoever looks may know it; none for what is no id.
func (f *frame) pickedJob(ec echo.Context, from *manage.Jobs, typed string) ([]ui.PickedJob, error) {
	children, ok, err := from.Children(ec.Request().Context(), who(ec), typed)
	if err != nil || !ok || len(children) != 1 {
		return nil, err
	}
	groups, err := f.groupTitles(ec)
	return drawnChildren(f.Page(ec), children, groups), err
}

func drawnChildren(page layout.Page, list []manage.Child, groups groupTitles) []ui.PickedJob {
	drawn := make([]ui.PickedJob, len(list))
	for i, child := range list {
		drawn[i] = ui.PickedJob{ID: child.ID, Name: child.Name}
		if child.Name != "" {
			drawn[i].Group = groups.title(child.Group)
		}
		if child.Ring != "" {
			drawn[i].Ring = page.T("jobs.children.ring", "Ring", child.Ring)
		}
	}
	return drawn
}
