package gallery

import (
	"time"

	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/ui"
)

func (f fakes) clear() runs.ClearPage {
	return runs.ClearPage{
		Page: f.page("/runs/clear"), Group: "2", Type: "6", Groups: f.groupOptions(2), Jobs: []ui.Option{{Value: "7", Label: f.zh("每日对账", "Daily reconciliation")}},
		Types:   ui.Labelled(f.Printer, "clear.type.", []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, "6", false),
		Preview: &runs.ClearPreview{Text: f.T("clear.preview.about", "N", "1,204,310"), Open: f.T("clear.preview.open", "N", "3")},
		Clearings: []runs.Clearing{
			{ID: 9, What: f.zh("支付网关 · 每日对账", "Payments · Daily reconciliation"), User: "admin", At: f.at(-40 * time.Second), State: "open", Percent: "42", Deleted: "18,250", CanStop: true},
			{ID: 8, What: f.zh("全部执行器", "All executors"), User: f.zh("王敏", "mina"), At: f.at(-50 * time.Hour), State: "done", Percent: "100", Deleted: "2,400,117"},
			{ID: 7, What: f.zh("报表中心", "Reporting"), User: "admin", At: f.at(-300 * time.Hour), State: "stopped", Percent: "12", Deleted: "900"},
		},
		DaysText: f.T("clear.retention.now", "Count", 30, "Days", "30"),
	}
}

// clearEmpty is what somebody sees who may clear some groups, before anything was chosen.
func (f fakes) clearEmpty() runs.ClearPage {
	p := f.clear()
	p.Group, p.Groups, p.Jobs, p.Preview, p.Clearings, p.NeedGroup = "", f.groupOptions(0), nil, nil, nil, true
	return p
}
