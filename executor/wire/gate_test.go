//go:build go1.26

package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// all is the rule of addresses that lets all be called. An admin's client has one.
func all(string) error { return nil }

// TestAShutGateLetsNothingOut makes calls whose gate shuts at different moments, over new connections and kept ones.
func TestAShutGateLetsNothingOut(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		var arrived atomic.Int64
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body, err := io.ReadAll(r.Body); err == nil && len(body) > 0 {
				arrived.Add(1)
			}
			io.WriteString(w, `{"code":200}`)
		})
		server := httptest.NewUnstartedServer(handler)
		if secure {
			server.StartTLS()
		} else {
			server.Start()
		}
		defer server.Close()
		transport := server.Client().Transport.(*http.Transport)
		client := wire.NewExecutorClient(wire.NewHTTPClient(4, wire.WithTLS(transport.TLSClientConfig), wire.WithDialRule(all)))
		defer client.Close()
		to := wire.Target{Address: server.URL}
		big := &wire.RunRequest{LogID: 1, GlueSource: strings.Repeat("x", 1<<20)}
		call := func(may func() bool, req *wire.RunRequest) error {
			ctx, cancel := context.WithTimeout(wire.WithGate(t.Context(), may), 10*time.Second)
			defer cancel()
			_, err := client.Run(ctx, to, req)
			return err
		}
		shut := func() bool { return false }
		if err := call(shut, &wire.RunRequest{LogID: 1}); !errors.Is(err, wire.ErrGate) || wire.Delivered(err) {
			t.Errorf("secure %v, a shut gate and a new connection: %v", secure, err)
		}
		if err := call(func() bool { return true }, &wire.RunRequest{LogID: 1}); err != nil || arrived.Load() != 1 {
			t.Errorf("secure %v, an open gate: %v, %d arrived", secure, err, arrived.Load())
		}
		if err := call(shut, &wire.RunRequest{LogID: 1}); !errors.Is(err, wire.ErrGate) || wire.Delivered(err) {
			t.Errorf("secure %v, a shut gate and a kept connection: %v", secure, err)
		}
		asked := 0
		if err := call(func() bool { asked++; return asked < 6 }, big); !errors.Is(err, wire.ErrGate) || wire.Delivered(err) {
			t.Errorf("secure %v, a gate that shuts in the middle: %v, asked %d times", secure, err, asked)
		}
		if _, err := client.Beat(t.Context(), to); err != nil {
			t.Errorf("secure %v, a call without a gate afterwards: %v", secure, err)
		}
		if n := arrived.Load(); n != 2 { // the run that might go, and the beat's body
			t.Errorf("secure %v: %d requests arrived whole, want 2", secure, n)
		}
		// A gate is that of its call, and not of the connection, which is kept.
		open := true
		if err := call(func() bool { return open }, &wire.RunRequest{LogID: 1}); err != nil {
			t.Errorf("secure %v: %v", secure, err)
		}
		open = false
		if _, err := client.Beat(t.Context(), to); err != nil {
			t.Errorf("secure %v, a call without a gate after one whose gate shut since: %v", secure, err)
		}
	}
}

// TestACallThatIsGivenUpTakesBackWhatHasNotLeft looks at how the connection of such a call ends: reset, not in order.
func TestACallThatIsGivenUpTakesBackWhatHasNotLeft(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, giveUp := context.WithCancel(t.Context()) // not before the request has come, however long a slow machine takes to that
	defer giveUp()
	ends := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			ends <- err
			return
		}
		defer conn.Close()
		if _, err = conn.Read(make([]byte, 1)); err == nil {
			giveUp()
			_, err = io.Copy(io.Discard, conn) // never answers
		}
		ends <- err
	}()
	client := wire.NewExecutorClient(wire.NewHTTPClient(4, wire.WithDialRule(all)))
	if _, err := client.Run(ctx, wire.Target{Address: l.Addr().String()}, &wire.RunRequest{LogID: 1}); err == nil || !wire.Delivered(err) {
		t.Errorf("the call: %v", err)
	}
	if err := <-ends; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection ended with %v, want a reset", err)
	}
}
