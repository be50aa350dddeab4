package console

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// groupDetail is a group's page: its addresses, its token for administrators, and how to connect.
func (c *groupPages) groupDetail(ec echo.Context) error {
	page, err := c.groupDetailPage(ec)
	if err != nil {
		return err
	}
	page.Flashes = c.pageWithFlash(ec).Flashes
	return renderPart(ec, http.StatusOK, groups.Detail(page), ui.FragmentResults)
}

func (c *groupPages) groupDetailPage(ec echo.Context) (groups.DetailPage, error) {
	groupID, err := id(ec)
	if err != nil {
		return groups.DetailPage{}, err
	}
	ctx, p := ec.Request().Context(), who(ec)
	g, err := c.groups.Get(ctx, p, groupID)
	if err != nil {
		return groups.DetailPage{}, err
	}
	jobs, err := c.groups.CountJobs(ctx, groupID)
	if err != nil {
		return groups.DetailPage{}, err
	}
	page := groups.DetailPage{Page: c.Page(ec), ID: groupID, AppName: g.AppName, Title: g.Title, Jobs: jobs, CanEdit: p.Admin, Secrets: p.Can(groupID, auth.RightEdit)}
	page.CanPause = p.Can(groupID, auth.RightSchedule)
	wide, err := c.pauses.Wide(ctx, p)
	if err != nil {
		return groups.DetailPage{}, err
	}
	for i := range wide {
		if wide[i].Scope == jobspec.PauseAll || wide[i].Target == groupID {
			page.Paused = append(page.Paused, c.widePause(page.Page, &wide[i]))
		}
	}
	page.Addresses = c.addresses(page.Page, p, g.ID)
	taken, err := c.groups.Slots(ctx, p, g.ID)
	if err != nil {
		return groups.DetailPage{}, err
	}
	page.Slots = groups.Slots{Limit: taken.Limit, Running: taken.Running, Waiting: taken.Waiting}
	refused, err := c.refused(ctx, page.Page, p, []db.Group{g})
	if err != nil {
		return groups.DetailPage{}, err
	}
	for _, r := range refused {
		if strings.EqualFold(r.AppName, g.AppName) {
			page.Refused = append(page.Refused, r)
		}
	}
	if p.Admin {
		if page.Token, err = c.tokenCard(ec, page.Page, groupID); err != nil {
			return page, err
		}
	}
	page.Connect = c.connect(ec, page.Page, g.AppName, page.Token)
	return page, nil
}

// tokenCard holds the token itself only when its reader asked to see it, which the audit log says. A page that draws its addresses
// anew does not show it once more.
func (c *groupPages) tokenCard(ec echo.Context, page layout.Page, groupID int64) (groups.TokenCard, error) {
	look, showing := c.tokens.State, ec.QueryParam("token") == "show" && !isPartial(ec.Request())
	if showing {
		look = c.tokens.Show
	}
	s, err := look(ec.Request().Context(), who(ec), groupID)
	if err != nil {
		return groups.TokenCard{}, err
	}
	card := groups.TokenCard{GroupID: groupID, Own: s.Own, Fixed: s.Fixed, None: s.Token == "", Previous: c.at(page, s.PreviousUntil), Handover: s.Handover}
	if showing {
		card.Token = s.Token
	}
	return card, nil
}

// connect is what a program needs to know. A token that is not shown is a placeholder.
func (c *groupPages) connect(ec echo.Context, page layout.Page, appName string, card groups.TokenCard) groups.Connect {
	at := groups.Connect{AdminURL: c.settings.PublicURL(), AppName: appName, Token: card.Token}
	if at.AdminURL == "" {
		scheme := "http://"
		if auth.IsHTTPS(ec.Request()) {
			scheme = "https://"
		}
		at.AdminURL = scheme + ec.Request().Host
	}
	if at.Token == "" && !card.None {
		at.Token, at.Secret = "<"+page.T("token.title")+">", true
	}
	return at
}

