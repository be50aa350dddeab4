package executor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-job/punctual/executor/internal/process"
	"github.com/punctual-job/punctual/executor/wire"
)

// Executor runs jobs. Make one with [New], give it handlers, then [Executor.Run] it, or [Executor.Start] and
// [Executor.Drain] it.
type Executor struct {
	config    Config
	token     *token
	logger    *slog.Logger
	admins    *wire.AdminClient
	client    *http.Client
	newClient func() *http.Client // makes another such client; nil: the configured one is for everything
	tls       *tls.Config         // of the server; nil: plain HTTP
	runAs     *process.Account
	returning time.Duration // how long cancelled handlers have to return at a shutdown

	handlersMu sync.RWMutex
	handlers   map[string]Handler
	hooked     []*hooked // those of handlers that have hooks
	codeNames  []string  // of handlers whose parameter is code
	declared   []wire.DeclaredJob
	around     []Middleware

	// Made by Start.
	lock     *os.File
	instance string // marks the processes of this data folder's scripts
	journal  *journal
	logs     *logStore
	seen     *seen
	scripts  *scriptStore
	reporter *reporter
	server   *http.Server
	listener net.Listener
	address  string  // as registered
	puller   *puller // of an executor that asks for its calls; it has no server and no listener
	stopPull context.CancelFunc

	mu       sync.Mutex
	state    state
	jobs     map[int64]*job  // that have something running or waiting
	live     map[int64]*task // by log id: waiting, running, or ended with a handler that has not returned
	held     int             // bytes of the requests behind live
	sequence int64

	requests atomic.Int64 // being answered

	workers    group // goroutines that run handlers
	services   group // the other goroutines
	stopLoops  context.CancelFunc
	hooks      group           // calls of Init
	hookCtx    context.Context // what they get
	stopHooks  context.CancelFunc
	beating    group // the goroutine that registers
	stopBeat   context.CancelFunc
	calledAt   time.Time     // when a run was refused last because the executor shuts down
	stopNow    chan struct{} // closed by Stop: a drain that is going on waits no longer
	stopOnce   sync.Once
	closed     chan struct{} // closed when all is over
	registered atomic.Bool   // an admin has our address
	beatNow    chan struct{} // have it registered at once

	accepted, refused, succeeded, failed atomic.Int64
}

type state int

const (
	stateNew state = iota
	stateStarted
	stateDraining
	stateClosed
)

// Stats is what an executor is doing and has done since its start.
type Stats struct {
	Waiting, Running int // runs; Running counts those whose handler goes on after their end
	Undelivered      int // results no admin has acknowledged yet
	Accepted         int64
	Refused          int64
	Succeeded        int64
	Failed           int64
}

// New checks config. Nothing is opened or started yet.
func New(config Config) (*Executor, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("executor: %w", err)
	}
	token, err := newToken(config)
	if err != nil {
		return nil, fmt.Errorf("executor: access token: %w", err)
	}
	serverTLS, err := config.serverTLS()
	if err != nil {
		return nil, fmt.Errorf("executor: %w", err)
	}
	runAs, err := process.Lookup(config.RunAs)
	if err != nil {
		return nil, fmt.Errorf("executor: run scripts as %q: %w", config.RunAs, err)
	}
	client := config.HTTPClient
	var newClient func() *http.Client
	if client == nil {
		clientTLS, err := config.AdminTLS.Config()
		if err != nil {
			return nil, fmt.Errorf("executor: towards the admins: %w", err)
		}
		newClient = func() *http.Client {
			own := wire.WithTLS(clientTLS.Clone()) // a client writes into it which protocols it speaks
			if config.Mode == Pull {
				return wire.NewHTTPClient(16, own, wire.WithProxy(http.ProxyFromEnvironment), wire.WithHTTP2())
			}
			return wire.NewHTTPClient(8, own)
		}
		client = newClient()
	} else if config.Mode == Pull && client.Timeout > 0 { // each call has a bound of its own, and a pull lasts longer than most
		patient := *client
		patient.Timeout = 0
		client = &patient
	}
	e := &Executor{
		config: config, token: token, logger: config.Logger, client: client, newClient: newClient, tls: serverTLS, runAs: runAs,
		handlers: make(map[string]Handler), returning: endTimeout,
		jobs: make(map[int64]*job), live: make(map[int64]*task),
		beatNow: make(chan struct{}, 1), stopNow: make(chan struct{}), closed: make(chan struct{}),
	}
	e.admins = e.newAdmins(client, token.show)
	return e, nil
}

