package executortest

import (
	"bytes"
	"sync"
)

// Output collects what several goroutines or a process write, for a test to read.
type Output struct {
	held sync.Mutex
	mu   sync.Mutex
	text bytes.Buffer
}

// Hold has whoever writes wait until release is called, as a reader does that does not read.
func (o *Output) Hold() (release func()) {
	o.held.Lock()
	return o.held.Unlock
}

func (o *Output) Write(p []byte) (int, error) {
	o.held.Lock()
	defer o.held.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String is everything written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
