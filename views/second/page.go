// Package second draws the pages of second factors: those that somebody has, and new ones.
package second

import (
	"strconv"

	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
)

// The names of the forms' fields.
const (
	FieldToken      = "token"      // from the question
	FieldCode       = "code"       // of an app, or a recovery code
	FieldCredential = "credential" // what the browser's script answers for a passkey
	FieldName       = "name"
	FieldPassword   = "old_password"
)

// Page lists somebody's second factors ([Show]).
type Page struct {
	layout.Page
	Factors    []Factor
	CodesLeft  int64
	MayPasskey bool // browsers make passkeys for this address
	// Provider asks for the second factor instead, so that there is nothing to set up here; empty: it is asked for here.
	Provider string
}

// Factor is one of them.
type Factor struct {
	ID   int64
	Kind string // totp or passkey
	Name string // may be empty
	Made format.Time
	Used format.Time
}

// Code is an app's secret before its first code was shown.
type Code struct {
	Secret  string
	URL     string // the same as otpauth: address
	Token   string
	Picture Picture
}

// Picture is a QR code: a path in a square of Size units.
type Picture struct {
	Size int
	Path string
}

func (p Picture) box() string { return "0 0 " + strconv.Itoa(p.Size) + " " + strconv.Itoa(p.Size) }

// Passkey is the question for a new passkey; without Options this address can have none.
type Passkey struct {
	Options string // JSON
	Token   string
}

// FormPage adds a second factor ([CodeForm], [PasskeyForm]). It comes back with 422 and Errors.
type FormPage struct {
	layout.Page
	Code    Code
	Passkey Passkey
	Name    string
	Errors  map[string]string
}

// AskPage asks for the password before something is taken away ([AskRemove], [AskRecovery]; fragment ui.FragmentDialog).
type AskPage struct {
	layout.Page
	Action string
	Error  string
}

// CodesPage shows recovery codes, once ([Codes]; fragment ui.FragmentDialog).
type CodesPage struct {
	layout.Page
	Codes []string
}

// spaced is a secret in groups of four, which are easier to type.
func spaced(secret string) string {
	text := ""
	for i, r := range secret {
		if i > 0 && i%4 == 0 {
			text += " "
		}
		text += string(r)
	}
	return text
}
