package flow

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/punctual-job/punctual/scheduler/document"
)

// What may be wrong with the text of a definition, beside what may be wrong with any document.
const (
	CodeJoinWord = "flow.error.join_word" // Value: neither all nor any nor a number
	CodeRef      = "flow.error.ref"       // a job is named neither by its executor and description nor by its id
)

var (
	flowFields = []string{FieldOnFailure, FieldSteps, FieldOutputs}
	stepFields = []string{FieldID, FieldName, FieldNeeds, FieldJoin, FieldIf, FieldJob, FieldFlow, FieldApprove, FieldWait, FieldParam, FieldForeach, FieldTimeout, FieldRetries, FieldBackoff, FieldContinue}
	refFields  = []string{fieldAppName, fieldDescription, FieldID}
	askFields  = []string{FieldMessage, FieldTimeout, FieldDefault}
	waitFields = []string{FieldSeconds, FieldUntil}
	eachFields = []string{FieldItems, FieldParallel, FieldMax}
	joinWords  = map[string]Join{"all": JoinAll, "any": JoinAny}
)

// The names of the fields of a reference, as in a file of jobs.
const (
	fieldAppName     = "app_name"
	fieldDescription = "description"
)

// Parse reads a definition, YAML or JSON. The error is [Faults]. Whether what was read holds together is for [Compile] to say.
func Parse(raw []byte) (*Definition, error) {
	tree, wrong := document.Read(raw, MaxBytes)
	if wrong != nil {
		return nil, Faults{{Line: wrong.Line, Field: wrong.Field}}
	}
	return read(tree)
}

