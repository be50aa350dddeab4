package console

import (
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
	"github.com/punctual-job/punctual/views/users"
)

func (c *userPages) userNew(ec echo.Context) error {
	if !who(ec).Admin {
		return &problem.Error{Kind: problem.Forbidden}
	}
	return c.userForm(ec, http.StatusOK, users.FormPage{Page: c.pageWithFlash(ec), Values: users.FormValues{Role: link.UserNormal, State: link.UserActive}}, nil)
}

// userForm draws the form with the rights that are ticked.
func (c *userPages) userForm(ec echo.Context, status int, page users.FormPage, rights map[int64]auth.Rights) error {
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	var teams []manage.TeamRights
	if page.ID != 0 {
		u, err := c.target(ec)
		if err != nil {
			return err
		}
		teams = u.Teams
		for _, t := range teams {
			page.Teams = append(page.Teams, users.Team{ID: t.ID, Name: t.Name})
		}
	}
	page.Rights, page.Groups = auth.RightNames(auth.AllRights), groups.rights(rights, teams...)
	if page.Like.Colleagues, err = c.colleagues(ec, page.ID); err != nil {
		return err
	}
	if page.ID != 0 {
		if page.Sessions, err = c.sessionsOf(ec, page.Page, page.ID); err != nil {
			return err
		}
		factors, _, err := c.factors.List(ec.Request().Context(), page.ID)
		if err != nil {
			return err
		}
		page.Second = len(factors)
		if !c.users.HasSecondHere(page.Values.Provider) {
			page.SecondAt = page.Values.Provider
		}
	}
	return render(ec, status, users.Form(page))
}

