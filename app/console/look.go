package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/ui"
)

// lists are those whose look people choose, with the columns that can be hidden.
var lists = map[string][]ui.Column{manage.ViewJobs: jobs.Columns, manage.ViewRuns: runs.Columns}

// look is how somebody wants a list, ready to draw.
func look(page layout.Page, p auth.Principal, list string) ui.Look {
	kept := p.Preferences.Lists[list]
	l := ui.Look{List: list, Dense: p.Preferences.Dense, Rows: kept.Rows}
	if !slices.Contains(ui.RowChoices(), l.Rows) {
		l.Rows = ui.UsualRows
	}
	for _, c := range lists[list] {
		l.Columns = append(l.Columns, ui.Option{Value: c.Name, Label: page.T(c.Label), Selected: !slices.Contains(kept.Hidden, c.Name)})
	}
	return l
}

// chosen are somebody's preferences with what a form says of them; ok is false where it says nothing.
func chosen(ec echo.Context, prefs auth.Preferences) (_ auth.Preferences, ok bool) {
	if keys := ec.FormValue(layout.FieldKeys); keys == "on" || keys == "off" {
		prefs.NoKeys = keys == "off"
		return prefs, true
	}
	if start := ec.FormValue(layout.FieldStart); slices.Contains(layout.Starts(), start) {
		if prefs.Start = start; start == layout.StartDashboard {
			prefs.Start = ""
		}
		return prefs, true
	}
	if ec.FormValue(layout.FieldSteps) == "off" {
		prefs.NoSteps = true
		return prefs, true
	}
	list := ec.FormValue(ui.FieldList)
	columns, known := lists[list]
	if !known {
		return prefs, false
	}
	var kept auth.ListLook
	shown := ec.Request().Form[ui.FieldColumn]
	for _, c := range columns {
		if !slices.Contains(shown, c.Name) {
			kept.Hidden = append(kept.Hidden, c.Name)
		}
	}
	if n, _ := strconv.Atoi(ec.FormValue(ui.FieldRows)); n != ui.UsualRows && slices.Contains(ui.RowChoices(), n) {
		kept.Rows = n
	}
	prefs.Dense = ec.FormValue(ui.FieldDense) == "1"
	return prefs.With(list, kept), true
}

// backToList goes on where the list is: for a script where the browser has come to since the page was loaded, and at its first page, since
// pages may have another size now.
func (c *entrance) backToList(ec echo.Context) error {
	r := ec.Request()
	next := link.Local(ec.FormValue(layout.FieldNext))
	if at, err := url.Parse(r.Header.Get("HX-Current-URL")); err == nil && isPartial(r) {
		next = link.Local(at.RequestURI())
	}
	if at, err := url.Parse(next); err == nil {
		q := at.Query()
		for _, place := range []string{"page", "before", "after"} {
			q.Del(place)
		}
		at.RawQuery = q.Encode()
		next = at.String()
	}
	next = cmp.Or(next, link.Root)
	if isPartial(r) {
		ec.Response().Header().Set("HX-Redirect", next)
		return ec.NoContent(http.StatusNoContent)
	}
	return ec.Redirect(http.StatusSeeOther, next)
}

// startOf is the page that somebody's visits begin with.
func startOf(p auth.Principal) string {
	switch p.Preferences.Start {
	case layout.StartMine:
		return link.Jobs(link.JobFilter{Show: link.ShowMine})
	case layout.StartJobs:
		return link.JobsPath
	case layout.StartRuns:
		return link.RunsPath
	default:
		return link.Root
	}
}

// arrives says whether a visit begins with a request: its address was typed or kept, or it comes from the login or from elsewhere. Who
// goes to the dashboard from another page wants the dashboard.
func arrives(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "none", "cross-site":
		return true
	}
	from, err := url.Parse(r.Referer())
	return err == nil && (from.Path == link.Login || strings.HasPrefix(from.Path, link.Login+"/"))
}
