package scheduler

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// clockCheck is how long the timer sleeps at most, so that a step of the wall clock delays nothing by more than this.
const clockCheck = 250 * time.Millisecond

// timer holds claimed runs until their planned millisecond.
type timer struct {
	now  func() time.Time
	fire func(due []*dispatch) // what is due by now, in its order

	mu    sync.Mutex
	queue fireQueue
	wake  chan struct{} // capacity 1
}

func newTimer(now func() time.Time, fire func(due []*dispatch)) *timer {
	return &timer{now: now, fire: fire, wake: make(chan struct{}, 1)}
}

// add puts runs in; those whose time has come fire at once.
func (t *timer) add(runs ...*dispatch) {
	if len(runs) == 0 {
		return
	}
	t.mu.Lock()
	earliest := len(t.queue) == 0
	for _, d := range runs {
		earliest = earliest || d.at.Before(t.queue[0].at)
		heap.Push(&t.queue, d)
	}
	t.mu.Unlock()
	if earliest {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

// clear forgets everything; the runs stay in the database.
func (t *timer) clear() {
	t.mu.Lock()
	t.queue = nil
	t.mu.Unlock()
}

// remove takes a run out; nil when it is not here.
func (t *timer) remove(id int64) *dispatch {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, d := range t.queue {
		if d.id == id {
			heap.Remove(&t.queue, i)
			return d
		}
	}
	return nil
}

func (t *timer) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queue)
}

// left counts the runs that a stop leaves to others: those that go later than the horizon, and retries whose time has not come.
func (t *timer) left(now time.Time, horizon time.Duration) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range t.queue {
		if wait := d.at.Sub(now); wait > horizon || wait > 0 && d.trigger == jobspec.TriggerRetry {
			n++
		}
	}
	return n
}

// overdue is by how much the first run should have gone.
func (t *timer) overdue() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return 0
	}
	return max(0, t.now().Sub(t.queue[0].at))
}

// due removes what is due and says how long to wait for the next.
func (t *timer) due() ([]*dispatch, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	var due []*dispatch
	for len(t.queue) > 0 {
		wait := t.queue[0].at.Sub(now)
		if wait > 0 {
			return due, min(wait, clockCheck)
		}
		due = append(due, heap.Pop(&t.queue).(*dispatch))
	}
	return due, clockCheck
}

func (t *timer) run(ctx context.Context) {
	sleep := time.NewTimer(0)
	defer sleep.Stop()
	for {
		due, wait := t.due()
		if len(due) > 0 {
			t.fire(due)
			continue
		}
		sleep.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		case <-sleep.C:
		}
	}
}

// fireQueue is a heap by time, and by id among equals so that fires keep the order of their claim.
type fireQueue []*dispatch

func (q fireQueue) Len() int { return len(q) }
func (q fireQueue) Less(i, j int) bool {
	if !q[i].at.Equal(q[j].at) {
		return q[i].at.Before(q[j].at)
	}
	return q[i].id < q[j].id
}
func (q fireQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *fireQueue) Push(x any)   { *q = append(*q, x.(*dispatch)) }
func (q *fireQueue) Pop() any {
	old := *q
	n := len(old)
	x := old[n-1]
	old[n-1] = nil
	*q = old[:n-1]
	return x
}
