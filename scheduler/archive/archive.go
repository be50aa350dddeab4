package archive

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/seal"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Run is a run whose output is read.
type Run struct {
	ID, Group, Job int64
	Address        string // of its executor
	LogDate        int64  // under which its executor looks for the output, epoch ms
}

// executor is one that is asked for outputs, in a group: the address of one that fetches its calls is its own within its group only.
type executor struct {
	group   int64 // 0: whichever, since it is called at its address
	address string
}

func (r *Run) executor() executor {
	if wire.Pulls(r.Address) {
		return executor{r.Group, r.Address}
	}
	return executor{address: r.Address}
}

// Ended is a run that has ended.
type Ended struct {
	Run
	At     int64 // epoch ms
	Pushed bool  // an admin has taken its output from the executor, and is about to write it
	again  bool  // it was found in the rows: there may be one of the run itself
}

// Limits are what people may change while it works.
type Limits struct {
	Keep      jobspec.Keep // of groups that do not say
	RunBytes  int          // kept of a run
	ByteRate  int64        // copied in a second by one admin; 0: without a limit
	MaxUncopy int64        // runs that wait to be copied, of all admins, from which on no more are noted
	Shared    int64        // objects up to this one another installation may have too, of whose database this one is a copy
}

// Config is what a [Service] is made of. Pool, Logger, Store, Read, Limits, Node, Alive and Mine are required.
type Config struct {
	Pool       *db.Pool
	Logger     *slog.Logger
	Registerer prometheus.Registerer // nil: metrics are kept but not published

	Store Store
	Seal  *seal.Seal // nil: copies are only compressed

	// Read asks a run's executor for its output from a line on. The answer is used at once, because others wait for its memory.
	Read   func(ctx context.Context, run Run, from int, use func(wire.LogResult)) error
	Limits func() Limits

	Now   func() time.Time
	Node  func() int64                   // this admin's id in the cluster
	Alive func() []int64                 // those that live
	Mine  func() func(runID int64) bool  // which long runs this admin follows
	Leads func() bool                    // whether this admin looks after what nobody else does
	Open  func() []int64                 // the runs without a result, in the order of their ids; what has ended since may be among them
	Keeps func(group int64) jobspec.Keep // what a group wants kept
	Ready func() bool                    // whether this admin may act; nil: it may

	// CallLimit is how long a call to an executor may take, where people decide that while the service runs; nil: nobody does.
	CallLimit func() time.Duration

	Queue       int           // runs in memory that wait to be copied; 20,000
	Workers     int           // outputs that are copied at a time; 16
	Held        int64         // bytes of copies in memory that wait to be written; 64 MiB
	FlushEvery  time.Duration // how long a copy waits for others; 500 ms
	stopsWithin time.Duration // [StopsWithin], but in tests
	ObjectSize  int           // bytes of text from which on an object is written at once; 2 MiB
	LiveAfter   time.Duration // a run is followed from this age on; 20 s
	LiveEvery   time.Duration // how often; 3 s
	LiveRuns    int           // that one admin follows; 2,000
	LookEvery   time.Duration // how often the rows are looked at; 1 s
	TidyEvery   time.Duration // 1 min
	CallTime    time.Duration // of one call to an executor, unless CallLimit gives it more; 10 s
	Rest        time.Duration // of an executor that could not be asked, and of a store; it doubles, up to a minute; 2 s
	GiveUp      time.Duration // for which an executor is asked in vain before it has no output any more; 10 min
	GiveUpKeep  time.Duration // after the end of a run, when a store has taken nothing since, or its executor was not asked long enough; 24 h
	DraftAge    time.Duration // after which an object in which nothing is was left by a crash; 10 min
}

// Service copies outputs. A nil one copies none.
type Service struct {
	cfg     Config
	log     *slog.Logger
	queries *db.Queries
	metrics *metrics
	limiter *rate.Limiter
	enc     *zstd.Encoder
	dec     *zstd.Decoder

	queue    chan Ended
	copies   chan copied
	searches chan struct{} // those that go on
	pageRows int           // searchRows, but in tests
	begins   time.Duration // searchBegins, but in tests
	held     atomic.Int64  // bytes in copies

	mu        sync.Mutex
	busy      map[int64]bool // runs that are queued, copied or written
	resting   map[executor]*resting
	refusals  map[int64]*resting  // runs whose executor was asked in vain
	postponed map[int64]postponed // runs to be tried again
	givenUp   map[int64]givenUp   // runs whose output is lost
	over      map[int64]over      // runs of which nothing is to be copied any more
	taken     map[int64]bool      // runs whose output was pushed and is about to be written; true when they have ended and it is wanted
	trouble   trouble             // of the store

	following followed

	waiting  atomic.Int64 // runs that are to be copied, of all admins, as of the last count
	dropped  atomic.Int64 // runs that were not noted because too many wait, since the start
	lost     atomic.Int64 // runs of which nothing, or not the end, could be kept, since the start
	pushed   atomic.Int64 // outputs that executors pushed, since the start
	copied   atomic.Int64 // and those that were copied
	heldBack atomic.Int64 // objects of no use that the store does not let be deleted
	cut      atomic.Int64 // outputs of which only the beginning and the end are kept, since the start
	speed    speed        // of the copying
	kept     atomic.Pointer[db.SumOutputObjectsRow]

	started bool
	cancel  context.CancelFunc
	endWork context.CancelFunc
	loops   sync.WaitGroup // what makes copies
	writer  sync.WaitGroup
	tidied  tidying // used by the look's goroutine only
}

