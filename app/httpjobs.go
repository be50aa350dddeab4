package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/builtin"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
)

// HTTP jobs need no executor of anybody's: each admin has one inside that makes HTTP calls and nothing else. It is the executor of our
// library, in a group of its own, so that routes, block strategies, kill, output and results are as everywhere. It listens at no
// socket. Its own admin calls it in process; the others of a cluster, which may be asked for an output or to end a run, at a path of
// this admin's listener. An admin sends its runs to its own; see [scheduler.Config.Local].
const (
	httpTitle  = "HTTP"
	httpPath   = "/http-executor"
	httpInside = "demo.punctual.internal" // a host that answers inside the process, to try things out with
	httpDrain  = 5 * time.Second

	callbackPath = "/callbacks/"
)

// httpJobs is the executor for HTTP jobs, once it runs.
type httpJobs struct {
	tokens  *auth.Tokens
	here    atomic.Pointer[httpHere]
	client  *wire.ExecutorClient // of the executor in this process
	scratch string               // a folder of this process only; "" for none
}

type httpHere struct {
	address string
	ex      *executor.Executor
}

func newHTTPJobs(tokens *auth.Tokens) *httpJobs {
	h := &httpJobs{tokens: tokens}
	h.client = wire.NewExecutorClient(&http.Client{Transport: wire.HandlerTransport{Handler: http.HandlerFunc(h.serve)}})
	return h
}

// address is where this admin's executor for HTTP jobs is; "" while there is none.
func (h *httpJobs) address() string {
	if here := h.here.Load(); here != nil {
		return here.address
	}
	return ""
}

// is says whether an address is that of this admin's executor for HTTP jobs.
func (h *httpJobs) is(address string) bool { return address != "" && address == h.address() }

// serve hands a request to the executor, which knows its paths without what stands before them here. Who calls has been looked at.
func (h *httpJobs) serve(w http.ResponseWriter, r *http.Request) {
	here := h.here.Load()
	if here == nil {
		http.NotFound(w, r)
		return
	}
	r.RequestURI = strings.TrimPrefix(r.URL.Path, httpPath)
	here.ex.ServeHTTP(w, r)
}

// remote answers the other admins of the cluster.
func (h *httpJobs) remote(c echo.Context) error {
	r := c.Request()
	// Where no token is asked for, everybody who reaches the port could have calls made from here.
	if token := r.Header.Get(wire.HeaderToken); token == "" || !h.knows(token) {
		return c.JSON(http.StatusOK, map[string]any{"code": wire.CodeFail, "msg": "The access token is wrong."})
	}
	h.serve(c.Response(), r)
	return nil
}

func (h *httpJobs) knows(token string) bool {
	scope, ok := h.tokens.Check(manage.HTTPAppName, token)
	return ok && h.tokens.Common()+h.tokens.For(manage.HTTPAppName) != "" && h.tokens.Speaks(scope, token, manage.HTTPAppName)
}

// startHTTP decides about HTTP jobs, makes their group in a new installation, and starts the executor.
func (a *App) startHTTP(ctx context.Context) error {
	if a.opts.HTTPJobs == SampleOff {
		return nil
	}
	wanted, err := a.settings.get(ctx, settingHTTPJobs)
	if err != nil {
		return err
	}
	if wanted == "" {
		if a.opts.HTTPJobs == SampleAuto && !a.isNew {
			return nil
		}
		if err := a.createHTTPGroup(ctx); err != nil {
			return fmt.Errorf("create the group of HTTP jobs: %w", err)
		}
	}
	if err := a.runHTTP(ctx); err != nil { // a pity, and no reason not to schedule
		a.logger.Warn("the executor for HTTP jobs does not start", "error", err)
	}
	return nil
}

// createHTTPGroup makes the group once. Of several admins that start together one does.
func (a *App) createHTTPGroup(ctx context.Context) error {
	mine := rand.Text()
	decided, err := a.settings.ensure(ctx, settingHTTPJobs, func() string { return mine })
	if err != nil || decided != mine {
		return err
	}
	there, err := a.manage.Groups.ByAppName(ctx, manage.HTTPAppName)
	if err != nil || len(there) > 0 {
		return err
	}
	_, err = a.manage.Groups.Create(ctx, auth.NewPrincipal(0, sampleAuthor, auth.RoleAdmin, ""), manage.GroupInput{AppName: manage.HTTPAppName, Title: httpTitle})
	return err
}

