package scheduler

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

// maxResult is how many bytes of a result's message are kept.
const maxResult = 45_000

// errRaced means that somebody else changed a row between the read and the guarded write.
var errRaced = errors.New("a row was changed meanwhile")

// errUnseen means that a run may exist although it is not found: another admin made it, on another node of the database, and a
// quick executor reports its result before this node has it.
var errUnseen = errors.New("a run is not here yet")

// finishing is a result on its way to the database.
type finishing struct {
	id       int64
	groups   []int64        // the only ones its reporter may speak for: those of one app name; nil for any
	not      map[int64]bool // groups that it may not speak for
	by       *Caller
	denied   bool // its reporter is of the run's group, and its token does not count there; set with each try
	code     int
	msg      string            // the executor's own words
	english  string            // without those: what XXL-JOB's column says in the place of [event.FlowCause] and [event.FlowOutputs]
	given    event.Outcome     // Open: by the code
	why      event.List        // what led to it, where the engine made it up
	mute     bool              // nothing follows from it: no retry, no alarm
	callback string            // of a report of a target: the hash of its address
	used     *bool             // set when this has ended the run; nil: nobody asks
	undone   wire.Undone       // its executor was shutting down
	left     int64             // its retries before that
	again    extra             // the attempt that it was given beyond its job's retries; set with each try
	ends     event.Outcome     // what the run ends as, by its row; set with each try to write it
	output   map[string]string // what it gave, by key
	pushed   bool              // an admin has its run's output
	flow     bool              // the end of a run of a flow, which no executor had
	came     time.Time         // when its executor reported it, where runs are traced
	received time.Time         // when this report came; zero: the engine made it up
	waited   time.Duration     // for how long its executor had kept it by then; 0: it does not say
	beside   int               // how many came in one request
	reply    *reply

	sending *outcome // what became of its sending, where that was not written when it came
	along   *db.Sent // of these, what is written with it; set with each try, as is
	unread  bool     // its row was not read, see unread.go; set with each try
	settled bool     // that it is
}

// Results wait for each other while many come: their executors and their pages have them so much later, and a run that is written in a batch
// of fifty costs the database a quarter less than in one of fifteen (docs/performance.md). Who reports one by one may wait for the answer
// before the next, and is not held up for as long.
const (
	finishAlone    = 10 * time.Millisecond
	finishTogether = 50 * time.Millisecond
)

// companyFor is how long a result waits for others.
func (e *Engine) companyFor(f finishing) time.Duration {
	switch {
	case e.urgent(f), f.beside == wire.FullReport: // behind which more wait at its executor
		return 0
	case f.beside > 1, f.waited > 0: // an executor of ours says so, and reports all that has ended meanwhile
		return finishTogether
	}
	return finishAlone
}

// urgent says that others wait for this run's end: the next step of a flow, a retry, a child, a run without a slot, a fire that is reckoned from it. Of
// one that took longer than [carryFor], or was quicker than the answer to its request, only the first is known.
func (e *Engine) urgent(f finishing) bool {
	if f.code != wire.CodeSuccess {
		return true
	}
	if f.sending == nil {
		return e.flows.kept.goes(f.id)
	}
	d := f.sending.d
	return d.step != 0 || d.job.parent || d.job.delayed || e.limited(d.job)
}

// reply collects what became of the results of one request.
type reply struct {
	left chan error // one value per result
}

// Complete records results that executors report. It returns after the commit, so that an executor which is told "success"
// may forget them; unknown and repeated results are accepted and ignored, as upstream does (docs/compat.md §4.9).
func (e *Engine) Complete(ctx context.Context, callbacks []wire.Callback) error {
	return e.CompleteBy(ctx, Caller{}, nil, callbacks)
}

// CompleteBy is [Engine.Complete] for a known caller. If it may speak for one group only, results of other groups' runs are
// ignored like those of unknown runs, and warned about; so are those of groups for which speaks says no (nil: of none). A caller that
// is of such a group itself, or names none as executors before 3.5 do, has the wrong token: it is told
// [ErrNotTheirs] when the rest is written, and keeps what it has.
func (e *Engine) CompleteBy(ctx context.Context, by Caller, speaks func(appName string) bool, callbacks []wire.Callback) error {
	groups, err := e.directory.scope(by)
	if err != nil {
		return err
	}
	items := finishings(callbacks)
	not := e.directory.silent(speaks)
	for i := range items {
		items[i].groups, items[i].not, items[i].by = groups, not, &by
	}
	now := e.now()
	for i := range items {
		items[i].received = now
		if e.cfg.Traces != nil {
			items[i].came = now
		}
	}
	return e.complete(ctx, items)
}

// finishings are the results of one request. Of a run that it reports more than once the first counts.
func finishings(callbacks []wire.Callback) []finishing {
	items, seen := make([]finishing, 0, len(callbacks)), make(map[int64]bool, len(callbacks))
	for _, c := range callbacks {
		if c.HandleCode <= 0 || seen[c.LogID] { // says nothing
			continue
		}
		seen[c.LogID] = true
		items = append(items, finishing{
			id: c.LogID, code: c.HandleCode, undone: c.Undone, msg: strings.ToValidUTF8(c.HandleMsg, "\uFFFD"), pushed: c.Pushed,
			waited: time.Duration(c.Waited) * time.Millisecond, output: boundOutputs(c.Outputs), beside: len(callbacks),
		})
		if c.HandleCode > math.MaxInt32 { // the column holds no more
			items[len(items)-1].code = wire.CodeFail
		}
	}
	return items
}

