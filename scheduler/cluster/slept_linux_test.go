package cluster

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestHowLongTheMachineSlept is at most since it was started. The two clocks are not read at the same moment.
func TestHowLongTheMachineSlept(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Skip(err)
	}
	up, _, _ := strings.Cut(string(text), " ")
	since, err := time.ParseDuration(up + "s")
	if err != nil {
		t.Fatal(err)
	}
	if d := sleptAsOfNow(); d < -time.Second || d >= since {
		t.Errorf("slept for %s of %s", d, since)
	}
}

// TestTheKernelIsAskedWhenTheWallClockMoves against the clock of leases, as it does when the machine wakes: not for each request, and not only
// once.
func TestTheKernelIsAskedWhenTheWallClockMoves(t *testing.T) {
	t.Parallel()
	var s suspension
	asked := 0
	at := func(lease, wall time.Duration) time.Duration {
		// A time whose two clocks have moved apart, as after a sleep: the wall clock's part is put forward alone.
		return s.sleptAt(wall, lease, func() time.Duration { asked++; return time.Duration(asked) * time.Hour })
	}
	for _, tt := range []struct {
		lease, wall time.Duration
		want        time.Duration
	}{
		{0, 0, time.Hour},
		{time.Minute, time.Minute, time.Hour},
		{time.Minute, time.Minute + unnoticed, time.Hour}, // as much is not noticed
		{2 * time.Minute, 2*time.Minute + 8*time.Second, 2 * time.Hour},
		{3 * time.Minute, 3*time.Minute + 8*time.Second, 2 * time.Hour},
		{4 * time.Minute, 3 * time.Minute, 3 * time.Hour}, // put back
	} {
		if got := at(tt.lease, tt.wall); got != tt.want {
			t.Errorf("lease clock %s, wall clock %s: slept %s, want %s", tt.lease, tt.wall, got, tt.want)
		}
	}
}
