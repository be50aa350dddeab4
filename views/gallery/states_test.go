package gallery

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/ui"
)

// statePages are the job form with each kind of schedule, and runs with the rarer outcomes.
func (f fakes) statePages() []page {
	return []page{
		{"job-none", "/jobs/new?none", jobs.Form(f.jobScheduled("NONE"))},
		{"job-rate", "/jobs/new?rate", jobs.Form(f.jobScheduled("FIX_RATE"))},
		{"job-delay", "/jobs/new?delay", jobs.Form(f.jobScheduled("FIX_DELAY"))},
		{"job-once", "/jobs/new?once", jobs.Form(f.jobScheduled("ONCE"))},
		{"job-window", "/jobs/15/edit?window", jobs.Form(f.jobWindow())},
		{"job-never", "/jobs/new?never", jobs.Form(f.jobNever())},
		{"runs-new", "/runs?new", f.runsNew(12)},
		{"run-lost", "/runs/90404", runs.Detail(f.runLost())},
		{"run-skipped", "/runs/90401", runs.Detail(f.runSkipped())},
		{"run-discarded", "/runs/90398", runs.Detail(f.runDiscarded())},
		{"run-retry", "/runs/90433", runs.Detail(f.runRetry())},
		{"run-broadcast", "/runs/90411", runs.Detail(f.runBroadcast())},
		{"run-kill-ended", "/runs/90430/kill", runs.Kill(runs.KillPage{Page: f.page("/runs/90430/kill"), Row: f.runs().Rows[2], Ended: true})},
	}
}

func (f fakes) times(from time.Time, every time.Duration, n int) []jobs.NextTime {
	var times []jobs.NextTime
	for i := range n {
		t := from.Add(time.Duration(i) * every)
		times = append(times, jobs.NextTime{Time: format.At(f.Printer, t, f.now), Weekday: format.Weekday(f.Printer, t)})
	}
	return times
}

func (f fakes) jobScheduled(kind string) jobs.FormPage {
	p := f.formBase("/jobs/new?" + strings.ToLower(kind))
	p.Values.ScheduleType, p.Values.Cron, p.Preview.Times = kind, "", nil
	switch kind {
	case "FIX_RATE":
		p.Values.Seconds, p.Preview.Times = "30", f.times(f.now.Add(30*time.Second), 30*time.Second, 8)
	case "FIX_DELAY":
		p.Values.Seconds, p.Preview.Times = "300", f.times(f.now.Add(5*time.Minute), 0, 1)
		p.Preview.Note = f.T("jobs.preview.delay", "Span", format.Duration(f.Printer, 5*time.Minute))
	case "ONCE":
		at := f.now.Add(51 * time.Hour).Truncate(time.Hour)
		p.Values.Moment, p.Preview.Times = at.Format("2006-01-02T15:04:05"), f.times(at, 0, 1)
	}
	return p
}

// jobWindow is due in a zone of its own, for some months, at a time that a change of the clocks skips.
func (f fakes) jobWindow() jobs.FormPage {
	p := f.jobEdit()
	p.Path = "/jobs/15/edit?window"
	p.Values.Cron, p.Values.Zone, p.Values.From, p.Values.Until = "0 30 2 * * ?", "America/New_York", "2026-11-01T00:00:00", "2027-04-01T00:00:00"
	p.Values.Backoff, p.Values.Concurrent, p.Values.Concurrency, p.Values.Retention = "10s, 1m, 5m", "3", "QUEUE", "90"
	p.Values.WarnAfter, p.Values.ExpectEvery, p.Values.Tags = "600", "90000", "billing, nightly"
	p.Preview.Zone, p.Preview.Reading, p.Preview.Others = p.Values.Zone, "", 3
	p.Preview.Times = f.times(time.Date(f.now.Year(), f.now.Month(), f.now.Day()+1, 2, 30, 0, 0, f.now.Location()), 24*time.Hour, 8)
	p.Preview.Warnings = []string{f.T("cron.warning.skipped_by_spring_change", "Element", "02:30", "Understood", "", "Field", "")}
	return p
}

func (f fakes) jobNever() jobs.FormPage {
	p := f.formBase("/jobs/new?never")
	p.Values.Cron = "0 0 4 31 2 ?"
	p.Preview = jobs.Preview{Zone: p.Zone, Warnings: []string{f.T("cron.warning.never", "Element", "", "Understood", "", "Field", "")}}
	return p
}

