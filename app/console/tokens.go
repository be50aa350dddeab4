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
	"github.com/punctual-job/punctual/views/tokens"
	"github.com/punctual-job/punctual/views/ui"
)

// tokenPages are the API tokens of people and service accounts.
type tokenPages struct {
	*frame
	tokens  *manage.APITokens
	devices *manage.DeviceLogins
}

func (c *tokenPages) routes(g *echo.Group) {
	g.GET("/tokens", c.tokenList)
	g.GET("/tokens/new", c.tokenNew)
	g.POST("/tokens", c.tokenCreate)
	g.GET("/tokens/:id/revoke", c.tokenRevokeForm)
	g.POST("/tokens/:id/revoke", c.tokenRevoke)
	g.GET("/device", c.device)
	g.POST("/device", c.deviceAnswer)
	g.GET("/tokens/accounts/new", c.accountNew)
	g.POST("/tokens/accounts", c.accountCreate)
}

func ofAll(ec echo.Context) bool { return ec.QueryParam("of") == "all" }

func (c *tokenPages) tokenList(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	page := tokens.ListPage{Page: c.pageWithFlash(ec), All: ofAll(ec)}
	list, err := c.tokens.List(ctx, p, page.All)
	if err != nil {
		return err
	}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	for _, t := range list {
		row := tokens.Row{
			ID: t.ID, Name: t.Name, Hint: t.Hint, Owner: t.Owner, Service: t.Service, Admin: t.Admin, Rights: auth.RightNames(t.Rights), State: string(t.State),
			Expires: c.at(page.Page, fromMillis(t.ExpiresAt)), Used: c.at(page.Page, fromMillis(t.UsedAt)), From: t.UsedFrom,
		}
		for _, id := range t.Groups {
			row.Groups = append(row.Groups, groups.title(id))
		}
		page.Rows = append(page.Rows, row)
	}
	if page.All {
		accounts, err := c.tokens.Accounts(ctx, p)
		if err != nil {
			return err
		}
		for _, a := range accounts {
			page.Accounts = append(page.Accounts, tokens.Account{ID: a.ID, Name: a.Name, Disabled: a.Disabled})
		}
	}
	return render(ec, http.StatusOK, tokens.List(page))
}

func (c *tokenPages) tokenNew(ec echo.Context) error {
	page := tokens.FormPage{Page: c.pageWithFlash(ec), Owner: ec.QueryParam("owner"), Days: tokens.DaysDefault, Scope: map[string]bool{"view": true}}
	return c.tokenForm(ec, http.StatusOK, page, nil)
}

// tokenForm draws the form with the groups that are ticked.
func (c *tokenPages) tokenForm(ec echo.Context, status int, page tokens.FormPage, chosen []int64) error {
	page.Rights, page.CanAdmin = auth.RightNames(auth.AllRights), who(ec).Admin
	if page.Owner != "" && !who(ec).Admin {
		return &problem.Error{Kind: problem.Forbidden}
	}
	if page.Owner != "" {
		accounts, err := c.tokens.Accounts(ec.Request().Context(), who(ec))
		if err != nil {
			return err
		}
		i := slices.IndexFunc(accounts, func(a manage.ServiceAccount) bool { return textID(a.ID) == page.Owner })
		if i < 0 {
			return problem.New(problem.NotFound, "problem.apitoken.owner")
		}
		page.For, page.CanAdmin = accounts[i].Name, accounts[i].Role == auth.RoleAdmin
	}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	for _, g := range groups.list {
		page.Groups = append(page.Groups, tokens.Group{ID: g.ID, Title: g.Title, Checked: slices.Contains(chosen, g.ID)})
	}
	for _, id := range chosen { // one that is gone goes when somebody takes it out: without any, the token would be for all groups
		if _, is := groups.byID[id]; !is {
			page.Groups = append(page.Groups, tokens.Group{ID: id, Title: page.T("alarms.scope.gone", "ID", textID(id)), Checked: true})
		}
	}
	return render(ec, status, tokens.Form(page))
}

