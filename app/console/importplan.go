package console

import (
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/jobs"
)

// importLabels are the keys of the words for what an import changes.
var importLabels = map[string]string{
	manage.FieldGroup: "jobs.field.group", manage.FieldState: "jobs.field.state",
	jobspec.FieldName: "jobs.field.name", jobspec.FieldAuthor: "jobs.field.author", jobspec.FieldAlarmEmail: "jobs.field.email",
	jobspec.FieldScheduleType: "jobs.field.type", jobspec.FieldCron: "jobs.field.cron", jobspec.FieldSeconds: "jobs.field.seconds",
	jobspec.FieldMoment: "jobs.field.moment", jobspec.FieldZone: "jobs.field.zone", jobspec.FieldStart: "jobs.field.from",
	jobspec.FieldEnd: "jobs.field.until", jobspec.FieldMisfire: "jobs.field.misfire", jobspec.FieldGlue: "jobs.field.glue",
	jobspec.FieldHandler: "jobs.field.handler", jobspec.FieldParam: "jobs.field.param", jobspec.FieldSource: "jobs.field.source",
	jobspec.FieldRoute: "jobs.field.route", jobspec.FieldBlock: "jobs.field.block", jobspec.FieldTimeout: "jobs.field.timeout",
	jobspec.FieldRetries: "jobs.field.retries", jobspec.FieldBackoff: "jobs.field.backoff", "max_concurrent": "jobs.field.concurrent",
	"concurrency_policy": "jobs.field.concurrency", "warn_after": "jobs.field.warnafter",
	"expect_every": "jobs.field.expectevery", jobspec.FieldParamFixed: "jobs.field.paramfixed", "retention_days": "jobs.field.retention",
	jobspec.FieldTags: "jobs.field.tags", jobspec.FieldChildren: "jobs.field.children",
}

// importWords are the prefixes of the words for stored values.
var importWords = map[string]string{
	manage.FieldState: "jobs.state.", jobspec.FieldScheduleType: "schedule.", jobspec.FieldMisfire: "misfire.", jobspec.FieldGlue: "glue.",
	jobspec.FieldRoute: "route.", jobspec.FieldBlock: "block.", "concurrency_policy": "concurrency.",
}

const (
	// maxImportDiffs bounds the texts that a preview compares line by line, which is the slow part of it.
	maxImportDiffs = 50
	// maxImportValue bounds a value in the table of a preview.
	maxImportValue = 500
)

// importPlan is a plan as its page shows it: what needs an eye first.
func importPlan(page jobs.ImportPage, plan manage.ImportPlan, done bool) *jobs.ImportPlan {
	out := &jobs.ImportPlan{NewGroups: plan.NewGroups, Work: plan.Work(), Digest: plan.Digest, Done: done}
	diffs := 0
	byOutcome := make(map[string][]jobs.ImportItem)
	for _, item := range plan.Items {
		drawn := jobs.ImportItem{Line: item.Line, ID: item.ID, Name: item.Name, Group: item.AppName, Outcome: string(item.Outcome)}
		switch {
		case item.Err != nil:
			out.Failed++
			drawn.Outcome = "failed"
			drawn.Faults = []jobs.ImportFault{{Text: refusal(page.Page, item.Err)}}
		case item.Done:
			out.Imported++
			drawn.Outcome = "done"
		default:
			for _, f := range item.Faults {
				drawn.Faults = append(drawn.Faults, jobs.ImportFault{Line: f.Line, Text: importFault(page, f)})
			}
			for _, c := range item.Changes {
				drawn.Changes = append(drawn.Changes, importChange(page, c, &diffs))
			}
		}
		byOutcome[drawn.Outcome] = append(byOutcome[drawn.Outcome], drawn)
	}
	for _, outcome := range []string{"failed", "refuse", "change", "create", "done", "same"} {
		items := byOutcome[outcome]
		if len(items) == 0 {
			continue
		}
		out.Counts = append(out.Counts, jobs.ImportCount{Outcome: outcome, Count: len(items)})
		if outcome == string(manage.ImportSame) {
			out.Unchanged = items
		} else {
			out.Items = append(out.Items, items...)
		}
	}
	return out
}

// importFault says what is wrong, with the field that it is about: "retries" alone would not tell.
func importFault(page jobs.ImportPage, f manage.ImportFault) string {
	text := f.Text(page.Printer)
	if key, ok := importLabels[f.Name]; ok && strings.HasPrefix(f.Key, "job.error.") {
		return page.T("import.fault", "Field", page.T(key), "Text", text)
	}
	return text
}

func importChange(page jobs.ImportPage, c manage.ImportFieldChange, diffs *int) jobs.ImportChange {
	out := jobs.ImportChange{Label: page.T(importLabels[c.Field]), Was: c.Was, Now: c.Now}
	if prefix, ok := importWords[c.Field]; ok {
		out.Was, out.Now = importWord(page, prefix, c.Was), importWord(page, prefix, c.Now)
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

func importWord(page jobs.ImportPage, prefix, value string) string {
	if value == "" {
		return ""
	}
	return page.Word(prefix, value)
}

func shortened(text string) string {
	if r := []rune(text); len(r) > maxImportValue {
		return string(r[:maxImportValue]) + "…"
	}
	return text
}
