package console

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
)

// slowBy are the orders of the slowest jobs, by their names in addresses.
var slowBy = map[string]manage.SlowBy{link.SlowLongest: manage.SlowLongest, link.SlowTotal: manage.SlowTotal, link.SlowGrown: manage.SlowerNow}

// slowest shows which jobs took longest in the last days.
func (c *jobPages) slowest(ec echo.Context) error {
	by := link.SlowBy(ec.QueryParam("by"))
	page := jobs.SlowPage{Page: c.pageOfList(ec, link.Slowest(by)), By: by, Days: manage.SlowDays}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	list, err := c.jobs.Slowest(ec.Request().Context(), who(ec), slowBy[page.By])
	if err != nil {
		return err
	}
	for i := range list {
		j := &list[i]
		row := jobs.SlowRow{
			ID: j.ID, Name: j.Name, Group: groups.title(j.Group), Longest: format.Duration(page.Printer, j.Longest), LongestRun: j.LongestRun,
			Average: format.Duration(page.Printer, j.Average()), Total: format.Duration(page.Printer, j.Total), Runs: format.Digits(j.Runs),
			Slower: j.Grown >= 1.5,
		}
		if j.Grown > 0 {
			row.Grown = "×" + strconv.FormatFloat(j.Grown, 'f', 1, 64)
		}
		page.Rows = append(page.Rows, row)
	}
	return render(ec, http.StatusOK, jobs.Slowest(page))
}
