package gallery

import (
	"time"

	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/notes"
	"github.com/punctual-job/punctual/views/ui"
)

// jobPages are the page of a job in the states it has.
func (f fakes) jobPages() []page {
	return []page{
		{"job", "/jobs/7", jobs.Detail(f.jobHealthy())},
		{"job-failing", "/jobs/25", jobs.Detail(f.jobFailing())},
		{"job-never-ran", "/jobs/22", jobs.Detail(f.jobNeverRan())},
		{"job-stopped", "/jobs/21", jobs.Detail(f.jobStopped())},
		{"job-no-rights", "/jobs/7?viewer", jobs.Detail(f.jobViewed())},
		{"job-one-run", "/jobs/22?one", jobs.Detail(f.jobOneRun())},
		{"job-shards", "/jobs/31", jobs.Detail(f.jobShards())},
		{"job-paused", "/jobs/12", jobs.Detail(f.jobPaused())},
		{"job-family", "/jobs/18", jobs.Detail(f.jobFamily())},
	}
}

func (f fakes) noteForm() notes.FormPage {
	return notes.FormPage{Page: f.page("/jobs/7/note"), Name: f.zh("每日对账", "Daily reconciliation"), Action: "/jobs/7/note", Back: "/jobs/7", Max: 500, AskAt: true, Group: f.zh("支付网关", "Payments"), May: true}
}

// bars are n runs of a job, every so often, of which some ended otherwise.
func (f fakes) bars(n int, every time.Duration, usual time.Duration, odd map[int]runstate.State) ui.RunBars {
	b := ui.RunBars{Usual: 40, Top: format.Duration(f.Printer, usual*5/2)}
	var marks jobs.History
	for i := range n {
		ago := n - i // 1 is the newest
		state, height := runstate.Success, 34+float64(i*7%13)
		if s, ok := odd[ago]; ok {
			state = s
		}
		bar := ui.RunBar{LogID: int64(90000 - 10*ago), State: state, At: f.at(-time.Duration(ago) * every), Height: height}
		mark := jobs.MarkGood
		switch state {
		case runstate.Skipped:
			bar.Height, mark = 4, jobs.MarkSkipped
		case runstate.Failed:
			bar.Height, mark = 14, jobs.MarkBad
		case runstate.Timeout:
			bar.Height, bar.Cut, bar.Unlike, mark = 100, true, "×6.3", jobs.MarkBad
		case runstate.Killed:
			bar.Height, mark = 90, jobs.MarkKilled
		case runstate.Sent:
			bar.Height, mark = 20, jobs.MarkOpen
		case runstate.Lost:
			bar.Height, bar.Retried, mark = 10, true, jobs.MarkRetried
		case runstate.Success, runstate.Waiting, runstate.SendFailed, runstate.Unconfirmed, runstate.Discarded, runstate.Cancelled, runstate.Stopped:
		}
		if state != runstate.Skipped {
			bar.Duration = format.Duration(f.Printer, time.Duration(bar.Height/40*float64(usual)))
		}
		b.Bars, marks = append(b.Bars, bar), append(marks, mark)
	}
	b.Label = marks.Label(f.page(""))
	return b
}

