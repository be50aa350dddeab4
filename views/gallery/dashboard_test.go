package gallery

import (
	"fmt"
	"time"

	"github.com/punctual-job/punctual/views/dashboard"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/ui"
)

// dashboardPaused is the dashboard while everything is paused, and a group too.
func (f fakes) dashboardPaused() dashboard.Page {
	p := f.dashboard(false)
	p.Page = f.page("/?paused")
	p.Paused = []string{
		f.T("dashboard.paused.all", "User", "admin", "At", f.at(2*time.Hour).Absolute, "Reason", f.zh("数据库迁移", "The database moves")),
		f.T("dashboard.paused.group.open", "User", "ana", "Group", f.zh("支付网关", "Payments"), "Reason", f.zh("支付网关更换证书，期间上游拒绝所有请求", "The gateway's certificates are replaced, and the bank refuses all calls meanwhile")),
	}
	p.Approvals = f.T("dashboard.approvals", "Count", 2, "N", "2")
	return p
}

func (f fakes) dashboard(trouble bool) dashboard.Page {
	p := dashboard.Page{Page: f.page("/"), AnyJobs: true}
	item := func(name, detail string, ago time.Duration) dashboard.Item {
		return dashboard.Item{Name: name, URL: "/runs/90417", Detail: detail, At: f.at(-ago)}
	}
	p.Troubles = []dashboard.Trouble{
		{Kind: dashboard.Failing, Count: "0", URL: "/runs?result=failed"}, {Kind: dashboard.Late, Count: "0", URL: "/runs?result=running"},
		{Kind: dashboard.Long, Count: "0", URL: "/runs?result=running"}, {Kind: dashboard.Lost, Count: "0", URL: "/executors"},
		{Kind: dashboard.Alarms, Count: "0", URL: "/alarms/open"},
	}
	if trouble {
		p.Troubles[0].N, p.Troubles[0].Count = 7, "7"
		p.Troubles[0].Items = []dashboard.Item{
			item(f.zh("清理过期会话与临时文件，并在完成后触发磁盘容量检查", "Remove expired sessions and temporary files, then check the disk"), "script exit value(1) is failed", 3*time.Minute),
			item(f.zh("汇率拉取", "Fetch exchange rates"), "job execute timeout", 18*time.Minute),
			item(f.zh("重建搜索索引", "Rebuild the search index"), "<b>no executor</b> is registered", 2*time.Hour),
			item(f.zh("月度账单", "Monthly statement"), "connection refused", 9*time.Hour),
		}
		p.Troubles[0].Items[0].Ack = f.ackOf("7", "", "")
		p.Troubles[0].Items[1].Ack = f.ackOf("8", "ana", f.zh("已联系上游，预计 15 点恢复", "The bank was called, it should be back at 15:00"))
		for i := range p.Troubles[0].Items[:3] {
			p.Troubles[0].Items[i].Again = "/jobs/7/run?from=90417"
		}
		p.Troubles[2].N, p.Troubles[2].Count = 1, "1"
		p.Troubles[2].Items = []dashboard.Item{item(f.zh("分片：用户画像计算", "Shards: user profiles"), "http://10.2.0.14:9999/", 3*time.Hour)}
		p.Troubles[4].N, p.Troubles[4].Count = 1, "1"
		p.Troubles[4].Items = []dashboard.Item{item(f.zh("夜间对账", "Nightly settlement"), f.T("alarm.cause.silent")+" · "+f.T("alarm.cause.deadline"), 40*time.Minute)}
		p.Troubles[3].N, p.Troubles[3].Count = 2, "2"
		p.Troubles[3].Items = []dashboard.Item{
			{Name: f.zh("旧账务系统", "Legacy billing"), URL: "/executors/4/edit", Detail: f.zh("没有在线地址，已启动任务：12", "No address online, jobs started: 12")},
			item("http://10.2.0.42:9999/", f.zh("报表中心", "Reporting"), 70*time.Second),
		}
	}
	p.Counts = []dashboard.Count{
		{Label: f.T("dashboard.count.jobs"), Value: "1,284", URL: "/jobs", Details: []dashboard.Detail{{Text: f.T("dashboard.count.jobs.started", "N", "1,107"), URL: "/jobs"}}},
		{Label: f.T("dashboard.count.today"), Value: "482,913", URL: "/runs?range=today", Details: []dashboard.Detail{{Text: f.T("dashboard.count.failed", "N", "219"), URL: "/runs?range=today"}, {Text: f.T("dashboard.count.skipped", "N", "808"), URL: "/runs?result=skipped"}}},
		{Label: f.T("dashboard.count.range", "Days", "14"), Value: "8,213,407", URL: "/runs", Details: []dashboard.Detail{{Text: f.T("dashboard.count.range.running", "N", "42"), URL: "/runs"}}},
		{Label: f.T("dashboard.count.share", "Days", "14"), Value: "99.94%", URL: "/runs?result=failed", Details: []dashboard.Detail{{Text: f.T("dashboard.count.failed", "N", "4,921"), URL: "/runs?result=failed"}}, Tone: "green"},
		{Label: f.T("dashboard.count.executors"), Value: "31", URL: "/executors", Details: []dashboard.Detail{{Text: f.T("dashboard.count.executors.groups", "Count", 5, "N", "5"), URL: "/executors"}}},
	}
	for _, n := range []int{7, 14, 30, 90} {
		p.Ranges = append(p.Ranges, ui.Option{Value: fmt.Sprintf("/?days=%d", n), Label: f.T("dashboard.range.days", "Days", n), Selected: n == 14})
	}
	p.Days = dashboard.Chart{Label: f.T("dashboard.days"), Max: "704,112", Now: 13.4}
	for i := range 14 {
		day := f.now.AddDate(0, 0, i-13)
		p.Days.Before = append(p.Days.Before, float64(50+(i+7)*23%37))
		ok, bad, open := float64(52+i*23%37), float64(i*i%7)/2, 0.0
		if i == 13 {
			ok, open = 48, 3
		}
		p.Days.Bars = append(p.Days.Bars, dashboard.Bar{Label: day.Format(time.DateOnly), Title: day.Format(time.DateOnly), URL: "/runs?day", Parts: []dashboard.Part{
			{Class: "ok", Height: ok, Value: format.Number(int64(ok * 7000))}, {Class: "bad", Height: bad, Value: format.Number(int64(bad * 7000))}, {Class: "open", Height: open, Value: format.Number(int64(open * 7000))},
			{Class: "passed", Height: bad / 2, Value: format.Number(int64(bad * 3500))}}})
	}
	p.Days.Marks = [3]string{"11-08", "11-15", "11-21"}
	minutes := func(from time.Time, wave int) dashboard.Chart {
		c := dashboard.Chart{Label: "x", Max: "14,208", Now: -1, Marks: [3]string{from.Format("15:04"), from.Add(30 * time.Minute).Format("15:04"), from.Add(59 * time.Minute).Format("15:04")}}
		for i := range 60 {
			at, height := from.Add(time.Duration(i)*time.Minute), float64(24+i*wave%19)
			if i%5 == 0 {
				height *= 2
			}
			c.Bars = append(c.Bars, dashboard.Bar{Label: at.Format("15:04"), Title: at.Format("15:04"), URL: "/runs?minute", Parts: []dashboard.Part{{Class: "plain", Height: height, Value: fmt.Sprint(int(height) * 150)}}})
		}
		return c
	}
	p.Pulse = dashboard.Pulse{URL: "/runs?range=1h", Rate: "118", P50: "2 ms", P99: "9 ms", Minutes: minutes(f.now.Add(-59*time.Minute), 7)}
	p.Ahead = minutes(f.now, 11)
	p.Ahead.Now = 0.4
	for i := range p.Ahead.Bars {
		p.Ahead.Bars[i].Parts = append(p.Ahead.Bars[i].Parts, dashboard.Part{Class: "none", Value: "12"})
	}
	for i := range 4 {
		at := f.now.Truncate(time.Minute).Add(time.Duration(5*i+5) * time.Minute)
		p.Busiest = append(p.Busiest, dashboard.Busy{At: at.Format("15:04"), In: format.At(f.Printer, at, f.now), Count: f.T("dashboard.ahead.count", "N", format.Number(int64(14208-900*i))), URL: "/jobs?show=due", Jobs: f.T("dashboard.ahead.jobs", "Count", 12, "N", "12")})
	}
	p.AheadEnds = f.T("dashboard.ahead.ends", "At", f.now.Add(41*time.Minute).Format("15:04:05"))
	for d := range 7 {
		day := f.now.AddDate(0, 0, -d)
		row := dashboard.WeekDay{Label: format.Weekday(f.Printer, day) + " " + day.Format("01-02"), URL: fmt.Sprintf("/runs?day=%d", d)}
		for h := range row.Hours {
			if d > 0 || h <= 10 {
				row.Hours[h] = dashboard.Hour{Level: (h*h/7 + d*3) % 6, Title: fmt.Sprintf("%s %02d:00", day.Format("01-02"), h), URL: fmt.Sprintf("/runs?hour=%d-%d", d, h), Now: d == 0 && h == 10}
			}
		}
		p.Week = append(p.Week, row)
	}
	return p
}

