package gallery

import "github.com/punctual-job/punctual/views/palette"

func (f fakes) palette() palette.Page {
	return palette.Page{Page: f.page("/palette?q=order"), Text: "order", Box: true, Sections: []palette.Section{
		{Name: palette.Deeds, Hits: []palette.Hit{{Icon: "play", Title: f.T("palette.deed.run", "Name", f.zh("关闭超时未支付订单", "Close unpaid orders")), Sub: "#8 · " + f.zh("订单服务", "Orders"), URL: "/jobs/8/run", Dialog: true}, {Icon: "circle-stop", Title: f.T("palette.deed.stop", "Name", f.zh("关闭超时未支付订单", "Close unpaid orders")), URL: "/jobs/8", Post: "/jobs/8/stop"}}},
		{Name: palette.Actions, Hits: []palette.Hit{{Icon: "plus", Title: f.T("jobs.new"), URL: "/jobs/new"}}},
		{Name: palette.Runs, Hits: []palette.Hit{{Icon: "history", Title: "#90431 " + f.zh("关闭超时未支付订单", "Close unpaid orders"), Sub: f.T("state.sent"), URL: "/runs/90431"}}},
		{Name: palette.Jobs, Hits: []palette.Hit{{Icon: "calendar-clock", Title: f.zh("关闭超时未支付订单", "Close unpaid orders"), Sub: "#8", URL: "/jobs/8/edit"}}},
		{Name: palette.Groups, Hits: []palette.Hit{{Icon: "server", Title: f.zh("订单服务", "Orders"), Sub: "order-service", URL: "/jobs?group=1"}}},
	}}
}
