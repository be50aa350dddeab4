//go:build go1.26

package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// issue writes a certificate with this serial number; the file times are the number too, so that every one is new.
func issue(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, time.Unix(serial, 0)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAKeyPairFollowsItsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	issue(t, certFile, keyFile, 1)
	pair, err := NewKeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	pair.Logger = slog.New(slog.NewTextHandler(&said, nil))
	wantSaid := func(when string, want int) {
		t.Helper()
		if got := strings.Count(said.String(), "level=WARN"); got != want || strings.Count(said.String(), "certificate="+certFile+" key="+keyFile+" error=") != want {
			t.Errorf("%s: %d warnings, want %d: %s", when, got, want, said.String())
		}
	}
	wantSerial := func(when string, want int64) {
		t.Helper()
		certificate, err := pair.Certificate()
		if err != nil || certificate.Leaf.SerialNumber.Int64() != want {
			t.Errorf("%s: certificate %v, %v; want number %d", when, certificate.Leaf.SerialNumber, err, want)
		}
	}
	later := func() { // as if some time had passed
		pair.mu.Lock()
		pair.checked = pair.checked.Add(-keyPairAge)
		pair.mu.Unlock()
	}
	wantSerial("at first", 1)
	issue(t, certFile, keyFile, 2)
	wantSerial("within the age", 1)
	later()
	wantSerial("after it", 2)
	issue(t, certFile, filepath.Join(dir, "elsewhere.pem"), 3) // half a renewal: the key is still the one before
	later()
	wantSaid("in use", 0)
	wantSerial("half renewed", 2)
	later()
	wantSerial("half renewed still", 2)
	wantSaid("half renewed", 1)
	if err := os.Remove(certFile); err != nil {
		t.Fatal(err)
	}
	later()
	wantSerial("without a file", 2)
	wantSaid("without a file", 2)
	issue(t, certFile, keyFile, 4)
	later()
	wantSerial("renewed", 4)
	wantSaid("renewed", 2)
}
