package console

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
	"github.com/punctual-job/punctual/views/users"
)

// teamPages are who has the same rights together.
type teamPages struct {
	*frame
	teams  *manage.Teams
	people *userPages
}

func (c *teamPages) routes(g *echo.Group) {
	g.GET("/teams", c.teamList)
	g.GET("/teams/new", c.teamEdit)
	g.POST("/teams", c.teamSave)
	g.GET("/teams/:id/edit", c.teamEdit)
	g.POST("/teams/:id", c.teamSave)
	g.GET("/teams/:id/delete", c.teamDeleteForm)
	g.POST("/teams/:id/delete", c.teamDelete)
}

func (c *teamPages) teamList(ec echo.Context) error {
	list, err := c.teams.List(ec.Request().Context(), who(ec))
	if err != nil {
		return err
	}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	page := users.TeamsPage{Page: c.pageWithFlash(ec)}
	for _, t := range list {
		row := users.Team{ID: t.ID, Name: t.Name}
		for _, m := range t.Members {
			row.Members = append(row.Members, m.Name)
		}
		for _, g := range groups.list {
			if t.Rights[g.ID] != 0 {
				row.Groups = append(row.Groups, g.Title)
			}
		}
		page.Rows = append(page.Rows, row)
	}
	return render(ec, http.StatusOK, users.Teams(page))
}

// team is the team that the path names; a new one if it names none.
func (c *teamPages) team(ec echo.Context) (manage.Team, error) {
	if !who(ec).Admin {
		return manage.Team{}, &problem.Error{Kind: problem.Forbidden}
	}
	if ec.Param("id") == "" {
		return manage.Team{}, nil
	}
	teamID, err := id(ec)
	if err != nil {
		return manage.Team{}, err
	}
	return c.teams.Get(ec.Request().Context(), who(ec), teamID)
}

func (c *teamPages) teamEdit(ec echo.Context) error {
	t, err := c.team(ec)
	if err != nil {
		return err
	}
	var members []int64
	for _, m := range t.Members {
		members = append(members, m.UserID)
	}
	page := users.TeamPage{Page: c.pageWithFlash(ec), Name: t.Name, Version: t.Version()}
	return c.teamForm(ec, http.StatusOK, page, t, members, t.Rights)
}

// teamForm draws the form of a team with the members and the rights that are ticked.
func (c *teamPages) teamForm(ec echo.Context, status int, page users.TeamPage, t manage.Team, members []int64, rights map[int64]auth.Rights) error {
	page.ID, page.Title = t.ID, t.Name
	everybody, err := c.people.users.List(ec.Request().Context(), who(ec))
	if err != nil {
		return err
	}
	for _, u := range everybody {
		m := users.Member{ID: u.ID, Name: u.Name, Admin: u.Admin, Disabled: u.Disabled, In: slices.Contains(members, u.ID)}
		m.Ruled = slices.ContainsFunc(t.Members, func(now manage.Member) bool { return now.UserID == u.ID && now.Ruled })
		m.In = m.In || m.Ruled
		page.Members = append(page.Members, m)
	}
	slices.SortStableFunc(page.Members, func(a, b users.Member) int { return inFirst(a) - inFirst(b) })
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	page.Rights, page.Groups = auth.RightNames(auth.AllRights), groups.rights(rights)
	if page.Like.Colleagues, err = c.people.colleagues(ec, 0); err != nil {
		return err
	}
	return render(ec, status, users.TeamForm(page))
}

func inFirst(m users.Member) int {
	if m.In {
		return 0
	}
	return 1
}

// teamSave takes the form of a new team and of a change.
func (c *teamPages) teamSave(ec echo.Context) error {
	t, err := c.team(ec)
	if err != nil {
		return err
	}
	in := manage.TeamInput{Name: ec.FormValue(users.FieldName), Version: ec.FormValue(users.FieldVersion)}
	if in.Rights, err = c.people.rightsInput(ec); err != nil {
		return err
	}
	for _, text := range ec.Request().Form[users.FieldMembers] {
		member, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return &problem.Error{Kind: problem.Malformed}
		}
		in.Members = append(in.Members, member)
	}
	page := users.TeamPage{Page: c.Page(ec), Name: in.Name, Version: in.Version}
	if name, rights, asked, err := c.people.likeColleague(ec); asked {
		if err != nil {
			return err
		}
		page.Like.Filled = name
		return c.teamForm(ec, http.StatusOK, page, t, in.Members, rights)
	}
	if t.ID == 0 {
		in.Version = ""
	}
	if _, err := c.teams.Save(ec.Request().Context(), who(ec), t.ID, in); err != nil {
		var ok bool
		if page.Errors, page.Problem, ok = refused(page.Page, err, problem.Conflict); !ok {
			return err
		}
		page.Differs = newer(page.Page, err, &page.Version, &page.Problem)
		return c.teamForm(ec, http.StatusUnprocessableEntity, page, t, in.Members, in.Rights)
	}
	key := "teams.flash.saved"
	if t.ID == 0 {
		key = "teams.flash.created"
	}
	return c.goTo(ec, link.TeamsPath, done(key, "Name", in.Name))
}

func (c *teamPages) teamDeleteForm(ec echo.Context) error {
	t, err := c.team(ec)
	if err != nil {
		return err
	}
	page := users.TeamDeletePage{Page: c.Page(ec), ID: t.ID, Name: t.Name, Members: len(t.Members)}
	return renderPart(ec, http.StatusOK, users.TeamDelete(page), ui.FragmentDialog)
}

func (c *teamPages) teamDelete(ec echo.Context) error {
	t, err := c.team(ec)
	if err != nil {
		return err
	}
	if err := c.teams.Delete(ec.Request().Context(), who(ec), t.ID); err != nil {
		return err
	}
	return c.goTo(ec, link.TeamsPath, done("teams.flash.deleted", "Name", t.Name))
}
