package flow

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/punctual-job/punctual/scheduler/document"
)

// Draft is the text of a definition while a form changes it. The text stays the only truth: a change of a step writes the lines of that
// step anew and leaves all others byte for byte, with their comments, blank lines and order. Where steps do not stand on lines of their
// own (as in {…} or […]), the text is first written so that they do. JSON stays JSON.
type Draft struct {
	json   bool
	head   string // all lines before that of the list
	opener string // "steps:", with what stands before it
	beside string // what follows on that line: a comment
	blocks []block
	tail   string
	indent int // of the dashes
}

// block is a step in a text: lines that stand between it and the one before, the comment right above it, and the step itself as a list of
// one, from the first column on.
type block struct {
	between, comment, body string
	step                   *yaml.Node
}

// OpenDraft reads a text for changes. It must be one that [Parse] reads, or say nothing yet.
func OpenDraft(text string) (*Draft, error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n")
	if _, err := Parse([]byte(text)); err != nil {
		faults, _ := errors.AsType[Faults](err)
		if len(faults) != 1 || faults[0].Key != document.CodeEmpty {
			return nil, err
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return &Draft{head: text, opener: FieldSteps + ":", indent: 2}, nil
	}
	if strings.HasPrefix(strings.TrimLeft(text, " \t\n"), "{") {
		tree, wrong := document.Read([]byte(text), MaxBytes)
		if wrong != nil {
			return nil, Faults{{Line: wrong.Line, Field: wrong.Field}}
		}
		raw, err := document.Write(tree, document.YAML, "")
		if err != nil {
			return nil, err
		}
		d, err := OpenDraft(string(raw))
		if err == nil {
			d.json = true
		}
		return d, err
	}
	text = endMark.ReplaceAllString(text, "")
	if d, ok := split(text); ok {
		return d, nil
	}
	plain, err := spread(text)
	if err != nil {
		return nil, err
	}
	d, ok := split(plain)
	if !ok {
		return nil, fmt.Errorf("the steps of a flow do not stand on lines of their own")
	}
	return d, nil
}

// endMark ends a document. Nothing but comments stands behind it in a definition, and what is added to the end would.
var endMark = regexp.MustCompile(`(?m)^\.\.\.[ \t]*(?:\n|$)`)

var stepsLine = regexp.MustCompile(`^( *(?:steps|"steps"|'steps') *:)(.*)$`)

// split finds the lines of the steps. It fails where they have none of their own.
func split(text string) (*Draft, bool) {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	var doc yaml.Node
	if yaml.Unmarshal([]byte(text), &doc) != nil || len(doc.Content) != 1 || doc.Content[0].Style&yaml.FlowStyle != 0 {
		return nil, false
	}
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1]
	root := doc.Content[0]
	key, list := entry(root, FieldSteps)
	end := len(lines) + 1 // the line behind the list
	for i := 0; i < len(root.Content); i += 2 {
		if line := root.Content[i].Line; line > key.Line {
			end = min(end, line)
		}
	}
	opener := stepsLine.FindStringSubmatch(strings.TrimSuffix(lines[key.Line-1], "\n"))
	if opener == nil {
		return nil, false
	}
	d := &Draft{head: strings.Join(lines[:key.Line-1], ""), opener: opener[1], beside: opener[2], indent: root.Column + 1}
	if len(list.Content) == 0 {
		d.beside, _ = strings.CutPrefix(strings.TrimLeft(opener[2], " "), "[]")
		if d.beside == strings.TrimLeft(opener[2], " ") {
			return nil, false
		}
		d.tail = strings.Join(lines[key.Line:], "")
		return d, true
	}
	if rest := strings.TrimSpace(d.beside); list.Style&yaml.FlowStyle != 0 || rest != "" && rest[0] != '#' {
		return nil, false
	}
	d.indent = list.Column - 1
	dash := strings.Repeat(" ", d.indent) + "- "
	next := key.Line // how many lines were taken
	for i, step := range list.Content {
		start := step.Line
		if step.Kind != yaml.MappingNode || step.Style&yaml.FlowStyle != 0 || start <= next || !strings.HasPrefix(lines[start-1], dash) {
			return nil, false
		}
		stop := end
		if i+1 < len(list.Content) {
			stop = list.Content[i+1].Line
		}
		last := stop - 1
		for last > start && outside(lines[last-1], d.indent) {
			last--
		}
		b := block{body: outdent(lines[start-1:last], d.indent), step: step}
		b.between, b.comment = lead(lines[next : start-1])
		if again, err := b.read(); err != nil || !same(again, step) {
			return nil, false
		}
		d.blocks = append(d.blocks, b)
		next = last
	}
	d.tail = strings.Join(lines[next:], "")
	return d, true
}

