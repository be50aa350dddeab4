package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Of a thousand runs that are due in one moment at one executor, a request each costs both sides more than all else about them. An
// executor of ours therefore takes several in one request, at /runs, and says so in the head of its answers. A run that is asked for while
// [maxAhead] requests to it are under way waits for one of them to end, and goes with all others that waited; by itself it waits for
// nobody. Other executors never say so, and are asked for each run.

// HeaderTakesRuns is in the answers of an executor that serves /runs.
const HeaderTakesRuns = "Punctual-Takes-Runs"

const (
	// MaxRuns is how many runs may be asked for in one request.
	MaxRuns = 100
	// maxRunsBytes bounds the body of such a request: so long [plainTransport] sends it itself. A longer run waits for no others.
	maxRunsBytes = maxPlain - 1<<10
	// maxAhead is how many requests are under way before runs wait for each other.
	maxAhead = 4
	// maxGathering is how long a run waits for others. Then what is under way hangs, and it goes alone.
	maxGathering = 200 * time.Millisecond
	// shunFor is for how long each run has a request of its own after one for several brought no answer of the protocol: what stands between
	// may let nothing through but the paths of XXL-JOB.
	shunFor = 10 * time.Minute
	// forgetTaker is how long an executor is remembered that is not called.
	forgetTaker = 24 * time.Hour
)

var (
	errRunsAnswer  = errors.New("not an answer for each run")
	errAnsweredFor = errors.New("the executor has the run, and something on the way answered for it")
)

// RunsRequest is the body of /runs. Its members are bodies of /run, in which also stands what would be in a header.
type RunsRequest struct {
	Runs []json.RawMessage `json:"runs"`
}

// DecodeRuns reads the body of /runs.
//
// They may be parts of body.
func DecodeRuns(body []byte) ([]json.RawMessage, error) {
	r, ok := quickRuns(body)
	if !ok {
		if err := json.Unmarshal(body, &r); err != nil {
			return nil, err
		}
	}
	if len(r.Runs) > MaxRuns {
		return nil, fmt.Errorf("%d runs in one request, and at most %d are taken", len(r.Runs), MaxRuns)
	}
	return r.Runs, nil
}

func newGatherer() *gatherer { return &gatherer{takers: make(map[Target]*taker), swept: time.Now()} }

// gatherer holds which executors take several runs, and the runs that wait for each other.
type gatherer struct {
	mu     sync.Mutex
	takers map[Target]*taker
	swept  time.Time
}

// taker is an executor that takes several runs. Its fields are guarded by gatherer.mu.
type taker struct {
	ahead   int // requests under way
	waiting []*gathered
	used    time.Time
	shunned time.Time // until when it is asked for each run
}

// gathered is a run that waits for others.
type gathered struct {
	ctx   context.Context
	body  []byte
	batch *batch // that it goes with; nil: it waits still. Guarded by gatherer.mu.

	done   chan struct{} // closed when what follows is set
	answer Answer
	err    error
	alone  bool // it is to be asked for alone
	asked  bool // it was in a request to which somebody else than the executor of before answered, and which may have come to that
}

// batch is the runs of one request.
type batch struct {
	runs   []*gathered
	ctx    context.Context // ends when the first of theirs has to, or all have
	cancel context.CancelFunc
	left   atomic.Int64 // runs whose callers wait
}

// enter counts a request, or has the run wait for those that are under way. at is nil when the executor is not known to take several,
// or the run leaves no room for others.
func (g *gatherer) enter(ctx context.Context, to Target, body []byte) (at *taker, waits *gathered) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at = g.takers[to]
	now := time.Now()
	if at == nil || now.Before(at.shunned) || len(body) >= maxRunsBytes {
		return nil, nil
	}
	at.used = now
	if at.ahead < maxAhead {
		at.ahead++
		return at, nil
	}
	waits = &gathered{ctx: ctx, body: body, done: make(chan struct{})}
	at.waiting = append(at.waiting, waits)
	return at, waits
}

// leave takes a run back. It is false for one that is under way.
func (g *gatherer) leave(at *taker, run *gathered) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if run.batch != nil {
		return false
	}
	at.waiting = slices.DeleteFunc(at.waiting, func(w *gathered) bool { return w == run })
	return true
}

// over ends a request. What waited and fits into the next one is a batch then; nil when nothing did.
func (g *gatherer) over(at *taker) *batch {
	g.mu.Lock()
	defer g.mu.Unlock()
	at.ahead--
	if time.Now().Before(at.shunned) {
		for _, run := range at.waiting {
			run.alone = true
			close(run.done)
		}
		at.waiting = nil
	}
	if len(at.waiting) == 0 {
		return nil
	}
	at.ahead++
	n, size := 0, 0
	for n < min(len(at.waiting), MaxRuns) {
		if size += len(at.waiting[n].body) + 1; size > maxRunsBytes {
			break
		}
		n++
	}
	b := newBatch(slices.Clone(at.waiting[:n]))
	at.waiting = slices.Delete(at.waiting, 0, n)
	return b
}

