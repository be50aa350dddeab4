package scheduler

import (
	"sync"
	"time"
)

// stayFor is how long a goroutine of a crew waits for more to do.
const stayFor = 2 * time.Second

// crew does things at once, each in a goroutine of its own, which stays for a while and does others: the stack of a new one is small, and to
// have it grow again and again took a tenth of what a call to an executor costs the admin.
type crew[T any] struct {
	do   func(T)
	more chan T        // to goroutines that stay
	over chan struct{} // closed when none is to stay any more
	all  sync.WaitGroup
}

func newCrew[T any](do func(T)) *crew[T] {
	return &crew[T]{do: do, more: make(chan T), over: make(chan struct{})}
}

// start has x done. It waits for nothing, and must not be called beside wait.
func (c *crew[T]) start(x T) {
	select {
	case c.more <- x:
	default:
		over := c.over
		c.all.Go(func() { c.work(x, over) })
	}
}

func (c *crew[T]) work(x T, over <-chan struct{}) {
	stay := time.NewTimer(stayFor)
	defer stay.Stop()
	for {
		c.do(x)
		stay.Reset(stayFor)
		select {
		case x = <-c.more:
		case <-stay.C:
			return
		case <-over:
			return
		}
	}
}

// wait waits for what was started. Others may be started afterwards.
func (c *crew[T]) wait() {
	close(c.over)
	c.all.Wait()
	c.over = make(chan struct{})
}
