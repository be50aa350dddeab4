package console

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/views/login"
	"github.com/punctual-job/punctual/views/second"
)

// issuer is what an app calls us: by the address too, since people have the same name in several installations, and apps replace what has the
// same name twice.
func issuer(r *http.Request) string {
	return "Punctual " + strings.ReplaceAll(auth.HostOf(r), ":", "-") // a colon ends it
}

// factorForms are the forms in which a second factor is set up, at the login or later.
type factorForms struct {
	factors *auth.Factors
	users   *manage.Users
}

// secondStep shows the second factor at a login.
func (c *entrance) secondStep(ec echo.Context, p *auth.Pending) error {
	return c.secondStepAgain(ec, http.StatusOK, p, nil, "")
}

func (c *entrance) secondStepAgain(ec echo.Context, status int, p *auth.Pending, errs map[string]string, why string) error {
	page := c.stepPage(ec, p)
	page.Errors, page.Problem = errs, why
	factors, _, err := c.factors.List(ec.Request().Context(), p.Who.UserID)
	if err != nil {
		return err
	}
	show := login.SecondPage{StepPage: page}
	for _, f := range factors {
		show.Codes = show.Codes || f.Kind == auth.FactorCode
	}
	asked, err := c.factors.AskPasskey(ec.Request(), p)
	if err != nil {
		return err
	}
	show.Passkey, show.Elsewhere = asked.Options, strings.Join(asked.Elsewhere, ", ")
	return render(ec, status, login.Second(show))
}

// secondShown takes a code, a recovery code or a passkey.
func (c *entrance) secondShown(ec echo.Context, p *auth.Pending) error {
	r, field := ec.Request(), manage.FactorCode
	who := p.Who
	shown := auth.SecondPasskey
	var err error
	if answer := ec.FormValue(login.FieldCredential); answer != "" {
		field = manage.FactorKey
		err = c.factors.ShowPasskey(r, p, answer)
	} else {
		shown, err = c.factors.ShowCode(r, who, ec.FormValue(login.FieldCode))
	}
	page := c.Page(ec)
	if err == nil {
		if err := c.signIns.Shown(r.Context(), p, shown); err != nil {
			return err
		}
		return c.goOn(ec, p)
	}
	by := who
	by.Address = ec.RealIP()
	c.audit.LoginRefused(r.Context(), by, err)
	switch {
	case errors.Is(err, auth.ErrTooManyLogins):
		ec.Response().Header().Set("Retry-After", "60")
		return c.secondStepAgain(ec, http.StatusTooManyRequests, p, nil, page.T("second.error.toomany"))
	case errors.Is(err, auth.ErrFactorSealed):
		return c.secondStepAgain(ec, http.StatusServiceUnavailable, p, nil, page.T("second.error.sealed"))
	case errors.Is(err, auth.ErrWrongCode):
		wrong := "second.error.code"
		if errors.Is(err, auth.ErrWrongRecovery) {
			wrong = "second.error.recovery"
		}
		c.logger.Info("second factor refused", "user", who.Name, "remote", ec.RealIP(), "error", err)
		if field == manage.FactorKey {
			return c.secondStepAgain(ec, http.StatusUnprocessableEntity, p, nil, page.T("second.error.credential"))
		}
		return c.secondStepAgain(ec, http.StatusUnprocessableEntity, p, map[string]string{login.FieldCode: page.T(wrong)}, "")
	}
	return err
}

// setupStep leads somebody who must have a second factor to set one up.
func (c *entrance) setupStep(ec echo.Context, p *auth.Pending) error {
	return c.setupStepAgain(ec, http.StatusOK, p, "", nil, "")
}

func (c *entrance) setupStepAgain(ec echo.Context, status int, p *auth.Pending, token string, errs map[string]string, why string) error {
	page := c.stepPage(ec, p)
	page.Errors, page.Problem = errs, why
	show := login.SetupPage{StepPage: page}
	var err error
	if show.Code, err = c.codeSetup(ec.Request(), p.Who, token); err != nil {
		return err
	}
	if auth.CanHavePasskeys(ec.Request()) {
		made, err := c.factors.SetUpPasskey(ec.Request(), p.Who)
		if err != nil {
			return err
		}
		show.Passkey = second.Passkey{Options: made.Options, Token: made.Token}
	}
	return render(ec, status, login.Setup(show))
}

// codeSetup is a new setup of codes, or the one of a token that still counts.
func (c *factorForms) codeSetup(r *http.Request, p auth.Principal, token string) (second.Code, error) {
	setup, err := c.factors.AgainCode(p, issuer(r), token)
	if err != nil {
		if setup, err = c.factors.SetUpCode(p, issuer(r)); err != nil {
			return second.Code{}, err
		}
	}
	picture, err := qrCode(setup.URL)
	return second.Code{Secret: setup.Secret, URL: setup.URL, Token: setup.Token, Picture: picture}, err
}

// setUp takes what was set up at the login.
func (c *entrance) setUp(ec echo.Context, p *auth.Pending) error {
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
	if err := c.signIns.Shown(ec.Request().Context(), p, setUpSecond(ec)); err != nil {
		return err
	}
	if len(codes) == 0 { // this form was sent twice at the same moment
		return c.showCodesAgain(ec, p)
	}
	return c.showCodes(ec, p, codes)
}

func (c *entrance) showCodes(ec echo.Context, p *auth.Pending, codes []string) error {
	return render(ec, http.StatusOK, login.Codes(login.CodesPage{StepPage: c.stepPage(ec, p), Codes: codes}))
}

// setUpAgain answers a form that is sent once more after it was taken, as by a double click: the browser has let go of the answer with the recovery
// codes. Only who holds what was set up in this sign-in gets others.
func (c *entrance) setUpAgain(ec echo.Context, p *auth.Pending) error {
	if _, err := c.factors.AgainCode(p.Who, issuer(ec.Request()), ec.FormValue(second.FieldToken)); err != nil || p.Second == auth.SecondNone {
		return c.goOn(ec, p)
	}
	return c.showCodesAgain(ec, p)
}

// showCodesAgain shows recovery codes in the place of those that nobody has seen.
func (c *entrance) showCodesAgain(ec echo.Context, p *auth.Pending) error {
	by := p.Who
	by.Address = ec.RealIP()
	codes, err := c.users.NewRecoveryCodes(ec.Request().Context(), by)
	if err != nil {
		return err
	}
	return c.showCodes(ec, p, codes)
}

// setUpSecond is the kind of what a form sets up.
func setUpSecond(ec echo.Context) auth.Second {
	if ec.FormValue(second.FieldCredential) != "" {
		return auth.SecondPasskey
	}
	return auth.SecondCode
}

// addFactor reads a form with a first code or a new passkey.
func (c *factorForms) addFactor(ec echo.Context, p auth.Principal) (codes []string, err error) {
	r, token, name := ec.Request(), ec.FormValue(second.FieldToken), ec.FormValue(second.FieldName)
	if answer := ec.FormValue(second.FieldCredential); answer != "" {
		return c.users.AddPasskey(r, p, token, answer, name)
	}
	return c.users.AddCode(r.Context(), p, token, ec.FormValue(second.FieldCode), name)
}
