package flows

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// Form are the steps of a definition, each of which can be opened and changed. The text of the definition is what is saved: what is done
// here is sent with it, written into it, and comes back with it.
type Form struct {
	Steps     []FormStep
	OnFailure flow.OnFailure
	OnShown   string    // of OnFailure, what the text has; empty: the same
	Outputs   string    // of the flow, one a line
	OutputsAs string    // the same as the text has them
	OutputsNo string    // why they were not written into the text, ready to print
	Add       string    // the kind that the next new step is to have
	Open      *OpenStep // the step whose fields are shown; nil for none
	Unread    string    // why nothing can be done here, ready to print: the text cannot be read
	Text      *string   // the text, where it is another than was sent
	Focus     string    // the deed of the button where the keyboard goes on, or FocusFields; empty: where it is
}

// FocusFields is the [Form.Focus] on the first field of the step that is open.
const FocusFields = "fields"

// FormStep is a step in the list.
type FormStep struct {
	ID     string
	Title  string
	Kind   string // the word
	Note   string // what it runs or waits for
	Needs  []string
	Faults []string // ready to print
	Unsure bool     // its id is none of its own: it is changed in the text
}

// titles are what the steps of these ids are called.
func (f Form) titles(ids []string) []string {
	return titled(ids, f.Steps, func(s FormStep) (string, string) { return s.ID, s.Title })
}

// OpenStep are the fields of a step.
type OpenStep struct {
	Values StepValues
	Named  string            // how the text names the job, where not by its number alone
	Shown  string            // the values that the text has, so that the server knows which were changed
	Errors map[string]string // why a field was not written into the text, ready to print
	Picked []ui.PickedJob    // of Values.Job
	Self   int64             // the job that the flow is
}

// Names of the fields of the form.
const (
	FieldOpen      = "flow_open"
	FieldShown     = "flow_shown"
	FieldOnFailure = "flow_on_failure"
	FieldOnShown   = "flow_on_failure_shown"
	FieldOutputs   = "flow_outputs"
	FieldOutShown  = "flow_outputs_shown"
	FieldAdd       = "flow_add"

	FieldStepID   = "step_id"
	FieldName     = "step_name"
	FieldKind     = "step_kind"
	FieldPick     = "step_job"
	FieldNeeds    = "step_needs"
	FieldJoin     = "step_join"
	FieldIf       = "step_if"
	FieldParam    = "step_param"
	FieldItems    = "step_items"
	FieldParallel = "step_parallel"
	FieldMax      = "step_max"
	FieldTimeout  = "step_timeout"
	FieldRetries  = "step_retries"
	FieldBackoff  = "step_retry_backoff"
	FieldContinue = "step_continue_on_error"
	FieldMessage  = "step_message"
	FieldAnswer   = "step_answer_in"
	FieldDefault  = "step_default"
	FieldSeconds  = "step_seconds"
	FieldUntil    = "step_until"
)

// formTitle is the id of the heading of the form.
const formTitle = "flow-form-title"

// PickMark begins the ids of the picker of a step's job.
const PickMark = "step-"

// The deeds, each followed by what it is done to, and a blank between.
const (
	DeedAdd    = "add" // to nothing; FieldAdd has the kind of the new step
	DeedRemove = "remove"
	DeedUp     = "up"
	DeedDown   = "down"
	DeedOpen   = "open" // or close
	DeedShow   = "show" // open, or go on in its fields
)

// FormValues is what the form sends.
type FormValues struct {
	Deed      string `form:"flow_deed"`
	Open      string `form:"flow_open"`
	Shown     string `form:"flow_shown"`
	OnFailure string `form:"flow_on_failure"`
	OnShown   string `form:"flow_on_failure_shown"`
	Outputs   string `form:"flow_outputs"`
	OutShown  string `form:"flow_outputs_shown"`
	Add       string `form:"flow_add"`
	Step      StepValues
}

