package layout

import "github.com/punctual-job/punctual/views/link"

// place is an entry of the navigation.
type place struct {
	nav   Nav
	href  string
	image string
	key   string // goes there after g
}

// places are for administrators only, and the alarms for others who look after some. On a phone they stand in the account's menu: the bar under the thumb is for what
// everybody does every day.
func (u User) places() []place {
	alarms := place{NavAlarms, link.AlarmsPath, "bell", "b"}
	switch {
	case !u.Admin && u.Alarms:
		return []place{alarms}
	case !u.Admin:
		return nil
	}
	return []place{
		alarms,
		{NavUsers, link.UsersPath, "users", "u"},
		{NavPauses, link.PausesPath, "circle-stop", "p"},
		{NavCalendars, link.CalendarsPath, "calendar-clock", "c"},
		{NavAudit, link.AuditPath, "scroll-text", "a"},
		{NavNodes, link.NodesPath, "network", "n"},
		{NavSettings, link.SettingsPath, "settings", "s"},
	}
}
