// Package backfill runs jobs for planned times that are over: those of a range of the job's schedule, or those of runs that failed. Its
// runs are ordinary runs of the job with their planned time, so limits, retries, children and alarms hold for them.
//
// The planned times of a backfill are rows from the moment it is made, so what was shown before is what is run, whatever becomes of the
// schedule. While its job is paused, or would lose a run if one more came, it waits. The admin that leads sends them in their order, at most so many at a time. One transaction inserts a run, moves the cursor of
// the backfill and notes the run in its row, guarded by the cursor: two admins that both believe to lead, and one that is killed anywhere,
// send each planned time once. A run counts when its last attempt has ended. Where no backfill is open, a look is one read of an index
// every [Config.IdleEvery], by the leader only.
package backfill

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// The states of a backfill. It is over when its ended_at is set: a stopped one still waits for the runs that it has sent.
const (
	Running = "running"
	Paused  = "paused"
	Stopped = "stopped" // by somebody
	Gone    = "gone"    // its job, or the job's group, is no more
	Done    = "done"
)

// The kinds.
const (
	OfSchedule = "schedule"
	OfFailed   = "failed"
)

// The states of a planned time, as punctual_backfill_run has them.
const (
	runWaiting   = 0
	runSent      = 1
	runSucceeded = 2
	runFailed    = 3
)

// What [Config.Send] says of a job that is no more, and of one that is to be asked again later.
var (
	ErrGone = errors.New("the job is gone")
	ErrHeld = errors.New("the job is paused, or would lose one of its runs by this one")
)

// Request asks for the runs of one planned time.
type Request struct {
	Backfill, Job int64
	Planned       time.Time
	Param         *string // nil: the job's
	Under         int     // how many planned times of the backfill are under way
	User          string
	// Within is done in the transaction that inserts the runs, with their ids.
	Within func(ctx context.Context, tx *sql.Tx, ids []int64) error
}

// Config is what a [Service] is made of. Pool, Logger and Send are required.
type Config struct {
	Pool   *db.Pool
	Logger *slog.Logger
	// Send makes runs and sends them. An error other than [ErrGone] is tried again; [ErrHeld] is none.
	Send func(ctx context.Context, r Request) error

	Now   func() time.Time // time.Now when nil
	Leads func() bool      // nil: always
	// Changes is told of changed runs; nil: runs are looked at every Every only.
	Changes func() (<-chan struct{}, func())

	Every     time.Duration // how often open backfills are looked at; 1 s
	IdleEvery time.Duration // how often it is looked for one where there is none; 5 s
	KeepFor   time.Duration // how long those that are over are kept; 90 days
}

// StopsWithin is how long [Service.Stop] may take.
const StopsWithin = time.Second

// Service looks after backfills between its Start and its Stop.
type Service struct {
	cfg     Config
	queries *db.Queries
	wake    chan struct{} // capacity 1: there may be something new

	mu     sync.Mutex
	cancel context.CancelFunc // nil while it is stopped
	ended  chan struct{}      // closed when the loop of this start has ended
}

// New makes a service that does nothing until [Service.Start].
func New(cfg Config) (*Service, error) {
	if cfg.Pool == nil || cfg.Logger == nil || cfg.Send == nil {
		return nil, errors.New("backfill: Pool, Logger and Send are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Leads == nil {
		cfg.Leads = func() bool { return true }
	}
	if cfg.Changes == nil {
		cfg.Changes = func() (<-chan struct{}, func()) { return nil, func() {} }
	}
	cfg.Every = cmp.Or(cfg.Every, time.Second)
	cfg.IdleEvery = cmp.Or(cfg.IdleEvery, 5*time.Second)
	cfg.KeepFor = cmp.Or(cfg.KeepFor, 90*24*time.Hour)
	return &Service{cfg: cfg, queries: db.New(), wake: make(chan struct{}, 1)}, nil
}

// Start begins to look after backfills, until [Service.Stop]. Starting twice is the same as once.
func (s *Service) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	s.cancel, s.ended = cancel, ended
	go func() {
		defer close(ended)
		s.loop(ctx)
	}()
}

// Stop ends the looking. It takes [StopsWithin] at most, and less when ctx ends. It may be called more than once.
func (s *Service) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel == nil {
		return nil
	}
	s.cancel()
	s.cancel = nil
	ctx, cancel := context.WithTimeout(ctx, StopsWithin)
	defer cancel()
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop the backfills: %w", ctx.Err())
	}
}

