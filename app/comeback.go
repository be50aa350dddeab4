package app

import (
	"net"
	"sync"
	"sync/atomic"
)

// comeBack listens for connections that were taken from the server while a request waited, and come back to it when that is answered.
// TLS is theirs already. The server knows nothing of what was on them before, so that the next request has the time of a first one.
type comeBack struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	given  atomic.Int64
}

func newComeBack() *comeBack {
	return &comeBack{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// give hands a connection over, or closes it when nobody serves any more.
func (l *comeBack) give(conn net.Conn) {
	select {
	case l.conns <- conn:
		l.given.Add(1)
	case <-l.closed:
		_ = conn.Close()
	}
}

// Accept implements net.Listener.
func (l *comeBack) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *comeBack) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *comeBack) Addr() net.Addr { return &net.TCPAddr{} }
