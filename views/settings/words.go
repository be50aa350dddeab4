package settings

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/ui"
)

// said is a value in words.
func said(p Page, i Item, value string) string {
	switch {
	case value == "":
		return p.T("settings.empty")
	case i.Kind == "switch":
		return p.T("settings.switch." + value)
	case i.Name == "second_factor":
		return p.T("settings.second." + value)
	case i.Name == "output_keep":
		return p.Word("keep.", value)
	case i.Kind == "choice":
		return p.Word("language.", value)
	case i.Unit != "":
		return format.Unit(p.Printer, value, "settings.unit."+i.Unit)
	}
	return value
}

func options(p Page, i Item) []ui.Option {
	values := i.Choices
	if i.Kind == "switch" {
		values = []string{"on", "off"}
	}
	list := make([]ui.Option, len(values))
	for n, v := range values {
		list[n] = ui.Option{Value: v, Label: said(p, i, v), Selected: v == i.Value}
	}
	return list
}

// field is the control of an item.
func field(p Page, i Item) ui.Field {
	f := ui.Field{
		Name: i.Name, Label: p.T("settings.item." + i.Name), Help: p.T("settings.item." + i.Name + ".help"), Error: i.Error, Value: i.Value,
		Options: options(p, i), Max: 2000,
	}
	if i.Note != "" {
		f.Help += " " + i.Note
	}
	if i.Both {
		f.Error = p.T("settings.error.both", "Value", said(p, i, i.Was))
	}
	if i.Kind == "number" {
		f.Unit, f.Max, f.Data, f.Required = p.T("settings.unit."+i.Unit), 0, map[string]any{"inputmode": "numeric", "size": "7"}, true
	}
	return f
}

// options are those that were set at the start, or the others.
func (p Page) options(set bool) []Option {
	var list []Option
	for _, o := range p.Options {
		if o.Set == set {
			list = append(list, o)
		}
	}
	return list
}

// optionValue is what a variable stands at, as far as anybody may see it.
func optionValue(p Page, o Option) string {
	switch {
	case o.Secret && o.Set:
		return p.T("settings.secret")
	case o.Value == "":
		return p.T("settings.empty")
	}
	return o.Value
}
