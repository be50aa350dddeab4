package app

import (
	"cmp"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/punctual-job/punctual/app/api"
	"github.com/punctual-job/punctual/app/auditlog"
	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/console"
	"github.com/punctual-job/punctual/app/legacy"
	"github.com/punctual-job/punctual/app/live"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/declare"
	"github.com/punctual-job/punctual/app/openapi"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/seal"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/alarm"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/scheduler/pull"
	jobsecret "github.com/punctual-job/punctual/scheduler/secret"
	"github.com/punctual-job/punctual/scheduler/tracing"
	"github.com/punctual-job/punctual/scheduler/webhook"
	"github.com/punctual-job/punctual/views/link"
)

// building is what New makes on its way that is handed from one part to the next.
type building struct {
	*App
	catalogue *locales.Catalogue

	sealing    *seal.Seal // nil without a secret key
	alarmKey   []byte
	signKey    []byte
	encryptKey []byte

	secrets *jobsecret.Store
	rule    manage.AddressRule
	places  *auth.Places
	factors *auth.Factors
}

// New opens the database and builds everything. Nothing runs yet; [App.Stop] gives everything back also without a start.
func New(ctx context.Context, opts Options) (_ *App, err error) {
	opts, err = opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := opts.checkPorts(); err != nil {
		return nil, err
	}
	b := &building{App: &App{opts: opts, logger: opts.Logger, closing: make(chan struct{}), serveErr: make(chan error, 3)}, catalogue: locales.New()}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.tearDown(context.WithoutCancel(ctx)))
		}
	}()
	for _, part := range []func(context.Context) error{b.database, b.tokensAndKeys, b.telling, b.schedule, b.people} {
		if err := part(ctx); err != nil {
			return nil, err
		}
	}
	b.web()
	return b.App, nil
}

// database opens the database and reads the settings in it.
func (b *building) database(ctx context.Context) (err error) {
	if b.pool, err = openPool(ctx, b.opts); err != nil {
		return err
	}
	b.onStop("close database", func(context.Context) error { return b.pool.Close() })
	zone := zoneWithOffset(b.pool.Zone(), time.Now())
	b.welcome.Database, b.welcome.Zone = b.pool.String(), zone
	b.logger.Info("times are read in the zone", "zone", zone, "setting", "PUNCTUAL_TIME_ZONE")
	if err := migrate(ctx, b.pool); err != nil {
		return err
	}
	b.settings = settings{pool: b.pool, queries: db.New(), now: b.now, logger: b.logger}
	if err := b.keepZone(ctx); err != nil {
		return err
	}
	if b.held, err = manage.NewSettings(b.pool, b.logger, b.now, b.opts.fixed()); err != nil {
		return &OptionsError{Err: err}
	}
	return b.held.Load(ctx)
}

// now is the time that all admins go by, and this machine's until there is an engine: what is made before it only stamps rows then.
func (a *App) now() time.Time {
	if a.engine == nil {
		return time.Now()
	}
	return a.engine.Now()
}

// tokensAndKeys reads what is sealed and signed with, and the tokens of executors.
func (b *building) tokensAndKeys(ctx context.Context) (err error) {
	if b.alarmKey, b.sealing, err = b.keys(ctx); err != nil {
		return err
	}
	b.tokens = auth.NewTokens(auth.TokensConfig{
		Pool: b.pool, Now: b.now, Fixed: b.opts.AccessToken, Open: b.opts.NoAccessToken, Seal: b.sealing, Logger: b.logger,
	})
	if err := errors.Join(b.tokens.Adopt(ctx), b.tokens.Load(ctx)); err != nil {
		return err
	}
	if b.signKey, b.encryptKey, err = b.settings.cookieKeys(ctx); err != nil {
		return err
	}
	if err := b.refuseWeakToken(ctx); err != nil {
		return err
	}
	b.warnAboutToken()
	return nil
}

