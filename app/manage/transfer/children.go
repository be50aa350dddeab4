package transfer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// target is a child: an item of the file, or a job that exists. wrong is why it is neither.
type target struct {
	inFile bool
	item   int   // with inFile
	id     int64 // without; with wrong the id that the file has
	wrong  string
}

// resolve finds the jobs that an item's children are.
func (m *importer) resolve(i int) {
	item := &m.items[i]
	for _, ref := range item.file.Children {
		item.children = append(item.children, m.child(ref))
	}
}

// child looks for one in the file first: what is imported together belongs together.
func (m *importer) child(ref jobfile.Ref) target {
	if ref.Description == "" {
		if i, ok := m.byID[ref.ID]; ok {
			return target{inFile: true, item: i}
		}
		switch _, pruned := m.pruned[ref.ID]; {
		case pruned: // also where it is a child already: its parent's file is to say that it is none any more
			return target{wrong: "import.error.child_id"}
		case m.stored[ref.ID].ID != 0:
			return target{id: ref.ID}
		}
		return target{id: ref.ID, wrong: "import.error.child_id"}
	}
	same := m.inFile[fileName{ref.AppName, ref.Description}]
	if len(same) == 1 {
		return target{inFile: true, item: same[0]}
	}
	for _, i := range same {
		if m.items[i].file.ID == ref.ID {
			return target{inFile: true, item: i}
		}
	}
	if len(same) > 1 {
		return target{wrong: "import.error.child_ambiguous"}
	}
	var found []int64
	for _, g := range m.groups {
		if g.AppName == ref.AppName {
			found = append(found, m.named[jobName{g.ID, ref.Description}]...)
		}
	}
	found = slices.DeleteFunc(found, func(id int64) bool {
		_, renamed := m.here[id] // or it would have been found in the file
		return renamed || m.pruned[id].ID != 0
	})
	if i, is := m.byID[ref.ID]; is && m.opts.ByID && len(found) == 0 {
		return target{inFile: true, item: i}
	}
	switch {
	case len(found) == 1:
		return target{id: found[0]}
	case slices.Contains(found, ref.ID):
		return target{id: ref.ID}
	case len(found) > 1:
		return target{wrong: "import.error.child_ambiguous"}
	}
	return target{wrong: "import.error.child"}
}

// node is a target as a number: the id of a job that exists, or one below 0 for one that is to be created.
func (m *importer) node(t target) int64 {
	if !t.inFile {
		return t.id
	}
	return m.items[t.item].node(t.item)
}

// node is the item with a place as a number.
func (item *Item) node(place int) int64 {
	if item.ID != 0 {
		return item.ID
	}
	return -int64(place) - 1
}

// sameChildren says whether an item leaves the children of its job as they are. They are then nobody's business, also if one
// of them is gone or belongs to others.
func (m *importer) sameChildren(i int) bool {
	item := &m.items[i]
	kids, _, _ := jobspec.ChildIDs(string(item.old.ChildJobIDs))
	return slices.EqualFunc(kids, item.children, func(id int64, t target) bool { return m.node(t) == id })
}

func (m *importer) judgeChildren(i int) {
	item := &m.items[i]
	if item.ID != 0 && m.sameChildren(i) {
		item.in.ChildJobIDs = string(item.old.ChildJobIDs)
		return
	}
	for k, t := range item.children {
		ref := item.file.Children[k]
		group := int64(0)
		switch {
		case t.wrong != "":
			m.faultAt(i, ref.Line, problem.Field{Name: jobspec.FieldChildren, Key: t.wrong, Args: []any{"Name", ref.Description, "Group", ref.AppName, "ID", ref.ID}})
			continue
		case t.inFile:
			group = m.items[t.item].group.id
		default:
			group = m.stored[t.id].JobGroup
		}
		if !m.may(group, auth.RightRun) {
			m.faultAt(i, ref.Line, problem.Field{Name: jobspec.FieldChildren, Key: "job.error.child_gone", Args: []any{"Value", max(t.id, ref.ID)}})
		}
	}
}

// childList is the stored form of children; the ids of those that are to be created are not known and as long as ids get.
func (m *importer) childList(children []target) string {
	ids := make([]string, len(children))
	for k, t := range children {
		if ids[k] = "2147483647"; m.node(t) > 0 {
			ids[k] = strconv.FormatInt(m.node(t), 10)
		}
	}
	return strings.Join(ids, ",")
}

// childNames names children for people.
func (m *importer) childNames(children []target) string {
	names := make([]string, len(children))
	for k, t := range children {
		id := "#" + strconv.FormatInt(m.node(t), 10)
		j, known := m.stored[t.id]
		switch {
		case t.inFile && m.items[t.item].ID == 0:
			names[k] = m.items[t.item].Name
		case t.inFile:
			names[k] = m.items[t.item].Name + " (" + id + ")"
		case known && m.p.CanUseGroup(j.JobGroup):
			names[k] = j.JobDesc + " (" + id + ")"
		default:
			names[k] = id
		}
	}
	return strings.Join(names, "\n")
}

// refuseParents refuses what would start a job that is refused and does not exist.
func (m *importer) refuseParents() {
	for again := true; again; {
		again = false
		for i := range m.items {
			item := &m.items[i]
			if item.Outcome != Create && item.Outcome != Change {
				continue
			}
			for k, t := range item.children {
				if t.inFile && m.items[t.item].Outcome == Refuse && m.items[t.item].ID == 0 {
					m.faultAt(i, item.file.Children[k].Line, problem.Field{
						Name: jobspec.FieldChildren, Key: "import.error.child_refused", Args: []any{"Name", m.items[t.item].Name, "Line", m.items[t.item].Line},
					})
					item.Changes, again = nil, true
				}
			}
		}
	}
}
