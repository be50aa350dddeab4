package jobfile

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/punctual-job/punctual/scheduler/invalid"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// What may be wrong with a file: the keys of the messages, with the arguments that these use.
const (
	CodeEmpty     = "import.error.empty"
	CodeSize      = "import.error.size"      // Max: megabytes
	CodeUTF8      = "import.error.utf8"      // the text is not UTF-8
	CodeSyntax    = "import.error.syntax"    // Reason: in the parser's English
	CodeDocuments = "import.error.documents" // a second YAML document begins
	CodeAnchor    = "import.error.anchor"    // an anchor, an alias or a tag
	CodeDeep      = "import.error.deep"
	CodeVersion   = "import.error.version"     // Value
	CodeUnknown   = "import.error.unknown"     // Field
	CodeNear      = "import.error.near"        // Field, Near: what may have been meant
	CodeTwice     = "import.error.twice"       // Field
	CodeMissing   = "import.error.missing"     // Field
	CodeText      = "import.error.text"        // Field: is no text
	CodeNumber    = "import.error.number"      // Field
	CodeFlag      = "import.error.flag"        // Field
	CodeList      = "import.error.list"        // Field
	CodeMapping   = "import.error.mapping"     // Field
	CodeState     = "import.error.state"       // Value
	CodeMany      = "import.error.many"        // Max: jobs
	CodeSameJob   = "import.error.same_job"    // Name, First: the line where it is already
	CodeSameID    = "import.error.same_id"     // ID, First
	CodeSameGroup = "import.error.same_group"  // Name, First
	CodeRef       = "import.error.ref"         // a child that is named neither by a description nor by an id
	CodeNoScript  = "import.error.both_script" // a script that is said to be left out
)

const (
	maxFaults = 50 // more would not be read
	maxDepth  = 20
	maxMisses = 2 // letters by which a wrong name may differ from the one that is suggested
)

// Fault is what is wrong in a line of a file. Here it names no field: the file's author sees the line.
type Fault struct {
	Line int
	invalid.Field
}

func faultAt(line int, key string, args ...any) *Fault {
	return &Fault{Line: line, Field: invalid.Field{Key: key, Args: args}}
}

// Faults are the first of a file's, in the order of their lines.
type Faults []Fault

// Error implements error, for logs.
func (f Faults) Error() string {
	texts := make([]string, len(f))
	for i, fault := range f {
		texts[i] = fmt.Sprintf("line %d: %s %v", fault.Line, fault.Key, fault.Args)
	}
	return strings.Join(texts, "; ")
}

