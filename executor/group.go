package executor

import "sync"

// group is a sync.WaitGroup with the method Go, which came with Go 1.25.
type group struct{ sync.WaitGroup }

// Go calls f in a goroutine that the group waits for.
func (g *group) Go(f func()) {
	g.Add(1)
	go func() {
		defer g.Done()
		f()
	}()
}
