package gallery

import (
	"net/url"

	"github.com/punctual-job/punctual/views/glue"
	"github.com/punctual-job/punctual/views/jobs"
)

func (f fakes) export() jobs.ExportPage {
	return jobs.ExportPage{Page: f.page("/jobs/export"), Query: url.Values{"group": {"2"}, "state": {"running"}}, Count: 42, Scripts: 3, Orphans: 1}
}

func (f fakes) importFile() jobs.ImportPage {
	return jobs.ImportPage{Page: f.page("/jobs/import"), Match: jobs.MatchName, States: jobs.StatesStopped, CanCreate: true}
}

func (f fakes) importBroken() jobs.ImportPage {
	p := f.importFile()
	p.Text = "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n      - description: " + f.zh("每日对账", "Daily reconciliation") + "\n        shcedule: CRON\n"
	p.Faults = []jobs.ImportFault{
		{Line: 5, Text: f.T("import.error.missing", "Field", "schedule")},
		{Line: 6, Text: f.T("import.error.near", "Field", "shcedule", "Near", "schedule")},
	}
	return p
}

func (f fakes) importPlan() jobs.ImportPage {
	p := f.importFile()
	p.Text, p.Create, p.States = "punctual_jobs: 1\nexecutors: []\n", true, jobs.StatesFile
	p.Plan = &jobs.ImportPlan{
		Counts: []jobs.ImportCount{{Outcome: "refuse", Count: 1}, {Outcome: "change", Count: 2}, {Outcome: "create", Count: 1}, {Outcome: "same", Count: 1}},
		Work:   3, Starts: 2, Digest: "4f1c", NewGroups: []string{"stock-service"},
		Items: []jobs.ImportItem{
			{Line: 88, Name: f.zh("推送积分到账通知", "Send loyalty notifications"), Group: "order-service", Outcome: "refuse", Faults: []jobs.ImportFault{
				{Line: 93, Text: f.T("import.fault", "Field", f.T("jobs.field.retries"), "Text", f.T("job.error.out_of_range", "Min", 0, "Max", 9999))},
				{Line: 97, Text: f.T("import.error.child", "Name", f.zh("重建搜索索引", "Rebuild the search index"), "Group", "report-center")},
			}},
			{Line: 5, ID: 7, Name: f.zh("每日对账", "Daily reconciliation"), Group: "payment-gateway", Outcome: "change", Changes: []jobs.ImportChange{
				{Label: f.T("jobs.field.cron"), Was: "0 0 2 * * ?", Now: "0 30 2 * * ?"},
				{Label: f.T("jobs.field.retries"), Was: "0", Now: "3"},
				{Label: f.T("jobs.field.email"), Was: "", Now: "ops@example.com,finance@example.com"},
				{Label: f.T("jobs.field.state"), Was: f.T("jobs.state.stopped"), Now: f.T("jobs.state.running")},
			}},
			{Line: 31, ID: 15, Name: f.zh("清理过期会话", "Remove expired sessions"), Group: "sample-executor", Outcome: "change", Changes: []jobs.ImportChange{
				{Label: f.T("jobs.field.timeout"), Was: "0", Now: "300"},
				{Label: f.T("jobs.field.source"), Lines: []glue.Line{
					{Kind: glue.LineSame, LeftNumber: 1, RightNumber: 1, Left: "#!/bin/bash", Right: "#!/bin/bash"},
					{Kind: glue.LineAdded, RightNumber: 2, Right: "set -euo pipefail"},
					{Kind: glue.LineChanged, LeftNumber: 2, RightNumber: 3, Left: "find /var/tmp -delete", Right: "find /var/tmp/sessions -mtime +\"$1\" -delete"},
				}},
			}},
			{Line: 60, Name: f.zh("库存同步", "Sync the stock"), Group: "stock-service", Outcome: "create", Starts: true},
		},
		Unchanged: []jobs.ImportItem{{Line: 110, ID: 8, Name: f.zh("关闭超时未支付订单", "Close unpaid orders"), Group: "order-service", Outcome: "same", Waits: true}},
	}
	return p
}

func (f fakes) importMissing() jobs.ImportPage {
	p := f.importFile()
	p.Text = "punctual_jobs: 1\nexecutors: []\n"
	p.Plan = &jobs.ImportPlan{
		Counts: []jobs.ImportCount{{Outcome: "refuse", Count: 1}}, Missing: []string{"order-service", "stock-service"},
		Items: []jobs.ImportItem{{Line: 6, Name: f.zh("每日对账", "Daily reconciliation"), Group: "order-service", Outcome: "refuse", Faults: []jobs.ImportFault{
			{Line: 6, Text: f.T("import.error.group", "Name", "order-service")},
		}}},
	}
	return p
}

func (f fakes) importDone() jobs.ImportPage {
	p := f.importPlan()
	plan := *p.Plan
	plan.Done, plan.Starts = true, 0
	plan.Counts = []jobs.ImportCount{{Outcome: "done", Count: 2}, {Outcome: "same", Count: 1}}
	plan.Items = []jobs.ImportItem{
		{ID: 7, Name: f.zh("每日对账", "Daily reconciliation"), Group: "payment-gateway", Outcome: "done"},
		{ID: 41, Name: f.zh("库存同步", "Sync the stock"), Group: "stock-service", Outcome: "done"},
	}
	p.Plan = &plan
	return p
}
