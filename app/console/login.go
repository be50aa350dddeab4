package console

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/gorilla/securecookie"
	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/login"
)

// entrance are the pages of whoever is not logged in yet, and the ways in and out.
type entrance struct {
	*frame
	*factorForms
	logins      *auth.Logins
	sessions    *auth.Sessions
	signIns     *auth.SignIns
	places      *auth.Places
	directories *manage.Directories
	audit       *manage.Audit
	logger      *slog.Logger
	firstTime   func(ctx context.Context) bool // nobody has ever logged in
	publicURL   func() string
	flows       *securecookie.SecureCookie // what a browser keeps of a sign-in that has gone to a provider
}

func (c *entrance) routes(g *echo.Group) {
	g.GET(link.Login, c.loginForm)
	g.POST(link.Login, c.login)
	g.GET(link.SignInRoute, c.signInBegin)
	g.GET(link.SignInCallbackRoute, c.signInFinish)
	g.POST(link.Logout, c.logout)
	g.POST(link.Preferences, c.preferences)
	c.stepRoutes(g)
}

func (c *entrance) loginForm(ec echo.Context) error {
	next := link.Local(ec.QueryParam(login.FieldNext))
	if !who(ec).Zero() {
		return ec.Redirect(http.StatusSeeOther, cmp.Or(next, link.Root))
	}
	return c.loginPage(ec, http.StatusOK, login.Page{Page: c.pageWithFlash(ec), Next: next})
}

func (c *entrance) login(ec echo.Context) error {
	form := login.Page{
		Page: c.Page(ec), Name: ec.FormValue(login.FieldName), Remember: ec.FormValue(login.FieldRemember) != "",
		Next: link.Local(ec.FormValue(login.FieldNext)),
	}
	ctx := ec.Request().Context()
	p, err := c.logins.Check(ctx, auth.Attempt{
		Name: form.Name, Password: ec.FormValue(login.FieldPassword), Address: ec.RealIP(), Device: c.places.Device(ec.Request()),
	})
	status := http.StatusUnprocessableEntity
	switch {
	case errors.Is(err, auth.ErrTooManyLogins):
		status, form.Error = http.StatusTooManyRequests, form.T("login.error.toomany")
		ec.Response().Header().Set("Retry-After", "30")
	case errors.Is(err, auth.ErrWrongLogin):
		form.Error = form.T("login.error.wrong")
		if c.directories.HasLDAP() {
			form.Error = form.T("login.error.wrong.directory")
		}
	case errors.Is(err, auth.ErrDisabled):
		form.Error = form.T("login.error.disabled")
	case errors.Is(err, auth.ErrPasswordClosed):
		form.Error = form.T("login.error.closed")
	case isSignInProblem(err):
		status, form.Error = problem.From(err).Kind.Status(), problem.From(err).Text(form.Printer)
	case err != nil:
		return err
	default:
		way := auth.WayPassword
		if p.Provider != "" {
			way = auth.WayDirectory
		}
		return c.admit(ec, auth.SignIn{Who: p, Way: way, Provider: p.Provider, Remember: form.Remember && p.Provider == ""}, form.Next)
	}
	c.audit.LoginRefused(ctx, auth.Principal{Name: form.Name, Address: ec.RealIP()}, err)
	c.logger.Info("login refused", "remote", ec.RealIP(), "error", err)
	return c.loginPage(ec, status, form)
}

// loginPage draws the login page with the ways in that there are.
func (c *entrance) loginPage(ec echo.Context, status int, page login.Page) error {
	page.FirstTime = c.firstTime(ec.Request().Context())
	page.MayRemember = c.mayRemember()
	page.Closed = !c.directories.AsksForPasswords()
	for _, o := range c.directories.Offers() {
		page.Ways = append(page.Ways, login.Way{Label: o.Label, URL: link.SignIn(o.Name, page.Next)})
	}
	return render(ec, status, login.Form(page))
}

// admit goes on after somebody has shown who they are, in whichever way: to where they wanted to go.
func (c *entrance) admit(ec echo.Context, in auth.SignIn, next string) error {
	in.Address = ec.RealIP()
	step, err := c.signIns.Admit(ec.Response(), ec.Request(), in)
	if err != nil {
		return err
	}
	return ec.Redirect(http.StatusSeeOther, afterStep(step, next))
}

// afterStep is where a sign-in goes on: at the next step, or where its user wanted to go.
func afterStep(step auth.Step, next string) string {
	next = link.Local(next)
	if step == auth.StepNone {
		return cmp.Or(next, link.Root)
	}
	return link.LoginStep(string(step), next)
}

func (c *entrance) mayRemember() bool { return c.settings.SignIn().Remember > 0 }

func (c *entrance) logout(ec echo.Context) error {
	if err := c.sessions.Close(ec.Response(), ec.Request()); err != nil {
		return err
	}
	c.audit.LoggedOut(ec.Request().Context(), who(ec))
	return c.goTo(ec, link.Login, done("login.out"))
}

// preferenceLife is how long a browser remembers its language and theme.
const preferenceLife = 365 * 24 * time.Hour

// preferences keeps a language, a theme, a time zone or the look of a list with the user, who finds it in every browser, and in this browser for the time
// before the login.
func (c *entrance) preferences(ec echo.Context) error {
	r := ec.Request()
	lang, theme := ec.FormValue(layout.FieldLang), ec.FormValue(layout.FieldTheme)
	if slices.Contains(locales.Languages(), lang) {
		ec.SetCookie(ownCookie(r, layout.FieldLang, lang, preferenceLife))
	} else {
		lang = ""
	}
	if theme != "" {
		theme = string(layout.ThemeFrom(theme))
		ec.SetCookie(ownCookie(r, layout.FieldTheme, theme, preferenceLife))
	}
	if p := who(ec); !p.Zero() {
		if err := c.users.SetLooks(r.Context(), p, lang, theme); err != nil {
			return err
		}
		if zone := ec.FormValue(layout.FieldZone); zone != "" {
			if zone == layout.ZoneServer {
				zone = ""
			}
			if err := c.users.SetZone(r.Context(), p, zone); err != nil {
				return err
			}
		}
		if prefs, ok := chosen(ec, p.Preferences); ok {
			if err := c.users.SetPreferences(r.Context(), p, prefs); err != nil {
				return err
			}
			return c.backToList(ec)
		}
	}
	next := cmp.Or(link.Local(ec.FormValue(layout.FieldNext)), link.Root)
	if isPartial(r) {
		ec.Response().Header().Set("HX-Redirect", next)
		return ec.NoContent(http.StatusNoContent)
	}
	return ec.Redirect(http.StatusSeeOther, next)
}
