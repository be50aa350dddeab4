package console

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// groupPages are the executor groups, their addresses and their access tokens.
type groupPages struct {
	*frame
	tokens  *manage.Tokens
	pauses  *manage.Pauses
	figures *dashboard.Dashboard
	saved   *savedViews
}

func (c *groupPages) routes(g *echo.Group) {
	g.GET("/executors", c.groupList)
	g.GET("/executors/new", c.groupNew)
	g.POST("/executors", c.groupCreate)
	g.GET("/executors/:id", c.groupDetail)
	g.POST("/executors/:id/addresses", c.addressSwitch)
	g.GET("/executors/token", c.tokenPage)
	for _, of := range []string{"/executors", "/executors/:id"} { // of the installation, and of a group
		g.GET(of+"/token/rotate", c.tokenRotateForm)
		g.POST(of+"/token/rotate", c.tokenRotate)
	}
	g.GET("/executors/:id/token/drop", c.tokenDropForm)
	g.POST("/executors/:id/token/drop", c.tokenDrop)
	g.GET("/executors/:id/edit", c.groupEdit)
	g.POST("/executors/:id", c.groupUpdate)
	g.GET("/executors/:id/delete", c.groupDeleteForm)
	g.POST("/executors/:id/delete", c.groupDelete)
}

const groupsPerPage = 50

// groupList filters in memory: an installation has tens of groups.
func (c *groupPages) groupList(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	f := link.ExecutorsFrom(ec.QueryParams())
	f.Page = max(f.Page, 1)
	all, err := c.groups.List(ctx, p)
	if err != nil {
		return err
	}
	page := groups.ListPage{Page: c.pageOfList(ec, link.Executors(f)), Filter: f, CanEdit: p.Admin, AnyGroups: len(all) > 0}
	jobs, err := c.figures.LatestJobCounts(ctx, p)
	if err != nil {
		return err
	}
	found := int64(0)
	var matching []db.Group
	shown := make(map[int64][]groups.Address)
	text := strings.ToLower(f.Text)
	for _, g := range all {
		if !strings.Contains(strings.ToLower(g.AppName), text) && !strings.Contains(strings.ToLower(g.Title), text) {
			continue
		}
		shown[g.ID] = c.addresses(page.Page, p, g.ID)
		if f.State != "" {
			n := int64(0)
			if shown[g.ID], n = narrowed(shown[g.ID], f.State, jobs[g.ID].Started); n == 0 {
				continue
			}
			found += n
		}
		matching = append(matching, g)
	}
	page.Chips = groupChips(page.Page, f, found)
	if page.Refused, err = c.refused(ctx, page.Page, p, all); err != nil {
		return err
	}
	page.Total = int64(len(matching))
	if last := lastPage(page.Total, groupsPerPage); f.Page > last {
		f.Page = last
		page.Filter, page.Ignored = f, link.Ignored(ec.Request().URL.RawQuery, link.Executors(f))
	}
	from := min((f.Page-1)*groupsPerPage, len(matching))
	for _, g := range matching[from:min(from+groupsPerPage, len(matching))] {
		row := groupRow(g, c.addresses(page.Page, p, g.ID), jobs[g.ID].All)
		row.CanStop = row.Jobs > 0 && p.Can(g.ID, auth.RightSchedule)
		row.Addresses = shown[g.ID] // a group with one address lost and one online is still online
		page.Rows = append(page.Rows, row)
	}
	page.Pager = pager(f.Page, groupsPerPage, page.Total, func(n int) string {
		f.Page = n
		return link.Executors(f)
	})
	if page.Views, err = c.saved.viewBar(ec, manage.ViewExecutors, link.ViewParams(manage.ViewExecutors, ec.QueryString())); err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, groups.List(page), ui.FragmentResults)
}

// narrowed are the addresses of a group in a state that an executor list is narrowed to, and how many that counts. A group
// that has started jobs and nobody to run them counts as one that is lost.
func narrowed(addresses []groups.Address, state string, started int64) (kept []groups.Address, n int64) {
	for _, a := range addresses {
		if state == link.ExecutorsOnline && isOnline(a.State) || state == link.ExecutorsLost && isLost(a.State) {
			kept = append(kept, a)
		}
	}
	if state == link.ExecutorsLost && len(addresses) == 0 && started > 0 {
		return nil, 1
	}
	return kept, int64(len(kept))
}

