package layout

import "github.com/punctual-job/punctual/views/link"

// place is an entry of the navigation.
type place struct {
	nav   Nav
	href  string
	image string
	key   string // goes there after g
}

// places are for administrators, two of them for auditors, and the alarms for others who look after some. On a phone they stand in the account's menu: the bar under the thumb is for what
// everybody does every day.
func (u User) places() []place {
	alarms := place{NavAlarms, link.AlarmsPath, "bell", "b"}
	users := place{NavUsers, link.UsersPath, "users", "u"}
	audit := place{NavAudit, link.AuditPath, "scroll-text", "a"}
	switch {
	case u.Admin:
		return []place{
			alarms, users,
			{NavPauses, link.PausesPath, "circle-stop", "p"},
			{NavCalendars, link.CalendarsPath, "calendar-clock", "c"},
			audit,
			{NavNodes, link.NodesPath, "network", "n"},
			{NavSettings, link.SettingsPath, "settings", "s"},
		}
	case u.Audits && u.Alarms:
		return []place{alarms, users, audit}
	case u.Audits:
		return []place{users, audit}
	case u.Alarms:
		return []place{alarms}
	}
	return nil
}
