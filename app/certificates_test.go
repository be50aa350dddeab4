package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// keyInFile writes the key of a certificate.
func keyInFile(t *testing.T, file string, c tls.Certificate) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestMetricsTellWhenCertificatesEnd: the admin's own as it is served, which is the one before while a new one does not fit its key, that which it
// shows, and of each group the executors' first, also of one that asks for the admin's.
func TestMetricsTellWhenCertificatesEnd(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		now := time.Now()
		first, renewed := lasting(t, "first", now.Add(-day), now.Add(10*day)), lasting(t, "renewed", now.Add(-day), now.Add(90*day))
		client := lasting(t, "client", now.Add(-day), now.Add(40*day))
		o.ExecutorTLS = wire.TLSOptions{CertFile: inFile(t, "client.pem", client)}
		o.ExecutorTLS.KeyFile = o.ExecutorTLS.CertFile + ".key"
		keyInFile(t, o.ExecutorTLS.KeyFile, client)
		a, c := apiCaller(t, o)
		served := inFile(t, "admin.pem", first)
		keyInFile(t, served+".key", first)
		pair, err := wire.NewKeyPair(served, served+".key")
		if err != nil {
			t.Fatal(err)
		}
		serves := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Certificate() }}
		shown := make(chan int, 10)
		serve := func(until time.Time) string {
			s := httptest.NewUnstartedServer(http.NotFoundHandler())
			s.TLS = &tls.Config{Certificates: []tls.Certificate{lasting(t, "executor", now.Add(-day), until)}, ClientAuth: tls.RequestClientCert, VerifyConnection: func(c tls.ConnectionState) error {
				shown <- len(c.PeerCertificates)
				return nil
			}}
			s.StartTLS()
			t.Cleanup(s.Close)
			return s.URL
		}
		c.json(200, &struct{}{}, "PATCH", "/groups/1", fmt.Sprintf(`{"addresses":[%q,%q,"https://127.0.0.1:1/"]}`, serve(now.Add(30*day)), serve(now.Add(20*day))))
		away := placedCert{certOwner{certExecutor, "orders"}, "orders https://127.0.0.1:1/", &x509.Certificate{NotAfter: now.Add(25 * day)}}
		gone := placedCert{certOwner{certExecutor, "orders"}, "orders https://127.0.0.1:2/", &x509.Certificate{NotAfter: now.Add(5 * day)}}
		others, err := a.othersCerts(t.Context(), now, []placedCert{away, gone})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if n := <-shown; n != 1 {
				t.Errorf("an executor that asks for the admin's certificate was shown %d", n)
			}
		}
		if len(others) != 3 || others[2] != away {
			t.Errorf("%d certificates are told, want two that are shown and that of an executor which is away", len(others))
		}
		cut, cancel := context.WithCancel(t.Context())
		cancel()
		if kept := a.othersAgain(cut, now, others); len(kept) != len(others) {
			t.Errorf("while the database does not answer %d of %d certificates are told", len(kept), len(others))
		}
		registry := prometheus.NewRegistry()
		ends := newCertEnds(registry)
		published := func() string {
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, f := range families {
				if f.GetName() != "punctual_certificate_end_timestamp_seconds" {
					continue
				}
				for _, m := range f.GetMetric() {
					end := time.Unix(int64(m.GetGauge().GetValue()), 0)
					lines = append(lines, fmt.Sprintf("%s %s %d", m.GetLabel()[1].GetValue(), m.GetLabel()[0].GetValue(), int(end.Sub(now).Round(time.Hour)/day)))
				}
			}
			return strings.Join(lines, ",")
		}
		ends.publish(append(ownCerts(o, serves, now), others...))
		if got, want := published(), "client  40,listener  10,executor orders 20"; got != want {
			t.Errorf("published %q, want %q", got, want)
		}
		replace := func(text string) {
			t.Helper()
			raw, err := os.ReadFile(text)
			if err == nil {
				err = os.WriteFile(served, raw, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		replace(inFile(t, "renewed.pem", renewed)) // its key comes later, or never
		ends.publish(ownCerts(o, serves, now))
		if got, want := published(), "client  40,listener  10"; got != want {
			t.Errorf("while the key is the old one %q, want %q", got, want)
		}
		keyInFile(t, served+".key", renewed)
		executortest.Eventually(t, "the renewed certificate", func() error {
			ends.publish(ownCerts(o, serves, now))
			if got, want := published(), "client  40,listener  90"; got != want {
				return fmt.Errorf("%q, want %q", got, want)
			}
			return nil
		})
	})
}
