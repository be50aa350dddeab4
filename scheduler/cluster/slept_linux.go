package cluster

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// slept is for how long this machine has been suspended since it was started: the clock that leases are measured with stands
// still meanwhile, the other admins' do not.
func slept() time.Duration {
	now := time.Now()
	return suspended.sleptAt(time.Duration(now.UnixNano()), now.Sub(began), sleptAsOfNow)
}

// sleptAsOfNow asks the kernel, which takes two system calls.
func sleptAsOfNow() time.Duration {
	var with, without unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &with) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &without) != nil {
		return 0
	}
	return time.Duration(with.Nano() - without.Nano())
}

// suspension is what the kernel said last. It is asked before every request to an executor, which was a twelfth of what an admin under load
// computes, so the kernel is asked again only when the wall clock has moved against the clock of leases: the kernel puts it forward by what it
// counts as sleep.
type suspension struct{ last atomic.Pointer[sleptBy] }

type sleptBy struct {
	ahead time.Duration // the wall clock, of the clock of leases
	slept time.Duration
}

// unnoticed is what the wall clock may move until the kernel is asked, and so how much sleep may be missed.
const unnoticed = 10 * time.Millisecond

var (
	suspended suspension
	began     = time.Now()
)

// sleptAt is what the kernel says, or has said when the two clocks stood apart as they do.
func (s *suspension) sleptAt(wall, lease time.Duration, ask func() time.Duration) time.Duration {
	ahead := wall - lease
	last := s.last.Load()
	if last == nil || (ahead-last.ahead).Abs() > unnoticed {
		last = &sleptBy{ahead, ask()}
		s.last.Store(last)
	}
	return last.slept
}
