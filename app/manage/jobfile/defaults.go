package jobfile

import (
	"slices"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/document"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Defaults are what the jobs below them have that say nothing else.
type Defaults struct {
	Line   int // 0: there are none
	values Values
	state  string
	lines  map[string]int

	elsewhere bool // in another file: what is wrong with them is told in the line of the job
}

// ownFields are those of each job: what it is called, when it is due, and what it consists of.
var ownFields = []string{FieldDescription, FieldID, "cron", fieldEvery, "at", fieldScript, fieldRemark, fieldOmitted, fieldChildren}

func (r *reader) defaults(n document.Node) Defaults {
	d := Defaults{Line: n.Line, values: make(Values), lines: make(map[string]int)}
	r.Fields(n, fieldDefaults, fieldNames, nil, func(name string, line int, value document.Node) {
		if slices.Contains(ownFields, name) {
			r.Add(line, CodeOwn, "Field", name)
			return
		}
		d.lines[name] = line
		if name != FieldState {
			d.values.Set(name, r.values(name, value)...)
			return
		}
		r.Text(name, value, &d.state)
		r.state(d.state, line)
	})
	return d
}

// inherit gives a job what it says nothing of, from the nearest defaults that do. A job that says that it has none, as an empty text, an empty list or
// 0, has none. What would mean nothing to the job is left out: one that says it itself is refused.
func (j *Job) inherit(from ...Defaults) {
	got := make(map[string]bool)
	for _, d := range from {
		for name, line := range d.lines {
			if _, said := j.lines[name]; said {
				continue
			}
			if d.elsewhere {
				line = j.Line
			}
			j.lines[name] = line
			got[name] = true
			if name == FieldState {
				j.State = d.state
				continue
			}
			j.Values.Set(name, d.values[name]...)
		}
	}
	if len(got) == 0 {
		return
	}
	spec, _ := jobspec.Read(func(f *jobspec.Field) string { return j.Values.Get(f.File) }, time.UTC)
	for _, fault := range jobspec.Unheeded(spec, func(f *jobspec.Field) bool { return got[f.File] }) {
		j.Values.Set(jobspec.Named(fault.Name).File)
	}
	if got[FieldState] && j.State == Running && !spec.ScheduleType.Schedules() {
		j.State = Stopped
	}
	if handler := jobspec.Named(jobspec.FieldHandler).File; got[handler] && spec.Glue != "" && spec.Glue != wire.GlueBean {
		j.Values.Set(handler)
	}
}

// isShared says whether a file has defaults for the jobs of others, and no jobs.
func isShared(n document.Node) bool {
	has := false
	for i, key := range n.Keys {
		if key.Text == fieldGroups && len(n.Items[i].Items) > 0 {
			return false
		}
		has = has || key.Text == fieldDefaults
	}
	return has
}

// share keeps the defaults of a file that has them for others. Two of them may not say the same field.
func (r *reader) share(d Defaults) {
	for _, other := range r.shared {
		for _, name := range fieldNames {
			if line, has := d.lines[name]; has && other.lines[name] > 0 {
				r.Add(line, CodeTwice, "Field", name)
			}
		}
	}
	d.elsewhere = true
	r.shared = append(r.shared, d)
}
