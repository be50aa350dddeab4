package app

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
)

// The bounds of looking at certificates.
const (
	certSoon    = 30 * 24 * time.Hour // before its end a certificate is worth a word
	certServers = 1000                // that are asked for theirs
	certAtOnce  = 50
	certWait    = 3 * time.Second // for one
	certWaitAll = time.Minute
)

// placedCert is a certificate that somebody shows, or trusts, with where it is from.
type placedCert struct {
	certOwner
	place string
	*x509.Certificate
}

// certOwner says whose certificate it is: by its use, and, where there are several of that, by the name of who shows it.
type certOwner struct{ of, name string }

// certServer is somebody who shows a certificate to whoever connects.
type certServer struct {
	certOwner
	place, address string
}

// certificates looks whether those that the installation lives by end soon: in the files that o names, and as its servers show them.
func (r *DoctorReport) certificates(ctx context.Context, o Options, q *db.Queries, pool *db.Pool, now time.Time, found []placedCert) error {
	inFiles, unread := certsInFiles(o, now)
	found = append(found, inFiles...)
	servers, err := certServersOf(ctx, o, q, pool)
	if err != nil {
		return err
	}
	denied, err := deniedAddresses(ctx, o, pool)
	if err != nil {
		return err
	}
	servers = slices.DeleteFunc(servers, func(s certServer) bool { return denied(s.address) != nil })
	if len(servers) > certServers {
		r.say("certs.many", fmt.Sprintf("of %d addresses with TLS only %d were asked for their certificates", len(servers), certServers), nil)
		servers = servers[:certServers]
	}
	found = append(found, askedCerts(ctx, servers, nil, denied, now)...)
	r.Certificates = len(found)
	r.judgeCerts(found, now)
	r.sayOf("certs.unread", "%d {file|files} of certificates cannot be read", unread)
	return nil
}

// certsInFiles are the certificates that an admin reads, and the files that cannot be read.
func certsInFiles(o Options, now time.Time) (found []placedCert, unread []string) {
	for _, f := range []struct {
		of, variable, file string
		any                bool
	}{
		{certListener, "PUNCTUAL_TLS_CERT", o.TLSCert, false},
		{certClient, "PUNCTUAL_EXECUTOR_CLIENT_CERT", o.ExecutorTLS.CertFile, false},
		{certAuthority, "PUNCTUAL_EXECUTOR_CA", o.ExecutorTLS.CAFile, true},
	} {
		if f.file == "" {
			continue
		}
		place := f.variable + " " + f.file
		switch chain, err := certsOf(f.file); {
		case err != nil:
			unread = append(unread, place+": "+err.Error())
		case f.any: // an authority that was replaced may stay beside the new one
			last := slices.MaxFunc(chain, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
			found = append(found, placedCert{certOwner{of: f.of}, place, last})
		default:
			found = append(found, placedCert{certOwner{of: f.of}, place, worstOf(chain, now)})
		}
	}
	return found, unread
}

// judgeCerts says which certificates end soon, and which do not count any more, or not yet.
func (r *DoctorReport) judgeCerts(found []placedCert, now time.Time) {
	var wrong, soon []string
	for _, c := range found {
		name := c.place + ": " + cmp.Or(c.Subject.CommonName, strings.Join(c.DNSNames, ", "), c.Subject.String())
		ends := c.NotAfter.UTC().Format(time.DateTime) + " UTC"
		switch {
		case c.NotAfter.Before(now):
			wrong = append(wrong, name+": ended "+ends)
		case c.NotBefore.After(now):
			wrong = append(wrong, name+": counts from "+c.NotBefore.UTC().Format(time.DateTime)+" UTC on")
		case c.NotAfter.Sub(now) < certSoon:
			soon = append(soon, fmt.Sprintf("%s: ends %s, in %d days", name, ends, int(c.NotAfter.Sub(now).Hours()/24)))
		}
	}
	r.failOf("certs.invalid", "%d {certificate has ended, or does not count yet: who checks it|certificates have ended, or do not count yet: who checks them} does not connect", wrong)
	r.sayOf("certs.soon", "%d {certificate ends|certificates end} within 30 days", soon)
}

// worstOf is the certificate of a chain that decides: one that does not count yet, or else the one that ends first.
func worstOf(chain []*x509.Certificate, now time.Time) *x509.Certificate {
	return slices.MinFunc(chain, func(a, b *x509.Certificate) int {
		if early := a.NotBefore.After(now); early != b.NotBefore.After(now) {
			if early {
				return -1
			}
			return 1
		}
		return a.NotAfter.Compare(b.NotAfter)
	})
}

func certsOf(file string) (chain []*x509.Certificate, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, errors.Unwrap(err) // its name is said
	}
	for {
		var block *pem.Block
		if block, raw = pem.Decode(bytes.TrimSpace(raw)); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		chain = append(chain, c)
	}
	if len(chain) == 0 {
		return nil, errors.New("it holds no certificate (PEM)")
	}
	return chain, nil
}