// dashboardNew is that of an installation in which nothing has happened.
func (f fakes) dashboardNew() dashboard.Page {
	p := f.dashboard(false)
	for i := range p.Counts {
		p.Counts[i].Value, p.Counts[i].Details, p.Counts[i].Tone = "0", nil, ""
	}
	p.Counts[3].Value = "–"
	for i := range p.Days.Bars {
		for j := range p.Days.Bars[i].Parts {
			p.Days.Bars[i].Parts[j].Height, p.Days.Bars[i].Parts[j].Value = 0, "0"
		}
	}
	p.Days.Max, p.Days.Before = "0", nil
	for d := range p.Week {
		for h := range p.Week[d].Hours {
			p.Week[d].Hours[h].Level = 0
		}
	}
	p.AheadEnds = ""
	p.Steps = []dashboard.Step{{Name: "executor", URL: "/executors/new", Done: true}, {Name: "job", URL: "/jobs/new"}, {Name: "alarm", URL: "/alarms/new"}, {Name: "people", URL: "/users/new"}}
	p.AnyJobs, p.Busiest, p.Pulse = false, nil, dashboard.Pulse{URL: "/runs?range=1h", Rate: "0", P50: "–", P99: "–", Quiet: true}
	return p
}

func (f fakes) forecastPage() dashboard.ForecastPage {
	p := dashboard.ForecastPage{Page: f.page("/forecast"), Days: "14", From: "2026-03-04T02:00", Until: "2026-03-04T03:00", Ends: f.T("dashboard.ahead.ends", "At", "03-17 20:00:00")}
	p.Day = dashboard.Chart{Label: f.T("forecast.day"), Max: "12,400", Now: 0.6, Marks: [3]string{"09:00", "21:00", "08:45"}}
	first := f.now.Truncate(time.Hour)
	runs := func(hour int) int {
		if hour == 2 {
			return 12400
		}
		return 1200 + hour*337%900
	}
	for i := range 96 {
		at := first.Add(time.Duration(i) * 15 * time.Minute)
		n := runs(at.Hour())
		p.Day.Bars = append(p.Day.Bars, dashboard.Bar{Label: at.Format("15:04"), URL: "/jobs?show=due", Title: f.T("forecast.hour", "At", at.Format("01-02 15:04"), "N", format.Number(int64(n))),
			Parts: []dashboard.Part{{Class: "plain", Height: 90 * float64(n) / 12400, Value: format.Number(int64(n))}}})
	}
	for d := range 14 {
		day := first.AddDate(0, 0, d)
		row := dashboard.WeekDay{Label: format.Weekday(f.Printer, day) + " " + day.Format("01-02"), URL: fmt.Sprintf("/jobs?show=due&day=%d", d)}
		for h := range row.Hours {
			if d == 0 && h < first.Hour() {
				continue
			}
			n := runs(h)
			row.Hours[h] = dashboard.Hour{Level: 1 + 4*n/12400, URL: fmt.Sprintf("/jobs?show=due&hour=%d-%d", d, h), Title: f.T("forecast.hour", "At", day.Format("01-02 ")+fmt.Sprintf("%02d:00", h), "N", format.Number(int64(n)))}
		}
		p.Hours = append(p.Hours, row)
		if d < 6 {
			at := first.Truncate(24*time.Hour).AddDate(0, 0, d+1).Add(2 * time.Hour)
			p.Peaks = append(p.Peaks, dashboard.Busy{At: format.Weekday(f.Printer, at) + " " + at.Format("01-02 15:04"), URL: "/jobs?show=due", In: format.At(f.Printer, at, f.now), Count: f.T("dashboard.ahead.count", "N", "49,600")})
		}
	}
	return p
}

// wall is the wall board.
func (f fakes) wall(trouble bool) dashboard.Page {
	p := f.dashboard(trouble)
	p.Page, p.At = f.page("/wall"), f.at(0)
	p.Running = dashboard.Trouble{Kind: dashboard.Running, Count: "0", URL: "/runs?result=running"}
	if trouble {
		p.Running.N, p.Running.Count = 2, "2"
		p.Running.Items = []dashboard.Item{
			{Name: f.zh("重建搜索索引", "Rebuild the search index"), URL: "/runs/90418", Detail: "10.20.3.14:9999", At: f.at(-18 * time.Minute)},
			{Name: f.zh("每日对账", "Daily reconciliation"), URL: "/runs/90417", Detail: "10.20.3.15:9999", At: f.at(-40 * time.Second)},
		}
	}
	return p
}
