package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
)

// ErrGate is the error of a call whose gate was shut before the request had left.
var ErrGate = errors.New("the caller may not act any more")

type gateKey struct{}

// WithGate returns a context for calls that may be made only while may says so. It is asked at the last moment, each time
// before bytes are handed to the operating system: a program that was stopped after it had looked, and goes on much later,
// sends nothing then. A call it ends has [ErrGate], and has not reached the peer.
func WithGate(ctx context.Context, may func() bool) context.Context {
	return context.WithValue(ctx, gateKey{}, may)
}

// MayPass asks the gate of a context, as who brings calls to their peers in another way than [ExecutorClient] has to.
func MayPass(ctx context.Context) bool {
	may := gateOf(ctx)
	return may == nil || may()
}

func gateOf(ctx context.Context) func() bool {
	may, _ := ctx.Value(gateKey{}).(func() bool)
	return may
}

// gatedConn is a connection that writes only while the gate of the call which has it is open. One that is closed while a
// request waits for its answer takes back what the network has not taken yet: a request written into a network that is
// away would otherwise arrive when the network is back, however long the call has been over.
type gatedConn struct {
	net.Conn // and not the TCP connection itself, whose ReadFrom would write past the gate
	tcp      *net.TCPConn
	may      atomic.Pointer[func() bool]
	waiting  atomic.Bool // something was written, and nothing read since
}

// dialGated makes the connections of a client gated ones.
func dialGated(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		tcp, ok := conn.(*net.TCPConn)
		if !ok {
			return conn, nil
		}
		c := &gatedConn{Conn: conn, tcp: tcp}
		c.arm(gateOf(ctx))
		return c, nil
	}
}

// arm gives the connection to a call with this gate, or with none.
func (c *gatedConn) arm(may func() bool) {
	if may == nil {
		c.may.Store(nil)
		return
	}
	c.may.Store(&may)
}

// armConn does it for a connection as the transport shows it.
func armConn(conn net.Conn, may func() bool) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if c, ok := conn.(*gatedConn); ok {
		c.arm(may)
	}
}

func (c *gatedConn) Write(b []byte) (int, error) {
	if may := c.may.Load(); may != nil && !(*may)() {
		return 0, ErrGate
	}
	c.waiting.Store(true)
	return c.Conn.Write(b)
}

func (c *gatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.waiting.Store(false)
	}
	return n, err
}

func (c *gatedConn) Close() error {
	if c.waiting.Load() {
		_ = c.tcp.SetLinger(0) // closing is all that is left to do about a failure
	}
	return c.Conn.Close()
}
