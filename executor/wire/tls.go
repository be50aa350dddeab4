package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"
)

// TLSOptions says how a client checks the https peers it calls, and how it shows them who it is. The zero value trusts
// the authorities of the operating system and shows nothing.
type TLSOptions struct {
	// CAFile holds PEM certificates of the authorities to trust, in place of the operating system's.
	CAFile string
	// CertFile and KeyFile are the certificate to show to peers that ask for one. They are read again when they change.
	CertFile, KeyFile string
	// Insecure accepts any certificate of any name. Whoever is on the way can then read the access token.
	Insecure bool
}

// Config reads the files, so that a wrong path is seen at the start and not at the first call.
func (o TLSOptions) Config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Insecure}
	if o.CAFile != "" {
		if o.Insecure {
			return nil, errors.New("a CA file and the wish to check no certificate: choose one")
		}
		pool, err := CertPool(o.CAFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = pool
	}
	if o.CertFile != "" || o.KeyFile != "" {
		pair, err := NewKeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, err
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.Certificate() }
	}
	return config, nil
}

// CertPool reads a PEM file of certificates.
func CertPool(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("CA file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("CA file: %s has no PEM certificate", file)
	}
	return pool, nil
}

// ClientOption changes a client made by [NewHTTPClient].
type ClientOption func(*http.Transport)

// WithTLS makes the client use config for https peers; see [TLSOptions.Config].
func WithTLS(config *tls.Config) ClientOption {
	return func(t *http.Transport) {
		if config != nil {
			t.TLSClientConfig = config
		}
	}
}

// WithProxy has requests go by the proxy that the function names for them, if any. Then they do not go the short way of plain requests.
func WithProxy(proxy func(*http.Request) (*url.URL, error)) ClientOption {
	return func(t *http.Transport) { t.Proxy = proxy }
}

// WithHTTP2 has https peers that can, spoken to over HTTP/2.
func WithHTTP2() ClientOption { return func(t *http.Transport) { t.ForceAttemptHTTP2 = true } }

// WithDialRule has every connection allowed by rule: once by the host and port of the address, and once by each numeric address
// that the name stands for when it is dialled, so that a name that changes its mind is no way around.
func WithDialRule(rule func(hostPort string) error) ClientOption {
	return func(t *http.Transport) {
		dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive, Control: func(_, address string, _ syscall.RawConn) error { return rule(address) }}
		t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if err := rule(address); err != nil {
				return nil, err
			}
			return dialer.DialContext(ctx, network, address)
		}
	}
}

// KeyPair is a certificate and its key in two files. It follows the files: whoever renews them need not restart anything.
type KeyPair struct {
	// Logger is told of files that are passed over, once for each change; nil: nobody is.
	Logger *slog.Logger

	certFile, keyFile string

	mu      sync.Mutex
	loaded  *tls.Certificate
	stamp   [2]fileStamp // of the files it is from
	passed  [2]fileStamp // of those that were passed over, and said to be
	checked time.Time
}

type fileStamp struct {
	changed time.Time
	size    int64
}

// keyPairAge is how long a certificate is used without a look at its files.
const keyPairAge = time.Second

// NewKeyPair reads the files.
func NewKeyPair(certFile, keyFile string) (*KeyPair, error) {
	if certFile == "" || keyFile == "" {
		return nil, errors.New("a certificate needs two files: the certificate and its key")
	}
	p := &KeyPair{certFile: certFile, keyFile: keyFile}
	if _, err := p.reload(time.Now()); err != nil {
		return nil, err
	}
	return p, nil
}

// Certificate is the present certificate. Files that cannot be read, or do not fit (a renewal writes one after the
// other), leave the one before in use, and are looked at again soon.
func (p *KeyPair) Certificate() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.checked) >= keyPairAge {
		if seen, err := p.reload(now); err == nil {
			p.passed = [2]fileStamp{}
		} else if seen != p.passed {
			p.passed = seen
			if p.Logger != nil {
				p.Logger.Warn("a new certificate is passed over, the one before stays in use", "certificate", p.certFile, "key", p.keyFile, "error", err)
			}
		}
	}
	return p.loaded, nil
}

// reload reads files that have changed. seen tells one state of them from another, also where one is missing.
func (p *KeyPair) reload(now time.Time) (seen [2]fileStamp, err error) {
	p.checked = now
	var stamp [2]fileStamp
	for i, name := range []string{p.certFile, p.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			stamp[i].size = -1
			return stamp, fmt.Errorf("certificate: %w", err)
		}
		stamp[i] = fileStamp{info.ModTime(), info.Size()}
	}
	if p.loaded != nil && stamp == p.stamp {
		return stamp, nil
	}
	certificate, err := tls.LoadX509KeyPair(p.certFile, p.keyFile)
	if err != nil {
		return stamp, fmt.Errorf("certificate: %w", err)
	}
	p.loaded, p.stamp = &certificate, stamp
	return stamp, nil
}
