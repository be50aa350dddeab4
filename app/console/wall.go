package console

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/views/dashboard"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
)

// wallRuns is how many of the runs that go on the wall board names.
const wallRuns = 8

// wall is the wall board. It shows what its reader may see, and changes nothing.
func (c *dashboardPages) wall(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	page := dashboard.Page{Page: c.Page(ec)}
	if _, _, err := c.dashboardState(ec, &page); err != nil {
		return err
	}
	for i := range page.Troubles { // nobody stands at it, and it has no dialog to open
		for j := range page.Troubles[i].Items {
			page.Troubles[i].Items[j].Ack.URL, page.Troubles[i].Items[j].Again = "", ""
		}
	}
	// Runs are written down some seconds ahead; these do not run yet, and are not to take the places of those that do.
	list, err := c.runs.List(ctx, p, manage.RunFilter{Result: manage.Open, Until: c.now(), Limit: wallRuns})
	if err != nil {
		return err
	}
	list.Runs = slices.DeleteFunc(list.Runs, func(r db.RunRow) bool { return c.record(r).Start().After(c.now()) }) // within this second
	jobs, err := c.jobs.OfRuns(ctx, p, db.IDs(list.Runs, func(r *db.RunRow) int64 { return r.JobID })...)
	if err != nil {
		return err
	}
	page.Running = dashboard.Trouble{Kind: dashboard.Running, N: int64(len(list.Runs)), Count: format.Number(int64(len(list.Runs))), URL: link.Runs(link.RunFilter{Result: link.ResultRunning})}
	if list.Older != 0 {
		page.Running.Count += "+"
	}
	for _, r := range list.Runs {
		name, _ := jobName(page.Page, jobs, r.JobID)
		detail := page.T("state." + string(c.record(r).State())) // of a flow, and of what still waits
		if r.ExecutorAddress != "" {
			detail = runs.ShortAddress(string(r.ExecutorAddress))
		}
		page.Running.Items = append(page.Running.Items, dashboard.Item{Name: name, URL: link.Run(r.ID), Detail: detail, At: c.at(page.Page, c.record(r).Start())})
	}
	page.At = c.at(page.Page, c.now())
	return renderPart(ec, http.StatusOK, dashboard.Wall(page), dashboard.FragmentBody)
}
