package openapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/time/rate"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/pull"
)

// Engine is what the executor API needs of the scheduler.
type Engine interface {
	CompleteBy(ctx context.Context, by scheduler.Caller, speaks func(appName string) bool, callbacks []wire.Callback) error
	Refused(by scheduler.Caller, why scheduler.Refusal, runs []int64)
	SawDialect(ctx context.Context, appName, address string, dialect wire.Dialect) error
	RegisterWith(ctx context.Context, r wire.RegistryRequest, shown string) error
	KnowsGroup(appName string) bool
	Deregister(ctx context.Context, r wire.RegistryRequest) error
	Sender() int64
}

// Outputs takes what executors push of what runs wrote.
type Outputs interface {
	Take(ctx context.Context, by scheduler.Caller, speaks func(appName string) bool, outputs []wire.PushedOutput) error
}

// Tokens tells who may call.
type Tokens interface {
	// Check reports whether a token lets its bearer in, and the app name of the group whose own token it is, "" for the
	// common one.
	Check(appName, given string) (scope string, ok bool)
	// Speaks reports whether a caller that was let in may register the executors of a group and report its results.
	Speaks(scope, given, appName string) bool
}

// caller is who sent a request.
type caller struct {
	scope   string // the only group it may speak for; "" for any
	appName string // as it says itself, which only executors of 3.5 do
	token   string
	old     bool   // it sends its token as 2.1.1 and 2.1.2 do
	address string // of the connection, without its port
}

// MaxBody bounds a request.
const MaxBody = 5 << 20

// maxBacklog bounds a callback: executors up to 3.4.0 send whatever has waited through an outage in one request, with its messages, and all of
// it again until it is taken. Those beyond MaxBody are read one at a time.
const maxBacklog = 32 << 20

// maxStrangersBody is how much of a request is read whose token is wrong: enough to tell an empty body from none, and to say
// whose registration or which results are refused.
const maxStrangersBody = 16 << 10

// API answers executors, and programs that look after jobs. It is an http.Handler for everything under the prefixes of [Name].
type API struct {
	Config

	mu      sync.Mutex
	buckets map[string]*rate.Limiter // of the job methods, by the app name of the caller's group

	pushes chan *wire.OutputReader // those that read no push of outputs now
	held   held

	backlog chan struct{} // one that is large is read
}

// Config is what the API needs of the others. Nothing is optional.
type Config struct {
	Engine    Engine
	Outputs   Outputs
	Tokens    Tokens
	Jobs      Jobs
	Groups    Groups
	Declared  Declarations
	Pulls     Pulls
	APITokens APITokens
	Refuses   func(address string) bool // addresses at which no executor is called; nil: none
	Settle    func(context.Context)     // takes in what another admin decided, before a job is changed; nil: nothing is
	Resume    func(net.Conn)            // serves what comes next on a connection that was taken from the server; nil: none may be
	Catalogue *locales.Catalogue        // of what the job methods refuse, in English: programs do not say their language
	Logger    *slog.Logger
}

func New(cfg Config) *API {
	a := &API{Config: cfg, buckets: make(map[string]*rate.Limiter), pushes: make(chan *wire.OutputReader, pushesRead), backlog: make(chan struct{}, 1)}
	for range pushesRead {
		a.pushes <- wire.NewOutputReader(new(gzip.Reader))
	}
	return a
}

// prefixes are the places at which executors look for the API: theirs is whatever admin address they were configured
// with, and upstream's context path was /xxl-job-admin until 3.4.0 (docs/compat.md §1.1).
var prefixes = []string{"/api", "/xxl-job-admin/api"}

// v1 is where package api is, under the same prefix.
const v1 = "/api/v1"

// Name is the method of the API that a path names, "" for the bare prefix. ok is false for paths of the console and of package api.
func Name(path string) (name string, ok bool) {
	if path == v1 || strings.HasPrefix(path, v1+"/") {
		return "", false
	}
	for _, prefix := range prefixes {
		rest, found := strings.CutPrefix(path, prefix)
		if found && rest == "" {
			return "", true
		}
		if found && rest[0] == '/' {
			return rest[1:], true
		}
	}
	return "", false
}

// The texts of docs/compat.md §1.6, which existing clients print.
const (
	msgMethod   = "invalid request, HttpMethod not support."
	msgNoName   = "invalid request, uri-mapping empty."
	msgNoBody   = "invalid request, requestBody empty."
	msgToken    = "The access token is wrong."
	msgInvoke   = "openapi invoke error: "
	msgIllegal  = "Illegal Argument."
	msgDenied   = "Executors are not called at this address: see executor_deny of the admin's settings."
	msgForeign  = "No executor group has this registryKey. Create the group first."
	msgNames    = "Too many executors have registered without a group of their name. Create the group first."
	msgTooLarge = "invalid request, requestBody too large."
)

// refusal is an error whose text is the answer.
type refusal string

func (r refusal) Error() string { return string(r) }

// nameTaken refuses an executor because of another one.
type nameTaken string

func (n nameTaken) Error() string { return string(n) }

