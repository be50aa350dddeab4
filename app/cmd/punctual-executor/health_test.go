package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
)

func TestHealth(t *testing.T) {
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"code":200}`)) }))
	defer admin.Close()
	const token = "some-lamp-otter-1"
	ex, err := executor.New(executor.Config{AppName: "well", Admins: []string{admin.URL}, Token: token, Listen: "127.0.0.1:0", DataDir: t.TempDir(), NoSync: true})
	if err == nil {
		err = ex.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	health := func(token string) int {
		var out bytes.Buffer
		return run([]string{"health", "--access-token", token, "--app-name", "well", "--listen", ex.Addr().String()}, &out, &out)
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
