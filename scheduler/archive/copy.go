package archive

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

// copied is an output on its way to the store.
type copied struct {
	Run
	endedAt int64
	goesOn  bool // the run has not ended
	pushed  bool // by the executor, whether the run's result is here already or not
	again   bool // it was found in the rows
	excerpt *excerpt
	written func(ok bool) // of a run that goes on; else nil
}

// Why there is no copy, or only a part, as rows have it.
const (
	ReasonExecutor = "executor" // it could not be asked any more
	ReasonMissing  = "missing"  // it had no output of the run
	ReasonStore    = "store"    // the store took nothing
)

// readTime is for how long an executor answers of one output before others have their turn: one that is slow, or whose output has no end,
// must not keep them from it. That one rests then, and is asked again.
const readTime = 5 * time.Minute

var errLong = errors.New("the executor has not answered with all of the output in time")

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

// copyEnded copies one output. Of one that it could not copy a row says when it is tried again.
func (s *Service) copyEnded(ctx context.Context, r Ended) {
	now := s.cfg.Now()
	if until := s.restsUntil(r.executor(), now); !until.IsZero() {
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
		s.answered(r.executor())
		s.loses(r, ReasonMissing)
	case err != nil:
		s.following.put(r.ID, f)
		s.log.Debug("copy the output of a run", "log_id", r.ID, "executor", r.Address, "error", err)
		until := s.refused(r.executor(), now)
		s.refusedOf(r.ID, now, until)
		s.again(r, until, ReasonExecutor)
	default:
		s.answered(r.executor())
		s.hand(ctx, copied{Run: r.Run, endedAt: r.At, again: r.again, excerpt: f.excerpt})
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
	var took time.Duration // without the waits for the limit of copying
	for total := 0; total < most; {
		if took > readTime {
			return errLong
		}
		began := s.cfg.Now()
		call, cancel := context.WithTimeout(ctx, s.callTime())
		var missing, end bool
		var read int
		err := s.cfg.Read(call, r, f.next, func(piece wire.LogResult) {
			if missing, end = piece.Missing(), piece.IsEnd; missing || piece.ToLineNum < f.next || piece.LogContent == "" {
				return
			}
			addText(f.excerpt, piece.LogContent)
			f.next, read = piece.ToLineNum+1, len(piece.LogContent)
		})
		cancel()
		took += s.cfg.Now().Sub(began)
		switch {
		case err != nil:
			return err
		case missing && f.next == 1:
			return errMissing
		case missing, read == 0: // it was there before and is cleared, or nothing more is
			return nil
		}
		total += read
		s.metrics.bytes.Add(float64(read))
		s.speed.add(read)
		if err := s.limiter.WaitN(ctx, min(read, burst)); err != nil {
			return err
		}
		if end {
			return nil
		}
	}
	return nil
}

// again has a run tried later, or given up when it was for too long.
func (s *Service) again(r Ended, at time.Time, reason string) {
	ended := time.UnixMilli(r.At)
	tooLong := at.Sub(ended) > s.cfg.GiveUpKeep
	s.mu.Lock()
	defer s.mu.Unlock()
	if reason == ReasonExecutor { // it has its time although it is asked late, because the store was away, this admin was, or many wait
		for _, in := range []*resting{s.resting[r.executor()], s.refusals[r.ID]} {
			tooLong = tooLong || in != nil && at.Sub(later(in.since, ended)) > s.cfg.GiveUp
		}
	}
	if tooLong {
		s.givenUp[r.ID] = givenUp{r, reason}
		return
	}
	s.postponed[r.ID] = postponed{r, at.UnixMilli()}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// loses notes that the output of a run will not be copied.
func (s *Service) loses(r Ended, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.givenUp[r.ID] = givenUp{r, reason}
}

func (s *Service) restsUntil(of executor, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.resting[of]; r != nil && now.Before(r.until) {
		return r.until
	}
	return time.Time{}
}

// maxRest is how long an executor or a store rests at most.
const maxRest = time.Minute

func (s *Service) refused(of executor, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.resting[of]
	if r == nil {
		if len(s.resting) > 10_000 { // of executors that are long gone
			clear(s.resting)
		}
		r = new(resting)
		s.resting[of] = r
	}
	if now.Before(r.until) { // another worker noted it
		return r.until
	}
	r.refused(now, min(s.cfg.Rest<<min(r.fails, 10), maxRest))
	return r.until
}

// refusedOf notes of a run that its executor did not answer, and until when it rests: it may answer of others.
func (s *Service) refusedOf(id int64, asked, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.refusals[id]
	if r == nil {
		if len(s.refusals) >= s.cfg.Queue { // its executor counts, and the end of the run
			return
		}
		r = new(resting)
		s.refusals[id] = r
	}
	r.refused(asked, until.Sub(asked))
}

// forgetRefusals drops those of runs that nobody asked for any more, as when they are copied.
func (s *Service) forgetRefusals() {
	now := s.cfg.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, r := range s.refusals {
		if !s.busy[id] && now.Sub(r.until) > s.cfg.GiveUp {
			delete(s.refusals, id)
		}
	}
}

func (s *Service) answered(of executor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.resting, of)
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
	node, now := s.cfg.Node(), s.cfg.Now().UnixMilli()
	s.mu.Lock()
	var late []db.LateOutput
	for id, r := range s.postponed {
		late = append(late, db.LateOutput{LogID: id, JobGroup: r.Group, JobID: r.Job, Node: node, EndedAt: r.At, NextAt: r.at})
	}
	var lost []db.LostOutput
	for id, r := range s.givenUp {
		lost = append(lost, db.LostOutput{LogID: id, JobGroup: r.Group, JobID: r.Job, Node: node, EndedAt: r.At, KeptAt: now, Reason: r.reason})
	}
	s.mu.Unlock()
	slices.SortFunc(late, func(a, b db.LateOutput) int { return cmp.Compare(a.LogID, b.LogID) })
	slices.SortFunc(lost, func(a, b db.LostOutput) int { return cmp.Compare(a.LogID, b.LogID) })
	for part := range slices.Chunk(late, db.MaxBatch) {
		if err := db.PutOffOutputs(ctx, s.cfg.Pool, part); err != nil {
			return err
		}
		s.mu.Lock()
		for i := range part {
			delete(s.postponed, part[i].LogID)
			delete(s.busy, part[i].LogID)
		}
		s.mu.Unlock()
	}
	for part := range slices.Chunk(lost, db.MaxBatch) {
		if err := db.LoseOutputs(ctx, s.cfg.Pool, part); err != nil {
			return err
		}
		s.mu.Lock()
		for i := range part {
			s.metrics.runs.WithLabelValues(part[i].Reason).Inc()
			delete(s.givenUp, part[i].LogID)
			delete(s.busy, part[i].LogID)
			s.following.take(part[i].LogID)
		}
		s.mu.Unlock()
		s.lost.Add(int64(len(part)))
	}
	return nil
}
