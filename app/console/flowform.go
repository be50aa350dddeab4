package console

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/views/flows"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

// flowForm is what the form of a flow's steps does to the text of its definition. First the fields that were changed are written into it,
// then the deed of a button is done.
type flowForm struct {
	page   layout.Page
	typed  flows.FormValues
	draft  *flow.Draft
	faults flow.Faults // why the text cannot be read; nothing is done then
	id     string      // of the step that is open, as the text has it now
	focus  string
	errors map[string]string // by field, ready to print
	done   bool              // the text is another now
}

// fill does what was sent to a text, and gives it back.
func (f *flowForm) fill(text string) (string, error) {
	var err error
	f.draft, err = flow.OpenDraft(text)
	if faults, is := errors.AsType[flow.Faults](err); is {
		f.faults = faults
	} else if err != nil {
		f.faults = flow.Faults{{Line: 1}} // no step can be told from another
	}
	if f.faults != nil {
		return text, nil
	}
	f.id, f.errors = f.typed.Open, make(map[string]string)
	shown, ok := flows.ReadValues(f.typed.Shown)
	if f.id != "" && ok && slices.Contains(f.draft.IDs(), f.id) {
		if err := f.fields(shown, f.typed.Step); err != nil {
			return text, err
		}
	}
	if to := flow.OnFailure(f.typed.OnFailure); f.typed.OnFailure != f.typed.OnShown && slices.Contains(flow.AllOnFailures, to) {
		def, err := flow.Parse([]byte(text))
		if err == nil && to != def.OnFailure && (def.OnFailure != "" || to != flow.OnFailureStop) {
			f.draft.SetOnFailure(to)
			f.done = true
		}
	}
	if err := f.outputs(); err != nil {
		return text, err
	}
	if err := f.deed(); err != nil {
		return text, err
	}
	if !slices.Contains(f.draft.IDs(), f.id) {
		f.id = ""
	}
	if !f.done {
		return text, nil
	}
	return f.draft.Text()
}

// outputs writes those of the flow, where they were changed.
func (f *flowForm) outputs() error {
	if lines(f.typed.Outputs) == lines(f.typed.OutShown) || len(f.draft.IDs()) == 0 {
		return nil
	}
	outputs, wrong := flows.ReadOutputs(f.typed.Outputs)
	if wrong != "" {
		f.refuse(flows.FieldOutputs, "flow.form.outputs.line", "Line", wrong)
		return nil
	}
	f.done = true
	return f.draft.SetOutputs(outputs)
}

