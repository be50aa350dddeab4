package groups

import (
	"slices"
	"strings"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// shownAddresses is how many addresses a row shows before it folds the rest away.
const shownAddresses = 3

func shown(addresses []Address) []Address { return addresses[:min(len(addresses), shownAddresses)] }

func (p ListPage) pager() ui.Pager {
	pager := p.Pager
	if pager.Summary == "" {
		pager.Summary = p.T("groups.total", "Count", p.Total, "N", format.Number(p.Total))
	}
	return pager
}

func (p FormPage) action() string {
	if p.ID == 0 {
		return link.ExecutorsPath
	}
	return link.Executor(p.ID)
}

func (p FormPage) title() string {
	if p.ID == 0 {
		return p.T("groups.new")
	}
	return p.T("groups.edit")
}

func (p FormPage) heading() string {
	if p.ID == 0 {
		return p.T("groups.new")
	}
	return p.Name
}

func (p FormPage) submit() string {
	if p.ID == 0 {
		return p.T("groups.create")
	}
	return p.T("action.save")
}

func typeWord(p layout.Page, manual bool) string {
	if manual {
		return p.T("groups.type.manual")
	}
	return p.T("groups.type.auto")
}

// standings says how many addresses are in which state: of hundreds nobody sees by their rows that three are away.
func standings(p *locales.Printer, list []Address) string {
	var said []string
	for _, s := range AddressStates {
		n := 0
		for _, a := range list {
			if a.State == s {
				n++
			}
		}
		if n > 0 {
			said = append(said, p.T("address."+string(s))+" "+format.Number(int64(n)))
		}
	}
	return strings.Join(said, " · ")
}

func addressIcon(s AddressState) string {
	switch s {
	case AddressOnline:
		return "circle-check"
	case AddressLate:
		return "hourglass"
	case AddressOffline:
		return "circle-x"
	case AddressManual:
		return "link"
	case AddressSuspect, AddressTooOld, AddressRefusing:
		return "triangle-alert"
	case AddressDisabled:
		return "ban"
	default:
		return "circle"
	}
}

// shownRefusals is how many callers a page names; the log has all.
const shownRefusals = 5

// said is a line about refused calls, before the time of the last.
func (r Refused) said(p layout.Page) string {
	if r.AppName == "" {
		return p.T("refused."+r.Why, "Address", r.Address)
	}
	return p.T("refused."+r.Why+".named", "Address", r.Address, "AppName", r.AppName, "Executor", r.Executor)
}

func addressTitle(p layout.Page, a Address) string {
	word := p.T("address." + string(a.State))
	switch {
	case a.State == AddressDisabled || a.State == AddressSuspect || a.Asked.IsZero():
	case a.Since.IsZero():
		return p.T("address.asked", "State", word, "Ago", a.Asked.Relative)
	default:
		return p.T("address.silent", "State", word, "Ago", a.Since.Relative, "Why", p.Word("fault.", a.Fault))
	}
	if a.Beat.IsZero() {
		return word
	}
	return p.T("address.beat", "State", word, "Ago", a.Beat.Relative)
}

// watched reports whether something is known of the addresses of a group: they beat, or are asked.
func (r Row) watched() bool {
	return !r.Manual || slices.ContainsFunc(r.Addresses, func(a Address) bool { return a.State != AddressManual })
}

// keeps are the choices of which outputs are kept.
func (p FormPage) keeps() []ui.Option {
	options := make([]ui.Option, len(jobspec.AllKeeps))
	for i, k := range jobspec.AllKeeps {
		label := p.Word("keep.", string(k))
		if k == jobspec.KeepInherit {
			label = p.T("groups.keep.inherit")
		}
		options[i] = ui.Option{Value: string(k), Label: label, Selected: p.Values.KeepOutput == string(k) || p.Values.KeepOutput == "" && k == jobspec.KeepInherit}
	}
	return options
}
