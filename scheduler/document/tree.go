package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Kind is what a Node is, whichever format it is written in.
type Kind int

// The kinds of nodes.
const (
	Nothing Kind = iota // null, or a YAML key without a value
	Scalar              // a text, a number, a truth value: as it is written
	List
	Mapping
)

// Node is a part of a document.
type Node struct {
	Kind   Kind
	Line   int
	Text   string // of a scalar
	Items  []Node // of a list; of a mapping its values
	Keys   []Node // of a mapping, one for each item
	Plain  bool   // a scalar that was written without quotes, or a JSON number or truth value
	Beside string // of a scalar without quotes: the comment on its line
	Begin  int    // the line on which a text begins whose lines are those of the document, as after a |; 0 of any other
}

// readTree reads a text in the format that it looks like: JSON begins with a brace.
func readTree(raw []byte) (Node, *Fault) {
	if begin := bytes.TrimLeft(raw, " \t\r\n"); len(begin) > 0 && begin[0] == '{' {
		return readJSON(raw)
	}
	return readYAML(raw)
}

var yamlPlace = regexp.MustCompile(`^(?:line|document starting at line) (\d+):? ?`)

// readYAML reads one document. Anchors and tags are refused: with them a small text could stand for a huge one.
func readYAML(raw []byte) (Node, *Fault) {
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	var document, more yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return Node{}, FaultAt(1, CodeEmpty)
		}
		return Node{}, yamlFault(raw, err)
	}
	if err := decoder.Decode(&more); err == nil {
		return Node{}, FaultAt(more.Line, CodeDocuments)
	} else if !errors.Is(err, io.EOF) {
		return Node{}, yamlFault(raw, err)
	}
	return fromYAML(&document, 0)
}

// maxBisected bounds the text in which the line of a fault is looked for: it is parsed again a dozen times.
const maxBisected = 256 << 10

// yamlFault says where a text stops being YAML. The parser often names the line where the list or mapping around the fault
// began; the first line without which the text is still good is the one that people look for.
func yamlFault(raw []byte, err error) *Fault {
	reason := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if place := yamlPlace.FindStringSubmatch(reason); place != nil {
		line, _ = strconv.Atoi(place[1])
		reason = strings.TrimPrefix(reason, place[0])
	}
	lines := bytes.SplitAfter(raw, []byte("\n"))
	if len(raw) <= maxBisected {
		line = sort.Search(len(lines)-1, func(i int) bool {
			var document yaml.Node
			return yaml.Unmarshal(bytes.Join(lines[:i+1], nil), &document) != nil
		}) + 1
	}
	return FaultAt(line, CodeSyntax, "Reason", yamlWhy(reason, lines[min(max(line, 1), len(lines))-1]))
}

// FromYAML is a tree that the library has read.
func FromYAML(n *yaml.Node) (Node, *Fault) { return fromYAML(n, 0) }

func fromYAML(y *yaml.Node, depth int) (Node, *Fault) {
	n := Node{Line: y.Line}
	switch {
	case depth > maxDepth:
		return n, FaultAt(y.Line, CodeDeep)
	case y.Kind == yaml.AliasNode, y.Anchor != "", y.Style&yaml.TaggedStyle != 0:
		return n, FaultAt(y.Line, CodeAnchor)
	}
	switch y.Kind {
	case yaml.DocumentNode:
		return fromYAML(y.Content[0], depth)
	case yaml.ScalarNode:
		n.Kind, n.Text, n.Plain = Scalar, y.Value, y.Style == 0
		if n.Plain {
			n.Beside = y.LineComment
		}
		if y.ShortTag() == "!!null" {
			n.Kind = Nothing
		}
		if y.Style&yaml.LiteralStyle != 0 {
			n.Begin = y.Line + 1
		}
		return n, nil
	case yaml.SequenceNode:
		n.Kind = List
	case yaml.MappingNode:
		n.Kind = Mapping
	case yaml.AliasNode:
	}
	for i, child := range y.Content {
		c, fault := fromYAML(child, depth+1)
		if fault != nil {
			return n, fault
		}
		if n.Kind == Mapping && i%2 == 0 {
			n.Keys = append(n.Keys, c)
		} else {
			n.Items = append(n.Items, c)
		}
	}
	return n, nil
}

// readJSON reads one value, by its tokens, since these have places.
func readJSON(raw []byte) (Node, *Fault) {
	r := &jsonReader{raw: raw, decoder: json.NewDecoder(bytes.NewReader(raw)), line: 1}
	r.decoder.UseNumber()
	n, fault := r.value(0)
	if fault != nil {
		return n, fault
	}
	if _, err := r.decoder.Token(); !errors.Is(err, io.EOF) {
		return n, JSONFault(raw, nil, r.decoder.InputOffset())
	}
	return n, nil
}

type jsonReader struct {
	raw     []byte
	decoder *json.Decoder
	counted int // bytes whose lines are in line
	line    int
}

// here is the line of the token that was read last.
func (r *jsonReader) here() int { return r.at(int(r.decoder.InputOffset())) }

func (r *jsonReader) at(offset int) int {
	if offset = min(offset, len(r.raw)); offset > r.counted {
		r.line += bytes.Count(r.raw[r.counted:offset], []byte("\n"))
		r.counted = offset
	}
	return r.line
}

func (r *jsonReader) token() (json.Token, *Fault) {
	t, err := r.decoder.Token()
	if err == nil {
		return t, nil
	}
	return nil, JSONFault(r.raw, err, r.decoder.InputOffset())
}

func (r *jsonReader) value(depth int) (Node, *Fault) {
	t, fault := r.token()
	n := Node{Line: r.here()}
	if fault != nil {
		return n, fault
	}
	if depth > maxDepth {
		return n, FaultAt(n.Line, CodeDeep)
	}
	switch t := t.(type) {
	case nil:
	case string:
		n.Kind, n.Text = Scalar, t
	case json.Number:
		n.Kind, n.Text, n.Plain = Scalar, t.String(), true
	case bool:
		n.Kind, n.Text, n.Plain = Scalar, strconv.FormatBool(t), true
	case json.Delim:
		n.Kind = List
		if t == '{' {
			n.Kind = Mapping
		}
		for r.decoder.More() {
			if n.Kind == Mapping {
				key, fault := r.value(maxDepth)
				if fault != nil {
					return n, fault
				}
				n.Keys = append(n.Keys, key)
			}
			item, fault := r.value(depth + 1)
			if fault != nil {
				return n, fault
			}
			n.Items = append(n.Items, item)
		}
		if _, fault := r.token(); fault != nil { // the closing bracket
			return n, fault
		}
	}
	return n, nil
}
