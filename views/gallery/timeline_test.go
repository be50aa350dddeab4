package gallery

import (
	"fmt"
	"time"

	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/timeline"
	"github.com/punctual-job/punctual/views/ui"
)

// timelinePage is the last hour of a few jobs: one each minute with a failure that was tried again, a long one that overlaps itself, one too busy
// to be drawn whole, one that is yet to come.
func (f fakes) timelinePage() timeline.Page {
	p := timeline.Page{Page: f.page("/timeline"), Live: true, From: "03-04 09:00", Until: "10:15", Grid: timeline.Grid{Now: 80}}
	p.Chips = []ui.Chip{{Text: f.T("timeline.job", "Name", f.zh("汇率拉取", "Fetch exchange rates")), Without: "/timeline"}}
	for i := range 8 {
		t := timeline.Tick{X: 13.33 * float64(i), Label: f.now.Add(time.Duration(i-6) * 10 * time.Minute).Format("15:04")}
		if i == 0 || i == 6 {
			t.Label = ""
		}
		p.Ticks = append(p.Ticks, t)
	}
	bar := func(x, run, w float64, tone, state string) timeline.Bar {
		id := int64(90000 + 10*x)
		return timeline.Bar{URL: link.Run(id), Title: "#" + format.Digits(id) + " · " + f.T("state."+state) + " · 09:12:00 · 1.4 s", Tone: tone, X: x, Run: run, W: w}
	}
	minutely := timeline.Row{Name: f.zh("汇率拉取", "Fetch exchange rates"), URL: "/jobs/7", Lanes: 1}
	for i := range 60 {
		tone, state := "ok", "success"
		if i == 41 {
			tone, state = "retried", "failed"
		}
		x := 80.0 / 60 * float64(i)
		minutely.Bars = append(minutely.Bars, bar(x, x, 0.3, tone, state))
		if i == 41 {
			again := bar(x+0.4, x+0.8, 0.3, "ok", "success")
			again.Again = true
			minutely.Bars = append(minutely.Bars, again)
		}
	}
	for i := range 15 {
		minutely.Dues = append(minutely.Dues, timeline.Due{X: 80 + 20.0/15*float64(i+1), URL: "/jobs/7", Title: f.T("timeline.due.at", "At", fmt.Sprintf("10:%02d:00", i+1), "Count", 1)})
	}
	long := timeline.Row{Name: f.zh("分片：用户画像计算，每天凌晨根据前一天的行为日志重新计算", "Shards: user profiles, computed anew each night from the day before"), URL: "/jobs/8", Note: f.T("timeline.atonce", "N", 2), Lanes: 2}
	first, second := bar(4, 9, 42, "bad", "timeout"), bar(31, 33, 47, "open", "sent")
	second.Lane = 1
	long.Bars = []timeline.Bar{first, second}
	busy := timeline.Row{Name: f.zh("心跳检查", "Heartbeat"), URL: "/jobs/9", Lanes: 1, Cut: 61, CutBy: timeline.Left{Text: f.T("timeline.cut", "At", "09:45:45"), URL: "/runs?job=9"},
		Ends: timeline.Left{Text: f.T("timeline.ends", "At", "10:10:00"), URL: "/jobs/9"}}
	whole := bar(61, 61, 19, "ok", "success")
	whole.Title = f.T("timeline.bars", "Count", 228, "State", f.T("state.success"), "From", "09:45:45", "Until", "09:59:55")
	busy.Bars = []timeline.Bar{whole, bar(70, 70, 0, "passed", "skipped")}
	later := timeline.Row{Name: f.zh("月度账单", "Monthly statement"), URL: "/jobs/10", Lanes: 1, Dues: []timeline.Due{{X: 93, URL: "/jobs/10", Title: f.T("timeline.due.at", "At", "10:10:00", "Count", 1)}}}
	p.Rows = []timeline.Row{minutely, long, busy, later}
	p.More = f.T("timeline.more.jobs", "Count", 4)
	return p
}

func (f fakes) timelineOfExecutors() timeline.Page {
	p := f.timelinePage()
	p.Filter, p.Chips, p.Now = link.TimelineFilter{By: link.TimelineExecutors, Group: 1}, nil, 98
	p.Rows = p.Rows[:3]
	for i := range p.Rows {
		p.Rows[i].Name, p.Rows[i].URL, p.Rows[i].Dues, p.Rows[i].Ends = fmt.Sprintf("http://10.2.0.%d:9999/", 14+i), "/executors/1", nil, timeline.Left{}
	}
	p.More = f.T("timeline.more.executors", "Count", 3)
	return p
}
