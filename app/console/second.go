package console

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/login"
	"github.com/punctual-job/punctual/views/second"
	"github.com/punctual-job/punctual/views/ui"
	"github.com/punctual-job/punctual/views/users"
)

// issuer is what an app calls us.
const issuer = "Punctual"

func (c *Console) secondRoutes(g *echo.Group) {
	g.GET(link.SecondPath, c.secondPage)
	g.GET(link.SecondCode, c.codeForm)
	g.POST(link.SecondCode, c.codeAdd)
	g.GET(link.SecondPasskey, c.passkeyForm)
	g.POST(link.SecondPasskey, c.passkeyAdd)
	g.GET(link.SecondRecovery, c.recoveryForm)
	g.POST(link.SecondRecovery, c.recoveryMake)
	g.GET("/profile/second/:id/remove", c.factorRemoveForm)
	g.POST("/profile/second/:id/remove", c.factorRemove)
	g.GET("/users/:id/second", c.secondResetForm)
	g.POST("/users/:id/second", c.secondReset)
}

// secondStep shows the second factor at a login.
func (c *Console) secondStep(ec echo.Context, p *auth.Pending) error {
	return c.secondStepAgain(ec, http.StatusOK, p, nil, "")
}

func (c *Console) secondStepAgain(ec echo.Context, status int, p *auth.Pending, errs map[string]string, why string) error {
	page := c.stepPage(ec, p)
	page.Errors, page.Problem = errs, why
	factors, _, err := c.cfg.Factors.List(ec.Request().Context(), p.Who.UserID)
	if err != nil {
		return err
	}
	show := login.SecondPage{StepPage: page}
	for _, f := range factors {
		show.Codes = show.Codes || f.Kind == auth.FactorCode
	}
	if auth.CanHavePasskeys(ec.Request()) {
		if show.Passkey, err = c.cfg.Factors.AskPasskey(ec.Request(), p); err != nil {
			return err
		}
	}
	return render(ec, status, login.Second(show))
}

// secondShown takes a code, a recovery code or a passkey.
func (c *Console) secondShown(ec echo.Context, p *auth.Pending) error {
	if err := parseForm(ec); err != nil {
		return err
	}
	r, field := ec.Request(), manage.FactorCode
	who := p.Who
	var err error
	if answer := ec.FormValue(login.FieldCredential); answer != "" {
		field = manage.FactorKey
		err = c.cfg.Factors.ShowPasskey(r, p, answer)
	} else {
		err = c.cfg.Factors.ShowCode(r, who, ec.FormValue(login.FieldCode))
	}
	page := c.Page(ec)
	if err == nil {
		if err := c.cfg.SignIns.Shown(r.Context(), p); err != nil {
			return err
		}
		return c.goOn(ec, p)
	}
	by := who
	by.Address = ec.RealIP()
	c.cfg.Manage.Audit.LoginRefused(r.Context(), by, err)
	switch {
	case errors.Is(err, auth.ErrTooManyLogins):
		ec.Response().Header().Set("Retry-After", "60")
		return c.secondStepAgain(ec, http.StatusTooManyRequests, p, nil, page.T("second.error.toomany"))
	case errors.Is(err, auth.ErrFactorSealed):
		return c.secondStepAgain(ec, http.StatusServiceUnavailable, p, nil, page.T("second.error.sealed"))
	case errors.Is(err, auth.ErrWrongCode):
		c.cfg.Logger.Info("second factor refused", "user", who.Name, "remote", ec.RealIP(), "error", err)
		if field == manage.FactorKey {
			return c.secondStepAgain(ec, http.StatusUnprocessableEntity, p, nil, page.T("second.error.credential"))
		}
		return c.secondStepAgain(ec, http.StatusUnprocessableEntity, p, map[string]string{login.FieldCode: page.T("second.error.code")}, "")
	}
	return err
}

// setupStep leads somebody who must have a second factor to set one up.
func (c *Console) setupStep(ec echo.Context, p *auth.Pending) error {
	return c.setupStepAgain(ec, http.StatusOK, p, "", nil, "")
}

func (c *Console) setupStepAgain(ec echo.Context, status int, p *auth.Pending, token string, errs map[string]string, why string) error {
	page := c.stepPage(ec, p)
	page.Errors, page.Problem = errs, why
	show := login.SetupPage{StepPage: page}
	var err error
	if show.Code, err = c.codeSetup(p.Who, token); err != nil {
		return err
	}
	if auth.CanHavePasskeys(ec.Request()) {
		made, err := c.cfg.Factors.SetUpPasskey(ec.Request(), p.Who)
		if err != nil {
			return err
		}
		show.Passkey = second.Passkey{Options: made.Options, Token: made.Token}
	}
	return render(ec, status, login.Setup(show))
}

