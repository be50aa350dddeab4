package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/scheduler/backfill"
	"github.com/punctual-job/punctual/scheduler/cluster"
	"github.com/punctual-job/punctual/scheduler/invalid"
	"github.com/punctual-job/punctual/scheduler/route"
	"github.com/punctual-job/punctual/scheduler/tracing"
	"github.com/punctual-job/punctual/scheduler/upkeep"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// Executors is how the engine calls executors; [wire.ExecutorClient] is the real one.
type Executors interface {
	Beat(ctx context.Context, to wire.Target) (wire.Answer, error)
	IdleBeat(ctx context.Context, to wire.Target, req wire.IdleBeatRequest) (wire.Answer, error)
	// Takes says whether an executor takes several runs at once, up to [wire.MaxRuns].
	Takes(to wire.Target) bool
	// RunAll asks for a run, or for several where the executor takes them, and says of each what came of it.
	RunAll(ctx context.Context, to wire.Target, reqs []*wire.RunRequest) []wire.Told
	Kill(ctx context.Context, to wire.Target, req wire.KillRequest) (wire.Answer, error)
	Log(ctx context.Context, to wire.Target, req wire.LogRequest) (wire.LogResult, wire.Answer, error)
}

// Config is what an [Engine] is made of. Pool, Executors and Logger are required.
type Config struct {
	Pool       *db.Pool
	Executors  Executors
	Logger     *slog.Logger
	Registerer prometheus.Registerer // nil: metrics are kept but not published

	// LogLost is how many lines of the program's log are lost, for the figures; nil: nobody counts them.
	LogLost func() int64
	// MeasuredJobs are told apart in the metrics; the zero value: none, only executor groups are.
	MeasuredJobs MeasuredJobs

	// Traces is told of runs that have ended, and knows their places in traces; nil: nothing is traced. It outlives the engine.
	Traces *tracing.Tracer

	// Name and Address tell this admin from the others of its cluster, in messages and on the nodes page.
	Name, Address, Version string

	// JobZone is the zone cron texts are read in; UTC when nil.
	JobZone *time.Location

	// Token is the access token to send to an executor, and another to try when it refuses the first.
	Token func(Bearer) (token, other string)

	// Watching says whether addresses that somebody typed are asked whether they are there; nil: no.
	Watching func() bool

	// Local is the address of an executor that belongs to this node; "" for none, and nil too. Where it is one of a group's, this
	// node's runs of the group go to no other.
	Local func() string

	// Secrets are what jobs use without knowing it; nil: there are none.
	Secrets Secrets

	// Alarms is told what somebody may want to hear of; nil: nobody is.
	Alarms Alarms
	// Output says where the outputs of runs are kept; the zero value: nowhere.
	Output Output
	// Webhooks tell programs what happens; nil: there are none.
	Webhooks *webhook.Service
	// Registered is told of every executor that was not registered at the moment; may be nil.
	Registered func(ctx context.Context, appName, address string)

	// English has the words for what is wrong with a definition, in logs and XXL-JOB's columns; nil: they have its key.
	English invalid.Printer

	// Now is the clock of this machine, Reference the one that all admins go by, and Clock, where it is set, the engine's time
	// itself: as [cluster.Config] has them.
	Now       func() time.Time
	Reference func(ctx context.Context) (time.Time, error)
	Clock     func() time.Time

	followAfter time.Duration // for tests, as [cluster.Config] has them
	slept       func() time.Duration
	watchTick   time.Duration // how often it is looked whose time to be asked has come; 1 s

	Horizon       time.Duration // how far ahead fires are claimed; 2 s, beside XXL-JOB admins 12 s
	ClaimEvery    time.Duration // how often due jobs are read; 500 ms
	MisfireAfter  time.Duration // a fire later than this is a misfire; 5 s (docs/compat.md §6.3)
	CallTimeout   time.Duration // one call to an executor; 3 s (docs/compat.md §6.1)
	LogTimeout    time.Duration // reading a part of a run's output, which somebody waits for and which may be megabytes; 15 s, at least CallTimeout
	BeatEvery     time.Duration // lease renewal; 1 s
	Lease         time.Duration // a silent node is gone after this; 5 s
	DeadAfter     time.Duration // an executor's registration is dead after this; 90 s (docs/compat.md §1.4)
	AskAfter      time.Duration // a run without a result is asked about after this; 20 s
	LostAfter     time.Duration // a run is lost when nobody has listened at its executor's address for this long; 15 s
	IdleAfter     time.Duration // a run is lost when its executor has had nothing of its job, and no result came, for this long; 40 s
	MissedAfter   time.Duration // an executor that has not renewed its registration for this long is asked whether it lives; 35 s
	SweepEvery    time.Duration // period of the sweeps; 5 s
	CarryFor      time.Duration // the outcome of a sending waits for the run's result, which takes it along, for so long; 300 ms
	LastWrite     time.Duration // how long each of the last writes of a stop may take while the stop has time; 5 s
	PerAddress    int           // calls to one executor address at a time; 256
	PerJob        int           // of these, calls for one job; 64
	MaxQueued     int           // runs unsent on this node, from which on nothing more is claimed; 100,000
	MaxWaiting    int           // runs waiting for one executor address; more fail, and from a tenth on nothing more is claimed for it. 50,000
	UnansweredFor time.Duration // an executor that did not answer a call is asked after the run for so long before it is called not sent; 10 s
	RetryBackoff  time.Duration // wait before the retry of a run that could not be sent; 2 s
	ClaimWorkers  int           // claim transactions at a time; 2, on SQLite 1
	RecordWorkers int           // outcome writers; 2, on SQLite 1
	FinishWorkers int           // callback writers; 2, on SQLite 1

	// Limits says what holds now, where people may change it while the engine runs; nil: what the fields above say.
	Limits func() Limits

	// For the upkeep, as [upkeep.Config] has them.
	ReportEvery   time.Duration
	RetentionDays int
	Retention     func(ctx context.Context) (upkeep.Retention, error)
}

