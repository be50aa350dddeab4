//go:build go1.26

package wire_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// TestFaultsOfRealCalls makes real calls go wrong.
func TestFaultsOfRealCalls(t *testing.T) {
	t.Parallel()
	serve := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	hang := make(chan struct{})
	var reached atomic.Bool
	late := serve(func(w http.ResponseWriter, r *http.Request) {
		reached.Store(true)
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(hang) })
	plain := serve(func(http.ResponseWriter, *http.Request) {})
	for _, tt := range []struct {
		name, address string
		timeout       time.Duration
		want          wire.Fault
	}{
		{"nobody listens", "http://127.0.0.1:" + executortest.FreePort(t), time.Minute, wire.FaultRefused},
		{"an unknown name", "http://executor.invalid:9999", time.Minute, wire.FaultHost},
		{"an unknown authority", secure.URL, time.Minute, wire.FaultCertificate},
		{"no TLS there", strings.Replace(plain, "http:", "https:", 1), time.Minute, wire.FaultTLS},
		{"no answer in time", late, 50 * time.Millisecond, wire.FaultLate},
		{"cut off", serve(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), time.Minute, wire.FaultBroken},
		{"another status", serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }), time.Minute, wire.FaultStatus},
		{"something else", serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }), time.Minute, wire.FaultProtocol},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			beat := func(timeout time.Duration) error {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				_, err := wire.NewExecutorClient(nil).Beat(ctx, wire.Target{Address: tt.address})
				return err
			}
			err := beat(tt.timeout)
			for limit := tt.timeout; tt.address == late && !reached.Load() && limit < time.Minute; { // a slow machine takes longer to get there
				limit *= 2
				err = beat(limit)
			}
			if got := wire.FaultOf(err); got != tt.want {
				t.Errorf("%v is called %q, want %q", err, got, tt.want)
			}
		})
	}
}

// TestAMachineWithoutPorts: of IPv6 the same error means that the machine has no such address, which another name of the executor may not need.
func TestAMachineWithoutPorts(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]wire.Fault{"10.0.0.1": wire.FaultOwn, "::1": wire.FaultOther} {
		err := &wire.CallError{Stage: wire.StageDial, Err: &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.ParseIP(address), Port: 9999},
			Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}}
		if got := wire.FaultOf(err); got != want {
			t.Errorf("%v is called %q, want %q", err, got, want)
		}
	}
}

func TestFaultOfOtherErrors(t *testing.T) {
	t.Parallel()
	for want, err := range map[wire.Fault]error{
		"":                 nil,
		wire.FaultOther:    errors.New("connection refused"), // words decide nothing
		wire.FaultConnect:  &wire.CallError{Stage: wire.StageDial, Err: context.DeadlineExceeded},
		wire.FaultStopped:  &wire.CallError{Stage: wire.StageDial, Err: context.Canceled},
		wire.FaultOwn:      &wire.CallError{Stage: wire.StageDial, Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}},
		wire.FaultHost:     &wire.CallError{Stage: wire.StageDial, Err: &net.DNSError{Err: "i/o timeout", IsTimeout: true}},
		wire.FaultProtocol: &wire.CallError{Stage: wire.StageDecode, Err: errors.New("x")},
	} {
		if got := wire.FaultOf(err); got != want {
			t.Errorf("%v is called %q, want %q", err, got, want)
		}
		if want != "" && !slices.Contains(wire.AllFaults, want) {
			t.Errorf("%q is not listed", want)
		}
	}
}
