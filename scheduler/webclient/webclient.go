// Package webclient is the HTTP client for addresses that people typed in: those of alarms' webhooks and of the webhooks for programs.
package webclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/punctual-job/punctual/executor/netrule"
	"github.com/punctual-job/punctual/executor/wire"
)

// ErrPrivate refuses an address inside where [Config.DenyPrivate] says so.
var ErrPrivate = errors.New("the address is private")

// Config is what a client is made of.
type Config struct {
	RootCAs *x509.CertPool // the system's when nil
	Timeout time.Duration  // of one request with its answer
	// DenyPrivate says whether addresses to which the internet does not lead are refused, after name resolution. It is asked
	// for each request.
	DenyPrivate func() bool
	// PerHost is how many idle connections are kept to one host; 2.
	PerHost int
}

// New makes a client. It follows no redirects: what is posted must not go to an address nobody entered. Proxies of the environment are
// used except where private addresses are refused, because behind a proxy nobody knows what a name means.
func New(cfg Config) *http.Client {
	return &http.Client{
		Transport:     guard{open: wire.NewRedialling(transport(cfg, false)), guarded: wire.NewRedialling(transport(cfg, true)), deny: cfg.DenyPrivate},
		Timeout:       cfg.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// guard sends by the rule that holds now. Each rule has connections of its own: one that was made when private addresses were allowed
// is no way around a rule that forbids them.
type guard struct {
	open, guarded *wire.Redialling
	deny          func() bool
}

func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if g.deny() {
		return g.guarded.RoundTrip(r)
	}
	return g.open.RoundTrip(r)
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] reach both.
func (g guard) CloseIdleConnections() {
	g.open.CloseIdleConnections()
	g.guarded.CloseIdleConnections()
}

func transport(cfg Config, denyPrivate bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	perHost := max(cfg.PerHost, 2)
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: cfg.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 10 * time.Second, MaxIdleConns: 8 * perHost, MaxIdleConnsPerHost: perHost, IdleConnTimeout: time.Minute,
		MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
	}
	if denyPrivate {
		t.Proxy = nil
		dialer.Control = RefusePrivate
	}
	return t
}

// RefusePrivate is a [net.Dialer]'s Control. It refuses addresses inside at the moment of connecting, so that a name which means
// something else by then does not get around it.
func RefusePrivate(_, address string, _ syscall.RawConn) error {
	if at, err := netip.ParseAddrPort(address); err != nil || !netrule.IsPublic(at.Addr()) {
		return ErrPrivate
	}
	return nil
}

// maxPause is the longest pause that an answer may ask for: an alarm that comes a day later is none.
const maxPause = time.Hour

// RetryAfter is how long an answer that refuses for now asks to wait, in seconds or until a moment, within a second and an hour; 0 when
// it does not.
func RetryAfter(res *http.Response, now time.Time) time.Duration {
	text := strings.TrimSpace(res.Header.Get("Retry-After"))
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable || text == "" {
		return 0
	}
	if at, err := http.ParseTime(text); err == nil {
		return Pause(at.Sub(now))
	}
	seconds, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0
	}
	return Pause(time.Duration(seconds) * time.Second)
}

// Pause bounds what an answer asks for.
func Pause(wait time.Duration) time.Duration { return min(max(wait, time.Second), maxPause) }