// newAdmins is a client of the admins that shows them a token.
func (e *Executor) newAdmins(client *http.Client, token func() string) *wire.AdminClient {
	admins := wire.NewAdminClient(client, e.config.Admins, "", e.config.AppName, e.config.AdminTimeout)
	admins.Token = token
	return admins
}

// Handle gives the executor a job handler. Like http.Handle it panics when the name is empty or taken: that is a mistake
// in the program, best seen when it starts.
func (e *Executor) Handle(name string, h Handler) { e.HandleWith(name, HandlerSpec{Run: h}) }

// HandleWith gives the executor a job handler that has something to do before its first run and after its last.
// Otherwise it is like [Executor.Handle].
func (e *Executor) HandleWith(name string, spec HandlerSpec) {
	e.handlersMu.Lock()
	defer e.handlersMu.Unlock()
	if name == "" || spec.Run == nil {
		panic("executor: Handle with an empty name or no handler")
	}
	if _, taken := e.handlers[name]; taken {
		panic("executor: handler " + name + " is already there")
	}
	if spec.ParamIsCode {
		e.codeNames = append(e.codeNames, name)
	}
	if spec.Init == nil && spec.Destroy == nil {
		e.handlers[name] = spec.Run
		return
	}
	h := &hooked{name: name, spec: spec, ex: e}
	e.hooked = append(e.hooked, h)
	e.handlers[name] = h.run
}

// codeHandlers are the handlers whose parameter is code, for the registration.
func (e *Executor) codeHandlers() []string {
	e.handlersMu.RLock()
	defer e.handlersMu.RUnlock()
	return slices.Clone(e.codeNames)
}

func (e *Executor) handler(name string) (Handler, bool) {
	e.handlersMu.RLock()
	defer e.handlersMu.RUnlock()
	h, ok := e.handlers[name]
	return h, ok
}

// HasToken says whether callers must know a token, or there are none, so that whoever adds handlers that run what they are told can insist.
func (e *Executor) HasToken() bool {
	return e.token.any() || e.config.InsecureNoToken || e.config.Mode == Pull
}

