package jobs

import (
	"maps"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/ui"
)

// previewParams are the fields that say when a job is due.
var previewParams = strings.Join([]string{
	FieldScheduleType, FieldCron, FieldSeconds, FieldMoment, FieldZone, FieldFrom, FieldUntil, jobspec.FieldCalendar, jobspec.FieldRule, FieldParam, jobspec.FieldDoneBy,
	MeantBy(FieldMoment), MeantBy(FieldFrom), MeantBy(FieldUntil),
}, ",")

// curlExample is shown where a command goes.
const curlExample = "curl -X POST https://api.example.com/close -d day=today"

// authExample is shown in an empty field for the Authorization header.
const authExample = "Bearer ${{ secrets.TOKEN }}"

// paramExample is shown in an empty parameter.
const paramExample = "${{ planned | yyyy-MM-dd, -1d }}"

// paramFormExample is shown where no fields are asked for.
const paramFormExample = "date: {type: date, required: true}\nregion: {choices: [eu, us]}"

var numeric = templ.Attributes{"inputmode": "numeric"}

// field is the control for a field of a definition, as the table has it.
func (p FormPage) field(name string) ui.Field {
	f := jobspec.Named(name)
	c := ui.Field{Name: name, Label: p.T(f.Label), Value: p.Values[name], Error: p.Errors[name], Max: f.Fit(), Required: f.Required}
	if f.Help != "" {
		c.Help = p.T(f.Help)
	}
	if f.Unit != "" {
		c.Unit = p.T(f.Unit)
	}
	if p.Declared.decides(f) {
		c.Mark = p.T("jobs.declared.mark")
	}
	if change, ok := p.changeOf(name); ok && change.Both {
		c.Mark = p.T("jobs.changes.mark")
	}
	switch f.Kind {
	case jobspec.Number:
		c.Data = numeric
	case jobspec.Choice:
		if c.Value == "" {
			c.Value = f.Default // which need not be the first that a browser would take
		}
		c.Options = ui.WithChosen(ui.Labelled(p.Printer, f.Words, f.Options, c.Value, f.Explained), c.Value, c.Value)
	case jobspec.Moments:
		c.Type, c.Optional, c.Data = "datetime-local", true, templ.Attributes{"step": momentStep(c.Value)}
	case jobspec.Text, jobspec.List, jobspec.Flag:
	}
	return c
}

// callField is the control for a part of the call of an HTTP job.
func (p FormPage) callField(name string, more ui.Field) ui.Field {
	part := strings.TrimPrefix(name, "call_")
	c := ui.Field{Name: name, Label: p.T("jobs.call." + part), Value: p.Values[name], Error: p.Errors[name]}
	switch name {
	case FieldCallBody, FieldCallExpected, FieldCallHeaders, FieldCallText:
		c.Help = p.T("jobs.call." + part + ".help")
	case FieldCallTimeout:
		c.Unit = "ms"
	case FieldCallMethod:
		for _, m := range httpcall.Methods() {
			c.Options = append(c.Options, ui.Option{Value: m, Label: m, Selected: m == c.Value})
		}
	}
	return c.With(more)
}

// callAs is how a call is typed.
func (p FormPage) callAs() []ui.Option {
	return ui.Labelled(p.Printer, "jobs.call.as.", CallWays(), p.Values[FieldCallAs], false)
}

// CallWays are the values of FieldCallAs.
func CallWays() []string { return []string{CallAsFields, CallAsText} }

// groups are the groups to choose from; that of the HTTP jobs is marked, because its jobs have other fields.
func (p FormPage) groups() []ui.Option {
	options := slices.Clone(p.Groups)
	for i := range options {
		if options[i].Value == format.Digits(p.HTTPGroup) {
			options[i].Class = "http"
		}
	}
	return options
}

// calendar is the choice of a calendar.
func (p FormPage) calendar() ui.Field {
	c := p.field(jobspec.FieldCalendar)
	c.Options = []ui.Option{{Label: p.T("jobs.calendar.none"), Selected: c.Value == ""}}
	for _, name := range p.Calendars {
		c.Options = append(c.Options, ui.Option{Value: name, Label: name, Selected: name == c.Value})
	}
	c.Options = ui.WithChosen(c.Options, c.Value, c.Value)
	return c
}

