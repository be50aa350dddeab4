package layout

import "github.com/punctual-job/punctual/views/link"

// place is an entry of the navigation.
type place struct {
	nav   Nav
	href  string
	image string
	key   string // goes there after g
}

// adminPlaces are for administrators only. On a phone they stand in the account's menu: the bar under the thumb is for what
// everybody does every day.
func adminPlaces() []place {
	return []place{
		{NavAlarms, link.AlarmsPath, "bell", "b"},
		{NavUsers, link.UsersPath, "users", "u"},
		{NavAudit, link.AuditPath, "scroll-text", "a"},
		{NavNodes, link.NodesPath, "network", "n"},
		{NavSettings, link.SettingsPath, "settings", "s"},
	}
}
