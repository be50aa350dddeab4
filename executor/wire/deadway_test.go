//go:build go1.26

package wire_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// TestAWayThatIsCutCostsOneAttempt: what an executor tells its admin goes over another connection as soon as one has had no answer in time,
// whether it has one for all requests or many.
func TestAWayThatIsCutCostsOneAttempt(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]wire.ClientOption{"HTTP/1.1": nil, "HTTP/2.0": {wire.WithHTTP2()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			waiting, together := 0, make(chan struct{})
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Proto != name {
					t.Errorf("it is spoken to over %s", r.Proto)
				}
				if r.URL.Path == "/api/registryRemove" { // several at once, for several connections
					mu.Lock()
					if waiting++; waiting == 4 {
						close(together)
					}
					mu.Unlock()
					<-together
				}
				_, _ = io.WriteString(w, `{"code":200}`)
			}))
			server.EnableHTTP2 = true
			server.StartTLS()
			defer server.Close()
			w := executortest.NewWay(t, server.Listener.Addr().String())
			pool := x509.NewCertPool()
			pool.AddCert(server.Certificate())
			httpClient := wire.NewHTTPClient(8, append(options, wire.WithTLS(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}))...)
			defer httpClient.CloseIdleConnections()
			client := wire.NewAdminClient(httpClient, []string{"https://" + w.Addr().String()}, "", "orders", 2*time.Second)
			req := wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: "http://x/"}
			var several sync.WaitGroup
			for range 4 {
				several.Go(func() {
					if err := client.RegistryRemove(context.Background(), req); err != nil {
						t.Error(err)
					}
				})
			}
			several.Wait()
			w.Cut(server.Listener.Addr().String())
			if err := client.Registry(t.Context(), req); wire.FaultOf(err) != wire.FaultLate {
				t.Errorf("over the way that is cut: %v", err)
			}
			if err := client.Registry(t.Context(), req); err != nil {
				t.Errorf("over another: %v", err)
			}
		})
	}
}
