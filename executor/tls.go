package executor

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/punctual-job/punctual/executor/wire"
)

// serverTLS is what the executor's port speaks; nil is plain HTTP.
func (c Config) serverTLS() (*tls.Config, error) {
	var config *tls.Config
	switch {
	case c.TLSConfig != nil && (c.TLSCert != "" || c.TLSKey != ""):
		return nil, errors.New("there is a TLS configuration and a certificate file: choose one")
	case c.TLSConfig != nil:
		config = c.TLSConfig.Clone()
	case c.TLSCert != "" || c.TLSKey != "":
		pair, err := wire.NewKeyPair(c.TLSCert, c.TLSKey)
		if err != nil {
			return nil, err
		}
		config = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Certificate() }}
	default:
		return nil, nil
	}
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	if c.TLSClientCA != "" {
		pool, err := wire.CertPool(c.TLSClientCA)
		if err != nil {
			return nil, fmt.Errorf("client certificates: %w", err)
		}
		config.ClientCAs, config.ClientAuth = pool, tls.RequireAndVerifyClientCert
	}
	return config, nil
}