// outside says whether a line behind a step belongs to what comes after it.
func outside(line string, indent int) bool {
	bare := strings.TrimLeft(line, " ")
	return bare == "\n" || bare[0] == '#' && len(line)-len(bare) <= indent
}

func outdent(lines []string, indent int) string {
	var b strings.Builder
	for _, line := range lines {
		for range indent {
			line = strings.TrimPrefix(line, " ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// lead parts the lines before a step: the comment right above it goes where it goes.
func lead(lines []string) (between, comment string) {
	at := len(lines)
	for at > 0 && strings.TrimSpace(lines[at-1]) != "" {
		at--
	}
	return strings.Join(lines[:at], ""), strings.Join(lines[at:], "")
}

// read is the step of a block, from its text.
func (b *block) read() (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(b.body), &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.SequenceNode || len(doc.Content[0].Content) != 1 {
		return nil, errors.New("a step is no item of a list")
	}
	return doc.Content[0].Content[0], nil
}

// change writes a step anew.
func (b *block) change(how func(step *yaml.Node)) error {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(b.body), &doc); err != nil {
		return err
	}
	step := doc.Content[0].Content[0]
	how(step)
	raw, err := written(&doc)
	if err != nil {
		return err
	}
	b.body, b.step = raw, step
	return nil
}

func written(n *yaml.Node) (string, error) {
	var out bytes.Buffer
	if err := document.EncodeYAML(&out, n); err != nil {
		return "", fmt.Errorf("write a draft: %w", err)
	}
	return out.String(), nil
}

// spread writes a text so that each step begins a line.
func spread(text string) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return "", err
	}
	root := doc.Content[0]
	root.Style &^= yaml.FlowStyle
	key, list := entry(root, FieldSteps)
	key.Style, list.Style = 0, list.Style&^yaml.FlowStyle
	if list.LineComment != "" {
		key.LineComment, list.LineComment = list.LineComment, ""
	}
	quoteLong(root)
	for _, step := range list.Content {
		step.Style &^= yaml.FlowStyle
		step.HeadComment, step.LineComment = "", strings.TrimSpace(step.LineComment)
	}
	return written(&doc)
}

// quoteLong puts texts in quotes that end with empty lines: where such a text stands open, it cannot be seen where its step ends.
func quoteLong(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && strings.HasSuffix(n.Value, "\n\n") {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		quoteLong(c)
	}
}

// same says whether two nodes say the same, however they are written.
func same(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && a.ShortTag() == b.ShortTag() && slices.EqualFunc(a.Content, b.Content, same)
}

// entry is what a mapping has under a name, and the name itself; nil for none.
func entry(m *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return m.Content[i], m.Content[i+1]
		}
	}
	return nil, nil
}

func textOf(m *yaml.Node, name string) string {
	if _, v := entry(m, name); v != nil && v.Kind == yaml.ScalarNode && v.ShortTag() != "!!null" {
		return v.Value
	}
	return ""
}

// Text is the text as it is now.
func (d *Draft) Text() (string, error) {
	var b strings.Builder
	b.WriteString(d.head + d.opener)
	if len(d.blocks) == 0 {
		b.WriteString(" []")
	}
	if d.beside != "" {
		b.WriteString(" " + strings.TrimLeft(d.beside, " "))
	}
	b.WriteByte('\n')
	indent := strings.Repeat(" ", d.indent)
	for i := range d.blocks {
		b.WriteString(d.blocks[i].between + d.blocks[i].comment)
		for line := range strings.Lines(d.blocks[i].body) {
			if line != "\n" {
				b.WriteString(indent)
			}
			b.WriteString(line)
		}
	}
	b.WriteString(d.tail)
	if !d.json {
		return b.String(), nil
	}
	tree, wrong := document.Read([]byte(b.String()), MaxBytes)
	if wrong != nil {
		return "", Faults{{Line: wrong.Line, Field: wrong.Field}}
	}
	typed(&tree)
	raw, err := document.Write(tree, document.JSON, "")
	return string(raw), err
}