// ServeHTTP makes the checks in upstream's order: method, path, body, token, name.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := a.serve(w, r)
	if errors.Is(err, pull.ErrAway) {
		return
	}
	if errors.Is(err, errTooMany) {
		answer(w, codeTooMany, msgTooMany, nil)
		return
	}
	if u, ok := errors.AsType[*unauthorized](err); ok {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("WWW-Authenticate", `Bearer realm="punctual", error="invalid_token"`)
		w.WriteHeader(u.status)
		answer(w, u.status, u.Error(), nil)
		return
	}
	if name, _ := Name(r.URL.Path); errors.Is(err, scheduler.ErrStopping) && jobMethods[name] != nil {
		// Not for executors: they take any other status than 200 for a broken connection.
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
		answer(w, wire.CodeFail, a.printer().T(problem.Stopping), nil)
		return
	}
	answerAs(w, a.outcome(r.URL.Path, r.RemoteAddr, data, err))
}

// outcome is the body of the answer to an executor.
func (a *API) outcome(path, remote string, data []byte, err error) []byte {
	if err == nil {
		return body(wire.CodeSuccess, wire.MsgSuccess, data)
	}
	if text, taken := errors.AsType[nameTaken](err); taken {
		return body(wire.CodeNameTaken, string(text), nil)
	}
	text, known := errors.AsType[refusal](err)
	if !known {
		// The database's words are for the log. The executor keeps what it has and comes again.
		a.Logger.Warn("executor request failed", "path", path, "remote", remote, "error", err)
		text = msgInvoke + "the admin cannot do this now."
	} else {
		a.Logger.Debug("executor request refused", "path", path, "remote", remote, "error", text)
	}
	return body(wire.CodeFail, string(text), nil)
}

// serve does what is asked, and returns the JSON of the answer's data, nil for none.
func (a *API) serve(w http.ResponseWriter, r *http.Request) (data []byte, err error) {
	if r.Method != http.MethodPost {
		return nil, refusal(msgMethod)
	}
	name, _ := Name(r.URL.Path)
	if name == "" {
		return nil, a.nameless(w, r)
	}
	if token, ok := bearerToken(r); ok {
		return a.bearer(w, r, name, token)
	}
	who, trusted := a.trusts(r)
	limit := int64(MaxBody)
	switch {
	case !trusted:
		limit = maxStrangersBody
	case name == "callback" && r.ContentLength > MaxBody:
		select {
		case a.backlog <- struct{}{}:
			defer func() { <-a.backlog }()
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		limit = maxBacklog
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, big := errors.AsType[*http.MaxBytesError](err); big {
		if trusted {
			return nil, refusal(msgTooLarge)
		}
		err = nil
	}
	switch {
	case err != nil:
		return nil, refusal(msgInvoke + "the request body broke off.")
	case len(bytes.TrimSpace(body)) == 0:
		return nil, refusal(msgNoBody)
	case !trusted:
		a.refused(name, body, who)
		return nil, refusal(msgToken)
	}
	switch name {
	case "registry":
		return nil, a.registry(r.Context(), body, who, a.register)
	case "registryRemove":
		return nil, a.registry(r.Context(), body, who, a.deregister)
	case "callback":
		return a.callback(r.Context(), body, who)
	case "output":
		return nil, a.output(r.Context(), body, who)
	case "declare":
		return a.declare(r.Context(), r.RemoteAddr, body, who)
	case "pull":
		return a.pull(pull.WithHeld(r.Context(), func(early bool) *pull.Away { return a.hold(w, r, early) }), body, who)
	}
	if _, ok := jobMethods[name]; ok {
		return a.job(r.Context(), name, r.RemoteAddr, body, who)
	}
	return nil, refusal("invalid request, uri-mapping(" + printable(name) + ") not found.")
}

// trusts compares the token. Executors of 2.1.1 and 2.1.2 send it under another name.
func (a *API) trusts(r *http.Request) (caller, bool) {
	who := caller{appName: r.Header.Get(wire.HeaderAppName), token: r.Header.Get(wire.HeaderToken), address: host(r)}
	if who.token == "" {
		who.token = r.Header.Get(wire.HeaderRPCToken)
		who.old = who.token != ""
	}
	scope, ok := a.Tokens.Check(who.appName, who.token)
	who.scope = scope
	return who, ok
}

const contentType = "application/json;charset=UTF-8"

func answer(w http.ResponseWriter, code int, text string, data []byte) {
	answerAs(w, body(code, text, data))
}

func answerAs(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(body) // the executor is gone if this fails
}

func body(code int, text string, data []byte) []byte {
	return wire.AppendAnswer(make([]byte, 0, 128), code, text, data)
}

// begin sends the beginning of an answer whose end is not known yet: the blank belongs to what follows. Balancers that gather answers are
// told not to.
func begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Accel-Buffering", "no")
	_, _ = w.Write([]byte(" "))
	_ = http.NewResponseController(w).Flush() // who asks does without it
}

// printable keeps a foreign name short and harmless in an answer.
func printable(name string) string {
	const most = 64
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\ufffd' {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(name, "?"))
	if runes := []rune(name); len(runes) > most {
		name = string(runes[:most]) + "…"
	}
	return name
}
