package problem

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/views/errorpage"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
)

// Handler draws every error that a handler returns or panics with, and writes the one log line about it.
type Handler struct {
	// Page makes the frame of the request: its language, its user.
	Page func(c echo.Context) layout.Page
	// Protocol says whether a program of the executor protocol asked, which wants its own JSON and HTTP status 200.
	Protocol func(r *http.Request) bool
	Logger   *slog.Logger
}

const handled = "problem handled"

// HandleError is the echo.HTTPErrorHandler.
func (h *Handler) HandleError(err error, c echo.Context) {
	// The request log asks for the answer early, to know its status, and passes the error on.
	if c.Get(handled) != nil {
		return
	}
	c.Set(handled, true)
	r := c.Request()
	p := From(err)
	h.log(p, c)
	if c.Response().Committed {
		return // a stream that had begun; its end is all the answer there is
	}
	if p.Kind == TooMany {
		c.Response().Header().Set("Retry-After", "30")
	}
	switch {
	case h.Protocol(r):
		h.protocol(c, p)
	case r.Method == http.MethodHead:
		_ = c.NoContent(p.Kind.Status()) // the client is gone if this fails
	case wantsJSON(r):
		h.json(c, p)
	case p.Kind == Unauthenticated:
		h.toLogin(c)
	default:
		h.page(c, p)
	}
}

// wantsJSON says that a program asks, and not somebody who would read a page.
func wantsJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html") && r.Header.Get("HX-Request") == ""
}

// json answers in the shape of XXL-JOB's console, with an HTTP status that says the same.
func (h *Handler) json(c echo.Context, p *Error) {
	page := errorpage.Page{Page: h.Page(c), Status: p.Kind.Status()}
	if page.Text = p.Text(page.Printer); page.Text == "" && p.Kind == Unauthenticated {
		page.Text = http.StatusText(http.StatusUnauthorized)
	}
	body := map[string]any{"code": p.Kind.Status(), "msg": errorpage.Line(page)}
	if len(p.Fields) > 0 {
		fields := make(map[string]string, len(p.Fields))
		for _, f := range p.Fields {
			fields[f.Name] = f.Text(page.Printer)
		}
		body["fields"] = fields
	}
	_ = c.JSON(p.Kind.Status(), body) // the client is gone if this fails
}

func (h *Handler) log(p *Error, c echo.Context) {
	r := c.Request()
	level := slog.LevelDebug
	switch p.Kind {
	case Internal:
		level = slog.LevelError
	case Unavailable, Executor:
		level = slog.LevelWarn
	case Invalid, Malformed, Unauthenticated, Forbidden, NotFound, NoMethod, Conflict, TooLarge, TooMany:
	}
	if errors.Is(p.Err, context.Canceled) {
		level = slog.LevelDebug // the client went away
	}
	h.Logger.Log(r.Context(), level, "request refused", "method", r.Method, "path", r.URL.Path,
		"status", p.Kind.Status(), "request_id", c.Response().Header().Get(echo.HeaderXRequestID), "error", p.Error())
}

// protocol answers as spec §1.3 has it; executors take any other HTTP status for a broken connection.
func (h *Handler) protocol(c echo.Context, p *Error) {
	text := "invalid request."
	switch p.Kind {
	case TooLarge:
		text = "invalid request, requestBody too large."
	case Internal, Unavailable:
		text = "openapi invoke error: the admin cannot do this now."
	case Invalid, Malformed, Unauthenticated, Forbidden, NotFound, NoMethod, Conflict, TooMany, Executor:
	}
	body := wire.AppendAnswer(nil, wire.CodeFail, text, nil)
	_ = c.Blob(http.StatusOK, "application/json;charset=UTF-8", body) // the client is gone if this fails
}

// toLogin sends a page's reader to the login page and back afterwards. htmx follows a header: a redirect would swap the
// login page into the middle of the list.
func (h *Handler) toLogin(c echo.Context) {
	r := c.Request()
	next := ""
	if r.Method == http.MethodGet {
		next = r.URL.RequestURI()
	}
	if r.Header.Get("HX-Request") != "" {
		if at := r.Header.Get("HX-Current-URL"); at != "" {
			next = localPath(at)
		}
		c.Response().Header().Set("HX-Redirect", link.LoginNext(next))
		_ = c.NoContent(http.StatusUnauthorized)
		return
	}
	if r.Header.Get("Accept") == "text/event-stream" {
		_ = c.NoContent(http.StatusUnauthorized)
		return
	}
	_ = c.Redirect(http.StatusSeeOther, link.LoginNext(next))
}

func (h *Handler) page(c echo.Context, p *Error) {
	page := errorpage.Page{
		Page:      h.Page(c),
		Status:    p.Kind.Status(),
		RequestID: c.Response().Header().Get(echo.HeaderXRequestID),
	}
	page.Text = p.Text(page.Printer)
	var component templ.Component = errorpage.Whole(page)
	if c.Request().Header.Get("HX-Request") != "" && c.Request().Header.Get("HX-Boosted") == "" {
		component = errorpage.Toast(page)
	}
	c.Response().Header().Set("Vary", "HX-Request")
	c.Response().Header().Set(echo.HeaderContentType, echo.MIMETextHTMLCharsetUTF8)
	c.Response().WriteHeader(p.Kind.Status())
	_ = component.Render(c.Request().Context(), c.Response())
}
