//go:build go1.26

package wire

import (
	"context"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestNamesThatAMachineCouldNotLookUp: for want of files it is, as long as nothing can be opened and for as long as the library goes on with
// what it came to then.
func TestNamesThatAMachineCouldNotLookUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var opens error
		names := &shortNames{open: func() error { return opens }}
		fault := func(err error) Fault { return FaultOf(&CallError{Stage: StageDial, Err: names.judge(err)}) }
		noName := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "connection refused", Name: "a", Server: "[::1]:53"}}
		noFile := os.NewSyscallError("open", syscall.EMFILE)
		check := func(when string, err error, want Fault) {
			t.Helper()
			if got := fault(err); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		check("all is well", noName, FaultHost)
		opens = noFile
		check("nothing can be opened", noName, FaultOwn)
		check("nor connected", syscall.ECONNREFUSED, FaultRefused)
		check("nor does anybody want it", &net.DNSError{Err: "canceled", UnwrapErr: context.Canceled}, FaultStopped)
		opens = nil
		time.Sleep(lookupRest)
		check("the library does not know yet", noName, FaultOwn)
		time.Sleep(time.Second)
		check("it does", noName, FaultHost)
		check("a dial that finds no socket", noFile, FaultOwn)
		check("a name after that", noName, FaultOwn)
	})
}