// certServersOf are those whom the installation connects to by TLS: executors that registered, or that somebody typed, and where people sign in.
func certServersOf(ctx context.Context, o Options, q *db.Queries, pool *db.Pool) ([]certServer, error) {
	var servers []certServer
	add := func(of, name, address, scheme, port string) {
		if u, err := url.Parse(address); err == nil && u.Scheme == scheme && u.Hostname() != "" {
			servers = append(servers, certServer{certOwner{of, name}, name + " " + address, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))})
		}
	}
	for _, p := range o.SignIn.OIDC {
		add(certSignIn, p.Name, p.Issuer, "https", "443")
	}
	for _, d := range o.SignIn.LDAP {
		for _, address := range d.URL {
			add(certSignIn, d.Name, address, "ldaps", "636")
		}
	}
	groups, err := q.ListGroups(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("read executor groups: %w", db.Error(err))
	}
	for _, g := range groups {
		for _, address := range scheduler.SplitAddresses(string(g.AddressList)) {
			add(certExecutor, g.AppName, address, "https", "443")
		}
	}
	registered, err := q.ListRegistry(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("read registrations: %w", db.Error(err))
	}
	for _, e := range registered {
		add(certExecutor, e.RegistryKey, e.RegistryValue, "https", "443")
	}
	slices.SortStableFunc(servers, func(a, b certServer) int { return strings.Compare(a.address, b.address) })
	return slices.CompactFunc(servers, func(a, b certServer) bool { return a.address == b.address }), nil
}

// askedCerts are the certificates that servers show, to those who want to know ours too. Who does not answer in time, or speaks no TLS, shows
// none: others say so.
func askedCerts(ctx context.Context, servers []certServer, ours clientCert, denied func(hostPort string) error, now time.Time) []placedCert {
	ctx, cancel := context.WithTimeout(ctx, certWaitAll)
	defer cancel()
	shown := make([]*x509.Certificate, len(servers))
	next := make(chan int)
	var asking sync.WaitGroup
	for range min(certAtOnce, len(servers)) {
		asking.Go(func() {
			for i := range next {
				if chain := shownBy(ctx, servers[i].address, ours, denied); len(chain) > 0 {
					shown[i] = worstOf(chain, now)
				}
			}
		})
	}
	for i := range servers {
		next <- i
	}
	close(next)
	asking.Wait()
	var found []placedCert
	for i, c := range shown {
		if c != nil {
			found = append(found, placedCert{servers[i].certOwner, servers[i].place, c})
		}
	}
	return found
}

// clientCert is the certificate that is shown to servers that ask for one; nil for none.
type clientCert func(*tls.CertificateRequestInfo) (*tls.Certificate, error)

// shownBy are the certificates that a server shows, whatever they are worth: nothing is sent to it.
func shownBy(ctx context.Context, address string, ours clientCert, denied func(hostPort string) error) (chain []*x509.Certificate) {
	ctx, cancel := context.WithTimeout(ctx, certWait)
	defer cancel()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil
	}
	dialer := net.Dialer{Control: func(_, resolved string, _ syscall.RawConn) error { return denied(resolved) }}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil
	}
	defer func() { _ = conn.Close() }()
	client := tls.Client(conn, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, GetClientCertificate: ours, VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
		for _, der := range raw { // also where it refuses us afterwards, since we show none
			if c, err := x509.ParseCertificate(der); err == nil {
				chain = append(chain, c)
			}
		}
		return nil
	}})
	_ = client.HandshakeContext(ctx)
	return chain
}
