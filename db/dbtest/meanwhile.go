package dbtest

import (
	"sync"
	"testing"
)

// Meanwhile does something again and again, four times at once, until stop is called, which waits for the last. What fails fails the test. It
// is for what holds whoever reads or writes at the same time.
func Meanwhile(t testing.TB, do func() error) (stop func()) {
	t.Helper()
	over := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if err := do(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	return func() {
		close(over)
		all.Wait()
	}
}
