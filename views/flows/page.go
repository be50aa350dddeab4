// Package flows draws flows: the steps as a picture ([Picture]) with lines from each to those that need it, and as a list that says the same.
// The picture is made on the server as SVG, needs no script and no style of its own, and is there twice: from left to right, and from top to
// bottom for phones; the style sheet shows one. Where everything stands is decided in layout.go.
package flows

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// Graph is a flow as it is drawn.
type Graph struct {
	Label string // what it is, for screen readers
	Nodes []Node
}

// Node is a step.
type Node struct {
	ID    string
	Title string // its name, or its id
	Kind  flow.Kind
	Note  string // what it runs or waits for, or in a run how it stands: "1.4 s", "3 of 5"
	// Ran says that there is a run; State is then where the step stands in it.
	Ran     bool
	State   flow.State
	Allowed bool     // it failed, and that counts as a success
	Deed    string   // in an editor: what a click on it is for ([DeedShow] …); URL is where it leads without a script
	URL     string   // where it leads; empty: nowhere
	Needs   []string // ids
	Wrong   string   // what is wrong with it, ready to print; empty: nothing
	// Between two versions: what became of it, and which of Needs there are in only one of them.
	Change         flow.Change
	NeedsNew, Left []string
}

// titles are what the steps of these ids are called.
func (g Graph) titles(ids []string) []string {
	return titled(ids, g.Nodes, func(n Node) (string, string) { return n.ID, n.Title })
}

// titled puts in the place of an id what the step of a list is called. One that is not there keeps its id.
func titled[S any](ids []string, steps []S, names func(S) (id, title string)) []string {
	titles := slices.Clone(ids)
	for _, s := range steps {
		id, title := names(s)
		for i := range ids {
			if ids[i] == id {
				titles[i] = title
			}
		}
	}
	return titles
}

// Icon is of what the step does, or in a run of where it stands.
func (n Node) Icon() string {
	if n.Wrong != "" {
		return "triangle-alert"
	}
	if n.Ran {
		return stateIcon(n.State, n.Allowed)
	}
	switch n.Change {
	case flow.ChangeAdded:
		return "plus"
	case flow.ChangeRemoved:
		return "circle-minus"
	case flow.ChangeChanged:
		return "pencil"
	}
	switch n.Kind {
	case flow.KindJob:
		return "play"
	case flow.KindFlow:
		return "workflow"
	case flow.KindApprove:
		return "user"
	case flow.KindWait:
		return "hourglass"
	}
	return "circle-help"
}

func StateIcon(s flow.State) string {
	switch s {
	case flow.Waiting:
		return "circle-dashed"
	case flow.Running:
		return "loader"
	case flow.Approval:
		return "user"
	case flow.Success:
		return "circle-check"
	case flow.Failed:
		return "circle-x"
	case flow.Skipped:
		return "skip-forward"
	case flow.Cancelled:
		return "ban"
	case flow.TimedOut:
		return "timer-off"
	case flow.Rejected:
		return "octagon-x"
	}
	return "circle-help"
}

// manyNodes is how many boxes of a picture are stops of the tabulator key: those of a larger one have their links in the list alone.
const manyNodes = 30

// leads says whether a click on it does something.
func (n Node) leads() bool { return n.URL != "" || n.Deed != "" }

// href is where it leads, and without a script that does its deed the form of steps.
func (n Node) href() templ.SafeURL { return templ.SafeURL(cmp.Or(n.URL, "#"+formTitle)) }

// label is what is said of it.
func (n Node) label() string { return strings.TrimSuffix(n.Title+" · "+n.Note, " · ") }

// leads says whether one of its steps does.
func (g Graph) leads() bool { return slices.ContainsFunc(g.Nodes, Node.leads) }

// stateIcon is the icon of a state, or of a failure that is allowed.
func stateIcon(s flow.State, allowed bool) string {
	if allowed {
		return "circle-alert"
	}
	return StateIcon(s)
}

// StateWord is the word for a state, and that it is a failure that counts as a success.
func StateWord(p *locales.Printer, s flow.State, allowed bool) string {
	word := p.T("flow.state." + s.String())
	if allowed {
		return p.T("flow.allowed", "State", word)
	}
	return word
}

