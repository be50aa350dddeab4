package console

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/views/tokens"
)

// device asks for the code that a program shows, or shows the program that has it, with what it may be let in with.
func (c *tokenPages) device(ec echo.Context) error {
	code := ec.QueryParam(tokens.FieldCode)
	if code == "" {
		return render(ec, http.StatusOK, tokens.Code(tokens.CodePage{Page: c.pageWithFlash(ec)}))
	}
	d, err := c.devices.Find(ec.Request().Context(), who(ec), code)
	if err != nil {
		return c.deviceGone(ec, code, err)
	}
	scope := map[string]bool{auth.RightNames(auth.RightView)[0]: true}
	return c.tokenForm(ec, http.StatusOK, c.ofDevice(tokens.FormPage{Page: c.pageWithFlash(ec), Name: d.Program, Days: tokens.DaysDefault, Scope: scope}, d), nil)
}

func (c *tokenPages) ofDevice(page tokens.FormPage, d manage.DeviceLogin) tokens.FormPage {
	page.Device = &tokens.Device{Code: d.Code, Program: d.Program, Address: d.Address, Asked: c.at(page.Page, d.AskedAt)}
	return page
}

// deviceGone asks for the code again: nobody waits under this one.
func (c *tokenPages) deviceGone(ec echo.Context, code string, err error) error {
	if p := problem.From(err); p.Kind == problem.NotFound {
		page := tokens.CodePage{Page: c.Page(ec), Code: code}
		page.Error = p.Text(page.Printer)
		return render(ec, http.StatusNotFound, tokens.Code(page))
	}
	return err
}

// deviceAnswer lets a program in, or keeps it out.
func (c *tokenPages) deviceAnswer(ec echo.Context) error {
	ctx, p, code := ec.Request().Context(), who(ec), ec.FormValue(tokens.FieldCode)
	d, err := c.devices.Find(ctx, p, code)
	if err != nil {
		return c.deviceGone(ec, code, err)
	}
	page, in := c.readToken(ec)
	done := tokens.CodePage{Page: page.Page, Program: d.Program, LetIn: ec.FormValue(tokens.FieldRefuse) == ""}
	if done.LetIn {
		err = c.devices.LetIn(ctx, p, code, in)
	} else {
		err = c.devices.Refuse(ctx, p, code)
	}
	if problem.From(err) != nil && problem.From(err).Kind == problem.NotFound {
		return c.deviceGone(ec, code, err)
	}
	if err != nil {
		return c.tokenRefused(ec, c.ofDevice(page, d), in, err)
	}
	return render(ec, http.StatusOK, tokens.Answered(done))
}
