package cluster

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func TestTheClockNeverGoesBackForASmallDifference(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for _, slew := range []time.Duration{time.Second, -time.Second} {
		r := reading{mono: start, at: start, slew: slew}
		last := start
		for passed := time.Duration(0); passed < 30*time.Second; passed += 100 * time.Millisecond {
			now := r.on(start.Add(passed))
			if now.Before(last) {
				t.Fatalf("%s to make up: back by %s after %s", slew, last.Sub(now), passed)
			}
			last = now
		}
		if want := start.Add(29900*time.Millisecond + slew); !last.Equal(want) {
			t.Errorf("%s to make up: %s off in the end", slew, last.Sub(want))
		}
	}
}

// TestP7AMachineThatWasSuspended comes back with its monotonic clock behind everybody else's.
func TestP7AMachineThatWasSuspended(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	one, two := started(t, pool, "one", nil), started(t, pool, "two", nil)
	await(t, "each knows of the other", func() bool { return len(one.Alive()) == 2 && len(two.Alive()) == 2 })
	two.clock.set(two.Now().Add(-10*time.Minute), 0)
	await(t, "it goes by the others' time again", func() bool { return time.Until(two.Now()).Abs() < 500*time.Millisecond })
	before, now := time.Now(), one.Now() // and not time.Until: the machine may stand still between the two
	if off := now.Sub(before); off < -500*time.Millisecond || time.Until(now) > 500*time.Millisecond {
		t.Errorf("the other was moved by %s", off)
	}
}
