package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
)

// slowBy are the orders of the slowest jobs, by their names in addresses.
var slowBy = map[string]manage.SlowBy{link.SlowLongest: manage.SlowLongest, link.SlowTotal: manage.SlowTotal, link.SlowGrown: manage.SlowerNow}

// slowest shows which jobs took longest in the last days.
func (c *jobPages) slowest(ec echo.Context) error {
	f := link.SlowFrom(ec.QueryParams())
	page := jobs.SlowPage{Page: c.pageWithFilter(ec, link.Slowest(f)), Filter: f, Days: manage.SlowDays}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	list, err := c.jobs.Slowest(ec.Request().Context(), who(ec), slowBy[f.By])
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
	if page.Usage, err = c.usage(ec.Request().Context(), page.Page, who(ec), int(f.Days)); err != nil {
		return err
	}
	return render(ec, http.StatusOK, jobs.Slowest(page))
}

// usage is what groups did in the last days, who worked longest first.
func (c *jobPages) usage(ctx context.Context, page layout.Page, p auth.Principal, days int) (u jobs.Usage, err error) {
	today := c.wall.Wall(c.now()).Truncate(24 * time.Hour)
	from := today.AddDate(0, 0, 1-days)
	list, err := c.figures.Usage(ctx, p, from, today)
	if err != nil {
		return u, err
	}
	slices.SortStableFunc(list, func(a, b dashboard.Usage) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(b.Runs, a.Runs))
	})
	u = jobs.Usage{From: from.Format(time.DateOnly), Until: today.Format(time.DateOnly), Days: dashboard.UsageKept}
	u.Kept = today.AddDate(0, 0, 1-u.Days).Format(time.DateOnly)
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return format.Number(n)
	}
	for _, g := range list {
		row := jobs.UsageRow{ID: g.ID, Group: g.Title, Runs: number(g.Runs), Failed: number(g.Failed), Skipped: number(g.Skipped)}
		if g.ID != 0 && g.AppName == "" {
			row.ID, row.Group = 0, groupTitles{}.title(g.ID)
		}
		if g.Took != 0 {
			row.Took = format.Duration(page.Printer, g.Took)
		}
		u.Rows = append(u.Rows, row)
	}
	return u, nil
}
