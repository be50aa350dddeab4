package flow

import (
	"go.yaml.in/yaml/v3"

	"github.com/punctual-job/punctual/scheduler/document"
)

// NameJobs is the text of a definition with the jobs of its steps named otherwise, where as gives another reference. All else stays as it is, and
// so does a text that cannot be read.
func NameJobs(text string, as func(JobRef) JobRef) string {
	d, err := OpenDraft(text)
	if err != nil {
		return text
	}
	changed := false
	for i := range d.blocks {
		b := &d.blocks[i]
		for _, kind := range []Kind{KindJob, KindFlow} {
			ref, ok := refOf(b.step, kind)
			if !ok {
				continue
			}
			to := as(ref)
			if to == ref {
				continue
			}
			changed = true
			if err := b.change(func(step *yaml.Node) { put(step, string(kind), to.yaml(), stepFields) }); err != nil {
				return text
			}
		}
	}
	if !changed {
		return text
	}
	out, err := d.Text()
	if err != nil {
		return text
	}
	return out
}

// refOf is the job that a step runs, as it is written.
func refOf(step *yaml.Node, kind Kind) (JobRef, bool) {
	_, value := entry(step, string(kind))
	if value == nil {
		return JobRef{}, false
	}
	tree, wrong := document.FromYAML(value)
	if wrong != nil || tree.Kind == document.Nothing {
		return JobRef{}, false
	}
	var r document.Reader
	ref := reader{&r}.ref(string(kind), tree)
	return *ref, len(r.Faults) == 0
}

// yaml is the reference on one line.
func (j *JobRef) yaml() *yaml.Node {
	n := j.tree().YAML()
	if n.Kind == yaml.MappingNode {
		n.Style |= yaml.FlowStyle
	}
	return n
}
