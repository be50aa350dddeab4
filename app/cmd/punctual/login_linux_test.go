package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLoginWithABrowser at a terminal: the program shows a code, waits for whoever lets it in, and keeps the token without showing it.
func TestLoginWithABrowser(t *testing.T) {
	contexts := filepath.Join(t.TempDir(), "contexts.yaml")
	t.Setenv("PUNCTUAL_CONTEXTS", contexts)
	states := make(chan string, 4)
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]string
		_ = json.NewDecoder(r.Body).Decode(&body)
		switch {
		case r.URL.Path == "/api/v1/device-logins" && strings.HasPrefix(body["program"], "punctual on "):
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"device_code":"s3cret","user_code":"BCDF-GHJK","verification_path":"/device?code=BCDF-GHJK","interval":1}`))
		case r.URL.Path == "/api/v1/device-logins/token" && body["device_code"] == "s3cret":
			_, _ = w.Write([]byte(`{"state":"` + <-states + `","token":"pnc_good"}`))
		case r.URL.Path == "/api/v1/groups" && r.Header.Get("Authorization") == "Bearer pnc_good":
			_, _ = w.Write([]byte(`{"items":[]}`))
		default:
			t.Errorf("%s %s %v", r.Method, r.URL, body)
		}
	}))
	t.Cleanup(admin.Close)
	for _, tt := range []struct {
		answers []string
		code    int
	}{
		{[]string{"waiting", "refused"}, 1}, {[]string{"expired"}, 1}, {[]string{"waiting", "approved"}, 0},
	} {
		for _, a := range tt.answers {
			states <- a
		}
		x := newTerminal(t)
		var out, said strings.Builder
		if code := runWith([]string{"login", admin.URL, "--as", "here"}, x.other, &out, &said); code != tt.code {
			t.Errorf("%v: exit code %d: %s", tt.answers, code, said.String())
		}
		if !strings.Contains(said.String(), admin.URL+"/device?code=BCDF-GHJK") || strings.Contains(said.String()+out.String(), "pnc_") || strings.Contains(said.String(), "s3cret") {
			t.Errorf("%v, said: %s", tt.answers, said.String())
		}
		kept, err := os.ReadFile(contexts)
		if has := strings.Contains(string(kept), "pnc_good"); has != (tt.code == 0) {
			t.Errorf("%v: kept %v %q", tt.answers, err, kept)
		}
	}
}
