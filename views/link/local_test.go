package link

import (
	"testing"
	"time"
)

// TestARangeHasBothPassesOfAnHourThatComesTwice, whichever of them Go takes a time alone for, which differs between the zones.
func TestARangeHasBothPassesOfAnHourThatComesTwice(t *testing.T) {
	t.Parallel()
	for name, typed := range map[string][4]string{
		"Europe/Berlin":    {"2026-10-25T02:00", "2026-10-25T02:59", "2026-10-25T00:00:00Z", "2026-10-25T01:59:59Z"},
		"America/New_York": {"2026-11-01T01:00", "2026-11-01T01:59", "2026-11-01T05:00:00Z", "2026-11-01T06:59:59Z"},
		"Asia/Shanghai":    {"2026-11-01T01:00", "2026-11-01T01:59", "2026-10-31T17:00:00Z", "2026-10-31T17:59:59Z"},
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		since, until := LocalRange(typed[0], typed[1], zone, 59*time.Second)
		if s, u := since.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339); s != typed[2] || u != typed[3] {
			t.Errorf("%s: from %s to %s, want %s and %s", name, s, u, typed[2], typed[3])
		}
	}
	if since, until := LocalRange("", "x", time.UTC, time.Second); !since.IsZero() || !until.IsZero() {
		t.Errorf("nothing: %v, %v", since, until)
	}
}
