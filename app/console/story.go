package console

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/note"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/ui"
)

// story is everything known about a run except its output.
func (c *Console) story(ctx context.Context, page layout.Page, p auth.Principal, logID int64) (runs.Story, error) {
	r, err := c.cfg.Manage.Runs.Get(ctx, p, logID)
	if err != nil {
		return runs.Story{}, err
	}
	return c.storyOf(ctx, page, p, r)
}

func (c *Console) storyOf(ctx context.Context, page layout.Page, p auth.Principal, r db.Run) (runs.Story, error) {
	facts := factsOfRun(r)
	sendNotes := note.Lines(facts.triggerNote)
	follows, err := c.cfg.Manage.Runs.ByID(ctx, p, note.Followers(note.Plain(facts.handleNote)+"\n"+note.Plain(facts.triggerNote)))
	if err != nil {
		return runs.Story{}, err
	}
	jobIDs := []int64{r.JobID}
	for _, f := range follows {
		jobIDs = append(jobIDs, f.JobID)
	}
	jobs, err := c.cfg.Manage.Jobs.ByID(ctx, jobIDs)
	if err != nil {
		return runs.Story{}, err
	}
	job, exists := jobs[r.JobID]
	group := "#" + strconv.FormatInt(r.JobGroup, 10)
	if g, err := c.cfg.Manage.Groups.Get(ctx, p, r.JobGroup); err == nil {
		group = g.Title
	}
	story := runs.Story{
		Row: c.runRow(page, p, facts, runs.Row{
			LogID: r.ID, JobID: r.JobID, JobName: job.JobDesc, GroupID: r.JobGroup, Group: group, Trigger: string(r.TriggerType),
			Shard: shardText(string(r.ExecutorShardingParam)), Address: facts.address,
		}),
		Handler: string(r.ExecutorHandler), Glue: string(job.GlueType), Param: string(r.ExecutorParam),
		Planned: c.at(page, facts.start(c.cfg.Pool)), RetriesLeft: int(r.ExecutorFailRetryCount), OriginID: r.OriginLogID,
		SendNote: note.Translated(page.Printer, sendNotes), ResultNote: note.Translated(page.Printer, note.Lines(facts.handleNote)),
		CanRun: exists && p.Can(job.JobGroup, auth.RightRun), CanEdit: p.Can(job.JobGroup, auth.RightEdit), JobGone: !exists,
	}
	for _, f := range follows {
		story.Follows = append(story.Follows, runs.Follow{
			LogID: f.ID, Trigger: string(f.TriggerType), JobName: jobs[f.JobID].JobDesc, State: factsOfLast(f).state(),
		})
	}
	if err := c.shards(ctx, page, p, r, &story); err != nil {
		return runs.Story{}, err
	}
	if story.State.Open() {
		if story.Killing, err = c.killing(ctx, page, r); err != nil {
			return runs.Story{}, err
		}
	}
	story.Steps = c.steps(page, facts, sendNotes, story.State)
	story.Advice = advice(page, story, facts.result(), facts.start(c.cfg.Pool).Sub(c.cfg.Now()))
	return story, nil
}

// shards shows the broadcast that a run belongs to as one: it has succeeded when every part of it has, and goes on while
// any does.
func (c *Console) shards(ctx context.Context, page layout.Page, p auth.Principal, r db.Run, story *runs.Story) error {
	rows, err := c.cfg.Manage.Runs.Shards(ctx, p, r)
	if err != nil || len(rows) == 0 {
		return err
	}
	succeeded := 0
	story.Broadcast = ui.StateSuccess
	for _, s := range rows {
		state := runFacts{
			triggerCode: s.TriggerCode, handleCode: s.HandleCode, handleNote: s.HandleNote,
			address: string(s.ExecutorAddress), planned: s.PlannedAt, sent: s.SentAt,
		}.state()
		story.Shards = append(story.Shards, runs.Shard{LogID: s.ID, Shard: shardText(string(s.ExecutorShardingParam)), Address: string(s.ExecutorAddress), State: state})
		switch {
		case state == ui.StateSuccess:
			succeeded++
		case state.Open():
			story.Broadcast = ui.StateSent
		case story.Broadcast == ui.StateSuccess:
			story.Broadcast = ui.StateFailed
		}
	}
	story.ShardsDone = page.T("runs.shards.done", "N", strconv.Itoa(succeeded), "All", strconv.Itoa(len(rows)))
	return nil
}

