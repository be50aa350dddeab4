package runs

import "github.com/punctual-job/punctual/views/ui"

// ClearForm is the id of the form that chooses what to clear, which asks for itself.
const ClearForm = "clear-form"

func (p ClearPage) groupOptions() []ui.Option {
	all := ui.Option{Label: p.T("filter.group.all"), Selected: p.Group == ""}
	if p.NeedGroup {
		all.Label = p.T("clear.group.choose")
	}
	return append([]ui.Option{all}, p.Groups...)
}

func (p ClearPage) jobOptions() []ui.Option {
	options := append([]ui.Option{{Label: p.T("runs.filter.job.all"), Selected: p.Job == ""}}, p.Jobs...)
	for _, o := range options {
		if o.Selected {
			return options
		}
	}
	// The job of a link, such as that of a deleted one, stays chosen.
	return append(options, ui.Option{Value: p.Job, Label: "#" + p.Job, Selected: true})
}

// Previewed names the choice of the page.
func (p ClearPage) Previewed() string { return p.Group + "." + p.Job + "." + p.Type }