// telling makes what tells others: metrics, traces, webhooks and alarms.
func (b *building) telling(context.Context) (err error) {
	b.registry = prometheus.NewRegistry()
	b.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewDBStatsCollector(b.pool.DB, "punctual"))
	promauto.With(b.registry).NewCounterFunc(prometheus.CounterOpts{
		Name: "punctual_log_lines_lost_total", Help: "Lines of this program's log that could not be written, or that whoever reads it did not take.",
	}, func() float64 { return float64(b.opts.LogLost()) })
	b.certEnds = newCertEnds(b.registry)
	if b.tracer, err = tracing.New(tracing.Config{
		Options: b.opts.traces, Pool: b.pool, Logger: b.logger, Registerer: b.registry, Seed: slices.Concat([]byte("traces"), b.signKey),
		Instance: b.opts.nodeName(), Version: b.opts.Version,
	}); err != nil {
		return err
	}
	b.onStop("hand over traces", b.tracer.Stop)
	b.webhooks, err = webhook.New(webhook.Config{
		Pool: b.pool, Logger: b.logger, Registerer: b.registry, Key: b.alarmKey, Now: b.now, Source: b.publicURL,
		RunLink: func(id int64) string { return b.publicURL() + link.Run(id) }, DenyPrivate: func() bool { return b.held.AlarmDefaults().DenyPrivate },
		Node: func() int64 { return b.engine.Node() }, Ready: func() bool { return b.engine.MayAct() },
	})
	if err != nil {
		return err
	}
	b.alarmer, err = alarm.New(alarm.Config{
		Pool: b.pool, Logger: b.logger, Registerer: b.registry, Key: b.alarmKey, Webhooks: b.webhooks, Defaults: b.held.AlarmDefaults, Now: b.now,
		Open:    func() []int64 { return b.engine.OpenRuns() },
		Node:    func() int64 { return b.engine.Node() },
		Printer: func(lang string) alarm.Printer { return b.catalogue.Printer(lang) }, Languages: locales.Languages(),
		Link: func(jobID, logID int64) string {
			if logID > 0 {
				return b.publicURL() + link.Run(logID)
			}
			return b.publicURL() + link.Job(jobID)
		},
		AckLink:  func(token string) string { return b.publicURL() + link.AlarmByLink(token) },
		OpenLink: func() string { return b.publicURL() + link.AlarmsOpenPath },
	})
	return err
}

// nodeName tells this admin from the others of its cluster, also from one on the same machine.
func (o Options) nodeName() string {
	name, _ := os.Hostname()
	name = cmp.Or(name, "punctual")
	at := o.Listen
	if o.Listener != nil {
		at = o.Listener.Addr().String()
	}
	if _, port, err := net.SplitHostPort(at); err == nil && port != "0" {
		return net.JoinHostPort(name, port)
	}
	return name
}

// schedule makes the engine and its ways to executors.
func (b *building) schedule(context.Context) error {
	b.secrets = jobsecret.NewStore(b.sealing)
	calls, err := b.opts.ExecutorTLS.Config()
	if err != nil {
		return &OptionsError{Err: fmt.Errorf("TLS towards executors: %w", err)}
	}
	outputs, err := b.opts.outputs.Open(b.pool)
	if err != nil {
		return &OptionsError{Err: err}
	}
	if folder, ok := outputs.(*archive.Folder); ok {
		b.onStop("close the folder of outputs", func(context.Context) error { return folder.Close() })
	}
	b.http = newHTTPJobs(b.tokens)
	b.rule = manage.NewAddressRule(b.held, b.isOwn, b.http.is)
	pullKey, err := hkdf.Key(sha256.New, b.signKey, nil, "punctual pulled calls", 32)
	if err != nil {
		return fmt.Errorf("derive the key of calls: %w", err)
	}
	b.back = newComeBack()
	b.pulls = pull.New(pull.Config{
		Pool: b.pool, Logger: b.logger, Registerer: b.registry, Seal: b.sealing, Key: pullKey, Now: b.now,
		Others: func() bool { return b.engine.Others() }, Admins: func() int { return b.engine.Admins() },
	})
	b.engine, err = scheduler.New(scheduler.Config{
		Pool: b.pool, Logger: b.logger, Registerer: b.registry, LogLost: b.opts.LogLost, Name: b.opts.nodeName(), Address: b.ownURL(), Version: b.opts.Version,
		Executors: executors{
			ExecutorClient: wire.NewExecutorClient(wire.NewHTTPClient(256, wire.WithTLS(calls), wire.WithDialRule(b.rule.Dial))),
			pulls:          wire.NewExecutorClient(&http.Client{Transport: b.pulls}), http: b.http, sample: &b.sample, tokens: b.tokens, foreign: newForeign(b.logger),
			held: func() bool { return b.engine.Held() },
		},
		English: b.catalogue.Printer("en"), Clock: b.opts.clock, LastWrite: b.opts.lastWrite, Token: tokenFor(b.tokens), JobZone: b.pool.Zone(), MeasuredJobs: b.opts.measuredJobs, Traces: b.tracer, Local: b.http.address,
		Limits: b.held.Limits, Watching: b.held.Watching, Retention: b.held.Retention, Alarms: b.alarmer, Webhooks: b.webhooks, Secrets: b.secrets,
		Output:     scheduler.Output{Store: outputs, Seal: b.sealing, Limits: b.held.Outputs},
		Registered: func(ctx context.Context, appName, address string) { b.audit.Registered(ctx, appName, address) },
	})
	return err
}

