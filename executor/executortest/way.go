package executortest

import (
	"net"
	"sync"
	"testing"
)

// Way is a network on the way to a server. When it is cut, connections that are there stay open, and nothing more goes over them; those that
// are made afterwards work.
type Way struct {
	net.Listener

	going  sync.WaitGroup
	mu     sync.Mutex
	cut    chan struct{}
	to     string
	all    []net.Conn
	closed bool
}

// NewWay makes a way to the server at an address, gone when the test ends.
func NewWay(t testing.TB, to string) *Way {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Way{Listener: listener, cut: make(chan struct{}), to: to}
	go func() {
		for {
			here, err := listener.Accept()
			if err != nil {
				return
			}
			w.lead(here)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		w.mu.Lock()
		w.closed = true
		for _, c := range w.all {
			_ = c.Close()
		}
		w.mu.Unlock()
		w.going.Wait()
	})
	return w
}

// lead leads a connection to the server.
func (w *Way) lead(here net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	there, err := net.Dial("tcp", w.to)
	if err != nil {
		_ = here.Close()
		return
	}
	if w.closed {
		_, _ = here.Close(), there.Close()
		return
	}
	w.all = append(w.all, here, there)
	cut := w.cut
	for _, ends := range [][2]net.Conn{{here, there}, {there, here}} {
		w.going.Add(1)
		go func() {
			defer w.going.Done()
			carry(ends[0], ends[1], cut)
		}()
	}
}

// carry takes bytes from one end to the other until the way is cut. From then on they are taken, and go nowhere.
func carry(from, to net.Conn, cut <-chan struct{}) {
	bytes := make([]byte, 32<<10)
	for {
		n, err := from.Read(bytes)
		select {
		case <-cut:
		default:
			if err != nil {
				_ = to.Close()
				return
			}
			_, err = to.Write(bytes[:n])
		}
		if err != nil {
			return
		}
	}
}

// Cut cuts it, once or again. New connections lead to the server at an address.
func (w *Way) Cut(to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.cut)
	w.cut, w.to = make(chan struct{}), to
}
