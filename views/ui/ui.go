// Package ui holds the pieces every page is made of: buttons, badges, form fields, tables, pagers, dialogs.
package ui

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/punctual-job/punctual/locales"
)

// Turn is what a run waits for that has no slot yet, ready to print, and the list of the runs that have them all. Text is empty for one that
// waits for none.
type Turn struct {
	Text string
	URL  string
}

// Names of the fragments a page can be asked for alone. A handler renders the whole page, or with
// templ.RenderFragments only the named part when htmx asks (and answers Vary: HX-Request).
const (
	FragmentResults = "results" // a list's table and pager, swapped when its filter changes
	FragmentDialog  = "dialog"  // the body of a page that opens as a dialog over another
)

// Option is one choice of a select or of a row of radio buttons.
type Option struct {
	Value    string
	Label    string
	Help     string // one line under the label; empty for none
	Selected bool
	Class    string // of the option itself, for what is shown while it is chosen
}

// With adds to a field what another says of how it is drawn.
func (f Field) With(more Field) Field {
	f.Type, f.Class, f.Wrap = cmp.Or(more.Type, f.Type), cmp.Or(more.Class, f.Class), cmp.Or(more.Wrap, f.Wrap)
	f.Hint, f.More, f.Max, f.Rows = cmp.Or(more.Hint, f.Hint), cmp.Or(more.More, f.More), cmp.Or(more.Max, f.Max), cmp.Or(more.Rows, f.Rows)
	f.Help = cmp.Or(more.Help, f.Help)
	f.Optional, f.Focus = f.Optional || more.Optional, f.Focus || more.Focus
	if more.Data != nil {
		f.Data = more.Data
	}
	if more.Options != nil {
		f.Options = more.Options
	}
	f.Flow = cmp.Or(more.Flow, f.Flow)
	return f
}

// Words are those of a field.
type Words struct{ Label, Help string }

// Labelled makes options whose labels are the messages prefix+value, and marks the selected one. A message
// prefix+value+".help" is added if withHelp is set.
func Labelled(p *locales.Printer, prefix string, values []string, selected string, withHelp bool) []Option {
	options := make([]Option, len(values))
	for i, v := range values {
		options[i] = Option{Value: v, Label: p.Word(prefix, v), Selected: v == selected}
		if withHelp {
			options[i].Help = p.T(prefix + v + ".help")
		}
	}
	return options
}

// WithChosen are options with the one that is chosen, though it is none of them any more: it stays until somebody chooses another.
func WithChosen(options []Option, chosen, label string) []Option {
	if chosen == "" || slices.ContainsFunc(options, func(o Option) bool { return o.Value == chosen }) {
		return options
	}
	return append(options, Option{Value: chosen, Label: label, Selected: true})
}

// Chip is a filter that has no field of its own.
type Chip struct {
	Text    string
	Without string // the list without it
}

// Pager leads to the neighbouring pages of a list. An empty address means there is no such page.
type Pager struct {
	Previous string
	Next     string
	Summary  string // "1–50 of 1,234"; may be empty
	CountURL string // where a better Summary is to be had, which takes longer
}

// Any says whether there is anywhere to go.
func (p Pager) Any() bool { return p.Previous != "" || p.Next != "" }

// Checked is a box of a form that is ticked, or a choice of "on".
type Checked bool

// UnmarshalParam reads what a browser sends, as echo's binder asks.
func (c *Checked) UnmarshalParam(text string) error {
	*c = text != "" && text != "off"
	return nil
}

// Long says of a name that it may need more than the two lines that a heading has for it, on a phone.
func Long(name string) bool { return utf8.RuneCountInString(name) > 32 }
