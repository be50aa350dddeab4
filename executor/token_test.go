//go:build go1.26

package executor

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// tokenAdmin takes whoever shows one of its tokens.
type tokenAdmin struct {
	mu    sync.Mutex
	known string // tokens, with commas
	shown map[string]string
}

func (a *tokenAdmin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	given := r.Header.Get(wire.HeaderToken)
	if !strings.Contains(a.known, given) {
		_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeFail, "The access token is wrong.", nil))
		return
	}
	a.shown[filepath.Base(r.URL.Path)] = given
	_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, "", nil))
}

func (a *tokenAdmin) knows(tokens string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known = tokens
}

func (a *tokenAdmin) took(path string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.shown[path]
}

// TestATokenFileIsFollowed: the executor goes on with the token that the admin knows until it takes the other one, lets in both meanwhile,
// and the old one for no longer than other admins may need.
func TestATokenFileIsFollowed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old\n")
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		admin := &tokenAdmin{known: "old", shown: make(map[string]string)}
		client := &http.Client{Transport: toHandler{admin}}
		e, err := New(Config{AppName: "orders", TokenFile: file, Admins: []string{"http://admin"}, DataDir: dir, GlueEnabled: true, HTTPClient: client, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		lets := func(when, want string) {
			t.Helper()
			var in []string
			for _, token := range []string{"old", "new", "newer", "x", ""} {
				h := make(http.Header)
				h.Set(wire.HeaderToken, token)
				if e.authorize(h) == "" {
					in = append(in, token)
				}
			}
			if got := strings.Join(in, " "); got != want {
				t.Errorf("%s: callers with %q are let in; want %q", when, got, want)
			}
		}
		beat := func(when, want string) {
			t.Helper()
			if err := e.register(t.Context()); err != nil {
				t.Errorf("%s: %v", when, err)
			}
			if err := e.admins.Callback(t.Context(), []wire.Callback{{LogID: 1}}); err != nil {
				t.Errorf("%s: a result: %v", when, err)
			}
			if got := admin.took("registry") + " " + admin.took("callback"); got != want+" "+want {
				t.Errorf("%s: shown %q; want %q", when, got, want)
			}
		}
		beat("at first", "old")
		lets("at first", "old")

		write("new\n")
		time.Sleep(tokenAge)
		lets("the file has another, and an admin shows it first", "old new")
		beat("the admin does not know it", "old")
		lets("the admin does not know it", "old new")
		admin.knows("old new")
		beat("the admin knows it", "new")
		lets("the admin has taken it", "old new")
		time.Sleep(tokenGrace)
		lets("later", "new")

		write("\n") // it is being written
		beat("an empty file", "new")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		time.Sleep(tokenAge)
		beat("no file", "new")
		lets("no file", "new")
		write("newer")
		admin.knows("newer")
		beat("a file again", "newer")
	})
}

// toHandler calls a handler in place of a server.
type toHandler struct{ http.Handler }

func (h toHandler) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

func TestATokenComesOneWay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	for name, config := range map[string]Config{
		"both":    {Token: "t", TokenFile: file},
		"no file": {TokenFile: file},
	} {
		config.AppName, config.DataDir = "orders", t.TempDir()
		if _, err := New(config); err == nil || !strings.Contains(err.Error(), "token") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