// codeSetup is a new setup of codes, or the one of a token that still counts.
func (c *Console) codeSetup(p auth.Principal, token string) (second.Code, error) {
	setup, err := c.cfg.Factors.AgainCode(p, issuer, token)
	if err != nil {
		if setup, err = c.cfg.Factors.SetUpCode(p, issuer); err != nil {
			return second.Code{}, err
		}
	}
	picture, err := qrCode(setup.URL)
	return second.Code{Secret: setup.Secret, Token: setup.Token, Picture: picture}, err
}

// setUp takes what was set up at the login.
func (c *Console) setUp(ec echo.Context, p *auth.Pending) error {
	if err := parseForm(ec); err != nil {
		return err
	}
	by := p.Who
	by.Address = ec.RealIP()
	codes, err := c.addFactor(ec, by)
	if err != nil {
		page := c.Page(ec)
		errs, ok := fieldErrors(page, err)
		if !ok {
			return err
		}
		return c.setupStepAgain(ec, http.StatusUnprocessableEntity, p, ec.FormValue(second.FieldToken), errs, errs[second.FieldCredential])
	}
	if err := c.cfg.SignIns.Shown(ec.Request().Context(), p); err != nil {
		return err
	}
	if len(codes) == 0 {
		return c.goOn(ec, p)
	}
	return render(ec, http.StatusOK, login.Codes(login.CodesPage{StepPage: c.stepPage(ec, p), Codes: codes}))
}

// addFactor reads a form with a first code or a new passkey.
func (c *Console) addFactor(ec echo.Context, p auth.Principal) (codes []string, err error) {
	r, token, name := ec.Request(), ec.FormValue(second.FieldToken), ec.FormValue(second.FieldName)
	if answer := ec.FormValue(second.FieldCredential); answer != "" {
		return c.cfg.Manage.Users.AddPasskey(r, p, token, answer, name)
	}
	return c.cfg.Manage.Users.AddCode(r.Context(), p, token, ec.FormValue(second.FieldCode), name)
}

func (c *Console) secondPage(ec echo.Context) error {
	p := who(ec)
	page := c.pageWithFlash(ec)
	if !c.cfg.Manage.Users.HasSecondHere(p.Provider) {
		return render(ec, http.StatusOK, second.Show(second.Page{Page: page, Provider: p.Provider}))
	}
	factors, codes, err := c.cfg.Factors.List(ec.Request().Context(), p.UserID)
	if err != nil {
		return err
	}
	show := second.Page{Page: page, CodesLeft: codes, MayPasskey: auth.CanHavePasskeys(ec.Request())}
	for _, f := range factors {
		show.Factors = append(show.Factors, second.Factor{
			ID: f.ID, Kind: f.Kind, Name: f.Name, Made: c.at(page, fromMillis(f.CreatedAt)), Used: c.at(page, fromMillis(f.UsedAt)),
		})
	}
	return render(ec, http.StatusOK, second.Show(show))
}

func (c *Console) codeForm(ec echo.Context) error { return c.codeFormAgain(ec, http.StatusOK, nil) }

func (c *Console) codeFormAgain(ec echo.Context, status int, errs map[string]string) error {
	if !c.cfg.Manage.Users.HasSecondHere(who(ec).Provider) {
		return ec.Redirect(http.StatusSeeOther, link.SecondPath)
	}
	code, err := c.codeSetup(who(ec), ec.FormValue(second.FieldToken))
	if err != nil {
		return err
	}
	return render(ec, status, second.CodeForm(second.FormPage{Page: c.pageWithFlash(ec), Code: code, Name: ec.FormValue(second.FieldName), Errors: errs}))
}

func (c *Console) passkeyForm(ec echo.Context) error {
	return c.passkeyFormAgain(ec, http.StatusOK, nil)
}

func (c *Console) passkeyFormAgain(ec echo.Context, status int, errs map[string]string) error {
	if !c.cfg.Manage.Users.HasSecondHere(who(ec).Provider) {
		return ec.Redirect(http.StatusSeeOther, link.SecondPath)
	}
	page := second.FormPage{Page: c.pageWithFlash(ec), Name: ec.FormValue(second.FieldName), Errors: errs}
	if auth.CanHavePasskeys(ec.Request()) {
		setup, err := c.cfg.Factors.SetUpPasskey(ec.Request(), who(ec))
		if err != nil {
			return err
		}
		page.Passkey = second.Passkey{Options: setup.Options, Token: setup.Token}
	}
	return render(ec, status, second.PasskeyForm(page))
}

