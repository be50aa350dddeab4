package console

import (
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/pinyin"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/palette"
)

// jobDeed is something that is done to a job from the palette. Its words are "palette.deed.<name>", and what else it is called
// "palette.deed.<name>.also".
type jobDeed struct {
	name, icon string
	may        func(c *palettePages, p auth.Principal, j *db.ListJobsRow) bool
	hit        func(j *db.ListJobsRow) palette.Hit
}

func withRight(right auth.Rights) func(*palettePages, auth.Principal, *db.ListJobsRow) bool {
	return func(_ *palettePages, p auth.Principal, j *db.ListJobsRow) bool { return p.Can(j.JobGroup, right) }
}

// scheduled are jobs that may be started and stopped, and are or are not.
func scheduled(started bool) func(*palettePages, auth.Principal, *db.ListJobsRow) bool {
	return func(_ *palettePages, p auth.Principal, j *db.ListJobsRow) bool {
		return p.Can(j.JobGroup, auth.RightSchedule) && j.ScheduleType.Schedules() && jobspec.Started(j.TriggerStatus) == started
	}
}

func opens(address func(id int64) string) func(*db.ListJobsRow) palette.Hit {
	return func(j *db.ListJobsRow) palette.Hit { return palette.Hit{URL: address(j.ID)} }
}

func opensDialog(address func(id int64) string) func(*db.ListJobsRow) palette.Hit {
	return func(j *db.ListJobsRow) palette.Hit { return palette.Hit{URL: address(j.ID), Dialog: true} }
}

func posts(address func(id int64) string) func(*db.ListJobsRow) palette.Hit {
	return func(j *db.ListJobsRow) palette.Hit { return palette.Hit{URL: link.Job(j.ID), Post: address(j.ID)} }
}

// jobDeeds are offered in this order.
var jobDeeds = []jobDeed{
	{"run", "play", withRight(auth.RightRun), opensDialog(link.JobRun)},
	{"start", "zap", scheduled(false), posts(link.JobStart)},
	{"stop", "circle-stop", scheduled(true), posts(link.JobStop)},
	{"edit", "pencil", withRight(auth.RightEdit), opens(link.JobEditHere)},
	{"pause", "hourglass", scheduled(true), opens(link.PauseJob)},
	{"backfill", "calendar-clock", withRight(auth.RightRun), opens(link.JobBackfill)},
	{"runs", "history", withRight(auth.RightView), func(j *db.ListJobsRow) palette.Hit { return palette.Hit{URL: link.RunsOfJob(j.JobGroup, j.ID)} }},
	{"account", "list-checks", withRight(auth.RightView), opens(link.JobAccount)},
	{"glue", "code", func(c *palettePages, p auth.Principal, j *db.ListJobsRow) bool {
		return c.jobs.CanScript(p, j.GlueType, j.JobGroup)
	}, opens(link.JobGlue)},
	{"copy", "copy", withRight(auth.RightEdit), opens(link.JobCopy)},
	{"delete", "trash-2", withRight(auth.RightEdit), opensDialog(link.JobDelete)},
}

// offer is a deed on a job, if it may be done.
func (c *palettePages) offer(page *palette.Page, p auth.Principal, d *jobDeed, j *db.ListJobsRow, group string) (palette.Hit, bool) {
	if !d.may(c, p, j) {
		return palette.Hit{}, false
	}
	hit, title := d.hit(j), "palette.deed."+d.name
	if d.name == "glue" && j.GlueType == jobspec.GlueFlow {
		title = "palette.deed.flow"
	}
	hit.Icon, hit.Title, hit.Sub = d.icon, page.T(title, "Name", j.JobDesc), jobSub(j, group)
	return hit, true
}

// findDeeds reads a text as a deed and the name of a job ("run nightly", "执行对账", "zx dz").
func (c *palettePages) findDeeds(ec echo.Context, page *palette.Page) (palette.Section, error) {
	s := palette.Section{Name: palette.Deeds}
	for i := range jobDeeds {
		d := &jobDeeds[i]
		name, ok := c.after(page.Page, d.name, page.Text)
		if !ok {
			continue
		}
		list, groups, err := c.jobsNamed(ec, name)
		if err != nil {
			return s, err
		}
		for j := range list {
			if hit, ok := c.offer(page, who(ec), d, &list[j], groups.title(list[j].JobGroup)); ok {
				s.Hits = append(s.Hits, hit)
			}
		}
	}
	s.Hits = s.Hits[:min(len(s.Hits), paletteHits)]
	return s, nil
}

// after is what follows the word for a deed in a text; false where the text does not begin with one, or nothing follows. A Chinese word
// needs no space behind it, and may be typed by its letters.
func (c *palettePages) after(page layout.Page, deed, text string) (rest string, ok bool) {
	first, others, _ := strings.Cut(text, " ")
	others = strings.TrimSpace(others)
	for _, word := range c.words(page, "palette.deed."+deed+".also") {
		if others != "" && (strings.EqualFold(first, word) || pinyin.Of(word).Is(first)) {
			return others, true
		}
		if behind, is := strings.CutPrefix(text, word); is && pinyin.Of(word).Chinese() && strings.TrimSpace(behind) != "" {
			return strings.TrimSpace(behind), true
		}
	}
	return "", false
}

// words are the words of a message, in the page's language and in English, which everybody's fingers know.
func (c *frame) words(page layout.Page, key string) []string {
	split := func(r rune) bool { return r == ',' || r == '，' || r == '、' }
	words := append(strings.FieldsFunc(page.T(key), split), strings.FieldsFunc(c.catalogue.Printer(english).T(key), split)...)
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	return words
}

// jobsNamed are jobs with a name or a number, or with a Chinese name that is typed so.
func (c *palettePages) jobsNamed(ec echo.Context, text string) ([]db.ListJobsRow, groupTitles, error) {
	ctx, p := ec.Request().Context(), who(ec)
	groups, err := c.groupTitles(ec)
	if err != nil {
		return nil, groups, err
	}
	found, err := c.jobs.List(ctx, p, manage.JobFilter{Status: manage.AnyStatus, Text: strings.TrimPrefix(text, "#"), Limit: paletteHits})
	if err != nil {
		return nil, groups, err
	}
	list := found.Jobs
	if len(list) < paletteHits {
		typed, err := c.jobs.Typed(ctx, p, text, paletteHits)
		if err != nil {
			return nil, groups, err
		}
		for _, j := range typed {
			if !containsFold(j.JobDesc, text) && len(list) < paletteHits {
				list = append(list, j)
			}
		}
	}
	return list, groups, nil
}
