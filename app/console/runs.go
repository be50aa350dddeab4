package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/live"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/ui"
)

// runPages are the list of runs, the page of one with its output, and their streams.
type runPages struct {
	*timelines
	runs     *manage.Runs
	jobs     *manage.Jobs
	saved    *savedViews
	engine   Engine
	sessions *auth.Sessions
	streams  *live.Streams
}

func (c *runPages) routes(g *echo.Group) {
	g.GET("/runs", c.runList)
	g.GET("/runs/events", c.runListEvents)
	g.GET(link.SearchPath, c.outputSearch)
	for path, deed := range map[string]runDeed{link.RunsRerun: c.rerunDeed(), link.RunsKill: c.killDeed()} {
		g.GET(path, func(ec echo.Context) error { return c.bulkForm(ec, deed) })
		g.POST(path, func(ec echo.Context) error { return c.bulk(ec, deed) })
	}
	g.GET("/runs/:id", c.runDetail)
	g.GET("/runs/:id/log", c.runLog)
	g.GET("/runs/:id/events", c.runEvents)
	g.GET("/runs/:id/kill", c.runKillForm)
	g.POST("/runs/:id/kill", c.runKill)
	c.flowRoutes(g)
}

// lateAfter is the lateness that gets a colour.
const lateAfter = time.Second

func (c *runPages) runList(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	f := link.RunsFrom(ec.QueryParams())
	f.Group = groups.known(f.Group)
	page := runs.ListPage{Page: c.pageOfList(ec, link.Runs(f)), Filter: f}
	page.Chips = runChips(page.Page, f)
	page.Groups = groups.options(f.Group)
	names, err := c.jobs.Names(ctx, p, f.Group)
	if err != nil {
		return err
	}
	for _, n := range names {
		page.Jobs = append(page.Jobs, ui.Option{Value: strconv.FormatInt(n.ID, 10), Label: n.JobDesc, Selected: n.ID == f.Job})
	}
	page.CanClear = p.CanAnywhere(auth.RightEdit)
	page.Executors = c.executorOptions(p, groups, f)
	page.Look = look(page.Page, p, manage.ViewRuns)
	filter := c.runFilter(f, c.zoneFor(p))
	filter.Limit = page.Look.Rows
	var list manage.RunList
	if backwards(filter.Since, filter.Until) {
		swapped := f
		swapped.From, swapped.To = f.To, f.From
		page.Swapped = link.Runs(swapped)
	} else if list, err = c.runs.List(ctx, p, filter); err != nil {
		return err
	}
	if page.Rows, err = c.runRows(ctx, page.Page, p, groups, list.Runs); err != nil {
		return err
	}
	c.runPager(&page, list)
	page.Live = isLive(f)
	if page.AnyRuns = len(list.Runs) > 0; !page.AnyRuns {
		if page.AnyRuns, err = c.runs.Any(ctx); err != nil {
			return err
		}
	}
	if page.Views, err = c.saved.viewBar(ec, manage.ViewRuns, link.ViewParams(manage.ViewRuns, ec.QueryString())); err != nil {
		return err
	}
	component := runs.List(page)
	if isPartial(ec.Request()) {
		component = runs.ListFragment(page)
	}
	return render(ec, http.StatusOK, component)
}

// runPager leads to the pages beside this one, and says where the search has stopped.
func (c *runPages) runPager(page *runs.ListPage, list manage.RunList) {
	newer, older := page.Filter, page.Filter
	if page.Sorted = list.Sorted; page.Filter.Sort != "" {
		if page.Reached = c.at(page.Page, list.Reached); list.Searched {
			older.Deep = true
			page.Further = link.Runs(older)
		}
		return
	}
	newer.Before, newer.After, newer.Deep = 0, list.Newer, false
	older.Before, older.After, older.Deep = list.Older, 0, list.Searched
	if list.Newer != 0 {
		page.Pager.Previous = link.Runs(newer)
	}
	switch {
	case list.Searched:
		page.Further, page.Reached = link.Runs(older), c.at(page.Page, list.Reached)
	case list.Older != 0:
		page.Pager.Next = link.Runs(older)
	}
}

// maxExecutorOptions bounds the pick list of addresses.
const maxExecutorOptions = 200

// executorOptions are the addresses of the chosen group, or of all. The one that is chosen stays in the list when its
// executor has gone.
func (c *runPages) executorOptions(p auth.Principal, groups groupTitles, f link.RunFilter) []ui.Option {
	var addresses []string
	for _, g := range groups.list {
		if f.Group != 0 && g.ID != f.Group {
			continue
		}
		for _, a := range c.groups.Addresses(p, g.ID) {
			addresses = append(addresses, a.Address)
		}
	}
	slices.Sort(addresses)
	addresses = slices.Compact(addresses)
	addresses = addresses[:min(len(addresses), maxExecutorOptions)]
	if f.Executor != "" && !slices.Contains(addresses, f.Executor) {
		addresses = append(addresses, f.Executor)
	}
	options := make([]ui.Option, len(addresses))
	for i, a := range addresses {
		options[i] = ui.Option{Value: a, Label: runs.ShortAddress(a), Selected: a == f.Executor}
	}
	return options
}

