package flow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/scheduler/invalid"
)

// What may be wrong with the jobs that a flow uses.
const (
	CodeJobGone = "flow.error.job_gone" // Value: there is no such job, or it may not be seen
	CodeIsFlow  = "flow.error.is_flow"  // Value: the job of a job step is a flow
	CodeNoFlow  = "flow.error.no_flow"  // Value: the job of a flow step is none
	CodeMayNot  = "flow.error.may_not"  // Value: whoever saves the flow may not run the job
	CodeCircle  = "flow.error.circle"   // Ring: the jobs that would start each other for ever
)

// FieldChildren is the field of the job that a flow is whose jobs start when it has succeeded.
const FieldChildren = "children"

// maxLooked bounds how many jobs are looked at in search of a circle.
const maxLooked = 10_000

// Validate says what is wrong with the jobs that a flow uses and where its text says less than was meant, also where [Compile] finds something else wrong. self is the job that the flow is: its id, 0 before it has one, its title, and
// its child jobs as what it starts beside its steps. The error is that of jobs.
func Validate(def *Definition, self Job, jobs Jobs) (Faults, error) {
	if len(def.Steps) > MaxSteps {
		return nil, nil
	}
	v := &validation{self: self, jobs: jobs, known: make(map[int64]Job), clear: make(map[int64]bool)}
	faults := cutFaults(def)
	for i := range def.Steps {
		s := &def.Steps[i]
		ref := s.Ref()
		if ref == nil {
			continue
		}
		key, args, err := v.step(s.Kind(), *ref)
		if err != nil {
			return nil, err
		}
		if key != "" {
			field := string(s.Kind())
			faults = append(faults, Fault{Step: s.ID, Line: s.LineOf(field), Field: invalid.Field{Name: field, Key: key, Args: args}})
		}
	}
	for _, id := range self.Next {
		ring, err := v.circle(id)
		if err != nil {
			return nil, err
		}
		if ring != "" {
			faults = append(faults, Fault{Field: invalid.Field{Name: FieldChildren, Key: CodeCircle, Args: []any{"Ring", ring}}})
		}
	}
	return faults, nil
}

// String is a reference as a message shows it.
func (j JobRef) String() string {
	if j.Description == "" {
		return fmt.Sprintf("#%d", j.ID)
	}
	return j.AppName + " / " + j.Description
}

type validation struct {
	self  Job
	jobs  Jobs
	known map[int64]Job
	clear map[int64]bool // jobs from which no way leads back
}

// step is what is wrong with the job of one step.
func (v *validation) step(kind Kind, ref JobRef) (key string, args []any, err error) {
	job, ok, err := v.jobs.Find(ref)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("find job %s: %w", ref, err)
	case !ok:
		return CodeJobGone, []any{"Value", shown(ref.String())}, nil
	case kind == KindJob && job.IsFlow && job.ID != v.self.ID:
		return CodeIsFlow, []any{"Value", shown(ref.String())}, nil
	case kind == KindFlow && !job.IsFlow && job.ID != v.self.ID:
		return CodeNoFlow, []any{"Value", shown(ref.String())}, nil
	}
	v.known[job.ID] = job
	ring, err := v.circle(job.ID)
	switch {
	case err != nil:
		return "", nil, err
	case ring != "":
		return CodeCircle, []any{"Ring", ring}, nil
	case !job.MayRun:
		return CodeMayNot, []any{"Value", shown(ref.String())}, nil
	}
	return "", nil, nil
}

// circle is the way from a job back to the flow, empty when there is none.
func (v *validation) circle(from int64) (string, error) {
	if v.self.ID == 0 {
		return "", nil // nothing starts what is not there yet
	}
	var path []int64
	found, err := v.leads(from, &path)
	if err != nil || !found {
		return "", err
	}
	names := []string{v.name(v.self)}
	for _, id := range path {
		names = append(names, v.name(v.known[id]))
	}
	return strings.Join(names, " → "), nil
}

// leads looks whether a job starts the flow, directly or not; path is then the way there, the flow included.
func (v *validation) leads(id int64, path *[]int64) (bool, error) {
	if id == v.self.ID {
		v.known[id] = v.self
		*path = append(*path, id)
		return true, nil
	}
	if v.clear[id] || slices.Contains(*path, id) || len(v.clear) > maxLooked {
		return false, nil
	}
	job, ok := v.known[id]
	if !ok {
		var err error
		if job, ok, err = v.jobs.Get(id); err != nil {
			return false, fmt.Errorf("read job %d: %w", id, err)
		}
		v.known[id] = job
	}
	if !ok {
		v.clear[id] = true
		return false, nil
	}
	*path = append(*path, id)
	for _, next := range job.Next {
		if found, err := v.leads(next, path); found || err != nil {
			return found, err
		}
	}
	*path = (*path)[:len(*path)-1]
	v.clear[id] = true
	return false, nil
}

func (v *validation) name(j Job) string {
	switch {
	case j.Title == "":
		return fmt.Sprintf("#%d", j.ID)
	case j.ID < 0: // it does not exist yet
		return j.Title
	}
	return fmt.Sprintf("#%d %s", j.ID, j.Title)
}