// advanced are the rows of the last section: two fields beside each other, and a text alone.
func (p FormPage) advanced() [][]*jobspec.Field {
	var rows [][]*jobspec.Field
	half := false
	for _, f := range jobspec.Fields {
		switch {
		case !f.Advanced:
			continue
		case half && f.Kind != jobspec.Text:
			rows[len(rows)-1] = append(rows[len(rows)-1], f)
			half = false
		default:
			rows, half = append(rows, []*jobspec.Field{f}), f.Kind != jobspec.Text
		}
	}
	return rows
}

// option is the control for a field of the last section.
func (p FormPage) option(f *jobspec.Field) ui.Field {
	c := p.field(f.Name)
	c.Optional = f.Kind == jobspec.Text || f.Kind == jobspec.List
	switch f.Name {
	case jobspec.FieldBackoff:
		c.Hint, c.Class, c.Wrap = "10s, 1m, 5m", "mono", "narrow"
	case jobspec.FieldRunbook:
		c.Hint, c.Type = "https://wiki.example.com/runbooks/settle", "url"
	case jobspec.FieldDoneBy:
		c.Hint, c.Class, c.Wrap = "06:00", "mono", "narrow"
	case jobspec.FieldConcurrent:
		c.More = "block"
	}
	return c
}

// hasWindow says whether the zone, the calendar or a bound is set or wrong, so that it must be seen.
func (p FormPage) hasWindow() bool {
	return p.has(FieldZone) || p.has(FieldFrom) || p.has(FieldUntil) || p.has(jobspec.FieldCalendar)
}

// hasAdvanced is hasWindow for the options of the last section. A choice alone says nothing.
func (p FormPage) hasAdvanced() bool {
	for _, f := range jobspec.Fields {
		if f.Advanced && (f.Kind != jobspec.Choice && p.has(f.Name) || p.Errors[f.Name] != "") {
			return true
		}
	}
	return false
}

func (p FormPage) has(field string) bool {
	value := p.Values[field]
	return value != "" && value != "0" || p.Errors[field] != ""
}

// momentStep is how exact a date field must be for its value: browsers refuse one that is finer than the step.
func momentStep(value string) string {
	if strings.Contains(value, ".") {
		return "0.001"
	}
	return "1"
}

// paramHelp explains the parameter of a run by hand.
func (p RunPage) paramHelp() string {
	if p.OwnParam {
		return p.T("jobs.run.param.own")
	}
	return p.T("jobs.run.param.help")
}

// paramError is what is wrong with a parameter that is one text, or with the first field of it: nobody is asked for those where it is fixed.
func (p RunPage) paramError() string {
	if text := p.Errors[FieldParam]; text != "" {
		return text
	}
	for _, name := range slices.Sorted(maps.Keys(p.Errors)) {
		if strings.HasPrefix(name, ParamField("")) {
			return p.Errors[name]
		}
	}
	return ""
}

// paramField is the control of a field of the parameter. What has its value only when it is sent is drawn as text, whatever it becomes.
func (p RunPage) paramField(f RunField) ui.Field {
	name := ParamField(f.Name)
	c := ui.Field{Name: name, ID: "run-" + name, Label: f.Shown(), Help: f.Help, Value: f.Value, Error: p.Errors[name], Required: f.Required, Optional: !f.Required, Wrap: "narrow"}
	if len(f.Choices) > 0 {
		c.Options = append(c.Options, ui.Option{}) // also of one that has to be chosen
		for _, choice := range f.Choices {
			c.Options = append(c.Options, ui.Option{Value: choice, Label: choice, Selected: choice == f.Value})
		}
		if f.Value != "" && !slices.Contains(f.Choices, f.Value) {
			c.Options = append(c.Options, ui.Option{Value: f.Value, Label: f.Value, Selected: true})
		}
	}
	switch {
	case jobspec.HasExpression(f.Value):
		c.Class, c.Wrap = "mono", ""
	case f.Type == jobspec.ParamDate:
		c.Type = "date"
	case f.Type == jobspec.ParamNumber:
		c.Type, c.Data = "number", templ.Attributes{"step": "any"}
	default:
		c.Wrap = ""
	}
	return c
}

// ParamField is the name of the control of a field of the parameter, and what is wrong with it is called so.
func ParamField(name string) string { return FieldParam + "." + name }

// scriptWord is what leads to the editor of a job's script, or of a flow's definition.
func scriptWord(glue string) string {
	if glue == "FLOW" {
		return "flow.edit"
	}
	return "glue.open"
}
