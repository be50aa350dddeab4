package console

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/views/adoption"
	"github.com/punctual-job/punctual/views/link"
)

// adoptionPages are about a database that was XXL-JOB's.
type adoptionPages struct{ *frame }

func (c *adoptionPages) routes(g *echo.Group) {
	g.GET(link.AdoptionPath, c.show)
	g.POST(link.AdoptionFinish, c.finish)
}

func (c *adoptionPages) show(ec echo.Context) error { return c.draw(ec, http.StatusOK, "") }

func (c *adoptionPages) draw(ec echo.Context, status int, problem string) error {
	state, err := c.adoption.Get(ec.Request().Context(), who(ec))
	if err != nil {
		return err
	}
	page := adoption.Page{
		Page: c.pageWithFlash(ec), Release: state.Release.Span(), Hash: hashNames[state.Form], By: state.FinishedBy, Backoffs: state.Backoffs,
		Unheard: state.Unheard, More: state.More, Error: problem,
	}
	page.At, page.Finished = c.at(page.Page, state.At), c.at(page.Page, state.Finished)
	for _, j := range state.Jobs {
		page.Jobs = append(page.Jobs, adoption.Job{ID: j.ID, Name: j.Name, Conf: j.Conf, Finding: string(j.Finding), Started: j.Started})
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
		return c.draw(ec, http.StatusUnprocessableEntity, c.Page(ec).T("adoption.finish.unsure"))
	}
	if err := c.adoption.Finish(ec.Request().Context(), who(ec)); err != nil {
		return err
	}
	return c.goTo(ec, link.AdoptionPath, done("adoption.flash.finished"))
}