// class is what the style sheet knows of it.
func (n Node) class() string {
	class := "flow-step"
	if n.Ran {
		class += " at-" + n.State.String()
	}
	if n.Allowed {
		class += " at-allowed"
	}
	if n.Change != "" {
		class += " was-" + string(n.Change)
	}
	if n.Wrong != "" {
		class += " wrong"
	}
	return class
}

// drawing is a graph with its places.
type drawing struct {
	Graph
	layout
	size
	class string
	ends  []line
}

// draw places the steps. What a step needs that there is not is not drawn: the list of faults says so.
func (g Graph) draw(s size, class string) drawing {
	places := make(map[string]int, len(g.Nodes))
	for i := range g.Nodes {
		if _, twice := places[g.Nodes[i].ID]; !twice {
			places[g.Nodes[i].ID] = i
		}
	}
	d := drawing{Graph: g, size: s, class: class}
	for to := range g.Nodes {
		for _, id := range g.Nodes[to].Needs {
			if from, ok := places[id]; ok && !slices.Contains(d.ends, line{from, to}) {
				d.ends = append(d.ends, line{from, to})
			}
		}
	}
	d.layout = lay(len(g.Nodes), d.ends, s)
	return d
}

// The widths up to which a picture may have to do with, in flows.css: beside other parts of a page, and alone.
var narrow = []struct {
	class string
	width int
}{{"long", 740}, {"longer", 1180}}

// long are the classes of a picture from left to right that gives way to the one from top to bottom, which has room where it has not.
func (g Graph) long(across, down drawing) (classes string) {
	for _, n := range narrow {
		if across.width > n.width && down.width <= n.width {
			classes += " " + n.class
		}
	}
	return classes
}

func (d *drawing) boxWidth() int {
	if d.down {
		return d.across
	}
	return d.along
}

func (d *drawing) boxHeight() int {
	if d.down {
		return d.along
	}
	return d.across
}

// lineClass says whether the flow has gone this way.
func (d *drawing) lineClass(i int) string {
	from, to := &d.Nodes[d.ends[i].from], &d.Nodes[d.ends[i].to]
	switch {
	case d.back[i]:
		return "back"
	case slices.Contains(to.Left, from.ID):
		return "off"
	case slices.Contains(to.NeedsNew, from.ID):
		return "gone"
	case !to.Ran:
		return ""
	case to.State == flow.Skipped || to.State == flow.Cancelled:
		return "off"
	case to.State != flow.Waiting && from.State.Ended():
		return "gone"
	}
	return ""
}

// The box of a step, in pixels.
const (
	iconAt   = 12 // from its left edge
	textAt   = 36
	textEnds = 10 // from its right edge
)

func (d *drawing) fit(text string, pixelsPer float64) string {
	return fit(text, float64(d.boxWidth()-textAt-textEnds)/pixelsPer)
}

// fit cuts a text off that is wider than some average letters. A browser does not do that in a picture.
func fit(text string, room float64) string {
	width := 0.0
	cut := 0 // where it is cut off if it is too long
	for i, r := range text {
		switch {
		case r >= 0x2E80: // ideographs and their signs
			width += 1.8
		case r == 'i' || r == 'l' || r == 'j' || r == '.' || r == ',' || r == ':' || r == '|' || r == '\'' || r == ' ':
			width += 0.55
		case r == 'm' || r == 'w' || r == 'M' || r == 'W' || r == '@' || r == '_':
			width += 1.4
		case r >= 'A' && r <= 'Z':
			width += 1.15
		default:
			width++
		}
		if width <= room-1.2 {
			cut = i + len(string(r))
		}
	}
	if width <= room {
		return text
	}
	return text[:cut] + "…"
}

func px(n int) string { return strconv.Itoa(n) }

func (d *drawing) viewBox() string { return "0 0 " + px(d.width) + " " + px(d.height) }

func translate(p point, x, y int) string {
	return "translate(" + px(p.x+x) + " " + px(p.y+y) + ")"
}
