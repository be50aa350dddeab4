// Package login draws the login page.
package login

import (
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/second"
)

// Names of the form's fields, posted to link.Login.
const (
	FieldName     = "name"
	FieldPassword = "password"
	FieldRepeat   = "repeat"
	FieldRemember = "remember" // "on" or absent

	FieldCode       = "code"
	FieldCredential = "credential"
	FieldNext       = "next" // the path to go on to; the handler must check that it is a path of this console
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

// SecondPage asks for the second factor ([Second]).
type SecondPage struct {
	StepPage
	Codes   bool   // there is an app with codes
	Passkey string // what the browser is asked for a passkey, as JSON; empty: there is none, or none for this address
	// Elsewhere names the addresses for which the passkeys are, where none is for this one.
	Elsewhere string
}

// SetupPage leads somebody who must have a second factor to one ([Setup]).
type SetupPage struct {
	StepPage
	Code    second.Code
	Passkey second.Passkey
}

// CodesPage shows the recovery codes that came with the first second factor ([Codes]).
type CodesPage struct {
	StepPage
	Codes []string
}
