package console

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/nodes"
	"github.com/punctual-job/punctual/views/ui"
)

// nodePages are the admins of the cluster.
type nodePages struct {
	*frame
	nodes *manage.Nodes
}

func (c *nodePages) routes(g *echo.Group) {
	g.GET(link.NodesPath, c.nodeList)
	g.POST(link.NodesGo, c.endHold)
}

// endHold lets the admins begin that were started on a database which is held.
func (c *nodePages) endHold(ec echo.Context) error {
	if err := c.settings.EndHold(ec.Request().Context(), who(ec), ec.FormValue(nodes.FieldOwnStore) != ""); err != nil {
		return err
	}
	return c.goTo(ec, link.NodesPath, done("nodes.hold.ended"))
}

// nodeList shows the cluster to administrators.
func (c *nodePages) nodeList(ec echo.Context) error {
	cluster, err := c.nodes.Cluster(ec.Request().Context(), who(ec))
	if err != nil {
		return err
	}
	page := nodes.ListPage{Page: c.pageWithFlash(ec)}
	form, err := c.adoption.WayBack(ec.Request().Context(), who(ec))
	if err != nil {
		return err
	}
	page.Adopted = form != ""
	if h, held := c.settings.Hold(); held && c.held() {
		page.Hold = &nodes.Hold{By: h.By, Reason: h.Reason, Since: c.at(page.Page, h.At), Outside: cluster.Load.Output != nil && cluster.Load.Output.Outside}
	}
	page.Idle, page.Lease = !cluster.Load.MayAct && !c.held(), format.Duration(page.Printer, cluster.Load.Lease)
	page.Output = outputText(page.Page, cluster)
	for _, n := range cluster.Nodes {
		row := nodes.Row{
			ID: n.ID, Name: n.Name, Address: n.Address, Version: n.Version, State: nodes.State(n.State), Self: n.Self,
			Started: c.at(page.Page, n.Started), Beat: c.at(page.Page, n.Beat), Load: nodeLoad(page.Page, n.Load), HasLoad: n.HasLoad,
		}
		page.Rows = append(page.Rows, row)
		if n.HasLoad {
			page.Conditions = append(page.Conditions, nodeConditions(page.Page, n)...)
			if n.Load.LogLost > 0 {
				page.LogLost = append(page.LogLost, nodes.Condition{Node: n.Name, ID: n.ID, Text: page.T("nodes.loglost", "N", format.Number(n.Load.LogLost))})
			}
		}
	}
	return renderPart(ec, http.StatusOK, nodes.List(page), ui.FragmentResults)
}

// outputText says how the keeping of outputs stands in the cluster. What is in the store, and what waits, each admin sees as a whole.
func outputText(page layout.Page, cluster manage.Cluster) (text []string) {
	self := cluster.Load.Output
	if self == nil {
		return nil
	}
	var all scheduler.OutputFigures
	for _, n := range cluster.Nodes {
		if o := n.Load.Output; n.HasLoad && o != nil {
			all.Held = max(all.Held, o.Held)
			all.Pushed, all.Copied = all.Pushed+o.Pushed, all.Copied+o.Copied
			all.Rate, all.LeftOut, all.Lost, all.Cut, all.Unseen = all.Rate+o.Rate, all.LeftOut+o.LeftOut, all.Lost+o.Lost, all.Cut+o.Cut, all.Unseen+o.Unseen
		}
	}
	text = append(text, page.T("nodes.output", "Size", format.Bytes(self.Bytes), "Objects", format.Number(self.Objects), "Today", format.Bytes(self.Today)))
	text = append(text, page.T("nodes.output.today", "Rate", format.Bytes(int64(all.Rate)), "Waiting", format.Number(self.Waiting), "Pushed", format.Number(all.Pushed), "Copied", format.Number(all.Copied)))
	if all.LeftOut+all.Lost+all.Cut > 0 {
		text = append(text, page.T("nodes.output.skipped", "LeftOut", format.Number(all.LeftOut), "Lost", format.Number(all.Lost), "Cut", format.Number(all.Cut)))
	}
	if all.Unseen > 0 {
		text = append(text, page.T("nodes.output.unseen", "N", format.Number(int64(all.Unseen))))
	}
	if all.Held > 0 {
		text = append(text, page.T("nodes.output.held", "N", format.Number(all.Held)))
	}
	return text
}

func nodeLoad(page layout.Page, f scheduler.Figures) nodes.Load {
	count := func(n int) string { return format.Number(int64(n)) }
	l := nodes.Load{
		Sent: format.Rate(f.Sent), Claimed: format.Rate(f.Claimed), Late: "–", Planned: count(f.Planned), Queued: count(f.Queued),
		InFlight: count(f.InFlight), Unsent: count(f.Unsent), Results: count(f.Results), Memory: format.Number(f.Memory>>20) + " MiB",
	}
	if f.Late > 0 {
		l.Late = format.Duration(page.Printer, f.Late.Round(time.Millisecond))
	}
	return l
}

// nodeConditions says what is wrong with a node. That its lease is stale stands above them, of the node that answers.
func nodeConditions(page layout.Page, n manage.Node) []nodes.Condition {
	var list []nodes.Condition
	for _, c := range n.Load.Conditions {
		if c.Key == scheduler.ConditionStopping || c.Key == scheduler.ConditionLease && n.Self {
			continue
		}
		list = append(list, nodes.Condition{Node: n.Name, ID: n.ID, Stops: c.Stops(), Text: manage.ConditionText(page.Printer, c)})
	}
	return list
}
