package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/flow"
)

const problemType = "application/problem+json"

// Problem is why a request was refused (RFC 9457).
type Problem struct {
	Type   string         `json:"type" doc:"Always about:blank: code says which problem it is."`
	Title  string         `json:"title" doc:"What kind of problem it is, in the language of Accept-Language."`
	Status int            `json:"status" doc:"The HTTP status."`
	Detail string         `json:"detail,omitempty" doc:"What is wrong, and what to do."`
	Code   string         `json:"code" doc:"The same for programs. It does not change with the language."`
	Errors []FieldProblem `json:"errors,omitempty" doc:"What is wrong with which field or parameter."`
}

// FieldProblem is what is wrong with one field.
type FieldProblem struct {
	In      string `json:"in" enum:"body,query,path,header" doc:"Where the field is."`
	Field   string `json:"field" doc:"Its name; in a body its path, as in tags.0."`
	Detail  string `json:"detail" doc:"What is wrong with it."`
	Code    string `json:"code" doc:"The same for programs."`
	Pointer string `json:"pointer,omitempty" doc:"Of a field of the body: a JSON pointer to it."`
	InFlow
}

// InFlow is where a fault of a flow's definition is.
type InFlow struct {
	Step string `json:"step,omitempty" doc:"Of a fault in the definition of a flow: the step."`
	Part string `json:"step_field,omitempty" doc:"Of such a fault: the field of the step, or of the flow."`
	At   int    `json:"step_line,omitempty" doc:"Of such a fault: the line of the definition."`
}

// faultOf is the code of a fault, and where it is in a flow.
func faultOf(f problem.Field) (string, InFlow) {
	if in, ok := flow.ToldFault(f); ok {
		return codeOf(in.Key), InFlow{Step: in.Step, Part: in.Name, At: in.Line}
	}
	return codeOf(f.Key), InFlow{}
}

// Error implements error, for logs.
func (p *Problem) Error() string { return p.Code }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return problemType }

// kinds are the titles of problems, the codes of those that have no message of their own, and what to say then.
var kinds = map[problem.Kind]struct{ code, title, text string }{
	problem.Internal:        {"internal", "error.500.title", "error.500.text"},
	problem.Invalid:         {"invalid", "api.invalid.title", "api.invalid.text"},
	problem.Malformed:       {"malformed", "error.400.title", "error.400.text"},
	problem.Unauthenticated: {"unauthenticated", "api.token.title", "api.token.missing"},
	problem.Forbidden:       {"forbidden", "error.403.title", "api.forbidden.text"},
	problem.NotFound:        {"not_found", "error.404.title", "error.404.text"},
	problem.NoMethod:        {"method_not_allowed", "error.405.title", "error.405.text"},
	problem.Conflict:        {"conflict", "error.409.title", "api.conflict.text"},
	problem.TooLarge:        {"too_large", "error.413.title", "error.413.text"},
	problem.TooMany:         {"too_many_requests", "error.429.title", "error.429.text"},
	problem.Executor:        {"executor", "api.executor.title", ""},
	problem.Unavailable:     {"unavailable", "error.503.title", "error.503.text"},
}

// preconditionError is a request that its If-Match keeps from being done, or the lack of one, with the status of its answer.
type preconditionError struct {
	error
	status int
}

func (e preconditionError) Unwrap() error { return e.error }

// newStale refuses a request with an If-Match that no longer holds.
func newStale() error {
	return preconditionError{problem.New(problem.Conflict, "api.changed"), http.StatusPreconditionFailed}
}

// newUnmatched refuses a request without an If-Match that would undo unseen what somebody else has changed.
func newUnmatched() error {
	return preconditionError{problem.New(problem.Conflict, "api.if_match"), http.StatusPreconditionRequired}
}

// codeOf is a message's key as programs see it.
func codeOf(key string) string {
	return strings.TrimPrefix(strings.TrimPrefix(key, "problem."), "api.")
}

// newProblem describes an error in a language. names are those of its fields in JSON, where they differ.
func newProblem(printer *locales.Printer, err error, names map[string]string) *Problem {
	p := problem.From(err)
	kind := kinds[p.Kind]
	doc := &Problem{Type: "about:blank", Title: printer.T(kind.title), Status: p.Kind.Status(), Code: kind.code}
	switch {
	case p.Key != "":
		doc.Code, doc.Detail = codeOf(p.Key), p.Text(printer)
	case p.Kind == problem.Conflict && len(p.Fields) > 0: // of a job, not of the request
		doc.Detail = p.Text(printer)
	case kind.text != "":
		doc.Detail = printer.T(kind.text)
	}
	for _, f := range p.Fields {
		whole, part, _ := strings.Cut(f.Name, ".") // as a field of a parameter is named
		name := strings.TrimSuffix(cmp.Or(names[whole], whole)+"."+part, ".")
		code, at := faultOf(f)
		doc.Errors = append(doc.Errors, FieldProblem{In: "body", Field: name, Pointer: pointer(name), Code: code, Detail: f.Text(printer), InFlow: at})
	}
	if e, ok := errors.AsType[*parameterError](err); ok {
		doc.Errors = []FieldProblem{{In: "query", Field: e.name, Code: codeOf(e.key), Detail: printer.T(e.key)}}
	}
	if e, ok := errors.AsType[preconditionError](err); ok {
		doc.Status = e.status
	}
	return doc
}

// pointer is that of a path (RFC 6901). The body itself has none.
func pointer(path string) string {
	if path == "" {
		return ""
	}
	return "/" + strings.ReplaceAll(path, ".", "/")
}

