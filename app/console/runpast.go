package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/alarm"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/ui"
)

// whole is the timeline of a run's own page: with the other attempts of its fire, and the run among those of its job.
func (c *timelines) whole(ctx context.Context, page layout.Page, p auth.Principal, r db.Run) (runs.Timeline, error) {
	t, err := c.timelineOf(ctx, page, p, r)
	if err != nil {
		return t, err
	}
	if err := c.flowOf(ctx, page, p, r, &t); err != nil {
		return t, err
	}
	attempts, err := c.runs.Attempts(ctx, p, r)
	if err != nil {
		return t, err
	}
	for _, a := range attempts {
		t.Attempts = append(t.Attempts, runs.Attempt{LogID: a.ID, State: a.State})
	}
	if t.Tried, t.ShowsTried, err = c.jobs.Tried(ctx, p, r); err != nil {
		return t, err
	}
	notes, err := c.notes.OfRun(ctx, p, r.ID)
	if err != nil {
		return t, err
	}
	t.Notes, t.CanNote = c.drawnNotes(page, notes, r.ID), p.Can(r.JobGroup, auth.RightRun)
	past, err := c.runs.Past(ctx, p, r, fireOf(t), ui.MaxBars)
	if err != nil {
		return t, err
	}
	t.Past = runs.Past{Bars: c.runBars(page, past.Runs, past.Usual, r.ID), Previous: past.Previous, Next: past.Next}
	run := c.wholeRecord(r)
	took := c.took(run)
	if e, unsure := run.Events.Last(event.EndUnsure); unsure && !run.EndsFrom().IsZero() {
		t.EndedBetween = c.teller(page).Tell(e)
	}
	if past.Usual.Runs > 0 {
		t.Past.Usual = page.T("runs.usual", "P50", format.Duration(page.Printer, past.Usual.P50), "P95", format.Duration(page.Printer, past.Usual.P95))
		if t.Past.Unlike = unlike(past.Usual, run, took) != ""; past.Usual.P50 > 0 && took > 0 && t.EndedBetween == "" {
			t.Past.Times = times(float64(took) / float64(past.Usual.P50))
		}
	}
	if t.Ack, err = c.ackOfRun(ctx, page, p, r); err != nil {
		return t, err
	}
	if !t.State.Open() && t.State != runstate.Success {
		if t.Runbook, err = c.runbookOf(ctx, p, r); err != nil {
			return t, err
		}
	}
	if t.DoneBy, err = c.doneBy(ctx, page, p, r, past.Usual); err != nil {
		return t, err
	}
	if past.Good == nil {
		return t, nil
	}
	t.Past.Good = past.Good.ID
	if !t.State.Open() {
		t.Past.Against, err = c.against(ctx, page, p, *past.Good, r)
	}
	return t, err
}

// fireOf are the runs of the fire that a run belongs to.
func fireOf(t runs.Timeline) (ids []int64) {
	for _, a := range t.Attempts {
		ids = append(ids, a.LogID)
	}
	for _, s := range t.Shards {
		ids = append(ids, s.LogID)
	}
	return ids
}

// runbook is what a job says of where to read what to do. What another program wrote into the column is no link for that.
func runbook(j db.Job) ui.Runbook {
	if !jobspec.Linkable(j.Runbook) {
		return ""
	}
	return ui.Runbook(j.Runbook)
}

// runbookOf is that of a run's job, if the principal may see it.
func (c *timelines) runbookOf(ctx context.Context, p auth.Principal, r db.Run) (ui.Runbook, error) {
	jobs, err := c.jobs.OfRuns(ctx, p, r.JobID)
	if job, seen := jobs.Seen(r.JobID); err == nil && seen {
		return runbook(job), nil
	}
	return "", err
}

// ackOfRun says who looks after the open alarm that a run is part of, if it is of one.
func (c *timelines) ackOfRun(ctx context.Context, page layout.Page, p auth.Principal, r db.Run) (*ui.Ack, error) {
	if r.HandleCode == wire.CodeSuccess || r.HandleCode == 0 && r.TriggerCode == 0 {
		return nil, nil
	}
	open, err := c.open.Of(ctx, r.JobID)
	list := open[r.JobID]
	if err != nil || !slices.ContainsFunc(list, func(o alarm.Open) bool { return r.ID == o.Run || r.ID < o.Run && r.FinishedAt >= o.Since.UnixMilli() }) {
		return nil, err
	}
	jobs, err := c.jobs.OfRuns(ctx, p, r.JobID)
	job, seen := jobs.Seen(r.JobID)
	if err != nil || !seen {
		return nil, err
	}
	a := c.acked(page, p, job.ID, job.JobGroup, job.JobDesc, list)
	return &a, nil
}