// Executors send what they kept through an outage in one request, and the results of others must not wait behind ten thousand
// of these: results of requests with more than smallRequest of them are handed in a part after the other, and of all such
// requests together no more than bulkWaiting wait at a time. That keeps two writers busy.
const (
	smallRequest = 100
	bulkWaiting  = 4 * db.MaxBatch
)

// Executors have more results than are written as long as they come so late in large requests, and for a while after that.
const (
	lateResult = 500 * time.Millisecond
	lateFor    = time.Second
)

// resultsWait says that more results wait to be written than the next batch takes: here, or with executors, of which each has few under way.
func (e *Engine) resultsWait() bool {
	late := e.late.Load()
	return e.finisher.crowded() || late != nil && time.Since(*late) < lateFor
}

// complete hands results to the writers and waits until they are written. Should ctx end, what was not handed in is not
// written: the executor sends all of it again.
func (e *Engine) complete(ctx context.Context, items []finishing) error {
	if len(items) <= smallRequest {
		return e.completePart(ctx, items)
	}
	if items[0].waited >= lateResult {
		e.late.Store(new(time.Now()))
	}
	var parts errgroup.Group
	for part := range slices.Chunk(items, smallRequest) {
		n := int64(len(part))
		if err := e.bulk.Acquire(ctx, n); err != nil {
			return errors.Join(parts.Wait(), err)
		}
		parts.Go(func() error {
			defer e.bulk.Release(n)
			return e.completePart(ctx, part)
		})
	}
	return parts.Wait()
}

func (e *Engine) completePart(ctx context.Context, items []finishing) error {
	r := &reply{left: make(chan error, len(items))}
	for _, item := range items {
		item.reply, item.sending = r, e.carrier.take(item.id)
		if err := e.finisher.add(ctx, item); err != nil {
			if item.sending != nil {
				e.handIn(item.sending)
			}
			return err
		}
	}
	var errs error
	for range items {
		select {
		case err := <-r.left:
			if errs == nil {
				errs = err
			}
		case <-ctx.Done():
			return errors.Join(errs, ctx.Err())
		}
	}
	return errs
}

// finishBatch writes results and what follows from them in one transaction: a retry of a failure and the children of a
// success exist from the same commit on as the result does, so no crash comes between.
func (e *Engine) finishBatch(ctx context.Context, batch []finishing) {
	for i := range batch {
		if batch[i].sending == nil { // it was quicker than the answer to its request
			batch[i].sending = e.carrier.take(batch[i].id)
		}
	}
	first, more := apart(batch)
	e.finishApart(ctx, first)
	if len(more) > 0 {
		e.finishBatch(ctx, more)
	}
}

// apart takes those results out of a batch that are about the same runs as others. They are written after those: which of them count, say the
// rows then. What an executor says goes before that it was given up.
func apart(batch []finishing) (first, more []finishing) {
	at := make(map[int64]int, len(batch))
	first = batch[:0:len(batch)]
	for _, f := range batch {
		i, again := at[f.id]
		switch {
		case !again:
			at[f.id] = len(first)
			first = append(first, f)
		case first[i].given == event.Lost && f.given != event.Lost:
			first[i], f = f, first[i]
			more = append(more, f)
		default:
			more = append(more, f)
		}
	}
	return first, more
}

// finishApart writes results of as many runs.
func (e *Engine) finishApart(ctx context.Context, batch []finishing) {
	began := time.Now()
	var changed []int64
	var err error
	sure := !e.cfg.Pool.Lags()
	var lock []int64 // runs of flows
	raced := false
	for try := 1; try <= 5; try++ {
		limited, cancel := context.WithTimeout(ctx, writeLimit)
		changed, err = e.finishOnce(limited, batch, sure, raced, lock)
		cancel()
		if errors.Is(err, errUnseen) {
			if err = e.catchUp(ctx); err != nil {
				break
			}
			sure = true
			continue
		}
		if flows, is := errors.AsType[errFlowRaced](err); is {
			lock = flows.logs
		}
		raced = errors.Is(err, errRaced)
		// Rows that an admin which stopped has locked are free when its transaction has been ended, before the next wait is over.
		if !errors.Is(err, errRaced) && (!db.IsLocked(err) || try > 1) {
			break
		}
	}
	if err != nil && ctx.Err() != nil {
		err = errors.Join(ErrStopping, err)
	}
	e.untaken.met(batch, err)
	if err != nil {
		e.log.Warn("record results", "error", err, "runs", len(batch))
		if len(batch) > 1 && refused(err) {
			for i := range batch { // one that the database refuses must not take the others with it
				e.finishApart(ctx, batch[i:i+1])
			}
			return
		}
	} else {
		e.metrics.finishBatches.Observe(float64(len(batch)))
		e.metrics.finishSeconds.Observe(time.Since(began).Seconds())
	}
	e.settleCarried(batch, err)
	for i := range batch {
		if err == nil && batch[i].denied {
			batch[i].reply.left <- ErrNotTheirs
			continue
		}
		batch[i].reply.left <- err
	}
	e.hub.changed(changed...)
}

func (e *Engine) catchUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	return e.cfg.Pool.CatchUp(ctx)
}

// refused reports whether a batch failed for what is in it, as far as one can know, so that its parts may fare better.
func refused(err error) bool {
	return !db.IsUnavailable(err) && !db.IsLocked(err) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrStopping)
}

func appendNew(ids []int64, id int64) []int64 {
	if slices.Contains(ids, id) {
		return ids
	}
	return append(ids, id)
}

// joinLines joins the parts that are not empty.
func joinLines(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		if p == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p)
	}
	return clip(b.String(), maxMessage)
}
