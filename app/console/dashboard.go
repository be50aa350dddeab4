package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	figures "github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/alarm"
	"github.com/punctual-job/punctual/scheduler/calendar"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/upkeep"
	"github.com/punctual-job/punctual/views/dashboard"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// dashboardPages are the first page.
type dashboardPages struct {
	*frame
	figures *figures.Dashboard
	jobs    *manage.Jobs
	runs    *manage.Runs
	pauses  *manage.Pauses
	engine  Engine
}

func (c *dashboardPages) routes(g *echo.Group) {
	g.GET(link.Root, c.dashboard)
	g.GET(link.ForecastPath, c.forecast)
	g.GET(link.WallPath, c.wall)
}

// troubleItems is how many cases of a kind of trouble the dashboard names.
const troubleItems = 4

// dashboardDays are the ranges of the chart, the usual one first.
var dashboardDays = []int{14, 7, 30, 90}

func (c *dashboardPages) dashboard(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	if start := startOf(p); start != link.Root && arrives(ec.Request()) {
		return ec.Redirect(http.StatusSeeOther, start)
	}
	page := dashboard.Page{Page: c.pageWithFlash(ec)}
	titles, counts, err := c.dashboardState(ec, &page)
	if err != nil {
		return err
	}
	approvals, err := c.jobs.Approvals(ctx, p)
	if err != nil {
		return err
	}
	if approvals > 0 {
		page.Approvals = page.T("dashboard.approvals", "Count", approvals, "N", format.Number(approvals))
	}
	days, _ := strconv.Atoi(ec.QueryParam("days"))
	if !slices.Contains(dashboardDays, days) {
		days = dashboardDays[0]
	}
	if err := c.dashboardCounts(ctx, &page, p, titles, counts, days); err != nil {
		return err
	}
	if page.AnyJobs, err = c.jobs.Any(ctx, p); err != nil {
		return err
	}
	if err := c.dashboardSteps(ctx, &page, p); err != nil {
		return err
	}
	if p.Admin { // it is of the whole installation, and cannot be told apart by group
		c.dashboardPulse(&page)
	}
	if err := c.dashboardNotes(ctx, &page, p, titles, days); err != nil {
		return err
	}
	if err := c.dashboardWeek(ctx, &page, p); err != nil {
		return err
	}
	if err := c.dashboardAhead(ctx, &page, p); err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, dashboard.Whole(page), dashboard.FragmentBody)
}

// dashboardState adds what the wall board shows too: what is wrong, and what is paused. It gives what both have read for that.
func (c *dashboardPages) dashboardState(ec echo.Context, page *dashboard.Page) (titles groupTitles, counts map[int64]figures.JobCount, err error) {
	ctx, p := ec.Request().Context(), who(ec)
	if titles, err = c.groupTitles(ec); err != nil {
		return titles, nil, err
	}
	if counts, err = c.figures.JobCounts(ctx, p); err != nil {
		return titles, nil, err
	}
	if page.Paused, err = c.widePauses(ctx, page.Page, p); err != nil {
		return titles, nil, err
	}
	return titles, counts, c.dashboardTroubles(ctx, page, p, titles, counts)
}

// dashboardSteps adds what a new installation still needs, until it is done or nobody wants to see it.
func (c *dashboardPages) dashboardSteps(ctx context.Context, page *dashboard.Page, p auth.Principal) error {
	if !p.Admin || p.Preferences.NoSteps {
		return nil
	}
	steps, err := c.groups.FirstSteps(ctx, p)
	if err != nil || steps.Done() {
		return err
	}
	executor := link.ExecutorNewPath
	if steps.Group != 0 {
		executor = link.Executor(steps.Group)
	}
	page.Steps = []dashboard.Step{
		{Name: "executor", URL: executor, Done: steps.Executor},
		{Name: "job", URL: link.JobNewPath, Done: steps.Job},
		{Name: "alarm", URL: link.AlarmNewPath, Done: steps.Alarm},
		{Name: "people", URL: link.UserNewPath, Done: steps.People},
	}
	return nil
}

// pausesShown is how many pauses the dashboard and the forecast name.
const pausesShown = 3

