package webclient_test

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/scheduler/webclient"
)

// TestAWayThatIsCutCostsOneRequest: the next one goes over another connection, also where HTTP/2 has a single one for all.
func TestAWayThatIsCutCostsOneRequest(t *testing.T) {
	t.Parallel()
	for protocol, both := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.Proto != protocol {
					t.Errorf("it is spoken to over %s", r.Proto)
				}
			}))
			server.EnableHTTP2 = both
			server.StartTLS()
			t.Cleanup(server.Close)
			way := executortest.NewWay(t, server.Listener.Addr().String())
			pool := x509.NewCertPool()
			pool.AddCert(server.Certificate())
			client := webclient.New(webclient.Config{RootCAs: pool, Timeout: 2 * time.Second, DenyPrivate: func() bool { return false }})
			t.Cleanup(client.CloseIdleConnections)
			tell := func() error {
				resp, err := client.Post("https://"+way.Addr().String(), "text/plain", strings.NewReader("it failed"))
				if err == nil {
					err = resp.Body.Close()
				}
				return err
			}
			if err := tell(); err != nil {
				t.Fatal(err)
			}
			way.Cut(server.Listener.Addr().String())
			if fault, _ := tell().(*url.Error); fault == nil || !fault.Timeout() {
				t.Errorf("over the way that is cut: %v", fault)
			}
			if err := tell(); err != nil {
				t.Errorf("over another: %v", err)
			}
		})
	}
}
