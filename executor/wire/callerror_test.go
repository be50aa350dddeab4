package wire

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
)

// The step of a call is named once, also where the net package names it too.
func TestAnErrorOfACallNamesItsStepOnce(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9}, Err: syscall.ECONNREFUSED}
	for _, tt := range []struct {
		err  CallError
		want string
	}{
		{CallError{Stage: StageDial, Err: refused}, "dial tcp 127.0.0.1:9: connection refused"},
		{CallError{Stage: StageDial, Err: errors.New("no such address")}, "dial: no such address"},
		{CallError{Stage: StageWrite, Err: &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}}, "write tcp: broken pipe"},
		{CallError{Stage: StageAnswer, Err: io.ErrUnexpectedEOF}, "answer: unexpected EOF"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
