package console

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/alarm"
	"github.com/punctual-job/punctual/views/alarms"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// openAlarmPages are the alarms that have not recovered, and who looks after them.
type openAlarmPages struct{ *frame }

func (c *openAlarmPages) routes(g *echo.Group) {
	g.GET("/alarms/open", c.openList)
	g.GET(link.AlarmsAck, c.openAll)
	g.POST(link.AlarmsAck, c.ackAll)
	g.GET("/alarms/open/:id", c.openJob)
	g.POST("/alarms/open/:id/ack", c.ack)
	g.POST("/alarms/open/:id/unack", c.unack)
}

// openShown is how many jobs the list of open alarms has.
const openShown = 200

func (c *openAlarmPages) openList(ec echo.Context) error {
	page := alarms.OpenPage{Page: c.pageWithFlash(ec)}
	if err := c.openRows(ec, &page); err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, alarms.OpenList(page), alarms.FragmentOpen)
}

// openRows are the jobs that the list shows.
func (c *openAlarmPages) openRows(ec echo.Context, page *alarms.OpenPage) error {
	list, more, err := c.open.List(ec.Request().Context(), who(ec), 0, openShown)
	if err != nil {
		return err
	}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	page.More = more
	for _, j := range list {
		row := c.openRow(page.Page, who(ec), j)
		row.Group = groups.title(j.Group)
		page.Jobs = append(page.Jobs, row)
	}
	return nil
}

// openAll asks whether somebody looks after all that the list shows and nobody looks after yet.
func (c *openAlarmPages) openAll(ec echo.Context) error {
	return c.allPage(ec, http.StatusOK, alarms.AllPage{})
}

func (c *openAlarmPages) allPage(ec echo.Context, status int, page alarms.AllPage) error {
	list := alarms.OpenPage{Page: c.Page(ec)}
	if err := c.openRows(ec, &list); err != nil {
		return err
	}
	page.Page, page.Jobs, page.Max = list.Page, list.Left(), alarm.MaxRemark
	return renderPart(ec, status, alarms.AcknowledgeAll(page), ui.FragmentDialog)
}

// ackAll goes by the jobs that the form showed, and not by those that are open by now.
func (c *openAlarmPages) ackAll(ec echo.Context) error {
	if err := parseForm(ec); err != nil {
		return err
	}
	ids := picked(ec.Request().Form)
	remark := ec.FormValue(manage.FieldRemark)
	n, err := c.open.AcknowledgeAll(ec.Request().Context(), who(ec), ids[:min(len(ids), openShown)], remark)
	if err != nil {
		page := alarms.AllPage{Remark: remark}
		errs, why, ok := refused(c.Page(ec), err, problem.Conflict)
		if !ok {
			return err
		}
		page.Error, page.Problem = errs[manage.FieldRemark], why
		return c.allPage(ec, http.StatusUnprocessableEntity, page)
	}
	return c.goTo(ec, link.AlarmsOpenPath, done("alarms.flash.ackedall", "Count", strconv.Itoa(n)))
}

func (c *frame) openRow(page layout.Page, p auth.Principal, j manage.OpenAlarm) alarms.OpenJob {
	row := alarms.OpenJob{ID: j.ID, Name: j.Name, Ack: c.acked(page, p, j.ID, j.Group, j.Name, j.Alarms)}
	for _, o := range j.Alarms {
		row.Alarms = append(row.Alarms, alarms.OpenAlarm{
			Cause: string(o.Cause), Since: c.at(page, o.Since), Count: o.Count, Run: o.Run,
		})
	}
	return row
}

// acked says who looks after the alarms of a job, or leads to where somebody may say so.
func (c *frame) acked(page layout.Page, p auth.Principal, jobID, group int64, name string, open []alarm.Open) ui.Ack {
	a := ui.Ack{Name: name}
	if p.Can(group, auth.RightRun) {
		a.URL = link.AlarmOpen(jobID)
	}
	if o, ok := manage.Acked(open); ok {
		a.By, a.At, a.Remark = o.AckedBy, c.at(page, o.AckedAt), o.Remark
	}
	return a
}

func (c *openAlarmPages) openJob(ec echo.Context) error {
	page, err := c.ackPage(ec)
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, alarms.Acknowledge(page), ui.FragmentDialog)
}

