package console

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/nodes"
	"github.com/punctual-job/punctual/views/ui"
)

// nodeList shows the cluster to administrators.
func (c *Console) nodeList(ec echo.Context) error {
	cluster, err := c.cfg.Manage.Nodes.Cluster(ec.Request().Context(), who(ec))
	if err != nil {
		return err
	}
	page := nodes.ListPage{Page: c.pageWithFlash(ec)}
	l := cluster.Load
	page.Load = nodes.Load{
		MayAct: l.MayAct, Lease: format.Duration(page.Printer, l.Lease), Planned: l.Planned, Queued: l.Queued, InFlight: l.InFlight,
		Unsent: l.Unsent, Results: l.Results,
	}
	for _, n := range cluster.Nodes {
		row := nodes.Row{
			ID: n.ID, Name: n.Name, Address: n.Address, Version: n.Version, State: nodeState(n.State), Self: n.Self,
			Started: c.at(page.Page, n.Started), Beat: c.at(page.Page, n.Beat), Low: n.LowLogID,
		}
		if n.Self {
			page.Load.Name = n.Name
		}
		page.Rows = append(page.Rows, row)
	}
	return renderPart(ec, http.StatusOK, nodes.List(page), ui.FragmentResults)
}

func nodeState(s manage.NodeState) nodes.State {
	switch s {
	case manage.NodeLive:
		return nodes.StateLive
	case manage.NodeSilent:
		return nodes.StateSilent
	case manage.NodeGone:
		return nodes.StateGone
	default:
		return nodes.StateGone
	}
}
