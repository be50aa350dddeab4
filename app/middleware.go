package app

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/openapi"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/static"
)

const (
	// maxForm bounds what a page may post. A script is the largest part of a form; its column holds 16 MB, which nobody
	// has ever typed.
	maxForm = 4 << 20
	// requestTime bounds reading a body and writing an answer, so that a peer who stalls does not hold a connection.
	// A handler that streams moves its own deadline on.
	requestTime = time.Minute
)

// Who is not told in time that the database does not answer sees a connection that breaks, a minute after the click.
const _ = uint64(requestTime - db.GivesUpWithin)

// oneSlash takes several slashes of a path for one, as the servers under XXL-JOB's admins do: an admin's address that ends with one, or has
// two in it, works there. It changes the request itself, since by that Echo looks for the route.
func oneSlash(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if u := c.Request().URL; strings.Contains(u.Path, "//") {
			u.Path, u.RawPath = joinSlashes(u.Path), joinSlashes(u.RawPath)
		}
		return next(c)
	}
}

func joinSlashes(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

// requestID marks a request, so that the page of an error and the line in the log can be brought together.
func requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if _, protocol := openapi.Name(c.Request().URL.Path); !protocol {
			c.Response().Header().Set(echo.HeaderXRequestID, rand.Text()[:12])
		}
		return next(c)
	}
}

// limits bounds each request in size and time.
func limits(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, w := c.Request(), c.Response()
		until := time.Now().Add(requestTime)
		control := http.NewResponseController(w)
		// A recorder in a test has no deadlines to set.
		_ = control.SetWriteDeadline(until)
		if r.ContentLength != 0 {
			_ = control.SetReadDeadline(until)
		}
		if _, protocol := openapi.Name(r.URL.Path); !protocol {
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			c.SetRequest(r.WithContext(db.Patient(r.Context()))) // people can wait, and executors must not
		}
		return next(c)
	}
}

// settledWithin bounds reading the settings before a request, which is answered by what is held where the database does not answer.
const settledWithin = time.Second

// settled takes in what another admin decided a moment ago, so that whoever asks any of them is told the same. Executors and probes do without.
func (a *App) settled(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		path := c.Request().URL.Path
		_, protocol := openapi.Name(path)
		unsettled := func(prefix string) bool { return strings.HasPrefix(path, prefix) }
		if !protocol && !slices.ContainsFunc([]string{static.Prefix, callbackPath, httpPath + "/", "/healthz", "/readyz", "/metrics"}, unsettled) {
			a.settle(c.Request().Context())
		}
		return next(c)
	}
}

func (a *App) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settledWithin)
	defer cancel()
	if err := a.held.Load(ctx); err != nil {
		a.logger.Debug("read settings for a request", "error", err)
	}
}

// contentPolicy lets nothing in but our own files: no inline script, no frame, no other host.
const contentPolicy = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// transportPolicy has browsers come back over TLS only.
const transportPolicy = "max-age=31536000"

// The headers of every answer, made once: executors ask ten thousand times a second.
var (
	nosniff = []string{"nosniff"}
	noStore = []string{"no-store"}
)

// securityHeaders sets the headers of every answer before anybody else can answer; static files, which anybody may keep, say so
// themselves.
func (a *App) securityHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h["X-Content-Type-Options"] = nosniff
		h["Cache-Control"] = noStore // pages hold other people's work; the back button asks again
		if _, protocol := openapi.Name(c.Request().URL.Path); protocol {
			return next(c) // read by programs, and there are many of them
		}
		if a.opts.TLSCert != "" {
			h.Set("Strict-Transport-Security", transportPolicy)
		}
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		return next(c)
	}
}
