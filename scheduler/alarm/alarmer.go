package alarm

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/seal"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/webclient"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// Printer says the messages of one language; [locales.Printer] is the real one.
type Printer = event.Printer

// Config is what an [Alarmer] is made of. Pool, Logger, Key and Printer are required.
type Config struct {
	Pool       *db.Pool
	Logger     *slog.Logger
	Registerer prometheus.Registerer // nil: metrics are kept but not published
	Webhooks   *webhook.Service      // programs that are told too; nil: none

	// Key seals the settings of channels: 32 bytes, the same on every admin of the installation.
	Key []byte

	// Printer gives the texts of a language.
	Printer func(lang string) Printer

	// Languages are those that a channel may choose; the first is the default of Language.
	Languages []string

	// Language is that of channels which choose none.
	Language string

	// Link is the address of a run's page, or of a job's when logID is 0; "" leaves links out. nil: no links.
	Link func(jobID, logID int64) string

	// AckLink is the address of the page that the link of a message opens. nil: messages have no link.
	AckLink func(token string) string

	// OpenLink is the address of the page of open alarms. nil: messages have no such link.
	OpenLink func() string

	// DenyPrivate refuses webhooks whose address is loopback, private or link-local, after name resolution.
	DenyPrivate bool

	// RootCAs are trusted for mail servers and webhooks; the system's when nil.
	RootCAs *x509.CertPool

	// Defaults says what holds now, where people may change it while the alarmer runs; nil: Language, DenyPrivate and Window.
	Defaults func() Defaults

	// Open are the runs without a result, in the order of their ids; what has ended since may be among them. nil: none are told to take long.
	Open func() []int64

	// Node is this admin in the cluster, 0 while it is not in it; nil: never. Once it is gone from there, others send what it was sending.
	Node func() int64

	// Now is the clock that stamps rows and decides what is due; time.Now when nil.
	Now func() time.Time

	Window      time.Duration   // further events of a job and cause are gathered so long; 5 min
	Backoff     []time.Duration // pauses between the tries of a message; 1 m, 5 m, 20 m, 1 h, 3 h, 6 h. One more try than pauses.
	Rest        time.Duration   // a channel that failed is left alone so long; 15 s
	Calm        time.Duration   // who had some messages within it gets the next ones as one, at its end; 1 min, less than 0: never
	SendTimeout time.Duration   // one message; 20 s
	Grace       time.Duration   // a message that is being sent may go on so long when Run ends; 3 s
	Lease       time.Duration   // a message that is being sent is another's after this, or once its admin is gone from the cluster; 2 min
	Tick        time.Duration   // how often the tables are looked at without a reason; 1 s
	WatchEvery  time.Duration   // how often slow runs and silent jobs are looked for; 15 s
	Keep        time.Duration   // how long what became of alarms is kept; 30 days
}

// Defaults hold for every channel that does not say otherwise; see the fields of [Config] of the same names.
type Defaults struct {
	Language    string
	DenyPrivate bool
	Window      time.Duration
	MailDomains []string // to which mails may go, in lower case; none: to all
}

// MailsTo says whether a mail may go to an address.
func (d Defaults) MailsTo(address string) bool {
	at := strings.LastIndexByte(address, '@')
	return len(d.MailDomains) == 0 || at >= 0 && slices.Contains(d.MailDomains, strings.ToLower(address[at+1:]))
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Link == nil {
		c.Link = func(int64, int64) string { return "" }
	}
	if c.AckLink == nil {
		c.AckLink = func(string) string { return "" }
	}
	if c.OpenLink == nil {
		c.OpenLink = func() string { return "" }
	}
	if c.Backoff == nil {
		c.Backoff = []time.Duration{time.Minute, 5 * time.Minute, 20 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour}
	}
	if c.Language == "" && len(c.Languages) > 0 {
		c.Language = c.Languages[0]
	}
	c.Window = cmp.Or(c.Window, 5*time.Minute)
	c.Rest = cmp.Or(c.Rest, 15*time.Second)
	c.Calm = cmp.Or(c.Calm, time.Minute)
	c.SendTimeout = cmp.Or(c.SendTimeout, 20*time.Second)
	c.Grace = cmp.Or(c.Grace, 3*time.Second)
	c.Lease = cmp.Or(c.Lease, 2*time.Minute)
	if c.Defaults == nil {
		fixed := Defaults{Language: c.Language, DenyPrivate: c.DenyPrivate, Window: c.Window}
		c.Defaults = func() Defaults { return fixed }
	}
	c.Tick = cmp.Or(c.Tick, time.Second)
	if c.Node == nil {
		c.Node = func() int64 { return 0 }
	}
	if c.Open == nil {
		c.Open = func() []int64 { return nil }
	}
	c.WatchEvery = cmp.Or(c.WatchEvery, 15*time.Second)
	c.Keep = cmp.Or(c.Keep, 30*24*time.Hour)
	return c
}

