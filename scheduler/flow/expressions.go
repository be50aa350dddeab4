package flow

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/scheduler/expr"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

// expressions reads those of a step. They may read steps that have ended when it starts: those before it.
func (c *compiler) expressions(i int) {
	s := &c.plan.steps[i]
	all := make([]string, len(c.def.Steps))
	for j := range c.def.Steps {
		all[j] = c.def.Steps[j].ID
	}
	scope := expr.Scope{Steps: all}
	if text := strings.TrimSpace(s.If); text != "" {
		s.condition = c.program(i, FieldIf, text, scope)
	}
	if s.Foreach != nil && strings.TrimSpace(s.Foreach.Items) != "" {
		s.items = c.program(i, FieldItems, s.Foreach.Items, scope)
	}
	if s.Param != nil {
		if len(*s.Param) > MaxParam {
			c.fault(s.Step, FieldParam, CodeTooLong, "Max", MaxParam)
		}
		item := scope
		item.Item = s.Foreach != nil
		s.param = c.template(i, FieldParam, *s.Param, item)
	}
	if s.Approve != nil {
		s.text = c.template(i, FieldMessage, s.Approve.Message, scope)
	}
	if s.Wait != nil {
		if s.text = c.template(i, FieldUntil, s.Wait.Until, scope); s.text != nil && s.text.Plain() && s.Wait.Until != "" {
			if _, ok := expr.Moment(s.Wait.Until, nil); !ok {
				c.fault(s.Step, FieldUntil, CodeMoment, "Value", shown(s.Wait.Until))
			}
		}
	}
}

// outputs reads those of the flow. They may read all steps, as these have ended.
func (c *compiler) outputs() {
	all := make([]string, len(c.def.Steps))
	for i := range c.def.Steps {
		all[i] = c.def.Steps[i].ID
	}
	if len(c.def.Outputs) > MaxOutputs {
		c.faults = append(c.faults, Fault{Line: c.def.outputsLine, Field: invalid.Field{Name: FieldOutputs, Key: CodeOutputs, Args: []any{"Max", MaxOutputs}}})
		return
	}
	names := make(map[string]bool, len(c.def.Outputs))
	for _, o := range c.def.Outputs {
		if !IsID(o.Name) || names[o.Name] {
			c.faults = append(c.faults, Fault{Line: o.line, Field: invalid.Field{Name: FieldOutputs, Key: CodeOutput, Args: []any{"Value", shown(o.Name)}}})
			continue
		}
		names[o.Name] = true
		if strings.TrimSpace(o.Value) == "" {
			c.faults = append(c.faults, Fault{Line: o.line, Field: invalid.Field{Name: o.path(), Key: CodeRequired}})
			continue
		}
		p, err := expr.Compile(inside(o.Value), expr.Scope{Steps: all})
		if err != nil {
			c.faults = append(c.faults, *o.fault(err))
			continue
		}
		c.plan.outputs = append(c.plan.outputs, p)
	}
}

// path names the output as a field of the definition.
func (o *Output) path() string { return FieldOutputs + "." + o.Name }

// fault is what is wrong with its expression.
func (o *Output) fault(err error) *Fault {
	return &Fault{Line: o.line, Field: exprField(o.path(), err)}
}

// inside is an expression without the braces that may stand around it.
func inside(text string) string {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "${{"); ok && strings.Count(text, "${{") == 1 {
		if rest, ok = strings.CutSuffix(rest, "}}"); ok {
			return rest
		}
	}
	return text
}

func (c *compiler) program(i int, field, text string, scope expr.Scope) *expr.Program {
	p, err := expr.Compile(inside(text), scope)
	if err != nil {
		c.faults = append(c.faults, *c.plan.exprFault(i, field, err))
		return nil
	}
	c.readsBefore(i, field, p.Text(), p.Reads())
	return p
}

func (c *compiler) template(i int, field, text string, scope expr.Scope) *expr.Template {
	keep := func(inside string) bool { return field == FieldParam && isSecret(inside) }
	t, err := expr.ParseTemplate(text, scope, keep)
	if err != nil {
		c.faults = append(c.faults, *c.plan.exprFault(i, field, err))
		return nil
	}
	c.readsBefore(i, field, text, t.Reads())
	return t
}