// isLive says whether new runs can appear on top of a list.
func isLive(f link.RunFilter) bool {
	return f.Sort == "" && f.Before == 0 && f.After == 0 && f.Range != link.RangeYesterday && (f.Range != link.RangeCustom || f.To == "")
}

func (c *runPages) runFilter(f link.RunFilter, zone *time.Location) manage.RunFilter {
	out := manage.RunFilter{Group: f.Group, Job: f.Job, Text: f.Text, Trigger: jobspec.TriggerType(f.Trigger), Show: dashboard.Show(f.Show), Executor: f.Executor, Longer: time.Duration(f.Longer) * time.Second, Before: f.Before, After: f.After, Deep: f.Deep, Limit: ui.UsualRows}
	by, desc := link.SortBy(f.Sort)
	out.Sort = manage.RunSort{By: manage.RunOrder(by), Desc: desc}
	switch f.Result {
	case link.ResultSuccess:
		out.Result = manage.Succeeded
	case link.ResultFailed:
		out.Result = manage.Failed
	case link.ResultFinal:
		out.Result = manage.FailedForGood
	case link.ResultRunning:
		out.Result = manage.Open
	case link.ResultSkipped:
		out.Result = manage.Skipped
	}
	out.State = runstate.State(link.ResultState(f.Result))
	out.Since, out.Until = timeRange(f, c.now().In(zone))
	return out
}

// timeRange is what a range of the filter means now; a zero time is no bound. A custom bound that cannot be read is none.
func timeRange(f link.RunFilter, now time.Time) (since, until time.Time) {
	name := cmp.Or(f.Range, link.RangeDefault)
	switch name {
	case link.RangeHour:
		return now.Add(-time.Hour), time.Time{}
	case link.RangeDay:
		return now.Add(-24 * time.Hour), time.Time{}
	case link.RangeToday:
		return midnight(now, 0), midnight(now, 1).Add(-time.Second)
	case link.RangeYesterday:
		return midnight(now, -1), midnight(now, 0).Add(-time.Second)
	case link.RangeWeek:
		return now.AddDate(0, 0, -7), time.Time{}
	case link.RangeMonth:
		return now.AddDate(0, 0, -30), time.Time{}
	case link.RangeCustom:
		return link.LocalRange(f.From, f.To, now.Location(), 59*time.Second)
	}
	return time.Time{}, time.Time{}
}

// backwards says whether a range ends before it begins.
func backwards(since, until time.Time) bool { return !until.IsZero() && until.Before(since) }

// runRows draws runs with the names of their jobs.
func (c *runPages) runRows(ctx context.Context, page layout.Page, p auth.Principal, groups groupTitles, list []db.RunRow) ([]runs.Row, error) {
	jobs, err := c.jobs.OfRuns(ctx, p, db.IDs(list, func(r *db.RunRow) int64 { return r.JobID })...)
	if err != nil {
		return nil, err
	}
	faults, err := c.runs.Faults(ctx, db.IDs(list, func(r *db.RunRow) int64 { return r.ID }))
	if err != nil {
		return nil, err
	}
	rows := make([]runs.Row, len(list))
	for i, r := range list {
		name, linked := jobName(page, jobs, r.JobID)
		rows[i] = c.runRow(page, p, c.record(r), runs.Row{
			LogID: r.ID, JobID: r.JobID, JobName: name, NoJob: !linked, GroupID: r.JobGroup, Group: groups.title(r.JobGroup),
			Trigger: string(r.TriggerType), Shard: shardText(string(r.ExecutorShardingParam)), Address: string(r.ExecutorAddress),
			Faults: faultsText(page, faults[r.ID]),
		})
	}
	return rows, nil
}

// faultsText says how many lines with errors a kept output has; nothing for none.
func faultsText(page layout.Page, n int64) string {
	if n == 0 {
		return ""
	}
	return page.T("job.faults", "Count", n, "N", format.Number(n))
}

// shardText turns the stored "0/3", which counts from 0, into what people say.
func shardText(stored string) string {
	index, total, ok := strings.Cut(stored, "/")
	n, err := strconv.Atoi(strings.TrimSpace(index))
	if !ok || err != nil {
		return ""
	}
	return strconv.Itoa(n+1) + "/" + strings.TrimSpace(total)
}