func (f fakes) jobHealthy() jobs.DetailPage {
	p := jobs.DetailPage{Page: f.page("/jobs/7"), Row: f.jobs().Rows[0], CanCopy: true}
	p.Executors = &f.groups().Rows[1]
	p.Row.Last.LogID, p.Row.Tags = 89990, []string{"money", "night"}
	p.Backfills = f.backfills(false)
	p.Backfills.Rows = p.Backfills.Rows[:2]
	p.Runs = f.bars(50, 24*time.Hour, 84*time.Second, map[int]runstate.State{17: runstate.Failed, 18: runstate.Skipped})
	p.Good = f.T("job.good.of", "Count", 50, "Good", 48, "N", 50)
	p.Usual = jobs.Usual{P50: f.T("time.unit.s", "N", 84), P95: f.T("time.unit.min", "N", 2), Runs: 197}
	p.Row.Deadline = &jobs.Deadline{By: "06:00", At: f.at(20 * time.Hour), Text: f.T("job.doneby.usually", "At", "05:40")}
	p.Failures = []jobs.RunLine{{LogID: 89830, State: runstate.Failed, At: f.at(-17 * 24 * time.Hour), Duration: "31 s", Message: "java.sql.SQLTransientConnectionException: HikariPool-1 - Connection is not available, request timed out after 30000ms.", Faults: f.T("job.faults", "Count", 12, "N", "12")}}
	p.Quiet = &jobs.Quiet{Text: f.T("job.faults.good", "Count", 3, "N", 3), Run: jobs.RunLine{LogID: 90390, Faults: f.T("job.faults", "Count", 1, "N", "1")}}
	at := time.Date(f.now.Year(), f.now.Month(), f.now.Day()+1, 2, 0, 0, 0, f.now.Location())
	p.When = jobs.When{Cron: "0 0 2 * * ?", Zone: "Asia/Shanghai", Times: f.times(at, 24*time.Hour, 5), Facts: []jobs.Fact{{Label: f.T("jobs.field.misfire"), Value: f.T("misfire.DO_NOTHING")}}}
	p.Config = []jobs.Fact{
		{Label: f.T("jobs.field.author"), Value: f.zh("王敏", "Mina Wang")},
		{Label: f.T("jobs.field.glue"), Value: f.T("glue.BEAN")},
		{Label: f.T("jobs.field.handler"), Value: "reconcileHandler", Code: true},
		{Label: f.T("jobs.field.param"), Value: "{\"channels\": [\"alipay\", \"wechat\", \"unionpay\"],\n \"strict\": true}", Code: true},
		{Label: f.T("jobs.field.route"), Value: f.T("route.ROUND")},
		{Label: f.T("jobs.field.block"), Value: f.T("block.SERIAL_EXECUTION")},
		{Label: f.T("jobs.field.timeout"), Value: "1800 " + f.T("unit.seconds")},
		{Label: f.T("jobs.field.retries"), Value: "2 " + f.T("unit.times")},
		{Label: f.T("jobs.field.email"), Value: "ops@example.com"},
	}
	p.Row.CanRun = true
	p.Notes = []ui.Note{
		{ID: 3, Text: f.zh("发布 4.2：对账改用新索引", "Release 4.2: the reconciliation uses the new index"), By: "ci", At: f.at(-20 * 24 * time.Hour), All: true, May: true},
		{ID: 2, Text: f.zh("银行接口维护", "The bank's service was down"), By: "mina", At: f.at(-17 * 24 * time.Hour), Run: 89830, May: true},
	}
	p.Runs.Marks = []ui.BarMark{{Before: 30, Text: p.Notes[0].Text}}
	p.Hearing.Told = []jobs.Told{
		{Name: f.zh("支付值班群", "Payments on call"), Kind: f.T("alarms.kind.dingtalk"), Icon: "message-square", URL: link.Alarm(2), Why: []string{f.T("job.told.group", "Group", p.Row.Group)}, Causes: f.List([]string{f.T("alarm.cause.failed"), f.T("alarm.cause.timeout")})},
		{Name: f.zh("运维邮件", "Operations mail"), Kind: f.T("alarms.kind.mail"), Icon: "mail", URL: link.Alarm(1), Broken: true, Why: []string{f.T("job.told.all", "Group", ""), f.T("job.told.own", "Addresses", "ops@example.com")}, Causes: f.T("alarm.cause.failed")},
	}
	p.Changes = []ui.Change{
		{User: "mina", Action: "update", Fields: f.List([]string{f.T("audit.field.schedule_conf"), f.T("audit.field.executor_timeout")}), At: f.at(-3 * time.Hour), URL: "/audit/812"},
		{User: "jonas", Action: "start", At: f.at(-8 * 24 * time.Hour), URL: "/audit/790"},
		{User: "jonas", Action: "stop", At: f.at(-9 * 24 * time.Hour), URL: "/audit/788"},
	}
	return p
}

func (f fakes) jobFailing() jobs.DetailPage {
	p := f.jobHealthy()
	p.Page, p.Row = f.page("/jobs/25"), f.jobs().Rows[7]
	p.Row.CanScript = true
	p.Runs = f.bars(50, time.Hour, 14*time.Second, map[int]runstate.State{1: runstate.Sent, 2: runstate.Timeout, 3: runstate.Failed, 4: runstate.Lost, 5: runstate.Timeout, 9: runstate.Killed, 30: runstate.Skipped})
	p.Good = f.T("job.good.of", "Count", 50, "Good", 43, "N", 50)
	p.Usual = jobs.Usual{P50: "1.4 s", P95: "2.1 s", Runs: 180, Slower: true, Trend: f.T("job.trend.slower", "Now", "4.6 s", "Before", "1.4 s", "Times", "×3.3")}
	p.Open = []jobs.RunLine{{LogID: 89990, State: runstate.Sent, At: f.at(-18 * time.Minute), Duration: "18 min", CanKill: true}}
	p.Failures = nil
	for i, s := range []runstate.State{runstate.Timeout, runstate.Failed, runstate.Failed, runstate.Timeout} {
		p.Failures = append(p.Failures, jobs.RunLine{LogID: int64(89980 - 10*i), State: s, At: f.at(-time.Duration(i+2) * time.Hour), Duration: "9.3 s", Message: "Error: connect ETIMEDOUT 203.0.113.7:443 at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1595:16)"})
	}
	p.Failing = &jobs.Failing{Run: p.Failures[0], Count: 4, Of: 48, Since: f.at(-5 * time.Hour), LastGood: jobs.RunLine{LogID: 89940, State: runstate.Success, At: f.at(-6 * time.Hour)}, Ack: f.ackOf("7", "", "")}
	p.Runbook = "https://wiki.example.com/rates"
	p.Row.Deadline = &jobs.Deadline{By: "12:00", At: f.at(time.Hour), Text: f.T("job.doneby.atrisk", "At", "12:14", "Over", "14 min"), Late: true}
	p.When.Cron = "15 0 * * * ?"
	p.Hearing = jobs.Hearing{Nobody: true, Unheard: true, Mend: true}
	return p
}

