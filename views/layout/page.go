// Package layout draws the frame around every page: navigation, language and theme, messages. Page structs of the other
// families embed [Page].
package layout

import (
	"time"

	"github.com/punctual-job/punctual/locales"
)

// Theme is the colour scheme a user chose.
type Theme string

// The themes. ThemeAuto follows the browser.
const (
	ThemeAuto  Theme = "auto"
	ThemeLight Theme = "light"
	ThemeDark  Theme = "dark"
)

// What a browser draws around the page: the --canvas of static/src/css/tokens.css.
const (
	canvasLight = "#f6f7f9"
	canvasDark  = "#0c0d10"
)

// ThemeFrom reads a theme from a cookie or a form; anything unknown is ThemeAuto.
func ThemeFrom(s string) Theme {
	switch t := Theme(s); t {
	case ThemeLight, ThemeDark:
		return t
	default:
		return ThemeAuto
	}
}

// Names of the fields that the preference menu posts to link.Preferences, one at a time and with FieldNext. They are the
// names of the two cookies as well, without a prefix of their own.
const (
	FieldLang  = "lang"
	FieldTheme = "theme"
	FieldZone  = "time_zone" // of who is logged in, without a cookie
	FieldKeys  = "keys"      // "off" or "on", as the zone
	FieldStart = "start"     // one of Starts, as the zone
	FieldSteps = "steps"     // "off": the first steps are not shown any more
	FieldNext  = "next"      // the path to return to; the handler must check that it is a path of this console
)

// The pages that visits may begin with. Their labels are "layout.start.<value>".
const (
	StartDashboard = "dashboard"
	StartMine      = "mine"
	StartJobs      = "jobs"
	StartRuns      = "runs"
)

// Starts lists them.
func Starts() []string { return []string{StartDashboard, StartMine, StartJobs, StartRuns} }

// Nav is a place in the main navigation.
type Nav string

// The places. NavNone is for pages that belong to none.
const (
	NavNone      Nav = ""
	NavDashboard Nav = "dashboard"
	NavJobs      Nav = "jobs"
	NavRuns      Nav = "runs"
	NavExecutors Nav = "executors"
	NavAlarms    Nav = "alarms"
	NavNodes     Nav = "nodes"
	NavCalendars Nav = "calendars"
	NavPauses    Nav = "pauses"
	NavUsers     Nav = "users"
	NavAudit     Nav = "audit"
	NavSettings  Nav = "settings"
)

// User is who is logged in. The zero User is nobody, and the frame then has no navigation.
type User struct {
	Name   string
	Admin  bool
	Audits bool // an auditor, or an administrator
	Blind  bool // may see no executor's jobs
	Alarms bool // looks after alarm channels; every administrator does
}

// FlashKind is the tone of a message.
type FlashKind string

const (
	FlashSuccess FlashKind = "success"
	FlashError   FlashKind = "error"
	FlashInfo    FlashKind = "info"
)

// Flash is a message about what was just done, ready to print.
type Flash struct {
	Kind FlashKind
	Text string
	// URL and URLText are an optional link, such as to the run that was started.
	URL     string
	URLText string
	NewTab  bool  // the link leaves this page open
	Undo    *Undo // takes back what was done; nil if nothing does
}

// Alert is something that is wrong with the whole installation, and where it is mended.
type Alert struct {
	Text, URL, URLText string
	Mild               bool // nothing is in danger
}

// Undo is a form in a message. With a script its answer replaces Target, the selector of a part of the page; with no Target the
// answer brings messages only.
type Undo struct {
	URL    string
	Fields []Field
	Target string
}

// Field is a hidden field of a form.
type Field struct{ Name, Value string }

// FieldUndo says that a form takes something back.
const FieldUndo = "undo"

// Page is what every page knows. The embedded Printer speaks the page's language: p.T("jobs.title"), p.Lang().
type Page struct {
	*locales.Printer
	Theme   Theme
	Path    string // path and query of this request; the preference menu returns here
	User    User
	Flashes []Flash
	Ignored []string // of the query, what the page does not know
	Alerts  []Alert  // stand above every page until they are mended
	Version string   // of the program, shown in the navigation
	NoKeys  bool     // single keys do nothing
	Start   string   // one of Starts; "": the dashboard
	Parts   []Part   // far down the page
	Drawn   string   // the time by which the page is drawn, in its zone, as format.Time has it for scripts

	// Times is the zone in which the page shows times and reads those of its filters; nil: the installation's. Zone names it,
	// Home names the installation's, and Zones are those that are offered.
	Times      *time.Location
	Zone, Home string
	Zones      []string
}

// Part is a part of a long page: a link leads past all that lies before it, for whoever goes by the tab key.
type Part struct{ ID, Name string }

// ZoneServer is the value of FieldZone that stands for the installation's zone.
const ZoneServer = "server"

// Elsewhere says that the page shows times in another zone than the installation's.
func (p Page) Elsewhere() bool { return p.Home != "" && p.Zone != p.Home }
