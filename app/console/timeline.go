package console

import (
	"context"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/ui"
)

// timelines tell of a run: where it stands, its steps, what came of it.
type timelines struct {
	*frame
	runs  *manage.Runs
	jobs  *manage.Jobs
	audit *manage.Audit
}

// timeline is everything known about a run except its output.
func (c *timelines) timeline(ctx context.Context, page layout.Page, p auth.Principal, logID int64) (runs.Timeline, error) {
	r, err := c.runs.Get(ctx, p, logID)
	if err != nil {
		return runs.Timeline{}, err
	}
	return c.timelineOf(ctx, page, p, r)
}

func (c *timelines) timelineOf(ctx context.Context, page layout.Page, p auth.Principal, r db.Run) (runs.Timeline, error) {
	run := c.wholeRecord(r)
	follows, err := c.runs.ByID(ctx, p, run.Followers())
	if err != nil {
		return runs.Timeline{}, err
	}
	jobIDs := []int64{r.JobID}
	for _, f := range follows {
		jobIDs = append(jobIDs, f.JobID)
	}
	jobs, err := c.jobs.OfRuns(ctx, p, jobIDs...)
	if err != nil {
		return runs.Timeline{}, err
	}
	job, seen := jobs.Seen(r.JobID)
	name, _ := jobName(page, jobs, r.JobID)
	group := "#" + strconv.FormatInt(r.JobGroup, 10)
	if g, err := c.groups.Get(ctx, p, r.JobGroup); err == nil {
		group = g.Title
	}
	timeline := runs.Timeline{
		Row: c.runRow(page, p, run, runs.Row{
			LogID: r.ID, JobID: r.JobID, JobName: name, NoJob: !seen, GroupID: r.JobGroup, Group: group, Trigger: string(r.TriggerType),
			Shard: shardText(string(r.ExecutorShardingParam)), Address: run.Address,
		}),
		Handler: string(r.ExecutorHandler), Glue: string(job.GlueType), Param: string(r.ExecutorParam),
		Planned: c.at(page, run.Start()), RetriesLeft: max(0, int(r.ExecutorFailRetryCount)), Again: r.ExecutorFailRetryCount < 0, OriginID: r.OriginLogID,
		ResultNote: run.Words(), SentParam: sentParam(run.Events),
		CanRun: seen && r.TriggerType != jobspec.TriggerTrial && p.Can(job.JobGroup, auth.RightRun),
	}
	if len(run.Events) == 0 && run.HandleCode != 0 && !run.ReportedBack() && len(timeline.ResultNote) == 1 {
		timeline.ResultNote = nil // its executor has reported nothing; the step that ended the run says the line
	}
	if r.PlannedFor != 0 {
		timeline.PlannedFor = c.at(page, time.UnixMilli(r.PlannedFor))
	}
	if len(run.Events) == 0 {
		timeline.SendNote = runstate.Lines(run.TriggerNote)
	}
	for _, f := range follows {
		name, _ := jobName(page, jobs, f.JobID)
		timeline.Follows = append(timeline.Follows, runs.Follow{
			LogID: f.ID, Trigger: string(f.TriggerType), JobName: name, State: runstate.Of(f.Outcome, f.TriggerCode, f.HandleCode, string(f.HandleMsg)),
		})
	}
	if err := c.shards(ctx, page, p, r, &timeline); err != nil {
		return runs.Timeline{}, err
	}
	if timeline.State.Open() {
		if timeline.Killing, err = c.killing(ctx, page, r, run.Events); err != nil {
			return runs.Timeline{}, err
		}
	}
	due := run.Start().Sub(c.now())
	waits := ""
	switch {
	case timeline.State != runstate.Waiting:
	case due > 0:
		waits = runs.StepWaitsTime
	case seen && scheduler.WaitsForSlot(r.OwnerNode, r.TriggerCode, r.HandleCode):
		if timeline.Turn, err = c.turn(ctx, page, p, c.runs, job); err != nil {
			return runs.Timeline{}, err
		}
		if timeline.Turn.Text != "" {
			waits = runs.StepWaitsTurn
		}
	}
	_, flow := run.Events.Last(event.FlowBegan) // whoever may not see the job sees that
	timeline.Steps = c.steps(page, run, timeline.State, waits, flow || job.GlueType == jobspec.GlueFlow)
	why, told := run.Reason()
	if !told && len(timeline.ResultNote) == 0 {
		why, told = run.Events.Last(event.FlowFailed) // whose step said nothing
	}
	if told && timeline.Killing == "" {
		timeline.Why = c.teller(page).Tell(why)
		for i := range timeline.Steps {
			if timeline.Steps[i].Detail == timeline.Why {
				timeline.Steps[i].Detail = "" // it stands on top of the page
			}
		}
	}
	if refused, ok := run.Events.Last(event.NotTold); ok && why.Key == event.LostRun {
		why = refused // which explains it
	}
	timeline.Advice = advice(page, timeline, why, due)
	return timeline, c.awaits(ctx, page, &timeline)
}

