package api

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/labstack/echo/v4"

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

// TestABoundOfOneIsSaidOfOne.
func TestABoundOfOneIsSaidOfOne(t *testing.T) {
	t.Parallel()
	printer := locales.New().Printer(locales.English)
	for bound, want := range map[string]string{validation.MsgExpectedMinLength + separator + "1": "Use at least 1 character.", validation.MsgExpectedMaxItems + separator + "2": "Use at most 2 elements."} {
		if got := fieldProblem(printer, &huma.ErrorDetail{Location: "body.x", Message: bound}); got.Detail != want {
			t.Errorf("%q, want %q", got.Detail, want)
		}
	}
}

// TestEveryBoundHasItsWords: what the document says of a value is refused in words of ours, so that nobody is told a pattern or "cannot be read".
func TestEveryBoundHasItsWords(t *testing.T) {
	t.Parallel()
	var doc any
	if err := json.Unmarshal(registered(echo.New()).document(), &doc); err != nil {
		t.Fatal(err)
	}
	said := map[string]string{
		"minLength": validation.MsgExpectedMinLength, "maxLength": validation.MsgExpectedMaxLength, "minimum": validation.MsgExpectedMinimumNumber, "maximum": validation.MsgExpectedMaximumNumber,
		"minItems": validation.MsgExpectedMinItems, "maxItems": validation.MsgExpectedMaxItems, "enum": validation.MsgExpectedOneOf, "date-time": validation.MsgExpectedRFC3339DateTime, "date": validation.MsgExpectedRFC3339Date,
	}
	others := []string{"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "minProperties", "maxProperties", "oneOf", "not", "dependentRequired"}
	patternsSeen, printer := make(map[string]bool), locales.New().Printer(locales.English)
	var look func(x any, properties bool)
	look = func(x any, properties bool) {
		switch x := x.(type) {
		case []any:
			for _, part := range x {
				look(part, false)
			}
		case map[string]any:
			for name, value := range x {
				look(value, name == "properties" && !properties)
				if properties { // the name of a field
					continue
				}
				format, bound := said[name]
				if text, is := value.(string); is && name == "format" && text != "int64" {
					format, bound = said[text]
					if !bound {
						t.Errorf("nothing is said of the format %s", text)
					}
				}
				if text, is := value.(string); is && name == "pattern" {
					format, bound, patternsSeen[text] = validation.MsgExpectedMatchPattern+separator+text, true, true
				}
				if slices.Contains(others, name) {
					t.Errorf("nothing is said of %s", name)
				}
				if !bound {
					continue
				}
				if got := fieldProblem(printer, &huma.ErrorDetail{Location: "body.x", Message: format}); got.Code == "error.value" {
					t.Errorf("%s %v is refused with %q", name, value, got.Detail)
				}
			}
		}
	}
	look(doc, false)
	for pattern := range patterns {
		if !patternsSeen[pattern] {
			t.Errorf("no value has the pattern %s", pattern)
		}
	}
}
