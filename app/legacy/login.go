package legacy

import (
	"errors"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
)

// login opens a session in one of the former cookies.
func (l *Legacy) login(cookie string) func(*call) (any, error) {
	return func(c *call) (any, error) {
		who, err := l.cfg.Logins.Check(c.ctx, auth.Attempt{Name: c.text("userName"), Password: c.values.Get("password"), Address: c.ec.RealIP()})
		by := auth.Principal{Name: c.text("userName"), Address: c.ec.RealIP()}
		l.cfg.Manage.Audit.LoginRefused(c.ctx, by, err)
		switch {
		case errors.Is(err, auth.ErrTooManyLogins):
			return nil, problem.New(problem.TooMany, "login.error.toomany").Because(err)
		case errors.Is(err, auth.ErrWrongLogin):
			return nil, problem.New(problem.Unauthenticated, "login.error.wrong").Because(err)
		case errors.Is(err, auth.ErrDisabled):
			return nil, problem.New(problem.Forbidden, "login.error.disabled").Because(err)
		case errors.Is(err, auth.ErrPasswordClosed):
			return nil, problem.New(problem.Forbidden, "login.error.closed").Because(err)
		case err != nil:
			return nil, err
		}
		remember := c.text("ifRemember") == "on" || c.text("ifRemember") == "true"
		in := auth.SignIn{Who: who, Way: auth.WayPassword, Remember: remember, Address: c.ec.RealIP()}
		if who.Provider != "" {
			in.Way, in.Provider, in.Remember = auth.WayDirectory, who.Provider, false
		}
		err = l.cfg.SignIns.AdmitProgram(c.ec.Response(), c.ec.Request(), in, cookie)
		if errors.Is(err, auth.ErrStepDue) {
			by.UserID = who.UserID
			l.cfg.Manage.Audit.LoginRefused(c.ctx, by, err)
			err = problem.New(problem.Forbidden, "login.error.step").Because(err)
		}
		return nil, err
	}
}

func (l *Legacy) logout(c *call) (any, error) {
	who, err := l.cfg.Sessions.FindFormer(c.ec.Request())
	if err != nil && !errors.Is(err, auth.ErrNoSession) {
		return nil, err
	}
	if err := l.cfg.Sessions.CloseFormer(c.ec.Response(), c.ec.Request()); err != nil {
		return nil, err
	}
	who.Address = c.ec.RealIP()
	l.cfg.Manage.Audit.LoggedOut(c.ctx, who)
	return nil, nil
}

// updatePassword changes one's own password.
func (l *Legacy) updatePassword(c *call) (any, error) {
	chosen := c.values.Get("password")
	err := l.cfg.Manage.Users.ChangePassword(c.ctx, c.who, c.values.Get("oldPassword"), chosen, chosen)
	return nil, named(err, userNames)
}
