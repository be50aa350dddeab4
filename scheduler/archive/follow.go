package archive

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/tick"
)

// follow is what is known of the output of a run that goes on.
type follow struct {
	excerpt *excerpt
	next    int  // the line to ask for
	dirty   bool // more was read than was written; guarded by followed.mu
}

// followed are the runs that this admin follows.
type followed struct {
	mu   sync.Mutex
	runs map[int64]*follow
	left int // long runs that are not followed because there are too many
}

// maxFollowed is how many bytes of their outputs are held; the others are read from the store when there is more of them.
const maxFollowed = 64 << 20

// take gives what is held of a run to whoever copies the end of it.
func (f *followed) take(id int64) *follow {
	f.mu.Lock()
	defer f.mu.Unlock()
	held := f.runs[id]
	delete(f.runs, id)
	return held
}

func (f *followed) put(id int64, held *follow) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if held.next > 1 {
		f.runs[id] = held
	}
}

func (f *followed) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.runs)
}

// shrink drops what is held of runs that are not followed any more, and of others when it is too much.
func (f *followed) shrink(open map[int64]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	size := 0
	for id, held := range f.runs {
		if size += held.excerpt.Size(); !open[id] || size > maxFollowed && !held.dirty {
			size -= held.excerpt.Size()
			delete(f.runs, id)
		}
	}
}

func (s *Service) followLoop(ctx context.Context) {
	for range tick.Every(ctx, s.cfg.LiveEvery) {
		if !s.cfg.Ready() {
			continue
		}
		if err := s.followOnce(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("follow the outputs of long runs", "error", err)
		}
	}
}

// followOnce copies what long runs have written since the last time.
func (s *Service) followOnce(ctx context.Context) error {
	now := s.cfg.Now()
	var runs []Run
	open := make(map[int64]bool)
	left := 0
	mine := s.cfg.Mine()
	for ids := range slices.Chunk(s.cfg.Open(), db.MaxBatch) {
		rows, err := s.queries.ListLongRuns(ctx, s.cfg.Pool, db.ListLongRunsParams{Ids: ids, SentBefore: now.Add(-s.cfg.LiveAfter).UnixMilli()})
		if err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			if r.ExecutorAddress == "" || !mine(r.ID) || s.wish(jobspec.Keep(r.KeepOutput), r.JobGroup) == jobspec.KeepNone {
				continue
			}
			open[r.ID] = true
			if len(runs) >= s.cfg.LiveRuns {
				left++
				continue
			}
			runs = append(runs, Run{ID: r.ID, Group: r.JobGroup, Job: r.JobID, Address: string(r.ExecutorAddress), LogDate: s.logDate(r.PlannedAt, r.TriggerTime)})
		}
	}
	s.following.shrink(s.stillWanted(open))
	s.following.mu.Lock()
	s.following.left = left
	s.following.mu.Unlock()
	if !s.storeRestsUntil(now).IsZero() {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, max(s.cfg.LiveEvery, s.callTime()))
	defer cancel()
	var calls errgroup.Group
	calls.SetLimit(max(1, s.cfg.Workers/2))
	for _, r := range runs {
		if !s.restsUntil(r.executor(), now).IsZero() {
			continue
		}
		calls.Go(func() error {
			s.followRun(limited, r)
			return nil
		})
	}
	return calls.Wait()
}

// stillWanted adds the runs whose end is being copied: they go on from what is held.
func (s *Service) stillWanted(open map[int64]bool) map[int64]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.busy {
		open[id] = true
	}
	return open
}

func (s *Service) logDate(planned int64, trigger sql.NullTime) int64 {
	if planned == 0 && trigger.Valid { // a row of upstream's
		return s.cfg.Pool.FromWall(trigger.Time).UnixMilli()
	}
	return planned
}

// followRun copies what one run has written since the last time.
func (s *Service) followRun(ctx context.Context, r Run) {
	s.mu.Lock()
	busy := s.busy[r.ID]
	if !busy {
		s.busy[r.ID] = true
	}
	s.mu.Unlock()
	if busy { // its end is being copied, or what was copied last is still being written
		return
	}
	f := s.following.take(r.ID)
	if f == nil {
		var err error
		if f, err = s.resume(ctx, r.ID); err != nil {
			s.done(r.ID)
			return
		}
	}
	before, dirty := f.next, f.dirty
	err := s.read(ctx, r, f)
	f.dirty = dirty || f.next != before
	snapshot := *f.excerpt
	snapshot.Head, snapshot.Tail = slices.Clone(f.excerpt.Head), slices.Clone(f.excerpt.Tail)
	s.following.put(r.ID, f)
	switch {
	case err == nil || errors.Is(err, errMissing): // one that waits in its executor's queue has written nothing yet
		s.answered(r.executor())
	case ctx.Err() == nil:
		s.refused(r.executor(), s.cfg.Now())
	}
	if f.next == before && !dirty {
		s.done(r.ID)
		return
	}
	s.hand(ctx, copied{Run: r, goesOn: true, excerpt: &snapshot, written: func(ok bool) {
		if ok {
			s.following.clean(r.ID)
		}
	}})
}

// clean notes that all that is held of a run is in the store.
func (f *followed) clean(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if held := f.runs[id]; held != nil {
		held.dirty = false
	}
}

// resume is what was kept of a run before, by this admin or another.
func (s *Service) resume(ctx context.Context, id int64) (*follow, error) {
	budget := s.cfg.Limits().RunBytes
	row, text, err := s.load(ctx, id)
	if err != nil || row == nil || row.State != db.OutputLive {
		return &follow{excerpt: &excerpt{Budget: budget}, next: 1}, ignoreUnreadable(err)
	}
	x := excerptOf(row, text, budget)
	return &follow{excerpt: x, next: x.Lines + 1}, nil
}
