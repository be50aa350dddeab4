package console

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/calendar"
	"github.com/punctual-job/punctual/views/calendars"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// calendarPages are the calendars that jobs keep to.
type calendarPages struct {
	*frame
	calendars *manage.Calendars
}

func (c *calendarPages) routes(g *echo.Group) {
	g.GET("/calendars", c.list)
	g.POST("/calendars", c.save)
	g.GET("/calendars/:name", c.show)
	g.GET("/calendars/:name/delete", c.removeForm)
	g.POST("/calendars/:name/delete", c.remove)
}

func (c *calendarPages) row(page layout.Page, k manage.Calendar) calendars.Row {
	row := calendars.Row{Name: k.Name, Title: k.Title, Zone: k.Zone, Jobs: k.Jobs, Missing: k.Missing}
	if k.Revision > 0 {
		row.Changed = page.T("calendars.by", "Time", time.UnixMilli(k.UpdatedAt).In(c.timesOf(page)).Format(time.DateTime), "User", k.UpdatedBy)
	}
	return row
}

func (c *calendarPages) list(ec echo.Context) error {
	page := calendars.ListPage{Page: c.pageWithFlash(ec)}
	if who(ec).Admin {
		page.Form = new(calendars.Form)
	}
	return c.drawList(ec, http.StatusOK, page)
}

func (c *calendarPages) drawList(ec echo.Context, status int, page calendars.ListPage) error {
	list, err := c.calendars.List(ec.Request().Context(), who(ec))
	if err != nil {
		return err
	}
	for _, k := range list {
		page.Rows = append(page.Rows, c.row(page.Page, k))
	}
	return render(ec, status, calendars.List(page))
}

func (c *calendarPages) show(ec echo.Context) error {
	k, err := c.calendars.Get(ec.Request().Context(), who(ec), ec.Param("name"))
	if err != nil {
		return err
	}
	page := calendars.ShowPage{Page: c.pageWithFlash(ec)}
	page.Row = c.row(page.Page, k)
	asked, err := strconv.Atoi(ec.QueryParam("year"))
	if err != nil || asked < calendar.FirstYear || asked > calendar.LastYear {
		asked = 0
	}
	page.Ignored = link.Ignored(ec.Request().URL.RawQuery, link.Calendar(k.Name, asked))
	page.Year = cmp.Or(asked, c.calendars.CalendarYear())
	var week []string
	for _, name := range k.Week {
		week = append(week, page.T("time.weekday."+strconv.Itoa(slices.Index(calendar.Weekdays, name))))
	}
	page.Week = page.List(week)
	years := []int{page.Year}
	for _, s := range k.Days {
		if from, err := strconv.Atoi(s.From[:4]); err == nil {
			years = append(years, from)
			if until := max(s.From, s.Until); from == page.Year || until[:4] == strconv.Itoa(page.Year) {
				page.Days = append(page.Days, calendars.Day{From: s.From, Until: s.Until, Name: s.Name, Off: s.Kind == calendar.Off})
			}
		}
	}
	slices.SortStableFunc(page.Days, func(a, b calendars.Day) int { return strings.Compare(a.From, b.From) })
	for _, y := range k.Years {
		years = append(years, y.Year)
		if y.Year == page.Year {
			page.Source = y.Source
		}
	}
	slices.Sort(years)
	years = slices.Compact(years)
	at := slices.Index(years, page.Year)
	for _, y := range years[max(0, at-3):min(len(years), at+4)] {
		page.Years = append(page.Years, ui.Option{Value: link.Calendar(k.Name, y), Label: format.Digits(int64(y)), Selected: y == page.Year})
	}
	page.Unknown = !k.Knows(page.Year)
	page.Months = months(k.Calendar, page.Year, calendar.DayOf(c.now(), k.Location(c.zone)))
	if who(ec).Admin {
		page.Form = &calendars.Form{File: string(k.JSON()), Of: k.Name, Version: k.Version()}
		page.Deletes = k.Revision > 0
	}
	return render(ec, http.StatusOK, calendars.Show(page))
}

// months are those of a year, by weeks from Monday on.
func months(k *calendar.Calendar, year int, today calendar.Day) []calendars.Month {
	all := make([]calendars.Month, 0, 12)
	for month := time.January; month <= time.December; month++ {
		m := calendars.Month{Name: fmt.Sprintf("%d-%02d", year, month)}
		first, next := calendar.DateOf(year, month, 1), calendar.DateOf(year, month+1, 1)
		for day := first; day < next; day++ {
			column := (int(day.Weekday()) + 6) % 7
			if day == first || column == 0 {
				m.Weeks = append(m.Weeks, [7]calendars.Cell{})
			}
			_, name, marked := k.Marked(day)
			cell := calendars.Cell{Number: int(day-first) + 1, Works: k.Works(day), Marked: marked, Name: name, Today: day == today}
			cell.Weekend = !marked && !cell.Works
			m.Weeks[len(m.Weeks)-1][column] = cell
		}
		all = append(all, m)
	}
	return all
}

// save takes a calendar's file, or an iCalendar file.
func (c *calendarPages) save(ec echo.Context) error {
	if !who(ec).Admin {
		return &problem.Error{Kind: problem.Forbidden}
	}
	file, err := typedOrChosen(ec, calendars.FieldFile, calendars.FieldChosen, calendar.MaxBytes)
	if err != nil {
		return err
	}
	form := calendars.Form{File: file, Of: ec.FormValue(calendars.FieldOf), Version: ec.FormValue(calendars.FieldVersion), Name: strings.TrimSpace(ec.FormValue(calendars.FieldName)),
		Zone: strings.TrimSpace(ec.FormValue(calendars.FieldZone)), Work: strings.TrimSpace(ec.FormValue(calendars.FieldWork))}
	k, left, err := manage.ReadCalendar([]byte(form.File), calendar.Import{Name: form.Name, Zone: form.Zone, Week: calendar.Weekdays[1:6], Work: form.Work})
	if err == nil {
		version := form.Version
		if k.Name != form.Of { // the page is another calendar's
			version = ""
		}
		err = c.calendars.PutVersion(ec.Request().Context(), who(ec), k, version)
	}
	if err != nil {
		page := calendars.ListPage{Page: c.Page(ec), Form: &form}
		var ok bool
		if form.Errors, form.Problem, ok = refused(page.Page, err, problem.Conflict); !ok {
			return err
		}
		form.Differs = newer(page.Page, err, &form.Version, &form.Problem)
		return c.drawList(ec, http.StatusUnprocessableEntity, page)
	}
	if left > 0 {
		return c.goTo(ec, link.Calendar(k.Name, 0), done("calendars.flash.left", "Name", k.Name, "Left", format.Number(int64(left))))
	}
	return c.goTo(ec, link.Calendar(k.Name, 0), done("calendars.flash.saved", "Name", k.Name))
}

// removeForm asks before a calendar is deleted.
func (c *calendarPages) removeForm(ec echo.Context) error {
	if !who(ec).Admin {
		return problem.New(problem.Forbidden, "")
	}
	k, err := c.calendars.Get(ec.Request().Context(), who(ec), ec.Param("name"))
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, calendars.Delete(calendars.DeletePage{Page: c.Page(ec), Name: k.Name, Shipped: k.Shipped, Jobs: k.Jobs}), ui.FragmentDialog)
}

func (c *calendarPages) remove(ec echo.Context) error {
	name := ec.Param("name")
	if err := c.calendars.Delete(ec.Request().Context(), who(ec), name); err != nil {
		return err
	}
	return c.goTo(ec, link.CalendarsPath, done("calendars.flash.deleted", "Name", name))
}
