package webclient_test

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/netip"
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
			client := webclient.New(webclient.Config{RootCAs: pool, Timeout: executortest.Patience, DenyPrivate: func() bool { return false }})
			t.Cleanup(client.CloseIdleConnections)
			tell := func(within time.Duration) error {
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+way.Addr().String(), strings.NewReader("it failed"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := client.Do(req)
				if err == nil {
					err = resp.Body.Close()
				}
				return err
			}
			if err := tell(executortest.Patience); err != nil {
				t.Fatal(err)
			}
			way.Cut(server.Listener.Addr().String())
			if fault, _ := tell(2 * time.Second).(*url.Error); fault == nil || !fault.Timeout() {
				t.Errorf("over the way that is cut: %v", fault)
			}
			if err := tell(executortest.Patience); err != nil {
				t.Errorf("over another: %v", err)
			}
		})
	}
}

func TestPrivate(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"127.0.0.1": true, "10.1.2.3": true, "172.16.0.1": true, "192.168.1.1": true, "169.254.169.254": true, "0.0.0.0": true, "0.1.2.3": true,
		"100.100.100.200": true, "224.0.0.1": true, "255.255.255.255": true, "::1": true, "fe80::1": true, "fd00::1": true, "::ffff:10.0.0.1": true,
		"64:ff9b::a00:1": true, "::": true, "64:ff9b:1::a00:1": true, "::7f00:1": true, "2002:7f00:1::1": true, "2001::1": true, "fec0::1": true, "fe80::1%eth0": true,
		"192.0.0.192": true, "198.18.0.1": true, "240.0.0.1": true,
		"8.8.8.8": false, "172.32.0.1": false, "2606:4700::1111": false, "::ffff:8.8.8.8": false,
	}
	for address, want := range tests {
		got := webclient.RefusePrivate("tcp", netip.AddrPortFrom(netip.MustParseAddr(address), 443).String(), nil) != nil
		if got != want {
			t.Errorf("private(%s) = %v, want %v", address, got, want)
		}
	}
}
