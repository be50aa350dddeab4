package app

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// comeBack listens for connections that were taken from the server while a request waited, and come back to it when that is answered.
// TLS is theirs already.
type comeBack struct {
	conns  chan net.Conn
	idle   sync.Map // connections that came back, and brought nothing since: to the server they are new, and it would wait for them at its end
	closed chan struct{}
	once   sync.Once
	given  atomic.Int64
}

func newComeBack() *comeBack {
	return &comeBack{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// give hands a connection over, or closes it when nobody serves any more.
func (l *comeBack) give(conn net.Conn) {
	l.idle.Store(conn, nil)
	select {
	case <-l.closed:
		_ = conn.Close()
		return
	default: // Close finds it
	}
	select {
	case l.conns <- conn:
	case <-l.closed:
	}
}

// note is told by the server what becomes of a connection.
func (l *comeBack) note(conn net.Conn, state http.ConnState) {
	if state != http.StateNew {
		l.idle.Delete(conn)
	}
}

func (l *comeBack) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		l.given.Add(1)
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Connections on which nothing goes on are closed too.
func (l *comeBack) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.idle.Range(func(conn, _ any) bool {
			_ = conn.(net.Conn).Close()
			return true
		})
	})
	return nil
}

func (l *comeBack) Addr() net.Addr { return &net.TCPAddr{} }
