package jobfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// head begins a YAML file.
const head = "# Jobs of a Punctual installation; docs/jobfile.md describes the fields.\n"

// Write writes a file. The same jobs give the same bytes.
func Write(f File, as Format) ([]byte, error) {
	tree := fileTree(f)
	var out bytes.Buffer
	if as == JSON {
		writeJSON(&out, tree, "")
		out.WriteByte('\n')
		return out.Bytes(), nil
	}
	out.WriteString(head)
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(toYAML(tree)); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return out.Bytes(), encoder.Close()
}

func fileTree(f File) node {
	n := node{kind: mapping}
	n.add(fieldVersion, node{kind: scalar, text: version, plain: true})
	groups := node{kind: list}
	for _, g := range f.Groups {
		group := node{kind: mapping}
		group.addText(fieldAppName, g.AppName)
		group.addText(fieldTitle, g.Title)
		jobs := node{kind: list}
		for _, j := range g.Jobs {
			jobs.items = append(jobs.items, jobTree(j))
		}
		group.add(fieldJobs, jobs)
		groups.items = append(groups.items, group)
	}
	n.add(fieldGroups, groups)
	return n
}

func jobTree(j Job) node {
	n := node{kind: mapping}
	for _, name := range fieldNames {
		switch text := j.Values.Get(name); {
		case name == FieldID:
			n.addNumber(name, j.ID)
		case name == FieldState:
			n.addText(name, j.State)
		case name == fieldOmitted:
			n.addFlag(name, j.ScriptOmitted)
		case name == fieldChildren:
			n.addList(name, childrenTree(j.Children))
		case kinds[name] == jobspec.List:
			items := node{kind: list}
			for _, text := range j.Values[name] {
				items.items = append(items.items, node{kind: scalar, text: text})
			}
			n.addList(name, items)
		case kinds[name] == jobspec.Number:
			n.addDigits(name, text)
		case name == fieldEvery && plainSeconds(text):
			n.addDigits(name, text)
		case kinds[name] == jobspec.Flag:
			n.addFlag(name, text != "")
		case text == "" && slices.Contains(required, name):
			n.add(name, node{kind: scalar})
		default:
			n.addText(name, text)
		}
	}
	return n
}

func childrenTree(children []Ref) node {
	items := node{kind: list}
	for _, r := range children {
		ref := node{kind: mapping}
		ref.addText(fieldAppName, r.AppName)
		ref.addText(FieldDescription, r.Description)
		ref.addNumber(FieldID, r.ID)
		items.items = append(items.items, ref)
	}
	return items
}

func (n *node) add(name string, value node) {
	n.keys = append(n.keys, node{kind: scalar, text: name})
	n.items = append(n.items, value)
}

func (n *node) addText(name, text string) {
	if text != "" {
		n.add(name, node{kind: scalar, text: strings.ToValidUTF8(text, "\uFFFD")})
	}
}

func (n *node) addNumber(name string, value int64) {
	if value != 0 {
		n.addDigits(name, strconv.FormatInt(value, 10))
	}
}

func (n *node) addDigits(name, digits string) {
	if digits != "" {
		n.add(name, node{kind: scalar, text: digits, plain: true})
	}
}

// plainSeconds says whether a text, which may be anything in a database that others wrote, is a number as one is written.
func plainSeconds(text string) bool {
	_, err := strconv.ParseUint(text, 10, 32)
	return err == nil && text[0] != '0'
}

func (n *node) addFlag(name string, on bool) {
	if on {
		n.add(name, node{kind: scalar, text: "true", plain: true})
	}
}

func (n *node) addList(name string, value node) {
	if len(value.items) > 0 {
		n.add(name, value)
	}
}

func toYAML(n node) *yaml.Node {
	switch n.kind {
	case list, mapping:
		y := &yaml.Node{Kind: yaml.SequenceNode}
		if n.kind == mapping {
			y.Kind = yaml.MappingNode
		}
		for i, item := range n.items {
			if n.kind == mapping {
				y.Content = append(y.Content, toYAML(n.keys[i]))
			}
			y.Content = append(y.Content, toYAML(item))
		}
		return y
	case nothing, scalar:
	}
	y := &yaml.Node{Kind: yaml.ScalarNode, Value: n.text}
	if n.plain {
		return y
	}
	y.Tag = "!!str" // quoted where it would be read as something else
	switch {
	case awkward(n.text), slices.Contains(oldBooleans, strings.ToLower(n.text)):
		y.Style = yaml.DoubleQuotedStyle
	case strings.Contains(n.text, "\n"):
		y.Style = yaml.LiteralStyle
	}
	return y
}

// oldBooleans are truth values to readers of YAML 1.1, and words to us.
var oldBooleans = []string{"y", "n", "yes", "no", "on", "off"}

// awkward says whether a text would not survive, or not be seen, unless each strange character of it is written out.
func awkward(text string) bool {
	if strings.TrimLeft(text, " \n") != text || strings.HasSuffix(text, "\n\n") || strings.Contains(text, " \n") {
		return true
	}
	return strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && !unicode.IsPrint(r) || r == '\uFEFF'
	})
}

func writeJSON(out *bytes.Buffer, n node, indent string) {
	if n.kind == scalar || n.kind == nothing || len(n.items) == 0 {
		writeJSONLeaf(out, n)
		return
	}
	open, closing := "[", "]"
	if n.kind == mapping {
		open, closing = "{", "}"
	}
	out.WriteString(open)
	for i, item := range n.items {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n" + indent + "  ")
		if n.kind == mapping {
			writeJSONLeaf(out, n.keys[i])
			out.WriteString(": ")
		}
		writeJSON(out, item, indent+"  ")
	}
	out.WriteString("\n" + indent + closing)
}

func writeJSONLeaf(out *bytes.Buffer, n node) {
	switch {
	case n.kind == list:
		out.WriteString("[]")
	case n.kind == mapping:
		out.WriteString("{}")
	case n.plain:
		out.WriteString(n.text)
	default:
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(n.text) // a text and a buffer do not fail
		out.Truncate(out.Len() - 1)
	}
}
