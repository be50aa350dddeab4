//go:build unix

package wire

import (
	"syscall"
	"time"
)

// open reports whether the peer has kept the connection open, and silent, since it was used last.
func (c *plainConn) open() bool {
	conn := c.Conn
	if gated, ok := conn.(*gatedConn); ok {
		conn = gated.tcp
	}
	source, ok := conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := source.SyscallConn()
	if err != nil || c.SetReadDeadline(time.Time{}) != nil {
		return false
	}
	silent := false
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, err := syscall.Read(int(fd), b[:])
		silent = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	})
	return err == nil && silent
}
