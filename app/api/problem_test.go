package api

import (
	"reflect"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/locales"
)

// TestAConflictSaysWhatItIs: what is asked of a job without a body, as to start one whose schedule is over, is refused for a field of the job. Nothing
// was changed meanwhile, and looking again does not help.
func TestAConflictSaysWhatItIs(t *testing.T) {
	t.Parallel()
	printer := locales.New().Printer(locales.English)
	over := problem.InvalidFields(problem.Field{Name: "cron", Key: "job.error.no_time"})
	over.Kind = problem.Conflict
	doc := newProblem(printer, over, nil)
	if want := printer.T("job.error.no_time"); doc.Detail != want || doc.Code != "conflict" || len(doc.Errors) != 1 || doc.Errors[0].Detail != want {
		t.Errorf("%+v, want the detail %q", doc, want)
	}
	if doc := newProblem(printer, &problem.Error{Kind: problem.Conflict}, nil); doc.Detail != printer.T("api.conflict.text") {
		t.Errorf("of a conflict that says no more: %q", doc.Detail)
	}
}

func TestAFieldIsPointedAt(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"": "", "cron": "/cron", "tags.0": "/tags/0"} {
		if got := pointer(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// TestANameIsRefusedWithWhatItMayBe: a pattern says nothing to whoever reads the refusal, and the document is long.
func TestANameIsRefusedWithWhatItMayBe(t *testing.T) {
	t.Parallel()
	printer := locales.New().Printer(locales.English)
	name, _ := reflect.TypeFor[newUser]().FieldByName("Name")
	got := fieldProblem(printer, &huma.ErrorDetail{Location: "body.name", Message: validation.MsgExpectedMatchPattern + separator + name.Tag.Get("pattern")})
	if want := printer.T("user.error.name"); got.Detail != want || got.Field != "name" || got.Code != "user.error.name" {
		t.Errorf("%+v, want %q", got, want)
	}
}
