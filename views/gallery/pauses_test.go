package gallery

import (
	"time"

	"github.com/punctual-job/punctual/views/pauses"
	"github.com/punctual-job/punctual/views/ui"
)

func (f fakes) pauses() pauses.ListPage {
	p := pauses.ListPage{Page: f.page("/pauses"), Zone: "Asia/Shanghai", CanAdd: true, Tags: []string{"nightly", "finance"}, Values: pauses.Values{Target: "12"}, Errors: map[string]string{"until": f.T("pauses.error.until")}}
	for _, s := range []string{"job", "group", "tag", "all"} {
		p.Scopes = append(p.Scopes, ui.Option{Value: s, Label: f.T("pauses.scope." + s)})
	}
	for _, s := range []string{"skip", "once", "all"} {
		p.Do = append(p.Do, ui.Option{Value: s, Label: f.T("pauses.strategy." + s)})
	}
	at := f.at
	p.Rows = []pauses.Row{
		{ID: 3, State: "active", What: f.T("pauses.scope.all"), From: at(-time.Hour), Do: f.T("pauses.strategy.once"), Reason: f.zh("数据库迁移", "The database moves"), By: "admin", CanEnd: true},
		{ID: 2, State: "between", What: f.T("pauses.what.group", "Name", f.zh("订单服务", "Orders")), Link: "/executors/1", From: at(-48 * time.Hour), Until: at(480 * time.Hour),
			When: f.T("pauses.windows", "Cron", "0 0 22 ? * FRI", "Minutes", 240, "Zone", "Asia/Shanghai"), Do: f.T("pauses.strategy.all"), Reason: f.zh("每周维护", "Weekly maintenance"), By: "ana", CanEnd: true},
		{ID: 1, State: "over", What: f.T("pauses.what.job", "Name", f.zh("每日对账", "Daily reconciliation")), Link: "/jobs/12", From: at(-72 * time.Hour), Until: at(-70 * time.Hour), Do: f.T("pauses.strategy.skip"), Reason: f.zh("上游停机", "Upstream is down"), By: "ana", EndedBy: "admin"},
	}
	return p
}

func (f fakes) pausesNone() pauses.ListPage {
	p := f.pauses()
	p.Rows, p.Errors = nil, nil
	return p
}
