//go:build go1.26

package wire

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTheRuleIsAskedWithTheNameAndWithWhatItStandsFor(t *testing.T) {
	t.Parallel()
	called := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		called = true
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("<h1>a secret of another service</h1>"))
	}))
	defer server.Close()
	port := server.URL[strings.LastIndexByte(server.URL, ':')+1:]
	denied := errors.New("denied")
	for _, tt := range []struct {
		name, url, deny string // a part of what is dialled
		refused         bool
	}{
		{"by its number", "http://127.0.0.1:" + port, "127.0.0.1", true},
		{"by its name", "http://localhost:" + port, "localhost", true},
		{"a name that stands for a denied number", "http://localhost:" + port, "127.0.0.1", true},
		{"another", "http://127.0.0.1:" + port, "10.0.0.1", false},
	} {
		called = false
		client := NewExecutorClient(NewHTTPClient(1, WithDialRule(func(hostPort string) error {
			if strings.HasPrefix(hostPort, tt.deny+":") || tt.deny == "127.0.0.1" && strings.HasPrefix(hostPort, "[::1]:") {
				return denied
			}
			return nil
		})))
		_, err := client.Beat(t.Context(), Target{Address: tt.url})
		if errors.Is(err, denied) != tt.refused || called == tt.refused {
			t.Errorf("%s: %v, called %v", tt.name, err, called)
		}
		if e, ok := errors.AsType[*CallError](err); !tt.refused && (!ok || strings.Contains(err.Error(), "secret") || !strings.Contains(e.Body, "secret") || !strings.Contains(err.Error(), "HTTP status 418 (text/html)")) {
			t.Errorf("%s: the error says %v", tt.name, err)
		}
		client.Close()
	}
}
