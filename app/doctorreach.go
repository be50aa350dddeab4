package app

import (
	"cmp"
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/alarm"
)

// reachWait bounds the trial of one server.
const reachWait = 10 * time.Second

// reached are the servers of others that were tried.
type reached struct {
	DatabaseTLS string `json:"databaseTLS,omitempty"` // the version that is spoken; empty: none
	MailServers int    `json:"mailServers"`
	Proxies     int    `json:"proxies"`
	OutputStore bool   `json:"outputStore"`
}

// reach tries what the installation needs of others, each for a bounded time: what it finds is what an admin in this place and with this
// environment would find.
func (r *DoctorReport) reach(ctx context.Context, o Options, q *db.Queries, pool *db.Pool) error {
	r.proxies(ctx, http.ProxyFromEnvironment)
	r.outputStore(ctx, o, pool)
	return r.mailServers(ctx, o, q, pool)
}

// databaseTLS judges how safe the way to the database is. Its certificate is one of those that end.
func (r *DoctorReport) databaseTLS(t db.TLS, place string) (found []placedCert) {
	r.DatabaseTLS = t.Version
	switch {
	case t.Asked != "" && t.Version == "":
		r.say("db.tls", "tls="+t.Asked+" asks the database for TLS, and the connection is plain: let the server have a certificate, and set tls=true", nil)
	case t.Asked == "skip-verify" || t.Asked == "preferred":
		r.say("db.tls", "tls="+t.Asked+" takes any certificate of the database, so that whoever is on the way can read and change everything: set tls=true, and name its authority in SSL_CERT_FILE", nil)
	}
	if t.Version != "" && !t.Ends.IsZero() { // MySQL has one by itself, of which a plain connection asks nothing
		found = append(found, placedCert{place: place, Certificate: &x509.Certificate{Subject: pkix.Name{CommonName: "its server's"}, NotAfter: t.Ends}})
	}
	return found
}

// proxies tries those by which alarms, webhooks and the like leave.
func (r *DoctorReport) proxies(ctx context.Context, proxy func(*http.Request) (*url.URL, error)) {
	var failed []string
	seen := make(map[string]bool)
	for _, scheme := range []string{"http", "https"} {
		u, err := proxy(&http.Request{URL: &url.URL{Scheme: scheme, Host: "punctual.invalid"}})
		switch {
		case err != nil:
			failed = append(failed, scheme+": "+err.Error())
		case u == nil || seen[u.Host]:
		default:
			seen[u.Host] = true
			r.Proxies++
			port := map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
			if err := dials(ctx, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port, "80"))); err != nil {
				failed = append(failed, u.Redacted()+": "+err.Error())
			}
		}
	}
	r.failOf("proxies", "%d {proxy of the environment does|proxies of the environment do} not answer, and alarms and webhooks leave by {it|them}: mend HTTP_PROXY and HTTPS_PROXY, or name in NO_PROXY what is reached without", failed)
}

func dials(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, reachWait)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// outputStore tries a bucket by an object that is written, read and deleted.
func (r *DoctorReport) outputStore(ctx context.Context, o Options, pool *db.Pool) {
	if !o.outputs.Remote() {
		return
	}
	r.OutputStore = true
	ctx, cancel := context.WithTimeout(ctx, reachWait)
	defer cancel()
	store, err := o.outputs.Open(pool)
	if err == nil {
		err = store.Check(ctx)
	}
	if err != nil {
		r.failOf("outputs", "%d store of outputs cannot be used, and what runs write is kept nowhere: mend PUNCTUAL_OUTPUT_STORE, or the rights of its key (put, get, delete)", []string{err.Error()})
	}
}

// mailServers tries those of the alarm channels up to the login. Without the secret key their passwords are not known.
func (r *DoctorReport) mailServers(ctx context.Context, o Options, q *db.Queries, pool *db.Pool) error {
	row, err := q.GetSetting(ctx, pool, settingAlarmKey)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return nil // no admin has been here
	} else if err != nil {
		return fmt.Errorf("read the key of alarm channels: %w", err)
	}
	key, _, err := unwrap(row.Value, o.SecretKeys)
	if err != nil {
		r.say("mail.sealed", "the mail servers of alarm channels were not tried: "+err.Error(), nil)
		return nil
	}
	settings, err := readSettings(ctx, o, pool)
	if err != nil {
		return err
	}
	words := locales.New()
	alarmer, err := alarm.New(alarm.Config{
		Pool: pool, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Key: key, Defaults: settings.AlarmDefaults, SendTimeout: reachWait,
		Printer: func(lang string) alarm.Printer { return words.Printer(lang) },
	})
	if err != nil {
		return err
	}
	tried, failed, err := alarmer.ReachMail(ctx)
	if err != nil {
		return err
	}
	r.MailServers = tried
	r.failOf("mail", "%d mail {server of alarm channels does|servers of alarm channels do} not take the login, so that alarms do not arrive: mend the channel, or the way to its server", failed)
	return nil
}

// readSettings are the settings of the installation.
func readSettings(ctx context.Context, o Options, pool *db.Pool) (*manage.Settings, error) {
	settings, err := manage.NewSettings(pool, slog.New(slog.DiscardHandler), time.Now, o.fixed())
	if err == nil {
		err = settings.Load(ctx)
	}
	return settings, err
}
