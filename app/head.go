package app

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/api"
)

// heads answers HEAD as GET (RFC 9110, 9.3.2): the same route, rights, limits and headers; the server of net/http, which holds the
// request as it came, leaves the body out. So no route has to name both, and none that reads can be forgotten.
type heads struct {
	*echo.Echo
	api *api.API // nil where it is not served
}

// Routes are all: of API v1 those that it makes itself.
func (h heads) Routes() []*echo.Route {
	if h.api == nil {
		return h.Echo.Routes()
	}
	return append(slices.DeleteFunc(h.Echo.Routes(), func(r *echo.Route) bool { return api.Under(r.Path) }), h.api.Routes()...)
}

func (h heads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodHead {
		h.Echo.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	get := r.Clone(ctx)
	get.Method = http.MethodGet
	h.Echo.ServeHTTP(headWriter{w, cancel}, get)
}

// headWriter ends what it answers as soon as its headers are sent. Only streams send them before their end, and those have none.
type headWriter struct {
	http.ResponseWriter
	end context.CancelFunc
}

// FlushError is what [http.ResponseController] calls.
func (w headWriter) FlushError() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	w.end()
	return err
}

// Unwrap lets deadlines be set.
func (w headWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
