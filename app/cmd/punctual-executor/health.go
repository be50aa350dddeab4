package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/guard"
	"github.com/punctual-job/punctual/executor/wire"
)

// health asks an executor on this machine how it is: what container images have no other program for.
type health struct {
	AccessToken     string        `secret:"" env:"PUNCTUAL_EXECUTOR_ACCESS_TOKEN" help:"The secret shared with the admin."`
	AccessTokenFile string        `env:"PUNCTUAL_EXECUTOR_ACCESS_TOKEN_FILE" placeholder:"FILE" help:"The same in a file."`
	AppName         string        `env:"PUNCTUAL_EXECUTOR_APP_NAME" default:"punctual-executor" help:"Its executor group."`
	Listen          string        `env:"PUNCTUAL_EXECUTOR_LISTEN" default:":9999" placeholder:"HOST:PORT" help:"Where it listens; not port 0."`
	Pull            bool          `env:"PUNCTUAL_EXECUTOR_PULL" help:"It listens nowhere: whether an admin has answered it within the last minute is what is asked."`
	DataDir         string        `env:"PUNCTUAL_EXECUTOR_DATA_DIR" default:"data/executor" help:"With --pull: its data folder."`
	TLSCert         string        `name:"tls-cert" env:"PUNCTUAL_EXECUTOR_TLS_CERT" placeholder:"FILE" help:"Its certificate: it is then asked by HTTPS."`
	TLSClientCA     string        `name:"tls-client-ca" env:"PUNCTUAL_EXECUTOR_TLS_CLIENT_CA" placeholder:"FILE" help:"It lets in callers with certificates only: whether it listens is then all that is asked."`
	Timeout         time.Duration `default:"3s" help:"How long it may take to answer."`
}

// Run fails unless the executor answers a beat as it would answer an admin's.
func (h *health) Run() error {
	if h.Pull {
		return pulled(h.DataDir, time.Now())
	}
	token, err := guard.Secret(h.AccessToken, h.AccessTokenFile)
	if err != nil {
		return badSetting{fmt.Errorf("PUNCTUAL_EXECUTOR_ACCESS_TOKEN_FILE: %w", err)}
	}
	host, port, err := net.SplitHostPort(h.Listen)
	if err != nil || port == "0" {
		return badSetting{fmt.Errorf("PUNCTUAL_EXECUTOR_LISTEN (--listen): %q has no port to ask at", h.Listen)}
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	at := net.JoinHostPort(host, port)
	ctx, cancel := context.WithTimeout(context.Background(), h.Timeout)
	defer cancel()
	if h.TLSClientCA != "" {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", at)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	scheme := "http://"
	if h.TLSCert != "" {
		scheme = "https://"
	}
	// It is asked on this machine, and its certificate is for the name that others know.
	config, err := wire.TLSOptions{Insecure: true}.Config()
	if err != nil {
		return err
	}
	client := wire.NewExecutorClient(wire.NewHTTPClient(1, wire.WithTLS(config)))
	defer client.Close()
	answer, err := client.Beat(ctx, wire.Target{Address: scheme + at, Token: token, AppName: h.AppName})
	if err != nil {
		return err
	}
	if !answer.OK() {
		return errors.New("it is not well: " + answer.Msg)
	}
	return nil
}

// pulledWithin is how long ago an admin may have answered.
const pulledWithin = time.Minute

// pulled fails unless an admin has answered the executor a moment ago.
func pulled(dataDir string, now time.Time) error {
	at, err := executor.Pulled(dataDir)
	switch {
	case err != nil:
		return err
	case at.IsZero():
		return errors.New("no admin has answered it yet")
	case now.Sub(at) > pulledWithin:
		return fmt.Errorf("no admin has answered it since %s", at.Format(time.RFC3339))
	}
	return nil
}
