package gallery

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/runs"
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
		{"run-kept", "/runs/90404?kept", runs.Detail(f.runKept())},
		{"run-skipped", "/runs/90401", runs.Detail(f.runSkipped())},
		{"run-discarded", "/runs/90398", runs.Detail(f.runDiscarded())},
		{"run-lost-token", "/runs/90404?token", runs.Detail(f.runLostToken())},
		{"run-cancelled", "/runs/90397", runs.Detail(f.runCancelled())},
		{"run-unconfirmed", "/runs/90396", runs.Detail(f.runUnconfirmed())},
		{"run-stopped", "/runs/90395", runs.Detail(f.runStopped())},
		{"run-stands-for", "/runs/90394", runs.Detail(f.runStandsFor())},
		{"run-adopted", "/runs/1204", runs.Detail(f.runAdopted())},
		{"run-retry", "/runs/90433", runs.Detail(f.runRetry())},
		{"run-broadcast", "/runs/90411", runs.Detail(f.runBroadcast())},
		{"run-kill-ended", "/runs/90430/kill", runs.Kill(runs.KillPage{Page: f.page("/runs/90430/kill"), Row: f.runs().Rows[2], Ended: true})},
	}
}

func (f fakes) times(from time.Time, every time.Duration, n int) []jobs.NextTime {
	var times []jobs.NextTime
	for i := range n {
		t := from.Add(time.Duration(i) * every)
		times = append(times, jobs.NextTime{Time: format.At(f.Printer, t, f.now), Weekday: format.Weekday(f.Printer, t), Param: "--day=" + t.AddDate(0, 0, -1).Format(time.DateOnly) + " --branch=north"})
	}
	return times
}

func (f fakes) jobScheduled(kind string) jobs.FormPage {
	p := f.formBase("/jobs/new?" + strings.ToLower(kind))
	p.Values[jobs.FieldScheduleType], p.Values[jobs.FieldCron], p.Preview.Times = kind, "", nil
	switch kind {
	case "FIX_RATE":
		p.Values[jobs.FieldSeconds], p.Preview.Times = "30", f.times(f.now.Add(30*time.Second), 30*time.Second, 8)
	case "FIX_DELAY":
		p.Values[jobs.FieldSeconds], p.Preview.Times = "300", f.times(f.now.Add(5*time.Minute), 0, 1)
		p.Preview.Note = f.T("jobs.preview.delay", "Span", format.Duration(f.Printer, 5*time.Minute))
	case "ONCE":
		at := f.now.Add(51 * time.Hour).Truncate(time.Hour)
		p.Values[jobs.FieldMoment], p.Preview.Times = at.Format("2006-01-02T15:04:05"), f.times(at, 0, 1)
	}
	return p
}

// jobWindow is due in a zone of its own, for some months, at a time that a change of the clocks skips.
func (f fakes) jobWindow() jobs.FormPage {
	p := f.jobEdit()
	p.Path = "/jobs/15/edit?window"
	p.Values[jobs.FieldCron], p.Values[jobs.FieldZone], p.Values[jobs.FieldFrom], p.Values[jobs.FieldUntil] = "0 30 2 * * ?", "America/New_York", "2026-11-01T00:00:00", "2027-04-01T00:00:00"
	p.Values["retry_backoff"], p.Values["max_concurrent"], p.Values["concurrency_policy"], p.Values["retention_days"] = "10s, 1m, 5m", "3", "QUEUE", "90"
	p.Values["warn_after"], p.Values["expect_every"], p.Values["tags"] = "600", "90000", "billing, nightly"
	p.Preview.Zone, p.Preview.Reading, p.Preview.Others = p.Values[jobs.FieldZone], "", 3
	p.Preview.Times = f.times(time.Date(f.now.Year(), f.now.Month(), f.now.Day()+1, 2, 30, 0, 0, f.now.Location()), 24*time.Hour, 8)
	p.Preview.Warnings = []string{f.T("cron.warning.skipped_by_spring_change", "Element", "02:30", "Understood", "", "Field", "")}
	return p
}

func (f fakes) jobNever() jobs.FormPage {
	p := f.formBase("/jobs/new?never")
	p.Values[jobs.FieldCron] = "0 0 4 31 2 ?"
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
	return f.lost("/runs/90404", event.LostSilent)
}

// lost is a run that was given up for a cause, and has been tried again.
func (f fakes) lost(path, cause string) runs.DetailPage {
	s := f.timeline(9, "monthlyStatement")
	s.Message = f.tell(event.LostRun, cause, s.Address)
	s.Steps = f.steps(append(f.sent(), beat{runs.StepLost, runs.StepFailed, 96 * time.Second, s.Message}, beat{runs.StepFollow, runs.StepDone, 96 * time.Second, f.tell(event.Retry, 7, 90405)})...)
	s.Why, s.Advice = s.Message, f.T("advice.lost.silent", "Address", s.Address)
	s.Follows = []runs.Follow{{LogID: 90405, Trigger: "RETRY", JobName: s.JobName, State: runstate.Sent}}
	return runs.DetailPage{Page: f.page(path), Timeline: s, Log: runs.Log{Status: runs.LogUnavailable, First: 1, Next: 1, Note: f.T("problem.executor", "Address", s.Address, "Reason", "dial tcp 10.2.0.42:9999: i/o timeout")}}
}

