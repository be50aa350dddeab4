package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/timeline"
	"github.com/punctual-job/punctual/views/ui"
)

// timePages are runs against time.
type timePages struct {
	*frame
	timelines *manage.Timelines
	jobs      *manage.Jobs
}

func (c *timePages) routes(g *echo.Group) { g.GET(link.TimelinePath, c.timeline) }

// How many bars of a row stand above each other at most: what takes place at the same time beyond that is drawn over the last of them.
const (
	lanesOfJob      = 4
	lanesOfExecutor = 8
)

// closeBars is how near, of 100, short bars of one kind lie that are drawn as one.
const closeBars = 0.25

func (c *timePages) timeline(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	f := link.TimelineFrom(ec.QueryParams())
	f.Group = groups.known(f.Group)
	page := timeline.Page{Page: c.pageWithFilter(ec, link.Timeline(f)), Filter: f, Grid: timeline.Grid{Now: -1}}
	page.Groups = groups.options(f.Group)
	if f.Job != 0 {
		j, err := c.jobs.Get(ctx, p, f.Job)
		if err != nil {
			return err
		}
		without := f
		without.Job = 0
		page.Chips = []ui.Chip{{Text: page.T("timeline.job", "Name", j.JobDesc), Without: link.Timeline(without)}}
	}
	from, until := c.timelineSpan(f, c.now().In(c.timesOf(page.Page)))
	if from.IsZero() || until.IsZero() {
		page.Wrong = page.T("timeline.wrong")
		return renderPart(ec, http.StatusOK, timeline.Whole(page), timeline.FragmentTimeline)
	}
	list, err := c.timelines.Look(ctx, p, manage.TimelineFilter{
		From: from, Until: until, Executors: f.By == link.TimelineExecutors, Group: f.Group, Job: f.Job, Tag: f.Tag, Text: f.Text, Step: fireStep(until.Sub(from)),
	})
	if wrong := problem.From(err); err != nil && wrong.Kind == problem.Invalid {
		page.Wrong = wrong.Text(page.Printer)
	} else if err != nil {
		return err
	} else {
		view := timeView{timePages: c, page: &page, from: from, until: until}
		view.draw(list)
		if err := view.addNotes(ctx, p, groups, list); err != nil {
			return err
		}
	}
	return renderPart(ec, http.StatusOK, timeline.Whole(page), timeline.FragmentTimeline)
}

// timelineSpan is the time that a filter asks for. A range ends a quarter of its length after now, where what is due is seen; nobody knows
// which executor will get it. A custom time that cannot be read is zero.
func (c *timePages) timelineSpan(f link.TimelineFilter, now time.Time) (from, until time.Time) {
	length := time.Hour
	switch f.Range {
	case link.RangeCustom:
		return link.LocalRange(f.From, f.To, now.Location(), 0)
	case link.RangeSixHours:
		length = 6 * time.Hour
	case link.RangeDay:
		length = 24 * time.Hour
	}
	if f.By == link.TimelineExecutors {
		return now.Add(-length), now.Add(length / 50)
	}
	return now.Add(-length), now.Add(length / 4)
}

// fireStep is by what steps fires are told, so that they do not lie closer than can be drawn.
func fireStep(span time.Duration) time.Duration {
	for _, step := range []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute} {
		if step >= span/300 {
			return step
		}
	}
	return time.Hour
}

// timeView draws what a timeline has found.
type timeView struct {
	*timePages
	page        *timeline.Page
	from, until time.Time
}

func (v *timeView) draw(list manage.Timeline) {
	page, now := v.page, v.now()
	page.Live = v.until.After(now)
	page.From, page.Until = spanOf(v.from, v.until, now)
	if !now.Before(v.from) && page.Live {
		page.Now = v.x(now)
	}
	page.Ticks = timeTicks(v.from, v.until, page.Now)
	for i := range list.Rows {
		page.Rows = append(page.Rows, v.row(&list.Rows[i]))
	}
	if list.More {
		page.More = page.T("timeline.more."+v.by(), "Count", len(list.Rows))
	}
}

