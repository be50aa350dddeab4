package scheduler

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// goroutine is which one calls it.
func goroutine() string {
	head := make([]byte, 64)
	head = head[:runtime.Stack(head, false)]
	return strings.Fields(string(head))[1]
}

// working is a crew whose work takes a second, and notes which goroutine did it.
func working() (c *crew[int], did func() []string) {
	var mu sync.Mutex
	var by []string
	c = newCrew(func(int) {
		time.Sleep(time.Second) // of the bubble's time
		mu.Lock()
		defer mu.Unlock()
		by = append(by, goroutine())
	})
	return c, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(by)
	}
}

// TestAGoroutineOfACrewStaysForMore: what comes soon is done by one that is there, what comes at once by others beside it, and what comes late
// by a new one.
func TestAGoroutineOfACrewStaysForMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, did := working()
		c.start(1)
		time.Sleep(time.Second + stayFor - time.Millisecond)
		c.start(2)
		c.start(3)
		time.Sleep(time.Second)
		synctest.Wait()
		by := did()
		if len(by) != 3 || by[0] != by[1] && by[0] != by[2] {
			t.Errorf("done by the goroutines %v, want the first to have done one of the others", by)
		} else if by[1] == by[2] {
			t.Errorf("goroutine %s did two at once", by[1])
		}
		time.Sleep(stayFor + time.Millisecond)
		c.start(4)
		c.wait()
		if by := did(); len(by) != 4 || slices.Contains(by[:3], by[3]) {
			t.Errorf("done by the goroutines %v, want a new one for the last", by)
		}
	})
}

// TestACrewIsWaitedFor: until all is done, without those that stay for more, and it works on afterwards.
func TestACrewIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, did := working()
		for round := range 2 {
			began := time.Now()
			c.start(1)
			c.start(2)
			c.wait()
			if took := time.Since(began); took != time.Second || len(did()) != 2*(round+1) {
				t.Errorf("round %d: %d done after %v", round, len(did()), took)
			}
		}
	})
}
