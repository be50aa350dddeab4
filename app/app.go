package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/app/api"
	"github.com/punctual-job/punctual/app/auditlog"
	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/openapi"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/alarm"
	"github.com/punctual-job/punctual/scheduler/pull"
	"github.com/punctual-job/punctual/scheduler/tick"
	"github.com/punctual-job/punctual/scheduler/tracing"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// App is one admin process.
type App struct {
	opts     Options
	logger   *slog.Logger
	pool     *db.Pool
	settings settings
	engine   *scheduler.Engine
	sessions *auth.Sessions
	audit    *manage.Audit
	api      *api.API
	shipper  *auditlog.Shipper
	// adminServer and adminAddr are of the listener for operators; nil and "" without one.
	adminServer *http.Server
	adminAddr   string

	manage      *manage.Service
	directories *manage.Directories
	protocols   *openapi.API
	http        *httpJobs
	sample      atomic.Pointer[sampleAt]
	pulls       *pull.Mailbox

	passwords *auth.Passwords
	logins    *auth.Logins
	signIns   *auth.SignIns
	registry  *prometheus.Registry
	certEnds  *certEnds
	server    *http.Server
	resumed   *http.Server // the same for connections that it had before
	back      *comeBack    // which bring these
	tokens    *auth.Tokens
	held      *manage.Settings // what administrators decided on line
	alarmer   *alarm.Alarmer
	webhooks  *webhook.Service
	tracer    *tracing.Tracer // nil: runs are not traced
	closing   chan struct{}   // closed when open streams are to end
	welcome   Welcome
	isNew     bool // this start created the embedded database's content

	tls *tls.Config                      // nil: plain HTTP
	own atomic.Pointer[[]netip.AddrPort] // where this admin listens, for people and executors and for operators

	mu        sync.Mutex
	state     state
	listener  net.Listener
	teardowns []teardown // in the order of what they undo
	serveErr  chan error // a value for each server that ends by itself
	stopErr   error
	loops     sync.WaitGroup
}

type state int

const (
	stateNew state = iota
	stateStarted
	stateStopped
)

// teardown undoes one step of New or Start.
type teardown struct {
	name string
	undo func(ctx context.Context) error
}

// Start listens, joins the cluster and begins to schedule. Starting twice is the same as once.
func (a *App) Start(ctx context.Context) (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch a.state {
	case stateStarted:
		return nil
	case stateStopped:
		return errStopped
	case stateNew:
	}
	a.state = stateStarted
	defer func() {
		if err != nil {
			a.state = stateStopped
			err = errors.Join(err, a.tearDown(context.WithoutCancel(ctx)))
		}
	}()
	if err := a.bind(); err != nil {
		return err
	}
	// Not before it is sure that this start gets its port: the password is said at the end of a start, and known to
	// nobody if there is none.
	if err := a.welcomeFirst(ctx); err != nil {
		return err
	}
	// Not after executors can come, those inside this program included.
	if err := a.engine.Arrive(ctx); err != nil {
		return fmt.Errorf("start engine: %w", err)
	}
	if _, held := a.held.Hold(); held {
		a.engine.Hold()
	}
	a.serve()
	if err := a.startAdmin(); err != nil {
		return errors.Join(err, a.server.Close(), a.resumed.Close())
	}
	a.onStop("close listener", a.closeServer)
	loop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	end := sync.OnceFunc(func() {
		cancel()
		close(a.closing)
	})
	a.endsStreams(end)
	a.loops.Go(func() { a.cleanSessions(loop) })
	a.loops.Go(func() { a.audit.Chain().Run(loop) })
	a.loops.Go(func() { a.refresh(loop) })
	if a.engine.Held() {
		a.loops.Go(func() { a.awaitGo(loop, end) })
		return nil
	}
	return a.begin(ctx, loop, end)
}

// begin starts whatever does something beyond this program and its database: on a database that is held, not before somebody says so.
func (a *App) begin(ctx, loop context.Context, end func()) error {
	// Both executors are there before the engine looks for executors, and drain while the engine still takes their results.
	if err := a.startHTTP(ctx); err != nil {
		return err
	}
	sample, err := a.startSample(ctx)
	if err != nil {
		a.stopHTTP(ctx)
		return err
	}
	if err := a.engine.Start(ctx); err != nil {
		a.stopSample(ctx, sample)
		a.stopHTTP(ctx)
		return fmt.Errorf("start engine: %w", err)
	}
	a.runBesideEngine(ctx, sample)
	a.loops.Go(func() { a.directories.Watch(loop) })
	a.loops.Go(func() { a.shipper.Run(loop) })
	a.loops.Go(func() { a.watchCertificates(loop) })
	a.loops.Go(func() { a.buildIndexes(loop) })
	a.endsStreams(end) // before the engine is stopped
	return nil
}