// runLostToken was given up because its results were refused before they were read.
func (f fakes) runLostToken() runs.DetailPage {
	p := f.lost("/runs/90404?token", event.LostIdle)
	refused := runs.Step{Name: runs.StepNotTold, State: runs.StepFailed, At: p.Timeline.Steps[5].At, Detail: f.tell(event.NotTold, p.Timeline.Address, event.NotToldToken)}
	p.Timeline.Steps = slices.Insert(p.Timeline.Steps, 5, refused)
	p.Timeline.Advice = f.T("advice.nottold", "Address", p.Timeline.Address)
	return p
}

// passed is a run that was left out, for a reason.
func (f fakes) passed(path string, row int, advice string, beats ...beat) runs.DetailPage {
	s := f.timeline(row, "healthCheck")
	s.Steps = f.steps(beats...)
	s.Why, s.Advice = s.Message, f.T(advice, "Address", s.Address)
	return runs.DetailPage{Page: f.page(path), Timeline: s, Log: runs.Log{Status: runs.LogNone, First: 1, Next: 1}}
}

func (f fakes) runSkipped() runs.DetailPage {
	return f.passed("/runs/90401", 10, "advice.skipped", beat{runs.StepPlanned, runs.StepDone, 0, ""},
		beat{runs.StepClaimed, runs.StepDone, 8 * time.Minute, f.T("runs.step.by", "Name", "admin-1")}, beat{runs.StepPassed, runs.StepSkipped, 8 * time.Minute, f.runs().Rows[10].Message})
}

// runDiscarded was one too many for its job.
func (f fakes) runDiscarded() runs.DetailPage {
	return f.passed("/runs/90398", 12, "advice.discarded", append(f.claimed(), beat{runs.StepPassed, runs.StepSkipped, 2 * time.Millisecond, f.runs().Rows[12].Message})...)
}

// runCancelled is a retry whose run succeeded after all.
func (f fakes) runCancelled() runs.DetailPage {
	p := f.passed("/runs/90397", 13, "advice.cancelled", append(f.claimed(), beat{runs.StepPassed, runs.StepSkipped, 2 * time.Millisecond, f.runs().Rows[13].Message})...)
	p.Timeline.OriginID = 90390
	return p
}

// runKept is one whose executor is gone, with what was copied before.
func (f fakes) runKept() runs.DetailPage {
	p := f.runLost()
	p.Log = runs.Log{Status: runs.LogComplete, First: 1, Next: 5, Note: f.T("log.kept.part") + f.Gap() + f.T("log.kept.left", "Count", 12_345, "N", "12,345"), Lines: []string{
		"2026-11-21 10:01:06 INFO sync of 40 windows begins", "… 12345 lines are not kept …", "2026-11-21 10:02:29 ERROR window 12: connection reset by peer", "2026-11-21 10:02:30 INFO window 13",
	}}
	return p
}

// runUnconfirmed was sent, and nobody can say whether it arrived.
func (f fakes) runUnconfirmed() runs.DetailPage {
	p := f.passed("/runs/90396", 14, "advice.unconfirmed", append(f.claimed(), beat{runs.StepSent, runs.StepDone, 4 * time.Millisecond, "http://10.2.0.21:9999/"},
		beat{runs.StepAnswered, runs.StepFailed, 3004 * time.Millisecond, f.tell(event.Unanswered, "http://10.2.0.21:9999/", 3*time.Second, wire.FaultLate, "answer: context deadline exceeded")},
		beat{runs.StepAsked, runs.StepFailed, 6008 * time.Millisecond, f.runs().Rows[14].Message})...)
	p.Log.Status = runs.LogUnavailable
	return p
}

// runStopped is why a job was stopped.
func (f fakes) runStopped() runs.DetailPage {
	return f.passed("/runs/90395", 15, "advice.stopped", beat{runs.StepPlanned, runs.StepDone, 0, ""},
		beat{runs.StepClaimed, runs.StepDone, time.Millisecond, f.T("runs.step.by", "Name", "admin-1")}, beat{runs.StepPassed, runs.StepFailed, time.Millisecond, f.runs().Rows[15].Message})
}

