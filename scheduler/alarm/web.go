package alarm

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// maxAnswer is how much of a webhook's answer is read.
const maxAnswer = 8 << 10

// errPrivate refuses an address inside when [Config.DenyPrivate] is set.
var errPrivate = troubled(hookPrivate)

// newWebClient makes the client of all webhooks. It follows no redirects: what is posted must not go to an address nobody
// entered. Proxies of the environment are used except where private addresses are refused, because behind a proxy nobody
// knows what a name means.
func newWebClient(cfg Config, defaults func() Defaults) *http.Client {
	return &http.Client{
		Transport:     webTransport{open: newWebTransport(cfg, false), guarded: newWebTransport(cfg, true), defaults: defaults},
		Timeout:       cfg.SendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// webTransport sends by the rule that holds now. Each rule has connections of its own: one that was made when private
// addresses were allowed is no way around a rule that forbids them.
type webTransport struct {
	open, guarded *http.Transport
	defaults      func() Defaults
}

// RoundTrip implements [http.RoundTripper].
func (t webTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.defaults().DenyPrivate {
		return t.guarded.RoundTrip(r)
	}
	return t.open.RoundTrip(r)
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] reach both.
func (t webTransport) CloseIdleConnections() {
	t.open.CloseIdleConnections()
	t.guarded.CloseIdleConnections()
}

func newWebTransport(cfg Config, denyPrivate bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: cfg.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 10 * time.Second, MaxIdleConns: 16, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
		MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
	}
	if denyPrivate {
		transport.Proxy = nil
		dialer.Control = refusePrivate
	}
	return transport
}

// refusePrivate refuses addresses inside at the moment of connecting, so that a name which means something else by then does not
// get around it.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	if at, err := netip.ParseAddrPort(address); err != nil || private(at.Addr()) {
		return errPrivate
	}
	return nil
}

// private reports whether an address is one that the internet does not lead to.
func private(a netip.Addr) bool {
	a = a.Unmap()
	return !a.IsGlobalUnicast() || a.IsPrivate() || sharedSpace.Contains(a) || nat64.Contains(a) || zeroNet.Contains(a)
}

var (
	sharedSpace = netip.MustParsePrefix("100.64.0.0/10") // of providers, and of some clouds' metadata services
	nat64       = netip.MustParsePrefix("64:ff9b::/96")  // leads to any IPv4 address
	zeroNet     = netip.MustParsePrefix("0.0.0.0/8")
)

// webCall is what a kind of webhook posts, and how it reads the answer.
type webCall struct {
	url    string
	body   []byte
	header map[string]string
	check  func(body []byte) error // of an answer with status 2xx; nil: that is enough
	// answer reads answers of every status but redirects, for services that say in the same words why they refuse.
	answer func(status int, body []byte) error
}

// sendWeb posts a message to a webhook.
func (a *Alarmer) sendWeb(ctx context.Context, c *channel, m *message) error {
	kind, _ := c.kind().Info()
	if kind.call == nil {
		return fmt.Errorf("unknown kind of channel %q", c.row.Kind)
	}
	call, err := kind.call(&c.settings, m, a.cfg.Now())
	if err != nil {
		return err
	}
	return a.post(ctx, call)
}

func (a *Alarmer) post(ctx context.Context, call *webCall) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, call.url, bytes.NewReader(call.body))
	if err != nil {
		return troubled(hookAddress) // the library's text repeats the address
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return troubled(hookScheme)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("User-Agent", "Punctual")
	for name, value := range call.header {
		req.Header.Set(name, value)
	}
	res, err := a.web.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the address, which is secret
		}
		return callTrouble(ctx, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return troubled(hookRedirects, res.StatusCode)
	case call.answer != nil && err == nil:
		return call.answer(res.StatusCode, body)
	case res.StatusCode < 200 || res.StatusCode >= 300:
		err := httpAnswered(res.StatusCode, body)
		if wait := retryAfter(res, a.cfg.Now()); wait > 0 {
			return &busyError{error: err, wait: wait}
		}
		return err
	case err != nil:
		return broken(ctx, hookRead, err)
	case call.check != nil:
		return call.check(body)
	}
	return nil
}

// httpAnswered is an answer that says no by its status.
func httpAnswered(status int, body []byte) error {
	if text := excerpt(body); text != "" {
		return troubled(hookAnswered, status, text)
	}
	return troubled(hookSilent, status)
}

// callTrouble is why a webhook could not be called.
func callTrouble(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errPrivate):
		return errPrivate
	case speaksPlain(err):
		return &troubleError{reason: reason(hookPlain, err), err: err}
	}
	return broken(ctx, hookCall, err)
}

// busyError is an answer that says when to come again.
type busyError struct {
	error
	wait time.Duration
}

func (e *busyError) Unwrap() error { return e.error }

// maxWait is the longest pause that a webhook may ask for: an alarm that comes a day later is none.
const maxWait = time.Hour

// retryAfter is how long an answer that refuses for now asks to wait, in seconds or until a moment; 0 when it does not.
func retryAfter(res *http.Response, now time.Time) time.Duration {
	text := strings.TrimSpace(res.Header.Get("Retry-After"))
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable || text == "" {
		return 0
	}
	if at, err := http.ParseTime(text); err == nil {
		return pause(at.Sub(now))
	}
	seconds, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0
	}
	return pause(time.Duration(seconds) * time.Second)
}

// pause bounds what an answer asks for.
func pause(wait time.Duration) time.Duration { return min(max(wait, time.Second), maxWait) }

// excerpt is the beginning of an answer, on one line.
func excerpt(body []byte) string { return clip(line(strings.ToValidUTF8(string(body), "?")), 200) }
