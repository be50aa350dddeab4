package groups

import (
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// DetailPage is one group ([Detail]; fragment ui.FragmentResults).
type DetailPage struct {
	layout.Page
	ID        int64
	AppName   string
	Title     string
	Jobs      int64
	Addresses []Address
	Refused   []Refused
	Token     TokenCard // drawn for administrators only
	Connect   Connect
	CanEdit   bool
	CanPause  bool
	Slots     Slots
	Paused    []string // what holds its jobs still now, ready to print
	Secrets   bool     // its reader may see which secrets there are
}

// Slots are how full the limit of a group is.
type Slots struct {
	Limit, Running, Waiting int64 // Limit 0: there is none
}

// TokenPage is the installation's access token ([Token]).
type TokenPage struct {
	layout.Page
	Token   TokenCard
	Connect Connect
	Groups  []TokenGroup
}

// TokenGroup is an executor group, and whether it has a token of its own.
type TokenGroup struct {
	ID    int64
	Title string
	Own   bool
}

// TokenCard is what is shown of an access token.
type TokenCard struct {
	GroupID  int64       // 0: the installation's
	Token    string      // empty: masked
	Own      bool        // the group has its own
	Fixed    bool        // a setting of the process
	None     bool        // no token is asked for
	Previous format.Time // until when the one before works; zero when it does not
	Handover bool        // the one before is the installation's
}

// RotatePage asks before a token is replaced or dropped ([Rotate], [Drop]; fragment ui.FragmentDialog).
type RotatePage struct {
	layout.Page
	GroupID int64 // 0: the installation's
	Title   string
	First   bool   // the group gets its first own one
	Grace   string // hours, as chosen
	Error   string
}

// The names of the fields of the forms of this page.
const (
	FieldAddress  = "address"
	FieldDisabled = "disabled" // 1 or 0
	FieldGrace    = "grace"    // hours
)

// GraceDefault is a day: long enough to roll out a new configuration, short enough to be over soon.
const GraceDefault = "24"

func (p RotatePage) options() []ui.Option {
	return ui.Labelled(p.Printer, "token.grace.", []string{"0", "1", GraceDefault, "168", "720"}, p.Grace, false)
}

func (p RotatePage) heading() string {
	if p.GroupID == 0 {
		return p.T("token.rotate.common")
	}
	return p.T("token.rotate.title", "Name", p.Title)
}

func (p RotatePage) back() string {
	if p.GroupID == 0 {
		return link.ExecutorToken
	}
	return link.Executor(p.GroupID)
}

func (t TokenCard) show() string {
	if t.GroupID == 0 {
		return link.ExecutorTokenShowing()
	}
	return link.ExecutorShowing(t.GroupID)
}

func (t TokenCard) hide() string {
	if t.GroupID == 0 {
		return link.ExecutorToken + "#token"
	}
	return link.Executor(t.GroupID) + "#token"
}

// canRotate says whether a new token can be made here: for a group always, its own. Where no token is asked for there is
// none to replace.
func (t TokenCard) canRotate() bool { return !t.None && (t.GroupID != 0 || !t.Fixed) }

func (t TokenCard) rotateWord(p layout.Page) string {
	if t.GroupID != 0 && !t.Own {
		return p.T("token.make")
	}
	return p.T("token.rotate")
}

func (t TokenCard) about(p layout.Page) string {
	switch {
	case t.None:
		return p.T("token.none.text")
	case t.GroupID != 0 && t.Own:
		return p.T("token.own.text")
	case t.Fixed:
		return p.T("token.fixed")
	default:
		return p.T("token.common.text")
	}
}

// eraWord names the releases of XXL-JOB whose protocol an address speaks. Nothing is known of one that never registered.
func eraWord(a Address) string {
	switch {
	case a.State == AddressTooOld:
		return "≤ 2.1"
	case a.Era == "J4":
		return "3.5"
	case a.Beat.IsZero():
		return "–"
	default:
		return "2.2 – 3.4"
	}
}
