package app

import (
	"log/slog"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/punctual-job/punctual/app/api"
	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/console"
	"github.com/punctual-job/punctual/app/legacy"
	"github.com/punctual-job/punctual/app/openapi"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/static"
)

// router lists every address of the process.
func (a *App) router(pages *console.Console, protocols *openapi.API, old *legacy.Legacy, newAPI func(*echo.Echo) *api.API) http.Handler {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(discard{}) // everything is said through slog
	e.IPExtractor = a.opts.addressOf()
	e.HTTPErrorHandler = (&errorHandler{
		Page: pages.Page, Protocol: func(r *http.Request) bool { _, is := openapi.Name(r.URL.Path); return is }, Logger: a.logger, Refused: a.noteRefusal,
		API: func(c echo.Context, p *problem.Error) { a.api.Error(c, p) },
	}).HandleError
	e.Pre(oneSlash)
	e.Use(a.logRequests(), middleware.RecoverWithConfig(middleware.RecoverConfig{DisablePrintStack: true, LogErrorFunc: a.logPanic}),
		requestID, limits, a.securityHeaders, a.heldBack, a.settled, old.Login)

	e.GET("/healthz", healthz)
	e.GET("/readyz", a.ready)
	if a.opts.AdminListen == "" {
		e.GET("/metrics", a.metrics())
	}
	e.GET(static.Prefix+"*", echo.WrapHandler(static.Handler()))

	protocol := func(c echo.Context) error {
		r := c.Request()
		r.RemoteAddr = c.RealIP() // which knows of proxies; it is for logs
		protocols.ServeHTTP(c.Response(), r)
		return nil
	}
	for _, path := range []string{"/api", "/api/*", "/xxl-job-admin/api", "/xxl-job-admin/api/*"} {
		e.Any(path, protocol)
	}
	a.api = newAPI(e)
	if !a.opts.NoAccessToken {
		e.POST(httpPath+"/:method", a.http.remote)
	}
	e.POST(callbackPath+":token", a.callback)
	for _, prefix := range []string{"", legacy.Prefix} {
		e.GET(prefix+"/actuator/health", a.health)
	}
	old.Register(e)
	pages.Register(e)
	return heads{e, a.api}
}

// Routes lists what this process answers to, as "METHOD /path/:param", so that tests can leave none out.
func (a *App) Routes() []string {
	var list []string
	for _, r := range a.server.Handler.(heads).Routes() {
		list = append(list, r.Method+" "+r.Path)
	}
	slices.Sort(list)
	return list
}

// noteRefusal puts a request for what somebody may not do into the audit log.
func (a *App) noteRefusal(c echo.Context) {
	r := c.Request()
	p := auth.FromContext(r.Context())
	p.Address = c.RealIP()
	a.audit.Refused(r.Context(), p, r.Method+" "+c.Path(), r.URL.Path)
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// ready answers load balancers: the engine schedules. What is wrong without keeping it from that stands below. Nobody is asked
// for it, so it is answered however the database is.
func (a *App) ready(c echo.Context) error {
	stops, notes := a.conditions()
	if stops != "" {
		return c.String(http.StatusServiceUnavailable, stops+notes)
	}
	return c.String(http.StatusOK, "ready\n"+notes)
}

// health is ready for the probes that XXL-JOB's deployments have.
func (a *App) health(c echo.Context) error {
	if stops, _ := a.conditions(); stops != "" {
		return c.JSON(http.StatusServiceUnavailable, map[string]string{"status": "DOWN"})
	}
	return c.JSON(http.StatusOK, map[string]string{"status": "UP"})
}

// conditions says what keeps this admin from its work, and what else somebody should look at, a line each.
func (a *App) conditions() (stops, notes string) {
	select {
	case <-a.closing:
		stops = string(scheduler.ConditionStopping) + "\n"
	default:
	}
	for _, condition := range a.engine.Conditions() {
		if condition.Key == scheduler.ConditionStopping && stops != "" {
			continue // as said
		}
		if condition.Stops() {
			stops += condition.String() + "\n"
		} else {
			notes += condition.String() + "\n"
		}
	}
	return stops, notes
}

func servePprof(c echo.Context) error {
	w, r := c.Response(), c.Request()
	switch c.Param("*") {
	case "cmdline":
		pprof.Cmdline(w, r)
	case "profile":
		pprof.Profile(w, r)
	case "symbol":
		pprof.Symbol(w, r)
	case "trace":
		pprof.Trace(w, r)
	default:
		pprof.Index(w, r)
	}
	return nil
}

func (a *App) logPanic(c echo.Context, err error, stack []byte) error {
	a.logger.Error("panic in a request", "path", c.Request().URL.Path, "error", err, "stack", string(stack))
	return err
}

// logRequests writes a line for each request of a person; those of executors are counted by the engine and too many.
// Queries may hold what people search for, so only the path is written.
func (a *App) logRequests() echo.MiddlewareFunc {
	return middleware.RequestLoggerWithConfig(middleware.RequestLoggerConfig{
		LogMethod: true, LogStatus: true, LogLatency: true, LogRemoteIP: true, LogRequestID: true, LogURIPath: true, HandleError: true,
		Skipper: func(c echo.Context) bool {
			_, protocol := openapi.Name(c.Request().URL.Path)
			return protocol || strings.HasPrefix(c.Request().URL.Path, callbackPath) || !a.logger.Enabled(c.Request().Context(), slog.LevelDebug)
		},
		LogValuesFunc: func(c echo.Context, v middleware.RequestLoggerValues) error {
			a.logger.LogAttrs(c.Request().Context(), slog.LevelDebug, "request", slog.String("method", v.Method), slog.String("path", v.URIPath),
				slog.Int("status", v.Status), slog.Duration("took", v.Latency), slog.String("remote", v.RemoteIP), slog.String("request_id", v.RequestID))
			return nil
		},
	})
}