func (f fakes) jobNeverRan() jobs.DetailPage {
	p := f.jobHealthy()
	p.Page, p.Row = f.page("/jobs/22"), f.jobs().Rows[6]
	p.Runs, p.Good, p.Usual, p.Failures, p.Changes = ui.RunBars{}, "", jobs.Usual{}, nil, p.Changes[:1]
	p.Changes[0].Action, p.Changes[0].Fields = "create", ""
	p.When = jobs.When{Manual: true}
	return p
}

func (f fakes) jobStopped() jobs.DetailPage {
	p := f.jobHealthy()
	p.Page, p.Row = f.page("/jobs/21"), f.jobs().Rows[5]
	p.Runs = f.bars(12, 24*time.Hour, 40*time.Second, map[int]runstate.State{1: runstate.Killed})
	p.Good, p.Failures = f.T("job.good.of", "Count", 12, "Good", 11, "N", 12), nil
	p.When.Cron, p.When.Times = "0 0 10,16 * * ?", nil
	return p
}

// jobPaused is a job in a pause of which one of the next times is behind it.
func (f fakes) jobPaused() jobs.DetailPage {
	p := f.jobHealthy()
	p.Page, p.Row = f.page("/jobs/12"), f.jobs().Rows[2]
	end := f.at(30 * time.Hour).Absolute
	p.Paused = []string{f.T("jobs.paused", "User", "admin", "At", end, "Reason", f.zh("数据库迁移", "The database moves"))}
	for i := range p.When.Times[:2] {
		p.When.Times[i].Held, p.When.Times[i].HeldWhy = f.T("jobs.held.once"), p.Paused[0]
	}
	p.Row.Next = p.When.Times[2].Time
	return p
}

// jobViewed is the page for somebody who may look at the job, and no more.
func (f fakes) jobViewed() jobs.DetailPage {
	p := f.jobHealthy()
	p.Page = f.page("/jobs/7?viewer")
	p.User = layout.User{Name: "jonas"}
	p.Row.CanEdit, p.Row.CanRun, p.Row.CanSchedule, p.CanCopy = false, false, false, false
	for i := range p.Hearing.Told {
		p.Hearing.Told[i].URL = ""
	}
	for i := range p.Changes {
		p.Changes[i].URL = ""
	}
	return p
}

func (f fakes) jobOneRun() jobs.DetailPage {
	p := f.jobNeverRan()
	p.Path = "/jobs/22?one"
	p.Runs = f.bars(1, time.Minute, 3*time.Second, nil)
	p.Row.Last = jobs.LastRun{LogID: 89990, State: runstate.Success, At: f.at(-time.Minute)}
	p.Good, p.Usual = f.T("job.good.of", "Count", 1, "Good", 1, "N", 1), jobs.Usual{P50: "3 s", P95: "3 s", Runs: 1}
	return p
}

// jobShards is a job whose fires are broadcasts, and whose schedule goes on when a run has ended.
func (f fakes) jobShards() jobs.DetailPage {
	p := f.jobHealthy()
	p.Page, p.Row = f.page("/jobs/31"), f.jobs().Rows[8]
	p.Row.Next, p.Row.Waiting, p.Row.ScheduleType = format.Time{}, true, "FIX_DELAY"
	p.Runs = f.bars(50, 20*time.Minute, 9*time.Minute, map[int]runstate.State{1: runstate.Sent, 2: runstate.Sent, 3: runstate.Sent})
	p.Open = nil
	for i := range 3 {
		p.Open = append(p.Open, jobs.RunLine{LogID: int64(89990 - 10*i), State: runstate.Sent, At: f.at(-4 * time.Minute), Duration: "4 min", CanKill: true})
	}
	p.When = jobs.When{Delay: true, Zone: "Asia/Shanghai", Facts: []jobs.Fact{{Label: f.T("jobs.field.type"), Value: f.T("schedule.FIX_DELAY")}, {Label: f.T("jobs.field.seconds"), Value: "600 " + f.T("unit.seconds")}}}
	return p
}

func (f fakes) jobFamily() jobs.DetailPage {
	p := f.jobHealthy()
	p.Page, p.Row = f.page("/jobs/18"), f.jobs().Rows[4]
	p.Parents = []jobs.Relative{{ID: 7, Name: f.zh("每日对账", "Daily reconciliation")}, {ID: 99}}
	p.Flows, p.FlowsHidden = []jobs.Relative{{ID: 8, Name: f.zh("夜间结算", "Nightly settlement")}}, 2
	for i, r := range f.jobs().Rows {
		p.Children = append(p.Children, jobs.Relative{ID: int64(i + 1), Name: r.Name})
	}
	return p
}