// widePauses are what holds everything still, or a group that somebody sees, ready to print.
func (c *dashboardPages) widePauses(ctx context.Context, page layout.Page, p auth.Principal) (said []string, err error) {
	list, err := c.pauses.Wide(ctx, p)
	for i, pause := range list {
		if i == pausesShown {
			said = append(said, page.T("dashboard.paused.more", "Count", len(list)-i, "N", format.Number(int64(len(list)-i))))
			break
		}
		said = append(said, c.widePause(page, &pause))
	}
	return said, err
}

func (c *dashboardPages) dashboardTroubles(ctx context.Context, page *dashboard.Page, p auth.Principal, titles groupTitles, counts map[int64]figures.JobCount) error {
	found, jobs, err := c.figures.Troubles(ctx, p)
	if err != nil {
		return err
	}
	name := func(jobID int64) string {
		if j, ok := jobs[jobID]; ok {
			return j.JobDesc
		}
		return page.T("runs.jobgone", "ID", strconv.FormatInt(jobID, 10))
	}
	number := func(n int, more bool) string {
		if more && n > 0 {
			return format.Number(int64(n)) + "+"
		}
		return format.Number(int64(n))
	}
	var failingJobs []int64
	for _, f := range found.Failing[:min(troubleItems, len(found.Failing))] {
		failingJobs = append(failingJobs, f.Run.JobID)
	}
	open, err := c.open.Of(ctx, failingJobs...)
	if err != nil {
		return err
	}
	failing := dashboard.Trouble{Kind: dashboard.Failing, N: int64(len(found.Failing)), Count: number(len(found.Failing), found.MoreFailing), URL: link.Jobs(link.JobFilter{Show: link.ShowFailing})}
	for _, f := range found.Failing[:min(troubleItems, len(found.Failing))] {
		run := c.record(f.Run)
		item := dashboard.Item{
			Name: name(f.Run.JobID), URL: link.Job(f.Run.JobID), DetailURL: link.Run(f.Run.ID), At: c.at(page.Page, run.Start()),
			Detail: cmp.Or(run.Message(c.teller(page.Page)), page.T("state."+string(run.State()))),
			Ack:    c.acked(page.Page, p, f.Run.JobID, f.Run.JobGroup, name(f.Run.JobID), open[f.Run.JobID]),
		}
		if job, ok := jobs[f.Run.JobID]; ok && p.Can(job.JobGroup, auth.RightRun) {
			item.Again = link.JobRunAgain(f.Run.JobID, f.Run.ID)
		}
		failing.Items = append(failing.Items, item)
	}
	lateJobs, lateRuns := found.LateJobs(), found.LateRuns()
	late := dashboard.Trouble{Kind: dashboard.Late, N: int64(len(lateJobs)), Count: number(len(lateJobs), found.MoreLate), URL: link.Jobs(link.JobFilter{Show: link.ShowLate})}
	for _, id := range lateJobs[:min(troubleItems, len(lateJobs))] {
		l := found.Late[slices.IndexFunc(found.Late, func(l figures.Late) bool { return l.JobID == id })]
		item := dashboard.Item{Name: name(id), URL: link.Job(id), Detail: page.T("dashboard.late.job"), At: c.at(page.Page, l.Planned)}
		if l.Run.ID != 0 {
			item.DetailURL, item.Detail = link.Run(l.Run.ID), page.T("dashboard.late.run")
		}
		late.Items = append(late.Items, item)
	}
	if n := len(lateRuns); n > 0 {
		late.Also = dashboard.Item{Name: page.T("dashboard.late.runs", "Count", n, "N", number(n, found.MoreLate)), URL: link.Runs(link.RunFilter{Show: link.ShowLate, Range: link.RangeAll})}
	}
	long := dashboard.Trouble{Kind: dashboard.Long, N: int64(len(found.Long)), Count: number(len(found.Long), found.MoreLong), URL: link.Runs(link.RunFilter{Show: link.ShowLong, Range: link.RangeAll})}
	for _, r := range found.Long[:min(troubleItems, len(found.Long))] {
		run := c.record(r)
		began, _ := run.Span()
		long.Items = append(long.Items, dashboard.Item{Name: name(r.JobID), URL: link.Job(r.JobID), DetailURL: link.Run(r.ID), Detail: string(r.ExecutorAddress), At: c.at(page.Page, began)})
	}
	others, err := c.otherAlarms(ctx, page.Page, p, &found)
	if err != nil {
		return err
	}
	page.Troubles = []dashboard.Trouble{failing, others, late, long, c.lostExecutors(page, p, titles.list, counts)}
	slices.SortStableFunc(page.Troubles, func(a, b dashboard.Trouble) int { // the quiet ones behind those that are not
		return cmp.Compare(min(b.N, 1), min(a.N, 1))
	})
	return nil
}

