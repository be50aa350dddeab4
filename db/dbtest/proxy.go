package dbtest

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"
)

// Proxy is a network between a program and a server that can be taken away. While it is, bytes go nowhere and nobody is
// told, as when a cable is pulled: connections stay open, and what was sent arrives when the network is back, unless the
// sender has aborted the connection meanwhile, which a network that is away does not tell either.
type Proxy struct {
	listener net.Listener
	network  string // of the server
	address  string

	mu    sync.Mutex
	up    chan struct{} // closed while bytes flow
	conns map[net.Conn]struct{}
}

// NewProxy starts a proxy in front of a server, which a test ends with.
func NewProxy(tb testing.TB, network, address string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{listener: l, network: network, address: address, up: make(chan struct{}), conns: make(map[net.Conn]struct{})}
	close(p.up)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.serve(conn) })
		}
	})
	tb.Cleanup(func() {
		p.Restore()
		l.Close()
		p.Cut()
		all.Wait()
	})
	return p
}

// Addr is the host and port that programs connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Swallow takes the network away.
func (p *Proxy) Swallow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.up:
		p.up = make(chan struct{})
	default:
	}
}

// Restore brings the network back.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.up:
	default:
		close(p.up)
	}
}

// Cut breaks all connections, visibly for both sides.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
	select {
	case <-p.up:
	default: // nobody waits for the network on connections that are gone
		close(p.up)
		p.up = make(chan struct{})
	}
}

func (p *Proxy) flowing() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.up
}

func (p *Proxy) hold(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = struct{}{}
}

func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
	c.Close()
}

func (p *Proxy) serve(client net.Conn) {
	p.hold(client)
	defer p.drop(client)
	<-p.flowing()
	server, err := net.Dial(p.network, p.address)
	if err != nil {
		return
	}
	p.hold(server)
	defer p.drop(server)
	var both sync.WaitGroup
	both.Go(func() { p.copy(server, client); server.Close() })
	both.Go(func() { p.copy(client, server); client.Close() })
	both.Wait()
}

// copy forwards what comes, later if need be.
func (p *Proxy) copy(to, from net.Conn) {
	type piece struct {
		bytes []byte
		err   error
	}
	pieces := make(chan piece, 1)
	go func() { // reads on while the network is away, to see what becomes of the connection
		defer close(pieces)
		for {
			b := make([]byte, 64<<10)
			n, err := from.Read(b)
			pieces <- piece{b[:n], err}
			if err != nil {
				return
			}
		}
	}()
	var held []byte
	var end error
	for {
		flowing := p.flowing()
		if len(held) == 0 && end == nil { // nothing to do before something comes
			flowing = nil
		}
		reading := pieces
		if end != nil {
			reading = nil
		}
		select {
		case in := <-reading:
			held = append(held, in.bytes...)
			end = in.err
			if errors.Is(end, syscall.ECONNRESET) {
				held = nil // the sender has thrown away what had not arrived
			}
			continue
		case <-flowing:
		}
		if len(held) > 0 {
			if _, err := to.Write(held); err != nil {
				break
			}
			held = nil
		}
		if end != nil {
			break
		}
	}
	from.Close() // also ends the reader
	for range pieces {
	}
}