// Limits are the times by which the engine judges; see the fields of [Config] of the same names.
type Limits struct {
	MisfireAfter, CallTimeout, LostAfter, IdleAfter time.Duration
}

func (c Config) withDefaults() Config {
	writers := 2
	if c.Pool.Dialect() == db.SQLite {
		writers = 1
	}
	c.Name = cmp.Or(c.Name, "punctual")
	c.JobZone = cmp.Or(c.JobZone, time.UTC)
	if c.Token == nil {
		c.Token = func(Bearer) (string, string) { return "", "" }
	}
	if c.Local == nil {
		c.Local = func() string { return "" }
	}
	if c.Pool.Beside() {
		c.Horizon = cmp.Or(c.Horizon, db.BesideHorizon)
	}
	c.Horizon = cmp.Or(c.Horizon, 2*time.Second)
	c.ClaimEvery = cmp.Or(c.ClaimEvery, 500*time.Millisecond)
	c.MisfireAfter = cmp.Or(c.MisfireAfter, 5*time.Second)
	c.CallTimeout = cmp.Or(c.CallTimeout, 3*time.Second)
	c.LogTimeout = cmp.Or(c.LogTimeout, 15*time.Second)
	c.BeatEvery = cmp.Or(c.BeatEvery, time.Second)
	c.Lease = cmp.Or(c.Lease, 5*time.Second)
	c.DeadAfter = cmp.Or(c.DeadAfter, 90*time.Second)
	c.AskAfter = cmp.Or(c.AskAfter, 20*time.Second)
	c.LostAfter = cmp.Or(c.LostAfter, 15*time.Second)
	c.IdleAfter = cmp.Or(c.IdleAfter, 40*time.Second)
	c.MissedAfter = cmp.Or(c.MissedAfter, 35*time.Second)
	c.watchTick = cmp.Or(c.watchTick, time.Second)
	c.SweepEvery = cmp.Or(c.SweepEvery, 5*time.Second)
	c.CarryFor = cmp.Or(c.CarryFor, carryFor)
	c.LastWrite = cmp.Or(c.LastWrite, 5*time.Second)
	c.PerAddress = cmp.Or(c.PerAddress, 256)
	c.PerJob = cmp.Or(c.PerJob, 64)
	c.MaxQueued = cmp.Or(c.MaxQueued, 100_000)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 50_000)
	c.UnansweredFor = cmp.Or(c.UnansweredFor, 10*time.Second)
	c.RetryBackoff = cmp.Or(c.RetryBackoff, 2*time.Second)
	c.ClaimWorkers = cmp.Or(c.ClaimWorkers, writers)
	if c.Limits == nil {
		fixed := Limits{MisfireAfter: c.MisfireAfter, CallTimeout: c.CallTimeout, LostAfter: c.LostAfter, IdleAfter: c.IdleAfter}
		c.Limits = func() Limits { return fixed }
	}
	c.RecordWorkers = cmp.Or(c.RecordWorkers, writers)
	c.FinishWorkers = cmp.Or(c.FinishWorkers, writers)
	return c
}

