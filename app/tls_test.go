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
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// certificate writes a self-signed certificate for 127.0.0.1 and its key, and gives a pool that trusts it.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return cert, key, pool
}

func TestTheAdminServesHTTPSAndItsSampleRegistersOverIt(t *testing.T) {
	t.Parallel()
	cert, key, pool := certificate(t)
	o := testOptions(t)
	o.TLSCert, o.TLSKey, o.Sample = cert, key, SampleOn
	a := start(t, o)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	r, err := client.Get("https://" + a.listener.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusOK || a.Welcome().URL[:8] != "https://" {
		t.Errorf("healthz %s, console at %s", r.Status, a.Welcome().URL)
	}
	changes, cancel := a.engine.Subscribe()
	defer cancel()
	deadline := time.After(executortest.Patience)
	for {
		var registered int
		if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_registry").Scan(&registered); err != nil {
			t.Fatal(err)
		}
		if registered == 1 {
			return
		}
		select {
		case <-changes:
		case <-time.After(50 * time.Millisecond): // a registration changes no run
		case <-deadline:
			t.Fatal("the sample executor did not register")
		}
	}
}

func TestHalfATLSSettingIsAWrongSetting(t *testing.T) {
	t.Parallel()
	cert, _, _ := certificate(t)
	for _, o := range []Options{{TLSCert: cert}, {TLSCert: cert, TLSKey: cert}} {
		if _, err := o.withDefaults(); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// TestTheAdminServesTheCertificateThatItsFilesHold, to everybody and to operators: it is renewed every few months, and an admin is not started
// anew for that.
func TestTheAdminServesTheCertificateThatItsFilesHold(t *testing.T) {
	t.Parallel()
	ca, dir := executortest.NewCA(t), t.TempDir()
	o := testOptions(t)
	o.TLSCert, o.TLSKey = ca.Issue(t, dir, "first")
	o.AdminListen = "0.0.0.0:0" // on the loopback it speaks plain HTTP
	a := start(t, o)
	_, port, err := net.SplitHostPort(a.adminAddr)
	if err != nil {
		t.Fatal(err)
	}
	served := func(address string, config *tls.Config) (name string, err error) {
		conn, err := tls.Dial("tcp", address, config)
		if err != nil {
			return "", err
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
	}
	roots, err := wire.CertPool(ca.File)
	if err != nil {
		t.Fatal(err)
	}
	trust, listeners := &tls.Config{RootCAs: roots}, []string{a.listener.Addr().String(), net.JoinHostPort("127.0.0.1", port)}
	for _, address := range listeners {
		if name, err := served(address, trust); err != nil || name != "first" {
			t.Fatalf("at first %s serves %q, %v", address, name, err)
		}
	}
	ca.Issue(t, dir, "renewed")
	for _, address := range listeners {
		executortest.Eventually(t, "the renewed certificate", func() error {
			if name, err := served(address, trust); err != nil || name != "renewed" {
				return fmt.Errorf("%s serves %q, %v", address, name, err)
			}
			return nil
		})
		if name, err := served(address, &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11}); err == nil {
			t.Errorf("%s speaks TLS 1.1 and serves %q", address, name)
		}
	}
}
