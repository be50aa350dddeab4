package cron

import "testing"

// TestAZoneIsTheSameOnEveryMachine: what a system keeps under a name of its own is none.
func TestAZoneIsTheSameOnEveryMachine(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Asia/Shanghai", "Etc/GMT+8", "PRC", "EST5EDT"} {
		if loc, err := Zone(name); err != nil || loc.String() != name {
			t.Errorf("%s: %v, %v", name, loc, err)
		}
	}
	for _, name := range []string{"", "Local", "local", "localtime", "LOCALTIME", "posixrules", "Asia/./Shanghai", "Asia//Shanghai", "../etc/localtime", "Mars/Base"} {
		if loc, err := Zone(name); err == nil {
			t.Errorf("%q is taken for %v", name, loc)
		}
	}
}