func read(tree document.Node) (*Definition, error) {
	var r document.Reader
	def, in := readSteps(&r, tree)
	if len(r.Faults) == 0 {
		return def, nil
	}
	faults := make(Faults, len(r.Faults))
	for i, f := range r.Faults {
		faults[i] = Fault{Step: in[i], Line: f.Line, Field: f.Field}
	}
	faults = append(faults, expressionFaults(def)...)
	slices.SortStableFunc(faults, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	return nil, faults
}

// expressionFaults are those of the expressions of a definition that could be read in part: what was not read is not missed. Where an id was
// not, nobody knows which steps there are.
func expressionFaults(def *Definition) Faults {
	if len(def.Steps) == 0 || slices.ContainsFunc(def.Steps, func(s Step) bool { return s.ID == "" }) {
		return nil
	}
	_, faults := Compile(def)
	return slices.DeleteFunc(faults, func(f Fault) bool {
		never := f.Key == CodeNever && f.Name == FieldIf
		return !strings.HasPrefix(f.Key, CodeExpr) && !strings.HasPrefix(f.Key, CodePlanned) && f.Key != CodeMoment && !never
	})
}

// readSteps takes a definition from a document. What is wrong with it the reader has, and in says in which step each of the reader's faults is.
func readSteps(r *document.Reader, n document.Node) (def *Definition, in map[int]string) {
	def, in = &Definition{}, make(map[int]string)
	f := reader{r}
	r.Fields(n, FieldFlow, flowFields, []string{FieldSteps}, func(name string, line int, value document.Node) {
		switch name {
		case FieldOnFailure:
			var text string
			r.Text(name, value, &text)
			def.OnFailure, def.line = OnFailure(text), line
		case FieldSteps:
			def.stepsLine = line
			for i, item := range r.List(name, value) {
				if i == MaxSteps {
					r.Add(item.Line, CodeMany, "Max", MaxSteps)
					return
				}
				before := len(r.Faults)
				def.Steps = append(def.Steps, f.step(item))
				for at := before; at < len(r.Faults); at++ {
					in[at] = def.Steps[i].ID
				}
			}
		case FieldOutputs:
			def.outputsLine = line
			def.Outputs = f.outputs(value)
		}
	})
	return def, in
}

type reader struct{ *document.Reader }

func (r reader) step(n document.Node) Step {
	s := Step{Line: n.Line, lines: make(map[string]int)}
	for i, key := range n.Keys {
		if kind := Kind(key.Text); (kind == KindJob || kind == KindFlow) && n.Items[i].Kind == document.Nothing {
			s.unsaid, s.lines[key.Text] = kind, key.Line
		}
	}
	r.Fields(n, FieldSteps, stepFields, []string{FieldID}, func(name string, line int, value document.Node) {
		s.lines[name] = line
		switch name {
		case FieldID:
			r.Text(name, value, &s.ID)
		case FieldName:
			r.Text(name, value, &s.Name)
		case FieldNeeds:
			s.Needs = r.needs(value)
		case FieldJoin:
			s.Join = r.join(value)
		case FieldIf:
			r.Text(name, value, &s.If)
			s.notCut(name, value, false)
		case FieldJob:
			s.Job = r.ref(name, value)
		case FieldFlow:
			s.Flow = r.ref(name, value)
		case FieldApprove:
			s.Approve = r.approve(&s, value)
		case FieldWait:
			s.Wait = r.wait(&s, value)
		case FieldParam:
			s.Param = new(string)
			r.Text(name, value, s.Param)
			s.notCut(name, value, true)
		case FieldForeach:
			s.Foreach = r.foreach(&s, value)
		case FieldTimeout:
			r.Number(name, value, &s.TimeoutSeconds)
		case FieldRetries:
			s.Retries = new(int64)
			r.Number(name, value, s.Retries)
		case FieldBackoff:
			r.Text(name, value, &s.RetryBackoff)
		case FieldContinue:
			s.ContinueOnError = r.Flag(name, value)
		}
	})
	return s
}

// outputs is a mapping with any names. What is wrong with these [Compile] says.
func (r reader) outputs(n document.Node) (outputs []Output) {
	if n.Kind != document.Mapping {
		r.Add(n.Line, document.CodeMapping, "Field", FieldOutputs)
		return nil
	}
	for i, key := range n.Keys {
		o := Output{Name: key.Text, line: key.Line}
		if n.Items[i].Kind != document.Nothing {
			r.Text(FieldOutputs, n.Items[i], &o.Value)
			o.cut = isCut(n.Items[i], false)
		}
		outputs = append(outputs, o)
	}
	return outputs
}

// needs is one step or a list of steps.
func (r reader) needs(n document.Node) (needs []string) {
	items := []document.Node{n}
	if n.Kind != document.Scalar {
		items = r.List(FieldNeeds, n)
	}
	for _, item := range items {
		var id string
		r.Text(FieldNeeds, item, &id)
		needs = append(needs, id)
	}
	return needs
}

func (r reader) join(n document.Node) Join {
	if join, ok := joinWords[n.Text]; ok && n.Kind == document.Scalar {
		return join
	}
	count, err := strconv.Atoi(n.Text)
	if n.Kind != document.Scalar || err != nil || count < 1 || count > MaxSteps {
		r.Add(n.Line, CodeJoinWord, "Value", n.Shown())
		return JoinAll
	}
	return Join(count)
}

// ref is a job by its id alone, or a mapping.
func (r reader) ref(field string, n document.Node) *JobRef {
	ref := &JobRef{}
	if n.Kind == document.Scalar {
		r.jobID(field, n, &ref.ID)
		return ref
	}
	before := len(r.Faults)
	r.Fields(n, field, refFields, nil, func(name string, _ int, value document.Node) {
		switch name {
		case fieldAppName:
			r.Text(name, value, &ref.AppName)
		case fieldDescription:
			r.Text(name, value, &ref.Description)
		case FieldID:
			r.jobID(name, value, &ref.ID)
		}
	})
	if len(r.Faults) == before && ((ref.AppName == "") != (ref.Description == "") || ref.AppName == "" && ref.ID == 0) {
		r.Add(n.Line, CodeRef)
	}
	return ref
}

func (r reader) jobID(field string, n document.Node, into *int64) {
	before := len(r.Faults)
	if r.Number(field, n, into); len(r.Faults) == before && *into < 1 {
		r.Add(n.Line, CodeRef)
	}
}

func (r reader) approve(s *Step, n document.Node) *Approve {
	a := &Approve{}
	r.Fields(n, FieldApprove, askFields, nil, func(name string, line int, value document.Node) {
		s.lines[name] = line
		switch name {
		case FieldMessage:
			r.Text(name, value, &a.Message)
			s.notCut(name, value, true)
		case FieldTimeout:
			r.Number(name, value, &a.TimeoutSeconds)
		case FieldDefault:
			var text string
			r.Text(name, value, &text)
			a.Default = Answer(text)
		}
	})
	return a
}

func (r reader) wait(s *Step, n document.Node) *Wait {
	w := &Wait{}
	r.Fields(n, FieldWait, waitFields, nil, func(name string, line int, value document.Node) {
		s.lines[name] = line
		switch name {
		case FieldSeconds:
			r.Number(name, value, &w.Seconds)
		case FieldUntil:
			r.Text(name, value, &w.Until)
			s.notCut(name, value, true)
		}
	})
	return w
}

func (r reader) foreach(s *Step, n document.Node) *Foreach {
	f := &Foreach{}
	r.Fields(n, FieldForeach, eachFields, []string{FieldItems}, func(name string, line int, value document.Node) {
		s.lines[name] = line
		switch name {
		case FieldItems:
			r.Text(name, value, &f.Items)
			s.notCut(name, value, false)
		case FieldParallel:
			f.Parallel = r.count(name, value)
		case FieldMax:
			f.Max = r.count(name, value)
		}
	})
	return f
}

// count is a number that fits in an int everywhere; [Compile] says if it is too large.
func (r reader) count(name string, n document.Node) int {
	var v int64
	r.Number(name, n, &v)
	return int(max(min(v, 1<<30), -1))
}

// Tree is the definition as part of a document. Fields that say nothing are left out.
func (d *Definition) Tree() document.Node {
	n := document.Node{Kind: document.Mapping}
	n.AddText(FieldOnFailure, string(d.OnFailure))
	steps := document.Node{Kind: document.List}
	for i := range d.Steps {
		steps.Items = append(steps.Items, d.Steps[i].tree())
	}
	n.Add(FieldSteps, steps)
	if len(d.Outputs) > 0 {
		outputs := document.Node{Kind: document.Mapping}
		for _, o := range d.Outputs {
			outputs.Add(o.Name, document.Node{Kind: document.Scalar, Text: o.Value})
		}
		n.Add(FieldOutputs, outputs)
	}
	return n
}

func (s *Step) tree() document.Node {
	n := document.Node{Kind: document.Mapping}
	n.Add(FieldID, document.Node{Kind: document.Scalar, Text: s.ID})
	n.AddText(FieldName, s.Name)
	needs := document.Node{Kind: document.List}
	for _, id := range s.Needs {
		needs.Items = append(needs.Items, document.Node{Kind: document.Scalar, Text: id})
	}
	n.AddList(FieldNeeds, needs)
	switch s.Join {
	case JoinAll:
	case JoinAny:
		n.AddText(FieldJoin, "any")
	default:
		n.AddNumber(FieldJoin, int64(s.Join))
	}
	n.AddText(FieldIf, s.If)
	if s.Job != nil {
		n.Add(FieldJob, s.Job.tree())
	}
	if s.Flow != nil {
		n.Add(FieldFlow, s.Flow.tree())
	}
	if a := s.Approve; a != nil {
		ask := document.Node{Kind: document.Mapping}
		ask.AddText(FieldMessage, a.Message)
		ask.AddNumber(FieldTimeout, a.TimeoutSeconds)
		ask.AddText(FieldDefault, string(a.Default))
		n.Add(FieldApprove, ask)
	}
	if w := s.Wait; w != nil {
		wait := document.Node{Kind: document.Mapping}
		wait.AddNumber(FieldSeconds, w.Seconds)
		wait.AddText(FieldUntil, w.Until)
		n.Add(FieldWait, wait)
	}
	if s.Param != nil {
		n.Add(FieldParam, document.Node{Kind: document.Scalar, Text: strings.ToValidUTF8(*s.Param, "\uFFFD")})
	}
	if f := s.Foreach; f != nil {
		each := document.Node{Kind: document.Mapping}
		each.AddText(FieldItems, f.Items)
		each.AddNumber(FieldParallel, int64(f.Parallel))
		each.AddNumber(FieldMax, int64(f.Max))
		n.Add(FieldForeach, each)
	}
	n.AddNumber(FieldTimeout, s.TimeoutSeconds)
	if s.Retries != nil {
		n.AddDigits(FieldRetries, strconv.FormatInt(*s.Retries, 10))
	}
	n.AddText(FieldBackoff, s.RetryBackoff)
	n.AddFlag(FieldContinue, s.ContinueOnError)
	return n
}

func (j *JobRef) tree() document.Node {
	if j.AppName == "" && j.Description == "" {
		return document.Node{Kind: document.Scalar, Text: strconv.FormatInt(j.ID, 10), Plain: true}
	}
	n := document.Node{Kind: document.Mapping}
	n.AddText(fieldAppName, j.AppName)
	n.AddText(fieldDescription, j.Description)
	n.AddNumber(FieldID, j.ID)
	return n
}

// Text writes the definition. The same definition gives the same bytes.
func (d *Definition) Text(as document.Format) ([]byte, error) {
	return document.Write(d.Tree(), as, "")
}

// MarshalJSON implements [json.Marshaler], on one line: what is stored.
func (d *Definition) MarshalJSON() ([]byte, error) {
	raw, err := d.Text(document.JSON)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return nil, fmt.Errorf("write a flow: %w", err)
	}
	return line.Bytes(), nil
}

// UnmarshalJSON implements [json.Unmarshaler]. The error is [Faults].
func (d *Definition) UnmarshalJSON(raw []byte) error {
	def, err := Parse(raw)
	if err == nil {
		*d = *def
	}
	return err
}

// MarshalYAML implements [yaml.Marshaler].
func (d *Definition) MarshalYAML() (any, error) { return d.Tree().YAML(), nil }

// UnmarshalYAML implements [yaml.Unmarshaler]. The error is [Faults].
func (d *Definition) UnmarshalYAML(n *yaml.Node) error {
	tree, wrong := document.FromYAML(n)
	if wrong != nil {
		return Faults{{Line: wrong.Line, Field: wrong.Field}}
	}
	def, err := read(tree)
	if err == nil {
		*d = *def
	}
	return err
}