func (a *App) endsStreams(end func()) {
	a.onStop("end streams", func(context.Context) error {
		end()
		return nil
	})
}

func (a *App) bind() (err error) {
	a.listener = a.opts.Listener
	if a.listener == nil {
		if a.listener, err = listen(a.opts.Listen, listenVariable); err != nil {
			return err
		}
	}
	a.onStop("free port", func(context.Context) error { // the server has closed it, unless the start ended here
		if err := a.listener.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	a.listensAt(a.listener.Addr())
	a.welcome.URL = a.publicURL()
	if a.opts.TLSCert == "" {
		return nil
	}
	pair, err := wire.NewKeyPair(a.opts.TLSCert, a.opts.TLSKey) // which follows the files
	if err != nil {
		return err
	}
	pair.Logger = a.logger
	a.tls = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Certificate() }}
	return nil
}

// serve answers at the port, and goes on with the connections of executors that ask.
func (a *App) serve() {
	a.serveAt(a.server, a.listener, a.tls)
	a.loops.Go(func() { _ = a.resumed.Serve(a.back) }) // it ends with the other
}

// serveAt answers at a listener; without TLS where config is nil.
func (a *App) serveAt(server *http.Server, listener net.Listener, config *tls.Config) {
	serve := func() error { return server.Serve(listener) }
	if config != nil {
		server.TLSConfig = config.Clone() // a server writes into it which protocols it speaks
		serve = func() error { return server.ServeTLS(listener, "", "") }
	}
	a.loops.Go(func() {
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			a.serveErr <- fmt.Errorf("serve %s: %w", listener.Addr(), err)
		}
	})
}

// runBesideEngine starts what works with the engine, and says in which order all of it stops.
func (a *App) runBesideEngine(ctx context.Context, sample *executor.Executor) {
	if a.tracer != nil { // stopped after the engine too
		traces, end := context.WithCancel(context.WithoutCancel(ctx))
		var made sync.WaitGroup
		made.Go(func() { a.tracer.Run(traces) })
		a.onStop("stop tracer", func(context.Context) error {
			end()
			made.Wait()
			return nil
		})
	}
	// Stopped after the engine, whose last results may be alarms and events.
	alarms, silence := context.WithCancel(context.WithoutCancel(ctx))
	a.loops.Go(func() { a.alarmer.Run(alarms) })
	a.loops.Go(func() { a.webhooks.Run(alarms) })
	a.onStop("stop alarmer", func(context.Context) error {
		silence()
		return nil
	})
	// Ended after the engine, whose last runs are fetched.
	pulls, endPulls := context.WithCancel(context.WithoutCancel(ctx))
	a.loops.Go(func() { a.pulls.Run(pulls) })
	a.onStop("end pulls", func(context.Context) error {
		_ = a.back.Close() // the answers that follow are the last on their connections
		a.pulls.Close()
		endPulls()
		return nil
	})
	a.onStop("stop engine", func(ctx context.Context) error {
		if end, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, end.Add(-scheduler.StopsWithin))
			defer cancel()
		}
		return a.engine.Stop(ctx)
	})
	a.onStop("drain executors inside", func(ctx context.Context) error {
		var both sync.WaitGroup
		both.Go(func() { a.stopHTTP(ctx) })
		a.stopSample(ctx, sample)
		both.Wait()
		return nil
	})
	// What is claimed is sent while the executor is there: the other way round, its last runs would find no executor.
	a.onStop("drain engine", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, a.opts.DrainTimeout) // the rest of the time is for what comes after
		defer cancel()
		return a.engine.Drain(ctx)
	})
}

// Stop undoes Start and New: what is claimed is sent, what was sent may still report, and then everything closes. ctx
// bounds the wait. Stopping twice is the same as once.
func (a *App) Stop(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state == stateStopped {
		return a.stopErr
	}
	a.state = stateStopped
	a.stopErr = a.tearDown(ctx)
	return a.stopErr
}

// Run starts, waits until ctx ends or the server fails, and stops.
func (a *App) Run(ctx context.Context) error {
	err := a.Start(ctx)
	if err == nil {
		select {
		case <-ctx.Done():
			a.logger.Info("stopping")
		case err = <-a.serveErr:
		}
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.opts.DrainTimeout+5*time.Second)
	defer cancel()
	return errors.Join(err, a.Stop(stop))
}

