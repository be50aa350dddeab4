// Package tokens draws the pages of API tokens and service accounts.
package tokens

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// ListPage is one's own tokens, or for administrators everybody's ([List]).
type ListPage struct {
	layout.Page
	All      bool
	Rows     []Row
	Accounts []Account // of administrators' list
}

// Row is one token.
type Row struct {
	ID      int64
	Name    string
	Hint    string // how it begins
	Owner   string
	Service bool
	Admin   bool
	Rights  []string    // names
	Groups  []string    // titles; none: all
	Expires format.Time // zero: never
	Used    format.Time
	From    string // the address it was used from last
	State   string // active, expired, revoked, owner
}

// Account is a service account.
type Account struct {
	ID       int64
	Name     string
	Disabled bool
}

// The names of the fields of the forms.
const (
	FieldName   = "name"
	FieldScope  = "scope"  // one value for each right that is ticked, or ScopeAdmin
	FieldGroups = "groups" // one value for each group that is ticked; none: all
	FieldDays   = "days"
	FieldOwner  = "owner" // id of a service account; empty: oneself
)

// ScopeAdmin is everything that an administrator may.
const ScopeAdmin = "admin"

// DaysDefault is how long a token lives unless somebody chooses otherwise.
const DaysDefault = "90"

// FormPage is the form of a new token ([Form]). It comes back with 422 and Errors.
type FormPage struct {
	layout.Page
	Owner    string // id; empty: oneself
	For      string // name of the service account
	Name     string
	Rights   []string // the names of all that a scope may have; the one to see comes with each
	Scope    map[string]bool
	Groups   []Group
	Days     string
	CanAdmin bool    // the owner is an administrator
	Device   *Device // the program that gets it; nil: the token is shown
	Errors   map[string]string
	Problem  string
}

// Device is a program that asks to be let in.
type Device struct {
	Code    string
	Program string // what it says of itself
	Address string
	Asked   format.Time
}

// CodePage asks for the code of such a program ([Code]), or says what has become of it ([Answered]).
type CodePage struct {
	layout.Page
	Code    string
	Error   string
	Program string
	LetIn   bool
}

// FieldRefuse is the button that keeps a program out, and FieldCode its code.
const (
	FieldRefuse = "refuse"
	FieldCode   = "code"
)

// Group is an executor group that a token can be limited to.
type Group struct {
	ID      int64
	Title   string
	Checked bool
}

// MadePage shows a token, once ([Made]).
type MadePage struct {
	layout.Page
	Name  string
	Token string
	All   bool // where it leads back to
}

// RevokePage asks before a token is revoked ([Revoke]; fragment ui.FragmentDialog).
type RevokePage struct {
	layout.Page
	ID   int64
	Name string
	All  bool
}

// AccountPage is the form of a new service account ([AccountForm]; fragment ui.FragmentDialog).
type AccountPage struct {
	layout.Page
	Name  string
	Error string
}

func home(all bool) string {
	if all {
		return link.TokensAll
	}
	return link.TokensPath
}

func (p FormPage) action() string {
	if p.Device != nil {
		return link.DevicePath
	}
	return link.TokensPath
}

func (p FormPage) back() string { return home(p.Owner != "") }

func (p FormPage) heading() string {
	if p.Device != nil {
		return p.T("device.title")
	}
	if p.For != "" {
		return p.T("apitokens.new.for", "Name", p.For)
	}
	return p.T("apitokens.new")
}

func (p FormPage) days() []ui.Option {
	return ui.Labelled(p.Printer, "apitokens.days.", []string{"7", "30", DaysDefault, "365", "0"}, p.Days, false)
}

func (r Row) scope(p layout.Page) string {
	if r.Admin {
		return p.T("role.admin")
	}
	words := make([]string, len(r.Rights))
	for i, right := range r.Rights {
		words[i] = p.Word("right.", right)
	}
	return p.List(words)
}

func stateTone(state string) string {
	if state == "active" {
		return "online"
	}
	return ""
}

func stateIcon(state string) string {
	if state == "active" {
		return "circle-check"
	}
	return "ban"
}
