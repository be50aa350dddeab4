// Package groups draws the executor pages: the groups with their addresses, and the form for one.
package groups

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/saved"
	"github.com/punctual-job/punctual/views/ui"
)

// ListPage is the executor list ([List]; fragment ui.FragmentResults).
type ListPage struct {
	layout.Page
	Chips     []ui.Chip // filters of the dashboard
	Filter    link.GroupFilter
	Rows      []Row
	Total     int64
	Pager     ui.Pager
	CanEdit   bool // create, edit, delete
	AnyGroups bool // tells an empty installation from a filter without a match
	Views     saved.Bar
	Refused   []Refused
}

// Refused are calls of a caller that were not taken: what somebody must know whose executor is not in the list.
type Refused struct {
	Address  string
	AppName  string // as it says itself; "" when it does not
	Executor string // its own address, where it asks for work under it
	Why      string // "token", "run", "name", "copy", "tooold" or "unknown"
	Last     format.Time
	Create   string // where the executor that is missing is created; "" where none is
}

// Row is one executor group.
type Row struct {
	ID        int64
	AppName   string
	Title     string
	Manual    bool // addresses are typed in, not registered
	Addresses []Address
	Online    int // addresses that answer or have beaten lately
	Jobs      int64
	CanStop   bool // all of them
}

// AddressState is what is known about an address.
type AddressState string

// The states of an address.
const (
	AddressOnline  AddressState = "online"  // its last beat is fresh, or it answered when it was asked
	AddressLate    AddressState = "late"    // a beat is missing, it is still in rotation
	AddressOffline AddressState = "offline" // its beats stopped, or it does not answer when it is asked
	AddressManual  AddressState = "manual"  // typed in by hand: nothing is known about it
	// AddressRefusing is one where somebody answers, but not as an executor that takes our calls.
	AddressRefusing AddressState = "refusing"
	// AddressSuspect is one where nobody listened a moment ago: it is passed over while others can be used.
	AddressSuspect  AddressState = "suspect"
	AddressTooOld   AddressState = "tooold"   // of a release whose protocol is not spoken here: it gets no runs
	AddressDisabled AddressState = "disabled" // taken out of rotation by an administrator
)

// AddressStates are all of them, in the order in which the help page explains them.
var AddressStates = []AddressState{AddressOnline, AddressLate, AddressOffline, AddressRefusing, AddressManual, AddressSuspect, AddressTooOld, AddressDisabled}

// Address is where one executor of the group listens.
type Address struct {
	URL   string
	State AddressState
	Beat  format.Time // the last one; zero for one that was typed and never registered
	Asked format.Time // when one that was typed was asked last; zero: it is not watched
	Since format.Time // of its not answering as an executor does; zero: it answered
	Fault string      // why it does not, of wire.Fault

	// What follows is drawn on the group's page only.
	Era              string // "J4" when it speaks the protocol of 3.5
	InFlight, Queued int    // calls under way, and runs that wait for it, on the admin that answers
}

// FormPage is the form for a new group or a change ([Form]). It comes back with 422 and Errors.
type FormPage struct {
	layout.Page
	ID        int64 // 0 for a new group
	Name      string
	Values    FormValues
	Errors    map[string]string // ready to print, by field name
	Problem   string            // an error that belongs to no field
	Differs   []ui.Differing    // from what somebody else stored meanwhile
	Addresses []Address         // the live ones of an existing group
}

// The names of the form's fields.
const (
	FieldAppName   = "app_name"
	FieldTitle     = "title"
	FieldType      = "type" // TypeAuto or TypeManual
	FieldAddresses = "addresses"
	FieldIdle      = "idle" // IdleWait or IdleLost
	// FieldTokenManages is TokenManagesOn or TokenManagesOff.
	FieldTokenManages = "token_manages"
	// FieldScriptReview is ScriptReviewOn or ScriptReviewOff.
	FieldScriptReview = "script_review"
	FieldKeepOutput   = "keep_output" // one of jobspec.AllKeeps
	FieldMaxRunning   = "max_running" // a number; 0: no limit
	FieldVersion      = "version"

	TypeAuto   = "auto"
	TypeManual = "manual"

	// What becomes of a run without a result whose executor has nothing of the job any more.
	IdleWait = "wait"
	IdleLost = "lost"

	TokenManagesOn  = "on"
	TokenManagesOff = "off"

	ScriptReviewOn  = "on"
	ScriptReviewOff = "off"
)

// FormValues are the values as typed, or as stored on the first visit.
type FormValues struct {
	AppName   string `form:"app_name"`
	Title     string `form:"title"`
	Type      string `form:"type"`
	Addresses string `form:"addresses"` // one per line, or separated by commas
	Idle      string `form:"idle"`      // IdleWait or IdleLost

	TokenManages ui.Checked `form:"token_manages"` // the executors' token manages jobs
	ScriptReview ui.Checked `form:"script_review"` // a change of a script waits for a second person
	KeepOutput   string     `form:"keep_output"`   // of which runs the output is kept
	MaxRunning   string     `form:"max_running"`   // runs of all its jobs at a time; 0 and empty: no limit
	Version      string     `form:"version"`
}

// DeletePage asks before a group is deleted ([Delete]; fragment ui.FragmentDialog).
type DeletePage struct {
	layout.Page
	ID      int64
	Title   string
	AppName string
	Jobs    int64 // not 0: it cannot be deleted yet, and the page says why
	Last    bool  // the last group cannot be deleted
}
