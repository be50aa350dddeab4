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
	if d := slept(); d < -time.Second || d >= since {
		t.Errorf("slept for %s of %s", d, since)
	}
}
