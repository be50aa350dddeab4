package flow

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/punctual-job/punctual/scheduler/backoff"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

// compiler gathers what is wrong while it makes a plan.
type compiler struct {
	def    *Definition
	plan   *Plan
	index  map[string]int // steps by their ids
	circle bool           // steps need each other, so what comes before what is not known
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
		c.faults = append(c.faults, Fault{Line: def.line, Field: invalid.Field{Name: FieldOnFailure, Key: CodeUnknown, Args: []any{"Value", shown(string(def.OnFailure)), "Values", offered(AllOnFailures)}}})
	}
	if n := len(def.Steps); n == 0 || n > MaxSteps {
		f := Fault{Line: def.stepsLine, Field: invalid.Field{Name: FieldSteps, Key: CodeRequired}}
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
	c.circle = !c.sortSteps()
	c.outputs()
	for i := range def.Steps {
		c.kind(&def.Steps[i])
		c.expressions(i)
	}
	if !c.circle {
		c.reachable()
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
		if s.unsaid != "" {
			c.fault(s, string(s.unsaid), CodeRequired)
		} else {
			c.fault(s, FieldID, CodeNoKind)
		}
		return
	case 1:
	default:
		c.fault(s, string(kinds[1]), CodeKinds, "First", string(kinds[0]), "Second", string(kinds[1]))
		return
	}
	c.bounded(s, FieldTimeout, s.TimeoutSeconds, MaxSeconds)
	if s.Retries != nil {
		c.bounded(s, FieldRetries, *s.Retries, MaxRetries)
	}
	switch kinds[0] {
	case KindJob, KindFlow:
		if len([]rune(s.RetryBackoff)) > MaxBackoff {
			c.fault(s, FieldBackoff, CodeTooLong, "Max", MaxBackoff)
		} else if _, err := backoff.Parse(s.RetryBackoff); err != nil {
			c.fault(s, FieldBackoff, CodeBackoff, "Value", shown(s.RetryBackoff))
		}
		if s.Foreach != nil {
			if strings.TrimSpace(s.Foreach.Items) == "" {
				c.fault(s, FieldItems, CodeRequired)
			}
			c.bounded(s, FieldParallel, int64(s.Foreach.Parallel), MaxParallel)
			c.bounded(s, FieldMax, int64(s.Foreach.Max), MaxItems)
		}
	case KindApprove:
		c.notOf(s, KindApprove)
		c.bounded(s, FieldTimeout, s.Approve.TimeoutSeconds, MaxSeconds)
		if utf8.RuneCountInString(s.Approve.Message) > MaxMessage {
			c.fault(s, FieldMessage, CodeTooLong, "Max", MaxMessage)
		}
		if s.Approve.Default != "" && !slices.Contains(AllAnswers, s.Approve.Default) {
			c.fault(s, FieldDefault, CodeUnknown, "Value", shown(string(s.Approve.Default)), "Values", offered(AllAnswers))
		}
	case KindWait:
		c.notOf(s, KindWait)
		if (s.Wait.Seconds == 0) == (s.Wait.Until == "") {
			c.fault(s, FieldWait, CodeWait)
		}
		c.bounded(s, FieldSeconds, s.Wait.Seconds, MaxSeconds)
		if utf8.RuneCountInString(s.Wait.Until) > MaxMessage {
			c.fault(s, FieldUntil, CodeTooLong, "Max", MaxMessage)
		}
	}
}

// notOf refuses what only a step with runs has.
func (c *compiler) notOf(s *Step, kind Kind) {
	for _, f := range []struct {
		name string
		has  bool
	}{{FieldParam, s.Param != nil}, {FieldForeach, s.Foreach != nil}, {FieldTimeout, s.TimeoutSeconds != 0}, {FieldRetries, s.Retries != nil}, {FieldBackoff, s.RetryBackoff != ""}} {
		if f.has {
			c.fault(s, f.name, CodeNotOf, "Field", f.name, "Kind", string(kind))
		}
	}
}

func (c *compiler) bounded(s *Step, field string, n, most int64) {
	if n < 0 || n > most {
		c.fault(s, field, CodeOutOfRange, "Min", 0, "Max", most)
	}
}
