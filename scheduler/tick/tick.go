// Package tick repeats what is to be done every so often.
package tick

import (
	"context"
	"iter"
	"time"
)

// Every yields whenever another period has passed, the first time when one has, until ctx ends. As with a [time.Ticker], what takes longer
// than a period is not made up for.
func Every(ctx context.Context, period time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-ticker.C:
				if !yield(now) {
					return
				}
			}
		}
	}
}
