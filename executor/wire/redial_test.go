//go:build go1.26

package wire

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// redialled is a server that knows its connections, with what calls it.
type redialled struct {
	*Redialling
	url          string
	made, closed atomic.Int32
	hold         chan struct{} // what is asked for at /hold is answered when it is closed
	held         chan struct{}
	late         atomic.Pointer[string] // the query with which somebody was at /late last, and held
}

func newRedialled(t *testing.T) *redialled {
	t.Helper()
	r := &redialled{hold: make(chan struct{}), held: make(chan struct{}, 10)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/hold":
			r.held <- struct{}{}
			<-r.hold
		case "/late":
			r.late.Store(&req.URL.RawQuery)
			<-r.hold
		case "/abort":
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "fine")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			r.made.Add(1)
		case http.StateClosed:
			r.closed.Add(1)
		case http.StateActive, http.StateIdle, http.StateHijacked:
		}
	}
	server.Start()
	r.url = server.URL
	r.Redialling = NewRedialling(&http.Transport{})
	t.Cleanup(func() {
		r.CloseIdleConnections()
		server.Close()
	})
	return r
}

// ask asks for a path, until ctx ends.
func (r *redialled) ask(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
	if err != nil {
		return err
	}
	resp, err := r.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// isLate asks for what is held, until its time is over, and gives the connections by which that was. A slow machine takes longer to get there,
// and each time that it did not has made new ones.
func (r *redialled) isLate(t *testing.T) (by *http.Transport) {
	t.Helper()
	for limit := 50 * time.Millisecond; limit < 2*time.Minute; limit *= 2 {
		by = r.now
		query := rand.Text()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err := r.ask(ctx, "/late?"+query)
		cancel()
		if at := r.late.Load(); at != nil && *at == query {
			if FaultOf(err) != FaultLate {
				t.Errorf("what is held: %v", err)
			}
			return by
		}
	}
	t.Fatal("what is held is never reached")
	return nil
}

// TestOnlyWhatIsLateMakesNewConnections: not what succeeds, fails at once, or is given up.
func TestOnlyWhatIsLateMakesNewConnections(t *testing.T) {
	t.Parallel()
	r := newRedialled(t)
	defer close(r.hold)
	first := r.now
	in := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		t.Cleanup(cancel)
		return ctx
	}
	for range 3 {
		if err := r.ask(in(), "/"); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.made.Load(); n != 1 {
		t.Errorf("for three requests %d connections were made", n)
	}
	if err := r.ask(in(), "/abort"); err == nil {
		t.Error("an answer that is broken off is one")
	}
	ctx, cancel := context.WithCancel(in())
	go func() {
		<-r.held
		cancel()
	}()
	if err := r.ask(ctx, "/hold"); FaultOf(err) != FaultStopped {
		t.Errorf("what is given up: %v", err)
	}
	if r.now != first || r.old != nil {
		t.Error("new connections are made after that")
	}
	by := r.isLate(t)
	second := r.now
	if second == by || r.old != by {
		t.Error("after an answer that did not come the same connections are taken")
	}
	if err := r.ask(in(), "/"); err != nil {
		t.Error(err)
	}
	// Two that are late at the same time are one reason for others.
	r.leave(by)
	if r.now != second {
		t.Error("who was late before says something of the connections that were made since")
	}
	if by = r.isLate(t); r.now == by || r.old != by {
		t.Error("the second time the same connections are taken")
	}
}

// TestAllConnectionsThatNobodyUsesAreClosed, also those that were left while a request went on there.
func TestAllConnectionsThatNobodyUsesAreClosed(t *testing.T) {
	t.Parallel()
	r := newRedialled(t)
	ended := make(chan error, 1)
	go func() { ended <- r.ask(context.Background(), "/hold") }()
	<-r.held
	r.isLate(t)
	if err := r.ask(context.Background(), "/"); err != nil {
		t.Fatal(err)
	}
	close(r.hold)
	if err := <-ended; err != nil {
		t.Errorf("what went on over a connection that was left: %v", err)
	}
	r.CloseIdleConnections()
	for deadline := time.Now().Add(time.Minute); r.closed.Load() < r.made.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d connections are closed", r.closed.Load(), r.made.Load())
		}
	}
}

