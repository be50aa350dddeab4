package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
)

func TestHealth(t *testing.T) {
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"code":200}`)) }))
	defer admin.Close()
	const token = "some-lamp-otter-1"
	ex, err := executor.New(executor.Config{AppName: "well", Admins: []string{admin.URL}, Token: token, Listen: "127.0.0.1:" + executortest.FreePort(t), DataDir: t.TempDir(), NoSync: true})
	if err == nil {
		err = ex.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	health := func(token string) int {
		var out bytes.Buffer
		return run([]string{"health", "--timeout", executortest.Patience.String(), "--access-token", token, "--app-name", "well", "--listen", ex.Addr().String()}, &out, &out)
	}
	if code := health(token); code != 0 {
		t.Errorf("of one that runs: %d", code)
	}
	if code := health(strings.ToUpper(token)); code != 1 {
		t.Errorf("with another token: %d", code)
	}
	if err := ex.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if code := health(token); code != 1 {
		t.Errorf("of one that does not: %d", code)
	}
}

// TestHealthOfOneThatAsks: an admin has answered it a moment ago.
func TestHealthOfOneThatAsks(t *testing.T) {
	answered := make(chan struct{}, 100)
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/pull" {
			select {
			case answered <- struct{}{}:
			default:
			}
			time.Sleep(10 * time.Millisecond)
			_, _ = w.Write([]byte(`{"code":200,"data":{"held":10,"calls":[]}}`))
			return
		}
		_, _ = w.Write([]byte(`{"code":200}`))
	}))
	defer admin.Close()
	dir := t.TempDir()
	health := func() int {
		var out bytes.Buffer
		return run([]string{"health", "--pull", "--data-dir", dir}, &out, &out)
	}
	if code := health(); code != 1 {
		t.Errorf("of one that never was: %d", code)
	}
	ex, err := executor.New(executor.Config{AppName: "well", Admins: []string{admin.URL}, Mode: executor.Pull, DataDir: dir, NoSync: true})
	if err == nil {
		err = ex.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ex.Stop(context.Background()) }()
	<-answered
	<-answered // the first answer is noted by now
	if code := health(); code != 0 {
		t.Errorf("of one that asks: %d", code)
	}
	if err := pulled(dir, time.Now().Add(2*pulledWithin)); err == nil {
		t.Error("of one that had its last answer long ago: well")
	}
}