// typed lets only what JSON has besides texts stand there without quotes.
func typed(n *document.Node) {
	if n.Plain && n.Text != "true" && n.Text != "false" {
		_, err := strconv.ParseInt(n.Text, 10, 64)
		n.Plain = err == nil
	}
	for i := range n.Keys {
		n.Keys[i].Plain = false
	}
	for i := range n.Items {
		typed(&n.Items[i])
	}
}

// IDs are the ids of the steps, in the order of the text.
func (d *Draft) IDs() []string {
	ids := make([]string, len(d.blocks))
	for i := range d.blocks {
		ids[i] = textOf(d.blocks[i].step, FieldID)
	}
	return ids
}

// find is the place of a step; -1 for none.
func (d *Draft) find(id string) int { return slices.Index(d.IDs(), id) }

// Add puts a new step at the end, which needs the last one that was there, and gives it an id that is free.
func (d *Draft) Add(kind Kind) (id string, err error) {
	ids := d.IDs()
	taken := func(id string) bool {
		return slices.ContainsFunc(ids, func(other string) bool { return strings.EqualFold(other, id) })
	}
	n := len(ids) + 1
	for taken("step" + strconv.Itoa(n)) {
		n++
	}
	id = "step" + strconv.Itoa(n)
	b := block{body: "- id: " + id + "\n"}
	if len(d.blocks) > 1 && strings.HasPrefix(d.blocks[len(d.blocks)-1].between, "\n") {
		b.between = "\n"
	}
	err = b.change(func(step *yaml.Node) {
		if last := len(ids) - 1; last >= 0 && ids[last] != "" {
			put(step, FieldNeeds, scalar(ids[last]), stepFields)
		}
		putKind(step, kind)
	})
	d.blocks = append(d.blocks, b)
	return id, err
}

// Remove takes a step away, also from what others need.
func (d *Draft) Remove(id string) error {
	i := d.find(id)
	if i < 0 {
		return nil
	}
	if i+1 < len(d.blocks) {
		d.blocks[i+1].between = d.blocks[i].between + strings.TrimPrefix(d.blocks[i+1].between, "\n")
	}
	d.blocks = slices.Delete(d.blocks, i, i+1)
	for _, other := range d.IDs() {
		if needs := d.Needs(other); slices.Contains(needs, id) {
			if err := d.SetNeeds(other, slices.DeleteFunc(needs, func(n string) bool { return n == id })); err != nil {
				return err
			}
		}
	}
	return nil
}

// Move puts a step before (-1) or behind (1) its neighbour.
func (d *Draft) Move(id string, by int) {
	i := d.find(id)
	j := i + by
	if i < 0 || j < 0 || j >= len(d.blocks) {
		return
	}
	a, b := &d.blocks[i], &d.blocks[j]
	*a, *b = *b, *a
	a.between, b.between = b.between, a.between // this stays where it is
}

// Rename gives a step another id, also in what others need and in the expressions that read it. It fails with false where the id is none,
// or is another step's.
func (d *Draft) Rename(id, to string) (ok bool, err error) {
	i := d.find(id)
	if i < 0 || !IsID(to) {
		return false, nil
	}
	for j, other := range d.IDs() {
		if j != i && strings.EqualFold(other, to) {
			return false, nil
		}
	}
	for j := range d.blocks {
		if j != i && !slices.Contains(d.Needs(d.IDs()[j]), id) && !strings.Contains(d.blocks[j].body, id) {
			continue
		}
		err := d.blocks[j].change(func(step *yaml.Node) {
			if j == i {
				put(step, FieldID, scalar(to), stepFields)
			}
			if _, needs := entry(step, FieldNeeds); needs != nil {
				for _, n := range append(slices.Clone(needs.Content), needs) {
					if n.Kind == yaml.ScalarNode && n.Value == id {
						n.Value = to
					}
				}
			}
			for k := 0; k+1 < len(step.Content); k += 2 {
				name, value := step.Content[k].Value, step.Content[k+1]
				switch name {
				case FieldID, FieldNeeds, FieldName, FieldJob, FieldFlow:
				case FieldForeach:
					if _, items := entry(value, FieldItems); items != nil {
						items.Value = renamed(items.Value, id, to, true)
					}
				case FieldApprove, FieldWait:
					for _, v := range value.Content {
						v.Value = renamed(v.Value, id, to, false)
					}
				default:
					value.Value = renamed(value.Value, id, to, name == FieldIf)
				}
			}
		})
		if err != nil {
			return false, err
		}
	}
	d.head, d.tail = renamed(d.head, id, to, true), renamed(d.tail, id, to, true) // where the outputs of the flow are
	return true, nil
}

