package jobspec

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/document"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

// ParamForm are the fields that a parameter consists of, in the order in which people are asked for them. The parameter is a JSON object of them.
type ParamForm []ParamField

// ParamField is one of them.
type ParamField struct {
	Name     string
	Label    string // empty: Name
	Help     string
	Type     ParamType
	Choices  []string // of a text: it is one of them
	Required bool
}

// ParamType is what a field holds.
type ParamType string

// The types of fields.
const (
	ParamText   ParamType = "text"
	ParamNumber ParamType = "number"
	ParamDate   ParamType = "date" // 2026-12-31
	ParamFlag   ParamType = "flag" // true or false
)

// AllParamTypes are the types in the order of the manual.
var AllParamTypes = []ParamType{ParamText, ParamNumber, ParamDate, ParamFlag}

// What may be wrong with a form, and with a parameter that it asks for. Label is how the field is called.
const (
	CodeParamForm     = "job.error.paramform"          // Line, Reason
	CodeParamName     = "job.error.paramform.name"     // Value
	CodeParamMany     = "job.error.paramform.many"     // Max
	CodeParamChoices  = "job.error.paramform.choices"  // Field: it is no text, and has choices
	CodeParamObject   = "job.error.paramform.object"   // the parameter is no object
	CodeParamUnknown  = "job.error.paramform.unknown"  // Value
	CodeParamRequired = "job.error.paramform.required" // Label
	CodeParamText     = "job.error.paramform.text"     // Label
	CodeParamNumber   = "job.error.paramform.number"   // Label
	CodeParamDate     = "job.error.paramform.date"     // Label
	CodeParamFlag     = "job.error.paramform.flag"     // Label
	CodeParamChoice   = "job.error.paramform.choice"   // Label, Value
)

const (
	maxParamForm    = 4_000
	maxParamFields  = 30
	maxParamChoices = 100
)

var (
	paramName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
	paramFields = []string{"label", "help", "type", "choices", "required"}
)

// ReadParamForm reads a form, YAML or JSON: the names of fields, each with what is said of it. An empty text is no form.
func ReadParamForm(text string) (ParamForm, *document.Fault) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	tree, fault := document.Read([]byte(text), 4*maxParamForm)
	if fault != nil {
		return nil, fault
	}
	if tree.Kind != document.Mapping {
		return nil, document.FaultAt(tree.Line, document.CodeMapping, "Field", FieldParamForm)
	}
	var r document.Reader
	var form ParamForm
	for i, key := range tree.Keys {
		f := ParamField{Name: key.Text, Type: ParamText}
		switch {
		case key.Kind != document.Scalar || !paramName.MatchString(key.Text):
			r.Add(key.Line, CodeParamName, "Value", key.Shown())
		case slices.ContainsFunc(form, func(o ParamField) bool { return o.Name == f.Name }):
			r.Add(key.Line, document.CodeTwice, "Field", f.Name)
		case i == maxParamFields:
			r.Add(key.Line, CodeParamMany, "Max", maxParamFields)
		}
		if tree.Items[i].Kind != document.Nothing { // a name alone is a text
			f.read(&r, tree.Items[i])
		}
		form = append(form, f)
	}
	if faults := r.Faults.Sorted(); len(faults) > 0 {
		return nil, &faults[0]
	}
	return form, nil
}

func (f *ParamField) read(r *document.Reader, n document.Node) {
	r.Fields(n, f.Name, paramFields, nil, func(name string, line int, value document.Node) {
		switch name {
		case "label":
			r.Text(name, value, &f.Label)
		case "help":
			r.Text(name, value, &f.Help)
		case "required":
			f.Required = r.Flag(name, value)
		case "type":
			var word string
			if r.Text(name, value, &word); value.Kind == document.Scalar && !slices.Contains(AllParamTypes, ParamType(word)) {
				r.Add(line, CodeUnknown, "Value", value.Shown(), "Values", strings.Join(texts(AllParamTypes), ", "))
			}
			f.Type = ParamType(word)
		case "choices":
			items := r.List(name, value)
			if len(items) > maxParamChoices {
				r.Add(line, CodeParamMany, "Max", maxParamChoices)
			}
			for _, item := range items {
				var choice string
				r.Text(name, item, &choice)
				f.Choices = append(f.Choices, choice)
			}
		}
	})
	if len(f.Choices) > 0 && f.Type != ParamText {
		r.Add(n.Line, CodeParamChoices, "Field", f.Name)
	}
}

// Shown is how people are told of the field.
func (f ParamField) Shown() string {
	if f.Label != "" {
		return f.Label
	}
	return f.Name
}

// paramObject is a parameter as an object; an empty one has no fields.
func paramObject(param string) (map[string]any, bool) {
	if strings.TrimSpace(param) == "" {
		return nil, true
	}
	decoder := json.NewDecoder(strings.NewReader(param))
	decoder.UseNumber()
	var values map[string]any
	if decoder.Decode(&values) != nil || values == nil {
		return nil, false
	}
	_, err := decoder.Token()
	return values, errors.Is(err, io.EOF)
}

