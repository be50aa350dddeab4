package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/executor/wire"
)

const day = 24 * time.Hour

// lasting is a certificate that counts from one moment to another.
func lasting(t *testing.T, name string, from, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: from, NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// inFile writes certificates into a file, with something beside them.
func inFile(t *testing.T, name string, certs ...tls.Certificate) string {
	t.Helper()
	text := "Subject: whatever\n"
	for _, c := range certs {
		text += string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}))
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestTheDoctorJudgesCertificatesByTheDay goes by a clock of its own.
func TestTheDoctorJudgesCertificatesByTheDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		from, until time.Time
		want        string
	}{
		"a year to come":     {now.Add(-day), now.Add(365 * day), ""},
		"30 days":            {now.Add(-day), now.Add(30 * day), ""},
		"less than 30 days":  {now.Add(-day), now.Add(30*day - time.Second), "certs.soon"},
		"its last second":    {now.Add(-day), now, "certs.soon"},
		"a second too old":   {now.Add(-day), now.Add(-time.Second), "certs.invalid"},
		"not yet":            {now.Add(time.Second), now.Add(365 * day), "certs.invalid"},
		"from this second":   {now, now.Add(365 * day), ""},
		"neither nor, early": {now.Add(day), now.Add(2 * day), "certs.invalid"},
	} {
		r := DoctorReport{CheckFindings: CheckFindings{Verdict: CheckReady}}
		r.judgeCerts([]placedCert{{place: "here", Certificate: lasting(t, name, tt.from, tt.until).Leaf}}, now)
		if got := strings.Join(keysOf(r.CheckFindings), " "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if fails := tt.want == "certs.invalid"; fails != (r.Verdict == CheckFailed) || fails && !r.Points[0].Fails {
			t.Errorf("%s: the verdict is %s", name, r.Verdict)
		}
	}
	early, old, fine := lasting(t, "early", now.Add(day), now.Add(9*day)).Leaf, lasting(t, "old", now.Add(-9*day), now.Add(day)).Leaf, lasting(t, "fine", now.Add(-day), now.Add(99*day)).Leaf
	for want, chain := range map[string][]*x509.Certificate{"early": {old, fine, early}, "old": {fine, old}, "fine": {fine}} {
		if got := worstOf(chain, now).Subject.CommonName; got != want {
			t.Errorf("of the chain it is %s, want %s", got, want)
		}
	}
}

// TestTheDoctorSeesCertificates in files, at executors, also one that asks for a certificate, and where people sign in.
func TestTheDoctorSeesCertificates(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		now := time.Now()
		fine := lasting(t, "fine", now.Add(-day), now.Add(365*day))
		serve := func(cert tls.Certificate, mutual bool) string {
			s := httptest.NewUnstartedServer(http.NotFoundHandler())
			s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MaxVersion: tls.VersionTLS12}
			if mutual {
				s.TLS.ClientAuth = tls.RequireAnyClientCert
			}
			s.Config.ErrorLog = nil
			s.StartTLS()
			t.Cleanup(s.Close)
			return s.URL
		}
		soon, ended, later := serve(lasting(t, "soon", now.Add(-day), now.Add(10*day)), true), serve(lasting(t, "ended", now.Add(-9*day), now.Add(-day)), false), serve(lasting(t, "later", now.Add(day), now.Add(99*day)), false)
		c.json(200, &struct{}{}, "PATCH", "/groups/1", fmt.Sprintf(`{"addresses":[%q,%q,"https://127.0.0.1:1/","http://127.0.0.1:2/"]}`, soon, ended))
		if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES ('EXECUTOR', 'stock', ?, ?)", serve(fine, false), a.pool.Wall(now)); err != nil {
			t.Fatal(err)
		}
		ask := o
		ask.Listener = nil
		ask.TLSCert = inFile(t, "admin.pem", fine, lasting(t, "an authority between", now.Add(-day), now.Add(5*day)))
		ask.ExecutorTLS = wire.TLSOptions{CertFile: filepath.Join(t.TempDir(), "none.pem"), CAFile: inFile(t, "ca.pem", lasting(t, "the old authority", now.Add(-9*day), now.Add(-day)), fine)}
		ask.SignIn = directory.Config{OIDC: []directory.OIDCConfig{{Name: "company", Issuer: later}}}
		r, err := Doctor(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		of := make(map[string]string)
		for _, p := range r.Points {
			of[p.Key] = strings.Join(p.Of, "\n")
		}
		for key, want := range map[string][]string{
			"certs.soon":    {"PUNCTUAL_TLS_CERT " + ask.TLSCert + ": an authority between: ends ", "orders " + soon + "/: soon: ends "},
			"certs.invalid": {"orders " + ended + "/: ended: ended ", "company " + later + ": later: counts from "},
			"certs.unread":  {"PUNCTUAL_EXECUTOR_CLIENT_CERT " + ask.ExecutorTLS.CertFile},
		} {
			for _, line := range want {
				if !strings.Contains(of[key], line) {
					t.Errorf("%s: %q does not say %q", key, of[key], line)
				}
			}
			if lines := strings.Count(of[key], "\n") + 1; lines != len(want) {
				t.Errorf("%s: %d of them:\n%s", key, lines, of[key])
			}
		}
		if r.Verdict != CheckFailed || r.Certificates != 6 {
			t.Errorf("%s, %d certificates", r.Verdict, r.Certificates)
		}

		// Nobody is asked where nobody is called.
		c.json(200, &struct{}{}, "PATCH", "/settings", `{"executor_deny":"127.0.0.0/8"}`)
		if r, err = Doctor(t.Context(), ask); err != nil || r.Certificates != 2 {
			t.Errorf("denied: %d certificates, %v", r.Certificates, err)
		}
	})
}