// Engine schedules the jobs of one installation together with the other admins of its database. See the package comment
// for the life of a run.
type Engine struct {
	cfg       Config
	log       *slog.Logger
	queries   *db.Queries
	schedules *db.Schedules
	metrics   *metrics
	measured  *runMetrics

	node      *cluster.Node
	health    health
	claimer   *claimer
	foreign   foreign
	memory    memory
	leftOpen  atomic.Int64 // runs of an XXL-JOB admin that were closed since the start
	directory *directory
	pauses    *pauses
	routes    *route.Table
	sources   *sourceCache
	timer     *timer
	queues    *addressQueues
	recorder  *batcher[*outcome]
	carrier   *carrier
	finisher  *batcher[finishing]
	late      atomic.Pointer[time.Time] // when a large request had results that its executor had kept for long; nil: none has
	beginner  *batcher[*dispatch]       // of runs of flows
	admitter  *batcher[*admission]
	nexts     nexts
	flows     *Flows
	callbacks *Callbacks
	outputs   *Outputs
	untaken   untaken
	bulk      *semaphore.Weighted // results of large requests that wait for the finisher
	hub       *hub
	pulse     *pulse
	upkeep    *upkeep.Service
	archive   *archive.Service // nil: outputs are not kept
	backfills *backfill.Service
	rates     rates
	open      atomic.Pointer[[]int64] // see OpenRuns
	held      atomic.Bool             // see Hold
	refusals  *refusals
	rests     killRests
	pending   pendingSet // runs of this node that are committed but not recorded as sent
	signed    atomic.Pointer[signature]

	crowd    *crowd
	shortage shortage

	claimNow chan struct{} // capacity 1: a job became due sooner than the claimer knows

	mu         sync.Mutex
	started    bool
	arrived    bool // Arrive was told what the next Start needs not find out
	draining   atomic.Bool
	cancel     context.CancelFunc // ends every loop
	work       context.Context    // of the sending and the writing, which go on in a stop while there is time; set by Start
	endWork    context.CancelFunc
	unrecorded atomic.Int64   // outcomes that a stop gave up
	wg         sync.WaitGroup // the loops
	lastErr    atomic.Pointer[error]
}