// runsNew is the list as its script leaves it while somebody reads further down: new runs wait above.
func (f fakes) runsNew(n int) templ.Component {
	p := f.runs()
	p.Path = "/runs?new"
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		var whole bytes.Buffer
		if err := runs.List(p).Render(ctx, &whole); err != nil {
			return err
		}
		text := f.T("runs.new", "N", fmt.Sprint(n))
		before, after, found := strings.Cut(whole.String(), `<div class="new-rows"`)
		if !found {
			return fmt.Errorf("the list has no place for new rows")
		}
		after = strings.Replace(after, " hidden>", ">", 1)
		after = strings.Replace(after, "<span data-new-text></span>", "<span data-new-text>"+templ.EscapeString(text)+"</span>", 1)
		_, err := io.WriteString(w, before+`<div class="new-rows"`+after)
		return err
	})
}

func (f fakes) runLost() runs.DetailPage {
	s := f.story(9, "monthlyStatement")
	s.Steps = f.steps(runs.StepDone, runs.StepDone, runs.StepDone, runs.StepDone, runs.StepDone, runs.StepFailed)
	s.Steps[5].Detail = "500"
	s.Advice = f.T("advice.lost", "Address", s.Address)
	s.ResultNote = []string{f.T("said.lost", "V1", f.T("said.silent", "V1", s.Address))}
	return runs.DetailPage{Page: f.page("/runs/90404"), Story: s, Log: runs.Log{Status: runs.LogUnavailable, First: 1, Next: 1, Note: f.T("said.silent", "V1", s.Address)}}
}

func (f fakes) runSkipped() runs.DetailPage {
	s := f.story(10, "healthCheck")
	s.Steps = f.steps(runs.StepDone, runs.StepDone, runs.StepSkipped, runs.StepSkipped, runs.StepSkipped, runs.StepSkipped)
	s.Steps[0].Detail = f.T("said.late", "V1", format.Duration(f.Printer, 8*time.Minute))
	s.Advice = f.T("advice.skipped")
	s.SendNote = []string{f.T("said.skipped", "V1", f.T("said.late", "V1", format.Duration(f.Printer, 8*time.Minute)), "V2", f.T("misfire.DO_NOTHING"))}
	return runs.DetailPage{Page: f.page("/runs/90401"), Story: s, Log: runs.Log{Status: runs.LogNone, First: 1, Next: 1}}
}

// runDiscarded was one too many for its job.
func (f fakes) runDiscarded() runs.DetailPage {
	s := f.story(11, "rebuildIndex")
	s.LogID, s.Trigger = 90398, "CRON"
	s.Steps = f.steps(runs.StepDone, runs.StepDone, runs.StepFailed, runs.StepSkipped, runs.StepSkipped, runs.StepSkipped)
	s.Steps[2].Detail = f.T("said.discarded", "V1", f.T("said.full", "V1", "3", "V2", "3"))
	s.Advice, s.SendNote = f.T("advice.discarded"), []string{s.Steps[2].Detail}
	return runs.DetailPage{Page: f.page("/runs/90398"), Story: s, Log: runs.Log{Status: runs.LogNone, First: 1, Next: 1}}
}

// runRetry waits until the pause before it is over.
func (f fakes) runRetry() runs.DetailPage {
	s := f.story(0, "fetchRates")
	s.LogID, s.JobName, s.Trigger, s.OriginID, s.RetriesLeft = 90433, f.zh("汇率拉取", "Fetch exchange rates"), "RETRY", 90427, 1
	s.At, s.Planned, s.CanKill, s.SendNote = f.at(4*time.Minute), f.at(4*time.Minute), true, nil
	s.Advice = f.T("advice.retrywaits", "At", s.At.Absolute)
	s.Steps = f.steps(runs.StepDone, runs.StepDone, runs.StepActive, runs.StepPending, runs.StepPending, runs.StepPending)
	s.Steps[0].Detail, s.Steps[1].Detail = "", f.zh("节点 admin-1", "by node admin-1")
	return runs.DetailPage{Page: f.page("/runs/90433"), Story: s, Live: true, Log: runs.Log{Status: runs.LogLive, First: 1, Next: 1}}
}

// runBroadcast is a shard of a broadcast of which one has failed.
func (f fakes) runBroadcast() runs.DetailPage {
	s := f.story(7, "userProfiles")
	s.Broadcast, s.ShardsDone = ui.StateFailed, f.T("runs.shards.done", "N", "10", "All", "12")
	s.Shard = "2/12"
	for i := range 12 {
		state := ui.StateSuccess
		switch i {
		case 4:
			state = ui.StateFailed
		case 8:
			state = ui.StateLost
		}
		s.Shards = append(s.Shards, runs.Shard{LogID: s.LogID - 1 + int64(i), Shard: fmt.Sprintf("%d/12", i+1), Address: fmt.Sprintf("http://10.2.0.%d:9999/", 41+i), State: state})
	}
	s.Steps = f.steps(runs.StepDone, runs.StepDone, runs.StepDone, runs.StepDone, runs.StepDone, runs.StepDone)
	return runs.DetailPage{Page: f.page("/runs/90411"), Story: s, Log: runs.Log{Status: runs.LogComplete, First: 1, Next: 1}}
}
