package flow

import (
	"reflect"
	"slices"

	"github.com/punctual-job/punctual/scheduler/document"
)

// Change is what became of a step between two definitions.
type Change string

// The changes. An empty one is none.
const (
	ChangeAdded   Change = "added"
	ChangeRemoved Change = "removed"
	ChangeChanged Change = "changed"
)

// Difference is a step of two definitions: as it is in the later one, or was before it went.
type Difference struct {
	*Step
	Change Change
	Before *Step    // of one that is in both
	Fields []string // that are others than before
}

// Differences are the steps of both definitions, in the order of the later one. Those that went stand behind what was before them. A step
// with another id is another step.
func Differences(before, after *Definition) []Difference {
	old := make(map[string]*Step, len(before.Steps))
	for i := range before.Steps {
		old[before.Steps[i].ID] = &before.Steps[i]
	}
	var list []Difference
	for i := range after.Steps {
		d := Difference{Step: &after.Steps[i], Change: ChangeAdded}
		if d.Before = old[d.ID]; d.Before != nil {
			if d.Change, d.Fields = "", changedFields(d.Before, d.Step); len(d.Fields) > 0 {
				d.Change = ChangeChanged
			}
		}
		list = append(list, d)
	}
	at := 0
	for i := range before.Steps {
		s := &before.Steps[i]
		if place := slices.IndexFunc(list, func(d Difference) bool { return d.ID == s.ID }); place >= 0 {
			at = place + 1
			continue
		}
		list = slices.Insert(list, at, Difference{Step: s, Change: ChangeRemoved})
		at++
	}
	return list
}

func changedFields(a, b *Step) (fields []string) {
	before, after := a.tree(), b.tree()
	value := func(n document.Node, name string) *document.Node {
		for i := range n.Keys {
			if n.Keys[i].Text == name {
				return &n.Items[i]
			}
		}
		return nil
	}
	for _, name := range stepFields {
		if !reflect.DeepEqual(value(before, name), value(after, name)) {
			fields = append(fields, name)
		}
	}
	return fields
}
