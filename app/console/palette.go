package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/pinyin"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/locales"
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
	page := palette.Page{Page: c.Page(ec), Text: text, Box: isPartial(ec.Request())}
	for _, find := range []func(echo.Context, *palette.Page) (palette.Section, error){c.findDeeds, c.findActions, c.saved.findViews, c.findRuns, c.findJobs, c.findGroups} {
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

// palettePlace is a page that the palette leads to, by its title, or by what else people call it: "palette.also.<name>".
type palettePlace struct {
	name, icon, title, url string
	may                    func(p auth.Principal, page *palette.Page) bool
}

func anybody(auth.Principal, *palette.Page) bool             { return true }
func administrator(p auth.Principal, _ *palette.Page) bool   { return p.Admin }
func auditor(p auth.Principal, _ *palette.Page) bool         { return p.Audits() }
func editsSomewhere(p auth.Principal, _ *palette.Page) bool  { return p.CanAnywhere(auth.RightEdit) }
func alarmsSomewhere(_ auth.Principal, p *palette.Page) bool { return p.User.Alarms }

// palettePlaces are all of them. Those for administrators and auditors are offered to nobody else.
var palettePlaces = []palettePlace{
	{"new", "plus", "jobs.new", link.JobNewPath, anybody},
	{"dashboard", "zap", "nav.dashboard", link.Root, anybody},
	{"jobs", "list-checks", "nav.jobs", link.JobsPath, anybody},
	{"mine", "star", "jobs.mine", link.Jobs(link.JobFilter{Show: link.ShowMine}), anybody},
	{"runs", "history", "nav.runs", link.RunsPath, anybody},
	{"failed", "circle-x", "palette.failed", link.Runs(link.RunFilter{Result: link.ResultFailed}), anybody},
	{"running", "loader", "palette.running", link.Runs(link.RunFilter{Result: link.ResultRunning}), anybody},
	{"longest", "clock", "palette.longest", link.Runs(link.RunFilter{Sort: "-duration"}), anybody},
	{"wall", "monitor", "wall.title", link.WallPath, anybody},
	{"slowest", "clock", "slow.title", link.SlowestPath, anybody},
	{"forecast", "calendar-clock", "forecast.title", link.ForecastPath, anybody},
	{"timeline", "chart-gantt", "timeline.title", link.TimelinePath, anybody},
	{"next", "calendar-clock", "palette.next", link.Jobs(link.JobFilter{Sort: "next"}), anybody},
	{"stopped", "circle-stop", "palette.stopped", link.Jobs(link.JobFilter{State: link.JobStopped}), anybody},
	{"paused", "hourglass", "palette.paused", link.Jobs(link.JobFilter{State: link.JobPaused}), anybody},
	{"pauses", "circle-stop", "pauses.title", link.PausesPath, anybody},
	{"executors", "server", "nav.executors", link.ExecutorsPath, anybody},
	{"group", "plus", "groups.new", link.ExecutorNewPath, administrator},
	{"import", "upload", "import.title", link.JobsImportPath, editsSomewhere},
	{"clear", "trash-2", "clear.title", link.ClearPath, editsSomewhere},
	{"openalarms", "circle-alert", "alarms.open.title", link.AlarmsOpenPath, anybody},
	{"alarms", "bell", "nav.alarms", link.AlarmsPath, alarmsSomewhere},
	{"webhooks", "webhook", "webhooks.title", link.WebhooksPath, administrator},
	{"users", "users", "nav.users", link.UsersPath, auditor},
	{"teams", "users", "teams.title", link.TeamsPath, auditor},
	{"calendars", "calendar-clock", "nav.calendars", link.CalendarsPath, administrator},
	{"audit", "scroll-text", "nav.audit", link.AuditPath, auditor},
	{"nodes", "network", "nav.nodes", link.NodesPath, administrator},
	{"settings", "settings", "nav.settings", link.SettingsPath, administrator},
	{"tokens", "key-round", "apitokens.title", link.TokensPath, anybody},
	{"profile", "user", "profile.title", link.ProfilePath, anybody},
	{"second", "key-round", "second.title", link.SecondPath, anybody},
	{"help", "book-open", "help.title", link.HelpPath, anybody},
	{"docs", "file-text", "docs.title", link.DocsPath, anybody},
	{"keys", "keyboard", "keys.title", link.KeysPath, anybody},
}

// containsFold says whether a text contains another, whatever their cases.
func containsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// beginsWord says whether a text contains another where a word of it begins, so that "night" does not mean "tonight". Every Chinese
// character begins one.
func beginsWord(text, part string) bool {
	text, part = strings.ToLower(text), strings.ToLower(part)
	first, _ := utf8.DecodeRuneInString(part)
	for at := 0; ; at++ {
		i := strings.Index(text[at:], part)
		if i < 0 {
			return false
		}
		at += i
		if before, _ := utf8.DecodeLastRuneInString(text[:at]); !unicode.Is(unicode.Latin, before) || !unicode.Is(unicode.Latin, first) {
			return true
		}
	}
}

// english is the language in which places and deeds are found too, whatever the page's is.
const english = locales.English

func (c *palettePages) findActions(ec echo.Context, page *palette.Page) (palette.Section, error) {
	s := palette.Section{Name: palette.Actions}
	for _, place := range palettePlaces {
		if !place.may(who(ec), page) || page.Text != "" && !c.called(page, place) {
			continue
		}
		s.Hits = append(s.Hits, palette.Hit{Icon: place.icon, Title: page.T(place.title), URL: place.url})
	}
	if page.Text != "" {
		s.Hits = s.Hits[:min(len(s.Hits), paletteHits)]
	}
	return s, nil
}

// called says whether a text is part of what a place is called, or of how that is typed.
func (c *palettePages) called(page *palette.Page, place palettePlace) bool {
	names := append(c.words(page.Page, "palette.also."+place.name), page.T(place.title), c.catalogue.Printer(english).T(place.title))
	return slices.ContainsFunc(names, func(name string) bool { return beginsWord(name, page.Text) || pinyin.Of(name).Has(page.Text) })
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
	jobs, err := c.jobs.OfRuns(ctx, who(ec), r.JobID)
	if err != nil {
		return s, err
	}
	name, _ := jobName(page.Page, jobs, r.JobID)
	hit := palette.Hit{Icon: "history", Title: "#" + strconv.FormatInt(logID, 10) + " " + name, URL: link.Run(logID)}
	run := c.wholeRecord(r)
	hit.Sub = page.T("state."+string(run.State())) + " · " + c.at(page.Page, run.Start()).Relative
	s.Hits = []palette.Hit{hit}
	return s, nil
}

// findJobs looks for jobs by their names. Of one that is found alone, what can be done to it follows.
func (c *palettePages) findJobs(ec echo.Context, page *palette.Page) (palette.Section, error) {
	s := palette.Section{Name: palette.Jobs}
	if page.Text == "" {
		return s, nil
	}
	list, groups, err := c.jobsNamed(ec, page.Text)
	if err != nil {
		return s, err
	}
	for i := range list {
		j := &list[i]
		s.Hits = append(s.Hits, palette.Hit{Icon: "calendar-clock", Title: j.JobDesc, Sub: jobSub(j, groups.title(j.JobGroup)), URL: link.Job(j.ID)})
	}
	if len(list) == 1 {
		for i := range jobDeeds {
			if hit, ok := c.offer(page, who(ec), &jobDeeds[i], &list[0], ""); ok {
				hit.Sub = ""
				s.Hits = append(s.Hits, hit)
			}
		}
	}
	return s, nil
}

func jobSub(j *db.ListJobsRow, group string) string {
	return "#" + strconv.FormatInt(j.ID, 10) + " · " + group
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
	for _, g := range list {
		if !slices.ContainsFunc([]string{g.Title, g.AppName}, func(name string) bool { return containsFold(name, page.Text) || pinyin.Of(name).Has(page.Text) }) {
			continue
		}
		s.Hits = append(s.Hits, palette.Hit{Icon: "server", Title: g.Title, Sub: g.AppName, URL: link.Jobs(link.JobFilter{Group: g.ID})})
		if len(s.Hits) == paletteHits {
			break
		}
	}
	return s, nil
}
