package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/api"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/views/errorpage"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/timeline"
	"github.com/punctual-job/punctual/views/ui"
)

// errorHandler draws every error that a handler returns or panics with, and writes the one log line about it.
type errorHandler struct {
	// Page makes the frame of the request: its language, its user.
	Page func(c echo.Context) layout.Page
	// Protocol says whether a program of the executor protocol asked, which wants its own JSON and HTTP status 200.
	Protocol func(r *http.Request) bool
	// API answers programs of API v1.
	API    func(c echo.Context, p *problem.Error)
	Logger *slog.Logger
	// Refused is told of everybody who asks for what they may not do; may be nil.
	Refused func(c echo.Context)
}

func isCallback(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, callbackPath)
}

const handled = "problem handled"

// HandleError is the echo.HTTPErrorHandler.
func (h *errorHandler) HandleError(err error, c echo.Context) {
	// The request log asks for the answer early, to know its status, and passes the error on.
	if c.Get(handled) != nil {
		return
	}
	c.Set(handled, true)
	r := c.Request()
	p := problemOf(err)
	if !isCallback(r) { // its path is what nobody else may know
		problem.Log(h.Logger, p, r, requestIDOf(c))
	} else if p.Kind == problem.Internal && !errors.Is(p.Err, context.Canceled) {
		h.Logger.Error("take a report of a target", "request_id", requestIDOf(c), "error", p.Error())
	}
	if p.Kind == problem.Forbidden && h.Refused != nil {
		h.Refused(c)
	}
	if c.Response().Committed {
		return // a stream that had begun; its end is all the answer there is
	}
	if p.Kind == problem.TooMany {
		c.Response().Header().Set("Retry-After", "30")
	}
	switch {
	case h.API != nil && (api.Under(r.URL.Path) || isCallback(r)):
		h.API(c, p)
	case h.Protocol(r):
		h.protocol(c, p)
	case wantsJSON(r):
		h.json(c, p)
	case p.Kind == problem.Unauthenticated && typed(r):
		h.expired(c)
	case p.Kind == problem.Unauthenticated:
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
func (h *errorHandler) json(c echo.Context, p *problem.Error) {
	r := c.Request()
	page := errorpage.Page{Page: h.Page(c), Status: p.Kind.Status()}
	if page.Text = textOf(page.Page, p, r); page.Text == "" && p.Kind == problem.Unauthenticated {
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

// protocol answers as docs/compat.md §1.3 has it; executors take any other HTTP status for a broken connection.
func (h *errorHandler) protocol(c echo.Context, p *problem.Error) {
	text := "invalid request."
	switch p.Kind {
	case problem.TooLarge:
		text = "invalid request, requestBody too large."
	case problem.Internal, problem.Unavailable:
		text = "openapi invoke error: the admin cannot do this now."
	case problem.Invalid, problem.Malformed, problem.Unauthenticated, problem.Forbidden, problem.NotFound, problem.NoMethod, problem.Conflict, problem.TooMany, problem.Executor:
	}
	body := wire.AppendAnswer(nil, wire.CodeFail, text, nil)
	_ = c.Blob(http.StatusOK, "application/json;charset=UTF-8", body) // the client is gone if this fails
}

// typed says that the page behind a request holds something that leaving it would lose: it sends a form, or asks for a
// part of a page, such as a dialog, that is not of the page's address.
func typed(r *http.Request) bool {
	return r.Method != http.MethodGet || r.Header.Get("HX-Target") != "" && !filtered(r)
}

// filtered says that a page asks for the part of it that its address is about: the address that was asked for has all that somebody has
// just typed or chosen.
func filtered(r *http.Request) bool {
	return r.Method == http.MethodGet && slices.Contains([]string{ui.FragmentResults, timeline.FragmentTimeline, runs.ClearForm}, r.Header.Get("HX-Target"))
}

// maxHeld bounds what the page of an ended session holds. A script is the largest part of a form.
const maxHeld = 1 << 20

// expired answers a form whose session has ended with what was sent, for it to be sent again after a login. The request
// comes from one of our own pages: the console refuses others before it asks for a session.
func (h *errorHandler) expired(c echo.Context) {
	r := c.Request()
	page := errorpage.Page{Page: h.Page(c), Status: http.StatusUnauthorized}
	if r.Header.Get("HX-Request") != "" {
		h.html(c, http.StatusUnauthorized, errorpage.ExpiredToast(page))
		return
	}
	fields, fileLost, ok := sent(r)
	if !ok {
		h.toLogin(c)
		return
	}
	h.html(c, http.StatusUnauthorized, errorpage.Expired(page, r.URL.RequestURI(), fields, fileLost))
}

// sent reads the fields of a posted form in the order of their names. ok is false when it cannot be read or is too long.
func sent(r *http.Request) (fields []errorpage.Field, fileLost, ok bool) {
	if err := r.ParseMultipartForm(maxHeld); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return nil, false, false
	}
	if r.MultipartForm != nil {
		fileLost = len(r.MultipartForm.File) > 0
		_ = r.MultipartForm.RemoveAll() // of the temporary folder; what is left there harms nobody
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(r.PostForm)) {
		for _, value := range r.PostForm[name] {
			fields = append(fields, errorpage.Field{Name: name, Value: value})
			size += len(name) + len(value)
		}
	}
	return fields, fileLost, size <= maxHeld
}

// html writes an answer that is drawn.
func (h *errorHandler) html(c echo.Context, status int, component templ.Component) {
	c.Response().Header().Set("Vary", "HX-Request")
	c.Response().Header().Set(echo.HeaderContentType, echo.MIMETextHTMLCharsetUTF8)
	c.Response().WriteHeader(status)
	_ = component.Render(c.Request().Context(), c.Response())
}

// toLogin sends a page's reader to the login page and back afterwards. htmx follows a header: a redirect would swap the
// login page into the middle of the list.
func (h *errorHandler) toLogin(c echo.Context) {
	r := c.Request()
	next := ""
	if r.Method == http.MethodGet {
		next = r.URL.RequestURI()
	}
	if r.Header.Get("HX-Request") != "" {
		if at := r.Header.Get("HX-Current-URL"); at != "" && !filtered(r) {
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

func (h *errorHandler) page(c echo.Context, p *problem.Error) {
	page := errorpage.Page{
		Page:      h.Page(c),
		Status:    p.Kind.Status(),
		RequestID: requestIDOf(c),
	}
	page.Text = textOf(page.Page, p, c.Request())
	if p.Kind == problem.NotFound || p.Kind == problem.Conflict {
		page.BackURL, page.BackText = goOn(page.Page, c.Request().URL.Path, p.Kind == problem.Conflict)
	}
	var component templ.Component = errorpage.Whole(page)
	if c.Request().Header.Get("HX-Request") != "" && c.Request().Header.Get("HX-Boosted") == "" {
		component = errorpage.Toast(page)
	}
	h.html(c, p.Kind.Status(), component)
}

// textOf says more than the kind of a problem does; empty when there is no more to say. A deed may have been done when its answer cannot be read.
func textOf(page layout.Page, p *problem.Error, r *http.Request) string {
	text := p.Text(page.Printer)
	if text == "" && p.Kind == problem.Unavailable && r.Method == http.MethodPost {
		text = page.T("error.503.sent")
	}
	return text
}

// goOn is where somebody goes on who was led to an address that holds nothing, or does not hold what was wanted: to the thing that it
// belongs to, if that exists, or to the list of such things.
func goOn(page layout.Page, path string, exists bool) (address, text string) {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	number, _, _ := strings.Cut(rest, "/")
	if id, err := strconv.ParseInt(number, 10, 64); err == nil && exists {
		switch "/" + first {
		case link.JobsPath:
			return link.Job(id), page.T("error.open.job")
		case link.RunsPath:
			return link.Run(id), page.T("error.open.run")
		}
	}
	switch "/" + first {
	case link.JobsPath, link.RunsPath, link.ExecutorsPath, link.AlarmsPath, link.UsersPath, link.CalendarsPath, link.PausesPath:
		return "/" + first, page.T("error.open", "Place", page.T("nav."+first))
	}
	return "", ""
}

// requestIDOf is the name that a request has in the log.
func requestIDOf(c echo.Context) string { return c.Response().Header().Get(echo.HeaderXRequestID) }

// localPath takes the path and query out of the address a browser says it is at.
func localPath(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return link.Local(u.RequestURI())
}

// problemOf is an error as a problem, also one that the router or its middleware made.
func problemOf(err error) *problem.Error {
	h, ok := errors.AsType[*echo.HTTPError](err)
	if _, known := errors.AsType[*problem.Error](err); !ok || known {
		return problem.From(err)
	}
	return (&problem.Error{Kind: problem.KindOf(h.Code)}).Because(h)
}