// otherAlarms are the open alarms of jobs that are not among those that fail: of what had no success, or is not done in time, and of failures longer ago.
func (c *dashboardPages) otherAlarms(ctx context.Context, page layout.Page, p auth.Principal, found *figures.Troubles) (dashboard.Trouble, error) {
	t := dashboard.Trouble{Kind: dashboard.Alarms, Count: "0", URL: link.AlarmsOpenPath}
	list, more, err := c.open.List(ctx, p, 0, openShown)
	if err != nil || len(list) == 0 {
		return t, err
	}
	jobs, err := c.jobs.OfRuns(ctx, p, db.IDs(list, func(r *manage.OpenAlarm) int64 { return r.ID })...)
	if err != nil {
		return t, err
	}
	for _, j := range list {
		if slices.ContainsFunc(found.Failing, func(f figures.Failing) bool { return f.Run.JobID == j.ID }) {
			continue
		}
		job, _ := jobs.Seen(j.ID)
		waits := jobspec.Started(job.TriggerStatus)
		alarms := slices.DeleteFunc(slices.Clone(j.Alarms), func(o alarm.Open) bool {
			if o.Cause == scheduler.AlarmSilent || o.Cause == scheduler.AlarmDeadline {
				return !waits // whoever has stopped it expects nothing of it
			}
			return found.MoreFailing // it may fail now, and be one of those that were not looked at
		})
		if len(alarms) == 0 {
			continue
		}
		if t.N++; len(t.Items) < troubleItems {
			item := alarmItem(page, alarms)
			item.Name, item.URL, item.At, item.Ack = j.Name, link.Job(j.ID), c.at(page, alarms[0].Since), c.acked(page, p, j.ID, j.Group, j.Name, j.Alarms)
			t.Items = append(t.Items, item)
		}
	}
	if t.Count = format.Number(t.N); more {
		t.Count += "+"
	}
	return t, nil
}

// alarmItem says why a job is told of, and leads to the run if there is one.
func alarmItem(page layout.Page, alarms []alarm.Open) (item dashboard.Item) {
	causes := make([]string, len(alarms))
	for i, o := range alarms {
		causes[i] = page.T("alarm.cause." + string(o.Cause))
		if o.Run > 0 {
			item.DetailURL = link.Run(o.Run)
		}
	}
	item.Detail = strings.Join(causes, " · ")
	return item
}

// lostExecutors are groups with started jobs that nobody would run, and addresses that have fallen silent.
func (c *dashboardPages) lostExecutors(page *dashboard.Page, p auth.Principal, list []db.Group, counts map[int64]figures.JobCount) dashboard.Trouble {
	t := dashboard.Trouble{Kind: dashboard.Lost, URL: link.Executors(link.GroupFilter{State: link.ExecutorsLost})}
	for _, g := range list {
		lost, n := narrowed(c.addresses(page.Page, p, g.ID), link.ExecutorsLost, counts[g.ID].Started)
		t.N += n
		// Each case is told once: a group that has nobody left says so beside its addresses, or for itself when it has none.
		detail := g.Title
		if started := counts[g.ID].Started; started > 0 && !slices.ContainsFunc(c.groups.Addresses(p, g.ID), func(a scheduler.AddressState) bool { return !a.Gone && !a.Away }) {
			text := page.T("dashboard.lost.group", "N", format.Number(started))
			if len(lost) == 0 && n > 0 {
				t.Items = append(t.Items, dashboard.Item{Name: g.Title, URL: link.Executor(g.ID), Detail: text})
			}
			detail += " · " + text
		}
		for _, a := range lost {
			told := detail
			if a.State != groups.AddressOffline { // it answers, or did so a moment ago: that it is lost would not be true
				told += " · " + page.T("address."+string(a.State))
			}
			t.Items = append(t.Items, dashboard.Item{Name: a.URL, URL: link.Executor(g.ID), Detail: told, At: a.Beat})
		}
	}
	t.Items = t.Items[:min(troubleItems, len(t.Items))]
	t.Count = format.Number(t.N)
	return t
}