// Alarmer is the service that turns events into messages, and the use cases of its settings. It implements
// [scheduler.Alarms].
type Alarmer struct {
	cfg     Config
	log     *slog.Logger
	queries *db.Queries
	metrics *metrics
	seal    *seal.Seal
	web     *http.Client
	memory  memory
	watch   watch

	wake  chan struct{} // capacity 1: there is something to do now
	sends sync.WaitGroup

	mu     sync.Mutex
	busy   map[int64]struct{}  // channels that a goroutine of this process is sending to
	rested map[int64]time.Time // channels that failed lately, or sent much, and until when they rest
	paces  map[int64]*pace     // of channels that sent something lately
}

// New makes an alarmer that does nothing until [Alarmer.Run].
func New(cfg Config) (*Alarmer, error) {
	if cfg.Pool == nil || cfg.Logger == nil || cfg.Printer == nil {
		return nil, errors.New("alarm: Pool, Logger and Printer are required")
	}
	sealing, err := seal.New(cfg.Key)
	if err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	a := &Alarmer{
		cfg: cfg, log: cfg.Logger, queries: db.New(), metrics: newMetrics(cfg.Registerer), seal: sealing, web: webclient.New(webclient.Config{RootCAs: cfg.RootCAs, Timeout: cfg.SendTimeout, DenyPrivate: func() bool { return cfg.Defaults().DenyPrivate }}),
		wake: make(chan struct{}, 1), busy: make(map[int64]struct{}), rested: make(map[int64]time.Time), paces: make(map[int64]*pace),
	}
	a.memory.open, a.memory.raised = make(map[int64]struct{}), make(map[int64]time.Time)
	a.watch.init()
	return a, nil
}

// Run works until ctx ends, and then waits for the messages that are being sent. What is still due stays in the tables for
// another admin or the next start.
func (a *Alarmer) Run(ctx context.Context) {
	tick := time.NewTicker(a.cfg.Tick)
	defer tick.Stop()
	defer a.sends.Wait()
	var watched, kept time.Time
	for {
		if _, err := a.runOnce(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("work on alarms", "error", err)
		}
		if now := a.cfg.Now(); now.Sub(watched) >= a.cfg.WatchEvery {
			watched = now
			if err := a.watchOnce(ctx, now); err != nil && ctx.Err() == nil {
				a.log.Warn("look for slow runs and silent jobs", "error", err)
			}
		}
		if now := a.cfg.Now(); now.Sub(kept) >= time.Hour {
			kept = now
			if err := a.clean(ctx, now); err != nil && ctx.Err() == nil {
				a.log.Warn("delete old alarms", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-a.wake:
		}
	}
}

// Wake says that there is something to do. It never blocks.
func (a *Alarmer) Wake() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// step says how much a round did.
type step struct{ gathered, expanded, escalated, started int }

// runOnce takes every step that is due once, and starts the sending of what is to be sent.
func (a *Alarmer) runOnce(ctx context.Context) (step, error) {
	var s step
	now := a.cfg.Now()
	errs := a.remember(ctx, now)
	var err error
	if s.gathered, err = a.gather(ctx, now); err != nil {
		errs = errors.Join(errs, fmt.Errorf("gather events: %w", err))
	}
	if s.expanded, err = a.expand(ctx, now); err != nil {
		errs = errors.Join(errs, fmt.Errorf("expand notices: %w", err))
	}
	if s.escalated, err = a.escalate(ctx, now); err != nil {
		errs = errors.Join(errs, fmt.Errorf("escalate: %w", err))
	}
	if s.started, err = a.deliver(ctx, now); err != nil {
		errs = errors.Join(errs, fmt.Errorf("deliver messages: %w", err))
	}
	return s, errs
}

// clean finishes what a crash cut short, and forgets what became of alarms long ago.
func (a *Alarmer) clean(ctx context.Context, now time.Time) error {
	const page = 1000
	if err := a.settleLeftovers(ctx, now); err != nil {
		return err
	}
	before := now.Add(-a.cfg.Keep).UnixMilli()
	rounds := []func() (int64, error){
		func() (int64, error) {
			return a.queries.DeleteAlarmEventsBefore(ctx, a.cfg.Pool, db.DeleteAlarmEventsBeforeParams{RaisedAt: before, Limit: page})
		},
		func() (int64, error) {
			return a.queries.DeleteAlarmDeliveriesBefore(ctx, a.cfg.Pool, db.DeleteAlarmDeliveriesBeforeParams{CreatedAt: before, Limit: page})
		},
		func() (int64, error) {
			return a.queries.DeleteAlarmEscalationsBefore(ctx, a.cfg.Pool, db.DeleteAlarmEscalationsBeforeParams{DueAt: before, Limit: page})
		},
		func() (int64, error) {
			return a.queries.DeleteAlarmNoticesBefore(ctx, a.cfg.Pool, db.DeleteAlarmNoticesBeforeParams{LastAt: before, Limit: page})
		},
	}
	for _, round := range rounds {
		for {
			n, err := round()
			if err != nil {
				return err
			}
			if n < page {
				break
			}
		}
	}
	gone, err := a.queries.ListGoneJobsOfAlarmStates(ctx, a.cfg.Pool)
	if err != nil {
		return err
	}
	for _, job := range gone {
		if err := a.queries.DeleteAlarmStatesOfJob(ctx, a.cfg.Pool, job); err != nil {
			return err
		}
	}
	_, err = a.queries.DeleteIdleAlarmStates(ctx, a.cfg.Pool, now.UnixMilli())
	return err
}
