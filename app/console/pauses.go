package console

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/pauses"
	"github.com/punctual-job/punctual/views/ui"
)

// pausePages are the times in which schedules hold still.
type pausePages struct {
	*frame
	pauses *manage.Pauses
	jobs   *manage.Jobs
}

func (c *pausePages) routes(g *echo.Group) {
	g.GET("/pauses", c.pauseList)
	g.POST("/pauses", c.pauseCreate)
	g.GET(link.PauseJobsPath, c.pauseJobs)
	g.POST("/pauses/:id/end", c.pauseEnd)
	g.POST("/pauses/:id/again", c.pauseAgain)
}

func (c *pausePages) pauseList(ec echo.Context) error {
	page := pauses.ListPage{Page: c.pageWithFlash(ec)}
	page.Values.Batch = manage.NewBatch()
	page.Values.Scope, page.Values.Target = ec.QueryParam(manage.PauseScope), ec.QueryParam(manage.PauseTarget)
	if page.Values.Scope == string(jobspec.PauseGroup) {
		page.Values.Group, page.Values.Target = page.Values.Target, ""
	}
	return c.pausePage(ec, http.StatusOK, page)
}

func (c *pausePages) pausePage(ec echo.Context, status int, page pauses.ListPage) error {
	p := who(ec)
	list, err := c.pauses.List(ec.Request().Context(), p)
	if err != nil {
		return err
	}
	for i := range list {
		page.Rows = append(page.Rows, c.pauseRow(page.Page, &list[i]))
	}
	page.Zone, page.CanAdd = zoneName(c.wall.Zone(), c.now()), p.CanAnywhere(auth.RightSchedule)
	for _, s := range jobspec.AllPauseScopes() {
		if p.Admin || s == jobspec.PauseJob || s == jobspec.PauseGroup {
			page.Scopes = append(page.Scopes, ui.Option{Value: string(s), Label: page.T("pauses.scope." + string(s)), Selected: string(s) == page.Values.Scope})
		}
	}
	if err := c.pauseTargets(ec, &page); err != nil {
		return err
	}
	for _, s := range jobspec.AllPausings() {
		page.Do = append(page.Do, ui.Option{Value: string(s), Label: page.T("pauses.strategy." + string(s)), Selected: string(s) == page.Values.Strategy})
	}
	return render(ec, status, pauses.List(page))
}

// pauseTargets adds what may be paused by its name: the groups, the tags, and the job that the form is about.
func (c *pausePages) pauseTargets(ec echo.Context, page *pauses.ListPage) error {
	p := who(ec)
	titles, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	chosen, _ := strconv.ParseInt(page.Values.Group, 10, 64) // what is no number is no group's
	page.Groups = titles.where(p, auth.RightSchedule).options(chosen)
	if page.Tags, err = c.pauses.Tags(ec.Request().Context(), p); err != nil {
		return err
	}
	page.Picked, err = c.pickedJob(ec, c.jobs, page.Values.Target)
	return err
}

// pauseJobs answers the search for the job to pause.
func (c *pausePages) pauseJobs(ec echo.Context) error {
	found, err := c.jobs.FindToSchedule(ec.Request().Context(), who(ec), searched(ec))
	if err != nil {
		return err
	}
	return c.jobHits(ec, "", found)
}

func (c *pausePages) pauseRow(page layout.Page, p *manage.Pause) pauses.Row {
	row := pauses.Row{
		ID: p.ID, State: string(p.State), From: c.at(page, p.From), Until: c.at(page, p.Until), Ends: c.at(page, p.Ends),
		Do: page.T("pauses.strategy." + string(p.Strategy)), Reason: p.Reason, By: p.By, EndedBy: p.EndedBy, CanEnd: p.CanEnd,
	}
	if p.Cron != "" {
		row.Next = c.at(page, p.Next)
	}
	name := p.Name
	if name == "" {
		name = "#" + strconv.FormatInt(p.Target, 10)
	}
	switch p.Scope {
	case jobspec.PauseJob:
		row.What, row.Link = page.T("pauses.what.job", "Name", name), link.Job(p.Target)
	case jobspec.PauseGroup:
		row.What, row.Link = page.T("pauses.what.group", "Name", name), link.Executor(p.Target)
	case jobspec.PauseTag:
		row.What = page.T("pauses.what.tag", "Name", p.Tag)
	case jobspec.PauseAll:
		row.What = page.T("pauses.scope.all")
	}
	if p.Name == "" {
		row.Link = ""
	}
	if p.Cron != "" {
		row.When = page.T("pauses.windows", "Cron", p.Cron, "Minutes", int(p.Length/time.Minute), "Zone", zoneName(p.Zone, c.now()))
	}
	return row
}