// turn says what a run of a job waits for that has no slot yet; nothing when its time has not come, or somebody is giving it one.
func (c *frame) turn(ctx context.Context, page layout.Page, p auth.Principal, all *manage.Runs, job db.Job) (ui.Turn, error) {
	ofJob, ofGroup, err := all.Turn(ctx, p, job)
	goingOn := link.RunFilter{Group: job.JobGroup, Result: string(runstate.Sent), Range: link.RangeAll}
	switch {
	case err != nil:
		return ui.Turn{}, err
	case ofJob.Full():
		goingOn.Job = job.ID
		return ui.Turn{Text: page.T("advice.waits.job", "Running", ofJob.Running, "Limit", ofJob.Limit), URL: link.Runs(goingOn)}, nil
	case ofGroup.Full():
		g, err := c.groups.Get(ctx, p, job.JobGroup)
		if err != nil {
			return ui.Turn{}, err
		}
		return ui.Turn{Text: page.T("advice.waits.group", "Group", g.Title, "Running", ofGroup.Running, "Limit", ofGroup.Limit), URL: link.Runs(goingOn)}, nil
	}
	return ui.Turn{}, nil
}

// awaits says of an open run that its call's target is to report the end, and what it has said so far.
func (c *timelines) awaits(ctx context.Context, page layout.Page, s *runs.Timeline) error {
	if s.Handler != httpcall.Handler || s.State != runstate.Sent || s.Killing != "" {
		return nil
	}
	waits, ok, err := c.runs.Awaits(ctx, s.LogID)
	if err != nil || !ok {
		return err
	}
	s.Why = page.T("runs.awaits", "Until", c.at(page, waits.Until).Absolute)
	if waits.Progress != "" {
		s.Advice = page.T("runs.awaits.progress", "Text", waits.Progress, "At", c.clock(page, waits.ProgressAt))
	}
	return nil
}

// sentParam is the parameter that a run was sent with where it is not the one on record: its secrets stay names.
func sentParam(events event.List) string {
	filled, _ := events.Last(event.Filled)
	return filled.Text(0)
}

// runRow adds to a row what follows from what is on record.
func (c *timelines) runRow(page layout.Page, p auth.Principal, run *runstate.Run, row runs.Row) runs.Row {
	row.State = run.State()
	row.At = c.at(page, run.Start())
	row.Message = run.Message(c.teller(page))
	row.CanKill = manage.CanKill(p, row.GroupID, row.State)
	row.CanRerun = !row.NoJob && row.Trigger != string(jobspec.TriggerTrial) && !row.State.Open() && p.Can(row.GroupID, auth.RightRun)
	if run.Planned > 0 && run.Sent > 0 {
		late := time.Duration(run.Sent-run.Planned) * time.Millisecond
		row.Lateness, row.Late = format.Delta(page.Printer, late), late > lateAfter
	}
	began, end := run.Span()
	switch {
	case began.IsZero() || run.TriggerCode != wire.CodeSuccess:
	case !end.IsZero():
		row.Duration = tookText(page, run, max(0, end.Sub(began)))
	default:
		row.Duration = format.Duration(page.Printer, max(0, c.now().Sub(began)))
	}
	return row
}