// addNotes puts what was written down into the rows that it is about: of a job and its runs, and about all jobs of an executor.
func (v *timeView) addNotes(ctx context.Context, p auth.Principal, groups groupTitles, list manage.Timeline) error {
	var jobs []int64
	for i := range list.Rows {
		if id := list.Rows[i].Job.ID; id != 0 {
			jobs = append(jobs, id)
		}
	}
	found, err := v.notes.Between(ctx, p, v.from, v.until, jobs)
	if err != nil {
		return err
	}
	for i := range list.Rows {
		job, group := list.Rows[i].Job.ID, list.Rows[i].Job.JobGroup
		if job == 0 && len(list.Rows[i].Runs) > 0 {
			group = list.Rows[i].Runs[0].JobGroup
		}
		for _, n := range found {
			if n.Job == 0 && n.Group == group || n.Job != 0 && n.Job == job {
				drawn := v.noted(v.page.Page, groups, n)
				drawn.X = v.x(n.At)
				v.page.Rows[i].Notes = append(v.page.Rows[i].Notes, drawn)
			}
		}
	}
	return nil
}

func (v *timeView) by() string { return cmp.Or(v.page.Filter.By, link.TimelineJobs) }

// x is where a moment lies, of 100.
func (v *timeView) x(at time.Time) float64 {
	return 100 * float64(at.Sub(v.from)) / float64(v.until.Sub(v.from))
}

// spanOf are the ends of a range in words: the second with its day where that is another, both with the year where one is not this one.
func spanOf(from, until, now time.Time) (first, last string) {
	day := "01-02 15:04"
	if year := now.In(from.Location()).Year(); from.Year() != year || until.Year() != year {
		day = "2006-01-02 15:04"
	}
	if from.Format(time.DateOnly) == until.Format(time.DateOnly) {
		return from.Format(day), until.Format("15:04")
	}
	return from.Format(day), until.Format(day)
}

// clock is a moment, and its day where that is not the one of the whole picture: what goes on may have begun days before.
func (v *timeView) clock(at time.Time) string {
	at = at.In(v.from.Location())
	day := v.from.Format(time.DateOnly)
	if v.until.Format(time.DateOnly) == day && at.Format(time.DateOnly) == day {
		return at.Format(time.TimeOnly)
	}
	return at.Format("01-02 15:04:05")
}

// row draws a job or an address.
func (v *timeView) row(r *manage.TimelineRow) timeline.Row {
	row := timeline.Row{Name: r.Address, URL: link.ExecutorsPath}
	lanes := lanesOfExecutor
	if r.Job.ID != 0 {
		row.Name, row.URL, lanes = r.Job.JobDesc, link.Job(r.Job.ID), lanesOfJob
	} else if len(r.Runs) > 0 {
		row.URL = link.Executor(r.Runs[0].JobGroup)
	}
	if most := v.atOnce(r.Runs); most > 1 {
		row.Note = v.page.T("timeline.atonce", "N", most)
	}
	if r.Since.After(v.from) {
		row.Cut = v.x(r.Since)
		row.CutBy = timeline.Left{Text: v.page.T("timeline.cut", "At", v.clock(r.Since)), URL: v.runs(r, v.from, r.Since)}
	}
	row.Bars = v.grouped(r, groupBars(v.bars(r)))
	row.Lanes = stack(row.Bars, lanes)
	v.dues(&row, r)
	for _, s := range r.Held {
		row.Held = append(row.Held, v.held(&s))
	}
	return row
}

