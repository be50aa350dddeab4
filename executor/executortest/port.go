package executortest

import (
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
)

// handedOut are the ports that were given to tests of this process, also while nobody listens on them.
var handedOut sync.Map

// FreePort is a port of 127.0.0.1 on which nobody listens, for a program that a test starts, kills and starts again, and for an address
// where nobody is. No other call in this process gets the same one, and it lies below the range from which systems take ports by
// themselves (from 32768 on Linux): a connection or a listener on port 0 does not get it either. Nor do tests of other packages, which are
// processes beside this one: the port of the same number of UDP is held until the test ends, which is nothing to who listens for TCP.
// Whether somebody listens is found out by a call: a listener of our own, though closed, would live on in every process that another test
// is just starting, until that has become its program.
func FreePort(t testing.TB) string {
	t.Helper()
	for range 200 {
		port := strconv.Itoa(20000 + rand.IntN(12000))
		if _, taken := handedOut.LoadOrStore(port, true); taken {
			continue
		}
		held, err := net.ListenPacket("udp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Cleanup(func() { _ = held.Close() })
			return port
		}
		_, _ = c.Close(), held.Close()
	}
	t.Fatal("no free port")
	return ""
}

// NewServer starts a server on such a port, where nobody listens when a test has closed it.
func NewServer(t testing.TB, handler http.Handler) *httptest.Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:"+FreePort(t))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	return server
}