func (c *tokenPages) tokenCreate(ec echo.Context) error {
	page, in := c.readToken(ec)
	if page.Owner = ec.FormValue(tokens.FieldOwner); page.Owner != "" {
		in.Owner, _ = strconv.ParseInt(page.Owner, 10, 64)
		if in.Owner <= 0 {
			return problem.New(problem.NotFound, "problem.apitoken.owner")
		}
	}
	_, made, err := c.tokens.Create(ec.Request().Context(), who(ec), in)
	if err != nil {
		return c.tokenRefused(ec, page, in, err)
	}
	ec.Response().Header().Set("Cache-Control", "no-store")
	return render(ec, http.StatusOK, tokens.Made(tokens.MadePage{Page: page.Page, Name: in.Name, Token: made, All: page.Owner != ""}))
}

// tokenRefused draws the form again with what is wrong.
func (c *tokenPages) tokenRefused(ec echo.Context, page tokens.FormPage, in manage.APITokenInput, err error) error {
	var ok bool
	if page.Errors, page.Problem, ok = refused(page.Page, err, problem.Conflict); !ok {
		return err
	}
	return c.tokenForm(ec, http.StatusUnprocessableEntity, page, in.Groups)
}

// readToken reads the form of a token.
func (c *tokenPages) readToken(ec echo.Context) (tokens.FormPage, manage.APITokenInput) {
	page := tokens.FormPage{Page: c.Page(ec), Name: ec.FormValue(tokens.FieldName), Days: ec.FormValue(tokens.FieldDays), Scope: make(map[string]bool)}
	in := manage.APITokenInput{Name: page.Name, Days: -1}
	if days, err := strconv.Atoi(page.Days); err == nil {
		in.Days = days
	}
	for _, name := range ec.Request().Form[tokens.FieldScope] {
		page.Scope[name] = true
		in.Rights |= auth.RightNamed(name)
	}
	in.Admin = page.Scope[tokens.ScopeAdmin]
	for _, text := range ec.Request().Form[tokens.FieldGroups] {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			id = -1 // refused as every group that is none
		}
		in.Groups = append(in.Groups, id)
	}
	return page, in
}

func (c *tokenPages) tokenRevokeForm(ec echo.Context) error {
	tokenID, err := id(ec)
	if err != nil {
		return err
	}
	t, err := c.tokens.Get(ec.Request().Context(), who(ec), tokenID)
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, tokens.Revoke(tokens.RevokePage{Page: c.Page(ec), ID: t.ID, Name: t.Name, All: ofAll(ec)}), ui.FragmentDialog)
}

func (c *tokenPages) tokenRevoke(ec echo.Context) error {
	tokenID, err := id(ec)
	if err != nil {
		return err
	}
	t, err := c.tokens.Get(ec.Request().Context(), who(ec), tokenID)
	if err != nil {
		return err
	}
	if err := c.tokens.Revoke(ec.Request().Context(), who(ec), tokenID); err != nil {
		return err
	}
	to := link.TokensPath
	if ofAll(ec) {
		to = link.TokensAll
	}
	return c.goTo(ec, to, done("apitokens.flash.revoked", "Name", t.Name))
}

func (c *tokenPages) accountNew(ec echo.Context) error {
	if !who(ec).Admin {
		return &problem.Error{Kind: problem.Forbidden}
	}
	return renderPart(ec, http.StatusOK, tokens.AccountForm(tokens.AccountPage{Page: c.Page(ec)}), ui.FragmentDialog)
}

func (c *tokenPages) accountCreate(ec echo.Context) error {
	page := tokens.AccountPage{Page: c.Page(ec), Name: ec.FormValue(tokens.FieldName)}
	made, err := c.tokens.CreateAccount(ec.Request().Context(), who(ec), page.Name, false)
	if err != nil {
		errs, ok := fieldErrors(page.Page, err)
		if !ok {
			return err
		}
		page.Error = errs[tokens.FieldName]
		return renderPart(ec, http.StatusUnprocessableEntity, tokens.AccountForm(page), ui.FragmentDialog)
	}
	return c.goTo(ec, link.UserEdit(made), done("apitokens.flash.account", "Name", page.Name))
}
