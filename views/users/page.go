// Package users draws the pages of users: the list and the form for administrators, and everybody's own profile.
package users

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// ListPage is the list of users ([List]; fragment ui.FragmentResults).
type ListPage struct {
	layout.Page
	Filter link.UserFilter
	// OldHash is how passwords are kept for an XXL-JOB admin that may be put back, "MD5" or "SHA-256"; "" for none.
	OldHash string
	Unnamed []Unnamed
	Rows    []Row
	Total   int64
	Pager   ui.Pager
}

// Unnamed is a provider or directory that the sign-in file does not name any more, and how many people came in through it.
type Unnamed struct {
	Provider string
	People   int
}

// Row is one user.
type Row struct {
	ID    int64
	Name  string
	Role  string // link.UserAdmin, link.UserAuditor or link.UserNormal
	State string // link.UserActive, link.UserDisabled or link.UserLeft
	Self  bool   // nobody changes themselves here
	// Provider vouches for them; empty: they have a password here.
	Provider   string
	BreakGlass bool     // may use the password when others may not
	Service    bool     // a program, which has tokens and no password
	NoSecond   bool     // has no second factor, and could have one here
	Groups     []string // titles of the executors a normal user may see
	Teams      []string // names of those they are in
	Login      format.Time
	Sessions   int64
}

// The names of the form's fields.
const (
	FieldName     = "name"
	FieldPassword = "password"
	FieldOld      = "old_password"
	FieldRepeat   = "repeat"
	FieldRole     = "role"  // link.UserAdmin, link.UserAuditor or link.UserNormal
	FieldState    = "state" // link.UserActive, link.UserDisabled or link.UserLeft
	FieldRights   = "right" // one value "group.right" for each box that is ticked
	ErrorRights   = "rights"
	FieldVersion  = "version"
	FieldSession  = "session" // empty: all but the one in use
	// FieldBreakGlass is "on" or absent.
	FieldBreakGlass = "break_glass"
	// FieldAll has one value for each right that is given in every executor of the table. A script ticks those instead.
	FieldAll = "all"
	// FieldLike is the colleague whose rights are filled in by the button that sends FieldDo with DoLike.
	FieldLike = "like"
	FieldDo   = "do"
	DoLike    = "like"
	// FieldMembers has one value for each member of a team.
	FieldMembers = "member"
)

// FormPage is the form for a new user or a change ([Form]). It comes back with 422 and Errors.
type FormPage struct {
	layout.Page
	ID       int64 // 0 for a new user
	Values   FormValues
	Errors   map[string]string // ready to print, by field name
	Problem  string            // an error that belongs to no field
	Differs  []ui.Differing    // from what somebody else stored meanwhile
	Rights   []string          // the names of all rights, in the order of the table's columns
	Groups   []Group
	Like     Like
	Teams    []Team    // that the user is in
	Sessions []Session // of a user who exists
	Second   int       // how many second factors they have
	// SecondAt is the provider that asks for the second factor instead; empty: it is asked for here.
	SecondAt string
}

// FormValues are the values as typed, or as stored on the first visit.
type FormValues struct {
	Name     string `form:"name"`
	Password string `form:"password"` // never drawn
	Role     string `form:"role"`
	State    string `form:"state"`
	Version  string `form:"version"`
	// Provider vouches for them, and says what they may do; empty: they have a password here.
	Provider   string
	BreakGlass ui.Checked `form:"break_glass"`
	Service    bool       // a program, which has tokens and no password
}

// Group is one line of the table of rights.
type Group struct {
	ID     int64
	Title  string
	Rights map[string]bool // by the name of the right
	// Through names the teams that give rights besides, with those rights in words.
	Through []Through
}

// Through is what a team gives its members in one executor.
type Through struct {
	Team   string
	Rights []string
}

// Like offers to fill in what somebody else may do.
type Like struct {
	Colleagues []ui.Option // normal users
	Filled     string      // whose rights have just been filled in; nothing is saved yet
}

// Team is a team as lists show it.
type Team struct {
	ID      int64
	Name    string
	Members []string
	Groups  []string // titles of the executors in which its members may do something
}

// TeamsPage is the list of teams ([Teams]).
type TeamsPage struct {
	layout.Page
	Rows []Team
}

// TeamPage is the form for a new team or a change ([TeamForm]). It comes back with 422 and Errors.
type TeamPage struct {
	layout.Page
	ID      int64  // 0 for a new team
	Title   string // the stored name
	Name    string
	Version string
	Errors  map[string]string
	Problem string
	Differs []ui.Differing // as in [FormPage]
	Members []Member       // everybody, members first
	Rights  []string       // as in [FormPage]
	Groups  []Group
	Like    Like
}

// Member is somebody who is in a team, or may be.
type Member struct {
	ID       int64
	Name     string
	In       bool
	Ruled    bool // a rule of the sign-in file put them there
	Admin    bool
	Disabled bool
}

// TeamDeletePage asks before a team is deleted ([TeamDelete]; fragment ui.FragmentDialog).
type TeamDeletePage struct {
	layout.Page
	ID      int64
	Name    string
	Members int
}

// PasswordPage asks for a new password of somebody else ([Password]; fragment ui.FragmentDialog).
type PasswordPage struct {
	layout.Page
	ID    int64
	Name  string
	Error string
}

// MadePage shows a password that was made up, once ([Made]; fragment ui.FragmentDialog).
type MadePage struct {
	layout.Page
	Name     string
	Password string
	Created  bool // the user is new
}

// AskPage asks before somebody is deleted or signed out ([Delete], [SignOut]; fragment ui.FragmentDialog).
type AskPage struct {
	layout.Page
	ID       int64
	Name     string
	Sessions int64
}

// DeletePage asks before a user is deleted, and says what they leave.
type DeletePage struct {
	layout.Page
	ID      int64
	Name    string
	Jobs    int64 // that name them as their owner
	Changes int64 // of scripts that wait for a second person
	Tokens  int64 // API tokens that count
}

// ProfilePage is one's own page ([Profile]).
type ProfilePage struct {
	layout.Page
	Rights   []string // as in [FormPage]
	Groups   []Group  // of a normal user
	Provider string   // vouches for them; empty: they have a password here
	Errors   map[string]string
	Problem  string
	Sessions []Session
	Second   int // how many second factors one has
	// SecondAt is the provider that asks for the second factor instead; empty: it is asked for here.
	SecondAt string
}

// Session is one login that still counts.
type Session struct {
	ID         string
	Current    bool
	Agent      string // in words, such as "Firefox · Linux"
	Full       string // what the browser says of itself
	Address    string
	Opened     format.Time
	Seen       format.Time
	Remembered bool // does not end when nobody uses it
}
