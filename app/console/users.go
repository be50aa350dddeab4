package console

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
	"github.com/punctual-job/punctual/views/users"
)

// userPages are everybody's account, and each one's own.
type userPages struct {
	*frame
	users       *manage.Users
	directories *manage.Directories
	factors     *auth.Factors
}

const usersPerPage = 50

func (c *userPages) routes(g *echo.Group) {
	g.GET("/users", c.userList)
	g.GET("/users/new", c.userNew)
	g.GET(link.UserRightsPath, c.userRights)
	g.POST("/users", c.userCreate)
	g.GET("/users/:id/edit", c.userEdit)
	g.POST("/users/:id", c.userUpdate)
	g.GET("/users/:id/password", c.userPasswordForm)
	g.POST("/users/:id/password", c.userPassword)
	g.GET("/users/:id/signout", c.userSignOutForm)
	g.POST("/users/:id/signout", c.userSignOut)
	g.POST("/users/:id/sessions/end", c.userSessionEnd)
	g.GET("/users/:id/delete", c.userDeleteForm)
	g.POST("/users/:id/delete", c.userDelete)
	g.GET("/profile", c.profile)
	g.POST("/profile/password", c.profilePassword)
	g.POST("/profile/sessions/end", c.profileSessions)
	g.GET("/users/:id/second", c.secondResetForm)
	g.POST("/users/:id/second", c.secondReset)
}

// userList filters in memory: an installation has hundreds of users at most.
func (c *userPages) userList(ec echo.Context) error {
	p := who(ec)
	f := link.UsersFrom(ec.QueryParams())
	f.Page = max(f.Page, 1)
	all, err := c.users.List(ec.Request().Context(), p)
	if err != nil {
		return err
	}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	page := users.ListPage{Page: c.pageOfList(ec, link.Users(f)), Filter: f}
	if p.Admin {
		form, err := c.adoption.WayBack(ec.Request().Context(), p)
		if err != nil {
			return err
		}
		page.OldHash = hashNames[form]
	}
	unnamed := c.directories.Unnamed(all)
	for _, provider := range slices.Sorted(maps.Keys(unnamed)) {
		page.Unnamed = append(page.Unnamed, users.Unnamed{Provider: provider, People: unnamed[provider]})
	}
	var matching []manage.User
	for _, u := range all {
		if userMatches(u, f) {
			matching = append(matching, u)
		}
	}
	page.Total = int64(len(matching))
	if last := lastPage(page.Total, usersPerPage); f.Page > last {
		f.Page = last
		page.Filter, page.Ignored = f, link.Ignored(ec.Request().URL.RawQuery, link.Users(f))
	}
	from := min((f.Page-1)*usersPerPage, len(matching))
	for _, u := range matching[from:min(from+usersPerPage, len(matching))] {
		row := users.Row{
			ID: u.ID, Name: u.Name, Role: userRole(u), State: userState(u), Self: u.ID == p.UserID, Login: c.at(page.Page, fromMillis(u.LoginAt)),
			Sessions: u.Sessions, Provider: u.Provider, BreakGlass: u.BreakGlass, Service: u.Service, NoSecond: u.Second == 0 && !u.Service && c.users.HasSecondHere(u.Provider),
		}
		for _, t := range u.Teams {
			row.Teams = append(row.Teams, t.Name)
		}
		for _, g := range groups.list {
			if u.May(g.ID) != 0 {
				row.Groups = append(row.Groups, g.Title)
			}
		}
		page.Rows = append(page.Rows, row)
	}
	page.Pager = pager(f.Page, usersPerPage, page.Total, func(n int) string {
		f.Page = n
		return link.Users(f)
	})
	return renderPart(ec, http.StatusOK, users.List(page), ui.FragmentResults)
}

func userMatches(u manage.User, f link.UserFilter) bool {
	return strings.Contains(strings.ToLower(u.Name), strings.ToLower(f.Text)) &&
		(f.Role == "" || f.Role == userRole(u)) &&
		(f.State == "" || f.State == userState(u))
}

// userRole is the role of a user.
func userRole(u manage.User) string {
	switch {
	case u.Admin:
		return link.UserAdmin
	case u.Auditor:
		return link.UserAuditor
	}
	return link.UserNormal
}

