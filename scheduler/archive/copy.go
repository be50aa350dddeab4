package archive

import (
	"context"
	"errors"
	"time"

	"github.com/punctual-job/punctual/db"
)

// copied is an output on its way to the store.
type copied struct {
	Run
	endedAt int64
	goesOn  bool // the run has not ended
	pushed  bool // by the executor, whether the run's result is here already or not
	excerpt *excerpt
	written func(ok bool) // of a run that goes on; else nil
}

// Why there is no copy, or only a part, as rows have it.
const (
	ReasonExecutor = "executor" // it could not be asked any more
	ReasonMissing  = "missing"  // it had no output of the run
	ReasonStore    = "store"    // the store took nothing
)

var errMissing = errors.New("the executor has no output of the run")

// readRounds times the bytes that are kept of a run is what is read of it at most.
const readRounds = 256

// work copies the outputs of runs that have ended.
func (s *Service) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-s.queue:
			s.copyEnded(ctx, r)
		}
	}
}

// copyEnded copies one output. Of one that it could not copy the row says when it is tried again.
func (s *Service) copyEnded(ctx context.Context, r Ended) {
	now := s.cfg.Now()
	if until := s.restsUntil(r.Address, now); !until.IsZero() {
		s.again(r, until, ReasonExecutor)
		return
	}
	if until := s.storeRestsUntil(now); !until.IsZero() {
		s.again(r, until, ReasonStore)
		return
	}
	f := s.following.take(r.ID)
	if f == nil {
		f = &follow{excerpt: &excerpt{Budget: s.cfg.Limits().RunBytes}, next: 1}
	}
	err := s.read(ctx, r.Run, f)
	switch {
	case ctx.Err() != nil:
		s.done(r.ID)
	case errors.Is(err, errMissing):
		s.answered(r.Address)
		s.loses(r.ID, ReasonMissing)
	case err != nil:
		s.following.put(r.ID, f)
		s.log.Debug("copy the output of a run", "log_id", r.ID, "executor", r.Address, "error", err)
		s.again(r, s.refused(r.Address, now), ReasonExecutor)
	default:
		s.answered(r.Address)
		s.hand(ctx, copied{Run: r.Run, endedAt: r.At, excerpt: f.excerpt})
	}
}

// hand gives a copy to the writer, and waits while too much is held.
func (s *Service) hand(ctx context.Context, c copied) {
	for s.held.Load() > s.cfg.Held {
		select {
		case <-ctx.Done():
			s.done(c.ID)
			return
		case <-time.After(s.cfg.FlushEvery / 10):
		}
	}
	s.held.Add(int64(c.excerpt.Size()))
	select {
	case s.copies <- c:
	case <-ctx.Done():
		s.held.Add(-int64(c.excerpt.Size()))
		s.done(c.ID)
	}
}

// read reads what there is of an output from a line on, page by page.
func (s *Service) read(ctx context.Context, r Run, f *follow) error {
	most := readRounds * max(f.excerpt.Budget, 64<<10)
	for total := 0; total < most; {
		call, cancel := context.WithTimeout(ctx, s.cfg.CallTime)
		piece, err := s.cfg.Read(call, r, f.next)
		cancel()
		if err != nil {
			return err
		}
		if piece.Missing() {
			if f.next > 1 {
				return nil // it was there before, and is cleared
			}
			return errMissing
		}
		if piece.ToLineNum < f.next || piece.LogContent == "" {
			return nil
		}
		addText(f.excerpt, piece.LogContent)
		f.next = piece.ToLineNum + 1
		total += len(piece.LogContent)
		s.metrics.bytes.Add(float64(len(piece.LogContent)))
		s.speed.add(len(piece.LogContent))
		if err := s.limiter.WaitN(ctx, min(len(piece.LogContent), burst)); err != nil {
			return err
		}
		if piece.IsEnd {
			return nil
		}
	}
	return nil
}

// again has a run tried later, or given up when it was for too long.
func (s *Service) again(r Ended, at time.Time, reason string) {
	limit := s.cfg.GiveUp
	if reason == ReasonStore {
		limit = s.cfg.GiveUpKeep
	}
	if at.Sub(time.UnixMilli(r.At)) > limit {
		s.loses(r.ID, reason)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.postponed[r.ID] = at.UnixMilli()
}

// loses notes that the output of a run will not be copied.
func (s *Service) loses(id int64, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.givenUp[id] = reason
}

func (s *Service) restsUntil(address string, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.resting[address]; r != nil && now.Before(r.until) {
		return r.until
	}
	return time.Time{}
}

// maxRest is how long an executor or a store rests at most.
const maxRest = time.Minute

func (s *Service) refused(address string, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.resting[address]
	if r == nil {
		if len(s.resting) > 10_000 { // of executors that are long gone
			clear(s.resting)
		}
		r = new(resting)
		s.resting[address] = r
	}
	if now.Before(r.until) { // another worker noted it
		return r.until
	}
	r.until = now.Add(min(s.cfg.Rest<<min(r.fails, 10), maxRest))
	r.fails++
	return r.until
}

func (s *Service) answered(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.resting, address)
}

func (s *Service) storeRestsUntil(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.trouble.until) {
		return s.trouble.until
	}
	return time.Time{}
}

// flushNotes writes what became of runs that were not copied.
func (s *Service) flushNotes(ctx context.Context) error {
	s.mu.Lock()
	later, lost := make(map[int64][]int64), make(map[string][]int64)
	for id, at := range s.postponed {
		later[at] = append(later[at], id)
	}
	for id, reason := range s.givenUp {
		lost[reason] = append(lost[reason], id)
	}
	s.mu.Unlock()
	node := s.cfg.Node()
	for at, ids := range later {
		for part := range chunks(ids) {
			if _, err := s.queries.PostponeOutputs(ctx, s.cfg.Pool, db.PostponeOutputsParams{NextAt: at, Node: node, Ids: part}); err != nil {
				return err
			}
			s.mu.Lock()
			for _, id := range part {
				delete(s.postponed, id)
				delete(s.busy, id)
			}
			s.mu.Unlock()
		}
	}
	for reason, ids := range lost {
		for part := range chunks(ids) {
			n, err := s.queries.GiveUpOutputs(ctx, s.cfg.Pool, db.GiveUpOutputsParams{Reason: reason, KeptAt: s.cfg.Now().UnixMilli(), Node: node, Ids: part})
			if err != nil {
				return err
			}
			s.metrics.runs.WithLabelValues(reason).Add(float64(n))
			s.lost.Add(n)
			s.mu.Lock()
			for _, id := range part {
				delete(s.givenUp, id)
				delete(s.busy, id)
				s.following.take(id)
			}
			s.mu.Unlock()
		}
	}
	return nil
}
