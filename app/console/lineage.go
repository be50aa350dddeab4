package console

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/views/flows"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/link"
)

// lineagePages show which jobs start which.
type lineagePages struct {
	*frame
	jobs *manage.Jobs
}

func (c *lineagePages) routes(g *echo.Group) { g.GET("/executors/:id/lineage", c.show) }

func (c *lineagePages) show(ec echo.Context) error {
	groupID, err := id(ec)
	if err != nil {
		return err
	}
	ctx, p := ec.Request().Context(), who(ec)
	g, err := c.groups.Get(ctx, p, groupID)
	if err != nil {
		return err
	}
	found, err := c.jobs.Lineage(ctx, p, groupID)
	if err != nil {
		return err
	}
	titles, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	page := groups.LineagePage{Page: c.Page(ec), ID: groupID, Title: g.Title, Rest: found.Rest, Hidden: found.Hidden}
	page.Graph.Label = page.T("lineage.title")
	names := make(map[int64]string, len(found.Jobs))
	for _, j := range found.Jobs {
		names[j.ID] = j.Name
	}
	for _, j := range found.Jobs {
		n := flows.Node{ID: strconv.FormatInt(j.ID, 10), Title: j.Name, Kind: flow.KindJob, Note: "#" + format.Digits(j.ID), URL: link.Job(j.ID)}
		row := groups.LineageJob{Name: j.Name, URL: n.URL, Flow: j.Flow}
		if j.Flow {
			n.Kind = flow.KindFlow
		}
		if j.Group != groupID {
			row.Group = titles.title(j.Group)
			n.Note = row.Group
		}
		for _, from := range j.StartedBy {
			n.Needs = append(n.Needs, strconv.FormatInt(from, 10))
			row.StartedBy = append(row.StartedBy, names[from])
		}
		page.Graph.Nodes = append(page.Graph.Nodes, n)
		page.Jobs = append(page.Jobs, row)
	}
	return render(ec, http.StatusOK, groups.Lineage(page))
}