// listensAt adds a listener to this admin's own.
func (a *App) listensAt(addr net.Addr) {
	own := a.listeners()
	if at, err := netip.ParseAddrPort(addr.String()); err == nil {
		own = append(slices.Clone(own), at)
	}
	a.own.Store(&own)
}

func (a *App) listeners() []netip.AddrPort {
	if own := a.own.Load(); own != nil {
		return *own
	}
	return nil
}

// isOwn says whether an address is that of one of this admin's listeners.
func (a *App) isOwn(at netip.AddrPort) bool {
	return slices.ContainsFunc(a.listeners(), func(own netip.AddrPort) bool { return reaches(at, own) })
}

// reaches says whether a connection to an address ends at a listener of this machine.
func reaches(at, own netip.AddrPort) bool {
	if own.Port() != at.Port() {
		return false
	}
	if at.Addr().IsUnspecified() { // which leads to this machine
		return true
	}
	if !own.Addr().IsUnspecified() {
		return own.Addr().Unmap().WithZone("") == at.Addr()
	}
	if at.Addr().IsLoopback() {
		return true
	}
	ours, _ := net.InterfaceAddrs() // none: nothing is refused that could be another's
	return slices.ContainsFunc(ours, func(n net.Addr) bool {
		p, err := netip.ParsePrefix(n.String())
		return err == nil && p.Addr().Unmap() == at.Addr()
	})
}

// Token is the access token that executors need.
func (a *App) Token() string { return a.tokens.Common() }

func (a *App) onStop(name string, undo func(context.Context) error) {
	a.teardowns = append(a.teardowns, teardown{name, undo})
}

// tearDown undoes everything, the last step first. One that fails does not keep the others from being undone.
func (a *App) tearDown(ctx context.Context) error {
	var errs []error
	for i := len(a.teardowns) - 1; i >= 0; i-- {
		t := a.teardowns[i]
		if err := t.undo(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", t.name, err))
		}
	}
	a.teardowns = nil
	return errors.Join(errs...)
}

// closeServer answers the requests that are under way and ends the rest.
func (a *App) closeServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := errors.Join(a.server.Shutdown(ctx), a.protocols.Drain(ctx), a.resumed.Shutdown(ctx))
	if errors.Is(err, context.DeadlineExceeded) { // a connection that a browser holds ready is enough
		a.logger.Warn("requests were cut off")
		err = nil
	}
	err = errors.Join(err, a.server.Close(), a.resumed.Close())
	if a.adminServer != nil {
		err = errors.Join(err, a.adminServer.Close())
	}
	a.loops.Wait()
	return err
}

func (a *App) cleanSessions(ctx context.Context) {
	cleaning, minute := time.NewTicker(5*time.Minute), time.NewTicker(time.Minute)
	defer cleaning.Stop()
	defer minute.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-minute.C:
			a.audit.FlushCounted(ctx, false)
		case <-cleaning.C:
			a.clean(ctx)
		}
	}
}

// clean deletes what is too old to be of use, but nothing of a copy that is held: somebody is to look at it first.
func (a *App) clean(ctx context.Context) {
	if a.engine.Held() {
		return
	}
	if err := errors.Join(a.sessions.Clean(ctx), a.logins.Clean(ctx), a.signIns.Clean(ctx), a.audit.Clean(ctx), a.directories.Clean(ctx), a.api.Clean(ctx)); err != nil && ctx.Err() == nil {
		a.logger.Warn("clean sessions, logins and audit log", "error", err)
	}
}

// buildPause is how long a build of indexes that failed waits before the next try.
const buildPause = time.Minute

// buildIndexes builds what was left for after the start, on a big log.
func (a *App) buildIndexes(ctx context.Context) {
	for {
		err := a.pool.BuildIndexes(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		a.logger.Warn("build the indexes of the log", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(buildPause):
		}
	}
}

// refresh takes in what another admin rotated or decided.
func (a *App) refresh(ctx context.Context) {
	for range tick.Every(ctx, 5*time.Second) {
		if err := a.tokens.Load(ctx); err != nil && ctx.Err() == nil {
			a.logger.Warn("read access tokens", "error", err)
		}
		if err := a.held.Load(ctx); err != nil && ctx.Err() == nil {
			a.logger.Warn("read settings", "error", err)
		}
	}
}
