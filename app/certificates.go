package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
)

// Whose certificates are watched, as the metric says it.
const (
	certListener  = "listener"  // of this admin, for people and executors
	certClient    = "client"    // shown to executors that ask for one
	certAuthority = "authority" // trusted for executors
	certExecutor  = "executor"
	certSignIn    = "sign-in" // of providers and directories
)

const (
	certOwnEvery    = time.Minute // how often this admin's own are looked at, so that a renewal is seen soon
	certOthersEvery = time.Hour   // how often others are asked for theirs
)

// certEnds publishes when certificates end.
type certEnds struct {
	gauge *prometheus.GaugeVec
	shown map[certOwner]time.Time
}

func newCertEnds(registry prometheus.Registerer) *certEnds {
	return &certEnds{gauge: promauto.With(registry).NewGaugeVec(prometheus.GaugeOpts{
		Name: "punctual_certificate_end_timestamp_seconds", Help: "When a certificate ends, of several of one kind and name the first of them.",
	}, []string{"of", "name"})}
}

// publish replaces what was published before.
func (c *certEnds) publish(found []placedCert) {
	ends := make(map[certOwner]time.Time)
	for _, f := range found {
		if before, ok := ends[f.certOwner]; !ok || f.NotAfter.Before(before) {
			ends[f.certOwner] = f.NotAfter
		}
	}
	for owner := range c.shown {
		if _, ok := ends[owner]; !ok {
			c.gauge.DeleteLabelValues(owner.of, owner.name)
		}
	}
	for owner, end := range ends {
		c.gauge.WithLabelValues(owner.of, owner.name).Set(float64(end.Unix()))
	}
	c.shown = ends
}

// watchCertificates keeps the metric as it is. Others are first asked when the start is over.
func (a *App) watchCertificates(ctx context.Context) {
	tick := time.NewTicker(certOwnEvery)
	defer tick.Stop()
	var others []placedCert
	var asked time.Time
	for {
		a.certEnds.publish(append(ownCerts(a.opts, a.tls, time.Now()), others...))
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if now.Sub(asked) < certOthersEvery {
				continue
			}
			asked = now
			others = a.othersAgain(ctx, now, others)
		}
	}
}

// othersAgain are the certificates of others, or those from before while nobody can say whom to ask: an alert about them does not end by that.
func (a *App) othersAgain(ctx context.Context, now time.Time, before []placedCert) []placedCert {
	found, err := a.othersCerts(ctx, now, before)
	if err != nil {
		if ctx.Err() == nil {
			a.logger.Warn("look at the certificates of executors", "error", err)
		}
		return before
	}
	return found
}

// ownCerts are those of an admin: the one that it serves, which is not the file's while that does not fit its key, and those in its other files.
func ownCerts(o Options, serves *tls.Config, now time.Time) []placedCert {
	o.TLSCert = ""
	found, _ := certsInFiles(o, now) // what cannot be read the doctor says
	if serves == nil {
		return found
	}
	served, err := serves.GetCertificate(nil)
	if err != nil {
		return found
	}
	var chain []*x509.Certificate
	for _, der := range served.Certificate {
		if c, err := x509.ParseCertificate(der); err == nil {
			chain = append(chain, c)
		}
	}
	if len(chain) > 0 {
		found = append(found, placedCert{certOwner: certOwner{of: certListener}, Certificate: worstOf(chain, now)})
	}
	return found
}

// othersCerts are those that executors show, and those with whom people sign in. Of one that does not answer it is what it showed before: that it
// is away, and may be for its certificate, is no news of that.
func (a *App) othersCerts(ctx context.Context, now time.Time, before []placedCert) ([]placedCert, error) {
	servers, err := certServersOf(ctx, a.opts, db.New(), a.pool)
	if err != nil {
		return nil, err
	}
	calls, err := a.opts.ExecutorTLS.Config()
	if err != nil {
		return nil, err
	}
	rule := manage.NewAddressRule(a.held, a.isOwn, nil)
	var asked []certServer
	for _, s := range servers {
		// The executors for HTTP jobs are the admins, each of which tells of itself.
		if s.certOwner != (certOwner{certExecutor, manage.HTTPAppName}) && rule.Dial(s.address) == nil && len(asked) < certServers {
			asked = append(asked, s)
		}
	}
	found := askedCerts(ctx, asked, calls.GetClientCertificate, rule.Dial, now)
	at := func(list []placedCert, place string) bool {
		return slices.ContainsFunc(list, func(c placedCert) bool { return c.place == place })
	}
	for _, c := range before {
		if slices.ContainsFunc(asked, func(s certServer) bool { return s.place == c.place }) && !at(found, c.place) {
			found = append(found, c)
		}
	}
	return found, nil
}
