package flow

import (
	"cmp"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/scheduler/expr"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

// Next decides what is to be done in a run. It looks at nothing but its arguments: the same states make the same decision, in whatever
// order they came about. Once a decision is applied there is nothing more to do until something ends.
//
// Data is asked for what expressions read of steps that have ended; its results are not changed.
func (p *Plan) Next(run Run, data Data) Decision {
	n := &next{plan: p, run: Run{Steps: slices.Clone(run.Steps), Asked: run.Asked}, data: data}
	// Steps that end by decision may let others start, or keep them from it. What starts is decided when no more steps end.
	for {
		ends, starts := n.look()
		if len(ends) == 0 {
			n.decision.Start = starts
			break
		}
		for _, e := range ends {
			n.run.Steps[e.Step].end(e.State)
		}
		n.decision.End = append(n.decision.End, ends...)
	}
	slices.SortFunc(n.decision.End, func(a, b End) int { return a.Step - b.Step })
	if run.Asked != AskedNothing {
		for i := range n.run.Steps {
			if s := n.run.Steps[i]; s.State.Open() && !s.Ending && !n.outlasts(i) {
				n.decision.Cancel = append(n.decision.Cancel, i)
			}
		}
	}
	if len(n.decision.Start) == 0 {
		n.decision.Finish = n.run.outcome(n.plan)
	}
	if n.decision.Finish == Success {
		if _, n.decision.Fault = n.outputs(); n.decision.Fault != nil {
			n.decision.Finish = Failed
		}
	}
	return n.decision
}

// MaxOutputSize is how many bytes the outputs of a run have together: what a result holds, and a good deal less than what a step may give.
const MaxOutputSize = 32 << 10

// Outputs are what a run gives whose steps have all ended well: an object of JSON, which is the result message of the run and so what a step has
// that runs it; "" where the definition names none. The fault says which of them has no value: such a run has failed.
func (p *Plan) Outputs(run Run, data Data) (string, *Fault) {
	return (&next{plan: p, run: run, data: data}).outputs()
}

func (n *next) outputs() (string, *Fault) {
	if len(n.plan.outputs) == 0 {
		return "", nil
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, program := range n.plan.outputs {
		o := &n.plan.def.Outputs[i]
		v := n.values(program.Reads())
		v.Status = expr.Status{Success: true, Any: true, Cancelled: n.run.Asked != AskedNothing}
		text, err := program.JSON(v)
		if err == nil && b.Len()+len(o.Name)+len(text) > MaxOutputSize {
			err = &expr.Error{Kind: expr.KindEffort, Expression: program.Text()}
		}
		if err != nil {
			return "", o.fault(err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + o.Name + `":` + text)
	}
	b.WriteByte('}')
	return b.String(), nil
}

// next is one decision in the making.
type next struct {
	plan     *Plan
	run      Run // as it will be
	data     Data
	decision Decision
	known    map[string]expr.Step // results that an expression has read
	sound    []bool               // see look
}

// look goes through all steps once, as they are now. A step is sound if it succeeded, and what it needed too, all the way back: a failure
// or skip reaches all that come after it. One that was set to success is, because whoever did so has looked at what was before.
func (n *next) look() (ends []End, starts []Start) {
	n.sound = make([]bool, len(n.run.Steps))
	for _, i := range n.plan.order {
		state := n.run.Steps[i]
		n.sound[i] = n.succeeded(i) && (state.ByHand || n.soundNeeds(i) >= n.plan.steps[i].required())
	}
	for i := range n.run.Steps {
		state := &n.run.Steps[i]
		switch {
		case state.State == Waiting && n.run.Asked != AskedNothing && !n.mayStillStart(i):
			ends = append(ends, End{Step: i, State: Cancelled})
		case state.State == Waiting:
			end, start := n.waiting(i)
			if end != nil {
				ends = append(ends, *end)
			}
			if start != nil {
				starts = append(starts, *start)
			}
		case state.State.Open() && n.plan.steps[i].Foreach != nil:
			end, start := n.items(i)
			if end != nil {
				ends = append(ends, *end)
			}
			if start != nil {
				starts = append(starts, *start)
			}
		case state.State.Open() && n.run.Asked != AskedNothing && n.plan.steps[i].Ref() == nil && !n.outlasts(i):
			ends = append(ends, End{Step: i, State: Cancelled}) // nothing runs that would have to be ended first
		}
	}
	return ends, starts
}

// waiting decides about a step that was not started.
func (n *next) waiting(i int) (*End, *Start) {
	s := &n.plan.steps[i]
	if !n.ready(i) {
		return nil, nil
	}
	holds, err := n.holds(i)
	if err != nil {
		return &End{Step: i, State: Failed, Fault: n.plan.exprFault(i, FieldIf, err)}, nil
	}
	if !holds && n.run.Asked != AskedNothing {
		return &End{Step: i, State: Cancelled}, nil
	}
	if !holds {
		return &End{Step: i, State: Skipped}, nil
	}
	start := &Start{Step: i}
	var fault *Fault
	switch {
	case s.Foreach != nil:
		return n.begin(i, start)
	case s.param != nil:
		var text string
		text, fault = n.plan.param(i, n.values(s.param.Reads()))
		start.Param = &text
	case s.Approve != nil:
		start.Text, fault = n.plan.fill(i, FieldMessage, s.text, n.values(s.text.Reads()))
		if characters := []rune(start.Text); len(characters) > MaxMessage { // people read it
			start.Text = string(characters[:MaxMessage]) + "…"
		}
	case s.Wait != nil && s.Wait.Until != "":
		var text string
		if text, fault = n.plan.fill(i, FieldUntil, s.text, n.values(s.text.Reads())); fault != nil {
			break
		}
		at, ok := expr.Moment(text, n.data.Zone)
		if !ok {
			fault = n.plan.faultOf(i, FieldUntil, CodeMoment, "Value", shown(text))
		}
		start.Until = at
	}
	if fault != nil {
		return &End{Step: i, State: Failed, Fault: fault}, nil
	}
	return nil, start
}

// begin starts the first items of a foreach, or those that are left of one that is run again.
func (n *next) begin(i int, start *Start) (*End, *Start) {
	s, state := &n.plan.steps[i], &n.run.Steps[i]
	waiting := state.Items.Waiting()
	if state.Items.Total == 0 {
		list, text, err := s.items.List(n.values(s.items.Reads()))
		if err != nil {
			return &End{Step: i, State: Failed, Fault: n.plan.exprFault(i, FieldItems, err)}, nil
		}
		if most := s.Foreach.most(); len(list) > most {
			return &End{Step: i, State: Failed, Fault: n.plan.faultOf(i, FieldItems, CodeItems, "Count", len(list), "Max", most)}, nil
		}
		waiting, start.List, start.Text = len(list), list, text
	}
	if waiting == 0 {
		return &End{Step: i, State: Success}, nil
	}
	start.Items = min(waiting, s.Foreach.parallel())
	return nil, start
}

// items decides about a foreach that goes on.
func (n *next) items(i int) (*End, *Start) {
	s, state := &n.plan.steps[i], &n.run.Steps[i]
	items := state.Items
	failed := items.Failed
	if s.ContinueOnError {
		failed = 0 // none of them keeps the others from starting
	}
	ended := state.Ending || n.run.Asked != AskedNothing && !n.outlasts(i)
	noMore := ended || n.stops() && failed+items.Cancelled > 0
	switch {
	case items.Open == 0 && (noMore || items.Waiting() == 0):
		return &End{Step: i, State: state.joined()}, nil
	case noMore:
		return nil, nil
	}
	if more := min(items.Waiting(), s.Foreach.parallel()-items.Open); more > 0 {
		return nil, &Start{Step: i, Items: more}
	}
	return nil, nil
}

// joined is how a foreach ended of which no item is left that could start.
func (s *StepState) joined() State {
	switch i := s.Items; {
	case i.Succeeded == i.Total:
		return Success
	case s.Late:
		return TimedOut
	case i.Failed > 0:
		return Failed
	}
	return Cancelled
}

// stops says whether a failure stops the flow.
func (n *next) stops() bool { return n.plan.def.OnFailure != OnFailureContinue }

func (n *next) stopped() bool {
	for i, s := range n.run.Steps {
		if n.plan.Fails(i, s.State) || s.State == Cancelled {
			return n.stops()
		}
	}
	return false
}

// succeeded says whether a step counts as a success.
func (n *next) succeeded(i int) bool {
	state := n.run.Steps[i].State
	return state == Success || n.plan.Allows(i, state)
}

// mayStillStart says whether a step may start in a run that is to end: one whose condition asks for that, to clean up. Where nothing has
// begun, there is nothing to clean up.
func (n *next) mayStillStart(i int) bool {
	return n.plan.steps[i].asksCancelled() && slices.ContainsFunc(n.run.Steps, func(s StepState) bool { return s.Begun })
}

// outlasts says whether an open step goes on although the run is to end: its condition asks for that and holds, so that it would start now.
func (n *next) outlasts(i int) bool {
	if !n.plan.steps[i].asksCancelled() {
		return false
	}
	holds, err := n.holds(i)
	return holds && err == nil
}

// ready says whether it is known how the needs of a step ended: as many as it asks for have succeeded, or all have ended, and what they
// needed too, of which a join may have left some running. Were these not waited for, failure() would depend on who is first.
func (n *next) ready(i int) bool {
	s := &n.plan.steps[i]
	return n.soundNeeds(i) >= s.required() || !slices.ContainsFunc(s.ancestors, func(j int) bool { return !n.run.Steps[j].State.Ended() })
}

func (n *next) soundNeeds(i int) (count int) {
	for _, j := range n.plan.steps[i].needs {
		if n.sound[j] {
			count++
		}
	}
	return count
}

// status is what success(), failure(), any() and cancelled() say in the condition of a step.
func (n *next) status(i int) expr.Status {
	s := &n.plan.steps[i]
	reached := n.soundNeeds(i) >= s.required()
	return expr.Status{
		Success: reached && !n.stopped(),
		Failure: !reached && slices.ContainsFunc(s.ancestors, func(j int) bool { return n.plan.Fails(j, n.run.Steps[j].State) }),
		Any:     len(s.needs) == 0 || slices.ContainsFunc(s.needs, n.succeeded),

		Cancelled: n.run.Asked != AskedNothing,
	}
}

// holds says whether the condition of a step holds. One that does not ask how others ended holds only if they succeeded.
func (n *next) holds(i int) (bool, error) {
	s := &n.plan.steps[i]
	status := n.status(i)
	if !s.asksStatus() && !status.Success {
		return false, nil
	}
	if s.condition == nil {
		return true, nil
	}
	v := n.values(s.condition.Reads())
	v.Status = status
	return s.condition.Holds(v)
}

// values are what an expression sees that reads these steps.
func (n *next) values(reads []string) *expr.Values {
	if n.known == nil {
		n.known = make(map[string]expr.Step)
	}
	return &expr.Values{Param: n.data.Param, Planned: n.data.Planned, Zone: n.data.Zone, Budget: n.data.Budget, Steps: n.plan.seen(n.run, n.data, reads, n.known)}
}

// Params are the parameters of items of a foreach, which start together.
func (p *Plan) Params(run Run, data Data, i int) Params {
	s := &p.steps[i]
	params := Params{plan: p, step: i}
	if s.param != nil {
		params.values = &expr.Values{Param: data.Param, Planned: data.Planned, Zone: data.Zone, Budget: data.Budget, Steps: p.seen(run, data, s.param.Reads(), make(map[string]expr.Step))}
	}
	return params
}

// Params makes the parameters of items, with what their step's expressions read.
type Params struct {
	plan   *Plan
	step   int
	values *expr.Values // nil: it has the job's own
}

// Of is the parameter of an item; nil is the job's own. The fault says why there is none: the item failed.
func (p Params) Of(item any) (*string, *Fault) {
	if p.values == nil {
		return nil, nil
	}
	v := *p.values
	v.Item = item
	text, fault := p.plan.param(p.step, &v)
	if fault != nil {
		return nil, fault
	}
	return &text, nil
}

func (p *Plan) param(i int, v *expr.Values) (string, *Fault) {
	text, fault := p.fill(i, FieldParam, p.steps[i].param, v)
	if fault == nil && len(text) > MaxParam {
		return "", p.faultOf(i, FieldParam, CodeParamLong, "Max", MaxParam)
	}
	return text, fault
}

func (p *Plan) fill(i int, field string, t *expr.Template, v *expr.Values) (string, *Fault) {
	text, err := t.Fill(v)
	if err != nil {
		return "", p.exprFault(i, field, err)
	}
	return text, nil
}

func (p *Plan) faultOf(i int, field, key string, args ...any) *Fault {
	s := p.steps[i].Step
	return &Fault{Step: s.ID, Line: s.LineOf(field), Field: invalid.Field{Name: field, Key: key, Args: args}}
}

// seen is what expressions see of steps. The results of those that have ended are read once, and stand in known from then on.
func (p *Plan) seen(run Run, data Data, ids []string, known map[string]expr.Step) map[string]expr.Step {
	all := make(map[string]expr.Step, len(ids))
	var ask []string
	for _, id := range ids {
		i, _ := p.Index(id)
		if _, has := known[id]; !has && run.Steps[i].State.Ended() && data.Results != nil {
			ask = append(ask, id)
		}
	}
	if len(ask) > 0 {
		results := data.Results(ask)
		for _, id := range ask {
			known[id] = results[id].seen()
		}
	}
	for _, id := range ids {
		i, _ := p.Index(id)
		seen, has := known[id]
		if !has {
			seen = Result{}.seen()
		}
		seen.State = run.Steps[i].State.String()
		all[id] = seen
	}
	return all
}

// seen is a result as expressions see it.
func (r Result) seen() expr.Step {
	s := expr.Step{State: r.State.String(), Code: r.Code, Message: r.Message, Output: map[string]any{}}
	if len(r.Output) > 0 {
		output := make(map[string]any, len(r.Output))
		for key, value := range r.Output {
			output[key] = value
		}
		s.Output = output
	} else if value, ok := expr.DecodeJSON(r.Message); ok {
		switch value.(type) {
		case []any, map[string]any:
			s.Output = value
		}
	}
	for _, item := range r.Items {
		s.Items = append(s.Items, item.seen().Value())
	}
	return s
}

func (f *Foreach) parallel() int { return cmp.Or(f.Parallel, DefaultParallel) }

func (f *Foreach) most() int { return cmp.Or(f.Max, MaxItems) }
