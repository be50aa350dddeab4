package auditlog

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ParseTargets reads a list of targets, separated by blanks or commas:
//
//	file:///var/log/punctual/audit.jsonl
//	syslog+udp://host:514   syslog+tcp://host:601   syslog+tls://host:6514?ca=/etc/ssl/log-ca.pem
//	https://user:password@host/path
//
// host names this machine, whose file is not another machine's.
func ParseTargets(list, host string) ([]Target, error) {
	var targets []Target
	for _, text := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' }) {
		t, err := parseTarget(text, host)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	return targets, nil
}

func parseTarget(text, host string) (Target, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("a target is no URL") // whose words would hold the text, and with it a secret
	}
	wrong := func(why string) (Target, error) { return nil, fmt.Errorf("%s://%s: %s", u.Scheme, u.Host, why) }
	switch u.Scheme {
	case "file":
		if u.Host != "" || !filepath.IsAbs(u.Path) {
			return wrong("write file:///absolute/path")
		}
		return &fileTarget{path: u.Path, host: host, busy: make(chan struct{}, 1)}, nil
	case "syslog+udp", "syslog+tcp", "syslog+tls":
		if u.Hostname() == "" || u.Port() == "" || strings.Trim(u.Path, "/") != "" || u.User != nil {
			return wrong("write " + u.Scheme + "://host:port")
		}
		t := &syslogTarget{network: strings.TrimPrefix(u.Scheme, "syslog+"), address: u.Host, host: host}
		if t.network == "tls" {
			t.tls = &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
			if file := u.Query().Get("ca"); file != "" {
				pem, err := os.ReadFile(file)
				if err != nil {
					return wrong(err.Error())
				}
				t.tls.RootCAs = x509.NewCertPool()
				if !t.tls.RootCAs.AppendCertsFromPEM(pem) {
					return wrong("there is no certificate in " + file)
				}
			}
		}
		return t, nil
	case "http", "https":
		if u.Host == "" {
			return wrong("there is no host")
		}
		return &webTarget{url: u, client: &http.Client{
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}, nil
	}
	return wrong("it must begin with file, syslog+udp, syslog+tcp, syslog+tls, http or https")
}

// fileTarget appends lines to a file of this machine. It is opened anew for each batch, so that it can be rotated.
type fileTarget struct {
	path, host string
	busy       chan struct{} // holds whoever is at the file, which a server that is away, or a pipe that nobody reads, may keep for ever
}

func (t *fileTarget) Name() string { return "file://" + t.host + t.path }

func (t *fileTarget) Send(ctx context.Context, entries []Line) error {
	select {
	case t.busy <- struct{}{}:
	default:
		return errors.New("the file has not taken what came before")
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-t.busy }()
		done <- t.add(ctx, entries)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the file takes nothing: %w", ctx.Err())
	}
}

func (t *fileTarget) add(ctx context.Context, entries []Line) (err error) {
	f, err := os.OpenFile(t.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := ctx.Err(); err != nil { // they were given up, and come again
		return err
	}
	if _, err := f.Write(jsonLines(entries)); err != nil {
		return err
	}
	return f.Sync()
}

func jsonLines(entries []Line) []byte {
	var b bytes.Buffer
	for _, e := range entries {
		b.Write(e.JSON())
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// webTarget posts JSON lines; any 2xx takes them.
type webTarget struct {
	url    *url.URL
	client *http.Client
}

func (t *webTarget) Name() string { return t.url.Scheme + "://" + t.url.Host + t.url.Path }

func (t *webTarget) Send(ctx context.Context, entries []Line) error {
	to := *t.url
	to.User = nil
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(jsonLines(entries)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Header.Set("Punctual-Audit-Last", strconv.FormatInt(entries[len(entries)-1].Seq, 10))
	if t.url.User != nil {
		password, _ := t.url.User.Password()
		req.SetBasicAuth(t.url.User.Username(), password)
	}
	resp, err := t.client.Do(req)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err // without the address, whose query may be a secret
		}
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("HTTP status %s", resp.Status)
	}
	return nil
}

// maxSyslog is what collectors take at least, by their defaults, of one message.
const maxSyslog = 8000

// syslogTarget writes messages of RFC 5424: one a datagram, or counted in a stream (RFC 6587, RFC 5425). Syslog knows no
// acknowledgement. A stream is closed after each batch and the collector's end of it awaited, which tells that it has read all;
// a datagram is lost if nobody is there.
type syslogTarget struct {
	network, address, host string
	tls                    *tls.Config
}

func (t *syslogTarget) Name() string { return "syslog+" + t.network + "://" + t.address }

func (t *syslogTarget) Send(ctx context.Context, entries []Line) error {
	network := t.network
	if network == "tls" {
		network = "tcp"
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, t.address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	if t.tls != nil {
		secured := tls.Client(conn, t.tls)
		if err := secured.HandshakeContext(ctx); err != nil {
			return err
		}
		conn = secured
	}
	if network == "udp" {
		for _, e := range entries {
			if _, err := conn.Write(syslogMessage(e, t.host)); err != nil {
				return err
			}
		}
		return nil
	}
	var stream bytes.Buffer
	for _, e := range entries {
		message := syslogMessage(e, t.host)
		fmt.Fprintf(&stream, "%d ", len(message))
		stream.Write(message)
	}
	if _, err := conn.Write(stream.Bytes()); err != nil {
		return err
	}
	return hangUp(conn)
}

// hangUp ends a stream and waits for the other side to end it too. One that does not has got it all the same, as far as anybody
// can tell; one that breaks it off has not.
func hangUp(conn net.Conn) error {
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		return nil
	}
	if err := half.CloseWrite(); err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, err := io.Copy(io.Discard, io.LimitReader(conn, 64<<10))
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return nil
	}
	return err
}

// syslogMessage is an entry as a message: facility "log audit" (13), severity "notice" (5), the action as its id, and the line.
func syslogMessage(e Line, host string) []byte {
	text := e.JSON()
	if len(text) > maxSyslog {
		e.Before, e.After, e.Cut = nil, nil, true
		text = e.JSON()
	}
	return fmt.Appendf(nil, "<%d>1 %s %s punctual %d %s - %s", 13*8+5, e.At, printable(host, 255), os.Getpid(), printable(e.Action, 32), text)
}

// printable is a field of a message's head, "-" if it is empty.
func printable(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
	if s == "" {
		return "-"
	}
	return s[:min(len(s), most)]
}
