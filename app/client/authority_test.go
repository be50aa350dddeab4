package client

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAContextKeepsWhomItTrusts from its login on, from wherever it is used, and until it is told of others.
func TestAContextKeepsWhomItTrusts(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(ContextsVariable, filepath.Join(dir, "contexts.yaml"))
	admin, authority := secureAdmin(t, time.Now().Add(time.Hour))
	stranger := filepath.Join(dir, "stranger.pem")
	_, other := secureAdmin(t, time.Now().Add(time.Hour))
	if err := os.Rename(other, stranger); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(authority))
	if _, _, err := do(t, "pnc_good", "login", admin); err == nil || !strings.Contains(err.Error(), "--ca-file") {
		t.Fatalf("of an authority that nobody named: %v", err)
	}
	if _, said, err := do(t, "pnc_good", "login", admin, "--as", "ours", "--ca-file", filepath.Base(authority)); err != nil {
		t.Fatal(err, said)
	}
	t.Chdir("/")
	for _, tt := range []struct {
		args []string
		says string // empty: it goes well
	}{
		{[]string{"jobs"}, ""},
		{[]string{"jobs", "--ca-file", stranger}, "unknown authority"},
		{[]string{"jobs", "--ca-file", "nowhere.pem"}, "nowhere.pem"},
		{[]string{"jobs", "--ca-file", filepath.Join(dir, "contexts.yaml")}, "no certificate"},
		{[]string{"jobs", "--url", admin, "--token", "pnc_good"}, "--ca-file"},
		{[]string{"jobs", "--url", admin, "--token", "pnc_good", "--ca-file", authority}, ""},
		{[]string{"login", admin, "--as", "ours"}, ""}, // again, as when the token is over
		{[]string{"jobs"}, ""},
		{[]string{"login", admin, "--as", "ours", "--ca-file", stranger}, "unknown authority"},
		{[]string{"jobs"}, ""},
	} {
		if _, _, err := do(t, "pnc_good", tt.args...); (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v: %v", tt.args, err)
		}
	}
	t.Setenv("PUNCTUAL_CA_FILE", authority)
	if _, _, err := do(t, "", "jobs", "--url", admin, "--token", "pnc_good"); err != nil {
		t.Errorf("PUNCTUAL_CA_FILE: %v", err)
	}
}

// TestWhatIsWrongWithTLSIsSaid with what to do about it.
func TestWhatIsWrongWithTLSIsSaid(t *testing.T) {
	admin, authority := secureAdmin(t, time.Now().Add(time.Hour))
	late, lateAuthority := secureAdmin(t, time.Now().Add(-time.Minute))
	open := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(open.Close)
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ address, trusts, says string }{
		{"https://localhost:" + u.Port(), authority, "by a name of its certificate"},
		{late, lateAuthority, "has to be renewed, or a clock is wrong"},
		{strings.Replace(open.URL, "http:", "https:", 1), authority, "with http://"},
		{strings.Replace(admin, "https:", "http:", 1), authority, "with https://"},
	} {
		_, _, err := do(t, "", "jobs", "--url", tt.address, "--token", "pnc_good", "--ca-file", tt.trusts)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.says, err)
		}
	}
}

// secureAdmin serves empty lists by HTTPS, with a certificate for 127.0.0.1 until a time, which is in a file.
func secureAdmin(t *testing.T, until time.Time) (address, file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.Add(-2 * time.Hour), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"items":[]}`) }))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	file = filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return s.URL, file
}
