package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/palette"
	"github.com/punctual-job/punctual/views/ui"
)

// palettePages find whatever somebody types the name of.
type palettePages struct {
	*frame
	jobs  *manage.Jobs
	runs  *manage.Runs
	saved *savedViews
}

func (c *palettePages) routes(g *echo.Group) {
	g.GET(link.PalettePath, c.palette)
	g.GET(link.KeysPath, func(ec echo.Context) error {
		return renderPart(ec, http.StatusOK, palette.Keys(c.Page(ec)), ui.FragmentDialog)
	})
}

// paletteHits bounds the hits of a kind.
const paletteHits = 8

// palette finds what somebody may see by a piece of its name or its number.
func (c *palettePages) palette(ec echo.Context) error {
	text := strings.TrimSpace(ec.QueryParam("q"))
	if r := []rune(text); len(r) > 100 {
		text = string(r[:100])
	}
	page := palette.Page{Page: c.Page(ec), Text: text}
	for _, find := range []func(echo.Context, *palette.Page) (palette.Section, error){c.findActions, c.saved.findViews, c.findRuns, c.findJobs, c.findGroups} {
		s, err := find(ec, &page)
		if err != nil {
			return err
		}
		if len(s.Hits) > 0 {
			page.Sections = append(page.Sections, s)
		}
	}
	if ec.QueryParam("part") == palette.FragmentHits {
		return renderPart(ec, http.StatusOK, palette.Palette(page), palette.FragmentHits)
	}
	return renderPart(ec, http.StatusOK, palette.Palette(page), ui.FragmentDialog)
}

// paletteActions are the places and deeds of the palette. Those for administrators are offered to nobody else.
var paletteActions = []struct {
	icon, key, url string
	admin          bool
}{
	{"plus", "jobs.new", link.JobNewPath, false},
	{"zap", "nav.dashboard", link.Root, false},
	{"list-checks", "nav.jobs", link.JobsPath, false},
	{"history", "nav.runs", link.RunsPath, false},
	{"circle-x", "palette.failed", link.Runs(link.RunFilter{Result: link.ResultFailed}), false},
	{"loader", "palette.running", link.Runs(link.RunFilter{Result: link.ResultRunning}), false},
	{"clock", "slow.title", link.SlowestPath, false},
	{"calendar-clock", "forecast.title", link.ForecastPath, false},
	{"chart-gantt", "timeline.title", link.TimelinePath, false},
	{"circle-stop", "palette.stopped", link.Jobs(link.JobFilter{State: link.JobStopped}), false},
	{"server", "nav.executors", link.ExecutorsPath, false},
	{"plus", "groups.new", link.ExecutorNewPath, true},
	{"network", "nav.nodes", link.NodesPath, true},
	{"settings", "nav.settings", link.SettingsPath, true},
	{"book-open", "help.title", link.HelpPath, false},
	{"file-text", "docs.title", link.DocsPath, false},
	{"keyboard", "keys.title", link.KeysPath, false},
}

// containsFold says whether a text contains another, whatever their cases.
func containsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

func (c *palettePages) findActions(ec echo.Context, page *palette.Page) (palette.Section, error) {
	s := palette.Section{Name: palette.Actions}
	for _, a := range paletteActions {
		title := page.T(a.key)
		if a.admin && !who(ec).Admin || !containsFold(title, page.Text) {
			continue
		}
		s.Hits = append(s.Hits, palette.Hit{Icon: a.icon, Title: title, URL: a.url})
	}
	if page.Text != "" {
		s.Hits = s.Hits[:min(len(s.Hits), paletteHits)]
	}
	return s, nil
}

// findRuns looks for the run with a number; # may stand before it.
func (c *palettePages) findRuns(ec echo.Context, page *palette.Page) (palette.Section, error) {
	s := palette.Section{Name: palette.Runs}
	logID, err := strconv.ParseInt(strings.TrimPrefix(page.Text, "#"), 10, 64)
	if err != nil || logID < 1 {
		return s, nil
	}
	ctx := ec.Request().Context()
	r, err := c.runs.Get(ctx, who(ec), logID)
	if err != nil {
		if kind := problem.From(err).Kind; kind == problem.NotFound || kind == problem.Forbidden {
			return s, nil
		}
		return s, err
	}
	names, err := c.jobs.ByID(ctx, []int64{r.JobID})
	if err != nil {
		return s, err
	}
	hit := palette.Hit{Icon: "history", Title: "#" + strconv.FormatInt(logID, 10) + " " + names[r.JobID].JobDesc, URL: link.Run(logID)}
	run := c.wholeRecord(r)
	hit.Sub = page.T("state."+string(run.State())) + " · " + c.at(page.Page, run.Start()).Relative
	s.Hits = []palette.Hit{hit}
	return s, nil
}

func (c *palettePages) findJobs(ec echo.Context, page *palette.Page) (palette.Section, error) {
	s := palette.Section{Name: palette.Jobs}
	if page.Text == "" {
		return s, nil
	}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return s, err
	}
	list, err := c.jobs.List(ec.Request().Context(), who(ec), manage.JobFilter{Status: manage.AnyStatus, Text: strings.TrimPrefix(page.Text, "#"), Limit: paletteHits})
	if err != nil {
		return s, err
	}
	for _, j := range list.Jobs {
		hit := palette.Hit{Icon: "calendar-clock", Title: j.JobDesc, Sub: "#" + strconv.FormatInt(j.ID, 10) + " · " + groups.title(j.JobGroup), URL: link.Job(j.ID)}
		s.Hits = append(s.Hits, hit)
	}
	return s, nil
}

func (c *palettePages) findGroups(ec echo.Context, page *palette.Page) (palette.Section, error) {
	s := palette.Section{Name: palette.Groups}
	if page.Text == "" {
		return s, nil
	}
	list, err := c.groups.List(ec.Request().Context(), who(ec))
	if err != nil {
		return s, err
	}
	text := strings.ToLower(page.Text)
	for _, g := range list {
		if !slices.ContainsFunc([]string{g.Title, g.AppName}, func(name string) bool { return strings.Contains(strings.ToLower(name), text) }) {
			continue
		}
		s.Hits = append(s.Hits, palette.Hit{Icon: "server", Title: g.Title, Sub: g.AppName, URL: link.Jobs(link.JobFilter{Group: g.ID})})
		if len(s.Hits) == paletteHits {
			break
		}
	}
	return s, nil
}
