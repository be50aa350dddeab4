package console

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
)

// whole is what was typed, with what the form does not say, and what is stored.
func whole(in manage.JobInput, j db.Job) (typed, stored manage.JobInput) {
	stored = manage.JobInput{Job: j.Spec(), Group: j.JobGroup}
	in.Glue = j.GlueType
	if in.KeepOptions {
		in.Job = in.WithOptionsOf(stored.Job)
	}
	return in, stored
}

// asStored is what was typed; what means the same as what is stored is written as it is there, where a form writes it in its own way.
// Where XXL-JOB stored no choice, which is refused, it is the form's.
func (c *jobPages) asStored(in manage.JobInput, j db.Job) manage.JobInput {
	typed, stored := whole(in, j)
	merged, _ := manage.MergeJobs("", typed, stored, c.zone)
	for _, f := range jobspec.Fields {
		if f.MustChoose() && f.Value(&merged.Job) == "" {
			f.Copy(&merged.Job, &typed.Job)
		}
	}
	return merged
}

// merge fills the form with what somebody else stored while it was open, where its writer had not touched it, and shows what differs.
// Nothing is stored by that.
func (c *jobPages) merge(ec echo.Context, page *jobs.FormPage, mine jobs.FormValues, in manage.JobInput) (jobs.FormValues, error) {
	ctx := ec.Request().Context()
	j, err := c.jobs.Get(ctx, who(ec), page.ID)
	if err != nil {
		return nil, err
	}
	in, theirs := whole(in, j)
	hidden := c.hidesScript(who(ec), j)
	if hidden {
		in.GlueSource = theirs.GlueSource // and no difference is told
	}
	manage.TakeJobPart(mine[jobs.FieldTake], &in, theirs)
	out, parts := manage.MergeJobs(mine[jobs.FieldBase], in, theirs, c.zone)
	groups, err := c.groupTitles(ec)
	if err != nil {
		return nil, err
	}
	was := strings.Split(mine[jobs.FieldBoth], ",")
	var both []string
	for _, part := range parts {
		change := jobs.Change{Name: part.Name, Label: page.T("jobs.field.group"), Theirs: groups.byID[theirs.Group], Mine: groups.byID[in.Group]}
		if len(part.Fields) > 0 {
			change.Label = page.T(part.Fields[0].Label)
			change.Theirs, change.Mine = c.words(page.Page, part, theirs.Job), c.words(page.Page, part, in.Job)
		}
		change.Taken = part.By == manage.ChangedByThem
		change.Both = part.By == manage.ChangedByBoth || part.By == manage.ChangedByMe && slices.Contains(was, part.Name)
		if change.Both {
			both = append(both, part.Name)
		}
		page.Changes = append(page.Changes, change)
	}
	merged := c.storedValues(who(ec), j)
	maps.Copy(merged, c.valuesOf(out.Job))
	if hidden {
		delete(merged, jobs.FieldSource)
	}
	merged[jobs.FieldGroup], merged[jobs.FieldRemark], merged[jobs.FieldBoth] = strconv.FormatInt(out.Group, 10), mine[jobs.FieldRemark], strings.Join(both, ",")
	if out.Param == in.Param && out.Handler == in.Handler {
		for name, value := range mine {
			if strings.HasPrefix(name, jobs.PartOfCall) {
				merged[name] = value
			}
		}
	}
	if len(parts) == 0 {
		return merged, nil
	}
	last, err := c.audit.JobChanges(ctx, page.ID, 1)
	if err != nil {
		return nil, err
	}
	for _, change := range last {
		page.Saved = append(page.Saved, c.drawnChange(page.Page, change))
	}
	return merged, nil
}

// words are a part of a job as people read it: the field, and what is a detail of it.
func (c *jobPages) words(page layout.Page, part manage.MergedPart, j jobspec.Job) string {
	v := c.valuesOf(j.WithDefaults().Normalize())
	var words []string
	for _, f := range part.Fields {
		text := word(page, f, v[f.Name])
		if f.Kind == jobspec.Flag {
			text = map[bool]string{true: page.T("audit.yes"), false: page.T("audit.no")}[text != ""]
		}
		if len(part.Fields) == 1 || !isNothing(text) {
			words = append(words, text)
		}
	}
	return strings.Join(words, " · ")
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