// isSecret says whether an expression names a secret, which is put in when the run leaves. Whether there is one shows then, as in any job.
func isSecret(inside string) bool {
	name, ok := strings.CutPrefix(inside, "secrets.")
	return ok && IsID(name)
}

func (c *compiler) readsBefore(i int, field, text string, reads []string) {
	if c.circle {
		return
	}
	for _, id := range reads {
		if j, ok := c.plan.Index(id); ok && !slices.Contains(c.plan.steps[i].ancestors, j) {
			c.fault(c.plan.steps[i].Step, field, CodeNotBefore, "Value", id, "Expression", shown(text))
		}
	}
}

// exprFault is what is wrong with an expression of a step.
func (p *Plan) exprFault(i int, field string, err error) *Fault {
	s := p.steps[i].Step
	return &Fault{Step: s.ID, Line: s.LineOf(field), Field: exprField(field, err)}
}

// exprField is what is wrong with an expression of a field.
func exprField(field string, err error) invalid.Field {
	f := invalid.Field{Name: field}
	if planned, ok := errors.AsType[*expr.Fault](err); ok {
		f.Key, f.Args = CodePlanned+string(planned.Part), []any{"Value", planned.Text}
		return f
	}
	e, ok := errors.AsType[*expr.Error](err)
	if !ok {
		e = &expr.Error{Kind: expr.KindValue, Reason: expr.ReasonOf(err)}
	}
	f.Key, f.Args = CodeExpr+string(e.Kind), []any{"Expression", shown(e.Expression), "Text", e.Text, "Reason", ""}
	if e.Reason.Key != "" {
		f.Args[5] = e.Reason
	}
	return f
}

// shown is a text as a message shows it.
func shown(text string) string {
	if r := []rune(text); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return text
}

// offered are the words of which one is meant, as a message lists them.
func offered[T ~string](words []T) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = string(word)
	}
	return strings.Join(list, ", ")
}

// reachable finds steps that never start: whose condition is constantly false, and those that need them. Of one whose condition or needs are
// wrong themselves nobody knows.
func (c *compiler) reachable() {
	never := make([]bool, len(c.plan.steps))
	for _, i := range c.plan.order {
		s := &c.plan.steps[i]
		if s.condition != nil && s.condition.Constant() {
			if holds, err := s.condition.Holds(&expr.Values{}); err != nil {
				c.faults = append(c.faults, *c.plan.exprFault(i, FieldIf, err))
			} else if !holds {
				never[i] = true
				c.fault(s.Step, FieldIf, CodeNever)
				continue
			}
		}
		if len(s.needs) < len(s.Needs) || s.condition == nil && strings.TrimSpace(s.If) != "" {
			continue
		}
		possible := 0
		for _, j := range s.needs {
			if !never[j] {
				possible++
			}
		}
		if possible < s.required() && !s.asksStatus() {
			never[i] = true
			c.fault(s.Step, FieldNeeds, CodeNever)
		}
	}
}

// required is how many of its needs have to succeed.
func (s *step) required() int {
	if s.Join == JoinAll {
		return len(s.needs)
	}
	return min(int(s.Join), len(s.needs))
}

// asksStatus says whether its condition asks by itself how its needs ended.
func (s *step) asksStatus() bool { return s.condition != nil && s.condition.AsksStatus() }

// asksCancelled says whether its condition asks by itself whether the run is to end.
func (s *step) asksCancelled() bool { return s.condition != nil && s.condition.AsksCancelled() }

// does says whether a step says that it does a thing.
func (s *Step) does(k Kind) bool {
	switch k {
	case KindJob:
		return s.Job != nil
	case KindFlow:
		return s.Flow != nil
	case KindApprove:
		return s.Approve != nil
	case KindWait:
		return s.Wait != nil
	}
	panic(fmt.Sprintf("kind %q", k))
}
