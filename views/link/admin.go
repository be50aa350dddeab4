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

// UserRightsPath is who may do what, as a file.
const UserRightsPath = "/users/rights"

// AuditEntry is one entry of the audit log.
func AuditEntry(entryID int64) string { return AuditPath + "/" + id(entryID) }

// Roles and states a list of users can be narrowed to.
const (
	UserAdmin    = "admin"
	UserAuditor  = "auditor"
	UserNormal   = "user"
	UserActive   = "active"
	UserDisabled = "disabled"
	UserLeft     = "left" // their directory does not let them in any more
)

// UserFilter is what a list of users is narrowed to.
type UserFilter struct {
	Text  string `q:"q"`          // part of the name
	Role  string `q:"role,word"`  // "", UserAdmin, UserAuditor or UserNormal
	State string `q:"state,word"` // "", UserActive, UserDisabled or UserLeft
	Page  int    `q:"page"`       // from 1; 0 means 1
}

// UsersFrom reads a user filter from a query.
func UsersFrom(q url.Values) UserFilter {
	f := read[UserFilter](q)
	only(&f.Role, UserAdmin, UserAuditor, UserNormal)
	only(&f.State, UserActive, UserDisabled, UserLeft)
	return f
}

// Users is the list of users under a filter.
func Users(f UserFilter) string { return withQuery(UsersPath, values(f)) }

// AuditRangeDefault is the range of an audit log whose query names none.
const AuditRangeDefault = RangeMonth

// AuditFilter is what the audit log is narrowed to, and the place in it: entries with an id below Before or above After.
type AuditFilter struct {
	Text   string `q:"q"` // part of the object's name
	User   string `q:"user"`
	Action string `q:"action"`
	Kind   string `q:"kind"`        // of the object
	Object int64  `q:"object"`      // one object of that kind
	Group  int64  `q:"group"`       // what is about one executor group
	Range  string `q:"range,word"`  // one of Ranges; "" means AuditRangeDefault
	From   string `q:"from,moment"` // as in a RunFilter
	To     string `q:"to,moment"`
	Before int64  `q:"before"`
	After  int64  `q:"after"`
	Deep   bool   `q:"deep"` // search for longer: somebody asked for what lies further back
}

// AuditFrom reads a filter from a query. A value it cannot read counts as absent.
func AuditFrom(q url.Values) AuditFilter {
	f := read[AuditFilter](q)
	ranged(&f.Range, &f.From, &f.To, AuditRangeDefault, Ranges()...)
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
	q := values(f)
	q.Set(FieldAuditFormat, format)
	return withQuery(AuditExportPath, q)
}

// Audit is the audit log under a filter.
func Audit(f AuditFilter) string { return withQuery(AuditPath, values(f)) }

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