// addressSwitch takes an address out of rotation or back in. htmx gets the table anew, anybody else the page.
func (c *groupPages) addressSwitch(ec echo.Context) error {
	groupID, err := id(ec)
	if err != nil {
		return err
	}
	address, disabled := ec.FormValue(groups.FieldAddress), ec.FormValue(groups.FieldDisabled) == "1"
	if err := c.groups.SetAddressDisabled(ec.Request().Context(), who(ec), groupID, address, disabled); err != nil {
		return err
	}
	said, was := done("groups.flash.enabled", "Address", address), "1"
	if disabled {
		said, was = done("groups.flash.disabled", "Address", address), "0"
	}
	said = said.undoneBy(layout.Undo{
		URL: link.ExecutorAddresses(groupID), Target: "#" + ui.FragmentResults,
		Fields: []layout.Field{{Name: groups.FieldAddress, Value: address}, {Name: groups.FieldDisabled, Value: was}},
	})
	if !isPartial(ec.Request()) {
		return c.goTo(ec, link.Executor(groupID), said)
	}
	page, err := c.groupDetailPage(ec)
	if err != nil {
		return err
	}
	page.Flashes = append(page.Flashes, said.drawn(page.Page))
	return render(ec, http.StatusOK, groups.AddressesSwap(page))
}

// tokenPage is the installation's access token.
func (c *groupPages) tokenPage(ec echo.Context) error {
	page := groups.TokenPage{Page: c.pageWithFlash(ec)}
	var err error
	if page.Token, err = c.tokenCard(ec, page.Page, 0); err != nil {
		return err
	}
	page.Connect = c.connect(ec, page.Page, "my-service", page.Token)
	list, err := c.groups.List(ec.Request().Context(), who(ec))
	if err != nil {
		return err
	}
	for _, g := range list {
		s, err := c.tokens.State(ec.Request().Context(), who(ec), g.ID)
		if err != nil {
			return err
		}
		page.Groups = append(page.Groups, groups.TokenGroup{ID: g.ID, Title: g.Title, Own: s.Own})
	}
	return render(ec, http.StatusOK, groups.Token(page))
}

// tokenQuestion is the page that asks before a token is replaced or dropped: of the group in the path, or the installation's.
func (c *groupPages) tokenQuestion(ec echo.Context) (groups.RotatePage, error) {
	page := groups.RotatePage{Page: c.Page(ec), Grace: groups.GraceDefault}
	if ec.Param("id") == "" {
		_, err := c.tokens.State(ec.Request().Context(), who(ec), 0) // refuses who may not
		return page, err
	}
	form, g, err := c.groupFormPage(ec)
	if err != nil {
		return page, err
	}
	page.GroupID, page.Title = form.ID, g.Title
	s, err := c.tokens.State(ec.Request().Context(), who(ec), page.GroupID)
	page.First = !s.Own
	return page, err
}

func (c *groupPages) tokenRotateForm(ec echo.Context) error {
	page, err := c.tokenQuestion(ec)
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, groups.Rotate(page), ui.FragmentDialog)
}

func (c *groupPages) tokenRotate(ec echo.Context) error {
	page, err := c.tokenQuestion(ec)
	if err != nil {
		return err
	}
	page.Grace = ec.FormValue(groups.FieldGrace)
	hours, err := strconv.Atoi(page.Grace)
	if err != nil || hours > 1_000_000 {
		hours = -1 // refused as every number that is out of bounds
	}
	err = c.tokens.Rotate(ec.Request().Context(), who(ec), page.GroupID, time.Duration(hours)*time.Hour)
	if err != nil {
		errs, ok := fieldErrors(page.Page, err)
		if !ok {
			return err
		}
		page.Error = errs[groups.FieldGrace]
		return renderPart(ec, http.StatusUnprocessableEntity, groups.Rotate(page), ui.FragmentDialog)
	}
	return c.goTo(ec, tokenHome(page), done("token.flash.rotated"))
}

func (c *groupPages) tokenDropForm(ec echo.Context) error {
	page, err := c.tokenQuestion(ec)
	if err != nil {
		return err
	}
	s, err := c.tokens.State(ec.Request().Context(), who(ec), page.GroupID)
	if err != nil {
		return err
	}
	if !s.Own {
		return problem.New(problem.Conflict, "problem.token.common")
	}
	return renderPart(ec, http.StatusOK, groups.Drop(page), ui.FragmentDialog)
}

func (c *groupPages) tokenDrop(ec echo.Context) error {
	page, err := c.tokenQuestion(ec)
	if err != nil {
		return err
	}
	if err := c.tokens.Drop(ec.Request().Context(), who(ec), page.GroupID); err != nil {
		return err
	}
	return c.goTo(ec, tokenHome(page), done("token.flash.dropped"))
}

// tokenHome shows the new token to who has just made it: it has to be carried somewhere.
func tokenHome(page groups.RotatePage) string {
	if page.GroupID == 0 {
		return link.ExecutorTokenShowing()
	}
	return link.ExecutorShowing(page.GroupID)
}
