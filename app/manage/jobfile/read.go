package jobfile

import (
	"slices"
	"strconv"

	"github.com/punctual-job/punctual/scheduler/document"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// What may be wrong with a file, beside what may be wrong with any document.
const (
	CodeTwice        = document.CodeTwice
	CodeSize         = document.CodeSize
	CodeVersion      = "import.error.version"       // Value
	CodeState        = "import.error.state"         // Value
	CodeOwn          = "import.error.own"           // Field: no default, as it is each job\'s own
	CodeMany         = "import.error.many"          // Max: jobs
	CodeTogether     = "import.error.size_together" // Max: megabytes of all files
	CodeManyTogether = "import.error.many_together" // Max: jobs of all files
	CodeSameJob      = "import.error.same_job"      // Name, First: the line where it is already
	CodeSameID       = "import.error.same_id"       // ID, First
	CodeSameGroup    = "import.error.same_group"    // Name, First
	CodeRef          = "import.error.ref"           // a child that is named neither by a description nor by an id
	CodeNoScript     = "import.error.both_script"   // a script that is said to be left out
)

// Fault is what is wrong in a line of a file.
type Fault = document.Fault

// Faults are the first of a file's, in the order of their lines.
type Faults = document.Faults

// Parse reads a file, YAML or JSON. The error is [Faults].
func Parse(raw []byte) (File, error) {
	files, wrong := ParseTogether(raw)
	if len(wrong[0]) > 0 {
		return File{}, wrong[0]
	}
	return files[0], nil
}

// ParseTogether reads files that are applied together, and what is wrong with each. One that has defaults and no jobs has them for the jobs of the
// others, for what these leave open.
func ParseTogether(raws ...[]byte) (files []File, wrong []Faults) {
	files, wrong = make([]File, len(raws)), make([]Faults, len(raws))
	trees := make([]document.Node, len(raws))
	var r reader
	read := func(i int) {
		r.Faults, r.jobs = nil, 0
		if files[i] = r.file(trees[i]); isShared(trees[i]) {
			r.share(files[i].Defaults)
		}
		wrong[i] = r.Faults.Sorted()
	}
	var rest []int
	for i, raw := range raws {
		tree, fault := document.Read(raw, MaxBytes)
		if fault != nil {
			wrong[i] = Faults{*fault}
			continue
		}
		if trees[i] = tree; isShared(tree) {
			read(i)
		} else {
			rest = append(rest, i)
		}
	}
	for _, i := range rest {
		read(i)
		trees[i] = document.Node{}
	}
	return files, wrong
}

// reader turns trees into files.
type reader struct {
	document.Reader
	jobs   int
	shared []Defaults // of the files that have them for others
}

func (r *reader) file(n document.Node) File {
	var f File
	needed := []string{fieldVersion, fieldGroups}
	if slices.ContainsFunc(n.Keys, func(key document.Node) bool { return key.Text == fieldDefaults }) {
		needed = needed[:1]
	}
	parts := r.parts(n, fieldVersion, []string{fieldVersion, fieldDefaults, fieldGroups}, needed)
	if value, ok := parts[fieldVersion]; ok && value.Text != version {
		r.Add(value.Line, CodeVersion, "Value", value.Shown())
	}
	if value, ok := parts[fieldDefaults]; ok {
		f.Defaults = r.defaults(value)
	}
	groups, ok := parts[fieldGroups]
	if !ok {
		return f
	}
	first := make(map[string]int)
	for _, item := range r.List(fieldGroups, groups) {
		g := r.group(item, f.Defaults)
		// Old databases have executors with the same app name.
		key := g.AppName + "\x00" + g.Title
		if before, twice := first[key]; twice && g.AppName != "" {
			r.Add(g.Line, CodeSameGroup, "Name", g.AppName, "First", before)
		}
		first[key] = g.Line
		f.Groups = append(f.Groups, g)
	}
	r.sameJobs(f)
	return f
}

// parts are the values of a mapping that are there, whatever their order.
func (r *reader) parts(n document.Node, name string, known, needed []string) map[string]document.Node {
	parts := make(map[string]document.Node)
	r.Fields(n, name, known, needed, func(name string, _ int, value document.Node) { parts[name] = value })
	return parts
}

func (r *reader) group(n document.Node, outer Defaults) Group {
	g := Group{Line: n.Line}
	parts := r.parts(n, fieldGroups, []string{fieldAppName, fieldTitle, fieldDefaults, fieldJobs}, []string{fieldAppName})
	if value, ok := parts[fieldAppName]; ok {
		if r.Text(fieldAppName, value, &g.AppName); value.Kind == document.Scalar && value.Text == "" {
			r.Add(value.Line, document.CodeMissing, "Field", fieldAppName)
		}
	}
	if value, ok := parts[fieldTitle]; ok {
		r.Text(fieldTitle, value, &g.Title)
	}
	var own Defaults
	if value, ok := parts[fieldDefaults]; ok {
		own = r.defaults(value)
	}
	jobs, ok := parts[fieldJobs]
	if !ok {
		return g
	}
	for _, item := range r.List(fieldJobs, jobs) {
		if r.jobs++; r.jobs > MaxJobs {
			r.Add(item.Line, CodeMany, "Max", MaxJobs)
			break
		}
		j := r.job(item)
		j.inherit(append([]Defaults{own, outer}, r.shared...)...)
		if _, said := j.lines[fieldSchedule]; !said && item.Kind == document.Mapping {
			r.Add(j.Line, document.CodeMissing, "Field", fieldSchedule)
		}
		g.Jobs = append(g.Jobs, j)
	}
	return g
}

func (r *reader) job(n document.Node) Job {
	j := Job{Line: n.Line, lines: make(map[string]int), Values: make(Values)}
	r.Fields(n, fieldJobs, fieldNames, []string{FieldDescription}, func(name string, line int, value document.Node) {
		j.lines[name] = line
		switch name {
		case FieldID:
			r.Number(name, value, &j.ID)
		case FieldState:
			r.Text(name, value, &j.State)
		case fieldOmitted:
			j.ScriptOmitted = r.Flag(name, value)
		case fieldChildren:
			for _, item := range r.List(name, value) {
				j.Children = append(j.Children, r.ref(item))
			}
		default:
			j.Values.Set(name, r.values(name, value)...)
			if name == fieldScript {
				j.scriptBegin = value.Begin
			}
		}
	})
	r.state(j.State, j.LineOf(FieldState))
	if j.ScriptOmitted && j.Values.Get(fieldScript) != "" {
		r.Add(j.LineOf(fieldOmitted), CodeNoScript)
	}
	return j
}

func (r *reader) state(state string, line int) {
	if state != "" && state != Running && state != Stopped {
		r.Add(line, CodeState, "Value", state)
	}
}

// values reads a field of a definition as its kind is written.
func (r *reader) values(name string, n document.Node) []string {
	var text string
	switch kinds[name] {
	case jobspec.Number:
		var v int64
		if r.Number(name, n, &v); v != 0 {
			text = strconv.FormatInt(v, 10)
		}
	case jobspec.Flag:
		if r.Flag(name, n) {
			text = "true"
		}
	case jobspec.List:
		var list []string
		for _, item := range r.List(name, n) {
			r.Text(name, item, &text)
			list = append(list, text)
		}
		return list
	case jobspec.Text, jobspec.Choice, jobspec.Moments:
		r.Text(name, n, &text)
	}
	return []string{text}
}

// ref is a child: an id alone, or a mapping.
func (r *reader) ref(n document.Node) Ref {
	ref := Ref{Line: n.Line}
	if n.Kind == document.Scalar {
		r.Number(FieldID, n, &ref.ID)
		return ref
	}
	before := len(r.Faults)
	r.Fields(n, fieldChildren, []string{fieldAppName, FieldDescription, FieldID}, nil, func(name string, _ int, value document.Node) {
		switch name {
		case fieldAppName:
			r.Text(name, value, &ref.AppName)
		case FieldDescription:
			r.Text(name, value, &ref.Description)
		case FieldID:
			r.Number(name, value, &ref.ID)
		}
	})
	if len(r.Faults) == before && (ref.Description == "") != (ref.AppName == "") || ref.Description == "" && ref.ID == 0 && len(r.Faults) == before {
		r.Add(n.Line, CodeRef)
	}
	return ref
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
					r.Add(j.LineOf(FieldID), CodeSameID, "ID", j.ID, "First", first)
				} else {
					ids[j.ID] = j.Line
				}
			}
			before, twice := names[j.Description()]
			if twice && (j.ID == 0 || before.unnamed > 0) && j.Description() != "" {
				r.Add(j.Line, CodeSameJob, "Name", j.Description(), "First", before.line)
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
