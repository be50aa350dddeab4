package app

import (
	"cmp"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/punctual-job/punctual/executor/netrule"
)

// defaultAdminListen is where profiles are served if they are wanted and nobody says where: they tell a lot.
const defaultAdminListen = "127.0.0.1:8081"

// adminAddress is where operators' tools connect. Without a host it is this machine alone.
func adminAddress(listen string, pprof bool) (string, error) {
	if listen == "" && pprof {
		return defaultAdminListen, nil
	}
	if listen == "" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "" {
		return "", wrong("admin listen address %q must be host:port or :port", listen)
	}
	host = cmp.Or(host, "127.0.0.1")
	return net.JoinHostPort(host, port), nil
}

// parseProxies reads a list of addresses and address ranges.
func parseProxies(list string) ([]*net.IPNet, error) {
	var ranges []*net.IPNet
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		p, err := netrule.Range(text)
		if err != nil || strings.Contains(text, "%") {
			return nil, wrong("trusted proxy %q is neither an address nor a range such as 10.0.0.0/8", text)
		}
		ranges = append(ranges, &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())})
	}
	return ranges, nil
}

// addressOf finds out where a request came from: from the connection, or, if that is a trusted proxy's, from what the proxies say.
func (o Options) addressOf() echo.IPExtractor {
	switch {
	case len(o.proxies) > 0:
		trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
		for _, r := range o.proxies {
			trust = append(trust, echo.TrustIPRange(r))
		}
		return echo.ExtractIPFromXFFHeader(trust...)
	case o.TrustProxy:
		return echo.ExtractIPFromXFFHeader() // trusts proxies on this machine and in private networks
	}
	return echo.ExtractIPDirect()
}

// behindProxy says that others than this machine may come by its own address.
func (o Options) behindProxy() bool { return o.TrustProxy || len(o.proxies) > 0 }

// metrics serves Prometheus, to whoever knows the token if there is one. Only where runs are traced in the newer form, which has
// their traces as examples: it writes the bounds of histograms otherwise ("1.0" for "1"), which would begin new series for nothing.
func (a *App) metrics() echo.HandlerFunc {
	serve := echo.WrapHandler(promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{EnableOpenMetrics: a.tracer != nil}))
	want := []byte("Bearer " + a.opts.MetricsToken)
	return func(c echo.Context) error {
		if a.opts.MetricsToken != "" && subtle.ConstantTimeCompare([]byte(c.Request().Header.Get("Authorization")), want) != 1 {
			c.Response().Header().Set("WWW-Authenticate", `Bearer realm="metrics"`)
			return c.String(http.StatusUnauthorized, "the metrics need their token\n")
		}
		return serve(c)
	}
}

// adminRouter lists what operators' tools ask for.
func (a *App) adminRouter() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(discard{})
	e.Use(a.securityHeaders)
	e.GET("/healthz", healthz)
	e.GET("/readyz", a.ready)
	e.GET("/actuator/health", a.health)
	e.GET("/metrics", a.metrics())
	if a.opts.Pprof {
		e.GET("/debug/pprof/*", servePprof)
	}
	return e
}

func healthz(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// startAdmin opens the operators' own listener, if there is to be one.
func (a *App) startAdmin() error {
	if a.opts.AdminListen == "" {
		return nil
	}
	listener, err := listen(a.opts.AdminListen, adminListenVariable)
	if err != nil {
		return err
	}
	a.adminAddr = listener.Addr().String()
	a.listensAt(listener.Addr())
	config := a.tls
	if isLoopback(listener.Addr()) {
		config = nil
	}
	a.adminServer = a.newServer(heads{Echo: a.adminRouter()})
	a.serveAt(a.adminServer, listener, config)
	return nil
}
