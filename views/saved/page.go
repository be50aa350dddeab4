// Package saved draws the filters that people keep under a name: the bar above a list, and the form that names one.
package saved

import "github.com/punctual-job/punctual/views/layout"

// Bar stands above a list ([Show]).
type Bar struct {
	Page    string // the list
	Params  string // the filter that is used, without the place in the list
	Items   []Item
	CanSave bool // the filter is one, and not kept yet
}

// Item is a kept filter.
type Item struct {
	ID      int64
	Name    string
	URL     string
	Shared  bool
	Current bool
	CanEdit bool
}

// FormPage names a filter, or changes one ([Form]; fragment ui.FragmentDialog). It comes back with 422 and Error.
type FormPage struct {
	layout.Page
	ID         int64 // 0 for a new one
	List       string
	Params     string
	Name       string
	Shared     bool
	CanShare   bool
	CanReplace bool // the name is taken by one of their own
	Replace    bool
	Error      string
}

// The names of the form's fields.
const (
	FieldPage    = "page"
	FieldParams  = "params"
	FieldName    = "name"
	FieldShared  = "shared"
	FieldReplace = "replace"
)