func (c *Console) codeAdd(ec echo.Context) error    { return c.factorAdd(ec, c.codeFormAgain) }
func (c *Console) passkeyAdd(ec echo.Context) error { return c.factorAdd(ec, c.passkeyFormAgain) }

// factorAdd takes a new second factor from a form that is drawn again if something is wrong.
func (c *Console) factorAdd(ec echo.Context, again func(echo.Context, int, map[string]string) error) error {
	if err := parseForm(ec); err != nil {
		return err
	}
	p := who(ec)
	err := c.cfg.Manage.Users.Prove(ec.Request().Context(), p, ec.FormValue(second.FieldPassword))
	var codes []string
	if err == nil {
		codes, err = c.addFactor(ec, p)
	}
	if err != nil {
		return c.secondProblem(ec, err, again)
	}
	if len(codes) > 0 {
		return render(ec, http.StatusOK, second.Codes(second.CodesPage{Page: c.Page(ec), Codes: codes}))
	}
	return c.goTo(ec, link.SecondPath, done("second.flash.added"))
}

// secondProblem draws a form again with what is wrong.
func (c *Console) secondProblem(ec echo.Context, err error, again func(echo.Context, int, map[string]string) error) error {
	page := c.Page(ec)
	if errs, ok := fieldErrors(page, err); ok {
		return again(ec, http.StatusUnprocessableEntity, errs)
	}
	if p := problem.From(err); p.Kind == problem.TooMany || isSignInProblem(err) {
		return again(ec, p.Kind.Status(), map[string]string{second.FieldPassword: p.Text(page.Printer)})
	}
	return err
}

func (c *Console) recoveryForm(ec echo.Context) error {
	return c.recoveryFormAgain(ec, http.StatusOK, nil)
}

func (c *Console) recoveryFormAgain(ec echo.Context, status int, errs map[string]string) error {
	page := second.AskPage{Page: c.Page(ec), Action: link.SecondRecovery, Error: errs[second.FieldPassword]}
	return renderPart(ec, status, second.AskRecovery(page), ui.FragmentDialog)
}

func (c *Console) recoveryMake(ec echo.Context) error {
	if err := parseForm(ec); err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	err := c.cfg.Manage.Users.Prove(ctx, p, ec.FormValue(second.FieldPassword))
	var codes []string
	if err == nil {
		codes, err = c.cfg.Manage.Users.NewRecoveryCodes(ctx, p)
	}
	if err != nil {
		return c.secondProblem(ec, err, c.recoveryFormAgain)
	}
	return renderPart(ec, http.StatusOK, second.Codes(second.CodesPage{Page: c.Page(ec), Codes: codes}), ui.FragmentDialog)
}

func (c *Console) factorRemoveForm(ec echo.Context) error {
	return c.factorRemoveFormAgain(ec, http.StatusOK, nil)
}

func (c *Console) factorRemoveFormAgain(ec echo.Context, status int, errs map[string]string) error {
	factorID, err := id(ec)
	if err != nil {
		return err
	}
	page := second.AskPage{Page: c.Page(ec), Action: link.SecondRemove(factorID), Error: errs[second.FieldPassword]}
	return renderPart(ec, status, second.AskRemove(page), ui.FragmentDialog)
}

func (c *Console) factorRemove(ec echo.Context) error {
	if err := parseForm(ec); err != nil {
		return err
	}
	factorID, err := id(ec)
	if err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	if err = c.cfg.Manage.Users.Prove(ctx, p, ec.FormValue(second.FieldPassword)); err == nil {
		err = c.cfg.Manage.Users.RemoveFactor(ctx, p, factorID)
	}
	if err != nil {
		return c.secondProblem(ec, err, c.factorRemoveFormAgain)
	}
	return c.goTo(ec, link.SecondPath, done("second.flash.removed"))
}

func (c *Console) secondResetForm(ec echo.Context) error {
	page, err := c.askPage(ec)
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, users.ResetSecond(page), ui.FragmentDialog)
}

func (c *Console) secondReset(ec echo.Context) error {
	u, err := c.target(ec)
	if err != nil {
		return err
	}
	if err := c.cfg.Manage.Users.ResetSecond(ec.Request().Context(), who(ec), u.ID); err != nil {
		return err
	}
	return c.goTo(ec, link.UsersPath, done("second.flash.reset", "Name", u.Name))
}
