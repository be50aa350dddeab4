// Package login draws the login page.
package login

import "github.com/punctual-job/punctual/views/layout"

// Names of the form's fields, posted to link.Login.
const (
	FieldName     = "name"
	FieldPassword = "password"
	FieldRepeat   = "repeat"
	FieldRemember = "remember" // "on" or absent
	FieldNext     = "next"     // the path to go on to; the handler must check that it is a path of this console
)

// Page is the login page. It is shown again with 422 (429 when there were too many attempts) and an Error.
type Page struct {
	layout.Page
	Name      string // as typed before
	Remember  bool
	Next      string
	Error     string // ready to print; empty on the first visit
	Ways      []Way  // in which no password is asked for here
	Closed    bool   // the form is for break-glass administrators only
	FirstTime bool   // nobody has ever logged in: the page says where the first password was printed
	// MayRemember offers to stay logged in.
	MayRemember bool
}

// StepPage is a page of a login that is not finished ([Password]). It is shown again with 422 and what is wrong.
type StepPage struct {
	layout.Page
	Name    string // of who is logging in
	Next    string
	Errors  map[string]string // ready to print, by field name
	Problem string            // an error that belongs to no field
}

// Way is a provider that can say who somebody is.
type Way struct {
	Label string
	URL   string
}
