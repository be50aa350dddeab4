package flow

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/scheduler/expr"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

// What may be wrong with a definition: the keys of the messages, with the arguments that these may use.
const (
	CodeRequired   = "job.error.required"
	CodeTooLong    = "job.error.too_long"     // Max
	CodeOutOfRange = "job.error.out_of_range" // Min, Max
	CodeUnknown    = "job.error.unknown"      // Value
	CodeCharacters = "job.error.characters"
	CodeMany       = "flow.error.many"        // Max: steps
	CodeID         = "flow.error.id"          // Value
	CodeSameID     = "flow.error.same_id"     // Value
	CodeNeeds      = "flow.error.needs"       // Value: a step that there is not
	CodeNeedsTwice = "flow.error.needs_twice" // Value
	CodeCycle      = "flow.error.cycle"       // Ring: the steps that need each other
	CodeJoin       = "flow.error.join"        // Max: how many needs there are
	CodeNoKind     = "flow.error.no_kind"     // the step does nothing
	CodeKinds      = "flow.error.kinds"       // First, Second: it does two things
	CodeNotOf      = "flow.error.not_of"      // Field, Kind: a step of this kind has no such field
	CodeWait       = "flow.error.wait"        // neither so long nor until when, or both
	CodeMoment     = "flow.error.moment"      // Value
	CodeNever      = "flow.error.never"       // the step never starts
	CodeNotBefore  = "flow.error.not_before"  // Value: a step that is read and need not have ended
	CodePlanned    = "job.error.planned."     // begins the codes of an [expr.Part]; Value
	CodeExpr       = "flow.error.expr."       // begins the codes of an [expr.Kind]; Expression, Text, Reason

	CodeItems     = "flow.error.items"      // Count, Max: the list is too long
	CodeParamLong = "flow.error.param_long" // Max: the evaluated parameter does not fit
)

// MaxParam is how many bytes the parameter of a run has.
const MaxParam = 65535

// The names of the fields of a flow and its steps.
const (
	FieldOnFailure = "on_failure"
	FieldSteps     = "steps"
	FieldID        = "id"
	FieldName      = "name"
	FieldNeeds     = "needs"
	FieldJoin      = "join"
	FieldIf        = "if"
	FieldJob       = "job"
	FieldFlow      = "flow"
	FieldApprove   = "approve"
	FieldWait      = "wait"
	FieldParam     = "parameter"
	FieldForeach   = "foreach"
	FieldTimeout   = "timeout_seconds"
	FieldRetries   = "retries"

	FieldMessage  = "message"
	FieldDefault  = "default"
	FieldSeconds  = "seconds"
	FieldUntil    = "until"
	FieldItems    = "items"
	FieldParallel = "parallel"
	FieldMax      = "max"
)

// Plan is a definition that holds together, with its expressions read. It is read-only and safe for concurrent use, and worth keeping: runs
// of a version have the same one.
type Plan struct {
	def   *Definition
	steps []step
	order []int // each after what it needs
	reads []string
}

// step is what a plan knows of a step.
type step struct {
	*Step
	needs     []int
	ancestors []int
	followers []int // all that need it, directly or not
	condition *expr.Program
	items     *expr.Program
	param     *expr.Template
	text      *expr.Template // of an approval or a wait
}

// Compile makes a plan of a definition, or says what is wrong with it. Whether its jobs exist and may be used is asked by [Validate].
func Compile(def *Definition) (*Plan, Faults) {
	c := &compiler{def: def, plan: &Plan{def: def, steps: make([]step, len(def.Steps))}, index: make(map[string]int)}
	c.definition()
	if len(c.faults) > 0 {
		return nil, c.sorted()
	}
	return c.plan, nil
}

// Definition is what the plan was made of.
func (p *Plan) Definition() *Definition { return p.def }

// Reads are the ids of the steps whose results an expression of the plan reads, in the order of the definition.
func (p *Plan) Reads() []string { return p.reads }

// Index is the place of a step.
func (p *Plan) Index(id string) (int, bool) {
	for i := range p.steps {
		if p.steps[i].ID == id {
			return i, true
		}
	}
	return 0, false
}

// compiler gathers what is wrong while it makes a plan.
type compiler struct {
	def    *Definition
	plan   *Plan
	index  map[string]int // steps by their ids
	faults Faults
}

// fault notes what is wrong with a field of a step.
func (c *compiler) fault(s *Step, field, key string, args ...any) {
	c.faults = append(c.faults, Fault{Step: s.ID, Line: s.LineOf(field), Field: invalid.Field{Name: field, Key: key, Args: args}})
}

// sorted puts the faults in the order of the steps.
func (c *compiler) sorted() Faults {
	place := func(f Fault) int {
		if i, ok := c.index[strings.ToLower(f.Step)]; ok && f.Step != "" {
			return i
		}
		return -1
	}
	slices.SortStableFunc(c.faults, func(a, b Fault) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(place(a), place(b))) })
	return c.faults
}

