package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Write writes a tree; head, comment lines, begins a document in YAML. The same tree gives the same bytes.
func Write(tree Node, as Format, head string) ([]byte, error) {
	var out bytes.Buffer
	if as == JSON {
		writeJSON(&out, tree, "")
		out.WriteByte('\n')
		return out.Bytes(), nil
	}
	out.WriteString(head)
	if err := writeYAML(&out, tree); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return out.Bytes(), nil
}

// Add adds a value to a mapping.
func (n *Node) Add(name string, value Node) {
	n.Keys = append(n.Keys, Node{Kind: Scalar, Text: name})
	n.Items = append(n.Items, value)
}

// AddText adds a text, unless it is empty.
func (n *Node) AddText(name, text string) {
	if text != "" {
		n.Add(name, Node{Kind: Scalar, Text: strings.ToValidUTF8(text, "\uFFFD")})
	}
}

// AddNumber adds a number, unless it is 0.
func (n *Node) AddNumber(name string, value int64) {
	if value != 0 {
		n.AddDigits(name, strconv.FormatInt(value, 10))
	}
}

// AddDigits adds a number as it is written.
func (n *Node) AddDigits(name, digits string) {
	if digits != "" {
		n.Add(name, Node{Kind: Scalar, Text: digits, Plain: true})
	}
}

// AddFlag adds a flag that is set.
func (n *Node) AddFlag(name string, on bool) {
	if on {
		n.Add(name, Node{Kind: Scalar, Text: "true", Plain: true})
	}
}

// AddList adds a list, unless it is empty.
func (n *Node) AddList(name string, value Node) {
	if len(value.Items) > 0 {
		n.Add(name, value)
	}
}

func writeJSON(out *bytes.Buffer, n Node, indent string) {
	if n.Kind == Scalar || n.Kind == Nothing || len(n.Items) == 0 {
		writeJSONLeaf(out, n)
		return
	}
	open, closing := "[", "]"
	if n.Kind == Mapping {
		open, closing = "{", "}"
	}
	out.WriteString(open)
	for i, item := range n.Items {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n" + indent + "  ")
		if n.Kind == Mapping {
			writeJSONLeaf(out, n.Keys[i])
			out.WriteString(": ")
		}
		writeJSON(out, item, indent+"  ")
	}
	out.WriteString("\n" + indent + closing)
}

func writeJSONLeaf(out *bytes.Buffer, n Node) {
	switch {
	case n.Kind == List:
		out.WriteString("[]")
	case n.Kind == Mapping:
		out.WriteString("{}")
	case n.Kind == Nothing:
		out.WriteString("null")
	case n.Plain:
		out.WriteString(n.Text)
	default:
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(n.Text) // a text and a buffer do not fail
		out.Truncate(out.Len() - 1)
	}
}
