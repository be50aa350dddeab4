package console

import (
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
)

// chainPages make a flow of a job and its children.
type chainPages struct {
	*frame
	jobs *manage.Jobs
}

func (c *chainPages) routes(g *echo.Group) {
	g.GET("/jobs/:id/chain", c.show)
	g.POST("/jobs/:id/chain", c.create)
	g.POST("/jobs/:id/unchain", c.undo)
}

// chainValues are the values of the form.
type chainValues struct {
	Name    string `form:"name"`
	Version string `form:"version"`
}

func (c *chainPages) show(ec echo.Context) error {
	page := jobs.ChainPage{Page: c.Page(ec)}
	return c.page(ec, http.StatusOK, page)
}

// page shows the chain as it is now. Why it is none is said on the page.
func (c *chainPages) page(ec echo.Context, status int, page jobs.ChainPage) error {
	ctx, p := ec.Request().Context(), who(ec)
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	chain, err := c.jobs.Chain(ctx, p, jobID)
	if refused, is := errors.AsType[*problem.Error](err); is && refused.Kind == problem.Conflict {
		page.Problem = page.T(refused.Key, refused.Args...)
		status = http.StatusConflict
	} else if err != nil {
		return err
	}
	page.JobID, page.Job = jobID, chain.First.JobDesc
	if page.Problem != "" {
		return render(ec, status, jobs.Chain(page))
	}
	if page.Name == "" && page.Errors == nil {
		page.Name = page.T("chain.name", "Name", page.Job)
	}
	page.Source, page.Version = chain.Source, chain.Version
	if page.Graph, err = flowGraph(ctx, page.Page, c.jobs, p, chain.Definition, nil); err != nil {
		return err
	}
	switch {
	case chain.Started:
		page.Changes = append(page.Changes, page.T("chain.started", "Name", page.Job))
	case chain.First.ScheduleType.Schedules():
		page.Changes = append(page.Changes, page.T("chain.stopped", "Name", page.Job))
	default:
		page.Changes = append(page.Changes, page.T("chain.noschedule"))
	}
	page.Changes = append(page.Changes, page.T("chain.children", "Names", chainNames(page, chain.Changed)))
	if len(chain.Joins) > 0 {
		page.Changes = append(page.Changes, page.T("chain.joins", "Names", chainNames(page, chain.Joins)))
	}
	var own []db.Job
	for _, j := range chain.Jobs[1:] {
		if jobspec.Started(j.TriggerStatus) {
			own = append(own, j)
		}
	}
	if len(own) > 0 {
		page.Changes = append(page.Changes, page.T("chain.own", "Names", chainNames(page, own)))
	}
	if len(chain.Gone) > 0 {
		names := make([]string, len(chain.Gone))
		for i, id := range chain.Gone {
			names[i] = "#" + format.Digits(id)
		}
		page.Changes = append(page.Changes, page.T("chain.gone", "Names", page.List(names)))
	}
	page.Changes = append(page.Changes, page.T("chain.kept"))
	return render(ec, status, jobs.Chain(page))
}

func chainNames(page jobs.ChainPage, list []db.Job) string {
	names := make([]string, len(list))
	for i, j := range list {
		names[i] = j.JobDesc
	}
	return page.List(names)
}

func (c *chainPages) create(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	var values chainValues
	if err := bind(ec, &values); err != nil {
		return err
	}
	made, err := c.jobs.MakeFlow(ec.Request().Context(), who(ec), jobID, manage.ChainInput{Name: values.Name, Version: values.Version})
	if err != nil {
		page := jobs.ChainPage{Page: c.Page(ec), Name: values.Name}
		var ok bool
		if page.Errors, ok = fieldErrors(page.Page, err); !ok {
			return err
		}
		for name, text := range page.Errors {
			if name != jobs.FieldName {
				page.Faults = append(page.Faults, text)
			}
		}
		slices.Sort(page.Faults)
		return c.page(ec, http.StatusUnprocessableEntity, page)
	}
	return c.goTo(ec, link.Job(made), done("chain.done", "Name", values.Name))
}

// undo makes of a flow the chain again that it was made of.
func (c *chainPages) undo(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	made, err := c.jobs.Need(ctx, p, jobID, auth.RightEdit)
	if err != nil {
		return err
	}
	if err := c.jobs.UndoFlow(ctx, p, jobID); err != nil {
		return err
	}
	return c.goTo(ec, link.JobsPath, done("unchain.done", "Name", made.JobDesc))
}