func (c *dashboardPages) dashboardCounts(ctx context.Context, page *dashboard.Page, p auth.Principal, titles groupTitles, counts map[int64]figures.JobCount, n int) error {
	var jobs figures.JobCount
	for _, count := range counts {
		jobs.All += count.All
		jobs.Started += count.Started
	}
	online, serving := int64(0), int64(0)
	for _, g := range titles.list {
		if _, n := narrowed(c.addresses(page.Page, p, g.ID), link.ExecutorsOnline, 0); n > 0 {
			online, serving = online+n, serving+1
		}
	}
	days, before, sum, err := c.daysAndWeekBefore(ctx, p, n)
	if err != nil {
		return err
	}
	today := days[len(days)-1]
	// A day of the report is one of the installation's zone; the filter that leads to its runs is read in the page's.
	zone := c.timesOf(page.Page)
	todays := link.RunFilter{Range: link.RangeToday}
	if page.Elsewhere() {
		todays = dayFilter(today.Date.In(c.zone), zone)
	}
	whole := dayFilter(days[0].Date.In(c.zone), zone)
	whole.To = dayFilter(today.Date.In(c.zone), zone).To
	share, tone := "–", ""
	if part, ok := sum.SuccessShare(); ok {
		share, tone = percent(part), "green"
		if part < 0.95 {
			tone = "red"
		}
	}
	failed := func(d upkeep.Day, of link.RunFilter) []dashboard.Detail {
		details := []dashboard.Detail{{Text: page.T("dashboard.count.failed", "N", format.Number(d.Failed)), URL: link.Runs(withResult(of, link.ResultFinal))}}
		if d.Skipped > 0 {
			details = append(details, dashboard.Detail{Text: page.T("dashboard.count.skipped", "N", format.Number(d.Skipped)), URL: link.Runs(withResult(of, link.ResultSkipped))})
		}
		return details
	}
	page.Counts = []dashboard.Count{
		{Label: page.T("dashboard.count.jobs"), Value: format.Number(jobs.All), URL: link.JobsPath, Details: []dashboard.Detail{{Text: page.T("dashboard.count.jobs.started", "N", format.Number(jobs.Started)), URL: link.Jobs(link.JobFilter{State: link.JobRunning})}}},
		{Label: page.T("dashboard.count.today"), Value: format.Number(today.Total()), URL: link.Runs(todays), Details: failed(today, todays)},
		{Label: page.T("dashboard.count.range", "Days", strconv.Itoa(n)), Value: format.Number(sum.Total()), URL: link.Runs(whole), Details: []dashboard.Detail{{Text: page.T("dashboard.count.range.running", "N", format.Number(sum.Running)), URL: link.Runs(withResult(whole, link.ResultRunning))}}},
		{Label: page.T("dashboard.count.share", "Days", strconv.Itoa(n)), Value: share, URL: link.Runs(withResult(whole, link.ResultSuccess)), Tone: tone, Details: failed(sum, whole)},
		{Label: page.T("dashboard.count.executors"), Value: format.Number(online), URL: link.Executors(link.GroupFilter{State: link.ExecutorsOnline}), Details: []dashboard.Detail{{Text: page.T("dashboard.count.executors.groups", "Count", serving, "N", format.Number(serving)), URL: link.Executors(link.GroupFilter{State: link.ExecutorsOnline})}}},
	}
	most := int64(0)
	for _, d := range slices.Concat(days, before) {
		most = max(most, d.Total())
	}
	// The last bar is today, of which a part is over.
	page.Days = dashboard.Chart{Label: page.T("dashboard.days"), Max: format.Number(most), Now: float64(n-1) + dayShare(c.now().In(c.zone))}
	most = max(1, most)
	for _, d := range before {
		page.Days.Before = append(page.Days.Before, 95*float64(d.Total())/float64(most))
	}
	for _, d := range days {
		date := d.Date.In(c.zone)
		bar := dashboard.Bar{
			Label: date.Format(time.DateOnly), URL: link.Runs(dayFilter(date, zone)),
			Title: page.T("dashboard.days.title", "Day", date.Format(time.DateOnly), "OK", format.Number(d.Succeeded), "Bad", format.Number(d.Failed), "Open", format.Number(d.Running), "Skipped", format.Number(d.Skipped)),
		}
		for i, value := range []int64{d.Succeeded, d.Failed, d.Running, d.Skipped} {
			height := 95 * float64(value) / float64(most)
			if i == 1 && value > 0 {
				height = max(height, leastBad)
			}
			bar.Parts = append(bar.Parts, dashboard.Part{Class: []string{"ok", "bad", "open", "passed"}[i], Height: height, Value: format.Number(value),
				URL: link.Runs(withResult(dayFilter(date, zone), []string{link.ResultSuccess, link.ResultFinal, link.ResultRunning, link.ResultSkipped}[i]))})
		}
		page.Days.Bars = append(page.Days.Bars, bar)
		page.Days.Marks = marks(page.Days.Marks, len(page.Days.Bars)-1, len(days), date.Format("01-02"))
	}
	for _, of := range []int{7, 14, 30, 90} {
		address := link.Dashboard(of)
		if of == dashboardDays[0] {
			address = link.Dashboard(0)
		}
		page.Ranges = append(page.Ranges, ui.Option{Value: address, Label: page.T("dashboard.range.days", "Days", strconv.Itoa(of)), Selected: of == n})
	}
	return nil
}