// isOnline says whether an address takes runs, as far as is known.
func isOnline(s groups.AddressState) bool {
	return s == groups.AddressOnline || s == groups.AddressLate || s == groups.AddressManual
}

// isLost says whether an address is one that somebody should look after.
func isLost(s groups.AddressState) bool {
	return s == groups.AddressOffline || s == groups.AddressLate || s == groups.AddressSuspect || s == groups.AddressTooOld || s == groups.AddressRefusing
}

// refused are the calls that were not taken of executors of these groups; administrators see those of strangers too.
func (c *groupPages) refused(ctx context.Context, page layout.Page, p auth.Principal, of []db.Group) ([]groups.Refused, error) {
	calls, err := c.groups.Refused(ctx, p, of)
	if err != nil {
		return nil, err
	}
	var list, unknown []groups.Refused // the latter come all the time, and take no place of others
	for _, r := range calls {
		shown := groups.Refused{Address: r.Caller.Address, AppName: r.Caller.AppName, Executor: r.Caller.Executor, Why: string(r.Why), Last: c.at(page, r.Last)}
		if r.Why == scheduler.RefusedUnknown {
			shown.Create = link.ExecutorNamed(r.Caller.AppName)
			unknown = append(unknown, shown)
			continue
		}
		list = append(list, shown)
	}
	return append(list, unknown...), nil
}

func groupRow(g db.Group, addresses []groups.Address, jobs int64) groups.Row {
	row := groups.Row{
		ID: g.ID, AppName: g.AppName, Title: g.Title, Manual: g.AddressType == manage.AddressManual, Jobs: jobs,
		Addresses: addresses,
	}
	for _, a := range row.Addresses {
		if a.State == groups.AddressOnline || a.State == groups.AddressLate {
			row.Online++
		}
	}
	return row
}

func (c *frame) addresses(page layout.Page, p auth.Principal, group int64) []groups.Address {
	var list []groups.Address
	for _, a := range c.groups.Addresses(p, group) {
		list = append(list, groups.Address{
			URL: a.Address, State: groups.AddressState(a.Standing(c.now())), Beat: c.at(page, a.LastBeat), Era: a.Era, InFlight: a.InFlight, Queued: a.Queued,
			Asked: c.at(page, a.Asked), Since: c.at(page, a.SilentSince), Fault: string(a.Fault),
		})
	}
	return list
}

func (c *groupPages) groupNew(ec echo.Context) error {
	if !who(ec).Admin {
		return &problem.Error{Kind: problem.Forbidden}
	}
	values := groups.FormValues{AppName: ec.QueryParam(groups.FieldAppName), Type: groups.TypeAuto, Idle: groups.IdleWait, MaxRunning: "0"}
	return render(ec, http.StatusOK, groups.Form(groups.FormPage{Page: c.pageWithFlash(ec), Values: values}))
}

func (c *groupPages) groupEdit(ec echo.Context) error {
	page, g, err := c.groupFormPage(ec)
	if err != nil {
		return err
	}
	options, err := c.groups.Options(ec.Request().Context(), g.AppName)
	if err != nil {
		return err
	}
	page.Values = groups.FormValues{
		AppName: g.AppName, Title: g.Title, Type: groups.TypeAuto, Idle: groups.IdleWait, Version: manage.GroupVersion(g, options),
		TokenManages: ui.Checked(options.TokenManages), ScriptReview: ui.Checked(options.ScriptReview), KeepOutput: string(cmp.Or(options.KeepOutput, jobspec.KeepInherit)),
		MaxRunning: strconv.Itoa(options.MaxRunning),
	}
	if options.IdleIsLost {
		page.Values.Idle = groups.IdleLost
	}
	if g.AddressType == manage.AddressManual {
		page.Values.Type, page.Values.Addresses = groups.TypeManual, strings.Join(manage.GroupAddressList(g), "\n")
	}
	return render(ec, http.StatusOK, groups.Form(page))
}

