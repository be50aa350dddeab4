package document

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// YAML is the tree as the library has it.
func (n Node) YAML() *yaml.Node { return toYAML(n) }

func toYAML(n Node) *yaml.Node {
	switch n.Kind {
	case List, Mapping:
		y := &yaml.Node{Kind: yaml.SequenceNode}
		if n.Kind == Mapping {
			y.Kind = yaml.MappingNode
		}
		for i, item := range n.Items {
			if n.Kind == Mapping {
				y.Content = append(y.Content, toYAML(n.Keys[i]))
			}
			y.Content = append(y.Content, toYAML(item))
		}
		return y
	case Nothing:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	case Scalar:
	}
	y := &yaml.Node{Kind: yaml.ScalarNode, Value: n.Text}
	if n.Plain {
		return y
	}
	y.Tag = "!!str" // quoted where it would be read as something else
	switch {
	case awkward(n.Text), slices.Contains(oldBooleans, strings.ToLower(n.Text)):
		y.Style = yaml.DoubleQuotedStyle
	case strings.Contains(n.Text, "\n"):
		y.Style = yaml.LiteralStyle
	}
	return y
}

// oldBooleans are truth values to readers of YAML 1.1, and words to us.
var oldBooleans = []string{"y", "n", "yes", "no", "on", "off"}

// awkward says whether a text would not survive, or not be seen, unless each strange character of it is written out.
func awkward(text string) bool {
	if strings.TrimLeft(text, " \t\n") != text || strings.HasSuffix(text, "\n\n") || strings.Contains(text, " \n") {
		return true
	}
	return strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && !unicode.IsPrint(r) || r == '\uFEFF'
	})
}

// writer writes what the library would write of a tree. The library keeps every event of a document, which made the largest files take
// most of their time; here it is asked only how texts are written that are not plain words, each once.
type writer struct {
	out    *bytes.Buffer
	quoted map[string]string
}

func writeYAML(out *bytes.Buffer, tree Node) error {
	w := writer{out, make(map[string]string)}
	w.collect(tree)
	var texts []Node
	for text := range w.quoted {
		texts = append(texts, Node{Kind: Scalar, Text: text})
	}
	var lines bytes.Buffer
	for part := range slices.Chunk(texts, 500) {
		lines.Reset()
		if err := encode(&lines, Node{Kind: List, Items: part}); err != nil {
			return err
		}
		written := strings.Split(strings.TrimSuffix(lines.String(), "\n"), "\n")
		if len(written) != len(part) {
			return fmt.Errorf("%d texts stand in %d lines", len(part), len(written))
		}
		for i, line := range written {
			w.quoted[part[i].Text] = strings.TrimPrefix(line, "- ")
		}
	}
	return w.write(tree, 0)
}

// collect finds the texts that the library is asked about.
func (w writer) collect(n Node) {
	if len(n.Items) == 0 && n.Kind != Nothing && !n.Plain && !word(n.Text) && !literal(n.Text) {
		w.quoted[n.Text] = ""
	}
	for _, item := range n.Items {
		w.collect(item)
	}
}

// write writes the lines of a node, so far from the left.
func (w writer) write(n Node, indent int) error {
	if len(n.Items) == 0 {
		return w.whole(n, indent)
	}
	before := strings.Repeat(" ", indent)
	for i, item := range n.Items {
		if n.Kind == Mapping && !word(n.Keys[i].Text) || !item.Plain && literal(item.Text) {
			one := Node{Kind: n.Kind, Items: []Node{item}}
			if n.Kind == Mapping {
				one.Keys = n.Keys[i : i+1]
			}
			if err := w.whole(one, indent); err != nil {
				return err
			}
			continue
		}
		w.out.WriteString(before)
		if n.Kind == Mapping {
			w.out.WriteString(n.Keys[i].Text + ":")
		} else {
			w.out.WriteByte('-')
		}
		switch {
		case len(item.Items) == 0:
			w.leaf(item)
		case n.Kind == Mapping:
			w.out.WriteByte('\n')
			if err := w.write(item, indent+2); err != nil {
				return err
			}
		default: // its first line goes on behind the dash
			begin := w.out.Len() - 1
			w.out.Truncate(begin - indent)
			if err := w.write(item, indent+2); err != nil {
				return err
			}
			w.out.Bytes()[begin] = '-'
		}
	}
	return nil
}