// Parse reads a file, YAML or JSON. The error is [Faults].
func Parse(raw []byte) (File, error) {
	if len(raw) > MaxBytes {
		return File{}, Faults{*faultAt(1, CodeSize, "Max", MaxBytes>>20)}
	}
	raw = bytes.TrimPrefix(raw, []byte("\uFEFF"))
	if !utf8.Valid(raw) {
		before, _, _ := bytes.Cut([]byte(strings.ToValidUTF8(string(raw), "\uFFFD")), []byte("\uFFFD"))
		return File{}, Faults{*faultAt(1+bytes.Count(before, []byte("\n")), CodeUTF8)}
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return File{}, Faults{*faultAt(1, CodeEmpty)}
	}
	tree, wrong := readTree(raw)
	if wrong != nil {
		return File{}, Faults{*wrong}
	}
	var r reader
	f := r.file(tree)
	if len(r.faults) > 0 {
		slices.SortStableFunc(r.faults, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
		return File{}, r.faults[:min(len(r.faults), maxFaults)]
	}
	return f, nil
}

// reader turns a tree into a file and gathers what is wrong with it.
type reader struct {
	faults Faults
	jobs   int
}

func (r *reader) add(line int, key string, args ...any) {
	r.faults = append(r.faults, *faultAt(line, key, args...))
}

// fields goes through a mapping: each known name once. Names that are missing are reported, and false is returned for a node
// that is no mapping.
func (r *reader) fields(n node, name string, known, needed []string, each func(name string, line int, value node)) bool {
	if n.kind != mapping {
		r.add(n.line, CodeMapping, "Field", name)
		return false
	}
	seen := make(map[string]bool)
	for i, key := range n.keys {
		switch {
		case key.kind != scalar || !slices.Contains(known, key.text):
			if near := nearest(key.text, known); near != "" {
				r.add(key.line, CodeNear, "Field", shown(key), "Near", near)
			} else {
				r.add(key.line, CodeUnknown, "Field", shown(key))
			}
			continue
		case seen[key.text]:
			r.add(key.line, CodeTwice, "Field", key.text)
			continue
		}
		seen[key.text] = true
		if n.items[i].kind != nothing {
			each(key.text, key.line, n.items[i])
		} else if slices.Contains(needed, key.text) {
			r.add(key.line, CodeMissing, "Field", key.text)
		}
	}
	for _, name := range needed {
		if !seen[name] {
			r.add(n.line, CodeMissing, "Field", name)
		}
	}
	return true
}

// shown is a key as a message shows it.
func shown(key node) string {
	if r := []rune(key.text); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return key.text
}

func (r *reader) file(n node) File {
	var f File
	first := make(map[string]int)
	r.fields(n, fieldVersion, []string{fieldVersion, fieldGroups}, []string{fieldVersion, fieldGroups}, func(name string, line int, value node) {
		switch name {
		case fieldVersion:
			if value.text != version {
				r.add(line, CodeVersion, "Value", shown(value))
			}
		case fieldGroups:
			for _, item := range r.items(name, value) {
				g := r.group(item)
				// Old databases have executors with the same app name.
				key := g.AppName + "\x00" + g.Title
				if before, twice := first[key]; twice && g.AppName != "" {
					r.add(g.Line, CodeSameGroup, "Name", g.AppName, "First", before)
				}
				first[key] = g.Line
				f.Groups = append(f.Groups, g)
			}
		}
	})
	r.sameJobs(f)
	return f
}

func (r *reader) items(name string, n node) []node {
	if n.kind != list {
		r.add(n.line, CodeList, "Field", name)
		return nil
	}
	return n.items
}

func (r *reader) group(n node) Group {
	g := Group{Line: n.line}
	r.fields(n, fieldGroups, []string{fieldAppName, fieldTitle, fieldJobs}, []string{fieldAppName}, func(name string, line int, value node) {
		switch name {
		case fieldAppName:
			if r.text(name, value, &g.AppName); value.kind == scalar && value.text == "" {
				r.add(line, CodeMissing, "Field", name)
			}
		case fieldTitle:
			r.text(name, value, &g.Title)
		case fieldJobs:
			for _, item := range r.items(name, value) {
				if r.jobs++; r.jobs > MaxJobs {
					r.add(item.line, CodeMany, "Max", MaxJobs)
					return
				}
				g.Jobs = append(g.Jobs, r.job(item))
			}
		}
	})
	return g
}

func (r *reader) job(n node) Job {
	j := Job{Line: n.line, lines: make(map[string]int), Values: make(Values)}
	r.fields(n, fieldJobs, fieldNames, required, func(name string, line int, value node) {
		j.lines[name] = line
		switch name {
		case FieldID:
			r.number(name, value, &j.ID)
		case FieldState:
			r.text(name, value, &j.State)
		case fieldOmitted:
			j.ScriptOmitted = r.flag(name, value)
		case fieldChildren:
			for _, item := range r.items(name, value) {
				j.Children = append(j.Children, r.ref(item))
			}
		default:
			j.Values.Set(name, r.values(name, value)...)
		}
	})
	if j.State != "" && j.State != Running && j.State != Stopped {
		r.add(j.LineOf(FieldState), CodeState, "Value", j.State)
	}
	if j.ScriptOmitted && j.Values.Get(fieldScript) != "" {
		r.add(j.LineOf(fieldOmitted), CodeNoScript)
	}
	return j
}

// values reads a field of a definition as its kind is written.
func (r *reader) values(name string, n node) []string {
	var text string
	switch kinds[name] {
	case jobspec.Number:
		var v int64
		if r.number(name, n, &v); v != 0 {
			text = strconv.FormatInt(v, 10)
		}
	case jobspec.Flag:
		if r.flag(name, n) {
			text = "true"
		}
	case jobspec.List:
		var list []string
		for _, item := range r.items(name, n) {
			r.text(name, item, &text)
			list = append(list, text)
		}
		return list
	case jobspec.Text, jobspec.Choice, jobspec.Moments:
		r.text(name, n, &text)
	}
	return []string{text}
}

func (r *reader) flag(name string, n node) bool {
	if n.kind != scalar || !n.plain || n.text != "true" && n.text != "false" {
		r.add(n.line, CodeFlag, "Field", name)
	}
	return n.text == "true"
}

// ref is a child: an id alone, or a mapping.
func (r *reader) ref(n node) Ref {
	ref := Ref{Line: n.line}
	if n.kind == scalar {
		r.number(FieldID, n, &ref.ID)
		return ref
	}
	before := len(r.faults)
	r.fields(n, fieldChildren, []string{fieldAppName, FieldDescription, FieldID}, nil, func(name string, _ int, value node) {
		switch name {
		case fieldAppName:
			r.text(name, value, &ref.AppName)
		case FieldDescription:
			r.text(name, value, &ref.Description)
		case FieldID:
			r.number(name, value, &ref.ID)
		}
	})
	if len(r.faults) == before && (ref.Description == "") != (ref.AppName == "") || ref.Description == "" && ref.ID == 0 && len(r.faults) == before {
		r.add(n.line, CodeRef)
	}
	return ref
}

// text takes any scalar as it is written: 007 is a parameter, and so is yes.
func (r *reader) text(name string, n node, into *string) {
	if n.kind != scalar {
		r.add(n.line, CodeText, "Field", name)
		return
	}
	*into = n.text
}

func (r *reader) number(name string, n node, into *int64) {
	v, err := strconv.ParseInt(n.text, 10, 64)
	if n.kind != scalar || err != nil {
		r.add(n.line, CodeNumber, "Field", name)
		return
	}
	*into = v
}

// sameJobs reports what is there twice. Descriptions are not unique, so jobs that share one are told apart by their ids.
func (r *reader) sameJobs(f File) {
	type seen struct{ line, unnamed int }
	ids := make(map[int64]int)
	for _, g := range f.Groups {
		names := make(map[string]seen)
		for _, j := range g.Jobs {
			if j.ID != 0 {
				if first, twice := ids[j.ID]; twice {
					r.add(j.LineOf(FieldID), CodeSameID, "ID", j.ID, "First", first)
				} else {
					ids[j.ID] = j.Line
				}
			}
			before, twice := names[j.Description()]
			if twice && (j.ID == 0 || before.unnamed > 0) && j.Description() != "" {
				r.add(j.Line, CodeSameJob, "Name", j.Description(), "First", before.line)
			}
			if !twice {
				before.line = j.Line
			}
			if j.ID == 0 {
				before.unnamed++
			}
			names[j.Description()] = before
		}
	}
}

// nearest is the known name that a wrong one was probably meant to be; empty if none is close.
func nearest(wrong string, known []string) string {
	best, cost := "", maxMisses+1
	if len(wrong) > 60 {
		return ""
	}
	for _, name := range known {
		if d := distance(wrong, name); d < cost && d < len(name) {
			best, cost = name, d
		}
	}
	return best
}

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