// Wake has the service look at once: there is a new backfill, or one goes on.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Service) loop(ctx context.Context) {
	changes, cancel := s.cfg.Changes()
	defer cancel()
	var cleaned time.Time
	for {
		open, err := 0, error(nil)
		if s.cfg.Leads() {
			if now := s.cfg.Now(); now.Sub(cleaned) > time.Hour {
				cleaned = now
				err = s.clean(ctx)
			}
			var failed error
			open, failed = s.Round(ctx)
			err = errors.Join(err, failed)
		}
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.Warn("look after backfills", "error", err)
		}
		wait, told := s.cfg.IdleEvery, (<-chan struct{})(nil)
		if open > 0 {
			wait, told = s.cfg.Every, changes
		}
		timer := time.NewTimer(wait)
		select {
		case <-told: // runs of other jobs too, of which there may be many a second
			_ = upkeep.Rest(ctx, atMostEvery)
		case <-s.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// atMostEvery is how soon after a change open backfills are looked at.
const atMostEvery = 100 * time.Millisecond

// page is how many rows are read at a time.
const page = 100

// Round looks at every open backfill once and says how many are still open. One that has trouble does not keep up the others.
func (s *Service) Round(ctx context.Context) (open int, err error) {
	for after := int64(0); ; {
		rows, failed := s.queries.ListOpenBackfills(ctx, s.cfg.Pool, db.ListOpenBackfillsParams{AfterID: after, Limit: page})
		if failed != nil {
			return open, errors.Join(err, fmt.Errorf("read backfills: %w", db.Error(failed)))
		}
		for _, b := range rows {
			after = b.ID
			over, failed := s.look(ctx, b)
			if failed != nil {
				err = errors.Join(err, fmt.Errorf("backfill %d: %w", b.ID, failed))
			}
			if !over {
				open++
			}
		}
		if len(rows) < page {
			return open, err
		}
	}
}

// look settles the runs of a backfill that have ended, sends what may be sent, and ends it when nothing is left.
func (s *Service) look(ctx context.Context, b db.Backfill) (over bool, err error) {
	sent, err := s.queries.ListBackfillRuns(ctx, s.cfg.Pool, db.ListBackfillRunsParams{BackfillID: b.ID, State: runSent, Limit: 10 * MostAtOnce})
	if err != nil {
		return false, db.Error(err)
	}
	under := int64(0)
	for _, r := range sent {
		open, err := s.settle(ctx, r)
		if err != nil {
			return false, err
		}
		if open {
			under++
		}
	}
	for b.State == Running && b.Sent < b.Total && under < b.AtOnce {
		switch err := s.send(ctx, b, int(under)); {
		case errors.Is(err, errMoved), errors.Is(err, ErrHeld): // somebody paused it or its job, another admin leads, or there is no room
			return false, nil
		case errors.Is(err, ErrGone):
			if _, err := s.queries.SetBackfillState(ctx, s.cfg.Pool, db.SetBackfillStateParams{ID: b.ID, OldState: Running, NewState: Gone}); err != nil {
				return false, db.Error(err)
			}
			b.State = Gone
		case err != nil:
			return false, err
		default:
			b.Sent++
			under++
		}
	}
	ends := b.State
	switch {
	case under > 0:
		return false, nil
	case b.Sent == b.Total && (b.State == Running || b.State == Paused):
		ends = Done
	case b.State == Running:
		return false, nil
	case b.State == Paused:
		// Nobody resumes, or stops, what belongs to a job that is no more.
		jobs, err := s.queries.ListJobTitles(ctx, s.cfg.Pool, []int64{b.JobID})
		if err != nil || len(jobs) > 0 {
			return false, db.Error(err)
		}
		ends = Gone
	}
	n, err := s.queries.EndBackfill(ctx, s.cfg.Pool, db.EndBackfillParams{ID: b.ID, OldState: b.State, NewState: ends, EndedAt: s.cfg.Now().UnixMilli()})
	return n > 0, db.Error(err)
}

// errMoved means that the backfill is no longer as it was read.
var errMoved = errors.New("the backfill was moved")

// send sends the next planned time.
func (s *Service) send(ctx context.Context, b db.Backfill, under int) error {
	r, err := s.queries.GetBackfillRun(ctx, s.cfg.Pool, db.GetBackfillRunParams{BackfillID: b.ID, No: b.Sent})
	if err != nil {
		return fmt.Errorf("read planned time %d: %w", b.Sent, db.Error(err))
	}
	request := Request{Backfill: b.ID, Job: b.JobID, Planned: time.UnixMilli(r.PlannedFor), User: b.MadeBy, Under: under}
	if r.LikeLogID != 0 {
		like, err := s.queries.GetRun(ctx, s.cfg.Pool, r.LikeLogID)
		switch err = db.Error(err); {
		case err == nil:
			param := string(like.ExecutorParam)
			request.Param = &param
		case !errors.Is(err, db.ErrNotFound): // of one that is gone by now the job's parameter is the next best
			return fmt.Errorf("read run %d: %w", r.LikeLogID, err)
		}
	}
	request.Within = func(ctx context.Context, tx *sql.Tx, ids []int64) error {
		n, err := s.queries.MoveBackfill(ctx, tx, db.MoveBackfillParams{ID: b.ID, No: b.Sent, State: Running})
		if err != nil {
			return err
		}
		if n == 0 {
			return errMoved
		}
		if n, err = s.queries.SendBackfillRun(ctx, tx, db.SendBackfillRunParams{BackfillID: b.ID, No: r.No, LogIds: db.Text(db.IDList(ids))}); err == nil && n == 0 {
			err = errMoved
		}
		return err
	}
	return s.cfg.Send(ctx, request)
}

// settle looks what became of a planned time that was sent, and counts it when it is over.
func (s *Service) settle(ctx context.Context, r db.BackfillRun) (open bool, err error) {
	ids, failed, moved := db.ReadIDs(string(r.LogIds)), false, false
	for i := 0; i < len(ids); i++ {
		for { // from an attempt to the one that came in its place
			run, err := s.queries.GetRun(ctx, s.cfg.Pool, ids[i])
			if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
				failed = true // its record was deleted: nobody can say that it succeeded
				break
			} else if err != nil {
				return false, fmt.Errorf("read run %d: %w", ids[i], err)
			}
			how, next := judge(&run)
			if how == again {
				ids[i], moved = next[0], true
				ids = append(ids, next[1:]...) // of a broadcast that nobody was there for
				continue
			}
			open, failed = open || how == goesOn, failed || how == bad
			break
		}
	}
	if open {
		if moved {
			_, err = s.queries.FollowBackfillRun(ctx, s.cfg.Pool, db.FollowBackfillRunParams{BackfillID: r.BackfillID, No: r.No, LogIds: db.Text(db.IDList(ids))})
		}
		return true, db.Error(err)
	}
	state, counts := int64(runSucceeded), db.CountBackfilledParams{ID: r.BackfillID, Succeeded: 1}
	if failed {
		state, counts = runFailed, db.CountBackfilledParams{ID: r.BackfillID, Failed: 1}
	}
	return false, s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		n, err := s.queries.SettleBackfillRun(ctx, tx, db.SettleBackfillRunParams{BackfillID: r.BackfillID, No: r.No, State: state})
		if err != nil || n == 0 {
			return err
		}
		_, err = s.queries.CountBackfilled(ctx, tx, counts)
		return err
	})
}