// What huma finds wrong with a request is put into our words here. Its messages are formats; with formatter they keep their values apart.
func init() {
	huma.ValidateStrictCasing = true
	huma.DefaultArrayNullable = false // an empty list is answered as one
	huma.ErrorFormatter = func(format string, values ...any) string {
		for _, v := range values {
			format += separator + fmt.Sprint(v)
		}
		return format
	}
	huma.NewError = func(status int, _ string, _ ...error) huma.StatusError { return &Problem{Status: status} } // for the document
	huma.NewErrorWithContext = func(ctx huma.Context, status int, _ string, errs ...error) huma.StatusError {
		r := requestOf(ctx.Context())
		if len(errs) == 1 {
			if doc, ok := errors.AsType[*Problem](errs[0]); ok {
				return doc
			}
			if _, ok := errs[0].(huma.ErrorDetailer); !ok {
				return newProblem(r.printer, errs[0], nil)
			}
		}
		return invalidRequest(r.printer, status, errs)
	}
}

const separator = "\x1f"

// texts are what huma says of a value, in our words; arg is the name that our message has for its value.
var texts = map[string]struct{ key, arg string }{
	validation.MsgUnexpectedProperty:                   {"api.error.unexpected", ""},
	validation.MsgExpectedRequiredProperty:             {"job.error.required", ""},
	validation.MsgExpectedRFC3339DateTime:              {"api.error.datetime", ""},
	validation.MsgExpectedRFC3339Date:                  {"api.error.date", ""},
	validation.MsgExpectedBoolean:                      {"api.error.boolean", ""},
	validation.MsgExpectedNumber:                       {"api.error.integer", ""},
	validation.MsgExpectedInteger:                      {"api.error.integer", ""},
	validation.MsgExpectedString:                       {"api.error.string", ""},
	validation.MsgExpectedArray:                        {"api.error.array", ""},
	validation.MsgExpectedObject:                       {"api.error.object", ""},
	validation.MsgExpectedOneOf:                        {"api.error.choice", "Values"},
	validation.MsgExpectedMinimumNumber:                {"api.error.minimum", "Min"},
	validation.MsgExpectedMaximumNumber:                {"api.error.maximum", "Max"},
	validation.MsgExpectedMinLength:                    {"api.error.minlength", "Count"},
	validation.MsgExpectedMaxLength:                    {"job.error.too_long", "Max"},
	validation.MsgExpectedMinItems:                     {"api.error.minitems", "Count"},
	validation.MsgExpectedMaxItems:                     {"api.error.maxitems", "Count"},
	"unknown query parameter":                          {"api.error.parameter", ""},
	"required query parameter is missing":              {"job.error.required", ""},
	"invalid integer":                                  {"api.error.integer", ""}, // of parameters, whose values are texts
	"invalid boolean":                                  {"api.error.boolean", ""},
	"invalid date/time for format " + time.RFC3339Nano: {"api.error.datetime", ""},
}

// patterns are what to say of values that do not match a pattern of ours: nobody reads one.
var patterns = map[string]string{
	`^([1-9][0-9]{0,17})?$`:              "api.error.cursor",
	`^[A-Za-z0-9_-]*$`:                   "api.error.cursor",
	`^(([0-9]|[1-5][0-9]|60)s)?$`:        "api.error.wait",
	`^(([1-9]|10)s)?$`:                   "api.error.look",
	`^[a-z][a-z0-9]{3,19}$`:              "user.error.name",
	`^(|([01][0-9]|2[0-3]):[0-5][0-9])$`: "api.error.clock",
}

// invalidRequest describes a request that huma refused.
func invalidRequest(printer *locales.Printer, status int, errs []error) *Problem {
	kind := problem.KindOf(status)
	p := newProblem(printer, &problem.Error{Kind: kind}, nil)
	p.Status = status
	switch status {
	case http.StatusUnsupportedMediaType:
		p.Code, p.Detail = "media_type", printer.T("api.mediatype")
		return p
	case http.StatusBadRequest:
		p.Code, p.Detail = "json", printer.T("api.json")
		if len(errs) == 0 {
			p.Code, p.Detail = "body_required", printer.T("api.body")
		}
		for _, err := range errs {
			if d, ok := err.(huma.ErrorDetailer); ok {
				if path, twice := strings.CutPrefix(d.ErrorDetail().Message, twicePrefix); twice {
					p.Code, p.Detail = kinds[problem.Invalid].code, printer.T(kinds[problem.Invalid].text)
					p.Errors = []FieldProblem{{In: "body", Field: path, Pointer: pointer(path), Code: codeOf("api.error.twice"), Detail: printer.T("api.error.twice")}}
					return p
				}
			}
		}
		return p
	}
	for _, err := range errs {
		if d, ok := err.(huma.ErrorDetailer); ok {
			p.Errors = append(p.Errors, fieldProblem(printer, d.ErrorDetail()))
		}
	}
	return p
}

// fieldProblem puts one of huma's details into our words.
func fieldProblem(printer *locales.Printer, d *huma.ErrorDetail) FieldProblem {
	in, field, _ := strings.Cut(d.Location, ".")
	field = strings.NewReplacer("[", ".", "]", "").Replace(field)
	format, value, _ := strings.Cut(d.Message, separator)
	text, known := texts[format]
	if format == validation.MsgExpectedMatchPattern {
		text.key, known = patterns[value]
	}
	if !known {
		text.key = "api.error.value"
	}
	if format == validation.MsgExpectedRequiredProperty {
		field = strings.TrimPrefix(field+"."+value, ".")
	}
	f := FieldProblem{In: in, Field: field, Code: codeOf(text.key), Detail: printer.T(text.key)}
	if text.arg != "" {
		f.Detail = printer.T(text.key, text.arg, value)
	}
	if in == "body" {
		f.Pointer = pointer(field)
	}
	return f
}