// TestAnAdminThatFailedIsAskedLast, for a while, unless it succeeds: then it is asked like the others. It is asked first where no other is.
func TestAnAdminThatFailedIsAskedLast(t *testing.T) {
	t.Parallel()
	var asked [2]atomic.Int32
	var down [2]atomic.Bool
	admins := make([]string, 2)
	for i := range admins {
		server := fakeAdmin(t, func(string, string) string {
			asked[i].Add(1)
			if down[i].Load() {
				return `{"code":500,"msg":"not now"}`
			}
			return okAnswer
		})
		admins[i] = server.URL
	}
	client := NewAdminClient(nil, admins, "", "orders", 0)
	t.Cleanup(client.http.CloseIdleConnections)
	beat := func(want error, calls ...int32) {
		t.Helper()
		err := client.Registry(t.Context(), RegistryRequest{RegistryKey: "orders"})
		if (err == nil) != (want == nil) {
			t.Errorf("%v", err)
		}
		for i := range asked {
			if n := asked[i].Swap(0); n != calls[i] {
				t.Errorf("admin %d was asked %d times, want %d", i, n, calls[i])
			}
		}
	}
	down[0].Store(true)
	beat(nil, 1, 1) // it is the first one's turn
	for range 4 {
		beat(nil, 0, 1)
	}
	down[1].Store(true)
	beat(io.EOF, 1, 1) // all have failed, and are asked all the same
	beat(io.EOF, 1, 1)
	down[0].Store(false)
	for range 2 { // by turns, and the one that is down is asked no more once the other is known to be well
		if err := client.Registry(t.Context(), RegistryRequest{RegistryKey: "orders"}); err != nil {
			t.Error(err)
		}
	}
	asked[0].Store(0)
	asked[1].Store(0)
	for range 4 {
		beat(nil, 1, 0)
	}
	alone := NewAdminClient(nil, admins[1:], "", "orders", 0)
	t.Cleanup(alone.http.CloseIdleConnections)
	for range 2 {
		if err := alone.Registry(t.Context(), RegistryRequest{RegistryKey: "orders"}); err == nil {
			t.Error("nobody was asked, and all is well")
		}
	}
}

// TestAHandlerInsideIsAskedAsOverANetwork: it sees who is asked for what, and its answer is what it said first.
func TestAHandlerInsideIsAskedAsOverANetwork(t *testing.T) {
	t.Parallel()
	client := &http.Client{Transport: HandlerTransport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.RequestURI != "/a/b?c=d" || r.Host != "inside.example.com:8080" || r.RemoteAddr != "127.0.0.1:0" || len(body) != 0 {
			t.Errorf("%s at %s from %s with %q, %v", r.RequestURI, r.Host, r.RemoteAddr, body, err)
		}
		w.Header().Set("X-Said", "yes")
		_, _ = io.WriteString(w, "first")
		w.WriteHeader(http.StatusTeapot) // too late
	})}}
	resp, err := client.Get("http://inside.example.com:8080/a/b?c=d")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || string(text) != "first" || resp.StatusCode != http.StatusOK || resp.ContentLength != 5 || resp.Header.Get("X-Said") != "yes" {
		t.Errorf("%d %q, %v", resp.StatusCode, text, err)
	}
	client.Transport = HandlerTransport{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the disk is upside down") })}
	if _, err := client.Get("http://inside/"); err == nil || !strings.Contains(err.Error(), "the disk is upside down") {
		t.Errorf("of a handler that panics: %v", err)
	}
	client.Transport = HandlerTransport{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })}
	if _, err := client.Get("http://inside/"); err == nil || strings.Contains(err.Error(), "panicked") {
		t.Errorf("of one that breaks off: %v", err)
	}
}