var inBraces = regexp.MustCompile(`(?s)\$\{\{.*?\}\}`)

// renamed is a text whose expressions read a step by its new id. whole says that all of it is one.
func renamed(text, id, to string, whole bool) string {
	read := regexp.MustCompile(`\bsteps\s*(?:\??\.\s*` + regexp.QuoteMeta(id) + `\b|\[\s*["']` + regexp.QuoteMeta(id) + `["']\s*\])`)
	in := func(expression string) string {
		return read.ReplaceAllStringFunc(expression, func(s string) string {
			at := strings.LastIndex(s, id)
			return s[:at] + to + s[at+len(id):]
		})
	}
	if whole {
		return in(text)
	}
	return inBraces.ReplaceAllStringFunc(text, in)
}

// Needs are the steps that a step needs.
func (d *Draft) Needs(id string) []string {
	i := d.find(id)
	if i < 0 {
		return nil
	}
	_, needs := entry(d.blocks[i].step, FieldNeeds)
	switch {
	case needs == nil || needs.ShortTag() == "!!null":
		return nil
	case needs.Kind == yaml.ScalarNode:
		return []string{needs.Value}
	}
	var ids []string
	for _, n := range needs.Content {
		ids = append(ids, n.Value)
	}
	return ids
}

// SetNeeds says what a step needs.
func (d *Draft) SetNeeds(id string, needs []string) error {
	i := d.find(id)
	if i < 0 {
		return nil
	}
	return d.blocks[i].change(func(step *yaml.Node) {
		switch _, old := entry(step, FieldNeeds); {
		case len(needs) == 0:
			drop(step, FieldNeeds)
		case len(needs) == 1 && (old == nil || old.Kind != yaml.SequenceNode):
			put(step, FieldNeeds, scalar(needs[0]), stepFields)
		default:
			list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
			var kept []*yaml.Node
			if old != nil && old.Kind == yaml.SequenceNode {
				list.Style, kept = old.Style, old.Content
			}
			for _, need := range needs {
				n := scalar(need)
				if at := slices.IndexFunc(kept, func(n *yaml.Node) bool { return n.Value == need }); at >= 0 {
					n = kept[at]
				}
				list.Content = append(list.Content, n)
			}
			put(step, FieldNeeds, list, stepFields)
		}
	})
}

// Kind is what a step does, also where it does not say yet which job: `job:` alone.
func (d *Draft) Kind(id string) Kind {
	if i := d.find(id); i >= 0 {
		for _, kind := range AllKinds {
			if key, _ := entry(d.blocks[i].step, string(kind)); key != nil {
				return kind
			}
		}
	}
	return ""
}

// SetKind lets a step do something else. What only steps of the kind before have is taken away.
func (d *Draft) SetKind(id string, kind Kind) error {
	i := d.find(id)
	if i < 0 || !slices.Contains(AllKinds, kind) {
		return nil
	}
	return d.blocks[i].change(func(step *yaml.Node) {
		for _, k := range AllKinds {
			drop(step, string(k))
		}
		if kind == KindApprove || kind == KindWait {
			for k := len(step.Content) - 2; k >= 0; k -= 2 {
				if name := step.Content[k].Value; !slices.Contains([]string{FieldID, FieldName, FieldNeeds, FieldJoin, FieldIf, FieldContinue}, name) {
					drop(step, name)
				}
			}
		}
		putKind(step, kind)
	})
}

// Set writes a field of a step as a text, "foreach.items" for one of a part. An empty text takes it away, and the part with its last field.
// Fields of numbers get what is typed; [Parse] says whether it is one.
func (d *Draft) Set(id, field, text string, number bool) error {
	i := d.find(id)
	if i < 0 {
		return nil
	}
	part, inner, nested := strings.Cut(field, ".")
	value := scalar(text)
	if number {
		value = &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	}
	return d.blocks[i].change(func(step *yaml.Node) {
		in, name, order := step, part, stepFields
		if nested {
			_, m := entry(step, part)
			if m == nil || m.Kind != yaml.MappingNode {
				if text == "" {
					return
				}
				m = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
				put(step, part, m, stepFields)
			}
			if len(m.Content) == 0 {
				m.Style &^= yaml.FlowStyle
			}
			in, name, order = m, inner, partFields[part]
		}
		if text != "" {
			put(in, name, value, order)
			return
		}
		drop(in, name)
		if nested && len(in.Content) == 0 {
			if part == FieldForeach {
				drop(step, part)
			} else {
				in.Style |= yaml.FlowStyle
			}
		}
	})
}

