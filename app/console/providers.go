package console

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/login"
)

// signInBegin sends the browser to a provider, with what it needs to prove later that it was the one that began.
func (c *entrance) signInBegin(ec echo.Context) error {
	name, next := ec.Param("provider"), link.Local(ec.QueryParam(login.FieldNext))
	f, address, err := c.directories.Begin(name, c.signInCallback(name), next)
	if notOffered(err) {
		return ec.Redirect(http.StatusSeeOther, link.LoginNext(next))
	} else if err != nil {
		return c.signInFailed(ec, err, next)
	}
	sealed, err := c.flows.Encode(flowCookie(f.State), f)
	if err != nil {
		return err
	}
	ec.SetCookie(signInCookie(ec.Request(), flowCookie(f.State), sealed, int(directory.FlowLife.Seconds())))
	return ec.Redirect(http.StatusSeeOther, address)
}

// signInFinish is where the provider sends the browser back to.
func (c *entrance) signInFinish(ec echo.Context) error {
	name, answer := ec.Param("provider"), ec.QueryParams()
	cookie := flowCookie(answer.Get("state"))
	var f directory.Flow
	if sealed := cookieValue(ec.Request(), cookie); sealed != "" {
		if err := c.flows.Decode(cookie, sealed, &f); err != nil {
			f = directory.Flow{}
		}
		ec.SetCookie(signInCookie(ec.Request(), cookie, "", -1))
	}
	p, shown, err := c.directories.Finish(ec.Request().Context(), name, f, c.signInCallback(name), answer)
	if notOffered(err) {
		return ec.Redirect(http.StatusSeeOther, link.LoginNext(""))
	} else if err != nil {
		return c.signInFailed(ec, err, f.Next)
	}
	return c.admit(ec, auth.SignIn{Who: p, Way: auth.WayProvider, Provider: name, Second: shown}, f.Next)
}

// signInFailed is the login page that says why.
func (c *entrance) signInFailed(ec echo.Context, err error, next string) error {
	page := login.Page{Page: c.Page(ec), Next: next}
	status := http.StatusForbidden
	switch {
	case errors.Is(err, auth.ErrDisabled):
		page.Error = page.T("login.error.disabled")
	case isSignInProblem(err):
		status, page.Error = problem.From(err).Kind.Status(), problem.From(err).Text(page.Printer)
	default:
		return err
	}
	c.audit.LoginRefused(ec.Request().Context(), auth.Principal{Address: ec.RealIP()}, err)
	c.logger.Info("login refused", "remote", ec.RealIP(), "error", err)
	return c.loginPage(ec, status, page)
}

// notOffered says whether a provider does not exist, or no longer: the login page shows those that do.
func notOffered(err error) bool {
	p, ok := errors.AsType[*problem.Error](err)
	return ok && p.Kind == problem.NotFound
}

// isSignInProblem says whether a provider or a directory is why somebody could not sign in.
func isSignInProblem(err error) bool {
	_, is := errors.AsType[*directory.Error](err)
	return is
}

// signInCallback is the address at which a provider sends browsers back; it is registered there.
func (c *entrance) signInCallback(provider string) string {
	return strings.TrimRight(c.publicURL(), "/") + link.SignInCallback(provider)
}

// flowCookie names the cookie of one sign-in: somebody may begin two, in two tabs.
func flowCookie(state string) string {
	const letters = 12
	if len(state) < letters || strings.Trim(state, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return "punctual_sign_in"
	}
	return "punctual_sign_in_" + state[:letters]
}

func signInCookie(r *http.Request, name, value string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: link.SignInPath, MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: auth.IsHTTPS(r),
	}
}
