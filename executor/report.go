package executor

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// reporter delivers results to the admins: in batches, again and again until one acknowledges them. What it holds is
// also in the journal.
type reporter struct {
	admins  callbackSender
	outputs *outputPusher // nil: none are pushed
	journal *journal
	batch   int
	logger  *slog.Logger

	wake    chan struct{} // holds one for each sender that should look
	again   chan struct{} // holds one when an admin can be reached again: the next attempt is made at once
	trouble chan struct{} // holds one when requests have begun to fail: the first sender must know, whoever's request it was

	mu      sync.Mutex
	queue   []result // oldest first
	bytes   int      // of the messages in queue
	sending int      // results in requests that are under way
	failing bool     // the last request failed; only one sender tries then
	changed chan struct{}
}

// callbackSender is what the reporter needs of [wire.AdminClient].
type callbackSender interface {
	Callback(ctx context.Context, callbacks []wire.Callback) error
	Knows(node int64) bool
}

// result is a callback with the journal's promise about it.
type result struct {
	cb     *wire.Callback
	ended  time.Time        // when its run did; the epoch: a former version has not noted it
	safe   *commit          // nil when the journal had it before
	wish   *wire.OutputWish // of the run's output; nil: it is not wanted
	pushed bool             // an admin has it
}

// waited is for how long the result has waited by now, as [wire.Callback] has it. Within this process no change of the clock touches it;
// across a restart it is as right as the machine's clock, and the admin believes no end before the run's start.
func (r *result) waited() int64 {
	if r.ended.UnixMilli() <= 0 {
		return 0
	}
	return min(max(time.Since(r.ended).Milliseconds(), 1), wire.MaxWaited)
}

const (
	// senders is how many requests go on at once: several hide the time an admin needs to commit, and let it commit together.
	senders = 4
	// maxBatchBytes keeps requests well below the body limits of admins and of proxies before them, which is often 1 MB:
	// each message travels twice, in the spellings of old and of newer admins.
	maxBatchBytes = 256 << 10
	// maxUndelivered and maxUndeliveredBytes bound the memory results take while no admin answers; new runs are refused
	// beyond.
	maxUndelivered      = 500_000
	maxUndeliveredBytes = 128 << 20

	// lookBatches is among how many batches' worth of results those for one admin are looked for.
	lookBatches = 4

	// safeWithin is how long a result waits for the journal at most: a disk may answer neither well nor ill.
	safeWithin = 5 * time.Second

	firstRetry = 500 * time.Millisecond
	lastRetry  = 15 * time.Second
)

func newReporter(admins callbackSender, journal *journal, batch int, logger *slog.Logger) *reporter {
	return &reporter{admins: admins, journal: journal, batch: batch, logger: logger,
		wake: make(chan struct{}, senders), again: make(chan struct{}, 1), trouble: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
}

// sizeOf is about how many bytes a result takes.
func sizeOf(cb *wire.Callback) int {
	n := len(cb.HandleMsg)
	for key, value := range cb.Outputs {
		n += len(key) + len(value)
	}
	return n
}

// add queues a result.
func (r *reporter) add(res result) {
	r.mu.Lock()
	r.queue = append(r.queue, res)
	r.bytes += sizeOf(res.cb)
	r.mu.Unlock()
	r.poke()
}

func (r *reporter) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// undelivered counts the results no admin has acknowledged.
func (r *reporter) undelivered() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) + r.sending
}

// full says whether no more results should be produced.
func (r *reporter) full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) >= maxUndelivered || r.bytes >= maxUndeliveredBytes
}

// run sends until ctx ends.
func (r *reporter) run(ctx context.Context) {
	var wg group
	for i := range senders {
		wg.Go(func() {
			retry := firstRetry
			for {
				for r.sendOnce(ctx, i == 0) {
					retry = firstRetry
				}
				if !r.pause(ctx, i == 0, &retry) {
					return
				}
			}
		})
	}
	wg.Wait()
}

// pause waits for work, or after a failure for the next attempt, which only the first sender makes. It returns false when
// ctx has ended.
func (r *reporter) pause(ctx context.Context, first bool, retry *time.Duration) bool {
	var trouble <-chan struct{}
	if first {
		trouble = r.trouble
	}
	for !first || !r.retries() {
		select {
		case <-r.wake:
			return true
		case <-trouble:
		case <-ctx.Done():
			return false
		}
	}
	timer := time.NewTimer(*retry)
	defer timer.Stop()
	*retry = min(*retry*2, lastRetry)
	select {
	case <-timer.C:
		return true
	case <-r.again:
		*retry = firstRetry
		return true
	case <-ctx.Done():
		return false
	}
}

