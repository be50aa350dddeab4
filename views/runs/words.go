package runs

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

func (p ListPage) rangeShown() string { return cmp.Or(p.Filter.Range, link.RangeDefault) }

// jobOptions keeps a job that the filter names in the list even when its group is not chosen, so that the form does not
// lose it with the next change.
func (p ListPage) jobOptions() []ui.Option {
	if p.Filter.Job == 0 {
		return p.Jobs
	}
	for _, o := range p.Jobs {
		if o.Selected {
			return p.Jobs
		}
	}
	return append([]ui.Option{{Value: format.Digits(p.Filter.Job), Label: "#" + format.Digits(p.Filter.Job), Selected: true}}, p.Jobs...)
}

func (p ListPage) canPick() bool { return slices.ContainsFunc(p.Rows, Row.canPick) }

func (r Row) canPick() bool { return r.CanRerun || r.CanKill }

// others says whether more runs match than the page shows.
func (p ListPage) others() bool {
	return p.Further != "" || p.Pager.Previous != "" || p.Pager.Next != ""
}

// filtered are the names of the filter's fields.
func (p ListPage) filtered() []string { return slices.Sorted(maps.Keys(p.Filter.Values())) }

func rowID(id int64) string { return "run-" + format.Digits(id) }

// lineID is what an address names a line of output by.
func lineID(n int) string { return "L" + strconv.Itoa(n) }

func orDash(s string) string { return cmp.Or(s, "–") }

// ShortAddress leaves out what all addresses share. An address that is no URL is shown as it is.
func ShortAddress(address string) string {
	if address == "" {
		return "–"
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	return u.Host
}

var stepIcons = map[StepState]string{
	StepDone: "circle-check", StepActive: "loader", StepWaiting: "hourglass", StepFailed: "circle-x", StepSkipped: "circle-minus", StepPending: "circle-dashed",
}

func stepIcon(s StepState) string { return cmp.Or(stepIcons[s], "circle") }

var logIcons = map[LogStatus]string{LogLive: "hourglass", LogUnavailable: "wifi-off", LogNone: "ban", LogMissing: "ban"}

func logIcon(s LogStatus) string { return cmp.Or(logIcons[s], "file-text") }

// bad says whether the page of the run begins with why it came to no good end.
func (s Timeline) bad() bool {
	switch s.State {
	case runstate.Failed, runstate.Timeout, runstate.SendFailed, runstate.Lost, runstate.Unconfirmed, runstate.Killed:
		return s.Killing == ""
	default:
		return false
	}
}

// reason is the first line of what is known of a bad end, and what was reported beside it.
func (s Timeline) reason() (first string, rest []string) {
	switch {
	case s.Why != "":
		return s.Why, s.ResultNote
	case len(s.ResultNote) > 0:
		return s.ResultNote[0], s.ResultNote[1:]
	}
	return "", nil
}

// noteURL is where a note is written, for whoever may.
func (s Timeline) noteURL() string {
	if !s.CanNote {
		return ""
	}
	return link.RunNote(s.LogID)
}

// durationWord says what the duration of a run is that may still go on.
func (s Timeline) durationWord() string {
	if s.State.Open() && s.Duration != "" {
		return "runs.fact.sofar"
	}
	return "runs.column.duration"
}

func (s Timeline) isAttempt(id int64) bool {
	return slices.ContainsFunc(s.Attempts, func(a Attempt) bool { return a.LogID == id })
}

// children are the followers that are no other attempts of the fire, which stand above.
func (s Timeline) children() []Follow {
	return slices.DeleteFunc(slices.Clone(s.Follows), func(f Follow) bool { return s.isAttempt(f.LogID) })
}

// adviceKind colours the advice by how the run stands.
func adviceKind(s runstate.State) string {
	switch s {
	case runstate.Failed, runstate.Timeout, runstate.SendFailed, runstate.Lost:
		return "error"
	case runstate.Unconfirmed, runstate.Stopped, runstate.Killed:
		return "warning"
	default:
		return "info"
	}
}

// lengths are the choices of how long runs took.
func (p ListPage) lengths() (list []ui.Option) {
	for _, s := range link.Lengths() {
		list = append(list, ui.Option{Value: strconv.FormatInt(s, 10), Label: p.T("runs.filter.longer.atleast", "Length", p.Duration(time.Duration(s)*time.Second)), Selected: s == p.Filter.Longer})
	}
	return list
}

// framed is the page with the ways past its output.
func (p DetailPage) framed() layout.Page {
	whole := p.Page
	whole.Parts = []layout.Part{{ID: "run-why", Name: p.T("runs.why")}, {ID: "run-facts", Name: p.T("runs.facts")}}
	return whole
}
