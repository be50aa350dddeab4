package cron_test

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/scheduler/cron"
)

// TestPasses: of an hour that comes twice either pass leads to both moments; what clocks show once, and what they leave out, has one.
func TestPasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone string
		back time.Time     // when clocks are set back
		by   time.Duration // 0: they are not
	}{
		{"Europe/Berlin", time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC), time.Hour},
		{"America/New_York", time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC), time.Hour},
		{"Australia/Lord_Howe", time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC), 30 * time.Minute},
		{"Antarctica/Troll", time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC), 2 * time.Hour},
		{"Europe/Berlin", time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC), 0}, // set on
		{"Asia/Shanghai", time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC), 0},
		{"UTC", time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC), 0},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		for d := -4 * time.Hour; d <= 4*time.Hour; d += 10 * time.Minute {
			at := c.back.Add(d).In(zone)
			first, second := at, at
			switch {
			case d >= -c.by && d < 0:
				second = at.Add(c.by)
			case d >= 0 && d < c.by:
				first = at.Add(-c.by)
			}
			if one, two := cron.Passes(at); !one.Equal(first) || !two.Equal(second) {
				t.Errorf("%v: %v and %v, want %v and %v", at, one, two, first, second)
			}
		}
	}
	if one, two := cron.Passes(time.Time{}); !one.IsZero() || !two.IsZero() {
		t.Errorf("no time: %v, %v", one, two)
	}
}
