package scheduler

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrStopping is the answer of an engine that is stopping, or not started: another admin, or this one a little later, can do
// what was asked.
var ErrStopping = errors.New("the engine is starting or stopping")

// ErrHeld is the answer of an engine that is held ([Engine.Hold]).
var ErrHeld = errors.New("the database is held")

// notNow is why an engine that has no place in the cluster does nothing.
func (e *Engine) notNow() error {
	if e.Held() {
		return ErrHeld
	}
	return ErrStopping
}

// batcher gathers items that many goroutines hand in and has its workers write them together. One worker gathers at a time, and
// takes everything that waits, up to max, so batches grow with the load by themselves; linger gives the first item of a quiet
// moment a little company, and patience is how long each waits for more of it where one batch follows another.
type batcher[T any] struct {
	max      int
	linger   time.Duration
	patience func(T) time.Duration // 0: the item waits for no company; nil: all linger
	write    func(context.Context, []T)

	items    chan *queued[T] // of pointers, so that room for many costs little as long as few wait
	written  atomic.Int64    // how many items have been
	hand     inHand          // what is being written, since its oldest item was handed in
	turn     chan struct{}   // capacity 1: full while a worker gathers
	gathered time.Time       // when the last batch was; of the worker whose turn it is
	stopc    chan struct{}
	mu       sync.RWMutex // held for reading while an item is put in, so that stop does not lose one
	ended    bool
}

// queued is an item that waits. Items are taken in their order, so the oldest that is not written is in some worker's hand.
type queued[T any] struct {
	item  T
	since time.Time
}

func newBatcher[T any](maxBatch int, linger time.Duration, capacity int, write func(context.Context, []T)) *batcher[T] {
	return &batcher[T]{max: maxBatch, linger: linger, write: write,
		items: make(chan *queued[T], min(capacity, 100_000)), turn: make(chan struct{}, 1)}
}

// start lets the workers work. When ctx ends, what they are writing and what is still queued is given up.
func (b *batcher[T]) start(ctx context.Context, workers int, wg *sync.WaitGroup) {
	b.mu.Lock()
	b.stopc, b.ended = make(chan struct{}), false
	stop := b.stopc
	b.mu.Unlock()
	for range workers {
		wg.Go(func() { b.work(ctx, stop) })
	}
}

// add hands an item in; it blocks while the queue is full, until ctx ends or the batcher is stopped.
func (b *batcher[T]) add(ctx context.Context, item T) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.ended || b.stopc == nil {
		return ErrStopping
	}
	q := &queued[T]{item, time.Now()}
	select {
	case b.items <- q:
		return nil
	default:
	}
	select {
	case b.items <- q:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop lets the workers write what is queued and end.
func (b *batcher[T]) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended && b.stopc != nil {
		b.ended = true
		close(b.stopc)
	}
}

// crowded reports whether more waits than the next batch takes.
func (b *batcher[T]) crowded() bool { return len(b.items) >= b.max }

// oldest is for how long the oldest item that is not written has been waiting for it, in the queue and in the write.
func (b *batcher[T]) oldest() time.Duration { return b.hand.oldest() }

func (b *batcher[T]) work(ctx context.Context, stop <-chan struct{}) {
	for {
		batch, over := b.take(stop)
		if batch == nil {
			return
		}
		b.write(ctx, batch)
		b.written.Add(int64(len(batch)))
		over()
	}
}

// take waits for a batch, and gives it with what is to be called when it is written. After the stop it gives what was handed in
// before, and then nil.
func (b *batcher[T]) take(stop <-chan struct{}) (batch []T, over func()) {
	b.turn <- struct{}{}
	defer func() { <-b.turn }()
	var first *queued[T]
	select {
	case first = <-b.items:
	case <-stop:
		select {
		case first = <-b.items:
			over = b.hand.begin(first.since)
			return b.gather(first.item, atOnce), over
		default:
			return nil, nil
		}
	}
	over = b.hand.begin(first.since)
	batch = b.gather(first.item, b.waits)
	b.gathered = time.Now()
	return batch, over
}

// waits is how long an item waits for company at this moment.
func (b *batcher[T]) waits(item T) time.Duration {
	if b.patience == nil {
		return b.linger
	}
	patience := b.patience(item)
	if time.Since(b.gathered) >= patience { // no batch comes soon after another
		return min(patience, b.linger)
	}
	return patience
}

// atOnce is how long an item waits that is among the last.
func atOnce[T any](T) time.Duration { return 0 }

// gather takes what waits, and if that is little, what comes until one of the items has waited as long as it does.
func (b *batcher[T]) gather(first T, waits func(T) time.Duration) []T {
	batch := make([]T, 0, min(b.max, 1+len(b.items)))
	var until time.Time
	var over <-chan time.Time // nil: until is new
	take := func(item T) {
		if by := time.Now().Add(waits(item)); len(batch) == 0 || by.Before(until) {
			until, over = by, nil
		}
		batch = append(batch, item)
	}
	take(first)
	for len(batch) < b.max {
		select {
		case q := <-b.items:
			take(q.item)
			continue
		default:
		}
		if over == nil {
			left := time.Until(until)
			if left <= 0 {
				return batch
			}
			over = time.After(left)
		}
		select {
		case q := <-b.items:
			take(q.item)
		case <-over:
			return batch
		}
	}
	return batch
}
