// Package jobfile is the file that jobs are exported to and imported from: YAML or JSON, the same fields in the same order,
// so that two exports can be compared by any tool that compares texts. docs/jobfile.md describes it for people.
//
// A file knows nothing of the installation it came from: executors are named by their app name, children by their executor
// and description. Reading is strict. What is unknown, there twice, or of the wrong kind is a [Fault] with its line, and a file
// with one is not used at all ([document] reads them); whether the values make good jobs is not judged here.
package jobfile

import (
	"strings"

	"github.com/punctual-job/punctual/scheduler/document"
)

// Format is how a file is written.
type Format = document.Format

// The formats.
const (
	YAML = document.YAML
	JSON = document.JSON
)

// Limits of a file, for reading and for writing.
const (
	MaxBytes = 3 << 20
	MaxJobs  = 2000
)

// Limits of files that are applied together.
const (
	MaxBytesTogether = 12 << 20
	MaxJobsTogether  = 10_000
)

// version is the file's format. A reader of a later one must still read this.
const version = "1"

// File is the jobs of some executors.
type File struct {
	// Defaults are those that stand at the top of a file. Its jobs have them already.
	Defaults Defaults
	Groups   []Group
}

// Add takes the groups of a file that is applied together with this one, and says how many jobs they have.
func (f *File) Add(one File, name string) (jobs int) {
	for _, g := range one.Groups {
		for n := range g.Jobs {
			g.Jobs[n].From = name
		}
		jobs += len(g.Jobs)
		f.Groups = append(f.Groups, g)
	}
	return jobs
}

// Group is an executor and its jobs.
type Group struct {
	Line    int
	AppName string
	Title   string // given to the executor if the import creates it
	Jobs    []Job
}

// The states of a job.
const (
	Running = "running"
	Stopped = "stopped"
)

// Job is a definition.
type Job struct {
	From  string // name of the file, where several are read as one
	Line  int
	lines map[string]int // of its fields, by name

	scriptBegin int // the line of its script's first line; 0 where the lines of the script are not those of the file

	// Values are what the fields of [jobspec.Fields] hold, by their names in a file: texts as they are stored, a flag that is set as
	// "true". What is empty or 0 is not there.
	Values   Values
	ID       int64 // where it was exported; 0 for none
	State    string
	Children []Ref
	// ScriptOmitted: there is a script that whoever exported it may not read.
	ScriptOmitted bool
}

// Values are fields of a job. Those that are lists may have several.
type Values map[string][]string

// Get is a value as a definition has it: a list is separated by commas.
func (v Values) Get(field string) string { return strings.Join(v[field], ",") }

// Set replaces a value; one that says nothing takes it away.
func (v Values) Set(field string, values ...string) {
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		delete(v, field)
		return
	}
	v[field] = values
}

// Description is the job's name.
func (j Job) Description() string { return j.Values.Get(FieldDescription) }

// Ref names a job: by its executor and description, by its id where it was exported, or by both.
type Ref struct {
	Line        int
	AppName     string
	Description string
	ID          int64
}

// ScriptLine is the line of the file on which a line of the job's script stands, and whether the file has one for it: a text in quotes has not.
func (j Job) ScriptLine(line int) (int, bool) {
	if j.scriptBegin == 0 || line < 1 {
		return j.LineOf(fieldScript), false
	}
	return j.scriptBegin + line - 1, true
}

// LineOf is the line of a field, or that of the job if the file does not have it.
func (j Job) LineOf(field string) int {
	if line, ok := j.lines[field]; ok {
		return line
	}
	return j.Line
}