// SetOnFailure says what becomes of steps that wait when another has failed.
func (d *Draft) SetOnFailure(to OnFailure) {
	field := regexp.MustCompile(`(?m)^( *)(?:on_failure|"on_failure"|'on_failure') *:[^#\n]*`)
	line := FieldOnFailure + ": " + string(to)
	for _, part := range []*string{&d.head, &d.tail} {
		if at := field.FindStringSubmatchIndex(*part); at != nil {
			gap := ""
			if at[1] < len(*part) && (*part)[at[1]] == '#' {
				gap = " "
			}
			*part = (*part)[:at[0]] + (*part)[at[2]:at[3]] + line + gap + (*part)[at[1]:]
			return
		}
	}
	margin := d.opener[:len(d.opener)-len(strings.TrimLeft(d.opener, " "))]
	d.head += margin + line + "\n"
}

// SetOutputs says what the flow gives. The lines that said it before go, with their comments.
func (d *Draft) SetOutputs(outputs []Output) error {
	margin := d.opener[:len(d.opener)-len(strings.TrimLeft(d.opener, " "))]
	for _, part := range []*string{&d.head, &d.tail} {
		*part = withoutOutputs(*part, margin)
	}
	if len(outputs) == 0 {
		return nil
	}
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, o := range outputs {
		m.Content = append(m.Content, scalar(o.Name), scalar(o.Value))
	}
	raw, err := written(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{scalar(FieldOutputs), m}})
	if err != nil {
		return err
	}
	if d.tail != "" && !strings.HasSuffix(d.tail, "\n") {
		d.tail += "\n"
	}
	for line := range strings.Lines(raw) {
		d.tail += margin + line
	}
	return nil
}

var outputsLine = regexp.MustCompile(`^(?:outputs|"outputs"|'outputs') *:`)

// withoutOutputs are lines without those of the outputs: that with their name, and those behind it that stand further in.
func withoutOutputs(lines, margin string) string {
	var b strings.Builder
	within, blank := false, ""
	for line := range strings.Lines(lines) {
		inner, at := strings.CutPrefix(line, margin)
		switch {
		case at && outputsLine.MatchString(inner):
			within = true
			continue
		case within && strings.TrimSpace(line) == "":
			blank += line
			continue
		case within && (strings.HasPrefix(inner, " ") || strings.HasPrefix(inner, "}")):
			blank = ""
			continue
		}
		b.WriteString(blank + line)
		within, blank = false, ""
	}
	b.WriteString(blank)
	return b.String()
}

// scalar is a text, in quotes where it would be something else without.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if strings.Contains(text, "\n") {
		n.Style = yaml.LiteralStyle
	}
	quoteLong(n)
	return n
}

// putKind adds what a step does, as far as that is known.
func putKind(step *yaml.Node, kind Kind) {
	switch kind {
	case KindJob, KindFlow:
		put(step, string(kind), &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}, stepFields)
	case KindApprove, KindWait:
		put(step, string(kind), &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}, stepFields)
	}
}

// partFields are the fields of the parts of a step, in the order of the manual.
var partFields = map[string][]string{FieldApprove: askFields, FieldWait: waitFields, FieldForeach: eachFields}

// put writes an entry of a mapping: over the old one, with its comments and quotes, or where it has its place among the fields.
func put(m *yaml.Node, name string, value *yaml.Node, fields []string) {
	if key, old := entry(m, name); old != nil {
		value.HeadComment, value.LineComment, value.FootComment = old.HeadComment, old.LineComment, old.FootComment
		if value.Kind == yaml.ScalarNode {
			value.LineComment, key.LineComment = cmp.Or(old.LineComment, key.LineComment), ""
		}
		if old.Kind == yaml.ScalarNode && value.Kind == yaml.ScalarNode && value.Tag == "!!str" && value.Style == 0 && old.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			value.Style = old.Style
		}
		*old = *value
		return
	}
	order := slices.Index(fields, name)
	at := len(m.Content)
	for i := 0; i < len(m.Content) && order >= 0; i += 2 {
		if slices.Index(fields, m.Content[i].Value) > order {
			at = i
			break
		}
	}
	m.Content = slices.Insert(m.Content, at, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}, value)
}

func drop(m *yaml.Node, name string) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			m.Content = slices.Delete(m.Content, i, i+2)
			return
		}
	}
}
