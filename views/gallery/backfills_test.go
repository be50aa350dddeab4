package gallery

import (
	"time"

	"github.com/punctual-job/punctual/views/backfills"
	"github.com/punctual-job/punctual/views/ui"
)

func (f fakes) backfills(planned bool) backfills.Page {
	p := backfills.Page{Page: f.page("/jobs/7/backfill"), JobID: 7, Job: f.zh("日终结算", "Close the day"), Zone: "Asia/Shanghai", CanRun: true,
		Kinds:  []ui.Option{{Value: "schedule", Label: f.T("backfill.kind.schedule")}, {Value: "failed", Label: f.T("backfill.kind.failed.long")}},
		Orders: []ui.Option{{Value: "oldest", Label: f.T("backfill.order.oldest")}, {Value: "newest", Label: f.T("backfill.order.newest")}},
		Values: backfills.Values{From: "2026-02-01T00:00", Until: "2026-03-01T00:00", AtOnce: "3"}}
	if planned {
		p.Held = true
		p.Plan = &backfills.Plan{Count: 28, First: f.at(-28 * 24 * time.Hour), Last: f.at(-24 * time.Hour), Param: "--day=2026-01-31 --branch=north"}
		return p
	}
	p.Errors = map[string]string{"until": f.T("backfill.error.future")}
	row := backfills.Row{From: "2026-01-01 00:00:00", Until: "2026-02-01 00:00:00", Total: 31, By: "zhang", At: f.at(-4 * time.Minute)}
	running, paused, done, failed := row, row, row, row
	running.ID, running.State, running.Sent, running.Good, running.Bad = 14, "running", 17, 14, 1
	paused.ID, paused.State, paused.Sent, paused.Good = 12, "paused", 6, 6
	done.ID, done.State, done.Ended, done.Sent, done.Good = 9, "done", true, 31, 31
	failed.ID, failed.State, failed.Ended, failed.Sent, failed.Good, failed.Bad, failed.Failed, failed.Total = 8, "stopped", true, 3, 2, 1, true, 5
	p.Rows = []backfills.Row{running, paused, done, failed}
	return p
}
