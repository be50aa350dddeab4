package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// healthCmd asks an admin on this machine how it is: what container images have no other program for.
type healthCmd struct {
	Listen      string        `env:"PUNCTUAL_LISTEN" default:":8080" placeholder:"HOST:PORT" help:"Where the admin listens."`
	AdminListen string        `env:"PUNCTUAL_ADMIN_LISTEN" placeholder:"HOST:PORT" help:"Its listener for operators, which is asked if there is one."`
	TLSCert     string        `env:"PUNCTUAL_TLS_CERT" placeholder:"FILE" help:"Its certificate: it is then asked by HTTPS."`
	Ready       bool          `help:"Ask whether it schedules (/readyz), and not only whether it lives (/healthz)."`
	Timeout     time.Duration `default:"3s" help:"How long it may take to answer."`
}

// Run fails unless the admin says that it is well.
func (c *healthCmd) Run(s streams) error {
	scheme, listen := "http://", c.Listen
	if c.TLSCert != "" {
		scheme = "https://"
	}
	if c.AdminListen != "" {
		listen = c.AdminListen
		if host, _, err := net.SplitHostPort(listen); err == nil && (host == "" || isLoopbackName(host)) {
			scheme = "http://" // there is no TLS there
		}
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return setting("PUNCTUAL_LISTEN", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	path := "/healthz"
	if c.Ready {
		path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return err
	}
	// Nothing is told to it, and its certificate is for the name that others know.
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(s.out, io.LimitReader(answer.Body, 4<<10)); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New("it is not well: " + answer.Status)
	}
	return nil
}

func isLoopbackName(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