// rights are the lines of the table of rights, with what comes through teams besides. Those in which there are some stand first:
// there may be hundreds.
func (g groupTitles) rights(rights map[int64]auth.Rights, teams ...manage.TeamRights) []users.Group {
	list := make([]users.Group, len(g.list))
	for i, group := range g.list {
		list[i] = users.Group{ID: group.ID, Title: group.Title, Rights: make(map[string]bool)}
		for _, name := range auth.RightNames(rights[group.ID]) {
			list[i].Rights[name] = true
		}
		for _, t := range teams {
			if names := auth.RightNames(t.Rights[group.ID]); len(names) > 0 {
				list[i].Through = append(list[i].Through, users.Through{Team: t.Name, Rights: names})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b users.Group) int { return rank(a) - rank(b) })
	return list
}

func rank(g users.Group) int {
	if len(g.Rights)+len(g.Through) > 0 {
		return 0
	}
	return 1
}

// colleagues are the users whose rights can be filled in, but one.
func (c *userPages) colleagues(ec echo.Context, except int64) ([]ui.Option, error) {
	all, err := c.users.List(ec.Request().Context(), who(ec))
	if err != nil {
		return nil, err
	}
	var options []ui.Option
	for _, u := range all {
		if !u.Admin && u.ID != except {
			options = append(options, ui.Option{Value: textID(u.ID), Label: u.Name, Selected: textID(u.ID) == ec.FormValue(users.FieldLike)})
		}
	}
	return options, nil
}

// likeColleague says whether a form asks for a colleague's rights to be filled in, and gives them. Nothing is saved by that.
func (c *userPages) likeColleague(ec echo.Context) (name string, rights map[int64]auth.Rights, asked bool, err error) {
	if ec.FormValue(users.FieldDo) != users.DoLike {
		return "", nil, false, nil
	}
	userID, _ := strconv.ParseInt(ec.FormValue(users.FieldLike), 10, 64) // what is no number is nobody's
	u, err := c.users.Get(ec.Request().Context(), who(ec), userID)
	return u.Name, u.Rights, true, err
}

// target is the user that the path names, for administrators. One's own account is looked after in the profile.
func (c *userPages) target(ec echo.Context) (manage.User, error) {
	if !who(ec).Admin {
		return manage.User{}, &problem.Error{Kind: problem.Forbidden}
	}
	userID, err := id(ec)
	if err != nil {
		return manage.User{}, err
	}
	return c.users.Get(ec.Request().Context(), who(ec), userID)
}

func (c *userPages) userEdit(ec echo.Context) error {
	u, err := c.target(ec)
	if err != nil {
		return err
	}
	if u.ID == who(ec).UserID {
		return ec.Redirect(http.StatusSeeOther, link.ProfilePath)
	}
	return c.userForm(ec, http.StatusOK, users.FormPage{Page: c.pageWithFlash(ec), ID: u.ID, Values: userValues(u)}, u.Rights)
}

func userValues(u manage.User) users.FormValues {
	return users.FormValues{Name: u.Name, Role: userRole(u), State: userState(u), Version: u.Version(), Provider: u.Provider, BreakGlass: ui.Checked(u.BreakGlass), Service: u.Service}
}

// userInput reads a posted form.
func (c *userPages) userInput(ec echo.Context) (v users.FormValues, in manage.UserInput, err error) {
	if err = bind(ec, &v); err != nil {
		return v, in, err
	}
	in = manage.UserInput{
		Name: v.Name, Password: v.Password, Admin: v.Role == link.UserAdmin, Auditor: v.Role == link.UserAuditor, Disabled: v.State == link.UserDisabled || v.State == link.UserLeft, Left: v.State == link.UserLeft, BreakGlass: bool(v.BreakGlass), Version: v.Version,
	}
	in.Rights, err = c.rightsInput(ec)
	return v, in, err
}

// rightsInput reads the table of rights.
func (c *userPages) rightsInput(ec echo.Context) (map[int64]auth.Rights, error) {
	rights := make(map[int64]auth.Rights)
	for _, value := range ec.Request().Form[users.FieldRights] {
		if group, name, ok := users.ParseRight(value); ok {
			rights[group] |= auth.RightNamed(name)
		}
	}
	var everywhere auth.Rights
	for _, name := range ec.Request().Form[users.FieldAll] {
		everywhere |= auth.RightNamed(name)
	}
	if everywhere == 0 {
		return rights, nil
	}
	groups, err := c.groupTitles(ec)
	for _, g := range groups.list {
		rights[g.ID] |= everywhere
	}
	return rights, err
}

func (c *userPages) userCreate(ec echo.Context) error {
	values, in, err := c.userInput(ec)
	if err != nil {
		return err
	}
	if name, rights, asked, err := c.likeColleague(ec); asked {
		if err != nil {
			return err
		}
		return c.userForm(ec, http.StatusOK, users.FormPage{Page: c.Page(ec), Values: values, Like: users.Like{Filled: name}}, rights)
	}
	_, made, err := c.users.Create(ec.Request().Context(), who(ec), in)
	if err != nil {
		return c.userFormAgain(ec, users.FormPage{Page: c.Page(ec)}, values, in, err)
	}
	if made != "" {
		return render(ec, http.StatusOK, users.Made(users.MadePage{Page: c.Page(ec), Name: in.Name, Password: made, Created: true}))
	}
	return c.goTo(ec, link.UsersPath, done("users.flash.created", "Name", in.Name))
}

func (c *userPages) userUpdate(ec echo.Context) error {
	u, err := c.target(ec)
	if err != nil {
		return err
	}
	values, in, err := c.userInput(ec)
	if err != nil {
		return err
	}
	values.Name, values.Provider, values.Service = u.Name, u.Provider, u.Service
	if u.Provider != "" { // the form does not ask for what the provider says
		values.Role, in.Admin, in.Auditor, in.Rights = userRole(u), u.Admin, u.Auditor, u.Rights
	}
	if name, rights, asked, err := c.likeColleague(ec); asked && u.Provider == "" {
		if err != nil {
			return err
		}
		return c.userForm(ec, http.StatusOK, users.FormPage{Page: c.Page(ec), ID: u.ID, Values: values, Like: users.Like{Filled: name}}, rights)
	}
	if err := c.users.Update(ec.Request().Context(), who(ec), u.ID, in); err != nil {
		return c.userFormAgain(ec, users.FormPage{Page: c.Page(ec), ID: u.ID}, values, in, err)
	}
	said := done("users.flash.saved", "Name", u.Name)
	now, err := c.target(ec)
	if err != nil {
		return err
	}
	if fields := userBefore(u, now); in.Password == "" && now.Version() != u.Version() && len(fields) <= maxUndoFields {
		said = said.undoneBy(layout.Undo{URL: link.User(u.ID), Fields: fields})
	}
	return c.goTo(ec, link.UsersPath, said)
}

// maxUndoFields bounds what an offer to take something back carries along: it may wait in a cookie.
const maxUndoFields = 80

// userBefore are the fields of the form that make a user what they were, unless somebody changes them once more meanwhile.
func userBefore(u, now manage.User) []layout.Field {
	values := userValues(u)
	fields := []layout.Field{{Name: users.FieldRole, Value: values.Role}, {Name: users.FieldState, Value: values.State}, {Name: users.FieldVersion, Value: now.Version()}}
	if values.BreakGlass {
		fields = append(fields, layout.Field{Name: users.FieldBreakGlass, Value: "on"})
	}
	for _, group := range slices.Sorted(maps.Keys(u.Rights)) {
		for _, name := range auth.RightNames(u.Rights[group]) {
			fields = append(fields, layout.Field{Name: users.FieldRights, Value: users.RightValue(group, name)})
		}
	}
	return fields
}

func (c *userPages) userFormAgain(ec echo.Context, page users.FormPage, values users.FormValues, in manage.UserInput, err error) error {
	var ok bool
	if page.Errors, page.Problem, ok = refused(page.Page, err, problem.Conflict); !ok {
		return err
	}
	page.Values = values
	page.Differs = newer(page.Page, err, &page.Values.Version, &page.Problem)
	return c.userForm(ec, http.StatusUnprocessableEntity, page, in.Rights)
}