// held draws a time in which a schedule is paused.
func (v *timeView) held(s *jobspec.Stretch) timeline.Held {
	until, key := s.Until, "timeline.held.until"
	if until.IsZero() || until.After(v.until) {
		until = v.until
	}
	if s.Until.IsZero() {
		key = "timeline.held.open"
	}
	return timeline.Held{
		X: v.x(s.From), W: v.x(until) - v.x(s.From), URL: link.PausesPath,
		Title: v.page.T(key, "From", v.clock(s.From), "Until", v.clock(s.Until), "User", s.Pause.By, "Reason", s.Pause.Reason),
	}
}

// runs lists the runs of a row between two moments.
func (v *timeView) runs(r *manage.TimelineRow, from, until time.Time) string {
	f := between(from, until.Add(time.Minute), v.from.Location())
	f.Executor, f.Job = r.Address, r.Job.ID
	return link.Runs(f)
}

// atOnce is how many of the runs took place at the same time.
func (v *timeView) atOnce(rows []db.RunRow) int {
	type step struct {
		at time.Time
		by int
	}
	var steps []step
	for _, r := range rows {
		run := v.record(r)
		began, end := run.Span()
		if began.IsZero() || v.took(run) == 0 {
			continue
		}
		steps = append(steps, step{began, 1})
		if !end.IsZero() {
			steps = append(steps, step{end, -1})
		}
	}
	slices.SortFunc(steps, func(a, b step) int {
		if d := a.at.Compare(b.at); d != 0 {
			return d
		}
		return a.by - b.by // one that ends when another begins has made room
	})
	now, most := 0, 0
	for _, s := range steps {
		now += s.by
		most = max(most, now)
	}
	return most
}

// span is a bar with the run behind it, or the first of several.
type span struct {
	timeline.Bar
	state       string
	n           int
	first, last time.Time // when they were planned
}

// bars draws each run for itself.
func (v *timeView) bars(r *manage.TimelineRow) []span {
	now := v.now()
	bars := make([]span, 0, len(r.Runs))
	for i := range r.Runs {
		row := &r.Runs[i]
		run := v.record(*row)
		state, planned := run.State(), run.Start()
		began, end := run.Span()
		drawn := ui.RunBar{State: state, Retried: row.ExecutorFailRetryCount > 0 && row.Outcome.Retried() && !state.Open() && state != runstate.Success}
		b := span{state: drawn.Stands(v.page.Printer), n: 1, first: planned, last: planned}
		b.URL, b.Tone, b.Again = link.Run(row.ID), drawn.Tone(), row.TriggerType == jobspec.TriggerRetry
		if began.IsZero() { // it waits, or was never sent
			if began = planned; state.Open() && now.After(planned) {
				began = now
			}
			end = began
		}
		if end.IsZero() {
			if end = began; state.Open() { // what was tried and never sent took no time
				end = now
			}
		}
		b.X = max(0, v.x(planned))
		b.Run = max(b.X, v.x(began))
		b.W = max(0, min(100, v.x(end))-b.Run)
		b.Title = v.title(row, run, b.state, b.Again)
		bars = append(bars, b)
	}
	return bars
}

// title says of a run what its bar shows.
func (v *timeView) title(row *db.RunRow, run *runstate.Run, stands string, again bool) string {
	parts := []string{"#" + format.Digits(row.ID), stands, v.clock(run.Start())}
	if began, _ := run.Span(); !began.IsZero() {
		if waited := began.Sub(run.Start()); waited >= time.Second {
			parts = append(parts, v.page.T("timeline.waited", "Span", format.Duration(v.page.Printer, waited)))
		}
	}
	if took := v.took(run); took > 0 {
		parts = append(parts, tookText(v.page.Page, run, took))
	}
	if again {
		parts = append(parts, v.page.T("timeline.again"))
	}
	if row.PlannedFor != 0 {
		parts = append(parts, v.page.T("timeline.plannedfor", "At", v.at(v.page.Page, time.UnixMilli(row.PlannedFor)).Absolute))
	}
	return strings.Join(parts, " · ")
}