// people makes what knows people: how they sign in, and what they may do.
func (b *building) people(context.Context) error {
	// Half the processors: a burst of logins must not stop the engine.
	b.passwords = auth.NewPasswords(runtime.GOMAXPROCS(0) / 2).At(b.opts.PasswordCost).Keep(b.pool.WayBack)
	b.sessions = auth.NewSessions(b.pool, b.signKey, b.encryptKey, b.now, b.held.SignIn)
	b.places = auth.NewPlaces(b.pool, b.signKey, b.now)
	b.factors = auth.NewFactors(b.pool, b.signKey, b.sealing, b.places, b.now, b.logger)
	loginNow := b.now
	if b.opts.loginNow != nil {
		loginNow = b.opts.loginNow
	}
	b.logins = auth.NewLogins(b.pool, b.passwords, b.places, loginNow)
	directories, err := directory.New(b.opts.SignIn, b.now)
	if err != nil {
		return &OptionsError{Err: fmt.Errorf("sign-in: %w", err)}
	}
	b.manage = manage.New(manage.Config{
		Pool: b.pool, Engine: b.engine, Upkeep: b.engine.Upkeep(), Now: b.now, Settings: b.held, Alarms: b.alarmer,
		Passwords: b.passwords, Logins: b.logins, Sessions: b.sessions, Factors: b.factors, Logger: b.logger, Tokens: b.tokens, Alarmer: b.alarmer,
		Secrets: b.secrets, Directories: directories, Webhooks: b.webhooks, Flows: b.engine.Flows(), Outputs: b.engine.Outputs(), Callbacks: b.engine.Callbacks(),
	})
	b.directories, b.audit = b.manage.Directories, b.manage.Audit
	b.logins.Ask(b.manage.Directories, directories.OnlyBreakGlass())
	b.sessions.Ask(directories)
	b.signIns = auth.NewSignIns(auth.SignInConfig{Pool: b.pool, Sessions: b.sessions, Places: b.places, Now: loginNow, Policy: b.held.SignIn, Opened: b.signedIn})
	b.shipper = auditlog.NewShipper(b.audit.Chain(), b.opts.auditTargets, b.logger, b.registry)
	b.onStop("write refusals", func(ctx context.Context) error {
		b.audit.FlushCounted(ctx, true)
		return nil
	})
	return nil
}

// web makes what answers: the console, the executors' protocol, XXL-JOB's and API v1.
func (b *building) web() {
	service := b.manage
	streams, files := live.New(b.closing), jobFiles(service, b.pool)
	pages := console.New(console.Config{
		Manage: service, Files: files, Engine: b.engine, Sessions: b.sessions, Logins: b.logins, SignIns: b.signIns, Places: b.places, Factors: b.factors, Now: b.now,
		Pool: b.pool, Catalogue: b.catalogue, SignKey: b.signKey, EncryptKey: b.encryptKey, PublicURL: b.publicURL, Version: b.opts.Version, Zone: b.pool.Zone(),
		Streams: streams, Logger: b.logger, FirstTime: b.firstTime, About: b.about, Weakness: b.tokens.Weakness, Shipping: b.shipper.Troubles,
	})
	apiTokens := auth.NewAPITokens(b.pool, b.now, b.logger, service.Audit.TokenRefused)
	b.protocols = openapi.New(openapi.Config{
		Engine: b.engine, Outputs: b.engine.Outputs(), Tokens: b.tokens, Jobs: service.Jobs, Groups: service.Groups, APITokens: apiTokens, Pulls: b.pulls, Resume: b.back.give,
		Declared: declare.New(declare.Config{Pool: b.pool, Jobs: service.Jobs, Now: b.now}),
		Refuses:  func(address string) bool { return !b.http.is(address) && b.rule.Refuses(address) }, Catalogue: b.catalogue, Logger: b.logger,
		Settle: b.settle,
	})
	old := legacy.New(legacy.Config{
		Manage: service, Sessions: b.sessions, Logins: b.logins, SignIns: b.signIns, Pool: b.pool, Catalogue: b.catalogue, Now: b.now, Logger: b.logger, Refused: b.noteRefusal,
	})
	b.server = b.newServer(b.router(pages, b.protocols, old, func(e *echo.Echo) *api.API {
		return api.Register(e, api.Config{
			Manage: service, Files: files, Tokens: apiTokens, Pool: b.pool, Catalogue: b.catalogue, Now: b.now, Logger: b.logger, Refused: b.noteRefusal,
			Closing: b.closing, Limit: b.opts.apiLimit, Conditions: b.engine.Conditions, Streams: streams, Engine: b.engine,
		})
	}))
	b.resumed = b.newServer(b.server.Handler)
	b.resumed.ReadHeaderTimeout = b.resumed.IdleTimeout // to it the next request of a connection is a first one
	b.resumed.ConnState = b.back.note
}

// newServer is a server without a limit on reading or writing as a whole, as a stream may last for hours; the middleware sets one for each
// request that is not a stream.
func (a *App) newServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(a.logger.Handler(), slog.LevelDebug),
	}
}
