package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/views/layout"
)

func TestErrorsOfTheRouterBecomeProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err    error
		status int
	}{
		{echo.ErrNotFound, 404},
		{echo.ErrMethodNotAllowed, 405},
		{echo.ErrBadRequest, 400},
		{echo.ErrInternalServerError, 500},
		{echo.NewHTTPError(http.StatusTeapot).SetInternal(problem.New(problem.Conflict, "problem.changed")), 409},
		{scheduler.ErrJobNotFound, 404},
	} {
		p := problemOf(tt.err)
		if p.Kind.Status() != tt.status {
			t.Errorf("%v: %d, want %d", tt.err, p.Kind.Status(), tt.status)
		}
		if !errors.Is(p, tt.err) && !errors.Is(tt.err, p) {
			t.Errorf("%v: the cause is lost", tt.err)
		}
	}
}

func TestAnErrorIsDrawnForWhoAsked(t *testing.T) {
	t.Parallel()
	catalogue := locales.New()
	h := &errorHandler{
		Page: func(echo.Context) layout.Page {
			return layout.Page{Printer: catalogue.Printer(locales.English), User: layout.User{Name: "ann"}}
		},
		Protocol: func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") },
		Logger:   slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	tests := []struct {
		name, method, path string
		header             [2]string
		err                error
		status             int
		want, notWant      string
	}{
		{"a person gets a page", "GET", "/jobs/9", [2]string{}, scheduler.ErrJobNotFound, 404, "<!doctype html>", ""},
		{"and is led on", "GET", "/runs/9", [2]string{}, scheduler.ErrRunNotFound, 404, `href="/runs"`, ""},
		{"to what stands in the way", "GET", "/jobs/9/script", [2]string{}, problem.New(problem.Conflict, "problem.glue.bean"), 409, `href="/jobs/9"`, "meantime"},
		{"or home", "GET", "/nothing/9", [2]string{}, echo.ErrNotFound, 404, `href="/"`, "/nothing"},
		{"a detail of ours is not shown", "GET", "/jobs", [2]string{}, errors.New("password of root is x"), 500, "<!doctype html>", "password of root"},
		{"htmx gets a message", "POST", "/jobs/9/start", [2]string{"HX-Request", "true"}, scheduler.ErrJobNotFound, 404, "toast", "<!doctype html>"},
		{"who did something while the database is away is to look what became of it", "POST", "/jobs/9/start", [2]string{"HX-Request", "true"}, context.DeadlineExceeded, 503, "please check", ""},
		{"also who runs a program", "POST", "/jobinfo/start", [2]string{"Accept", "application/json"}, context.DeadlineExceeded, 503, "please check", "<"},
		{"who reads is not", "GET", "/jobs", [2]string{}, context.DeadlineExceeded, 503, "runs go on as soon as it is back", ""},
		{"an executor gets its JSON", "POST", "/api/callback", [2]string{}, errors.New("x"), 200, `{"code":500,`, "<"},
		{"an executor with too large a body too", "POST", "/api/callback", [2]string{}, &http.MaxBytesError{}, 200, `"code":500`, "<"},
		{"strangers are led to the login", "GET", "/jobs?q=a", [2]string{}, problem.New(problem.Unauthenticated, ""), 303, "", ""},
		{"htmx of strangers is told and stays where it is", "POST", "/jobs/1/start", [2]string{"HX-Request", "true"}, problem.New(problem.Unauthenticated, ""), 401, `href="/login" target="_blank"`, "<!doctype html>"},
		{"a stream of a stranger ends", "GET", "/runs/events", [2]string{"Accept", "text/event-stream"}, problem.New(problem.Unauthenticated, ""), 401, "", "<"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(tt.method, tt.path, nil)
			if tt.header[0] != "" {
				r.Header.Set(tt.header[0], tt.header[1])
			}
			w := httptest.NewRecorder()
			c := echo.New().NewContext(r, w)
			h.HandleError(tt.err, c)
			h.HandleError(tt.err, c) // the request log passes it on once more
			body := strings.ToLower(w.Body.String())
			if w.Code != tt.status || !strings.Contains(body, strings.ToLower(tt.want)) || tt.notWant != "" && strings.Contains(body, tt.notWant) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if tt.status == 303 && w.Header().Get("Location") != "/login?next=%2Fjobs%3Fq%3Da" {
				t.Errorf("led to %s", w.Header().Get("Location"))
			}
		})
	}
}

