package executortest

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// Admin is a fake admin that takes registrations and results.
type Admin struct {
	URL string

	mu         sync.Mutex
	callbacks  []wire.Callback
	outputs    []wire.PushedOutput
	registered []string // addresses now registered
	refuse     bool
	full       bool          // it takes no outputs
	changed    chan struct{} // closed and made anew at every change
}

// NewAdmin starts a fake admin that lives as long as the test.
func NewAdmin(t testing.TB) *Admin {
	t.Helper()
	a := &Admin{changed: make(chan struct{})}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.URL = server.URL
	return a
}

// NewTLSAdmin starts a fake admin that speaks HTTPS with the certificate.
func NewTLSAdmin(t testing.TB, certificate tls.Certificate) *Admin {
	t.Helper()
	a := &Admin{changed: make(chan struct{})}
	server := httptest.NewUnstartedServer(a)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // a refused certificate is what some tests are about
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(server.Close)
	a.URL = server.URL
	return a
}

func (a *Admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refuse {
		_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeFail, "refused by the test", nil))
		return
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/api/callback"):
		callbacks, err := wire.DecodeCallbacks(body)
		if err != nil {
			_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeFail, err.Error(), nil))
			return
		}
		a.callbacks = append(a.callbacks, callbacks...)
	case strings.HasSuffix(r.URL.Path, "/api/output"):
		outputs, err := wire.DecodeOutputs(body)
		if err == nil && a.full {
			err = errors.New("refused by the test")
		}
		if err != nil {
			_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeFail, err.Error(), nil))
			return
		}
		a.outputs = append(a.outputs, outputs...)
	case strings.HasSuffix(r.URL.Path, "/api/registry"):
		if req, err := wire.DecodeRegistry(body); err == nil && !slices.Contains(a.registered, req.RegistryValue) {
			a.registered = append(a.registered, req.RegistryValue)
		}
	case strings.HasSuffix(r.URL.Path, "/api/registryRemove"):
		if req, err := wire.DecodeRegistry(body); err == nil {
			a.registered = slices.DeleteFunc(a.registered, func(v string) bool { return v == req.RegistryValue })
		}
	}
	close(a.changed)
	a.changed = make(chan struct{})
	_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, nil))
}

// Refuse makes the admin answer everything with code 500, or lets it work again.
func (a *Admin) Refuse(refuse bool) {
	a.mu.Lock()
	a.refuse = refuse
	a.mu.Unlock()
}

// RefuseOutputs makes the admin take no outputs.
func (a *Admin) RefuseOutputs() {
	a.mu.Lock()
	a.full = true
	a.mu.Unlock()
}

// Outputs returns what was pushed so far.
func (a *Admin) Outputs() []wire.PushedOutput {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.outputs)
}

// Callbacks returns the results received so far.
func (a *Admin) Callbacks() []wire.Callback {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.callbacks)
}

// Registered returns the addresses that are registered now.
func (a *Admin) Registered() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.registered)
}

// Wait blocks until ok says so, and looks again after every request; it fails the test after a while.
func (a *Admin) Wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	timeout := time.After(Patience)
	for {
		a.mu.Lock()
		changed := a.changed
		a.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("no %s within %v; results: %+v", what, Patience, a.Callbacks())
		}
	}
}

// Result waits for the first result of a run.
func (a *Admin) Result(t testing.TB, logID int64) wire.Callback {
	t.Helper()
	var found wire.Callback
	a.Wait(t, "result of the run", func() bool {
		for _, cb := range a.Callbacks() {
			if cb.LogID == logID {
				found = cb
				return true
			}
		}
		return false
	})
	return found
}
