// Package settings draws the page on which administrators decide about the whole installation.
package settings

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
)

// The names of the fields that say which state of the settings the form was drawn from: of all, and before its name of one.
const (
	FieldVersion = "version"
	FieldWas     = "was."
)

// Page is the whole page ([Show]). It comes back with 422 and what was typed.
type Page struct {
	layout.Page
	Version  string
	Problem  string // an error that belongs to no field
	Sections []Section
	About    []Fact
	Options  []Option
}

// Section is a group of settings; its name is that of its words.
type Section struct {
	Name  string
	Items []Item
}

// Item is one setting.
type Item struct {
	Name    string // of its words and of its field
	Kind    string // text, number, switch or choice
	Value   string // as typed, or as it holds
	Was     string // as it holds
	Default string
	Unit    string // of a number: ms, seconds, minutes or days
	Choices []string
	Error   string
	Env     string // the variable that decides it here; empty if this page does
	Stored  bool   // somebody decided it
	Broken  bool   // what is stored cannot be read
	Note    string // what changing it would bring at the moment; empty for nothing
	Both    bool   // somebody else has changed it as well, to what it was
	Changed format.Time
}

// Fact is something about the process that answers.
type Fact struct {
	Name  string
	Value string
	Note  string
	URL   string
}

// Option is a variable that only a start can change.
type Option struct {
	Name   string
	Value  string
	Set    bool
	Secret bool
}