// StepValues are the fields of a step, as texts. Those that its kind does not have are empty.
type StepValues struct {
	ID       string   `form:"step_id"`
	Name     string   `form:"step_name"`
	Kind     string   `form:"step_kind"`
	Job      string   `form:"step_job"` // a number
	Needs    []string `form:"step_needs"`
	Join     string   `form:"step_join"`
	If       string   `form:"step_if"`
	Param    string   `form:"step_param"`
	Items    string   `form:"step_items"`
	Parallel string   `form:"step_parallel"`
	Max      string   `form:"step_max"`
	Timeout  string   `form:"step_timeout"`
	Retries  string   `form:"step_retries"`
	Backoff  string   `form:"step_retry_backoff"`
	Continue string   `form:"step_continue_on_error"` // "true"
	Message  string   `form:"step_message"`
	Answer   string   `form:"step_answer_in"`
	Default  string   `form:"step_default"`
	Seconds  string   `form:"step_seconds"`
	Until    string   `form:"step_until"`
}

// At is the value of a field, other than the list of needs.
func (v *StepValues) At(field string) *string {
	switch field {
	case FieldStepID:
		return &v.ID
	case FieldName:
		return &v.Name
	case FieldKind:
		return &v.Kind
	case FieldPick:
		return &v.Job
	case FieldJoin:
		return &v.Join
	case FieldIf:
		return &v.If
	case FieldParam:
		return &v.Param
	case FieldItems:
		return &v.Items
	case FieldParallel:
		return &v.Parallel
	case FieldMax:
		return &v.Max
	case FieldTimeout:
		return &v.Timeout
	case FieldRetries:
		return &v.Retries
	case FieldBackoff:
		return &v.Backoff
	case FieldContinue:
		return &v.Continue
	case FieldMessage:
		return &v.Message
	case FieldAnswer:
		return &v.Answer
	case FieldDefault:
		return &v.Default
	case FieldSeconds:
		return &v.Seconds
	case FieldUntil:
		return &v.Until
	}
	panic("no field " + field)
}

// ValuesOf are the fields of a step. kind is that of one that does not say yet which job it runs.
func ValuesOf(s *flow.Step, kind flow.Kind) StepValues {
	v := StepValues{ID: s.ID, Name: s.Name, Kind: string(kind), Needs: s.Needs, If: s.If}
	switch s.Join {
	case flow.JoinAll:
	case flow.JoinAny:
		v.Join = "any"
	default:
		v.Join = strconv.Itoa(int(s.Join))
	}
	if ref := s.Ref(); ref != nil && ref.ID != 0 {
		v.Job = strconv.FormatInt(ref.ID, 10)
	}
	if s.Param != nil {
		v.Param = *s.Param
	}
	if f := s.Foreach; f != nil {
		v.Items, v.Parallel, v.Max = f.Items, digits(int64(f.Parallel)), digits(int64(f.Max))
	}
	v.Timeout = digits(s.TimeoutSeconds)
	if s.Retries != nil {
		v.Retries = strconv.FormatInt(*s.Retries, 10)
	}
	v.Backoff = s.RetryBackoff
	if s.ContinueOnError {
		v.Continue = "true"
	}
	if a := s.Approve; a != nil {
		v.Message, v.Answer, v.Default = a.Message, digits(a.TimeoutSeconds), string(a.Default)
	}
	if w := s.Wait; w != nil {
		v.Seconds, v.Until = digits(w.Seconds), w.Until
	}
	return v
}