// killing says who wants an open run ended, while that is not done: the wish may wait for the answer to the sending, and
// then the executor is asked. Empty when nobody does.
func (c *timelines) killing(ctx context.Context, page layout.Page, r db.Run, events event.List) (string, error) {
	user, at, ok, err := c.runs.KillWish(ctx, r.ID)
	if err != nil {
		return "", err
	}
	if ok {
		return page.T("runs.killing.since", "User", user, "At", c.clock(page, at)), nil
	}
	if r.KillAskedAt > 0 {
		asked, _ := events.Last(event.KillAsked)
		return page.T("runs.killing.since", "User", asked.Text(0), "At", c.clock(page, time.UnixMilli(r.KillAskedAt))), nil
	}
	return "", nil
}

// shards shows the broadcast that a run belongs to as one: it has succeeded when every part of it has, and goes on while
// any does.
func (c *timelines) shards(ctx context.Context, page layout.Page, p auth.Principal, r db.Run, timeline *runs.Timeline) error {
	rows, err := c.runs.Shards(ctx, p, r)
	if err != nil || len(rows) == 0 {
		return err
	}
	parts := make([]runstate.State, len(rows))
	for i, s := range rows {
		parts[i] = runstate.Of(s.Outcome, s.TriggerCode, s.HandleCode, s.HandleNote)
		timeline.Shards = append(timeline.Shards, runs.Shard{LogID: s.ID, Shard: shardText(string(s.ExecutorShardingParam)), Address: string(s.ExecutorAddress), State: parts[i]})
	}
	whole, succeeded := runstate.Broadcast(parts)
	timeline.Broadcast = whole
	timeline.ShardsDone = page.T("runs.shards.done", "N", strconv.Itoa(succeeded), "All", strconv.Itoa(len(rows)))
	return nil
}

// advice is what an operator may do about an outcome. why is the event that it came of, due in how long the run is to leave.
func advice(page layout.Page, s runs.Timeline, why event.Event, due time.Duration) string {
	switch s.State {
	case runstate.SendFailed:
		switch {
		case why.Key == event.NoExecutor, why.Key == event.Nobody:
			return page.T("advice.noexecutor", "Group", s.Group)
		case why.Key == event.Unreachable:
			return page.T("advice.unreachable")
		case why.Key == event.Silent:
			return page.T("advice.silent")
		case why.Key == event.Refused:
			return page.T("advice.refused")
		case why.Key == "" && s.Address != "":
			return page.T("advice.sendfailed", "Address", s.Address)
		}
		return "" // the timeline says why
	case runstate.Unconfirmed:
		return page.T("advice.unconfirmed")
	case runstate.Timeout:
		return page.T("advice.timeout")
	case runstate.Lost:
		return lostAdvice(page, s.Address, why)
	case runstate.Skipped:
		switch {
		case why.Key == event.MadeBefore:
			return page.T("advice.madebefore")
		case why.Key == event.PausedFires:
			return "" // which says what the pause does with them
		}
		return page.T("advice.skipped")
	case runstate.Discarded:
		if why.Key == event.GroupFull || why.Key == event.GroupCrowded {
			return page.T("advice.groupfull", "Group", s.Group)
		}
		return page.T("advice.discarded")
	case runstate.Stopped:
		return page.T("advice.stopped")
	case runstate.Cancelled:
		return page.T("advice.cancelled")
	case runstate.Waiting:
		if s.Trigger == string(jobspec.TriggerRetry) && due > 2*time.Second {
			return page.T("advice.retrywaits", "At", s.Planned.Absolute)
		}
		return ""
	case runstate.Killed:
		if why.Key == event.LostRun || why.Key == event.NotTold { // somebody wanted it ended, and nobody knows whether it was
			return lostAdvice(page, s.Address, why)
		}
		return ""
	case runstate.Sent, runstate.Success, runstate.Failed:
		return ""
	}
	return ""
}

// lostAdvice is what may be done about a run whose result never came, by why it did not.
func lostAdvice(page layout.Page, address string, why event.Event) string {
	key := "advice.lost.other"
	switch {
	case why.Key == event.NotTold:
		key = "advice.nottold"
	case why.Key != event.LostRun: // an XXL-JOB admin left it open, or gave it up
	case why.Text(0) == event.LostGone:
		key = "advice.lost.gone"
	case why.Text(0) == event.LostForgot:
		key = "advice.lost.forgot"
	case why.Text(0) == event.LostIdle:
		key = "advice.lost.idle"
	case why.Text(0) == event.LostSilent:
		key = "advice.lost.silent"
	}
	return page.T(key, "Address", address)
}
