//go:build !linux

package cluster

import "time"

// slept is for how long this machine has been suspended, which is not known here.
func slept() time.Duration { return 0 }
