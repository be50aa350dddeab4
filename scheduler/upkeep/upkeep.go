// Package upkeep looks after what runs leave in the database: the daily counters, the runs that are too old or that somebody
// wants cleared, the history of the schedules. None of it is in the way of a run; a stop may leave any of it in the middle,
// and the next round goes on where rows are left.
//
//	engine ── [Service.Count] ──▶ counters in memory ── [Service.Flush], every few seconds ──▶ xxl_job_log_report, punctual_run_hour
//	maintenance (maintain.go), on one of the admins:  runs too old ▪ clearings ▪ changed schedules ▪ recounts ▪ old sessions
//
// Every admin counts what it commits itself (counts.go). The maintenance is done by the one of them that leads, in pages and
// with pauses, so that it has a small share of the database (pages.go).
package upkeep

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-job/punctual/db"
)

// Config is what a [Service] is made of. Pool and Logger are required.
type Config struct {
	Pool   *db.Pool
	Logger *slog.Logger

	// Now is the time the installation goes by; time.Now when nil.
	Now func() time.Time
	// Leads says whether this admin is the one that does the maintenance at this moment; nil: it always is.
	Leads func() bool
	// Changed is told when runs have been deleted, for pages that show them; may be nil.
	Changed func()
	// Counted is told of what [Service.Count] counts; may be nil.
	Counted func([]Change)
	// Schedules keeps the history of the jobs' schedules; without a zone of their own they are in UTC when nil.
	Schedules *db.Schedules

	Ahead         time.Duration // how far ahead runs are made, and so by how much they may be out of order; 2 s
	ReportEvery   time.Duration // how often the counters are written; 3 s
	RetentionDays int           // for how many days runs are kept; 30, below 0: for ever
	// Retention says for how many days now, where people may change it; nil: as RetentionDays has it. An error keeps every run
	// until it is gone: nothing is deleted on a guess.
	Retention func(ctx context.Context) (Retention, error)
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Leads == nil {
		c.Leads = func() bool { return true }
	}
	if c.Changed == nil {
		c.Changed = func() {}
	}
	if c.Counted == nil {
		c.Counted = func([]Change) {}
	}
	if c.Schedules == nil {
		c.Schedules = db.NewSchedules(c.Pool, time.UTC, c.Now)
	}
	c.Ahead = cmp.Or(c.Ahead, 2*time.Second)
	c.ReportEvery = cmp.Or(c.ReportEvery, 3*time.Second)
	if c.Retention == nil {
		days := max(0, cmp.Or(c.RetentionDays, DefaultRetentionDays))
		c.Retention = func(context.Context) (Retention, error) { return Retention{Days: days}, nil }
	}
	return c
}

// Service does the upkeep between its Start and its Stop. What people ask of it, clearings and figures, it does at any time.
type Service struct {
	cfg      Config
	log      *slog.Logger
	queries  *db.Queries
	counts   counts
	retained atomic.Value                                     // string: for which day and decisions the old runs have been deleted
	looksAt  atomic.Int64                                     // when schedules are looked at again, epoch ms
	rest     func(ctx context.Context, d time.Duration) error // [Rest]; tests count meanwhile

	mu     sync.Mutex
	cancel context.CancelFunc // nil while it is stopped
	loops  *sync.WaitGroup    // of this start
	doing  sync.Map           // string: the pieces of maintenance that are under way
}

// New makes a service that does nothing by itself until [Service.Start].
func New(cfg Config) (*Service, error) {
	if cfg.Pool == nil || cfg.Logger == nil {
		return nil, errors.New("upkeep: Pool and Logger are required")
	}
	if cfg.RetentionDays > 0 && cfg.RetentionDays < MinRetentionDays {
		return nil, fmt.Errorf("upkeep: RetentionDays is %d: %w", cfg.RetentionDays, ErrRetention)
	}
	cfg = cfg.withDefaults()
	return &Service{cfg: cfg, log: cfg.Logger, queries: db.New(), rest: Rest, counts: counts{hours: make(map[hourOfGroup]tally), long: make(map[dayOfJob]db.LongRuns)}}, nil
}

// Start begins to write the counters and to maintain, until [Service.Stop]. Starting twice is the same as once.
func (s *Service) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.loops = cancel, new(sync.WaitGroup)
	s.loops.Go(func() { s.countLoop(ctx) })
	s.loops.Go(func() { s.maintain(ctx) })
}

// StopsWithin is how long [Service.Stop] may take where nobody says: half of it for what is under way, the rest for the last counters.
const StopsWithin = time.Second

// Stop ends what is under way and writes the counters once more. It takes until the deadline of ctx at most, [StopsWithin] where that has
// none, and less when ctx ends: what does not end by then is left to itself, and counters that cannot be written are left to the next
// recount. It may be called more than once, and does nothing before a start.
func (s *Service) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel == nil {
		return nil
	}
	s.cancel()
	s.cancel = nil
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, StopsWithin)
		defer cancel()
	}
	if !ended(ctx, s.loops) {
		s.log.Error("stopped without waiting for maintenance that does not end", "work", s.underWay())
	}
	if err := s.Flush(ctx); err != nil {
		s.log.Error("stopped without having written the last of the daily counters; a recount finds it", "error", err)
		return fmt.Errorf("write the daily counters: %w", err)
	}
	return nil
}

// ended waits for the loops for half of the time there is, and reports whether they have ended.
func ended(ctx context.Context, loops *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() {
		loops.Wait()
		close(done)
	}()
	limit := time.NewTimer(StopsWithin / 2)
	defer limit.Stop()
	select {
	case <-done:
		return true
	case <-limit.C:
	case <-ctx.Done():
	}
	return false
}

// do does a piece of maintenance, which a stop can name while it is under way.
func (s *Service) do(ctx context.Context, what string, do func(context.Context) error) {
	s.doing.Store(what, true)
	defer s.doing.Delete(what)
	if err := do(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errNotLeader) {
		s.log.Warn(what, "error", err)
	}
}

func (s *Service) underWay() string {
	var list []string
	s.doing.Range(func(what, _ any) bool {
		list = append(list, what.(string))
		return true
	})
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// wall is an instant as the DATETIME columns hold it.
func (s *Service) wall(t time.Time) time.Time { return s.cfg.Pool.Wall(t) }

func nullTime(t time.Time) sql.NullTime { return sql.NullTime{Time: t, Valid: true} }

// maker is the name of whoever asked, as far as the columns hold it.
func maker(name string) string { return strings.ToValidUTF8(name[:min(len(name), 60)], "") }