// New makes an engine that does nothing until [Engine.Start].
func New(cfg Config) (*Engine, error) {
	if cfg.Pool == nil || cfg.Executors == nil || cfg.Logger == nil {
		return nil, errors.New("scheduler: Pool, Executors and Logger are required")
	}
	cfg = cfg.withDefaults()
	e := &Engine{
		cfg:      cfg,
		log:      cfg.Logger,
		queries:  db.New(),
		metrics:  newMetrics(cfg.Registerer),
		routes:   route.NewTable(),
		sources:  newSourceCache(),
		hub:      newHub(),
		claimNow: make(chan struct{}, 1),
	}
	e.measured = newRunMetrics(cfg.Registerer, cfg.MeasuredJobs, func(id int64) string {
		if g := e.directory.get(id); g != nil {
			return g.appName
		}
		return ""
	})
	e.refusals = newRefusals(refusalsConfig{Pool: cfg.Pool, Logger: cfg.Logger, Now: e.now, Calls: e.metrics.callsRefused})
	var err error
	if e.node, err = newNode(e); err != nil {
		return nil, err
	}
	e.pulse = newPulse(e.now())
	e.schedules = db.NewSchedules(cfg.Pool, cfg.JobZone, e.now)
	if e.upkeep, err = upkeep.New(upkeep.Config{
		Pool: cfg.Pool, Logger: cfg.Logger, Now: e.now, Leads: e.node.Leading, Changed: func() { e.hub.changed() }, Counted: e.measured.counted, Schedules: e.schedules,
		Ahead: cfg.Horizon, ReportEvery: cfg.ReportEvery, RetentionDays: cfg.RetentionDays, Retention: cfg.Retention,
	}); err != nil {
		return nil, err
	}
	if e.backfills, err = backfill.New(backfill.Config{
		Pool: cfg.Pool, Logger: cfg.Logger, Send: e.sendBackfill, Now: e.now, Leads: e.node.Leading, Changes: e.Subscribe,
	}); err != nil {
		return nil, err
	}
	if e.archive, err = newArchive(e); err != nil {
		return nil, err
	}
	e.pending.init()
	e.carrier = newCarrier()
	e.claimer = newClaimer(e)
	e.directory = newDirectory(e)
	e.pauses = newPauses(e)
	e.timer = newTimer(e.now, e.fireAll)
	e.queues = newAddressQueues(cfg.PerAddress, cfg.PerJob, e.sendQueued, e.share)
	e.crowd = newCrowd(e)
	e.queues.low, e.queues.drained = e.crowdedAt()/2, e.crowd.drained
	e.recorder = newBatcher(db.MaxBatch, 2*time.Millisecond, 4*cfg.MaxQueued, e.recordBatch)
	e.finisher = newBatcher(db.MaxBatch, 2*time.Millisecond, 20_000, e.finishBatch)
	e.finisher.patience = e.companyFor
	e.beginner = newBatcher(db.MaxBatch, 2*time.Millisecond, 4*cfg.MaxQueued, e.beginFlows)
	e.beginner.patience = func(d *dispatch) time.Duration {
		if d.step != 0 { // a step of another flow follows the one before it at once
			return 0
		}
		return e.beginner.linger
	}
	e.admitter = newBatcher(db.MaxBatch, 0, cfg.PerAddress, e.admitBatch)
	e.callbacks = &Callbacks{queries: db.New(), cfg: callbacksConfig{Pool: cfg.Pool, Now: e.now, Mine: e.node.Mine, Complete: e.complete, Changed: e.hub.changed}}
	e.outputs = &Outputs{queries: db.New(), held: semaphore.NewWeighted(answersHeld), cfg: outputsConfig{
		Pool: cfg.Pool, Archive: e.archive, Directory: e.directory, Now: e.now, Log: cfg.Executors.Log, Target: e.target, CatchUp: e.catchUp, Refused: e.Refused,
		Limit: func() time.Duration { return max(cfg.LogTimeout, cfg.Limits().CallTimeout) },
	}}
	e.flows = newFlows(flowsConfig{
		Pool: cfg.Pool, Logger: cfg.Logger, Engine: e, Now: e.now, Node: e.node, Zone: cfg.JobZone, GroupsOf: e.directory.idsOf, Changed: e.hub.changed,
		Webhooks: cfg.Webhooks, Alarms: cfg.Alarms,
	})
	e.bulk = semaphore.NewWeighted(bulkWaiting)
	e.publishState()
	return e, nil
}

// Hold keeps an engine that is not started from being asked for anything, until [Engine.Arrive] or [Engine.Start].
func (e *Engine) Hold() { e.held.Store(true) }

// Held reports whether the engine is held.
func (e *Engine) Held() bool { return e.held.Load() }

// Arrive is told that this admin is about to take beats of executors, before [Engine.Start]: from then on the registry says no more for how
// long nobody took any, for which executors are not blamed. Start does it where nobody did.
func (e *Engine) Arrive(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.started {
		return nil
	}
	if err := e.node.SetClock(ctx); err != nil {
		return fmt.Errorf("ask for the time: %w", err)
	}
	if err := e.directory.arrive(ctx); err != nil {
		return fmt.Errorf("read executors and admins: %w", err)
	}
	e.arrived = true
	e.held.Store(false)
	return nil
}