// widePause says that everything, or a group, is paused.
func (f *frame) widePause(page layout.Page, pause *manage.Pause) string {
	args := []any{"User", pause.By, "Reason", pause.Reason, "Group", cmp.Or(pause.Name, "#"+strconv.FormatInt(pause.Target, 10)), "At", f.at(page, pause.Ends).Absolute}
	switch everything, open := pause.Scope == jobspec.PauseAll, pause.Ends.IsZero(); {
	case everything && open:
		return page.T("dashboard.paused.all.open", args...)
	case everything:
		return page.T("dashboard.paused.all", args...)
	case open:
		return page.T("dashboard.paused.group.open", args...)
	default:
		return page.T("dashboard.paused.group", args...)
	}
}

func (c *pausePages) pauseCreate(ec echo.Context) error {
	var v pauses.Values
	if err := bind(ec, &v); err != nil {
		return err
	}
	in, fields := c.pauseInput(&v)
	made, err := int64(0), error(problem.InvalidFields(fields...))
	var before bool
	if len(fields) == 0 {
		made, before, err = c.pauses.CreateOnce(ec.Request().Context(), who(ec), in, v.Batch)
	}
	if err != nil {
		page := pauses.ListPage{Page: c.Page(ec), Values: v}
		errs, ok := fieldErrors(page.Page, err)
		if !ok {
			return err
		}
		page.Errors = errs
		return c.pausePage(ec, http.StatusUnprocessableEntity, page)
	}
	if before {
		return c.goTo(ec, link.PausesPath, done("pauses.flash.made.before"))
	}
	return c.goTo(ec, link.PausesPath, pauseMade(made))
}

// pauseMade says that a pause is set, and offers to end it.
func pauseMade(id int64) flash {
	return done("pauses.flash.made").undoneBy(layout.Undo{URL: link.PauseEnd(id)})
}

// pauseInput reads what was typed. Times are those of the installation's zone.
func (c *pausePages) pauseInput(v *pauses.Values) (in manage.PauseInput, fields []problem.Field) {
	in = manage.PauseInput{Scope: jobspec.PauseScope(v.Scope), Tag: v.Tag, Strategy: jobspec.Pausing(v.Strategy), Cron: typedCron(v.Cron), Zone: v.Zone, Reason: v.Reason}
	number := func(name, text string) int64 {
		if text = strings.TrimSpace(text); text == "" {
			return 0
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			fields = append(fields, problem.Field{Name: name, Key: "pauses.error.number"})
		}
		return n
	}
	// The form keeps what was typed for another scope.
	switch in.Scope {
	case jobspec.PauseJob:
		in.Target = number(manage.PauseTarget, v.Target)
	case jobspec.PauseGroup:
		in.Target = number(manage.PauseTarget, v.Group)
	case jobspec.PauseTag, jobspec.PauseAll:
	}
	if in.Scope != jobspec.PauseTag {
		in.Tag = ""
	}
	in.Length = time.Duration(min(number(manage.PauseLength, v.Minutes), 1<<20)) * time.Minute
	moment := func(name, text string) time.Time {
		if text = strings.TrimSpace(text); text == "" {
			return time.Time{}
		}
		at, err := jobspec.Moment(text, c.wall.Zone())
		if err != nil {
			fields = append(fields, problem.Field{Name: name, Key: "pauses.error.moment"})
		}
		return at
	}
	in.From, in.Until = moment(manage.PauseFrom, v.From), moment(manage.PauseUntil, v.Until)
	return in, fields
}

func (c *pausePages) pauseEnd(ec echo.Context) error {
	pauseID, err := id(ec)
	if err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	was, err := c.pauses.Get(ctx, p, pauseID)
	if err != nil {
		return err
	}
	if err := c.pauses.End(ctx, p, pauseID); err != nil {
		return err
	}
	until := ""
	if !was.Until.IsZero() {
		until = was.Until.UTC().Format(time.RFC3339Nano)
	}
	back := layout.Undo{URL: link.PauseAgain(pauseID), Fields: []layout.Field{{Name: manage.PauseUntil, Value: until}}}
	return c.goTo(ec, link.PausesPath, done("pauses.flash.ended").undoneBy(back))
}

// pauseAgain takes back that a pause was ended.
func (c *pausePages) pauseAgain(ec echo.Context) error {
	pauseID, err := id(ec)
	if err != nil {
		return err
	}
	until := time.Time{}
	if text := ec.FormValue(manage.PauseUntil); text != "" {
		if until, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return &problem.Error{Kind: problem.Invalid, Key: "pauses.error.moment", Err: err}
		}
	}
	made, before, err := c.pauses.Again(ec.Request().Context(), who(ec), pauseID, until)
	if err != nil {
		return err
	}
	if before {
		return c.goTo(ec, link.PausesPath, done("pauses.flash.made.before"))
	}
	return c.goTo(ec, link.PausesPath, pauseMade(made))
}
