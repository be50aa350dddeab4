package executortest

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// Stub is an executor that answers as a test tells it to, and remembers what it was asked. It runs nothing.
type Stub struct {
	URL string

	ended chan struct{}

	mu        sync.Mutex
	requests  []Request
	behaviour Behaviour
	byPath    map[string]Behaviour
	changed   chan struct{} // closed and made anew at every request
}

// Request is what a stub was asked.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
	At     time.Time        // when the body had come
	Run    *wire.RunRequest // of /run and /trigger, if it could be read
}

// Behaviour is a way to answer. ended is closed when the test is over or the caller has gone, which is when a behaviour
// that waits must give up.
type Behaviour func(w http.ResponseWriter, req Request, ended <-chan struct{})

// NewStub starts a stub that accepts everything until it is told otherwise, and lives as long as the test.
func NewStub(t testing.TB) *Stub {
	t.Helper()
	s := &Stub{behaviour: Accept, byPath: make(map[string]Behaviour), ended: make(chan struct{}), changed: make(chan struct{})}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.ended) // or the server would wait for behaviours that wait
		server.CloseClientConnections()
		server.Close()
	})
	s.URL = server.URL + "/"
	return s
}

// Target is what a client needs to call the stub. It does not check the token.
func (s *Stub) Target() wire.Target {
	return wire.Target{Address: s.URL, Token: Token, AppName: AppName}
}

// Behave changes how the stub answers from now on, everywhere.
func (s *Stub) Behave(b Behaviour) {
	s.mu.Lock()
	s.behaviour = b
	clear(s.byPath)
	s.mu.Unlock()
}

// BehaveAt changes how the stub answers at one path.
func (s *Stub) BehaveAt(path string, b Behaviour) {
	s.mu.Lock()
	s.byPath[path] = b
	s.mu.Unlock()
}

// Requests returns what was asked so far, in the order it came.
func (s *Stub) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Runs returns the runs that were asked for so far.
func (s *Stub) Runs() []wire.RunRequest {
	var runs []wire.RunRequest
	for _, r := range s.Requests() {
		if r.Run != nil {
			runs = append(runs, *r.Run)
		}
	}
	return runs
}

// WaitFor blocks until ok says so, and looks again after every request; it fails the test after [Patience].
func (s *Stub) WaitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	timeout := time.After(Patience)
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("no %s within %v; %d requests came", what, Patience, len(s.Requests()))
		}
	}
}

func (s *Stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	req := Request{Path: r.URL.Path, Header: r.Header, Body: body, At: time.Now()}
	if req.Path == "/run" || req.Path == "/trigger" {
		if run, err := wire.DecodeRun(body); err == nil {
			req.Run = &run
		}
	}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	behaviour := s.behaviour
	if b := s.byPath[req.Path]; b != nil {
		behaviour = b
	}
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()

	ended := make(chan struct{})
	done := make(chan struct{})
	defer close(done)
	go func() {
		defer close(ended)
		select {
		case <-s.ended:
		case <-r.Context().Done():
		case <-done:
		}
	}()
	behaviour(w, req, ended)
}

// Accept answers with success.
func Accept(w http.ResponseWriter, _ Request, _ <-chan struct{}) {
	_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, nil))
}

// Refuse answers with code 500 and msg.
func Refuse(msg string) Behaviour {
	return func(w http.ResponseWriter, _ Request, _ <-chan struct{}) {
		_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeFail, msg, nil))
	}
}

// Say answers with body as it is: garbage, or an answer of another era.
func Say(body string) Behaviour {
	return func(w http.ResponseWriter, _ Request, _ <-chan struct{}) { _, _ = io.WriteString(w, body) }
}

// Status answers with another HTTP status than 200.
func Status(code int) Behaviour {
	return func(w http.ResponseWriter, _ Request, _ <-chan struct{}) { http.Error(w, http.StatusText(code), code) }
}

// Slowly waits before it answers like then.
func Slowly(d time.Duration, then Behaviour) Behaviour {
	return func(w http.ResponseWriter, req Request, ended <-chan struct{}) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			then(w, req, ended)
		case <-ended:
		}
	}
}

// When waits for a signal of the test before it answers like then.
func When(signal <-chan struct{}, then Behaviour) Behaviour {
	return func(w http.ResponseWriter, req Request, ended <-chan struct{}) {
		select {
		case <-signal:
			then(w, req, ended)
		case <-ended:
		}
	}
}

// Never takes the request and does not answer.
func Never(_ http.ResponseWriter, _ Request, ended <-chan struct{}) { <-ended }

// Hangup takes the request and closes the connection.
func Hangup(http.ResponseWriter, Request, <-chan struct{}) { panic(http.ErrAbortHandler) }

// HalfAnswer closes the connection in the middle of a good answer.
func HalfAnswer(w http.ResponseWriter, _ Request, _ <-chan struct{}) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func(conn net.Conn) { _ = conn.Close() }(conn)
	whole := wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, nil)
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 55\r\n\r\n")
	b.Write(whole[:len(whole)/2])
	_, _ = conn.Write(b.Bytes())
}