// groupFormPage is the form of the group that the path names, without its values.
func (c *groupPages) groupFormPage(ec echo.Context) (groups.FormPage, db.Group, error) {
	groupID, err := id(ec)
	if err != nil {
		return groups.FormPage{}, db.Group{}, err
	}
	p := who(ec)
	if !p.Admin {
		return groups.FormPage{}, db.Group{}, &problem.Error{Kind: problem.Forbidden}
	}
	g, err := c.groups.Get(ec.Request().Context(), p, groupID)
	if err != nil {
		return groups.FormPage{}, db.Group{}, err
	}
	page := groups.FormPage{Page: c.pageWithFlash(ec), ID: groupID, Name: g.Title}
	page.Addresses = c.addresses(page.Page, p, g.ID)
	return page, g, nil
}

func (c *groupPages) groupCreate(ec echo.Context) error {
	var values groups.FormValues
	if err := bind(ec, &values); err != nil {
		return err
	}
	created, err := c.groups.Create(ec.Request().Context(), who(ec), groupInput(values))
	if err != nil {
		return c.groupFormAgain(ec, groups.FormPage{Page: c.Page(ec)}, values, err)
	}
	return c.goTo(ec, link.Executor(created), done("groups.flash.created", "Name", values.Title))
}

func (c *groupPages) groupUpdate(ec echo.Context) error {
	var values groups.FormValues
	if err := bind(ec, &values); err != nil {
		return err
	}
	page, _, err := c.groupFormPage(ec)
	if err != nil {
		return err
	}
	if err := c.groups.Update(ec.Request().Context(), who(ec), page.ID, groupInput(values)); err != nil {
		return c.groupFormAgain(ec, page, values, err)
	}
	return c.goTo(ec, link.Executor(page.ID), done("groups.flash.saved", "Name", values.Title))
}

func groupInput(v groups.FormValues) manage.GroupInput {
	return manage.GroupInput{
		AppName: v.AppName, Title: v.Title, Manual: v.Type == groups.TypeManual, Addresses: v.Addresses, Version: v.Version,
		GroupOptions: manage.GroupOptions{IdleIsLost: v.Idle == groups.IdleLost, TokenManages: bool(v.TokenManages), ScriptReview: bool(v.ScriptReview), KeepOutput: jobspec.Keep(v.KeepOutput), MaxRunning: maxRunning(v.MaxRunning)},
	}
}

// maxRunning reads a limit; one that is no number is none that a group can have.
func maxRunning(typed string) int {
	n, err := strconv.Atoi(cmp.Or(strings.TrimSpace(typed), "0"))
	if err != nil {
		return -1
	}
	return n
}

func (c *groupPages) groupFormAgain(ec echo.Context, page groups.FormPage, values groups.FormValues, err error) error {
	var ok bool
	if page.Errors, page.Problem, ok = refused(page.Page, err, problem.Conflict); !ok {
		return err
	}
	page.Values = values
	page.Differs = newer(page.Page, err, &page.Values.Version, &page.Problem)
	return render(ec, http.StatusUnprocessableEntity, groups.Form(page))
}

func (c *groupPages) groupDeleteForm(ec echo.Context) error {
	page, g, err := c.groupFormPage(ec)
	if err != nil {
		return err
	}
	ctx := ec.Request().Context()
	jobs, err := c.groups.CountJobs(ctx, g.ID)
	if err != nil {
		return err
	}
	all, err := c.groups.CountAll(ctx)
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, groups.Delete(groups.DeletePage{
		Page: page.Page, ID: g.ID, Title: g.Title, AppName: g.AppName, Jobs: jobs, Last: all == 1,
	}), ui.FragmentDialog)
}

func (c *groupPages) groupDelete(ec echo.Context) error {
	page, g, err := c.groupFormPage(ec)
	if err != nil {
		return err
	}
	if err := c.groups.Delete(ec.Request().Context(), who(ec), page.ID); err != nil {
		return err
	}
	return c.goTo(ec, link.ExecutorsPath, done("groups.flash.deleted", "Name", g.Title))
}
