package archive

import (
	"errors"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

// Pushed is what an executor hands over of a run that is about to end, or has ended.
type Pushed struct {
	Run
	Output wire.PushedOutput
}

// ErrFull says that pushed outputs are not taken now. They are copied later, if their executors are still there.
var ErrFull = errors.New("outputs are not taken now")

// Take takes outputs that an executor pushed: all of them or, with [ErrFull], none. It does not wait for the store: they are written
// with the copies, by the same rules.
func (s *Service) Take(pushed []Pushed) error {
	if s == nil {
		return ErrFull
	}
	now, budget := s.cfg.Now(), s.cfg.Limits().RunBytes
	size := 0
	for i := range pushed {
		size += len(pushed[i].Output.Head) + len(pushed[i].Output.Tail)
	}
	if !s.cfg.Ready() || !s.storeRestsUntil(now).IsZero() || s.held.Load() > s.cfg.Held || cap(s.copies)-len(s.copies) < len(pushed) {
		return ErrFull
	}
	if !s.limiter.AllowN(time.Now(), min(size, burst)) { // the limiter goes by the time of this machine
		return ErrFull
	}
	s.metrics.bytes.Add(float64(size))
	s.speed.add(size)
	s.mu.Lock()
	for i := range pushed {
		s.taken[pushed[i].ID] = false
	}
	s.mu.Unlock()
	for i := range pushed {
		p := &pushed[i]
		x := p.Output.Excerpt(budget)
		s.held.Add(int64(x.Size()))
		select {
		case s.copies <- copied{Run: p.Run, endedAt: now.UnixMilli(), pushed: true, excerpt: x}:
		default: // somebody else was quicker: this one is copied
			s.held.Add(-int64(x.Size()))
			s.written(p.ID)
		}
	}
	return nil
}

// written ends what is known of pushed outputs while they wait for the writer, whether they were written or not.
func (s *Service) written(ids ...int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.taken, id)
	}
}

// first says whether nobody can have noted anything of a run yet, as far as its copy tells: it is not about one that was long enough for its
// output to be followed. Should somebody have done so all the same, its row is in the way, and is read then.
func (c *copied) first(liveAfter time.Duration) bool {
	return !c.goesOn && !c.again && c.LogDate > 0 && c.endedAt-c.LogDate < liveAfter.Milliseconds()
}

// overUntil is up to which end of its run nothing is to be copied any more when it is written.
func (c *copied) overUntil() int64 {
	if c.pushed {
		return whicheverEnd
	}
	return c.endedAt
}

// fits says whether a copy is what is still missing, by the row that there is, and by the run where that row does not tell.
func (c *copied) fits(old *db.LockOutputsRow, there bool, run *keptRun, node int64) bool {
	switch {
	case there && settled(old.State, old.Pushed, old.EndedAt, c.endedAt):
		return false
	case there && old.State == db.OutputDue:
		return c.pushed || !c.goesOn && old.Node == node
	case there && old.State != db.OutputLive: // its run has ended again
		return true
	case c.goesOn: // one that was read earlier may come later, as of an admin that stood still
		return !there || int64(c.excerpt.Lines) >= old.HeadLines+old.LeftLines+old.TailLines
	case c.pushed:
		return run.there && (run.open || run.wanted)
	}
	return run.there && !run.open
}

// settled says, by the row of a run that ended at a moment, whether nothing of it is to be copied any more: what its executor pushed is the
// last word, and what was copied is that, unless the run has ended again since, as one does that was lost and reports after all.
func settled(state, pushed, rowEndedAt, endedAt int64) bool {
	return pushed > 0 && state != db.OutputDue || state > db.OutputLive && rowEndedAt >= endedAt
}

// state is that of the row of a copy.
func (c *copied) state(open bool) int64 {
	if c.goesOn || c.pushed && open {
		return db.OutputLive
	}
	return db.OutputWhole
}