// Start opens the data folder, takes up what was going on before, listens and registers. When it returns without an
// error the executor accepts runs until Drain or Stop; ctx only bounds the start itself.
func (e *Executor) Start(ctx context.Context) (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state != stateNew {
		return errors.New("executor: started before")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var undo []func()
	defer func() {
		if err != nil {
			for i := len(undo) - 1; i >= 0; i-- {
				undo[i]()
			}
			err = fmt.Errorf("executor: %w", err)
		}
	}()
	if err := os.MkdirAll(e.config.DataDir, 0o755); err != nil {
		return err
	}
	if e.runAs != nil {
		if err := os.Chmod(e.config.DataDir, 0o700); err != nil { // run logs and the journal are not for scripts
			return err
		}
	} else if process.Root() && (e.config.GlueEnabled || len(e.codeHandlers()) > 0) {
		e.logger.Warn("scripts and commands run as root: name another user in RunAs, or start the program as one", "group", e.config.AppName)
	}
	if e.lock, err = lockDir(e.config.DataDir); err != nil {
		return err
	}
	undo = append(undo, func() { unlockDir(e.lock) })
	if e.instance, err = instanceMark(e.config.DataDir); err != nil {
		return err
	}
	if e.logs, err = openLogStore(filepath.Join(e.config.DataDir, "logs"), e.config.MaxLogBytes, e.logger); err != nil {
		return fmt.Errorf("run logs: %w", err)
	}
	undo = append(undo, e.logs.close)
	if e.scripts, err = openScriptStore(filepath.Join(e.config.DataDir, "gluesource"), e.instance, e.runAs); err != nil {
		return fmt.Errorf("scripts: %w", err)
	}
	undo = append(undo, e.scripts.close)
	if e.config.Mode == Pull {
		if e.address, err = e.pullAddress(); err != nil {
			return err
		}
	} else {
		if e.listener, err = e.listen(); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		undo = append(undo, func() { _ = e.listener.Close() })
		e.address = e.advertise(e.listener.Addr())
	}
	if e.journal, err = openJournal(filepath.Join(e.config.DataDir, "journal"), !e.config.NoSync, e.logger); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	e.seen = e.journal.seen
	e.reporter = newReporter(e.admins, e.journal, e.config.CallbackBatch, e.logger)
	e.reporter.outputs = &outputPusher{admins: e.admins, read: e.outputOf, logger: e.logger}

	loops, stop := context.WithCancel(context.Background())
	e.stopLoops = stop
	e.hookCtx, e.stopHooks = context.WithCancel(loops)
	beats, stopBeat := context.WithCancel(loops)
	e.stopBeat = stopBeat
	e.state = stateStarted
	go e.journal.run() // ended by journal.close
	e.resume()
	e.services.Go(func() { e.reporter.run(loops) })
	e.beating.Go(func() { e.beatLoop(beats) })
	e.services.Go(func() { e.cleanLoop(loops) })
	if e.config.Mode == Pull {
		var pulls context.Context
		pulls, e.stopPull = context.WithCancel(context.Background())
		e.puller = newPuller(e)
		e.puller.start(pulls, &e.services)
	} else {
		e.serve()
	}
	if e.config.AdminTLS.Insecure && e.config.HTTPClient == nil {
		e.logger.Warn("certificates of admins are not checked: whoever is on the way can read the access token", "group", e.config.AppName)
	}
	if len(e.config.Admins) == 0 {
		e.logger.Warn("no admin is named: the executor registers nowhere, and results wait until one is", "group", e.config.AppName)
	}
	e.logger.Info("executor started", "group", e.config.AppName, "executor", e.address, "data_dir", e.config.DataDir)
	return nil
}

// serve answers admins at the listener.
func (e *Executor) serve() {
	e.server = &http.Server{
		Handler: e, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 90 * time.Second,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(e.logger.Handler(), slog.LevelDebug),
	}
	listener := e.listener
	if e.tls != nil {
		listener = tls.NewListener(listener, e.tls)
	}
	e.services.Go(func() {
		if err := e.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			e.logger.Error("executor server ended", "error", err)
		}
	})
}

// close ends what takes calls, when those under way are answered or ctx ends.
func (e *Executor) close(ctx context.Context) {
	if e.puller != nil {
		e.stopPull()
		return
	}
	if e.server.Shutdown(ctx) != nil {
		_ = e.server.Close()
	}
}

// Addr is the address the executor listens on, once started; nil when it does not.
func (e *Executor) Addr() net.Addr {
	if e.listener == nil {
		return nil
	}
	return e.listener.Addr()
}

// Address is the URL the executor registers, once started.
func (e *Executor) Address() string { return e.address }

// DataDir is where the executor keeps its files.
func (e *Executor) DataDir() string { return e.config.DataDir }

// Run starts the executor, waits until ctx ends, and drains it for at most [Config.DrainTimeout].
func (e *Executor) Run(ctx context.Context) error {
	if err := e.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return e.Drain(context.WithoutCancel(ctx))
}

// Stats counts what is going on.
func (e *Executor) Stats() Stats {
	s := Stats{Accepted: e.accepted.Load(), Refused: e.refused.Load(), Succeeded: e.succeeded.Load(), Failed: e.failed.Load()}
	e.mu.Lock()
	for _, j := range e.jobs {
		s.Waiting += len(j.waiting)
	}
	s.Running = len(e.live) - s.Waiting
	started := e.state != stateNew
	e.mu.Unlock()
	if started {
		s.Undelivered = e.reporter.undelivered()
	}
	return s
}

// cleanLoop removes old run logs, at the start and then every few hours.
func (e *Executor) cleanLoop(ctx context.Context) {
	if e.config.LogRetentionDays < 3 { // as upstream: anything less keeps them for ever
		return
	}
	ticker := time.NewTicker(6 * time.Hour)
	defer ticker.Stop()
	for {
		removed, err := e.logs.clean(time.Now(), e.config.LogRetentionDays)
		if err != nil {
			e.logger.Warn("clean run logs", "error", err)
		}
		if removed > 0 {
			e.logger.Info("old run logs removed", "days", removed)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
