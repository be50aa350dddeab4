package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnAuthorityOfOnesOwnIsTrusted as docs/cli.md says, and one that nobody named is not.
func TestAnAuthorityOfOnesOwnIsTrusted(t *testing.T) {
	t.Parallel()
	admin := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"items":[]}`)) }))
	t.Cleanup(admin.Close)
	authority := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: admin.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ env, said string }{{"SSL_CERT_FILE=" + authority, "ID  STATE"}, {"PUNCTUAL_CA_FILE=" + authority, "ID  STATE"}, {"SSL_CERT_FILE=", "PUNCTUAL_CA_FILE"}} {
		cmd := exec.Command(program, "jobs")
		cmd.Env = []string{"PLAY_PUNCTUAL=1", "PATH=" + os.Getenv("PATH"), "PUNCTUAL_URL=" + admin.URL, "PUNCTUAL_TOKEN=pnc_x", tt.env}
		if out, err := cmd.CombinedOutput(); !strings.Contains(string(out), tt.said) || (err == nil) != (tt.said == "ID  STATE") {
			t.Errorf("%s: %v\n%s", tt.env, err, out)
		}
	}
}
