// Package executortest lends executors to tests: a real one in this process, and a [Stub] that misbehaves as told.
package executortest

import (
	"context"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/wire"
)

// Defaults of an executor made by [New].
const (
	AppName = "test-executor"
	Token   = "test-token"
)

// Handlers are job handlers by name.
type Handlers map[string]executor.Handler

// Executor is a real executor on a port of its own.
type Executor struct {
	*executor.Executor
	URL string // the address to call it at
}

// New starts an executor that reports to the admin at adminURL (none if empty) and is stopped at the end of the test.
// Scripts are enabled. Options may change its configuration.
func New(t testing.TB, adminURL string, handlers Handlers, options ...func(*executor.Config)) *Executor {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := executor.Config{
		AppName: AppName, Token: Token, Listener: listener, DataDir: t.TempDir(), GlueEnabled: true, NoSync: true,
		LogRetentionDays: executor.KeepLogs, // trigger times in tests may be of long ago
		Logger:           slog.New(slog.NewTextHandler(io.Discard, nil)), HTTPClient: wire.NewHTTPClient(8),
	}
	if adminURL != "" {
		config.Admins = []string{adminURL}
	}
	for _, option := range options {
		option(&config)
	}
	if config.Mode == executor.Pull {
		_ = listener.Close()
		config.Listener, config.HTTPClient = nil, wire.NewHTTPClient(16)
	}
	ex, err := executor.New(config)
	if err != nil {
		t.Fatal(err)
	}
	for name, h := range handlers {
		ex.Handle(name, h)
	}
	if err := ex.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		if err := ex.Stop(ctx); err != nil {
			t.Logf("stop executor: %v", err) // an admin that is gone by now is no failure of the test
		}
	})
	if config.Mode == executor.Pull {
		return &Executor{Executor: ex, URL: ex.Address()}
	}
	scheme := "http://"
	if config.TLSCert != "" || config.TLSConfig != nil {
		scheme = "https://"
	}
	return &Executor{Executor: ex, URL: scheme + ex.Addr().String() + "/"}
}

// Target is what a client needs to call the executor.
func (e *Executor) Target() wire.Target {
	return wire.Target{Address: e.URL, Token: Token, AppName: AppName}
}
