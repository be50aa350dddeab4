package console

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/login"
)

// stepRoutes are the pages of somebody who has shown who they are and has no session yet.
func (c *entrance) stepRoutes(g *echo.Group) {
	g.GET(link.LoginPassword, c.step(auth.StepPassword, c.givenForm))
	g.POST(link.LoginPassword, c.step(auth.StepPassword, c.givenChange))
	g.GET(link.LoginSecond, c.step(auth.StepSecond, c.secondStep))
	g.POST(link.LoginSecond, c.step(auth.StepSecond, c.secondShown))
	g.GET(link.LoginSetup, c.step(auth.StepSetup, c.setupStep))
	g.POST(link.LoginSetup, c.step(auth.StepSetup, c.setUp))
}

// step serves a page of a step while it is the next one of a sign-in; the browser is sent on to where it belongs otherwise.
func (c *entrance) step(of auth.Step, serve func(echo.Context, *auth.Pending) error) echo.HandlerFunc {
	return func(ec echo.Context) error {
		if !who(ec).Zero() {
			return ec.Redirect(http.StatusSeeOther, afterStep(auth.StepNone, ec.QueryParam(login.FieldNext)))
		}
		ctx := ec.Request().Context()
		p, err := c.signIns.Pending(ec.Request())
		if errors.Is(err, auth.ErrNoSignIn) {
			return c.goTo(ec, link.LoginNext(link.Local(ec.QueryParam(login.FieldNext))), flash{Kind: layout.FlashError, Key: "login.expired"})
		} else if err != nil {
			return err
		}
		next, err := c.signIns.Step(ctx, p)
		if err != nil {
			return err
		}
		if next != of && of == auth.StepSetup && ec.Request().Method == http.MethodPost {
			return c.setUpAgain(ec, p)
		} else if next != of {
			return c.goOn(ec, p)
		}
		return serve(ec, p)
	}
}

// goOn ends a step: at the next one, or with a session.
func (c *entrance) goOn(ec echo.Context, p *auth.Pending) error {
	step, err := c.signIns.Continue(ec.Response(), ec.Request(), p)
	if errors.Is(err, auth.ErrNoSignIn) {
		return ec.Redirect(http.StatusSeeOther, link.Login)
	} else if err != nil {
		return err
	}
	return ec.Redirect(http.StatusSeeOther, afterStep(step, ec.QueryParam(login.FieldNext)))
}

// stepPage is the frame of a step's page, in the language and the looks of who signs in.
func (c *entrance) stepPage(ec echo.Context, p *auth.Pending) login.StepPage {
	r := ec.Request()
	shown := ec.Echo().NewContext(r.WithContext(auth.NewContext(r.Context(), auth.Principal{Lang: p.Who.Lang, Theme: p.Who.Theme})), ec.Response())
	page := c.Page(shown)
	return login.StepPage{Page: page, Name: p.Who.Name, Next: link.Local(ec.QueryParam(login.FieldNext))}
}

func (c *entrance) givenForm(ec echo.Context, p *auth.Pending) error {
	return render(ec, http.StatusOK, login.Password(c.stepPage(ec, p)))
}

// givenChange takes the password that somebody chooses in the place of one they were given.
func (c *entrance) givenChange(ec echo.Context, p *auth.Pending) error {
	ctx, by := ec.Request().Context(), p.Who
	by.Address = ec.RealIP()
	err := c.users.ChooseOwn(ctx, by, p.ID(), ec.FormValue(login.FieldPassword), ec.FormValue(login.FieldRepeat))
	if err == nil {
		return c.goOn(ec, p)
	}
	if next, err := c.signIns.Step(ctx, p); err != nil || next != auth.StepPassword { // this form was sent twice, and the other one was faster
		return cmp.Or(err, c.goOn(ec, p))
	}
	page := c.stepPage(ec, p)
	var ok bool
	if page.Errors, page.Problem, ok = refused(page.Page, err, problem.TooMany); !ok {
		return err
	}
	return render(ec, http.StatusUnprocessableEntity, login.Password(page))
}