// userState is whether a user may come in.
func userState(u manage.User) string {
	switch {
	case u.Left:
		return link.UserLeft
	case u.Disabled:
		return link.UserDisabled
	}
	return link.UserActive
}

func (c *userPages) userPasswordForm(ec echo.Context) error {
	u, err := c.target(ec)
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, users.Password(users.PasswordPage{Page: c.Page(ec), ID: u.ID, Name: u.Name}), ui.FragmentDialog)
}

func (c *userPages) userPassword(ec echo.Context) error {
	u, err := c.target(ec)
	if err != nil {
		return err
	}
	page := c.Page(ec)
	made, err := c.users.ResetPassword(ec.Request().Context(), who(ec), u.ID, ec.FormValue(users.FieldPassword))
	if err != nil {
		errs, ok := fieldErrors(page, err)
		if !ok {
			return err
		}
		return renderPart(ec, http.StatusUnprocessableEntity,
			users.Password(users.PasswordPage{Page: page, ID: u.ID, Name: u.Name, Error: errs[manage.UserPassword]}), ui.FragmentDialog)
	}
	if made != "" {
		return renderPart(ec, http.StatusOK, users.Made(users.MadePage{Page: page, Name: u.Name, Password: made}), ui.FragmentDialog)
	}
	return c.goTo(ec, link.UsersPath, done("users.flash.password", "Name", u.Name))
}

func (c *userPages) askPage(ec echo.Context) (users.AskPage, error) {
	u, err := c.target(ec)
	if err != nil {
		return users.AskPage{}, err
	}
	sessions, err := c.users.CountSessions(ec.Request().Context(), who(ec), u.ID)
	return users.AskPage{Page: c.Page(ec), ID: u.ID, Name: u.Name, Sessions: sessions}, err
}

func (c *userPages) userSignOutForm(ec echo.Context) error {
	page, err := c.askPage(ec)
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, users.SignOut(page), ui.FragmentDialog)
}

func (c *userPages) userSignOut(ec echo.Context) error {
	u, err := c.target(ec)
	if err != nil {
		return err
	}
	if err := c.users.SignOut(ec.Request().Context(), who(ec), u.ID); err != nil {
		return err
	}
	return c.goTo(ec, link.UsersPath, done("users.flash.signedout", "Name", u.Name))
}

func (c *userPages) userDeleteForm(ec echo.Context) error {
	u, err := c.target(ec)
	if err != nil {
		return err
	}
	l, err := c.users.Leaves(ec.Request().Context(), who(ec), u)
	if err != nil {
		return err
	}
	page := users.DeletePage{Page: c.Page(ec), ID: u.ID, Name: u.Name, Jobs: l.Jobs, Changes: l.Changes, Tokens: l.Tokens}
	return renderPart(ec, http.StatusOK, users.Delete(page), ui.FragmentDialog)
}

func (c *userPages) userDelete(ec echo.Context) error {
	u, err := c.target(ec)
	if err != nil {
		return err
	}
	if err := c.users.Delete(ec.Request().Context(), who(ec), u.ID); err != nil {
		return err
	}
	return c.goTo(ec, link.UsersPath, done("users.flash.deleted", "Name", u.Name))
}

func (c *userPages) profile(ec echo.Context) error {
	return c.profilePage(ec, http.StatusOK, users.ProfilePage{Page: c.pageWithFlash(ec)})
}

// sessionsOf are a user's sessions, ready to print.
func (c *userPages) sessionsOf(ec echo.Context, page layout.Page, userID int64) (list []users.Session, err error) {
	p := who(ec)
	sessions, err := c.users.Sessions(ec.Request().Context(), p, userID)
	for _, s := range sessions {
		list = append(list, users.Session{
			ID: s.ID, Current: s.ID == p.Session, Agent: agentWords(page, s.Agent), Full: s.Agent, Address: s.Address,
			Opened: c.at(page, fromMillis(s.CreatedAt)), Seen: c.at(page, fromMillis(s.SeenAt)), Remembered: s.Remembered != 0,
		})
	}
	return list, err
}

