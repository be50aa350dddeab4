package scheduler

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/db"
)

// quietFinisher is a writer of results to which none come.
func quietFinisher() *batcher[finishing] {
	return newBatcher(db.MaxBatch, 0, 2*db.MaxBatch, func(context.Context, []finishing) {})
}

// TestResultsThatWaitLetOneClaimGoAtATime: more of them would become more results than are written.
func TestResultsThatWaitLetOneClaimGoAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		finisher := quietFinisher()
		finisher.stopc = make(chan struct{})
		c := newClaimer(&Engine{cfg: Config{ClaimWorkers: 2}, finisher: finisher})
		took := func(when string, want bool) {
			t.Helper()
			if number, wait := c.takeOff(nil); (number > 0) != want || !want && wait <= 0 {
				t.Errorf("%s: claim %d, wait %v", when, number, wait)
			}
		}
		for range db.MaxBatch {
			if err := finisher.add(t.Context(), finishing{}); err != nil {
				t.Fatal(err)
			}
		}
		took("the first, while results wait", true)
		took("another", false)
		<-finisher.items
		took("another, when what waits is one batch's", true)
		c.land(1, nil, nil)
		c.land(2, nil, nil)
		if err := finisher.add(t.Context(), finishing{}); err != nil {
			t.Fatal(err)
		}
		took("the next, while results wait again", true)
		time.Sleep(slowClaim)
		took("beside one that somebody else's lock holds up", true)
	})
}

// TestNoMoreIsClaimedThanResultsAreWritten while results wait, but for some every quarter of a second: runs may be long, and none of these results theirs.
func TestNoMoreIsClaimedThanResultsAreWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		finisher := quietFinisher()
		finisher.stopc = make(chan struct{})
		c := newClaimer(&Engine{cfg: Config{ClaimWorkers: 2}, finisher: finisher})
		took := func(when string, want bool) {
			t.Helper()
			number, wait := c.takeOff(nil)
			if (number > 0) != want || !want && (wait <= 0 || wait > lookAgain) {
				t.Errorf("%s: claim %d, wait %v", when, number, wait)
			}
			if number > 0 {
				c.made(3)
				c.land(number, nil, nil)
			}
		}
		took("while no results wait", true)
		took("the next", true)
		for range db.MaxBatch {
			if err := finisher.add(t.Context(), finishing{}); err != nil {
				t.Fatal(err)
			}
		}
		took("when they begin to wait", false)
		finisher.written.Add(2)
		took("after two of three", false)
		finisher.written.Add(1)
		took("after all three", true)
		took("the next one", false)
		time.Sleep(longestPause)
		took("when nothing was written for long", true)
		<-finisher.items
		took("when they wait no more", true)
	})
}

// TestAClaimWaitsUntilTheFirstUnderWayIsSlow, and so many at most may be under way however slow they are.
func TestAClaimWaitsUntilTheFirstUnderWayIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClaimer(&Engine{cfg: Config{ClaimWorkers: 2}, finisher: quietFinisher()})
		c.takeOff(nil)
		time.Sleep(slowClaim / 3)
		c.takeOff(nil)
		if number, wait := c.takeOff(nil); number != 0 || wait != slowClaim-slowClaim/3 {
			t.Errorf("claim %d, wait %v", number, wait)
		}
		time.Sleep(slowClaim - slowClaim/3)
		for n := 3; n <= 2*slowClaims; n++ {
			if number, wait := c.takeOff(nil); number != n || wait != 0 {
				t.Fatalf("claim %d is number %d, wait %v", n, number, wait)
			}
			time.Sleep(slowClaim)
		}
		if number, wait := c.takeOff(nil); number != 0 || wait != slowClaim {
			t.Errorf("claim %d is begun beside %d that hang; wait %v", number, 2*slowClaims, wait)
		}
	})
}

func TestClaimingIsIdleWhenNothingOfItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClaimer(&Engine{cfg: Config{ClaimWorkers: 2, ClaimEvery: time.Second}, finisher: quietFinisher()})
		is := func(when string, idle, sinceRead time.Duration) {
			t.Helper()
			if got := c.idle(); got != idle {
				t.Errorf("%s: idle for %v, want %v", when, got, idle)
			}
			if got := c.sinceRead(); got != sinceRead {
				t.Errorf("%s: a read is overdue by %v, want %v", when, got, sinceRead)
			}
		}
		time.Sleep(time.Hour)
		c.start()
		is("at the start", 0, 0)
		time.Sleep(time.Second)
		is("when a read is due", 0, 0)
		time.Sleep(time.Second)
		is("a second later", time.Second, time.Second)
		c.endRead(true, 0)
		is("after a read", 0, 0)
		first, _ := c.takeOff(nil)
		time.Sleep(3 * time.Second)
		second, _ := c.takeOff(nil)
		time.Sleep(time.Second)
		c.endRead(true, 0)
		is("of two claims the older counts", 4*time.Second, 0)
		c.land(second, nil, nil)
		is("one has ended", 0, 0)
		time.Sleep(500 * time.Millisecond)
		is("since it ended", 500*time.Millisecond, 0)
		c.land(first, nil, errors.New("rolled back"))
		is("none is under way", 0, 0)
	})
}

func TestWhatFailedIsToldOnceAndTheFirstOfIt(t *testing.T) {
	t.Parallel()
	c := newClaimer(&Engine{cfg: Config{ClaimWorkers: 2}, finisher: quietFinisher()})
	one, two := errors.New("one"), errors.New("two")
	c.land(1, nil, one)
	c.land(2, nil, two)
	c.land(3, nil, nil)
	if err := c.errors(); !errors.Is(err, one) {
		t.Errorf("the first failure is %v", err)
	}
	if err := c.errors(); err != nil {
		t.Errorf("told again: %v", err)
	}
}

// TestALockedRowIsLeftOutForAWhileAndThenClaimedApart looks at the batches alone.
func TestALockedRowIsLeftOutForAWhileAndThenClaimedApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClaimer(&Engine{cfg: Config{ClaimWorkers: 2}, finisher: quietFinisher()})
		rows := []db.ListDueJobsRow{{ID: 1, TriggerNextTime: 5, ClaimedUntil: 5}, {ID: 2}, {ID: 3}}
		are := func(when string, want ...[]int64) {
			t.Helper()
			var got [][]int64
			for _, batch := range c.batches(rows) {
				got = append(got, jobIDs(batch))
			}
			if !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("%s: %v, want %v", when, got, want)
			}
		}
		are("nothing is locked", []int64{1, 2, 3})
		c.leave(rows[1:2])
		are("locked", []int64{1, 3})
		time.Sleep(leaveOut - 1)
		are("a moment before its time", []int64{1, 3})
		time.Sleep(time.Nanosecond)
		are("its time is over", []int64{1, 3}, []int64{2})
		are("then it is as the others", []int64{1, 2, 3})
		number, _ := c.takeOff(rows[:1])
		are("one is in a claim", []int64{2, 3})
		c.land(number, rows[:1], nil)
		are("which ended during the read", []int64{2, 3})
		c.beginRead()
		are("at the next read", []int64{1, 2, 3})
		c.leave(rows[1:2])
		time.Sleep(leaveOut + time.Minute)
		c.leave(nil)
		if len(c.locked) != 1 {
			t.Error("a job is forgotten within the minute")
		}
		time.Sleep(time.Nanosecond)
		c.leave(nil)
		if len(c.locked) != 0 {
			t.Error("a job that is no longer due is remembered for ever")
		}
	})
}

// claimDue claims everything of this node's share that is due within the horizon.
func (e *Engine) claimDue(ctx context.Context) error {
	err := e.claimer.round(ctx)
	e.claimer.flights.Wait()
	return errors.Join(err, e.claimer.errors())
}
