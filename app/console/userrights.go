package console

import (
	"cmp"
	"encoding/csv"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/views/link"
)

var rightsHead = []string{"user", "role", "state", "provider", "service", "breakGlass", "secondFactor", "lastLogin", "executor", "rights", "through"}

// everyExecutor stands for all executors, also those that are yet to come.
const everyExecutor = "*"

// userRights writes who may do what to a file: a line for each user, executor and way to a right, and one for whoever has none.
func (c *userPages) userRights(ec echo.Context) error {
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	list, err := c.users.Export(ec.Request().Context(), who(ec))
	if err != nil {
		return err
	}
	w := ec.Response()
	w.Header().Set(echo.HeaderContentType, "text/csv; charset=utf-8")
	w.Header().Set(echo.HeaderContentDisposition, `attachment; filename="rights-`+c.now().In(c.zone).Format("20060102-150405")+`.csv"`)
	w.WriteHeader(http.StatusOK)
	// Without the mark, spreadsheets take the file for one in their own code page.
	if _, err := w.Write([]byte("\ufeff")); err != nil {
		return err
	}
	table := csv.NewWriter(w)
	lines := [][]string{rightsHead}
	for _, u := range list {
		lines = append(lines, groups.lines(u)...)
	}
	return table.WriteAll(lines)
}

// lines are what a user may do.
func (g groupTitles) lines(u manage.User) [][]string {
	login := ""
	if u.LoginAt != 0 {
		login = time.UnixMilli(u.LoginAt).UTC().Format(time.RFC3339)
	}
	yes := func(is bool) string {
		if is {
			return "yes"
		}
		return ""
	}
	var list [][]string
	add := func(executor, through string, r auth.Rights) {
		if r == 0 && executor != "" {
			return
		}
		line := []string{u.Name, userRole(u), userState(u), u.Provider, yes(u.Service), yes(u.BreakGlass), yes(u.Second > 0), login, executor, strings.Join(auth.RightNames(r), " "), through}
		for i := range line {
			line[i] = csvSafe(line[i])
		}
		list = append(list, line)
	}
	switch {
	case u.Admin:
		add(everyExecutor, link.UserAdmin, auth.AllRights)
		return list
	case u.Auditor:
		add(everyExecutor, link.UserAuditor, auth.RightView)
	}
	byName := slices.SortedFunc(slices.Values(g.list), func(a, b db.Group) int { return cmp.Compare(a.AppName, b.AppName) })
	for _, group := range byName {
		add(group.AppName, "", u.Rights[group.ID])
		for _, t := range u.Teams {
			add(group.AppName, t.Name, t.Rights[group.ID])
		}
	}
	if len(list) == 0 {
		add("", "", 0)
	}
	return list
}