// resting is an executor that could not be asked, or a run of which it did not answer.
type resting struct {
	fails        int
	since, until time.Time
}

// refused notes that it was asked in vain, and for how long it rests.
func (r *resting) refused(now time.Time, rest time.Duration) {
	if r.fails == 0 {
		r.since = now
	}
	r.until = now.Add(rest)
	r.fails++
}

// postponed is a run that is tried again, and when (epoch ms).
type postponed struct {
	Ended
	at int64
}

// givenUp is a run whose output is lost, and why.
type givenUp struct {
	Ended
	reason string
}

// over is what is known of a run that is kept or wrote nothing.
type over struct {
	endedAt int64     // the end that this is about, epoch ms
	since   time.Time // when it became known
}

// trouble is what a store answered last, if that was an error.
type trouble struct {
	err   error
	since time.Time
	fails int
	until time.Time
}

// New makes a service that does nothing until [Service.Start].
func New(cfg Config) (*Service, error) {
	if cfg.Pool == nil || cfg.Logger == nil || cfg.Store == nil || cfg.Read == nil || cfg.Limits == nil || cfg.Node == nil || cfg.Alive == nil || cfg.Mine == nil {
		return nil, errors.New("archive: Pool, Logger, Store, Read, Limits, Node, Alive and Mine are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Leads == nil {
		cfg.Leads = func() bool { return true }
	}
	if cfg.Open == nil {
		cfg.Open = func() []int64 { return nil }
	}
	if cfg.Keeps == nil {
		cfg.Keeps = func(int64) jobspec.Keep { return jobspec.KeepInherit }
	}
	if cfg.CallLimit == nil {
		cfg.CallLimit = func() time.Duration { return 0 }
	}
	if cfg.Ready == nil {
		cfg.Ready = func() bool { return true }
	}
	cfg.Queue = cmp.Or(cfg.Queue, 20_000)
	cfg.Workers = cmp.Or(cfg.Workers, 16)
	cfg.Held = cmp.Or(cfg.Held, 64<<20)
	cfg.stopsWithin = cmp.Or(cfg.stopsWithin, StopsWithin)
	cfg.FlushEvery = cmp.Or(cfg.FlushEvery, 500*time.Millisecond)
	cfg.ObjectSize = cmp.Or(cfg.ObjectSize, 2<<20)
	cfg.LiveAfter = cmp.Or(cfg.LiveAfter, 20*time.Second)
	cfg.LiveEvery = cmp.Or(cfg.LiveEvery, 3*time.Second)
	cfg.LiveRuns = cmp.Or(cfg.LiveRuns, 2_000)
	cfg.LookEvery = cmp.Or(cfg.LookEvery, time.Second)
	cfg.TidyEvery = cmp.Or(cfg.TidyEvery, time.Minute)
	cfg.CallTime = cmp.Or(cfg.CallTime, 10*time.Second)
	cfg.Rest = cmp.Or(cfg.Rest, 2*time.Second)
	cfg.GiveUp = cmp.Or(cfg.GiveUp, 10*time.Minute)
	cfg.GiveUpKeep = cmp.Or(cfg.GiveUpKeep, 24*time.Hour)
	cfg.DraftAge = cmp.Or(cfg.DraftAge, 10*time.Minute)
	// One goroutine each: beside the engine, compression has no claim to more.
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(searchAhead), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return nil, err
	}
	s := &Service{
		cfg: cfg, log: cfg.Logger, queries: db.New(), enc: enc, dec: dec, limiter: rate.NewLimiter(rate.Inf, burst),
		queue: make(chan Ended, cfg.Queue), copies: make(chan copied, min(cfg.Queue, maxTogether)), searches: make(chan struct{}, searchesBeing), pageRows: searchRows, begins: searchBegins, busy: make(map[int64]bool), resting: make(map[executor]*resting), refusals: make(map[int64]*resting),
		postponed: make(map[int64]postponed), givenUp: make(map[int64]givenUp), over: make(map[int64]over), taken: make(map[int64]bool),
	}
	s.metrics = newMetrics(cfg.Registerer, s)
	s.following.runs = make(map[int64]*follow)
	s.setRate()
	return s, nil
}

