package console

import (
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/views/jobs"
)

// addChanges shows what was stored while a form was open, beside what was typed, and lets the form be saved over it.
func (c *Console) addChanges(ec echo.Context, page *jobs.FormPage, mine *jobs.FormValues) error {
	if page.ID == 0 {
		return nil
	}
	j, err := c.cfg.Manage.Jobs.Get(ec.Request().Context(), who(ec), page.ID)
	if err != nil {
		return err
	}
	theirs := c.storedValues(j)
	if theirs.Version == mine.Version {
		return nil // the conflict is of another kind
	}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	group := func(id string) string {
		n, _ := strconv.ParseInt(id, 10, 64)
		return groups.byID[n]
	}
	word := func(choice, code string) string {
		if code == "" {
			return ""
		}
		return page.T(choice + "." + code)
	}
	mine.Version = theirs.Version
	for _, f := range []struct{ key, theirs, mine string }{
		{"jobs.field.name", theirs.Name, mine.Name},
		{"jobs.field.group", group(theirs.Group), group(mine.Group)},
		{"jobs.field.author", theirs.Author, mine.Author},
		{"jobs.field.type", word("schedule", theirs.ScheduleType), word("schedule", mine.ScheduleType)},
		{"jobs.field.cron", theirs.Cron, mine.Cron},
		{"jobs.field.seconds", theirs.Seconds, mine.Seconds},
		{"jobs.field.moment", theirs.Moment, mine.Moment},
		{"jobs.field.zone", theirs.Zone, mine.Zone},
		{"jobs.field.from", theirs.From, mine.From},
		{"jobs.field.until", theirs.Until, mine.Until},
		{"jobs.field.misfire", word("misfire", theirs.Misfire), word("misfire", mine.Misfire)},
		{"jobs.field.handler", theirs.Handler, mine.Handler},
		{"jobs.field.source", theirs.Source, mine.Source},
		{"jobs.field.param", theirs.Param, mine.Param},
		{"jobs.field.paramfixed", theirs.ParamFixed, mine.ParamFixed},
		{"jobs.field.route", word("route", theirs.Route), word("route", mine.Route)},
		{"jobs.field.block", word("block", theirs.Block), word("block", mine.Block)},
		{"jobs.field.timeout", theirs.Timeout, mine.Timeout},
		{"jobs.field.retries", theirs.Retries, mine.Retries},
		{"jobs.field.backoff", theirs.Backoff, mine.Backoff},
		{"jobs.field.concurrent", theirs.Concurrent, mine.Concurrent},
		{"jobs.field.concurrency", word("concurrency", theirs.Concurrency), word("concurrency", mine.Concurrency)},
		{"jobs.field.retention", theirs.Retention, mine.Retention},
		{"jobs.field.warnafter", theirs.WarnAfter, mine.WarnAfter},
		{"jobs.field.expectevery", theirs.ExpectEvery, mine.ExpectEvery},
		{"jobs.field.children", theirs.Children, mine.Children},
		{"jobs.field.email", theirs.AlarmEmail, mine.AlarmEmail},
		{"jobs.field.tags", theirs.Tags, mine.Tags},
	} {
		if f.theirs != f.mine && !(isNothing(f.theirs) && isNothing(f.mine)) {
			page.Changes = append(page.Changes, jobs.Change{Label: page.T(f.key), Theirs: f.theirs, Mine: f.mine})
		}
	}
	if len(page.Changes) > 0 {
		page.Problem = page.T("problem.changed.compare")
	}
	return nil
}

// isNothing says whether a field is as if it were left alone: an empty number is 0.
func isNothing(value string) bool { return value == "" || value == "0" }

// addOthers says how many jobs fire at the first of the coming times too.
func (c *Console) addOthers(ec echo.Context, jobID int64, v *jobs.Preview) error {
	if len(v.Times) == 0 {
		return nil
	}
	at, err := time.Parse(time.RFC3339, v.Times[0].ISO)
	if err != nil {
		return nil // a time without its date is drawn; there is nothing to count by
	}
	v.Others, err = c.cfg.Manage.Jobs.DueAt(ec.Request().Context(), at, jobID)
	return err
}
