package jobfile

import (
	"slices"
	"strings"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/document/schema"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Schema is the JSON Schema of a file: what [Parse] reads, with the bounds of [jobspec.Fields]. Editors go by it; what it cannot say (what others
// there are, times, rights) a plan says. The words are those of the keys of fields, in the reader's language.
func Schema(words func(key string, args ...any) string) []byte {
	job := make(schema.Object)
	for _, f := range jobspec.Fields {
		job[f.File] = schema.With(valueSchema(f), "description", explained(f, words))
	}
	job[FieldID] = schema.Whole(0, schema.MaxNumber)
	job[FieldState] = schema.OneOf([]string{Stopped, Running})
	job[fieldOmitted] = schema.Object{"type": []string{"boolean", "null"}, "default": false}
	job[fieldChildren] = schema.OrNothing(schema.Object{"type": "array", "items": schema.To("ref")})
	shared := make(schema.Object)
	for name, value := range job {
		if !slices.Contains(ownFields, name) {
			shared[name] = value
		}
	}
	jobFields := schema.Mapping(fieldNames, job, FieldDescription)
	jobFields["allOf"] = append(dueSchema(), schema.Object{
		"if":   schema.Object{"required": []string{fieldOmitted}, "properties": schema.Object{fieldOmitted: schema.Object{"const": true}}},
		"then": schema.Object{"properties": schema.Object{fieldScript: schema.NoText}},
	}, schema.Object{
		"if":   is(jobspec.Named(jobspec.FieldGlue).File, string(wire.GlueBean)),
		"then": schema.Object{"properties": schema.Object{fieldScript: schema.NoText, fieldOmitted: schema.Object{"enum": []any{false, nil}}}},
	})
	return schema.Write("Jobs of Punctual", "file", schema.Object{
		"file":     fileSchema(),
		"executor": groupSchema(),
		"defaults": schema.Mapping(slices.DeleteFunc(slices.Clone(fieldNames), func(name string) bool { return slices.Contains(ownFields, name) }), shared),
		"job":      jobFields,
		"ref":      schema.Object{"anyOf": []schema.Object{schema.Digits(1, schema.MaxNumber), schema.Ref()}},
	})
}

func fileSchema() schema.Object {
	file := schema.Mapping([]string{fieldVersion, fieldDefaults, fieldGroups}, schema.Object{
		fieldVersion:  schema.Object{"enum": []any{1, version}},
		fieldDefaults: schema.OrNothing(schema.To("defaults")),
		fieldGroups:   schema.OrNothing(schema.Object{"type": "array", "items": schema.To("executor")}),
	}, fieldVersion)
	return schema.With(file, "anyOf", []schema.Object{schema.Says(fieldGroups, schema.NoValue), {"required": []string{fieldDefaults}}})
}

func groupSchema() schema.Object {
	return schema.Mapping([]string{fieldAppName, fieldTitle, fieldDefaults, fieldJobs}, schema.Object{
		fieldAppName:  schema.Object{"type": []string{"string", "number", "boolean"}, "minLength": 1},
		fieldTitle:    schema.Wording(0),
		fieldDefaults: schema.OrNothing(schema.To("defaults")),
		fieldJobs:     schema.OrNothing(schema.Object{"type": "array", "maxItems": MaxJobs, "items": schema.To("job")}),
	}, fieldAppName)
}

// valueSchema is what a field of a definition may hold.
func valueSchema(f *jobspec.Field) schema.Object {
	switch f.Kind {
	case jobspec.Number:
		return schema.Whole(0, f.Max)
	case jobspec.Flag:
		return schema.Object{"type": []string{"boolean", "null"}, "default": false}
	case jobspec.List:
		return schema.Object{"type": []string{"array", "null"}, "items": schema.Wording(f.Max)}
	case jobspec.Choice:
		if f.Default == "" && f.MustChoose() {
			return schema.Object{"enum": f.Options}
		}
		choice := schema.OneOf(f.Options)
		if delete(choice, "default"); f.Default != "" {
			choice["default"] = f.Default
		}
		return choice
	case jobspec.Text, jobspec.Moments:
	}
	text := schema.Wording(f.Max)
	if f.Required {
		text["minLength"] = 1
	}
	if f.File == FieldDescription { // of which there is no default
		text["type"] = []string{"string", "number", "boolean"}
	}
	return text
}

// dueSchema says which of the fields that are a schedule's goes with which schedule, where a job names one.
func dueSchema() (rules []schema.Object) {
	for _, due := range jobspec.AllScheduleTypes {
		others := make(schema.Object)
		rule := schema.Object{"properties": others}
		for _, f := range jobspec.Fields {
			switch with := (&jobspec.Job{ScheduleType: due}); {
			case f.Of != jobspec.FieldScheduleType:
			case !f.In(with):
				others[f.File] = schema.NoText
			case due.Schedules():
				rule["required"] = []string{f.File}
			}
		}
		rules = append(rules, schema.Object{"if": is(fieldSchedule, string(due)), "then": rule})
	}
	return rules
}

// is a mapping in which a field has a value.
func is(name, value string) schema.Object {
	return schema.Object{"required": []string{name}, "properties": schema.Object{name: schema.Object{"const": value}}}
}

// explained is what the form says of a field, and of each of its choices.
func explained(f *jobspec.Field, words func(key string, args ...any) string) string {
	lines := []string{words(f.Label)}
	if f.Help != "" && f.Kind != jobspec.List { // whose help is about commas
		lines = append(lines, words(f.Help))
	}
	for _, option := range f.Options {
		line := option + ": " + words(f.Words+option)
		if f.Explained {
			line += " (" + words(f.Words+option+".help") + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