// reached is told that an admin has answered after a time in which none could be reached. An attempt that is under way was made before.
func (r *reporter) reached() {
	r.mu.Lock()
	failing := r.failing
	r.mu.Unlock()
	if !failing {
		return
	}
	select {
	case r.again <- struct{}{}:
	default:
	}
}

// retries says whether results wait for another attempt.
func (r *reporter) retries() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failing && len(r.queue) > 0
}

// sendOnce sends one batch and says whether it was acknowledged.
func (r *reporter) sendOnce(ctx context.Context, first bool) bool {
	taken := r.take(first)
	if len(taken) == 0 || ctx.Err() != nil {
		r.giveBack(taken, nil)
		return false
	}
	// The last one's commit is the latest. If the journal cannot be written, or hangs, sending is all the more urgent.
	if safe := taken[len(taken)-1].safe; safe != nil && !safe.within(ctx, safeWithin) {
		r.giveBack(taken, nil)
		return false
	}
	r.outputs.push(ctx, taken)
	callbacks := make([]wire.Callback, len(taken))
	pointers := make([]*wire.Callback, len(taken))
	for i, res := range taken {
		callbacks[i], pointers[i] = *res.cb, res.cb
		callbacks[i].Pushed = res.pushed
		callbacks[i].Waited, callbacks[i].Ended = res.waited(), 0
	}
	err := r.admins.Callback(ctx, callbacks)
	if err != nil {
		r.giveBack(taken, err)
		return false
	}
	r.journal.acknowledged(pointers)
	r.mu.Lock()
	r.sending -= len(taken)
	recovered := r.failing
	r.failing = false
	r.mu.Unlock()
	if recovered {
		r.logger.Info("results are delivered again")
		for range senders {
			r.poke()
		}
	}
	r.signal()
	return true
}

// take removes a batch from the queue: what is at its head, and what follows of runs that the same admin sent. While requests fail only the
// first sender gets one, one at a time, and of whatever is there.
func (r *reporter) take(first bool) []result {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failing && (!first || r.sending > 0) {
		return nil
	}
	var taken []result
	bytes, seen := 0, 0
	for ; seen < min(len(r.queue), lookBatches*r.batch) && len(taken) < r.batch; seen++ {
		res := r.queue[seen]
		if !r.failing && r.teller(res) != r.teller(r.queue[0]) {
			continue
		}
		size := sizeOf(res.cb)
		if len(taken) > 0 && bytes+size > maxBatchBytes {
			break
		}
		bytes += size
		taken = append(taken, res)
	}
	// What was passed over moves up to what follows, in its order.
	for from, to, left := seen-1, seen-1, len(taken); from >= 0; from-- {
		if left > 0 && r.queue[from].cb == taken[left-1].cb {
			left--
			continue
		}
		r.queue[to] = r.queue[from]
		to--
	}
	r.bytes -= bytes
	clear(r.queue[:len(taken)])
	if r.queue = r.queue[len(taken):]; len(r.queue) == 0 {
		r.queue = nil // lets the array go that earlier results were cut from
	}
	r.sending += len(taken)
	return taken
}

// teller is the admin that sent a result's run, if it is one of several that can be told apart; else 0.
func (r *reporter) teller(res result) int64 {
	if res.cb.Node == 0 || !r.admins.Knows(res.cb.Node) {
		return 0
	}
	return res.cb.Node
}

// giveBack puts an undelivered batch at the head of the queue again.
func (r *reporter) giveBack(taken []result, err error) {
	if len(taken) == 0 {
		return
	}
	r.mu.Lock()
	r.queue = append(taken, r.queue...)
	for _, res := range taken {
		r.bytes += sizeOf(res.cb)
	}
	r.sending -= len(taken)
	first := err != nil && !r.failing
	r.failing = r.failing || err != nil
	waiting := len(r.queue)
	r.mu.Unlock()
	if first {
		select {
		case r.trouble <- struct{}{}:
		default:
		}
		r.logger.Warn("results cannot be delivered, trying again", "count", waiting, "error", err)
	}
	r.signal()
}

func (r *reporter) signal() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// flush sends what is left, beside run, and gives up at the first failure or when ctx ends.
func (r *reporter) flush(ctx context.Context) {
	for ctx.Err() == nil {
		r.mu.Lock()
		queued, sending := len(r.queue), r.sending
		r.mu.Unlock()
		switch {
		case queued == 0 && sending == 0:
			return
		case queued > 0 && r.sendOnce(ctx, true):
			continue
		case queued > 0 && r.stuck():
			return
		}
		select { // a request is under way
		case <-r.changed:
		case <-ctx.Done():
		}
	}
}

// stuck says whether results could not be delivered and nobody is trying.
func (r *reporter) stuck() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failing && r.sending == 0
}
