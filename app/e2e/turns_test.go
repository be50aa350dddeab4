package e2e

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"
)

// Tests run beside each other, of two kinds. Those that wait, for a lease to end or a database to come back, are what the suite
// would take its time from: several wait at once. Those that work, mostly in a browser, take turns on the processors.
const room = 4 // of tests that wait

var (
	working = semaphore.NewWeighted(int64(max(2, runtime.GOMAXPROCS(0))))
	waiting = semaphore.NewWeighted(room)
)

// allAtOnce lets all tests begin, unless -parallel says otherwise: what keeps them apart is their turns.
func allAtOnce() error {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(1000))
}

// works is called by a test that keeps a processor busy, before it does anything.
func works(t *testing.T) {
	t.Helper()
	t.Parallel()
	turn(t, working, 1)
}

// waits is called by a test that mostly waits for time to pass, before it does anything.
func waits(t *testing.T) {
	t.Helper()
	t.Parallel()
	turn(t, waiting, 1)
}

// waitsWithMany is for a test that waits with so many servers that there is little room beside it, and none for another such.
func waitsWithMany(t *testing.T) {
	t.Helper()
	t.Parallel()
	turn(t, waiting, room/2+1)
}

func turn(t *testing.T, of *semaphore.Weighted, n int64) {
	t.Helper()
	begin := time.Now()
	if err := of.Acquire(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	t.Logf("its turn came after %v", time.Since(begin).Round(time.Second))
	t.Cleanup(func() { of.Release(n) })
}