// doneBy says of a run that is late for its job's deadline, or will probably be, by when it has to be done. The job must be one that the
// principal may see.
func (c *timelines) doneBy(ctx context.Context, page layout.Page, p auth.Principal, r db.Run, usual manage.Durations) (string, error) {
	jobs, err := c.jobs.OfRuns(ctx, p, r.JobID)
	if err != nil {
		return "", err
	}
	job, seen := jobs.Seen(r.JobID)
	if !seen {
		return "", nil
	}
	by, ok := c.jobs.DeadlineOfRun(job, r)
	if !ok {
		return "", nil
	}
	run := c.wholeRecord(r)
	began, ended := run.Span()
	clock, now := by.In(c.zoneOf(job.TimeZone)).Format("15:04"), c.now()
	late := func(key string, end time.Time) string {
		return page.T("runs.doneby."+key, "By", clock, "Over", format.Duration(page.Printer, end.Sub(by).Truncate(time.Second)))
	}
	switch {
	case run.State() == runstate.Success && run.EndsFrom().Before(by) && !run.EndsFrom().IsZero():
		return "", nil // it may have been in time
	case run.State() == runstate.Success && ended.After(by):
		return late("late", ended), nil
	case !run.State().Open():
		return "", nil
	case now.After(by):
		return late("over", now), nil
	case usual.Runs > 0 && !began.IsZero() && began.Add(usual.P95).After(by):
		return late("atrisk", began.Add(usual.P95)), nil
	}
	return "", nil
}

// against says what is unlike the last good run: of the two runs, and what was changed of the job between them, where the principal may
// see the job.
func (c *timelines) against(ctx context.Context, page layout.Page, p auth.Principal, good, this db.Run) (*runs.Comparison, error) {
	a, b := c.wholeRecord(good), c.wholeRecord(this)
	cmp := &runs.Comparison{Good: good.ID, At: c.at(page, a.Start())}
	var same []string
	row := func(label, of, now string, code bool) {
		switch {
		case of != now:
			cmp.Rows = append(cmp.Rows, runs.Difference{Label: label, Good: of, This: now, Code: code})
		case of != "":
			same = append(same, label)
		}
	}
	span := func(run *runstate.Run) string {
		if took := c.took(run); took > 0 {
			return tookText(page, run, took)
		}
		return ""
	}
	row(page.T("runs.column.duration"), span(a), span(b), false)
	row(page.T("jobs.field.param"), string(good.ExecutorParam), string(this.ExecutorParam), true)
	row(page.T("runs.column.address"), string(good.ExecutorAddress), string(this.ExecutorAddress), true)
	row(page.T("jobs.field.handler"), string(good.ExecutorHandler), string(this.ExecutorHandler), true)
	row(page.T("runs.fact.trigger"), c.triggerWord(page, good), c.triggerWord(page, this), false)
	row(page.T("runs.fact.shard"), shardText(string(good.ExecutorShardingParam)), shardText(string(this.ExecutorShardingParam)), false)
	jobs, err := c.jobs.OfRuns(ctx, p, this.JobID)
	if err != nil {
		return nil, err
	}
	job, seen := jobs.Seen(this.JobID)
	if !seen {
		cmp.Same = strings.Join(same, page.T("list.comma"))
		return cmp, nil
	}
	if job.GlueType != wire.GlueBean {
		was, is, err := c.scripts(ctx, page, good, this)
		if err != nil {
			return nil, err
		}
		row(page.T("runs.against.script"), was, is, false)
	}
	cmp.Same = strings.Join(same, page.T("list.comma"))
	changes, err := c.audit.JobChangesBetween(ctx, this.JobID, leftAt(a), leftAt(b), pageChanges)
	for _, change := range changes {
		cmp.Changes = append(cmp.Changes, c.drawnChange(page, change))
	}
	return cmp, err
}

func (c *timelines) triggerWord(page layout.Page, r db.Run) string {
	if r.TriggerType == "" {
		return ""
	}
	return page.Word("trigger.", string(r.TriggerType))
}

// leftAt is from when on a change of the job could not touch a run any more.
func leftAt(run *runstate.Run) time.Time {
	if began, _ := run.Span(); !began.IsZero() {
		return began
	}
	return run.Start()
}

// scripts are the versions of the job's script that two runs were sent with, told by when they were saved.
func (c *timelines) scripts(ctx context.Context, page layout.Page, good, this db.Run) (was, is string, err error) {
	saved, err := c.jobs.ScriptTimes(ctx, this.JobID)
	if err != nil {
		return "", "", err
	}
	of := func(r db.Run) string {
		at := leftAt(c.wholeRecord(r))
		for _, s := range saved {
			if !s.After(at) {
				return page.T("runs.against.saved", "At", c.at(page, s).Absolute)
			}
		}
		return ""
	}
	return of(good), of(this), nil
}