// lines is a text with the breaks of its lines as they stand in a definition.
func lines(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n") }

// refuse keeps a field out of the text, and says why.
func (f *flowForm) refuse(field, key string, args ...any) {
	f.errors[field] = f.page.T(key, args...)
}

// stepFields are the fields of the form beside where the text has them.
var stepFields = []struct {
	name, path string
	number     bool
}{
	{flows.FieldName, flow.FieldName, false},
	{flows.FieldIf, flow.FieldIf, false},
	{flows.FieldParam, flow.FieldParam, false},
	{flows.FieldItems, flow.FieldForeach + "." + flow.FieldItems, false},
	{flows.FieldParallel, flow.FieldForeach + "." + flow.FieldParallel, true},
	{flows.FieldMax, flow.FieldForeach + "." + flow.FieldMax, true},
	{flows.FieldTimeout, flow.FieldTimeout, true},
	{flows.FieldRetries, flow.FieldRetries, true},
	{flows.FieldBackoff, flow.FieldBackoff, false},
	{flows.FieldMessage, flow.FieldApprove + "." + flow.FieldMessage, false},
	{flows.FieldAnswer, flow.FieldApprove + "." + flow.FieldTimeout, true},
	{flows.FieldSeconds, flow.FieldWait + "." + flow.FieldSeconds, true},
	{flows.FieldUntil, flow.FieldWait + "." + flow.FieldUntil, false},
}

// fields writes what was changed in the fields of the step that is open. Only what is another than was shown counts as changed: the text
// may have been edited beside it.
func (f *flowForm) fields(shown, typed flows.StepValues) error {
	d := f.draft
	if to := strings.TrimSpace(typed.ID); to != shown.ID {
		switch renamed, err := d.Rename(f.id, to); {
		case err != nil:
			return err
		case renamed:
			f.id, f.done = to, true
		case flow.IsID(to):
			f.refuse(flows.FieldStepID, flow.CodeSameID, "Value", to)
		default:
			f.refuse(flows.FieldStepID, flow.CodeID, "Value", to)
		}
	}
	if kind := flow.Kind(typed.Kind); kind != flow.Kind(shown.Kind) && slices.Contains(flow.AllKinds, kind) {
		f.done = true
		if err := d.SetKind(f.id, kind); err != nil {
			return err
		}
		// The fields that were there were those of the other kind.
		typed.Job, typed.Message, typed.Answer, typed.Default, typed.Seconds, typed.Until = shown.Job, shown.Message, shown.Answer, shown.Default, shown.Seconds, shown.Until
		if kind != flow.KindJob && kind != flow.KindFlow {
			typed.Param, typed.Items, typed.Parallel, typed.Max, typed.Timeout, typed.Retries, typed.Backoff = shown.Param, shown.Items, shown.Parallel, shown.Max, shown.Timeout, shown.Retries, shown.Backoff
		}
	}
	if err := f.needs(shown, typed); err != nil {
		return err
	}
	if err := f.job(shown.Job, strings.TrimSpace(typed.Job)); err != nil {
		return err
	}
	answer := func(v flows.StepValues) string { // what holds where nothing is said is the first of the list
		if v.Default == string(flow.AllAnswers[0]) {
			return ""
		}
		return v.Default
	}
	if to := answer(typed); to != answer(shown) {
		if err := f.set(flow.FieldApprove+"."+flow.FieldDefault, to, false); err != nil {
			return err
		}
	}
	if typed.Continue != shown.Continue {
		if err := f.set(flow.FieldContinue, typed.Continue, true); err != nil {
			return err
		}
	}
	for _, field := range stepFields {
		to := *typed.At(field.name)
		if oneLine(to) == oneLine(*shown.At(field.name)) {
			continue
		}
		if field.name != flows.FieldParam {
			to = strings.TrimSpace(to)
		}
		if field.number {
			if n, err := strconv.ParseInt(to, 10, 64); to != "" && (err != nil || n < 0) {
				f.refuse(field.name, "legacy.error.number", "Value", to)
				continue
			}
		}
		if err := f.set(field.path, to, field.number); err != nil {
			return err
		}
	}
	return nil
}

// oneLine is a text without the breaks of its lines, which browsers send in two ways and, from fields of one line, not at all.
func oneLine(text string) string { return strings.NewReplacer("\r", "", "\n", "").Replace(text) }

func (f *flowForm) set(path, text string, number bool) error {
	f.done = true
	return f.draft.Set(f.id, path, strings.ReplaceAll(text, "\r\n", "\n"), number)
}

func (f *flowForm) needs(shown, typed flows.StepValues) error {
	// In the order of the text, and what it has beside the steps that were shown stays.
	var needs []string
	for _, id := range f.draft.Needs(f.id) {
		if slices.Contains(typed.Needs, id) || !slices.Contains(shown.Needs, id) {
			needs = append(needs, id)
		}
	}
	for _, id := range typed.Needs {
		if !slices.Contains(shown.Needs, id) && !slices.Contains(needs, id) && slices.Contains(f.draft.IDs(), id) {
			needs = append(needs, id)
		}
	}
	if !slices.Equal(needs, f.draft.Needs(f.id)) {
		f.done = true
		if err := f.draft.SetNeeds(f.id, needs); err != nil {
			return err
		}
		if n, err := strconv.Atoi(typed.Join); len(needs) < 2 || err == nil && n > len(needs) {
			typed.Join = "" // its field is gone with them
		}
	}
	if typed.Join == shown.Join {
		return nil
	}
	_, err := strconv.Atoi(typed.Join)
	return f.set(flow.FieldJoin, typed.Join, err == nil)
}

func (f *flowForm) job(shown, typed string) error {
	kind := f.draft.Kind(f.id)
	switch n, err := strconv.ParseInt(typed, 10, 64); {
	case typed == shown || kind != flow.KindJob && kind != flow.KindFlow:
		return nil
	case typed == "":
		f.done = true
		return f.draft.SetKind(f.id, kind)
	case err != nil || n < 1:
		f.refuse(flows.FieldPick, "legacy.error.number", "Value", typed)
		return nil
	}
	return f.set(string(kind), typed, true)
}

// deed does what a button says, and where the keyboard goes on after it.
func (f *flowForm) deed() error {
	deed, at, _ := strings.Cut(f.typed.Deed, " ")
	ids := f.draft.IDs()
	place := slices.Index(ids, at)
	if at == f.typed.Open && f.id != "" { // it may have another id since
		at, place = f.id, slices.Index(ids, f.id)
	}
	switch {
	case deed == flows.DeedAdd && slices.Contains(flow.AllKinds, flow.Kind(f.typed.Add)):
		id, err := f.draft.Add(flow.Kind(f.typed.Add))
		f.id, f.focus, f.done = id, flows.FocusFields, true
		return err
	case place < 0:
		return nil
	case deed == flows.DeedOpen && f.id == at && len(f.errors) == 0:
		f.id, f.focus = "", f.typed.Deed
	case deed == flows.DeedShow && f.id == at: // also over what was refused, which is there
		f.focus = flows.FocusFields
	case (deed == flows.DeedOpen || deed == flows.DeedShow) && len(f.errors) == 0:
		f.id, f.focus = at, flows.FocusFields
	case deed == flows.DeedRemove:
		f.done, f.focus = true, flows.DeedAdd
		if next := min(place+1, len(ids)-1); next != place {
			f.focus = flows.DeedOpen + " " + ids[next]
		} else if place > 0 {
			f.focus = flows.DeedOpen + " " + ids[place-1]
		}
		return f.draft.Remove(at)
	case deed == flows.DeedUp && place > 0, deed == flows.DeedDown && place < len(ids)-1:
		by, other := 1, flows.DeedUp
		if deed == flows.DeedUp {
			by, other = -1, flows.DeedDown
		}
		f.draft.Move(at, by)
		f.done, f.focus = true, deed+" "+at
		if place+by == 0 || place+by == len(ids)-1 { // the button is off there
			f.focus = other + " " + at
		}
	}
	return nil
}

// drawn is the form as it follows from the text, and from what was typed and refused.
func (f *flowForm) drawn(ctx context.Context, all *manage.Jobs, p auth.Principal, self int64, graph flows.Graph, def *flow.Definition, faults flow.Faults) (flows.Form, error) {
	form := flows.Form{Add: f.typed.Add, Focus: f.focus}
	if f.faults != nil {
		fault := f.faults[0]
		form.Unread = f.page.T("flow.form.unread", "Line", fault.Line)
		if f.typed.Open != "" { // what was typed stays until the text can take it
			form.Open = &flows.OpenStep{Values: f.typed.Step, Shown: f.typed.Shown, Self: self}
		}
	}
	if def != nil && f.faults == nil {
		ids := f.draft.IDs()
		form.OnFailure = def.OnFailure
		form.OutputsAs = flows.OutputsText(def.Outputs)
		if form.Outputs, form.OutputsNo = form.OutputsAs, f.errors[flows.FieldOutputs]; form.OutputsNo != "" {
			form.Outputs = f.typed.Outputs
		}
		for i := range def.Steps {
			s, kind := &def.Steps[i], f.draft.Kind(def.Steps[i].ID)
			step := flows.FormStep{ID: s.ID, Title: s.Title(), Needs: s.Needs, Unsure: s.ID == "" || slices.Index(ids, s.ID) != i || slices.Contains(ids[i+1:], s.ID)}
			if kind != "" {
				step.Kind = f.page.T("flow.kind." + string(kind))
			}
			if s.Ref() != nil {
				step.Note = graph.Nodes[i].Note
			}
			for _, fault := range faults {
				if fault.Step == s.ID {
					step.Faults = append(step.Faults, manage.FlowFault(fault).Text(f.page.Printer))
				}
			}
			if s.ID == f.id && !step.Unsure {
				form.Open = f.opened(s, kind, self)
			}
			form.Steps = append(form.Steps, step)
		}
	}
	if len(form.Steps) == 0 { // what was typed about the whole flow stays too
		form.OnFailure, form.OnShown = flow.OnFailure(f.typed.OnFailure), f.typed.OnShown
		form.Outputs, form.OutputsAs = f.typed.Outputs, f.typed.OutShown
	}
	if form.Open == nil {
		return form, nil
	}
	jobID, _ := strconv.ParseInt(form.Open.Values.Job, 10, 64)
	if jobID < 1 {
		return form, nil // what is no number stays to be seen
	}
	known, err := all.OfRuns(ctx, p, jobID)
	picked := ui.PickedJob{ID: jobID}
	if j, ok := known.Seen(jobID); ok {
		picked.Name = j.JobDesc
	}
	form.Open.Picked = []ui.PickedJob{picked}
	return form, err
}

// opened are the fields of a step as the text has them, but for those that it did not take.
func (f *flowForm) opened(s *flow.Step, kind flow.Kind, self int64) *flows.OpenStep {
	v := flows.ValuesOf(s, kind)
	o := &flows.OpenStep{Values: v, Shown: v.Text(), Errors: f.errors, Self: self}
	if ref := s.Ref(); ref != nil && ref.Description != "" {
		o.Named = ref.String()
	}
	for name := range f.errors {
		if name == flows.FieldOutputs {
			continue
		}
		*o.Values.At(name) = *f.typed.Step.At(name)
	}
	return o
}
