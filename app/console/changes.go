package console

import (
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
)

// addChanges shows what was stored while a form was open, beside what was typed, and lets the form be saved over it.
func (c *jobPages) addChanges(ec echo.Context, page *jobs.FormPage, mine jobs.FormValues) error {
	if page.ID == 0 {
		return nil
	}
	j, err := c.jobs.Get(ec.Request().Context(), who(ec), page.ID)
	if err != nil {
		return err
	}
	theirs := c.storedValues(j)
	if theirs[jobs.FieldVersion] == mine[jobs.FieldVersion] {
		return nil // the conflict is of another kind
	}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	group := func(v jobs.FormValues) string {
		n, _ := strconv.ParseInt(v[jobs.FieldGroup], 10, 64)
		return groups.byID[n]
	}
	mine[jobs.FieldVersion] = theirs[jobs.FieldVersion]
	would := c.wouldStore(j, mine)
	add := func(label, theirs, mine string) {
		if theirs != mine && !(isNothing(theirs) && isNothing(mine)) {
			page.Changes = append(page.Changes, jobs.Change{Label: page.T(label), Theirs: theirs, Mine: mine})
		}
	}
	for _, f := range jobspec.Fields {
		switch {
		case f.Name == jobspec.FieldGlue, f.Name == jobspec.FieldRemark: // stays as it is; says something of the change itself
			continue
		case f.Name == jobspec.FieldAuthor: // behind the name
			add("jobs.field.group", group(theirs), group(mine))
		}
		add(f.Label, word(page.Page, f, theirs[f.Name]), word(page.Page, f, would[f.Name]))
	}
	if len(page.Changes) == 0 {
		return nil
	}
	page.Problem = page.T("problem.changed.compare")
	last, err := c.audit.JobChanges(ec.Request().Context(), page.ID, 1)
	if err != nil {
		return err
	}
	for _, change := range last {
		page.Saved = append(page.Saved, c.drawnChange(page.Page, change))
	}
	return nil
}

// wouldStore is what saving a form would store, as the form shows it. A form posts a choice also where that says nothing, and people write
// lists and times in more than one way; none of it is a difference.
func (c *jobPages) wouldStore(j db.Job, typed jobs.FormValues) jobs.FormValues {
	in, faults := c.typedJob(typed)
	in.Glue = j.GlueType // is not typed
	v := c.valuesOf(in.Normalize())
	for _, f := range faults {
		v[f.Name] = typed[f.Name]
	}
	return v
}

// word is a value as people read it: that of a choice has a name.
func word(page layout.Page, f *jobspec.Field, value string) string {
	if f.Words == "" || value == "" {
		return value
	}
	return page.Word(f.Words, value)
}

// isNothing says whether a field is as if it were left alone: an empty number is 0.
func isNothing(value string) bool { return value == "" || value == "0" }

// addOthers says how many jobs fire at the first of the coming times too.
func (c *jobPages) addOthers(ec echo.Context, jobID int64, v *jobs.Preview) error {
	if len(v.Times) == 0 {
		return nil
	}
	at, err := time.Parse(time.RFC3339, v.Times[0].ISO)
	if err != nil {
		return nil // a time without its date is drawn; there is nothing to count by
	}
	v.Others, err = c.jobs.DueAt(ec.Request().Context(), at, jobID)
	return err
}