// dashboardNotes puts what was written about all jobs of an executor, such as a deployment, into the pictures of the past.
func (c *dashboardPages) dashboardNotes(ctx context.Context, page *dashboard.Page, p auth.Principal, titles groupTitles, days int) error {
	now := c.now().In(c.zone)
	day := func(back int) time.Time { return midnight(now, -back) }
	list, err := c.notes.Between(ctx, p, day(days-1), now, nil)
	if err != nil {
		return err
	}
	minutes := len(page.Pulse.Minutes.Bars)
	pulse := now.Truncate(time.Minute).Add(-time.Duration(minutes-1) * time.Minute)
	for _, n := range list {
		drawn := c.noted(page.Page, titles, n)
		for back := range days {
			if begins := day(back); !n.At.Before(begins) {
				drawn.X = float64(days-1-back) + dayShare(n.At.In(c.zone))
				page.Days.Notes = append(page.Days.Notes, drawn)
				break
			}
		}
		if minutes > 0 && !n.At.Before(pulse) {
			drawn.X = n.At.Sub(pulse).Minutes()
			page.Pulse.Minutes.Notes = append(page.Pulse.Minutes.Notes, drawn)
		}
	}
	return nil
}

// leastBad is the least height of a day's failures, of 100: three pixels of the chart, however many runs there were.
const leastBad = 1.7

// daysAndWeekBefore is the report of so many days up to today with its sum, and of the same number of days a week before.
func (c *dashboardPages) daysAndWeekBefore(ctx context.Context, p auth.Principal, n int) (days, before []upkeep.Day, sum upkeep.Day, err error) {
	all, _, err := c.figures.Days(ctx, p, n+7)
	if err != nil {
		return nil, nil, sum, err
	}
	days, before = all[7:], all[:n]
	for _, d := range days {
		sum.Add(d)
	}
	return days, before, sum, nil
}

// dayShare is how much of its day is over.
func dayShare(now time.Time) float64 {
	return float64(now.Hour()*60+now.Minute()) / (24 * 60)
}