// runStandsFor stands for fires that passed unseen, and was taken over from an admin that died before it had sent it.
func (f fakes) runStandsFor() runs.DetailPage {
	s := f.timeline(16, "parcelTracking")
	s.Why = s.Message
	s.Steps = f.steps(beat{runs.StepPlanned, runs.StepDone, -time.Minute, ""}, beat{runs.StepClaimed, runs.StepDone, 0, f.T("runs.step.by", "Name", "admin-1")},
		beat{runs.StepStandsFor, runs.StepDone, 0, s.Message}, beat{runs.StepTakeover, runs.StepDone, 6 * time.Second, f.tell(event.TakenOver, "admin-1", 3)},
		beat{runs.StepAsked, runs.StepDone, 6012 * time.Millisecond, f.tell(event.Asked, "http://10.2.0.15:9999/", event.AskLog, event.AnswerNo)},
		beat{runs.StepRouted, runs.StepDone, 6012 * time.Millisecond, f.tell(event.Routed, "FAILOVER", "http://10.2.0.15:9999/", 2)},
		beat{runs.StepLate, runs.StepDone, 6014 * time.Millisecond, f.tell(event.Late, 66*time.Second, event.LateTakeover)},
		beat{runs.StepSent, runs.StepDone, 6014 * time.Millisecond, "http://10.2.0.15:9999/"}, beat{runs.StepAnswered, runs.StepDone, 6020 * time.Millisecond, ""},
		beat{runs.StepCalledBack, runs.StepDone, 8 * time.Second, ""})
	return runs.DetailPage{Page: f.page("/runs/90394"), Timeline: s, Log: runs.Log{Status: runs.LogComplete, First: 1, Next: 2, Lines: []string{"2026-11-21 10:01:06 12 windows synced"}}}
}

// runAdopted is one that an XXL-JOB admin ran: all there is of it is its text.
func (f fakes) runAdopted() runs.DetailPage {
	s := f.timeline(6, "reportHandler")
	s.LogID, s.Lateness = 1204, ""
	s.Steps = f.steps(beat{runs.StepPlanned, runs.StepDone, 0, ""}, beat{runs.StepSent, runs.StepDone, 0, "http://10.2.0.30:9999/"}, beat{runs.StepCalledBack, runs.StepFailed, 2300 * time.Millisecond, "500"})
	s.SendNote = []string{"任务触发类型：Cron触发", "调度机器：10.1.0.8", "执行器-注册方式：自动注册", "路由策略：轮询", ">>>>>>>>>>>触发调度<<<<<<<<<<<", "触发调度：", "address：http://10.2.0.30:9999/", "code：200"}
	s.ResultNote = []string{"java.lang.IllegalStateException: no connection", "\tat com.example.Report.run(Report.java:42)"}
	return runs.DetailPage{Page: f.page("/runs/1204"), Timeline: s, Log: runs.Log{Status: runs.LogUnavailable, First: 1, Next: 1}}
}

// runRetry waits until the pause before it is over.
func (f fakes) runRetry() runs.DetailPage {
	s := f.timeline(0, "fetchRates")
	s.LogID, s.JobName, s.Trigger, s.OriginID, s.RetriesLeft = 90433, f.zh("汇率拉取", "Fetch exchange rates"), "RETRY", 90427, 1
	s.At, s.Planned, s.CanKill, s.SendNote = f.at(4*time.Minute), f.at(4*time.Minute), true, nil
	s.Advice = f.T("advice.retrywaits", "At", s.At.Absolute)
	s.Steps = f.steps(beat{runs.StepClaimed, runs.StepDone, -5 * time.Minute, f.T("runs.step.by", "Name", "admin-1")}, beat{runs.StepPlanned, runs.StepDone, 0, ""},
		beat{runs.StepWaitsTime, runs.StepWaiting, 0, ""},
		beat{runs.StepRouted, runs.StepPending, 0, ""}, beat{runs.StepSent, runs.StepPending, 0, ""}, beat{runs.StepAnswered, runs.StepPending, 0, ""}, beat{runs.StepCalledBack, runs.StepPending, 0, ""})
	return runs.DetailPage{Page: f.page("/runs/90433"), Timeline: s, Live: true, Log: runs.Log{Status: runs.LogLive, First: 1, Next: 1}}
}

// runBroadcast is a shard of a broadcast of which one has failed.
func (f fakes) runBroadcast() runs.DetailPage {
	s := f.timeline(7, "userProfiles")
	s.Broadcast, s.ShardsDone = runstate.Failed, f.T("runs.shards.done", "N", "10", "All", "12")
	s.Shard = "2/12"
	for i := range 12 {
		state := runstate.Success
		switch i {
		case 4:
			state = runstate.Failed
		case 8:
			state = runstate.Lost
		}
		s.Shards = append(s.Shards, runs.Shard{LogID: s.LogID - 1 + int64(i), Shard: fmt.Sprintf("%d/12", i+1), Address: fmt.Sprintf("http://10.2.0.%d:9999/", 41+i), State: state})
	}
	s.Steps = f.steps(append(f.sent(), beat{runs.StepCalledBack, runs.StepDone, 11 * time.Minute, ""})...)
	return runs.DetailPage{Page: f.page("/runs/90411"), Timeline: s, Log: runs.Log{Status: runs.LogComplete, First: 1, Next: 1}}
}
