package jobfile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/scheduler/document"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// head begins a YAML file.
const head = "# Jobs of a Punctual installation; docs/jobfile.md describes the fields.\n"

// Write writes a file. The same jobs give the same bytes.
func Write(f File, as Format) ([]byte, error) { return document.Write(fileTree(f), as, head) }

func fileTree(f File) document.Node {
	n := document.Node{Kind: document.Mapping}
	n.Add(fieldVersion, document.Node{Kind: document.Scalar, Text: version, Plain: true})
	groups := document.Node{Kind: document.List}
	for _, g := range f.Groups {
		group := document.Node{Kind: document.Mapping}
		group.AddText(fieldAppName, g.AppName)
		group.AddText(fieldTitle, g.Title)
		jobs := document.Node{Kind: document.List, Items: make([]document.Node, 0, len(g.Jobs))}
		for _, j := range g.Jobs {
			jobs.Items = append(jobs.Items, jobTree(j))
		}
		group.Add(fieldJobs, jobs)
		groups.Items = append(groups.Items, group)
	}
	n.Add(fieldGroups, groups)
	return n
}

func jobTree(j Job) document.Node {
	n := document.Node{Kind: document.Mapping, Keys: make([]document.Node, 0, len(j.Values)+2), Items: make([]document.Node, 0, len(j.Values)+2)} // the number and the state
	for i, name := range fieldNames {
		values, kind := j.Values[name], fieldKinds[i]
		if len(values) == 0 && ofValues[i] {
			continue
		}
		switch text := strings.Join(values, ","); {
		case name == FieldID:
			n.AddNumber(name, j.ID)
		case name == FieldState:
			n.AddText(name, j.State)
		case name == fieldOmitted:
			n.AddFlag(name, j.ScriptOmitted)
		case name == fieldChildren:
			n.AddList(name, childrenTree(j.Children))
		case kind == jobspec.List:
			items := document.Node{Kind: document.List}
			for _, text := range values {
				items.Items = append(items.Items, document.Node{Kind: document.Scalar, Text: text})
			}
			n.AddList(name, items)
		case kind == jobspec.Number:
			n.AddDigits(name, text)
		case name == fieldEvery && plainSeconds(text):
			n.AddDigits(name, text)
		case kind == jobspec.Flag:
			n.AddFlag(name, text != "")
		case text == "" && slices.Contains(required, name):
			n.Add(name, document.Node{Kind: document.Scalar})
		default:
			n.AddText(name, text)
		}
	}
	return n
}

func childrenTree(children []Ref) document.Node {
	items := document.Node{Kind: document.List}
	for _, r := range children {
		ref := document.Node{Kind: document.Mapping}
		ref.AddText(fieldAppName, r.AppName)
		ref.AddText(FieldDescription, r.Description)
		ref.AddNumber(FieldID, r.ID)
		items.Items = append(items.Items, ref)
	}
	return items
}

// plainSeconds says whether a text, which may be anything in a database that others wrote, is a number as one is written.
func plainSeconds(text string) bool {
	_, err := strconv.ParseUint(text, 10, 32)
	return err == nil && text[0] != '0'
}
