package link

import (
	"net/url"
	"strconv"
)

// Routes of users, of one's own profile and of the audit log.
const (
	UsersPath       = "/users"
	UserNewPath     = "/users/new"
	ProfilePath     = "/profile"
	ProfilePassword = "/profile/password"
	ProfileSessions = "/profile/sessions/end"
	AuditPath       = "/audit"
)

// SettingsPath shows the installation's settings (GET) and changes them (POST).
const SettingsPath = "/settings"

// AdoptionPath is about a database that was XXL-JOB's (GET); AdoptionFinish says that there is no way back any more, and beside XXL-JOB
// admins AdoptionMove and AdoptionReturn hand a group over (POST only).
const (
	AdoptionPath   = "/adoption"
	AdoptionFinish = "/adoption/finish"
	AdoptionMove   = "/adoption/move"
	AdoptionReturn = "/adoption/return"
)

// Setting is the settings page at one of them.
func Setting(name string) string { return SettingsPath + "#setting-" + name }

// User is where a user's form is posted (POST only).
func User(userID int64) string { return UsersPath + "/" + id(userID) }

// UserEdit is a user's form.
func UserEdit(userID int64) string { return User(userID) + "/edit" }

// UserPassword asks for a new password (GET) and sets it (POST).
func UserPassword(userID int64) string { return User(userID) + "/password" }

// UserSignOut asks (GET) and ends a user's sessions (POST).
func UserSignOut(userID int64) string { return User(userID) + "/signout" }

// UserSessions is where an administrator ends one session of a user (POST only).
func UserSessions(userID int64) string { return User(userID) + "/sessions/end" }

// The pages of one's own second factors.
const (
	SecondPath     = "/profile/second"
	SecondCode     = "/profile/second/code"
	SecondPasskey  = "/profile/second/passkey"
	SecondRecovery = "/profile/second/recovery"
)

// SecondRemove asks for the password (GET) and drops a second factor (POST).
func SecondRemove(factorID int64) string { return SecondPath + "/" + id(factorID) + "/remove" }

// UserSecond asks (GET) and drops a user's second factors (POST).
func UserSecond(userID int64) string { return User(userID) + "/second" }

// UserDelete asks (GET) and deletes (POST).
func UserDelete(userID int64) string { return User(userID) + "/delete" }

// AuditEntry is one entry of the audit log.
func AuditEntry(entryID int64) string { return AuditPath + "/" + id(entryID) }

// Roles and states a list of users can be narrowed to.
const (
	UserAdmin    = "admin"
	UserNormal   = "user"
	UserActive   = "active"
	UserDisabled = "disabled"
	UserLeft     = "left" // their directory does not let them in any more
)

// UserFilter is what a list of users is narrowed to.
type UserFilter struct {
	Text  string // part of the name
	Role  string // "", UserAdmin or UserNormal
	State string // "", UserActive, UserDisabled or UserLeft
	Page  int    // from 1; 0 means 1
}

// UsersFrom reads a user filter from a query.
func UsersFrom(q url.Values) UserFilter {
	f := UserFilter{Text: text(q, "q"), Role: q.Get("role"), State: q.Get("state"), Page: pageNumber(q)}
	if f.Role != UserAdmin && f.Role != UserNormal {
		f.Role = ""
	}
	if f.State != UserActive && f.State != UserDisabled && f.State != UserLeft {
		f.State = ""
	}
	return f
}

// Users is the list of users under a filter.
func Users(f UserFilter) string {
	q := url.Values{}
	setText(q, "q", f.Text)
	setText(q, "role", f.Role)
	setText(q, "state", f.State)
	if f.Page > 1 {
		setNumber(q, "page", int64(f.Page))
	}
	return withQuery(UsersPath, q)
}

// AuditRangeDefault is the range of an audit log whose query names none.
const AuditRangeDefault = RangeMonth

// AuditFilter is what the audit log is narrowed to, and the place in it: entries with an id below Before or above After.
type AuditFilter struct {
	Text   string // part of the object's name
	User   string
	Action string
	Kind   string // of the object
	Object int64  // one object of that kind
	Group  int64  // what is about one executor group
	Range  string // one of Ranges; "" means AuditRangeDefault
	From   string // as in a RunFilter
	To     string
	Before int64
	After  int64
	Deep   bool // search for longer: somebody asked for what lies further back
}

// AuditFrom reads a filter from a query. A value it cannot read counts as absent.
func AuditFrom(q url.Values) AuditFilter {
	f := AuditFilter{
		Text: text(q, "q"), User: text(q, "user"), Action: text(q, "action"), Kind: text(q, "kind"), Object: Number(q, "object"), Group: Number(q, "group"),
		Range: q.Get("range"), From: moment(q, "from"), To: moment(q, "to"), Before: Number(q, "before"), After: Number(q, "after"),
		Deep: Number(q, "deep") == 1,
	}
	known := false
	for _, r := range Ranges() {
		known = known || r == f.Range
	}
	if !known || f.Range == AuditRangeDefault {
		f.Range = ""
	}
	if f.Range != RangeCustom {
		f.From, f.To = "", ""
	}
	return f
}

// FieldAuditFormat is the format of an export of the audit log: AuditCSV or AuditJSONLines.
const (
	FieldAuditFormat = "format"
	AuditCSV         = "csv"
	AuditJSONLines   = "jsonl"
	AuditExportPath  = "/audit/export"
)

// AuditExport is the audit log under a filter as a file.
func AuditExport(f AuditFilter, format string) string {
	f.Before, f.After, f.Deep = 0, 0, false
	q := f.values()
	q.Set(FieldAuditFormat, format)
	return withQuery(AuditExportPath, q)
}

// Audit is the audit log under a filter.
func Audit(f AuditFilter) string { return withQuery(AuditPath, f.values()) }

func (f AuditFilter) values() url.Values {
	q := url.Values{}
	setText(q, "q", f.Text)
	setText(q, "user", f.User)
	setText(q, "action", f.Action)
	setText(q, "kind", f.Kind)
	setNumber(q, "object", f.Object)
	setNumber(q, "group", f.Group)
	setText(q, "range", f.Range)
	setText(q, "from", f.From)
	setText(q, "to", f.To)
	setNumber(q, "before", f.Before)
	setNumber(q, "after", f.After)
	if f.Deep {
		q.Set("deep", "1")
	}
	return q
}

// Active says whether the filter leaves anything out, apart from the default time range.
func (f AuditFilter) Active() bool {
	f.Before, f.After, f.Deep = 0, 0, false
	return f != AuditFilter{}
}

// CalendarsPath is the list of the calendars that jobs keep to.
const CalendarsPath = "/calendars"

// Calendar is a year of a calendar; 0 for this one.
func Calendar(name string, year int) string {
	path := CalendarsPath + "/" + url.PathEscape(name)
	if year != 0 {
		path += "?year=" + strconv.Itoa(year)
	}
	return path
}

// CalendarDelete is where a calendar is deleted.
func CalendarDelete(name string) string { return Calendar(name, 0) + "/delete" }

// Teams are sets of users.
const (
	TeamsPath   = "/teams"
	TeamNewPath = "/teams/new"
)

// Team is where the form of a team goes.
func Team(teamID int64) string { return TeamsPath + "/" + id(teamID) }

// TeamEdit is the form of a team.
func TeamEdit(teamID int64) string { return Team(teamID) + "/edit" }

// TeamDelete asks before a team is deleted.
func TeamDelete(teamID int64) string { return Team(teamID) + "/delete" }
