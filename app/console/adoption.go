package console

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/views/adoption"
	"github.com/punctual-job/punctual/views/link"
)

// adoptionPages are about a database that was XXL-JOB's.
type adoptionPages struct{ *frame }

func (c *adoptionPages) routes(g *echo.Group) {
	g.GET(link.AdoptionPath, c.show)
	g.POST(link.AdoptionFinish, c.finish)
	g.POST(link.AdoptionMove, c.move)
	g.POST(link.AdoptionReturn, c.giveBack)
}

func (c *adoptionPages) show(ec echo.Context) error { return c.draw(ec, http.StatusOK, "", "") }

// draw draws the page; unsure and refused say why the way back was not ended, and a group not handed over.
func (c *adoptionPages) draw(ec echo.Context, status int, unsure, refused string) error {
	state, err := c.adoption.Get(ec.Request().Context(), who(ec))
	if err != nil {
		return err
	}
	page := adoption.Page{
		Page: c.pageWithFlash(ec), Release: state.Release.Span(), Hash: hashNames[state.Form], By: state.FinishedBy, Backoffs: state.Backoffs,
		Unheard: state.Unheard, Retention: state.Retention, More: state.More, Error: unsure, Refused: refused,
	}
	page.At, page.Finished = c.at(page.Page, state.At), c.at(page.Page, state.Finished)
	for _, j := range state.Jobs {
		page.Jobs = append(page.Jobs, adoption.Job{ID: j.ID, Name: j.Name, Conf: j.Conf, Finding: string(j.Finding), Started: j.Started})
	}
	groups, beside, err := c.adoption.Beside(ec.Request().Context(), who(ec))
	if err != nil {
		return err
	}
	page.Beside = beside
	for _, g := range groups {
		row := adoption.Group{ID: g.ID, AppName: g.AppName, Title: g.Title, Ours: g.Ours, By: g.By, Jobs: g.Jobs, Strays: g.Strays, Open: g.Open, Stays: g.AppName == manage.HTTPAppName}
		if g.Ours {
			row.Since = c.at(page.Page, g.Since)
		}
		page.Groups = append(page.Groups, row)
	}
	return render(ec, status, adoption.Show(page))
}

// hashNames are the names of XXL-JOB's forms of a password.
var hashNames = map[db.PasswordForm]string{db.PasswordMD5: "MD5", db.PasswordSHA256: "SHA-256"}

func (c *adoptionPages) finish(ec echo.Context) error {
	if err := parseForm(ec); err != nil {
		return err
	}
	if ec.FormValue(adoption.FieldSure) == "" {
		return c.draw(ec, http.StatusUnprocessableEntity, c.Page(ec).T("adoption.finish.unsure"), "")
	}
	if err := c.adoption.Finish(ec.Request().Context(), who(ec)); err != nil {
		return err
	}
	return c.goTo(ec, link.AdoptionPath, done("adoption.flash.finished"))
}

func (c *adoptionPages) move(ec echo.Context) error {
	return c.handOver(ec, false, "adoption.flash.moved")
}

func (c *adoptionPages) giveBack(ec echo.Context) error {
	return c.handOver(ec, true, "adoption.flash.returned")
}

func (c *adoptionPages) handOver(ec echo.Context, back bool, said string) error {
	if err := parseForm(ec); err != nil {
		return err
	}
	group, err := strconv.ParseInt(ec.FormValue(adoption.FieldGroup), 10, 64)
	if err != nil {
		return &problem.Error{Kind: problem.NotFound}
	}
	jobs, err := c.adoption.HandOver(ec.Request().Context(), who(ec), []int64{group}, back)
	if p := problem.From(err); err != nil && p.Kind == problem.Conflict {
		return c.draw(ec, p.Kind.Status(), "", p.Text(c.Page(ec).Printer))
	} else if err != nil {
		return err
	}
	return c.goTo(ec, link.AdoptionPath, done(said, "N", strconv.FormatInt(jobs, 10)))
}