// verdict is how an attempt stands.
type verdict int

const (
	goesOn verdict = iota
	good
	bad
	again // another attempt came in its place
)

// judge says how an attempt stands, and which came in its place: one, or those for each executor that there was by then.
func judge(r *db.Run) (verdict, []int64) {
	events := event.Parse(string(r.Events))
	state := runstate.Of(r.Outcome, r.TriggerCode, r.HandleCode, string(r.HandleMsg))
	switch {
	case state == runstate.Success, r.Outcome == event.Cancelled: // a retry that was not needed
		return good, nil
	case state.Open():
		return goesOn, nil
	}
	var next []int64
	for _, e := range events {
		if e.Key == event.Retry && e.Number(1) > r.ID {
			next = append(next, e.Number(1))
		}
	}
	if len(next) > 0 {
		return again, next
	}
	return bad, nil
}

// clean deletes backfills that have been over for long.
func (s *Service) clean(ctx context.Context) error {
	before := s.cfg.Now().Add(-s.cfg.KeepFor).UnixMilli()
	for {
		id, err := s.queries.FirstBackfillEndedBefore(ctx, s.cfg.Pool, before)
		if err != nil || id == 0 {
			return db.Error(err)
		}
		err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
			if _, err := s.queries.DeleteBackfillRuns(ctx, tx, id); err != nil {
				return err
			}
			_, err := s.queries.DeleteBackfill(ctx, tx, id)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete backfill %d: %w", id, err)
		}
	}
}