// TestATargetThatGoesAwayIsNoErrorOfOurs: a target that does not wait for the answer to its report, as while the database hangs, sends it again. What
// does fail here is said, without the address that nobody else may know.
func TestATargetThatGoesAwayIsNoErrorOfOurs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		said bool
	}{
		{fmt.Errorf("read the run: %w", context.Canceled), false},
		{errors.New("the row cannot be read"), true},
	} {
		var log bytes.Buffer
		h := &errorHandler{
			Page: func(echo.Context) layout.Page {
				return layout.Page{Printer: locales.New().Printer(locales.English)}
			},
			Protocol: func(*http.Request) bool { return true },
			Logger:   slog.New(slog.NewTextHandler(&log, nil)),
		}
		r := httptest.NewRequest(http.MethodPost, callbackPath+"secret", nil)
		h.HandleError(tt.err, echo.New().NewContext(r, httptest.NewRecorder()))
		if said := log.Len() > 0; said != tt.said || strings.Contains(log.String(), "secret") {
			t.Errorf("%v: the log says %q", tt.err, log.String())
		}
	}
}

// TestAFormOutlivesItsSession sends forms without a session: what was typed comes back on a page that can send it again.
func TestAFormOutlivesItsSession(t *testing.T) {
	t.Parallel()
	h := &errorHandler{
		Page:     func(echo.Context) layout.Page { return layout.Page{Printer: locales.New().Printer(locales.English)} },
		Protocol: func(*http.Request) bool { return false },
		Logger:   slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	ask := func(r *http.Request) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.HandleError(problem.New(problem.Unauthenticated, ""), echo.New().NewContext(r, w))
		return w
	}
	post := func(path, kind, body string) *http.Request {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		return r
	}
	const file = "--x\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nkept\r\n--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.yaml\"\r\n\r\ngone\r\n--x--\r\n"
	for _, tt := range []struct {
		name     string
		r        *http.Request
		want     []string
		notWant  string
		leavesTo string
	}{
		{"a form", post("/jobs/3?from=list", "application/x-www-form-urlencoded", "name=%22%3E%3Cb%3E&right=1&right=2"),
			[]string{`action="/jobs/3?from=list"`, `name="name" value="&#34;&gt;&lt;b&gt;"`, `name="right" value="1"`, `name="right" value="2"`}, "chosen file", ""},
		{"a form with a file", post("/jobs/import", "multipart/form-data; boundary=x", file), []string{`name="note" value="kept"`, "chosen file"}, "gone", ""},
		{"too much to hold", post("/jobs", "application/x-www-form-urlencoded", "source="+strings.Repeat("x", maxHeld+1)), nil, "source", "/login"},
		{"what is no form", post("/jobs", "multipart/form-data; boundary=x", "nonsense"), nil, "nonsense", "/login"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := ask(tt.r)
			if tt.leavesTo != "" {
				if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != tt.leavesTo {
					t.Errorf("%d to %q", w.Code, got)
				}
			} else if w.Code != http.StatusUnauthorized {
				t.Errorf("status %d", w.Code)
			}
			for _, want := range tt.want {
				if !strings.Contains(w.Body.String(), want) {
					t.Errorf("no %s in\n%s", want, w.Body)
				}
			}
			if strings.Contains(w.Body.String(), tt.notWant) {
				t.Errorf("%s in\n%s", tt.notWant, w.Body)
			}
		})
	}
	const filtered = "/login?next=%2Fjobs%3Fq%3Db"
	for target, want := range map[string]string{"results": filtered, "timeline": filtered, "clear-form": filtered, "dialog": ""} {
		r := httptest.NewRequest("GET", "/jobs?q=b", nil)
		r.Header.Set("HX-Request", "true")
		r.Header.Set("HX-Target", target)
		r.Header.Set("HX-Current-URL", "http://example.com/jobs?q=a")
		if w := ask(r); w.Code != http.StatusUnauthorized || w.Header().Get("HX-Redirect") != want {
			t.Errorf("for %s: %d, to %q", target, w.Code, w.Header().Get("HX-Redirect"))
		}
	}
}

// TestWhatIsNotThereLeadsToTheListOfItsKind: whoever follows an old address goes on from there.
func TestWhatIsNotThereLeadsToTheListOfItsKind(t *testing.T) {
	t.Parallel()
	b := open(t, start(t, testOptions(t))).mustLogin()
	for path, list := range map[string]string{"/jobs/99": "/jobs", "/runs/99": "/runs", "/executors/99": "/executors", "/alarms/99": "/alarms", "/users/99/edit": "/users", "/calendars/none": "/calendars", "/nowhere": "/"} {
		got := b.get(path)
		if to := got.document(t).Find(".problem a.button").AttrOr("href", ""); got.status != http.StatusNotFound || to != list {
			t.Errorf("%s: %d, and on to %q", path, got.status, to)
		}
	}
}