// marks keeps the labels of the first bar, the middle one and the last.
func marks(m [3]string, i, n int, label string) [3]string {
	switch i {
	case 0:
		m[0] = label
	case n - 1:
		m[2] = label
	case n / 2:
		m[1] = label
	}
	return m
}

// percent never says 100 of what is not all.
func percent(share float64) string {
	if share == 1 {
		return "100%"
	}
	return strconv.FormatFloat(min(float64(int(share*10_000))/100, 99.99), 'f', -1, 64) + "%"
}

// dayFilter narrows the run list to a day, for a page that shows times in a zone.
func dayFilter(date time.Time, zone *time.Location) link.RunFilter {
	return between(midnight(date, 0), midnight(date, 1), zone)
}

// midnight is the first moment of a day so many after that of a time, in the zone of the time.
func midnight(at time.Time, days int) time.Time {
	return (calendar.DayOf(at, at.Location()) + calendar.Day(days)).Start(at.Location())
}

// between narrows the run list to the minutes from one time to before another.
func between(from, to time.Time, zone *time.Location) link.RunFilter {
	return link.RunFilter{Range: link.RangeCustom, From: from.In(zone).Format(link.MinuteLayout), To: to.Add(-time.Minute).In(zone).Format(link.MinuteLayout)}
}

func withResult(f link.RunFilter, result string) link.RunFilter {
	f.Result = result
	return f
}

func (c *dashboardPages) dashboardPulse(page *dashboard.Page) {
	pulse := c.engine.Pulse()
	page.Pulse = dashboard.Pulse{
		Rate: "0", P50: "–", P99: "–", Quiet: pulse.Sent == 0, URL: link.Runs(link.RunFilter{Range: link.RangeHour}),
		Minutes: dashboard.Chart{Label: page.T("dashboard.pulse"), Now: -1},
	}
	if pulse.Sent == 0 {
		return
	}
	now := c.now()
	switch rate := pulse.PerSecond(now); {
	case rate >= 1000:
		page.Pulse.Rate = format.Number(int64(rate))
	case rate >= 1:
		page.Pulse.Rate = fmt.Sprintf("%.3g", rate)
	default:
		page.Pulse.Rate = fmt.Sprintf("%.2g", rate)
	}
	page.Pulse.P50, page.Pulse.P99 = format.Duration(page.Printer, pulse.P50.Round(time.Millisecond)), format.Duration(page.Printer, pulse.P99.Round(time.Millisecond))
	most := int64(1)
	for _, m := range pulse.Minutes {
		most = max(most, m.Sent)
	}
	page.Pulse.Minutes.Max = format.Number(most)
	for i, m := range pulse.Minutes {
		at := now.In(c.timesOf(page.Page)).Truncate(time.Minute).Add(-time.Duration(len(pulse.Minutes)-1-i) * time.Minute)
		page.Pulse.Minutes.Bars = append(page.Pulse.Minutes.Bars, dashboard.Bar{
			Label: at.Format("15:04"), URL: link.Runs(minuteFilter(at)),
			Title: page.T("dashboard.pulse.title", "At", at.Format("15:04"), "N", format.Number(m.Sent), "P50", format.Duration(page.Printer, m.P50.Round(time.Millisecond)), "P99", format.Duration(page.Printer, m.P99.Round(time.Millisecond))),
			Parts: []dashboard.Part{{Class: "plain", Height: 90 * float64(m.Sent) / float64(most), Value: format.Number(m.Sent)}},
		})
		page.Pulse.Minutes.Marks = marks(page.Pulse.Minutes.Marks, i, len(pulse.Minutes), at.Format("15:04"))
	}
}

func minuteFilter(at time.Time) link.RunFilter {
	text := at.Format(link.MinuteLayout)
	return link.RunFilter{Range: link.RangeCustom, From: text, To: text}
}

