// Package document reads what people write in YAML or JSON, strictly, and writes it: one tree for both formats, whose parts know their
// lines. What is unknown, there twice, or of the wrong kind is a [Fault]. Files of jobs and flows are such documents.
package document

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/punctual-job/punctual/scheduler/invalid"
)

// Format is how a document is written.
type Format string

const (
	YAML Format = "yaml"
	JSON Format = "json"
)

// What may be wrong with a document: the keys of the messages, with the arguments that these use.
const (
	CodeEmpty     = "import.error.empty"
	CodeSize      = "import.error.size"      // Max: megabytes
	CodeUTF8      = "import.error.utf8"      // the text is not UTF-8
	CodeSyntax    = "import.error.syntax"    // Reason: a field that says why
	CodeDocuments = "import.error.documents" // a second YAML document begins
	CodeAnchor    = "import.error.anchor"    // an anchor, an alias or a tag
	CodeDeep      = "import.error.deep"
	CodeUnknown   = "import.error.unknown" // Field
	CodeNear      = "import.error.near"    // Field, Near: what may have been meant
	CodeTwice     = "import.error.twice"   // Field
	CodeMissing   = "import.error.missing" // Field
	CodeText      = "import.error.text"    // Field: is no text
	CodeNumber    = "import.error.number"  // Field
	CodeFlag      = "import.error.flag"    // Field
	CodeList      = "import.error.list"    // Field
	CodeMapping   = "import.error.mapping" // Field
	CodeMore      = "import.error.more"    // N: how many faults are not told
)

const (
	maxFaults = 50 // more would not be read
	maxDepth  = 20
	maxMisses = 2 // letters by which a wrong name may differ from the one that is suggested
)

// Fault is what is wrong in a line of a document. It names no field: the author sees the line.
type Fault struct {
	Line int
	invalid.Field
}

func FaultAt(line int, key string, args ...any) *Fault {
	return &Fault{Line: line, Field: invalid.Field{Key: key, Args: args}}
}

// Faults are the first of a document's, in the order of their lines.
type Faults []Fault

// Error implements error, for logs.
func (f Faults) Error() string {
	texts := make([]string, len(f))
	for i, fault := range f {
		texts[i] = fmt.Sprintf("line %d: %s %v", fault.Line, fault.Key, fault.Args)
	}
	return strings.Join(texts, "; ")
}

// Sorted is the first of them in the order of their lines, as many as anybody reads, and how many more there are.
func (f Faults) Sorted() Faults {
	slices.SortStableFunc(f, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	if left := len(f) - maxFaults; left > 0 {
		return append(f[:maxFaults:maxFaults], *FaultAt(f[maxFaults].Line, CodeMore, "N", left))
	}
	return f
}

// Read reads a text of at most so many bytes, in the format that it looks like: JSON begins with a brace.
func Read(raw []byte, maxBytes int) (Node, *Fault) {
	if len(raw) > maxBytes {
		return Node{}, FaultAt(1, CodeSize, "Max", maxBytes>>20)
	}
	raw = bytes.TrimPrefix(raw, []byte("\uFEFF"))
	if !utf8.Valid(raw) {
		before, _, _ := bytes.Cut([]byte(strings.ToValidUTF8(string(raw), "\uFFFD")), []byte("\uFFFD"))
		return Node{}, FaultAt(1+bytes.Count(before, []byte("\n")), CodeUTF8)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return Node{}, FaultAt(1, CodeEmpty)
	}
	return readTree(raw)
}

// Reader takes values from a tree and gathers what is wrong with it.
type Reader struct{ Faults Faults }

// Add notes a fault.
func (r *Reader) Add(line int, key string, args ...any) {
	r.Faults = append(r.Faults, *FaultAt(line, key, args...))
}

// Fields goes through a mapping: each known name once. Names that are missing are reported, and false is returned for a node
// that is no mapping.
func (r *Reader) Fields(n Node, name string, known, needed []string, each func(name string, line int, value Node)) bool {
	if n.Kind != Mapping {
		r.Add(n.Line, CodeMapping, "Field", name)
		return false
	}
	seen := make(map[string]bool)
	for i, key := range n.Keys {
		switch {
		case key.Kind != Scalar || !slices.Contains(known, key.Text):
			if near := Nearest(key.Text, known); near != "" {
				r.Add(key.Line, CodeNear, "Field", key.Shown(), "Near", near)
			} else {
				r.Add(key.Line, CodeUnknown, "Field", key.Shown())
			}
			continue
		case seen[key.Text]:
			r.Add(key.Line, CodeTwice, "Field", key.Text)
			continue
		}
		seen[key.Text] = true
		if n.Items[i].Kind != Nothing {
			each(key.Text, key.Line, n.Items[i])
		} else if slices.Contains(needed, key.Text) {
			r.Add(key.Line, CodeMissing, "Field", key.Text)
		}
	}
	for _, name := range needed {
		if !seen[name] {
			r.Add(n.Line, CodeMissing, "Field", name)
		}
	}
	return true
}

// Shown is a key or a value as a message shows it.
func (n Node) Shown() string {
	if r := []rune(n.Text); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return n.Text
}

// List is what stands in a list.
func (r *Reader) List(name string, n Node) []Node {
	if n.Kind != List {
		r.Add(n.Line, CodeList, "Field", name)
		return nil
	}
	return n.Items
}

// Text takes any scalar as it is written: 007 is a parameter, and so is yes.
func (r *Reader) Text(name string, n Node, into *string) {
	if n.Kind != Scalar {
		r.Add(n.Line, CodeText, "Field", name)
		return
	}
	*into = n.Text
}

// Number takes a whole number.
func (r *Reader) Number(name string, n Node, into *int64) {
	v, err := strconv.ParseInt(n.Text, 10, 64)
	if n.Kind != Scalar || err != nil {
		r.Add(n.Line, CodeNumber, "Field", name)
		return
	}
	*into = v
}

// Flag takes true or false, without quotes.
func (r *Reader) Flag(name string, n Node) bool {
	if n.Kind != Scalar || !n.Plain || n.Text != "true" && n.Text != "false" {
		r.Add(n.Line, CodeFlag, "Field", name)
	}
	return n.Text == "true"
}

// Nearest is the known name that a wrong one was probably meant to be, or is short for; empty if none is.
func Nearest(wrong string, known []string) string {
	best, cost := "", maxMisses+1
	if len(wrong) > 60 {
		return ""
	}
	for _, name := range known {
		if d := distance(wrong, name); d < cost && d < len(name) {
			best, cost = name, d
		}
	}
	if best == "" && len(wrong) >= leastShort {
		for _, name := range known {
			if strings.HasPrefix(name, wrong) && (best == "" || len(name) < len(best)) {
				best = name
			}
		}
	}
	return best
}

// leastShort is how many letters at least are short for a name.
const leastShort = 3

// distance is how many letters to change, add or take away make one text of another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
