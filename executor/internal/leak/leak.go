// Package leak fails tests that leave goroutines behind. It stands in for a library, because whoever imports the executor gets
// its module's requirements, also those of tests.
package leak

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Main runs the tests and ends the process. What they started must be over ten seconds after the last one.
func Main(m *testing.M) {
	code := m.Run()
	deadline := time.Now().Add(10 * time.Second)
	left := goroutines()
	for code == 0 && len(left) > 0 {
		if time.Now().After(deadline) {
			fmt.Fprintf(os.Stderr, "%d goroutines are left over:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
			code = 1
			break
		}
		time.Sleep(10 * time.Millisecond)
		left = goroutines()
	}
	os.Exit(code)
}

// goroutines are the stacks of those that tests started: all but this one and the one that waits for signals.
func goroutines() []string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var others []string
	for i, stack := range strings.Split(string(stacks), "\n\n") {
		if i > 0 && stack != "" && !strings.Contains(stack, "os/signal.signal_recv") && !strings.Contains(stack, "os/signal.loop") {
			others = append(others, stack)
		}
	}
	return others
}
