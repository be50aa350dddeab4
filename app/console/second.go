package console

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/second"
	"github.com/punctual-job/punctual/views/ui"
)

// factorPages are the second factors that somebody has.
type factorPages struct {
	*frame
	*factorForms
}

func (c *factorPages) routes(g *echo.Group) {
	g.GET(link.SecondPath, c.secondPage)
	g.GET(link.SecondCode, c.codeForm)
	g.POST(link.SecondCode, c.codeAdd)
	g.GET(link.SecondPasskey, c.passkeyForm)
	g.POST(link.SecondPasskey, c.passkeyAdd)
	g.GET(link.SecondRecovery, c.recoveryForm)
	g.POST(link.SecondRecovery, c.recoveryMake)
	g.GET("/profile/second/:id/remove", c.factorRemoveForm)
	g.POST("/profile/second/:id/remove", c.factorRemove)
}

func (c *factorPages) secondPage(ec echo.Context) error {
	p := who(ec)
	page := c.pageWithFlash(ec)
	if !c.users.HasSecondHere(p.Provider) {
		return render(ec, http.StatusOK, second.Show(second.Page{Page: page, Provider: p.Provider}))
	}
	factors, codes, err := c.factors.List(ec.Request().Context(), p.UserID)
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

func (c *factorPages) codeForm(ec echo.Context) error { return c.codeFormAgain(ec, http.StatusOK, nil) }

func (c *factorPages) codeFormAgain(ec echo.Context, status int, errs map[string]string) error {
	if !c.users.HasSecondHere(who(ec).Provider) {
		return ec.Redirect(http.StatusSeeOther, link.SecondPath)
	}
	code, err := c.codeSetup(ec.Request(), who(ec), ec.FormValue(second.FieldToken))
	if err != nil {
		return err
	}
	return render(ec, status, second.CodeForm(second.FormPage{Page: c.pageWithFlash(ec), Code: code, Name: ec.FormValue(second.FieldName), Errors: errs}))
}

func (c *factorPages) passkeyForm(ec echo.Context) error {
	return c.passkeyFormAgain(ec, http.StatusOK, nil)
}

func (c *factorPages) passkeyFormAgain(ec echo.Context, status int, errs map[string]string) error {
	if !c.users.HasSecondHere(who(ec).Provider) {
		return ec.Redirect(http.StatusSeeOther, link.SecondPath)
	}
	page := second.FormPage{Page: c.pageWithFlash(ec), Name: ec.FormValue(second.FieldName), Errors: errs}
	if auth.CanHavePasskeys(ec.Request()) {
		setup, err := c.factors.SetUpPasskey(ec.Request(), who(ec))
		if err != nil {
			return err
		}
		page.Passkey = second.Passkey{Options: setup.Options, Token: setup.Token}
	}
	return render(ec, status, second.PasskeyForm(page))
}

func (c *factorPages) codeAdd(ec echo.Context) error    { return c.factorAdd(ec, c.codeFormAgain) }
func (c *factorPages) passkeyAdd(ec echo.Context) error { return c.factorAdd(ec, c.passkeyFormAgain) }

// factorAdd takes a new second factor from a form that is drawn again if something is wrong.
func (c *factorPages) factorAdd(ec echo.Context, again func(echo.Context, int, map[string]string) error) error {
	p := who(ec)
	err := c.users.Prove(ec.Request().Context(), p, ec.FormValue(second.FieldPassword))
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
func (c *factorPages) secondProblem(ec echo.Context, err error, again func(echo.Context, int, map[string]string) error) error {
	page := c.Page(ec)
	if errs, ok := fieldErrors(page, err); ok {
		return again(ec, http.StatusUnprocessableEntity, errs)
	}
	if p := problem.From(err); p.Kind == problem.TooMany || isSignInProblem(err) {
		return again(ec, p.Kind.Status(), map[string]string{second.FieldPassword: p.Text(page.Printer)})
	}
	return err
}

func (c *factorPages) recoveryForm(ec echo.Context) error {
	return c.recoveryFormAgain(ec, http.StatusOK, nil)
}

func (c *factorPages) recoveryFormAgain(ec echo.Context, status int, errs map[string]string) error {
	page := second.AskPage{Page: c.Page(ec), Action: link.SecondRecovery, Error: errs[second.FieldPassword]}
	return renderPart(ec, status, second.AskRecovery(page), ui.FragmentDialog)
}

func (c *factorPages) recoveryMake(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	err := c.users.Prove(ctx, p, ec.FormValue(second.FieldPassword))
	var codes []string
	if err == nil {
		codes, err = c.users.NewRecoveryCodes(ctx, p)
	}
	if err != nil {
		return c.secondProblem(ec, err, c.recoveryFormAgain)
	}
	return renderPart(ec, http.StatusOK, second.Codes(second.CodesPage{Page: c.Page(ec), Codes: codes}), ui.FragmentDialog)
}

func (c *factorPages) factorRemoveForm(ec echo.Context) error {
	return c.factorRemoveFormAgain(ec, http.StatusOK, nil)
}

func (c *factorPages) factorRemoveFormAgain(ec echo.Context, status int, errs map[string]string) error {
	factorID, err := id(ec)
	if err != nil {
		return err
	}
	page := second.AskPage{Page: c.Page(ec), Action: link.SecondRemove(factorID), Error: errs[second.FieldPassword]}
	return renderPart(ec, status, second.AskRemove(page), ui.FragmentDialog)
}

func (c *factorPages) factorRemove(ec echo.Context) error {
	factorID, err := id(ec)
	if err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	if err = c.users.Prove(ctx, p, ec.FormValue(second.FieldPassword)); err == nil {
		err = c.users.RemoveFactor(ctx, p, factorID)
	}
	if err != nil {
		return c.secondProblem(ec, err, c.factorRemoveFormAgain)
	}
	return c.goTo(ec, link.SecondPath, done("second.flash.removed"))
}