func (c *compiler) definition() {
	def := c.def
	if def.OnFailure != "" && !slices.Contains(AllOnFailures, def.OnFailure) {
		c.faults = append(c.faults, Fault{Line: def.line, Field: invalid.Field{Name: FieldOnFailure, Key: CodeUnknown, Args: []any{"Value", shown(string(def.OnFailure))}}})
	}
	if n := len(def.Steps); n == 0 || n > MaxSteps {
		f := Fault{Field: invalid.Field{Name: FieldSteps, Key: CodeRequired}}
		if n > 0 {
			f.Key, f.Args = CodeMany, []any{"Max", MaxSteps}
		}
		c.faults = append(c.faults, f)
		return
	}
	for i := range def.Steps {
		c.plan.steps[i].Step = &def.Steps[i]
		c.name(i)
	}
	for i := range def.Steps {
		c.needs(i)
	}
	if !c.sortSteps() {
		return // what comes before what is not known
	}
	for i := range def.Steps {
		c.kind(&def.Steps[i])
		c.expressions(i)
	}
	if len(c.faults) == 0 {
		c.reachable()
		c.gatherReads()
	}
}

// name checks the id of a step. Ids are told apart without regard to case, as databases do.
func (c *compiler) name(i int) {
	s := &c.def.Steps[i]
	switch key := strings.ToLower(s.ID); {
	case s.ID == "":
		c.fault(s, FieldID, CodeRequired)
	case !IsID(s.ID):
		c.fault(s, FieldID, CodeID, "Value", s.ID)
	default:
		if _, twice := c.index[key]; twice {
			c.fault(s, FieldID, CodeSameID, "Value", s.ID)
		} else {
			c.index[key] = i
		}
	}
	if len([]rune(s.Name)) > MaxName {
		c.fault(s, FieldName, CodeTooLong, "Max", MaxName)
	} else if !invalid.IsLine(s.Name) {
		c.fault(s, FieldName, CodeCharacters)
	}
}

// IsID says whether a text can be the id of a step.
func IsID(id string) bool {
	for i := range len(id) {
		letter := 'a' <= id[i] && id[i] <= 'z' || 'A' <= id[i] && id[i] <= 'Z' || id[i] == '_'
		if digit := '0' <= id[i] && id[i] <= '9'; !letter && (!digit || i == 0) {
			return false
		}
	}
	return id != "" && len(id) <= MaxID
}

// needs finds the steps that a step needs. They are named as they are written, so that expressions and needs agree.
func (c *compiler) needs(i int) {
	s := &c.def.Steps[i]
	seen := make(map[int]bool)
	for _, id := range s.Needs {
		j, ok := c.index[strings.ToLower(id)]
		switch {
		case !ok || c.def.Steps[j].ID != id:
			c.fault(s, FieldNeeds, CodeNeeds, "Value", shown(id))
		case seen[j]:
			c.fault(s, FieldNeeds, CodeNeedsTwice, "Value", id)
		default:
			seen[j] = true
			c.plan.steps[i].needs = append(c.plan.steps[i].needs, j)
		}
	}
	if s.Join < 0 || s.Join > JoinAny && int(s.Join) > len(s.Needs) {
		c.fault(s, FieldJoin, CodeJoin, "Max", len(s.Needs))
	}
}

// sortSteps finds an order in which each step comes after its needs, and what is before and after each. It fails where steps need each other.
func (c *compiler) sortSteps() bool {
	steps := c.plan.steps
	const entered, left = 1, 2
	mark := make([]int, len(steps))
	var path []int
	var enter func(i int) bool
	enter = func(i int) bool {
		switch mark[i] {
		case left:
			return true
		case entered:
			ring := make([]string, 0, len(path))
			for _, j := range path[slices.Index(path, i):] {
				ring = append(ring, steps[j].ID)
			}
			slices.Reverse(ring) // as they would start
			c.fault(steps[i].Step, FieldNeeds, CodeCycle, "Ring", strings.Join(append(ring, ring[0]), " → "))
			return false
		}
		mark[i] = entered
		path = append(path, i)
		for _, j := range steps[i].needs {
			if !enter(j) {
				return false
			}
			steps[i].ancestors = union(steps[i].ancestors, append(slices.Clone(steps[j].ancestors), j))
		}
		path = path[:len(path)-1]
		mark[i] = left
		c.plan.order = append(c.plan.order, i)
		return true
	}
	for i := range steps {
		if !enter(i) {
			return false
		}
	}
	for i := range steps {
		for _, j := range steps[i].ancestors {
			steps[j].followers = append(steps[j].followers, i)
		}
	}
	return true
}

func union(a, b []int) []int {
	a = append(a, b...)
	slices.Sort(a)
	return slices.Compact(a)
}

