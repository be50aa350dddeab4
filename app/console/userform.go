package console

import (
	"maps"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/users"
)

func (c *Console) userNew(ec echo.Context) error {
	if !who(ec).Admin {
		return &problem.Error{Kind: problem.Forbidden}
	}
	return c.userForm(ec, http.StatusOK, users.FormPage{Page: c.pageWithFlash(ec), Values: users.FormValues{Role: link.UserNormal, State: link.UserActive}}, nil)
}

// userForm draws the form with the rights that are ticked.
func (c *Console) userForm(ec echo.Context, status int, page users.FormPage, rights map[int64]auth.Rights) error {
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	page.Groups = groups.rights(rights)
	if page.ID != 0 {
		if page.Sessions, err = c.sessionsOf(ec, page.Page, page.ID); err != nil {
			return err
		}
		factors, _, err := c.cfg.Factors.List(ec.Request().Context(), page.ID)
		if err != nil {
			return err
		}
		page.Second = len(factors)
		if !c.cfg.Manage.Users.HasSecondHere(page.Values.Provider) {
			page.SecondAt = page.Values.Provider
		}
	}
	return render(ec, status, users.Form(page))
}

// rights are the lines of the table of rights.
func (g groupTitles) rights(rights map[int64]auth.Rights) []users.Group {
	list := make([]users.Group, len(g.list))
	for i, group := range g.list {
		list[i] = users.Group{ID: group.ID, Title: group.Title, Rights: make(map[string]bool)}
		for _, name := range auth.RightNames(rights[group.ID]) {
			list[i].Rights[name] = true
		}
	}
	return list
}

// target is the user that the path names, for administrators. One's own account is looked after in the profile.
func (c *Console) target(ec echo.Context) (manage.User, error) {
	userID, err := id(ec)
	if err != nil {
		return manage.User{}, err
	}
	return c.cfg.Manage.Users.Get(ec.Request().Context(), who(ec), userID)
}

func (c *Console) userEdit(ec echo.Context) error {
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
	values := users.FormValues{Name: u.Name, Role: link.UserNormal, State: link.UserActive, Version: u.Version(), Provider: u.Provider, BreakGlass: u.BreakGlass}
	if u.Admin {
		values.Role = link.UserAdmin
	}
	if u.Disabled {
		values.State = link.UserDisabled
	}
	return values
}

// userInput reads a posted form.
func userInput(ec echo.Context) (users.FormValues, manage.UserInput) {
	v := users.FormValues{
		Name: formText(ec, users.FieldName), Role: formText(ec, users.FieldRole), State: formText(ec, users.FieldState), Version: formText(ec, users.FieldVersion),
		BreakGlass: formText(ec, users.FieldBreakGlass) != "",
	}
	in := manage.UserInput{
		Name: v.Name, Password: ec.FormValue(users.FieldPassword), Admin: v.Role == link.UserAdmin, Disabled: v.State == link.UserDisabled,
		Rights: make(map[int64]auth.Rights), BreakGlass: v.BreakGlass, Version: v.Version,
	}
	for _, value := range ec.Request().Form[users.FieldRights] {
		if group, name, ok := users.ParseRight(value); ok {
			in.Rights[group] |= auth.RightNamed(name)
		}
	}
	return v, in
}

func (c *Console) userCreate(ec echo.Context) error {
	if err := parseForm(ec); err != nil {
		return err
	}
	values, in := userInput(ec)
	_, made, err := c.cfg.Manage.Users.Create(ec.Request().Context(), who(ec), in)
	if err != nil {
		return c.userFormAgain(ec, users.FormPage{Page: c.Page(ec)}, values, in, err)
	}
	if made != "" {
		return render(ec, http.StatusOK, users.Made(users.MadePage{Page: c.Page(ec), Name: in.Name, Password: made, Created: true}))
	}
	return c.goTo(ec, link.UsersPath, done("users.flash.created", "Name", in.Name))
}

func (c *Console) userUpdate(ec echo.Context) error {
	if err := parseForm(ec); err != nil {
		return err
	}
	u, err := c.target(ec)
	if err != nil {
		return err
	}
	values, in := userInput(ec)
	values.Name, values.Provider = u.Name, u.Provider
	if u.Provider != "" { // the form does not ask for what the provider says
		values.Role, in.Admin, in.Rights = userValues(u).Role, u.Admin, u.Rights
	}
	if err := c.cfg.Manage.Users.Update(ec.Request().Context(), who(ec), u.ID, in); err != nil {
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

func (c *Console) userFormAgain(ec echo.Context, page users.FormPage, values users.FormValues, in manage.UserInput, err error) error {
	errs, ok := fieldErrors(page.Page, err)
	switch {
	case ok:
		page.Errors = errs
	case problem.From(err).Kind == problem.Conflict:
		page.Problem = problem.From(err).Text(page.Printer)
	default:
		return err
	}
	page.Values = values
	return c.userForm(ec, http.StatusUnprocessableEntity, page, in.Rights)
}
