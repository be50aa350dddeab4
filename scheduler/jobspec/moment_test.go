package jobspec_test

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestATimeThatIsShownTwiceIsTheSecond in all zones, and the same for what is written into a ONCE job as for a cron text.
func TestATimeThatIsShownTwiceIsTheSecond(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ zone, text, cron, want string }{
		{"America/New_York", "2026-11-01 01:30:00", "0 30 1 1 11 ? 2026", "2026-11-01T06:30:00Z"},
		{"Europe/Berlin", "2026-10-25 02:30", "0 30 2 25 10 ? 2026", "2026-10-25T01:30:00Z"},
		{"Australia/Sydney", "2026-04-05T02:30:00", "0 30 2 5 4 ? 2026", "2026-04-04T16:30:00Z"},
		{"Australia/Lord_Howe", "2026-04-05 01:45:00", "0 45 1 5 4 ? 2026", "2026-04-04T15:15:00Z"},
		{"America/Sao_Paulo", "2019-02-16 23:30:00", "", "2019-02-17T02:30:00Z"},
		{"America/New_York", "2026-03-08 02:30:00", "", "2026-03-08T07:30:00Z"}, // not shown at all: as much later
		{"America/New_York", "2026-11-01T01:30:00-04:00", "", "2026-11-01T05:30:00Z"},
	} {
		zone, err := time.LoadLocation(tc.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := jobspec.Moment(tc.text, zone)
		if got := at.UTC().Format(time.RFC3339); err != nil || got != tc.want {
			t.Errorf("%s in %s: %s %v, want %s", tc.text, tc.zone, got, err, tc.want)
		}
		if tc.cron == "" {
			continue
		}
		s := jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: tc.cron, Zone: zone}
		next, err := s.Next(at.Add(-48 * time.Hour))
		if err != nil || !next.Equal(at) {
			t.Errorf("%s in %s: cron %v %v, a moment %v", tc.text, tc.zone, next, err, at)
		}
	}
}
