package console

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/upkeep"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/ui"
)

// clearPages are for deleting runs that nobody needs.
type clearPages struct {
	*frame
	runs *manage.Runs
	jobs *manage.Jobs
}

func (c *clearPages) routes(g *echo.Group) {
	g.GET(link.ClearPath, c.clearPage)
	g.POST(link.ClearPath, c.clear)
	g.GET(link.ClearProgressPath, c.clearProgress)
	g.POST("/runs/clear/:id/stop", c.clearStop)
}

// clearTypes are the ways to clear, in upstream's order.
var clearTypes = []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}

// clearInput reads a choice from a query or a form.
func clearInput(q url.Values) manage.ClearInput {
	number := func(name string) int64 {
		n, err := strconv.ParseInt(q.Get(name), 10, 64)
		if err != nil {
			return 0
		}
		return max(0, n)
	}
	return manage.ClearInput{Group: number(runs.FieldGroup), Job: number(runs.FieldJob), Type: upkeep.ClearType(min(number(runs.FieldType), math.MaxInt32))}
}

// clearPage shows the form, and what it would do once that was asked for.
func (c *clearPages) clearPage(ec echo.Context) error {
	in := clearInput(ec.QueryParams())
	page, err := c.clearFrame(ec, in)
	if err != nil {
		return err
	}
	if ec.QueryParams().Has("preview") {
		preview, err := c.runs.PreviewClear(ec.Request().Context(), who(ec), in)
		if err != nil {
			return c.clearFault(ec, page, err)
		}
		page.Preview = clearPreview(page.Page, preview)
	}
	return render(ec, http.StatusOK, runs.Clear(page))
}

func clearPreview(page layout.Page, p upkeep.ClearPreview) *runs.ClearPreview {
	key := "clear.preview.exact"
	if !p.Exact {
		key = "clear.preview.about"
	}
	out := &runs.ClearPreview{Nothing: p.Runs == 0, Text: page.T(key, "Count", p.Runs, "N", format.Number(p.Runs))}
	if p.Open > 0 {
		out.Open = page.T("clear.preview.open", "N", format.Number(p.Open))
	}
	return out
}

// clearFault shows the form again with what is wrong.
func (c *clearPages) clearFault(ec echo.Context, page runs.ClearPage, err error) error {
	errs, ok := fieldErrors(page.Page, err)
	if !ok {
		return err
	}
	page.Errors = errs
	return render(ec, http.StatusUnprocessableEntity, runs.Clear(page))
}

// clearFrame is the page around a choice.
func (c *clearPages) clearFrame(ec echo.Context, in manage.ClearInput) (runs.ClearPage, error) {
	ctx, p := ec.Request().Context(), who(ec)
	if !p.CanAnywhere(auth.RightEdit) {
		return runs.ClearPage{}, &problem.Error{Kind: problem.Forbidden}
	}
	text := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	page := runs.ClearPage{
		Page: c.pageWithFlash(ec), Group: text(in.Group), Job: text(in.Job), Type: text(int64(in.Type)), NeedGroup: !p.Admin,
	}
	titles, err := c.groupTitles(ec)
	if err != nil {
		return page, err
	}
	page.Groups = titles.where(p, auth.RightEdit).options(in.Group)
	names, err := c.jobs.Names(ctx, p, in.Group)
	if err != nil {
		return page, err
	}
	for _, n := range names {
		page.Jobs = append(page.Jobs, ui.Option{Value: text(n.ID), Label: n.JobDesc, Selected: n.ID == in.Job})
	}
	chosen := page.Type
	if chosen == "" {
		chosen = clearTypes[0]
	}
	page.Types = ui.Labelled(page.Printer, "clear.type.", clearTypes, chosen, false)
	days, err := c.runs.RetentionDays(ctx)
	if err != nil {
		return page, err
	}
	page.DaysText = page.T("clear.retention.now", "Count", days, "Days", strconv.Itoa(days))
	if days == 0 {
		page.DaysText = page.T("clear.retention.forever")
	}
	return page, c.clearList(ec, &page, titles)
}

func (c *clearPages) clearList(ec echo.Context, page *runs.ClearPage, titles groupTitles) error {
	ctx, p := ec.Request().Context(), who(ec)
	list, err := c.runs.Clearings(ctx, p)
	if err != nil {
		return err
	}
	var ids []int64
	for _, l := range list {
		if l.JobID != 0 {
			ids = append(ids, l.JobID)
		}
	}
	jobs, err := c.jobs.OfRuns(ctx, p, ids...)
	if err != nil {
		return err
	}
	for _, l := range list {
		var what []string
		if l.GroupID != 0 {
			what = append(what, titles.title(l.GroupID))
		}
		if l.JobID != 0 {
			name, _ := jobName(page.Page, jobs, l.JobID)
			what = append(what, name)
		}
		if len(what) == 0 {
			what = append(what, page.T("clear.everything"))
		}
		row := runs.Clearing{
			ID: l.ID, What: strings.Join(what, " · "), User: l.User, At: c.at(page.Page, l.CreatedAt), State: "done",
			Percent: strconv.Itoa(int(100 * l.Progress)), Deleted: format.Number(l.Deleted),
		}
		switch l.State {
		case upkeep.ClearingOpen:
			row.State, row.CanStop = "open", true
		case upkeep.ClearingStopped:
			row.State = "stopped"
		case upkeep.ClearingDone:
		}
		page.Clearings = append(page.Clearings, row)
	}
	return nil
}

// clear asks for the deleting and leads back to where its progress is shown.
func (c *clearPages) clear(ec echo.Context) error {
	in := clearInput(ec.Request().PostForm)
	page, err := c.clearFrame(ec, in)
	if err != nil {
		return err
	}
	if ec.FormValue(runs.FieldPreviewed) != page.Previewed() {
		// The choice was changed after the preview: show what this one would do.
		preview, err := c.runs.PreviewClear(ec.Request().Context(), who(ec), in)
		if err != nil {
			return c.clearFault(ec, page, err)
		}
		page.Preview = clearPreview(page.Page, preview)
		return render(ec, http.StatusUnprocessableEntity, runs.Clear(page))
	}
	some, err := c.runs.Clear(ec.Request().Context(), who(ec), in)
	if err != nil {
		return c.clearFault(ec, page, err)
	}
	if !some {
		return c.goTo(ec, link.ClearPath, done("clear.nothing"))
	}
	return c.goTo(ec, link.ClearPath, done("clear.flash.started"))
}

func (c *clearPages) clearStop(ec echo.Context) error {
	n, err := id(ec)
	if err != nil {
		return err
	}
	if err := c.runs.StopClearing(ec.Request().Context(), who(ec), n); err != nil {
		return err
	}
	return c.goTo(ec, link.ClearPath, done("clear.flash.stopped"))
}

// clearProgress is the list of clearings alone. Without htmx it leads to the page.
func (c *clearPages) clearProgress(ec echo.Context) error {
	if !who(ec).CanAnywhere(auth.RightEdit) {
		return &problem.Error{Kind: problem.Forbidden}
	}
	if !isPartial(ec.Request()) {
		return ec.Redirect(http.StatusSeeOther, link.ClearPath)
	}
	page, err := c.clearFrame(ec, manage.ClearInput{})
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, runs.Clear(page), runs.FragmentClearings)
}