// groupBars makes one bar of short ones of a kind that follow each other closely.
func groupBars(bars []span) []span {
	short := func(b *span) bool { return b.W < 2*closeBars && b.Run-b.X < closeBars || b.n > 1 }
	var kept []span
	latest := make(map[string]int) // of each kind, where it was kept
	for i := range bars {
		b := &bars[i]
		kind := b.state
		if b.Again {
			kind += " again"
		}
		if at, ok := latest[kind]; ok && short(b) && short(&kept[at]) && b.X-(kept[at].Run+kept[at].W) < closeBars {
			to := &kept[at]
			to.W = max(to.W, b.Run+b.W-to.Run)
			to.n, to.last = to.n+1, b.last
			continue
		}
		latest[kind] = len(kept)
		kept = append(kept, *b)
	}
	return kept
}

// grouped draws bars of several runs, which say how many they are and lead to all of them.
func (v *timeView) grouped(r *manage.TimelineRow, spans []span) []timeline.Bar {
	bars := make([]timeline.Bar, len(spans))
	for i := range spans {
		b := &spans[i]
		if b.n > 1 {
			b.Title = v.page.T("timeline.bars", "Count", b.n, "State", b.state, "From", v.clock(b.first), "Until", v.clock(b.last))
			b.URL = v.runs(r, b.first, b.last)
		}
		bars[i] = b.Bar
	}
	return bars
}

// stack puts bars that take place at the same time above each other, and returns how many lanes that takes.
func stack(bars []timeline.Bar, most int) int {
	ends := make([]float64, 0, most)
	for i := range bars {
		b := &bars[i]
		lane := slices.IndexFunc(ends, func(end float64) bool { return end <= b.X })
		switch {
		case lane >= 0:
		case len(ends) < most:
			lane = len(ends)
			ends = append(ends, 0)
		default:
			lane = most - 1
		}
		b.Lane = lane
		ends[lane] = max(ends[lane], b.Run+b.W)
	}
	return max(1, len(ends))
}

// dues draws what is to come.
func (v *timeView) dues(row *timeline.Row, r *manage.TimelineRow) {
	now := v.now()
	for _, fire := range r.Fires.List {
		if at := later(fire.At, now); !at.Before(v.from) && at.Before(v.until) {
			row.Dues = append(row.Dues, timeline.Due{X: v.x(at), URL: row.URL, Title: v.dueTitle(fire)})
		}
	}
	if end := r.Fires.Ends; !end.IsZero() && end.Before(v.until) {
		row.Ends = timeline.Left{Text: v.page.T("timeline.ends", "At", v.clock(end)), URL: row.URL}
	}
}

func (v *timeView) dueTitle(fire dashboard.Fire) string {
	return v.page.T("timeline.due.at", "At", v.clock(fire.At), "Count", fire.N)
}

// timeTicks are the lines of the grid: at full minutes, hours or days of the reader's clock, some eight of them. One that lies near now, or at
// the edge, has no label.
func timeTicks(from, until time.Time, now float64) []timeline.Tick {
	minutes := []int{1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880}
	every := minutes[len(minutes)-1]
	for _, m := range minutes {
		if until.Sub(from) <= 8*time.Duration(m)*time.Minute {
			every = m
			break
		}
	}
	var ticks []timeline.Tick
	for i := 0; ; i++ {
		at := time.Date(from.Year(), from.Month(), from.Day(), 0, i*every, 0, 0, from.Location())
		if !at.Before(until) {
			return ticks
		}
		if at.Before(from) {
			continue
		}
		t := timeline.Tick{X: 100 * float64(at.Sub(from)) / float64(until.Sub(from))}
		if t.X > 2.5 && t.X < 97.5 && (now < 0 || t.X < now-9 || t.X > now+9) {
			t.Label = at.Format("15:04")
			if at.Hour() == 0 && at.Minute() == 0 {
				t.Label = at.Format("01-02")
			}
		}
		ticks = append(ticks, t)
	}
}