func (a *App) runHTTP(ctx context.Context) error {
	ex, err := a.openHTTP(ctx)
	if err != nil {
		return err
	}
	// It registers by itself within the next moments. Done here as well, it is there before the first run looks for it.
	err = a.engine.RegisterWith(ctx, wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: manage.HTTPAppName, RegistryValue: ex.Address(), TakesEnvironment: true},
		auth.Fingerprint(a.tokens.For(manage.HTTPAppName)))
	if err != nil {
		a.logger.Warn("register the executor for HTTP jobs", "error", err)
	}
	return nil
}

// openHTTP starts the executor with its outputs in the data folder, or where that cannot be written or is another admin's already, in
// one that ends with the process.
func (a *App) openHTTP(ctx context.Context) (*executor.Executor, error) {
	ex, err := a.openHTTPIn(ctx, filepath.Join(a.opts.DataDir, "http"))
	if err == nil {
		return ex, nil
	}
	scratch, tempErr := os.MkdirTemp("", "punctual-http-")
	if tempErr != nil {
		return nil, errors.Join(err, tempErr)
	}
	a.logger.Warn("the outputs of HTTP jobs that run here end with this process: its data folder cannot be used", "error", err)
	a.http.scratch = scratch
	return a.openHTTPIn(ctx, scratch)
}

func (a *App) openHTTPIn(ctx context.Context, dir string) (*executor.Executor, error) {
	admin := a.localURL(a.listener.Addr().String(), executor.MachineAddress())
	address := admin + httpPath + "/"
	toAdmin := wire.HandlerTransport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token := a.tokens.For(manage.HTTPAppName); token != "" { // of the moment: it may have been rotated
			r.Header.Set(wire.HeaderToken, token)
		}
		a.protocols.ServeHTTP(w, r)
	})}
	ex, err := executor.New(executor.Config{
		AppName: manage.HTTPAppName, Admins: []string{admin}, HTTPClient: &http.Client{Transport: toAdmin},
		InsecureNoToken: true, // nobody gets in who was not asked for one before
		Listener:        newNoListener(), Address: address,
		DataDir: dir, LogRetentionDays: 30, NoSync: true, Logger: a.logger.With("part", "HTTP jobs"),
	})
	if err != nil {
		return nil, err
	}
	ex.Handle(httpcall.Handler, builtin.HTTPCalls{Rule: a.httpRule, Later: later{a}, Inside: map[string]http.Handler{httpInside: http.HandlerFunc(demoSite)}}.Handler())
	a.http.here.Store(&httpHere{address: address, ex: ex}) // its first beat comes from there
	if err := ex.Start(ctx); err != nil {
		a.http.here.Store(nil)
		return nil, err
	}
	return ex, nil
}

// later keeps the runs of asynchronous calls open.
type later struct{ *App }

// HandOut implements builtin.Later.
func (l later) HandOut(ctx context.Context, run *executor.Run) (string, error) {
	return l.manage.Callbacks.HandOut(ctx, run.LogID, run.JobID, run.Received, func(token string) string { return callbackPath + token })
}

// Await implements builtin.Later.
func (l later) Await(ctx context.Context, run *executor.Run) error {
	return l.engine.Callbacks().Await(ctx, run.LogID)
}

// callback takes the report of a target. Nobody is logged in; the token in the path says which run it is about.
func (a *App) callback(c echo.Context) error {
	r := c.Request()
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, manage.MaxReport))
	if err != nil {
		return err
	}
	if err := a.manage.Callbacks.Report(r.Context(), c.RealIP(), c.Param("token"), body); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]string{"status": "recorded"})
}

// httpRule says what HTTP jobs may call now: what the settings allow, and never this admin's own listeners, one of which may trust
// whoever is on this machine.
func (a *App) httpRule() builtin.AddressRule {
	rule, err := builtin.ParseAddressRule(a.held.HTTPAllow())
	if err != nil { // it was checked when it was stored
		rule = builtin.AddressRule{}
	}
	return rule.Except(a.isOwn)
}

// stopHTTP drains the executor for HTTP jobs.
func (a *App) stopHTTP(ctx context.Context) {
	here := a.http.here.Load()
	if here == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, httpDrain)
	defer cancel()
	if err := here.ex.Drain(ctx); err != nil {
		a.logger.Info("HTTP jobs were cut short", "error", err)
	}
	a.http.here.Store(nil)
	if a.http.scratch != "" {
		_ = os.RemoveAll(a.http.scratch)
	}
}

// demoSite answers with what it was asked, for the sample and for whoever tries an HTTP job out.
func demoSite(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 4<<10))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]string{"hello": "from inside Punctual", "method": r.Method, "path": r.URL.Path, "body": string(body)})
}

// noListener is a listener that nobody reaches.
type noListener struct{ closed chan struct{} }

func newNoListener() *noListener { return &noListener{closed: make(chan struct{})} }

func (l *noListener) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

func (l *noListener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *noListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