// leaf ends a line with what has nothing below it.
func (w writer) leaf(n Node) {
	text := n.Text
	switch {
	case n.Kind == List:
		text = "[]"
	case n.Kind == Mapping:
		text = "{}"
	case n.Kind == Nothing:
		text = ""
	case !n.Plain && !word(text):
		text = w.quoted[text]
	}
	if text != "" {
		w.out.WriteString(" " + text)
	}
	w.out.WriteByte('\n')
}

// whole has the library write a node.
func (w writer) whole(n Node, indent int) error {
	var lines bytes.Buffer
	if err := encode(&lines, n); err != nil {
		return err
	}
	before := strings.Repeat(" ", indent)
	for line := range bytes.Lines(lines.Bytes()) {
		if len(line) > 1 { // the library indents no empty line of a text either
			w.out.WriteString(before)
		}
		w.out.Write(line)
	}
	return nil
}

func encode(out *bytes.Buffer, n Node) error { return EncodeYAML(out, toYAML(n)) }

// EncodeYAML writes a node. The library escapes characters beyond the basic plane, as emoji are, and writes a text with one of them into a
// single line; here they stay as they are. It is given a private character, which is nowhere else in the document, in place of each.
func EncodeYAML(out *bytes.Buffer, n *yaml.Node) error {
	there := make(map[rune]bool)
	characters(n, there)
	var instead, back []string
	private := privateFirst
	for _, r := range slices.Sorted(maps.Keys(there)) {
		for there[private] {
			private++
		}
		if r > '\uffff' && unicode.IsPrint(r) && private <= privateLast {
			instead, back = append(instead, string(r), string(private)), append(back, string(private), string(r))
			private++
		}
	}
	var lines bytes.Buffer
	encoder := yaml.NewEncoder(&lines)
	encoder.SetIndent(2)
	if err := encoder.Encode(replaced(n, strings.NewReplacer(instead...))); err != nil {
		return err
	}
	if err := encoder.Close(); err != nil {
		return err
	}
	_, err := strings.NewReplacer(back...).WriteString(out, lines.String())
	return err
}

// The private characters of the basic plane, which the library writes as they are.
const privateFirst, privateLast = '\ue000', '\uf8ff'

// characters finds those of a node that EncodeYAML asks for.
func characters(n *yaml.Node, there map[rune]bool) {
	for _, text := range []string{n.Value, n.HeadComment, n.LineComment, n.FootComment} {
		for _, r := range text {
			if r >= privateFirst {
				there[r] = true
			}
		}
	}
	for _, c := range n.Content {
		characters(c, there)
	}
}

// replaced is a node with other characters in its texts.
func replaced(n *yaml.Node, instead *strings.Replacer) *yaml.Node {
	other := *n
	if !strings.HasPrefix(n.Value, "\uFEFF") { // behind which the library escapes private ones too
		other.Value = instead.Replace(n.Value)
	}
	other.Content = make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		other.Content[i] = replaced(c, instead)
	}
	return &other
}

// literal says that a text is written as a block of lines.
func literal(text string) bool { return strings.Contains(text, "\n") && !awkward(text) }

// word says that a text is written as it is: letters and what never means anything to YAML among them, single spaces too, and no name of a
// value. What begins with a digit, as most cron expressions do, has spaces and neither a dash nor a colon, so it is no number and no time.
func word(text string) bool {
	if text == "" || len(text) >= 100 || text[len(text)-1] == ' ' {
		return false
	}
	if text[0] >= '0' && text[0] <= '9' && (!strings.Contains(text, " ") || strings.Contains(text, "-")) {
		return false
	}
	for i, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', unicode.Is(unicode.Han, r):
		case i > 0 && (strings.ContainsRune("_./=-*?,;", r) || r == ' ' && text[i-1] != ' '):
		default:
			return false
		}
	}
	if len(text) > longestName {
		return true
	}
	name := strings.ToLower(text)
	return !slices.Contains(names, name) && !slices.Contains(oldBooleans, name)
}

// longestName is the length of the longest of names and oldBooleans.
const longestName = len("false")

// names are values of their own to readers of YAML.
var names = []string{"true", "false", "null"}
