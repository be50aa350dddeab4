package scheduler

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-job/punctual/scheduler/event"
)

// untaken is what this admin knows of times in which results could not be taken: doc.go says what that is for. A result that is written at
// once costs a look at two numbers here.
type untaken struct {
	waiting atomic.Int64 // how many results are in first
	over    atomic.Int64 // epoch ms: from then on no result is late because of the span

	mu          sync.Mutex
	first       map[int64]time.Time // when a result came first that could not be written, by its run
	from, until time.Time           // the newest span in which this admin took nothing
	beaten      time.Time           // the last beat, whatever became of it
}

const (
	// maxFirst is how many results that could not be written are remembered.
	maxFirst = 100_000
	// forgetFirst is how long: another admin may have taken them.
	forgetFirst = time.Hour
	// standstill is the gap between two beats from which on this process has stood still. A beat that fails is one.
	standstill = 10 * time.Second
	// lateEnd is by how much the end of a run must lie before the record of it to be worth a word: executors gather results for less.
	lateEnd = time.Second
)

// met notes what became of a batch of results: those that could not be written come again.
func (u *untaken) met(batch []finishing, err error) {
	if err == nil && u.waiting.Load() == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range batch {
		f := &batch[i]
		if err == nil {
			delete(u.first, f.id)
			continue
		}
		if _, before := u.first[f.id]; before || f.received.IsZero() || len(u.first) >= maxFirst {
			continue
		}
		if u.first == nil {
			u.first = make(map[int64]time.Time)
		}
		u.first[f.id] = f.received
	}
	u.waiting.Store(int64(len(u.first)))
}

// cameFirst is when a result came that could not be written then; zero for all others.
func (u *untaken) cameFirst(id int64) time.Time {
	if u.waiting.Load() == 0 {
		return time.Time{}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.first[id]
}

// note adds a span in which nobody took results. They come again within a while after it. One that begins within the while after another
// goes on with that.
func (u *untaken) note(from, until time.Time, within time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.until.IsZero() || from.UnixMilli() > u.over.Load() {
		u.from = from
	}
	u.until = until
	u.over.Store(until.Add(within).UnixMilli())
}

// beat is told of each beat, and notes that there was none for long.
func (u *untaken) beat(now time.Time, within time.Duration) {
	u.mu.Lock()
	last := u.beaten
	u.beaten = now
	for id, first := range u.first {
		if now.Sub(first) < forgetFirst {
			break // they are in no order: of those that another admin took, some go with each beat
		}
		delete(u.first, id)
	}
	u.waiting.Store(int64(len(u.first)))
	u.mu.Unlock()
	if !last.IsZero() && now.Sub(last) >= standstill {
		u.note(last, now, within)
	}
}

// span says of a run that was sent then, and whose result came now, since when it may have ended.
func (u *untaken) span(sent, received time.Time) (since time.Time, ok bool) {
	if received.UnixMilli() > u.over.Load() {
		return time.Time{}, false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !sent.Before(u.until) { // whatever it waited for, it was not the end of this
		return time.Time{}, false
	}
	if sent.After(u.from) {
		return sent, true
	}
	return u.from, true
}

// runEnd is when a run ended, as far as that is known.
type runEnd struct {
	at     time.Time  // at the latest where that is not known
	unsure bool       // it may be earlier
	told   event.List // what is worth a word about it
}

// endsAt says when the run of a result ended that is recorded now. The executor's word counts where it can be true: an end before the run was
// sent cannot.
func (e *Engine) endsAt(f *finishing, sentAt int64, now time.Time) runEnd {
	if f.received.IsZero() || f.received.After(now) {
		return runEnd{at: now}
	}
	sent, at := time.UnixMilli(sentAt), f.received.Add(-f.waited)
	if f.waited == 0 {
		if first := e.untaken.cameFirst(f.id); !first.IsZero() && first.Before(f.received) {
			at = first
		}
	}
	if at.Before(sent) {
		return e.endsWithin(sent, now)
	}
	if f.waited == 0 && at.Equal(f.received) {
		if since, ok := e.untaken.span(sent, f.received); ok {
			return e.endsWithin(since, now)
		}
	}
	if by := now.Sub(at); by >= lateEnd {
		return runEnd{at: at, told: event.List{event.New(now, event.EndLate, by)}}
	}
	return runEnd{at: now}
}

// endsWithin is the end of a run of which no more is known.
func (e *Engine) endsWithin(since, now time.Time) runEnd {
	if now.Sub(since) < lateEnd {
		return runEnd{at: now}
	}
	return runEnd{at: now, unsure: true, told: event.List{event.New(now, event.EndUnsure, since, now)}}
}