// kind checks that a step does one thing, and has no fields of another.
func (c *compiler) kind(s *Step) {
	var kinds []Kind
	for _, k := range AllKinds {
		if s.does(k) {
			kinds = append(kinds, k)
		}
	}
	switch len(kinds) {
	case 0:
		c.fault(s, FieldID, CodeNoKind)
		return
	case 1:
	default:
		c.fault(s, string(kinds[1]), CodeKinds, "First", string(kinds[0]), "Second", string(kinds[1]))
		return
	}
	c.bounded(s, FieldTimeout, s.TimeoutSeconds, 0, MaxSeconds)
	if s.Retries != nil {
		c.bounded(s, FieldRetries, *s.Retries, 0, MaxRetries)
	}
	switch kinds[0] {
	case KindJob, KindFlow:
		if s.Foreach != nil {
			if strings.TrimSpace(s.Foreach.Items) == "" {
				c.fault(s, FieldItems, CodeRequired)
			}
			c.bounded(s, FieldParallel, int64(s.Foreach.Parallel), 0, MaxParallel)
			c.bounded(s, FieldMax, int64(s.Foreach.Max), 0, MaxItems)
		}
	case KindApprove:
		c.notOf(s, KindApprove)
		c.bounded(s, FieldTimeout, s.Approve.TimeoutSeconds, 0, MaxSeconds)
		if len(s.Approve.Message) > MaxMessage {
			c.fault(s, FieldMessage, CodeTooLong, "Max", MaxMessage)
		}
		if s.Approve.Default != "" && !slices.Contains(AllAnswers, s.Approve.Default) {
			c.fault(s, FieldDefault, CodeUnknown, "Value", shown(string(s.Approve.Default)))
		}
	case KindWait:
		c.notOf(s, KindWait)
		if (s.Wait.Seconds == 0) == (s.Wait.Until == "") {
			c.fault(s, FieldWait, CodeWait)
		}
		c.bounded(s, FieldSeconds, s.Wait.Seconds, 0, MaxSeconds)
		if len(s.Wait.Until) > MaxMessage {
			c.fault(s, FieldUntil, CodeTooLong, "Max", MaxMessage)
		}
	}
}

// notOf refuses what only a step with runs has.
func (c *compiler) notOf(s *Step, kind Kind) {
	for _, f := range []struct {
		name string
		has  bool
	}{{FieldParam, s.Param != nil}, {FieldForeach, s.Foreach != nil}, {FieldTimeout, s.TimeoutSeconds != 0}, {FieldRetries, s.Retries != nil}} {
		if f.has {
			c.fault(s, f.name, CodeNotOf, "Field", f.name, "Kind", string(kind))
		}
	}
}

func (c *compiler) bounded(s *Step, field string, n, least, most int64) {
	if n < least || n > most {
		c.fault(s, field, CodeOutOfRange, "Min", least, "Max", most)
	}
}

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
	for _, id := range reads {
		if j, ok := c.plan.Index(id); ok && !slices.Contains(c.plan.steps[i].ancestors, j) {
			c.fault(c.plan.steps[i].Step, field, CodeNotBefore, "Value", id, "Expression", shown(text))
		}
	}
}

// exprFault is what is wrong with an expression of a step.
func (p *Plan) exprFault(i int, field string, err error) *Fault {
	s := p.steps[i].Step
	f := &Fault{Step: s.ID, Line: s.LineOf(field), Field: invalid.Field{Name: field}}
	if planned, ok := errors.AsType[*expr.Fault](err); ok {
		f.Key, f.Args = CodePlanned+string(planned.Part), []any{"Value", planned.Text}
		return f
	}
	e, ok := errors.AsType[*expr.Error](err)
	if !ok {
		e = &expr.Error{Kind: expr.KindValue, Reason: err.Error()}
	}
	f.Key, f.Args = CodeExpr+string(e.Kind), []any{"Expression", shown(e.Expression), "Text", e.Text, "Reason", e.Reason}
	return f
}

// shown is a text as a message shows it.
func shown(text string) string {
	if r := []rune(text); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return text
}

// reachable finds steps that never start: whose condition is constantly false, and those that need them.
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

// gatherReads lists the steps that are read.
func (c *compiler) gatherReads() {
	read := make(map[string]bool)
	note := func(ids []string) {
		for _, id := range ids {
			read[id] = true
		}
	}
	for i := range c.plan.steps {
		s := &c.plan.steps[i]
		if s.condition != nil {
			note(s.condition.Reads())
		}
		if s.items != nil {
			note(s.items.Reads())
		}
		if s.param != nil {
			note(s.param.Reads())
		}
		if s.text != nil {
			note(s.text.Reads())
		}
	}
	for i := range c.plan.steps {
		if id := c.plan.steps[i].ID; read[id] {
			c.plan.reads = append(c.plan.reads, id)
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
