package gallery

import (
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/ui"
)

func (f fakes) bulk(do string) jobs.BulkPage {
	p := jobs.BulkPage{Page: f.page("/jobs/bulk?do=" + do), Do: do, Count: 2, Groups: f.groupOptions(0), UndoDo: "start", Undo: []jobs.BulkWas{{ID: 7}, {ID: 8}}}
	p.Items = []jobs.BulkItem{
		{ID: 7, Name: f.zh("每日对账", "Daily reconciliation"), Changes: true},
		{ID: 8, Name: f.zh("关闭超时未支付订单", "Close unpaid orders"), Changes: true},
		{ID: 12, Name: f.zh("同步物流轨迹", "Sync parcel tracking")},
		{ID: 22, Name: f.zh("重建搜索索引", "Rebuild the search index"), Problem: f.T("problem.job.noschedule")},
	}
	if do == "delete" {
		p.Items[0].Uses = []string{f.T("jobs.delete.parent", "Name", f.zh("日终批处理", "End of day")), f.T("jobs.delete.flow", "Name", f.zh("夜间结算", "Nightly settlement"))}
	}
	return p
}

// bulkEdit is an edit that was refused.
func (f fakes) bulkEdit() jobs.BulkPage {
	p := f.bulk("edit")
	p.Fields, p.Calendars = []string{"timeout", "retries", "author", "alarm_email", "calendar"}, []string{"cn"}
	p.Field, p.To, p.Errors = "alarm_email", "ops", map[string]string{"alarm_email": f.T("job.error.email", "Value", "ops")}
	return p
}

// bulkPause is a pause of many jobs that was refused.
func (f fakes) bulkPause() jobs.BulkPage {
	p := f.bulk("pause")
	p.Items[3].Problem = f.T("problem.bulk.stopped")
	p.Zone, p.Until, p.Errors = "Asia/Shanghai", "2020-01-01T06:00", map[string]string{"reason": f.T("job.error.required"), "until": f.T("pauses.error.until")}
	for _, s := range jobspec.AllPausings() {
		p.Pausings = append(p.Pausings, ui.Option{Value: string(s), Label: f.T("pauses.strategy." + string(s))})
	}
	return p
}

// bulkAll is a deed for all jobs under a filter, in the middle when rest is some.
func (f fakes) bulkAll(do string, rest int) jobs.BulkPage {
	p := f.bulk(do)
	p.Fix(false)
	if rest > 0 {
		left := make([]jobs.Marked, rest)
		p.GoOn(make([]jobs.BulkTold, 196), left, false)
	}
	return p
}

// rerun asks before runs are run again.
func (f fakes) rerun() jobs.BulkPage {
	p := f.bulk("rerun")
	p.Page, p.Batch = f.page("/runs/rerun"), "X"
	p.Items[2].Problem, p.Items[3].Problem = f.T("problem.rerun.open"), f.T("problem.rerun.attempt")
	return p
}

// killMany asks before runs are ended.
func (f fakes) killMany() jobs.BulkPage {
	p := f.bulk("kill")
	p.Page = f.page("/runs/kill")
	p.Items[2].Problem, p.Items[3].Problem = f.T("problem.run.notrunning"), f.T("problem.run.notrunning")
	return p
}

// rerunDone is what became of them.
func (f fakes) rerunDone() jobs.BulkPage {
	p := f.rerun()
	p.Undo, p.Items[0].Was, p.Items[1].Was = nil, "9001", "9002"
	return p
}

func (f fakes) jobConflict() jobs.FormPage {
	p := f.jobEdit()
	p.Problem = f.T("jobs.changes.problem")
	p.Preview.Others = 12
	p.Changes = []jobs.Change{
		{Name: jobs.FieldAuthor, Label: f.T("jobs.field.author"), Theirs: "mina", Mine: "jonas", Taken: true},
		{Name: jobs.FieldScheduleType, Label: f.T("jobs.field.type"), Theirs: f.T("schedule.CRON") + " · 0 0 4 * * ?", Mine: f.T("schedule.CRON") + " · 0 30 3 ? * MON-FRI", Both: true},
		{Name: jobs.FieldParam, Label: f.T("jobs.field.param"), Theirs: "", Mine: "7"},
	}
	return p
}

// bulkSpread is the question before jobs are moved apart.
func (f fakes) bulkSpread() jobs.BulkPage {
	p := f.bulk("spread")
	p.Window = "15"
	p.Items[2].Problem, p.Items[3].Problem = f.T("problem.job.unspread"), f.T("problem.job.nocron")
	for i, label := range []string{"1 min", "5 min", "15 min", "30 min", "1 h"} {
		p.Windows = append(p.Windows, ui.Option{Value: "/jobs/bulk?do=spread", Label: label, Selected: i == 2})
	}
	p.Spread = &jobs.SpreadPicture{Before: f.T("jobs.bulk.spread.before", "N", "509", "At", "02:00"), After: f.T("jobs.bulk.spread.after", "N", "41", "At", "02:08"), From: "02:00", Until: "02:59"}
	for i := range 60 {
		bar := jobs.SpreadBar{Title: f.T("jobs.bulk.spread.bar", "At", "02:00", "Before", "509", "After", "41")}
		if i == 0 {
			bar.Before = 95
		}
		if i < 15 {
			bar.After = float64(5 + i*7%4)
		}
		p.Spread.Bars = append(p.Spread.Bars, bar)
	}
	return p
}