// Start joins the cluster and starts all loops. ctx bounds only the joining; the loops end with [Engine.Stop].
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.started {
		return nil
	}
	if err := e.node.SetClock(ctx); err != nil {
		return fmt.Errorf("ask for the time: %w", err)
	}
	if !e.arrived {
		if err := e.directory.arrive(ctx); err != nil {
			return fmt.Errorf("read executors and admins: %w", err)
		}
	}
	e.arrived = false // a later start has its own
	e.held.Store(false)
	if err := e.directory.reload(ctx); err != nil {
		return fmt.Errorf("read executor groups: %w", err)
	}
	if err := e.pauses.read(ctx); err != nil {
		return fmt.Errorf("read pauses: %w", err)
	}
	membership{e}.Drop() // what an earlier start left; joining finds it in the database
	e.queues.resume()
	e.draining.Store(false)
	e.work, e.endWork = context.WithCancel(context.WithoutCancel(ctx))
	// Joining may take over runs, which are sent at once and whose outcomes want to be written.
	e.recorder.start(e.work, e.cfg.RecordWorkers, &e.wg)
	e.beginner.start(e.work, e.cfg.RecordWorkers, &e.wg)
	e.admitter.start(e.work, e.cfg.RecordWorkers, &e.wg)
	if err := e.node.Start(ctx); err != nil {
		e.queues.stop()
		e.queues.wait()
		e.handInDue(0)
		e.recorder.stop()
		e.admitter.stop()
		e.beginner.stop()
		e.wg.Wait()
		e.endWork()
		return fmt.Errorf("join the cluster: %w", err)
	}
	e.finisher.start(e.work, e.cfg.FinishWorkers, &e.wg) // what follows from results is this admin's, so not before it has its place
	loop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.cancel = cancel
	e.wg.Go(func() { e.directory.run(loop) })
	e.wg.Go(func() { e.timer.run(loop) })
	e.wg.Go(func() { e.carryLoop(loop) })
	e.claimer.start()
	e.wg.Go(func() { e.claimLoop(loop) })
	e.wg.Go(func() { e.healthLoop(loop) })
	e.wg.Go(func() { e.sweepBeats(loop) }) // those that went while nobody was there are found before runs are spent on them
	e.wg.Go(func() { e.sweepLoop(loop) })
	e.wg.Go(func() { e.watchLoop(loop) })
	e.wg.Go(func() { e.killLoop(loop) })
	e.wg.Go(func() { e.flows.wakeLoop(loop) })
	e.wg.Go(func() { e.flows.endLoop(loop) })
	e.upkeep.Start()
	e.backfills.Start()
	e.archive.Start()
	e.started = true
	return nil
}

// Stop drains: it claims nothing more, sends what is already claimed and due soon, writes every outcome, and leaves the
// cluster. What is still unsent when ctx ends stays in the database for another admin, or for the next start. It may be
// called more than once.
func (e *Engine) Stop(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.started {
		return nil
	}
	e.started = false
	e.beginDrain()
	work, endWork := e.work, e.endWork
	defer context.AfterFunc(ctx, func() {
		_ = upkeep.Rest(work, wrapUp) // or until the work has ended
		endWork()
	})()
	err := errors.Join(e.backfills.Stop(context.WithoutCancel(ctx)), e.drain(ctx))
	e.queues.stop()
	e.cancel()
	e.queues.wait()
	e.admitter.stop()
	e.beginner.stop()
	e.handInDue(0)
	e.recorder.stop()
	e.finisher.stop()
	e.wg.Wait()
	endWork()
	if n := e.unrecorded.Swap(0); n > 0 {
		e.log.Error("stopped without having recorded what became of some runs; their executors are asked at the next start, or by another admin", "runs", n)
	}
	late := context.WithoutCancel(ctx)
	err = errors.Join(err, e.archive.Stop(late))
	counters, cancel := unhurried(ctx, upkeep.StopsWithin, e.cfg.LastWrite)
	defer cancel()
	err = errors.Join(err, e.upkeep.Stop(counters))
	farewell, cancel := unhurried(ctx, cluster.StopsWithin, e.cfg.LastWrite)
	defer cancel()
	return errors.Join(err, e.node.Stop(farewell))
}