// callTime is how long a call to an executor may take now.
func (s *Service) callTime() time.Duration { return max(s.cfg.CallTime, s.cfg.CallLimit()) }

// burst is what may be copied at once: an answer of an executor of XXL-JOB has up to 8 MiB.
const burst = 16 << 20

func (s *Service) setRate() {
	limit := rate.Inf
	if r := s.cfg.Limits().ByteRate; r > 0 {
		limit = rate.Limit(r)
	}
	if limit != s.limiter.Limit() {
		s.limiter.SetLimit(limit)
	}
}

// Start begins to copy. What an earlier start left is found in the rows.
func (s *Service) Start() {
	if s == nil || s.started {
		return
	}
	s.started = true
	work, endWork := context.WithCancel(context.Background())
	ctx, cancel := context.WithCancel(work)
	s.cancel, s.endWork = cancel, endWork
	for range s.cfg.Workers {
		s.loops.Go(func() { s.work(ctx) })
	}
	s.loops.Go(func() { s.lookLoop(ctx) })
	s.loops.Go(func() { s.followLoop(ctx) })
	s.loops.Go(func() { s.checkLoop(ctx) })
	s.writer.Go(func() { s.writeLoop(work, ctx.Done()) })
}

// StopsWithin is how long [Service.Stop] takes at most.
const StopsWithin = 5 * time.Second

// Stop copies nothing more, and writes what was copied. What is left are rows, which another admin or the next start finds.
func (s *Service) Stop(ctx context.Context) error {
	if s == nil || !s.started {
		return nil
	}
	s.started = false
	limited, cancel := context.WithTimeout(ctx, s.cfg.stopsWithin)
	defer cancel()
	s.cancel()
	defer context.AfterFunc(limited, s.endWork)()
	s.loops.Wait()
	s.writer.Wait()
	s.endWork()
	s.forgetAll()
	return nil
}

// forgetAll drops what is only in memory.
func (s *Service) forgetAll() {
	for len(s.queue) > 0 {
		<-s.queue
	}
	for len(s.copies) > 0 {
		<-s.copies
	}
	s.held.Store(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.busy)
	clear(s.refusals)
	clear(s.postponed)
	clear(s.givenUp)
	clear(s.over)
	clear(s.taken)
	s.following.drop()
}

// Wish is what is to be kept of the runs of a job that says this of itself; [jobspec.KeepNone] where nothing is kept.
func (s *Service) Wish(own jobspec.Keep, group int64) jobspec.Keep {
	if s == nil {
		return jobspec.KeepNone
	}
	return s.wish(own, group)
}

// RunBytes is how much is kept of a run.
func (s *Service) RunBytes() int { return s.cfg.Limits().RunBytes }

// Wants says whether the output of a run is kept: own is what its job says.
func (s *Service) Wants(own jobspec.Keep, group int64, failed bool) bool {
	return s != nil && s.wish(own, group).Wants(failed)
}

func (s *Service) wish(own jobspec.Keep, group int64) jobspec.Keep {
	return own.Or(s.cfg.Keeps(group), s.cfg.Limits().Keep)
}

// Full says that no more runs are noted because too many wait; n of them are counted as left out.
func (s *Service) Full(n int) bool {
	if s == nil {
		return true
	}
	most := s.cfg.Limits().MaxUncopy
	if most <= 0 || s.waiting.Load() < most {
		return false
	}
	s.dropped.Add(int64(n))
	s.metrics.runs.WithLabelValues(outcomeLeftOut).Add(float64(n))
	return true
}

// Offer has runs copied that were noted. It does not wait: those for which there is no room are found in their rows later, and so are
// those whose output was pushed, should it not have been written by then.
func (s *Service) Offer(ended []Ended) {
	if s == nil || len(ended) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range ended {
		if _, is := s.taken[r.ID]; is {
			s.taken[r.ID] = true
		}
		if r.Pushed || s.busy[r.ID] || len(s.busy) >= s.cfg.Queue {
			continue
		}
		select {
		case s.queue <- r:
			s.busy[r.ID] = true
		default:
		}
	}
}

// done lets runs be found again.
func (s *Service) done(ids ...int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.busy, id)
	}
}