// paramTwice is the first name that an object has twice, or "".
func paramTwice(param string) string {
	decoder := json.NewDecoder(strings.NewReader(param))
	if _, err := decoder.Token(); err != nil { // the brace
		return ""
	}
	seen := make(map[string]bool)
	for decoder.More() {
		token, err := decoder.Token()
		name, is := token.(string)
		if err != nil || !is {
			return ""
		}
		if seen[name] {
			return name
		}
		seen[name] = true
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return ""
		}
	}
	return ""
}

// Check is what of a parameter the form does not allow, in its order. Name is that of the field, or empty where it is about the whole.
func (p ParamForm) Check(param string) []invalid.Field {
	if len(p) == 0 {
		return nil
	}
	values, ok := paramObject(param)
	if !ok {
		return []invalid.Field{{Key: CodeParamObject}}
	}
	if name := paramTwice(param); name != "" { // a handler may take the other one
		return []invalid.Field{{Key: document.CodeTwice, Args: []any{"Field", name}}}
	}
	var faults []invalid.Field
	for _, f := range p {
		if key := f.wrong(values[f.Name]); key != "" {
			fault := invalid.Field{Name: f.Name, Key: key, Args: []any{"Label", f.Shown()}}
			if key == CodeParamChoice {
				fault.Args = append(fault.Args, "Value", values[f.Name])
			}
			faults = append(faults, fault)
		}
		delete(values, f.Name)
	}
	if len(values) > 0 {
		first := slices.Min(slices.Collect(maps.Keys(values)))
		faults = append(faults, invalid.Field{Key: CodeParamUnknown, Args: []any{"Value", first}})
	}
	return faults
}

// wrong is the message of what is wrong with a value. An expression is judged when it has its value: by the handler.
func (f ParamField) wrong(value any) string {
	text, isText := value.(string)
	switch {
	case value == nil, isText && text == "":
		if f.Required {
			return CodeParamRequired
		}
		return ""
	case isText && HasExpression(text):
		return ""
	}
	switch f.Type {
	case ParamNumber:
		if _, ok := value.(json.Number); !ok {
			return CodeParamNumber
		}
	case ParamDate:
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return CodeParamDate
		}
	case ParamFlag:
		if _, ok := value.(bool); !ok {
			return CodeParamFlag
		}
	case ParamText:
		if !isText {
			return CodeParamText
		}
		if len(f.Choices) > 0 && !slices.Contains(f.Choices, text) {
			return CodeParamChoice
		}
	}
	return ""
}

// HasExpression says whether a value has its text only when a run is sent.
func HasExpression(text string) bool { return strings.Contains(text, "${{") }

// Values are those that a parameter gives the fields, as they would be typed; none of one that is no object.
func (p ParamForm) Values(param string) map[string]string {
	values, _ := paramObject(param)
	typed := make(map[string]string)
	for _, f := range p {
		switch v := values[f.Name].(type) {
		case string:
			typed[f.Name] = v
		case json.Number:
			typed[f.Name] = v.String()
		case bool:
			if v {
				typed[f.Name] = "true"
			}
		}
	}
	return typed
}

// Param is the parameter with what was typed. A field that is left empty is not in it, and a flag always is.
func (p ParamForm) Param(typed func(name string) string) string {
	var out strings.Builder
	out.WriteByte('{')
	for _, f := range p {
		text := typed(f.Name)
		if !slices.Contains(f.Choices, text) { // one of which may begin with a blank
			text = strings.TrimSpace(text)
		}
		if text == "" && f.Type != ParamFlag {
			continue
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.WriteString(asJSON(f.Name))
		out.WriteByte(':')
		switch {
		case f.Type == ParamFlag && (text == "" || text == "true" || text == "false"): // others are refused, not taken for false
			out.WriteString(strconv.FormatBool(text == "true"))
		case f.Type == ParamNumber && isNumber(text):
			out.WriteString(text)
		default:
			out.WriteString(asJSON(text))
		}
	}
	out.WriteByte('}')
	return out.String()
}

// asJSON is a text as JSON, in which people read signs such as < as they are.
func asJSON(text string) string {
	var out strings.Builder
	write := json.NewEncoder(&out)
	write.SetEscapeHTML(false)
	_ = write.Encode(text) // a text can be written
	return strings.TrimSuffix(out.String(), "\n")
}

// isNumber says whether a text is a number of JSON.
func isNumber(text string) bool {
	var n json.Number
	return json.Unmarshal([]byte(text), &n) == nil && text[0] != '"' && text != "null"
}

// paramForm wants fields that can be read.
func paramForm(v *validation, f *Field, j *Job) {
	if !v.text(f, j) {
		return
	}
	if _, fault := ReadParamForm(j.ParamForm); fault != nil {
		v.add(f.Name, CodeParamForm, []any{"Line", fault.Line, "Reason", fault.Field})
	}
}

// asked judges a parameter by the form. One that is empty is that of a job without a schedule, whose runs get what is typed or handed to them; not
// where it is fixed, since nobody could run it then.
func (v *validation) asked(j *Job) {
	form, fault := ReadParamForm(j.ParamForm)
	if fault != nil || j.Param == "" && !j.ScheduleType.Schedules() && !j.ParamFixed {
		return
	}
	if faults := form.Check(j.Param); len(faults) > 0 {
		v.add(FieldParam, faults[0].Key, faults[0].Args)
	}
}