func (c *openAlarmPages) ackPage(ec echo.Context) (page alarms.AckPage, err error) {
	jobID, err := id(ec)
	if err != nil {
		return page, err
	}
	j, err := c.open.Get(ec.Request().Context(), who(ec), jobID)
	if err != nil {
		return page, err
	}
	page = alarms.AckPage{Page: c.Page(ec), May: j.May, Max: alarm.MaxRemark}
	page.Job = c.openRow(page.Page, who(ec), j)
	// Of a dialog, the page under it.
	if page.Back = link.Local(ec.FormValue(layout.FieldNext)); page.Back == "" {
		if u, err := url.Parse(ec.Request().Header.Get("HX-Current-URL")); err == nil {
			page.Back = link.Local(u.RequestURI())
		}
	}
	return page, nil
}

func (c *openAlarmPages) ack(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	remark := ec.FormValue(manage.FieldRemark)
	if err := c.open.Acknowledge(ec.Request().Context(), who(ec), jobID, remark); err != nil {
		page, pageErr := c.ackPage(ec)
		if pageErr != nil {
			return pageErr
		}
		errs, why, ok := refused(page.Page, err, problem.Conflict)
		if !ok {
			return err
		}
		page.Remark, page.Error, page.Problem = remark, errs[manage.FieldRemark], why
		return renderPart(ec, http.StatusUnprocessableEntity, alarms.Acknowledge(page), ui.FragmentDialog)
	}
	return c.goTo(ec, c.ackBack(ec, jobID), done("alarms.flash.acked"))
}

func (c *openAlarmPages) unack(ec echo.Context) error {
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	if err := c.open.Unacknowledge(ec.Request().Context(), who(ec), jobID); err != nil {
		return err
	}
	return c.goTo(ec, c.ackBack(ec, jobID), done("alarms.flash.unacked"))
}

// ackBack is the page on which somebody asked for the form.
func (c *openAlarmPages) ackBack(ec echo.Context, jobID int64) string {
	return cmp.Or(link.Local(ec.FormValue(layout.FieldNext)), link.Job(jobID))
}

// alarmLinkPages are where the links of messages lead: to nobody's session.
type alarmLinkPages struct{ *frame }

func (c *alarmLinkPages) routes(g *echo.Group) {
	g.GET("/alarms/link/:token", c.linked)
	g.POST("/alarms/link/:token", c.linkAck)
}

func (c *alarmLinkPages) linked(ec echo.Context) error {
	return c.linkPage(ec, http.StatusOK, alarms.LinkPage{})
}

func (c *alarmLinkPages) linkPage(ec echo.Context, status int, page alarms.LinkPage) error {
	token := ec.Param("token")
	l, err := c.open.ByLink(ec.Request().Context(), ec.RealIP(), token)
	if err != nil {
		return err
	}
	page.Page = c.Page(ec)
	page.URL, page.Name, page.Cause, page.State, page.Max = link.AlarmByLink(token), l.JobName, string(l.Cause), string(l.State), alarm.MaxRemark
	page.Job, page.Since, page.Reader = link.Job(l.Job), c.at(page.Page, l.Since), l.Reader
	if p := who(ec); !p.Zero() && p.Can(l.Group, auth.RightRun) {
		page.Reader = p.Name
	}
	page.Ack = ui.Ack{Name: l.JobName, By: l.AckedBy, At: c.at(page.Page, l.AckedAt), Remark: l.Remark}
	ec.Response().Header().Set("Cache-Control", "no-store")
	ec.Response().Header().Set("Referrer-Policy", "no-referrer")
	return render(ec, status, alarms.Linked(page))
}

func (c *alarmLinkPages) linkAck(ec echo.Context) error {
	page := alarms.LinkPage{Remark: ec.FormValue(manage.FieldRemark)}
	err := c.open.AcknowledgeByLink(ec.Request().Context(), who(ec), ec.RealIP(), ec.Param("token"), page.Remark)
	if err == nil {
		return ec.Redirect(http.StatusSeeOther, link.AlarmByLink(ec.Param("token")))
	}
	errs, why, ok := refused(c.Page(ec), err, problem.Conflict)
	if !ok {
		return err
	}
	page.Error, page.Problem = errs[manage.FieldRemark], why
	return c.linkPage(ec, http.StatusUnprocessableEntity, page)
}