func newBatch(runs []*gathered) *batch {
	b := &batch{runs: runs}
	b.left.Store(int64(len(runs)))
	ctx := WithGate(context.Background(), func() bool {
		return !slices.ContainsFunc(runs, func(run *gathered) bool { return !MayPass(run.ctx) })
	})
	var first time.Time
	for _, run := range runs {
		run.batch = b
		if deadline, ok := run.ctx.Deadline(); ok && (first.IsZero() || deadline.Before(first)) {
			first = deadline
		}
	}
	if first.IsZero() {
		b.ctx, b.cancel = context.WithCancel(ctx)
	} else {
		b.ctx, b.cancel = context.WithDeadline(ctx, first)
	}
	return b
}

// learn notes whether an executor takes several runs.
func (g *gatherer) learn(to Target, takes bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	switch at := g.takers[to]; {
	case takes && at == nil:
		g.takers[to] = &taker{used: now}
	case !takes && at != nil: // another executor has this address now
		at.shunned = now.Add(shunFor)
	}
	if now.Sub(g.swept) > forgetTaker {
		g.swept = now
		maps.DeleteFunc(g.takers, func(_ Target, at *taker) bool { return at.ahead == 0 && now.Sub(at.used) > forgetTaker })
	}
}

// runGathered asks for a run, with others where requests to the executor are under way.
func (c *ExecutorClient) runGathered(ctx context.Context, to Target, req *RunRequest, body []byte) (Answer, error) {
	at, waits := c.gathers.enter(ctx, to, body)
	if waits != nil {
		answer, err, alone := c.gathers.await(ctx, at, waits)
		if !alone {
			return answer, err
		}
		answer, err = c.runAlone(ctx, to, req, body)
		if err == nil && waits.asked && answer.Repeated() {
			return Answer{}, &CallError{Stage: StageAnswer, MaybeDelivered: true, Err: errAnsweredFor}
		}
		return answer, err
	}
	if at != nil {
		defer c.sendNext(to, at)
	}
	answer, err := c.runAlone(ctx, to, req, body)
	if err == nil && answer.takesRuns != (at != nil) {
		c.gathers.learn(to, answer.takesRuns)
	}
	return answer, err
}

// await waits for what comes of a run, or until it is to go alone.
func (g *gatherer) await(ctx context.Context, at *taker, run *gathered) (answer Answer, err error, alone bool) {
	timer := time.NewTimer(maxGathering)
	defer timer.Stop()
	for {
		select {
		case <-run.done:
			return run.answer, run.err, run.alone
		case <-timer.C:
			if g.leave(at, run) {
				return Answer{}, nil, true
			}
		case <-ctx.Done():
			if g.leave(at, run) {
				return Answer{}, &CallError{Stage: StageDial, Err: ctx.Err()}, false
			}
			if run.batch.left.Add(-1) == 0 {
				run.batch.cancel()
			}
			return Answer{}, &CallError{Stage: StageAnswer, MaybeDelivered: true, Err: ctx.Err()}, false
		}
	}
}

// sendNext ends a request to an executor, and has what waited for it sent.
func (c *ExecutorClient) sendNext(to Target, at *taker) {
	if b := c.gathers.over(at); b != nil {
		go func() {
			defer c.sendNext(to, at)
			defer b.cancel()
			c.sendBatch(to, b)
		}()
	}
}

// sendBatch asks for several runs in one request.
func (c *ExecutorClient) sendBatch(to Target, b *batch) {
	bodies := make([][]byte, len(b.runs))
	for i, run := range b.runs {
		bodies[i] = run.body
	}
	body := slices.Concat([]byte(`{"runs":[`), bytes.Join(bodies, []byte(",")), []byte("]}"))
	answer, err := c.post(b.ctx, baseURL(to.Address)+"/runs", to.Token, to.AppName, body, maxLogAnswer)
	var each []json.RawMessage
	if err == nil && answer.OK() {
		var ok bool
		if each, ok = quickItems(answer.Data); !ok || len(each) != len(b.runs) {
			err = &CallError{Stage: StageDecode, MaybeDelivered: true, Err: fmt.Errorf("%w: %d for %d", errRunsAnswer, len(each), len(b.runs))}
		}
	}
	taken := err == nil && answer.OK()
	if !taken && !answer.takesRuns && Delivered(err) && b.ctx.Err() == nil {
		c.gathers.learn(to, false)
	}
	other := err == nil && !taken && !answer.takesRuns // another executor, which has not read what it does not know, or what is in between
	unsent := !Delivered(err) && b.ctx.Err() != nil    // the first of them had to end
	for i, run := range b.runs {
		run.answer, run.err, run.alone, run.asked = answer, err, other || unsent && hasTime(run.ctx), other
		if taken {
			if run.answer, run.err = DecodeAnswer(each[i]); run.err != nil {
				run.err = &CallError{Stage: StageDecode, MaybeDelivered: true, Err: run.err}
			}
		}
		close(run.done)
	}
}

// hasTime says whether a context need not end yet.
func hasTime(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Now().Before(deadline)
}