func (c *dashboardPages) dashboardWeek(ctx context.Context, page *dashboard.Page, p auth.Principal) error {
	week, err := c.figures.Week(ctx, p)
	if err != nil {
		return err
	}
	most := int64(1)
	for _, d := range week.Days {
		most = max(most, slices.Max(d.Hours[:]))
	}
	now, zone := c.now().In(c.zone), c.timesOf(page.Page)
	for i := range week.Days {
		d := &week.Days[len(week.Days)-1-i] // today on top
		row := dashboard.WeekDay{Label: format.Weekday(page.Printer, d.Date) + " " + d.Date.Format("01-02"), URL: link.Runs(dayFilter(d.Date, zone))}
		for h, n := range d.Hours {
			at := time.Date(d.Date.Year(), d.Date.Month(), d.Date.Day(), h, 0, 0, 0, d.Date.Location())
			if at.After(now) {
				continue
			}
			row.Hours[h] = dashboard.Hour{
				Now:   now.Sub(at) < time.Hour,
				Level: level(n, most), Title: page.T("dashboard.week.hour", "At", at.Format("01-02 15")+":00", "Count", n, "N", format.Number(n)),
				URL: link.Runs(between(at, at.Add(time.Hour), zone)),
			}
		}
		page.Week = append(page.Week, row)
	}
	return nil
}

// level is how dark an hour is: 0 only for none.
func level(n, most int64) int {
	if n <= 0 {
		return 0
	}
	return int(min(5, 1+5*(n-1)/most))
}

// busiestMinutes is how many minutes ahead the dashboard names.
const busiestMinutes = 4

func (c *dashboardPages) dashboardAhead(ctx context.Context, page *dashboard.Page, p auth.Principal) error {
	forecast, err := c.figures.Forecast(ctx, p)
	if err != nil {
		return err
	}
	if !forecast.Ends.IsZero() {
		page.AheadEnds = page.T("dashboard.ahead.ends", "At", forecast.Ends.In(c.timesOf(page.Page)).Format("15:04:05"))
	}
	// due is a number of a minute, which is a lower bound where the forecast has ended.
	due := func(n int64, at time.Time) string {
		if !forecast.Ends.IsZero() && at.Add(time.Minute).After(forecast.Ends) {
			return "≥ " + format.Number(n)
		}
		return format.Number(n)
	}
	most := max(1, slices.Max(forecast.Minutes[:]))
	page.Ahead = dashboard.Chart{Label: page.T("dashboard.ahead"), Max: format.Number(most), Now: c.now().Sub(forecast.From).Minutes()}
	order := make([]int, len(forecast.Minutes))
	for i, n := range forecast.Minutes {
		order[i] = i
		at := forecast.From.In(c.timesOf(page.Page)).Add(time.Duration(i) * time.Minute)
		page.Ahead.Bars = append(page.Ahead.Bars, dashboard.Bar{
			Label: at.Format("15:04"), URL: dueAt(at),
			Title: page.T("dashboard.ahead.title", "At", at.Format("15:04"), "N", due(n, at), "Jobs", due(forecast.Jobs[i], at)),
			Parts: []dashboard.Part{{Class: "plain", Height: 90 * float64(n) / float64(most), Value: due(n, at)}, {Class: "none", Value: due(forecast.Jobs[i], at)}},
		})
		page.Ahead.Marks = marks(page.Ahead.Marks, i, len(forecast.Minutes), at.Format("15:04"))
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(forecast.Minutes[b], forecast.Minutes[a]) })
	for _, i := range order[:busiestMinutes] {
		if n := forecast.Minutes[i]; n > 0 {
			at := forecast.From.In(c.timesOf(page.Page)).Add(time.Duration(i) * time.Minute)
			begins := at
			if now := c.now(); now.After(at) {
				begins = now // the minute that has begun is now, and not some seconds ago
			}
			page.Busiest = append(page.Busiest, dashboard.Busy{
				At: at.Format("15:04"), URL: dueAt(at), In: c.at(page.Page, begins),
				Count: page.T("dashboard.ahead.count", "N", due(n, at)), Jobs: page.T("dashboard.ahead.jobs", "Count", forecast.Jobs[i], "N", due(forecast.Jobs[i], at)),
			})
		}
	}
	return nil
}

// dueAt leads to the jobs that are due in a minute.
func dueAt(at time.Time) string {
	return link.Jobs(link.JobFilter{Show: link.ShowDue, At: at.Format(link.MinuteLayout)})
}