// OutputsText are the outputs of a flow as the form shows them: a name, a colon and an expression a line.
func OutputsText(outputs []flow.Output) string {
	var b strings.Builder
	for _, o := range outputs {
		b.WriteString(o.Name + ": " + strings.ReplaceAll(strings.TrimSpace(o.Value), "\n", " ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// ReadOutputs reads what is typed there; wrong is a line that is no output.
func ReadOutputs(text string) (outputs []flow.Output, wrong string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		o := flow.Output{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)}
		if !ok || o.Value == "" || !flow.IsID(o.Name) || slices.ContainsFunc(outputs, func(other flow.Output) bool { return other.Name == o.Name }) {
			return nil, line
		}
		outputs = append(outputs, o)
	}
	return outputs, ""
}

func digits(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// Text is the values as the form carries them beside what is typed.
func (v StepValues) Text() string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts
	}
	return string(raw)
}

// ReadValues reads [StepValues.Text].
func ReadValues(text string) (v StepValues, ok bool) {
	return v, json.Unmarshal([]byte(text), &v) == nil
}

// stepForm is the form that the fields of a step belong to: that of the job must not send them, and Enter in them must not save it.
const stepForm = "flow-step"

// field is a field of the step that is open.
func (o *OpenStep) field(p *locales.Printer, name, key, value string) ui.Field {
	return ui.Field{Name: name, Label: p.T(key), Value: value, Error: o.Errors[name], Data: map[string]any{"form": stepForm}}
}

func (o *OpenStep) number(p *locales.Printer, name, key, value string) ui.Field {
	f := o.field(p, name, key, value)
	f.Data["inputmode"], f.Max = "numeric", 10
	return f
}

func (o *OpenStep) runs() bool {
	return o.Values.Kind == string(flow.KindJob) || o.Values.Kind == string(flow.KindFlow)
}

func (o *OpenStep) needs(id string) bool { return slices.Contains(o.Values.Needs, id) }

func kinds(p *locales.Printer, chosen string) []ui.Option {
	var options []ui.Option
	for _, k := range flow.AllKinds {
		options = append(options, ui.Option{Value: string(k), Label: p.T("flow.kind." + string(k)), Selected: string(k) == chosen})
	}
	return options
}

// joins are how many of the needs may have to succeed.
func (o *OpenStep) joins(p *locales.Printer) []ui.Option {
	options := []ui.Option{{Label: p.T("flow.form.join.all"), Selected: o.Values.Join == ""}, {Value: "any", Label: p.T("flow.form.join.any"), Selected: o.Values.Join == "any"}}
	most := len(o.Values.Needs) - 1
	if n, err := strconv.Atoi(o.Values.Join); err == nil {
		most = max(most, n)
	}
	for n := 2; n <= most; n++ {
		options = append(options, ui.Option{Value: strconv.Itoa(n), Label: p.T("flow.form.join.n", "Count", n), Selected: o.Values.Join == strconv.Itoa(n)})
	}
	return options
}

func (o *OpenStep) answers(p *locales.Printer) []ui.Option {
	var options []ui.Option
	for i, a := range flow.AllAnswers {
		value := string(a)
		options = append(options, ui.Option{Value: value, Label: p.T("flow.form.default." + value), Selected: o.Values.Default == value || o.Values.Default == "" && i == 0})
	}
	return options
}

func (f Form) onFailures(p *locales.Printer) []ui.Option {
	var options []ui.Option
	for i, o := range flow.AllOnFailures {
		options = append(options, ui.Option{Value: string(o), Label: p.T("flow.form.onfailure." + string(o)), Selected: f.OnFailure == o || f.OnFailure == "" && i == 0})
	}
	return options
}

// onShown is what the list of what becomes of failures shows.
func (f Form) onShown() string {
	return cmp.Or(f.OnShown, string(f.OnFailure), string(flow.AllOnFailures[0]))
}

// picker is the field of the job that a step runs.
func (o *OpenStep) picker(p *locales.Printer) ui.JobPicker {
	f := o.field(p, FieldPick, "flow.kind."+o.Values.Kind, o.Values.Job)
	f.Max, f.Data["inputmode"] = 19, "numeric"
	return ui.JobPicker{
		Field: f, Single: true, Plain: o.Values.Job != "" && len(o.Picked) == 0, Chosen: o.Picked,
		Search: link.FlowJobs(o.Self, o.Values.Kind), Hint: p.T("jobs.children.search"), Mark: PickMark,
	}
}

// openedAs is the id that the text has. Another may be typed that cannot be one.
func (o *OpenStep) openedAs() string {
	shown, _ := ReadValues(o.Shown)
	return shown.ID
}

func (f Form) opened(id string) bool {
	return f.Open != nil && f.Open.openedAs() == id && !f.unsure(id)
}

func (f Form) unsure(id string) bool {
	return slices.ContainsFunc(f.Steps, func(s FormStep) bool { return s.ID == id && s.Unsure })
}

func buttonID(deed string, i int) string { return fmt.Sprintf("flow-%s-%d", deed, i) }
