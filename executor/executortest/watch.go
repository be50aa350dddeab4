package executortest

import "time"

// Watch measures time until it is asked how much has passed, but for what the machine let nobody go on who could: on a busy one nothing is late
// by that.
func Watch() (passed func() time.Duration) {
	const step = 20 * time.Millisecond
	over, heldUp := make(chan struct{}), make(chan time.Duration)
	began := time.Now()
	go func() {
		tick := time.NewTicker(step)
		defer tick.Stop()
		var all time.Duration
		for before := began; ; before = time.Now() {
			select {
			case <-over:
				heldUp <- all
				return
			case <-tick.C:
				all += max(0, time.Since(before)-2*step)
			}
		}
	}()
	return func() time.Duration {
		took := time.Since(began)
		close(over)
		return took - <-heldUp
	}
}