// unhurried is the context of a last write: it has the least time that it asks for also when ctx has ended, and the most while ctx goes on, since
// a busy database may take a second to commit.
func unhurried(ctx context.Context, least, most time.Duration) (context.Context, context.CancelFunc) {
	now := time.Now()
	end := now.Add(most)
	if given, ok := ctx.Deadline(); ok && given.Before(end) {
		end = given
	}
	if soonest := now.Add(least); end.Before(soonest) || ctx.Err() != nil {
		end = soonest
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// wrapUp is what a stop may take after its time is over, for the calls under way and their outcomes.
const wrapUp = 2 * time.Second

// StopsWithin is how long [Engine.Stop] may go on when its context has ended.
const StopsWithin = backfill.StopsWithin + wrapUp + archive.StopsWithin + upkeep.StopsWithin + cluster.StopsWithin

// Drain is the first half of [Engine.Stop]: nothing more is claimed, and what is claimed is sent. Results are taken until the
// second half, so that whoever ends in between can still report.
func (e *Engine) Drain(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.started {
		return nil
	}
	e.beginDrain()
	return e.drain(ctx)
}

// beginDrain ends the claiming, and has the other admins hear of it.
func (e *Engine) beginDrain() {
	e.draining.Store(true)
	e.node.BeatSoon()
}

// drain waits until nothing of this node is unsent but what is planned beyond the horizon, and retries that wait for their
// pause: these are better sent by whoever is there then, and one that fails is followed by the next.
func (e *Engine) drain(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for e.pending.len() > e.timer.left(e.now(), e.cfg.Horizon) {
		select {
		case <-ctx.Done():
			e.log.Warn("stopping with runs unsent; another admin or the next start sends them", "runs", e.pending.len())
			return fmt.Errorf("drain: %w", ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

// JobsChanged tells the engine that a job was started, edited or backfilled, so that what is due in the next seconds is not late.
func (e *Engine) JobsChanged() {
	e.backfills.Wake()
	e.claimSoon()
}

// claimSoon has what is due read without waiting for the next round.
func (e *Engine) claimSoon() {
	select {
	case e.claimNow <- struct{}{}:
	default:
	}
}

// Upkeep is the service that looks after what runs leave in the database. It starts and stops with the engine.
func (e *Engine) Upkeep() *upkeep.Service { return e.upkeep }

// Archive is the service that keeps the outputs of runs; nil where they are not kept. It starts and stops with the engine.
func (e *Engine) Archive() *archive.Service { return e.archive }

// Flows is the part that runs flows. It starts and stops with the engine.
func (e *Engine) Flows() *Flows { return e.flows }

// Callbacks are the reports that runs wait for.
func (e *Engine) Callbacks() *Callbacks { return e.callbacks }

// Outputs is what runs wrote.
func (e *Engine) Outputs() *Outputs { return e.outputs }

// Others reports whether other admins live, as far as this one knows.
func (e *Engine) Others() bool { return e.node.Others() }

// Sender is by what number executors of ours know this admin, which they tell first how the runs ended that it sent them: it has what became
// of the sending in its hands ([carrier]). 0 where it is alone.
func (e *Engine) Sender() int64 {
	if !e.node.Others() {
		return 0
	}
	return e.node.ID()
}

// Node is this admin's id in the cluster; 0 before the first start.
func (e *Engine) Node() int64 { return e.node.ID() }

// MayAct says whether the others take this admin for alive, so that none of them does its work.
func (e *Engine) MayAct() bool { return e.node.MayAct() }

// Admins is how many share the work.
func (e *Engine) Admins() int { return len(e.node.Alive()) }

// Now is the time that the cluster goes by, which is the database's and not this machine's.
func (e *Engine) Now() time.Time { return e.now() }

func (e *Engine) now() time.Time { return e.node.Now() }

// wall is an instant as the DATETIME columns hold it.
func (e *Engine) wall(t time.Time) time.Time { return e.cfg.Pool.Wall(t) }
