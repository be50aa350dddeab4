package cluster

import (
	"time"

	"golang.org/x/sys/unix"
)

// slept is for how long this machine has been suspended since it was started: the clock that leases are measured with stands
// still meanwhile, the other admins' do not.
func slept() time.Duration {
	var with, without unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &with) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &without) != nil {
		return 0
	}
	return time.Duration(with.Nano() - without.Nano())
}