// steps draws the timeline: planned, claimed, routed, sent, answered, called back.
func (c *Console) steps(page layout.Page, f runFacts, sending []note.Line, state ui.State) []runs.Step {
	planned := f.start(c.cfg.Pool)
	sent := fromMillis(f.sent)
	began, end := f.span(c.cfg.Pool)
	if sent.IsZero() {
		sent = began
	}
	took, took1 := answerTook(note.Of(sending, "sent"))
	steps := make([]runs.Step, 0, len(runs.Steps()))
	var before time.Time
	add := func(name string, state runs.StepState, at time.Time, detail string) {
		s := runs.Step{Name: name, State: state, Detail: detail}
		if !at.IsZero() {
			s.At = format.Clock(at.In(c.cfg.Zone))
			if !before.IsZero() && !at.Before(before) { // runs are claimed ahead of their time
				s.Delta = format.Delta(page.Printer, at.Sub(before))
			}
			if at.After(before) {
				before = at
			}
		}
		steps = append(steps, s)
	}
	add(runs.StepPlanned, runs.StepDone, planned, note.Said(page.Printer, note.Of(sending, "late")))
	claimed := ""
	if admin := note.Of(sending, "admin"); admin != "" {
		claimed = page.T("runs.step.by", "Name", admin)
	}
	claimedAt := clockNear(note.Of(sending, "claimed"), planned.In(c.cfg.Zone))
	add(runs.StepClaimed, runs.StepDone, claimedAt, claimed)
	// Until it is sent, where a run stands is known to the admin that holds it alone.
	routed, sentState, answered, back := runs.StepPending, runs.StepPending, runs.StepPending, runs.StepPending
	var detail struct{ routed, sent, answered, back string }
	detail.routed = strings.TrimSpace(noteValueOf(page, sending, "route strategy") + " " + f.address)
	switch state {
	case ui.StateWaiting:
		routed = runs.StepActive
		if f.address != "" {
			routed, sentState = runs.StepDone, runs.StepActive
		}
	case ui.StateSkipped:
		routed, sentState, answered, back = runs.StepSkipped, runs.StepSkipped, runs.StepSkipped, runs.StepSkipped
		detail.routed = ""
	case ui.StateSendFailed:
		routed, sentState, answered, back = runs.StepDone, runs.StepFailed, runs.StepSkipped, runs.StepSkipped
		detail.sent = note.Said(page.Printer, f.result())
		if f.address == "" {
			routed, sentState = runs.StepFailed, runs.StepSkipped
			detail.routed, detail.sent = detail.sent, ""
		}
	case ui.StateSent:
		routed, sentState, answered, back = runs.StepDone, runs.StepDone, runs.StepDone, runs.StepActive
	case ui.StateSuccess:
		routed, sentState, answered, back = runs.StepDone, runs.StepDone, runs.StepDone, runs.StepDone
	case ui.StateKilled:
		routed, sentState, answered, back = runs.StepDone, runs.StepDone, runs.StepDone, runs.StepFailed
		if f.handleCode == 0 { // before it was sent, or taken by an executor
			routed, sentState, answered, back = runs.StepDone, runs.StepSkipped, runs.StepSkipped, runs.StepSkipped
			detail.sent = note.Said(page.Printer, f.result())
		}
	case ui.StateFailed, ui.StateTimeout, ui.StateLost:
		routed, sentState, answered, back = runs.StepDone, runs.StepDone, runs.StepDone, runs.StepFailed
	}
	if f.handleCode != 0 {
		detail.back = strconv.FormatInt(f.handleCode, 10)
	}
	if answered == runs.StepDone {
		detail.answered = note.Said(page.Printer, f.result())
	}
	routedAt := time.Time{}
	if routed == runs.StepDone {
		if routedAt = clockNear(note.Of(sending, "routed"), planned.In(c.cfg.Zone)); routedAt.IsZero() && f.address != "" {
			routedAt = claimedAt // the two are told apart when there was time between them
		}
	}
	add(runs.StepRouted, routed, routedAt, detail.routed)
	add(runs.StepSent, sentState, sent, detail.sent)
	answeredAt := time.Time{}
	if took1 && !sent.IsZero() && answered == runs.StepDone {
		answeredAt = sent.Add(took)
	}
	add(runs.StepAnswered, answered, answeredAt, detail.answered)
	add(runs.StepCalledBack, back, end, detail.back)
	return steps
}

func noteValueOf(page layout.Page, list []note.Line, key string) string {
	value := note.Of(list, key)
	if value == "" {
		return ""
	}
	return note.Value(page.Printer, note.Line{Key: key, Value: value})
}

// clockNear is the moment that a time of day of the scheduler's zone means: the one next to a moment of that zone.
func clockNear(text string, near time.Time) time.Time {
	of, err := time.Parse("15:04:05.000", text)
	if err != nil {
		return time.Time{}
	}
	at := time.Date(near.Year(), near.Month(), near.Day(), of.Hour(), of.Minute(), of.Second(), of.Nanosecond(), near.Location())
	switch d := at.Sub(near); {
	case d > 12*time.Hour:
		return at.AddDate(0, 0, -1)
	case d < -12*time.Hour:
		return at.AddDate(0, 0, 1)
	}
	return at
}

// answerTook reads how long the executor took to accept, from "15:04:05.000 (12 ms)".
func answerTook(sent string) (time.Duration, bool) {
	_, rest, ok := strings.Cut(sent, " (")
	if !ok {
		return 0, false
	}
	ms, err := strconv.ParseInt(strings.TrimSuffix(rest, " ms)"), 10, 64)
	if err != nil {
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}

// advice is what an operator may do about an outcome. result is what was written down of the sending, due in how long the
// run is to leave.
func advice(page layout.Page, s runs.Story, result string, due time.Duration) string {
	switch s.State {
	case ui.StateSendFailed:
		switch {
		case s.Address != "":
			return page.T("advice.sendfailed", "Address", s.Address)
		case note.Discarded.Begins(result):
			return page.T("advice.discarded")
		case note.TooLate.Begins(result):
			return page.T("advice.skipped")
		case note.NoExecutor.Begins(result), note.Nobody.Begins(result):
			return page.T("advice.noexecutor", "Group", s.Group)
		}
		return "" // the timeline says why
	case ui.StateTimeout:
		return page.T("advice.timeout")
	case ui.StateLost:
		return page.T("advice.lost", "Address", s.Address)
	case ui.StateSkipped:
		if note.Skipped.Begins(result) {
			return page.T("advice.skipped")
		}
		return ""
	case ui.StateWaiting:
		if s.Trigger == string(jobspec.TriggerRetry) && due > 2*time.Second {
			return page.T("advice.retrywaits", "At", s.Planned.Absolute)
		}
		return ""
	case ui.StateSent, ui.StateSuccess, ui.StateFailed, ui.StateKilled:
		return ""
	}
	return ""
}

// hasOutput says whether an executor may have output of a run.
func hasOutput(r db.Run) bool {
	return r.ExecutorAddress != "" && (r.TriggerCode == wire.CodeSuccess || r.HandleCode != 0)
}
