package console

import (
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/manage/transfer"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/jobs"
)

// importField is the field that an import is about. Two are not of the definition: where the job is, and whether it runs.
func importField(name string) *jobspec.Field {
	switch name {
	case manage.FieldGroup:
		return &jobspec.Field{Label: "jobs.field.group"}
	case transfer.FieldState:
		return &jobspec.Field{Label: "jobs.field.state", Words: "jobs.state."}
	}
	return jobspec.Named(name)
}

const (
	// maxImportDiffs bounds the texts that a preview compares line by line, which is the slow part of it.
	maxImportDiffs = 50
	// maxImportValue bounds a value in the table of a preview.
	maxImportValue = 500
)

// importPlan is a plan as its page shows it: what needs an eye first.
func importPlan(page jobs.ImportPage, plan transfer.Plan, done bool) *jobs.ImportPlan {
	out := &jobs.ImportPlan{NewGroups: plan.NewGroups, Work: plan.Work(), Digest: plan.Digest, Done: done}
	diffs := 0
	byOutcome := make(map[string][]jobs.ImportItem)
	for i := range plan.Items {
		item := &plan.Items[i]
		if item.Starts() {
			out.Starts++
		}
		drawn := jobs.ImportItem{Line: item.Line, ID: item.ID, Name: item.Name, Group: item.AppName, Outcome: string(item.Outcome), Waits: item.Waits, Starts: item.Starts()}
		if done && (item.Outcome == transfer.Create || item.Outcome == transfer.Change) {
			drawn.Outcome = "done"
		} else {
			for _, f := range item.Faults {
				drawn.Faults = append(drawn.Faults, jobs.ImportFault{Line: f.Line, Text: importFault(page, f)})
				if f.Key == transfer.CodeNoGroup && page.CanCreate && !slices.Contains(out.Missing, item.AppName) {
					out.Missing = append(out.Missing, item.AppName)
				}
			}
			for _, c := range item.Changes {
				drawn.Changes = append(drawn.Changes, importChange(page, c, &diffs))
			}
		}
		byOutcome[drawn.Outcome] = append(byOutcome[drawn.Outcome], drawn)
	}
	for _, outcome := range []string{"refuse", "change", "create", "done", "same"} {
		items := byOutcome[outcome]
		if len(items) == 0 {
			continue
		}
		out.Counts = append(out.Counts, jobs.ImportCount{Outcome: outcome, Count: len(items)})
		if outcome == string(transfer.Same) {
			out.Unchanged = items
		} else {
			out.Items = append(out.Items, items...)
		}
	}
	return out
}

// importFault says what is wrong, with the field that it is about, as the file calls it: "Fill this in." alone would not tell.
func importFault(page jobs.ImportPage, f jobfile.Fault) string {
	text := f.Text(page.Printer)
	if field := importField(f.Name); field != nil && strings.HasPrefix(f.Key, "job.error.") {
		return page.T("import.fault", "Field", transfer.FileField(f.Name), "Text", text)
	}
	return text
}

func importChange(page jobs.ImportPage, c transfer.FieldChange, diffs *int) jobs.ImportChange {
	f := importField(c.Field)
	out := jobs.ImportChange{Label: page.T(f.Label), Was: word(page.Page, f, c.Was), Now: word(page.Page, f, c.Now)}
	if f.Words != "" {
		return out
	}
	long := strings.Contains(c.Was+c.Now, "\n") && c.Field != jobspec.FieldChildren
	switch {
	case long && *diffs < maxImportDiffs:
		*diffs++
		out.Lines = lineDifference(c.Was, c.Now, differenceContext)
	case long:
		lines := func(text string) string { return strconv.Itoa(strings.Count(text, "\n") + 1) }
		out.Was, out.Now = "", page.T("import.script", "Was", lines(c.Was), "Now", lines(c.Now))
	default:
		out.Was, out.Now = shortened(c.Was), shortened(c.Now)
	}
	return out
}

func shortened(text string) string {
	if r := []rune(text); len(r) > maxImportValue {
		return string(r[:maxImportValue]) + "…"
	}
	return text
}