// userSessionEnd ends one session of somebody else.
func (c *userPages) userSessionEnd(ec echo.Context) error {
	u, err := c.target(ec)
	if err != nil {
		return err
	}
	if err := c.users.EndSession(ec.Request().Context(), who(ec), u.ID, ec.FormValue(users.FieldSession)); err != nil {
		return err
	}
	return c.goTo(ec, link.UserEdit(u.ID), done("profile.flash.session"))
}

func (c *userPages) profilePage(ec echo.Context, status int, page users.ProfilePage) error {
	p := who(ec)
	page.Provider = p.Provider
	var err error
	if page.Sessions, err = c.sessionsOf(ec, page.Page, p.UserID); err != nil {
		return err
	}
	factors, _, err := c.factors.List(ec.Request().Context(), p.UserID)
	if err != nil {
		return err
	}
	page.Second = len(factors)
	if !c.users.HasSecondHere(p.Provider) {
		page.SecondAt = p.Provider
	}
	if !p.Admin {
		groups, err := c.groupTitles(ec)
		if err != nil {
			return err
		}
		rights := make(map[int64]auth.Rights)
		for _, g := range groups.list {
			rights[g.ID] = p.Rights(g.ID)
		}
		teams, err := c.users.Own(ec.Request().Context(), p)
		if err != nil {
			return err
		}
		page.Rights, page.Groups = auth.RightNames(auth.AllRights), groups.rights(rights, teams...)
	}
	return render(ec, status, users.Profile(page))
}

func (c *userPages) profilePassword(ec echo.Context) error {
	err := c.users.ChangePassword(ec.Request().Context(), who(ec), ec.FormValue(users.FieldOld), ec.FormValue(users.FieldPassword), ec.FormValue(users.FieldRepeat))
	if err == nil {
		return c.goTo(ec, link.ProfilePath, done("profile.flash.password"))
	}
	page := users.ProfilePage{Page: c.Page(ec)}
	var ok bool
	if page.Errors, page.Problem, ok = refused(page.Page, err, problem.TooMany); !ok {
		return err
	}
	return c.profilePage(ec, http.StatusUnprocessableEntity, page)
}

// profileSessions ends one of one's own sessions, or all but the one in use.
func (c *userPages) profileSessions(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	if session := ec.FormValue(users.FieldSession); session != "" {
		if err := c.users.EndSession(ctx, p, p.UserID, session); err != nil {
			return err
		}
		return c.goTo(ec, link.ProfilePath, done("profile.flash.session"))
	}
	if err := c.users.SignOut(ctx, p, p.UserID); err != nil {
		return err
	}
	return c.goTo(ec, link.ProfilePath, done("profile.flash.sessions"))
}

// agentWords says which browser a session belongs to, as far as that can be told.
func agentWords(page interface{ T(string, ...any) string }, agent string) string {
	find := func(pairs ...string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if strings.Contains(agent, pairs[i]) {
				return pairs[i+1]
			}
		}
		return ""
	}
	// The order matters: every browser also claims to be the ones before it.
	browser := find("Edg/", "Edge", "OPR/", "Opera", "Firefox/", "Firefox", "Chrome/", "Chrome", "Safari/", "Safari", "curl/", "curl", "Go-http-client", "Go")
	system := find("Android", "Android", "iPhone", "iPhone", "iPad", "iPad", "Windows", "Windows", "Mac OS X", "macOS", "Linux", "Linux")
	switch {
	case browser == "" && system == "":
		return page.T("profile.session.unknown")
	case browser == "" || system == "":
		return browser + system
	}
	return browser + " · " + system
}

func textID(n int64) string { return strconv.FormatInt(n, 10) }

func (c *userPages) secondResetForm(ec echo.Context) error {
	page, err := c.askPage(ec)
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, users.ResetSecond(page), ui.FragmentDialog)
}

func (c *userPages) secondReset(ec echo.Context) error {
	u, err := c.target(ec)
	if err != nil {
		return err
	}
	if err := c.users.ResetSecond(ec.Request().Context(), who(ec), u.ID); err != nil {
		return err
	}
	return c.goTo(ec, link.UsersPath, done("second.flash.reset", "Name", u.Name))
}
