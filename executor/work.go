package executor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// maxMessage is upstream's bound on a result's text, in characters.
const maxMessage = 50_000

// work runs the queue of one job until it is empty. Taking the last run out and forgetting the job happen under one
// lock, so that no run can be added to a queue that is on its way out.
func (e *Executor) work(j *job) {
	ended := false
	defer func() {
		if ended {
			return
		}
		// A handler has ended this goroutine (a test's FailNow does); the job must not stop with it.
		e.mu.Lock()
		defer e.mu.Unlock()
		if t := j.running; t != nil && !t.detached {
			j.running = nil
			e.workers.Go(func() { e.work(j) })
		}
	}()
	for {
		e.mu.Lock()
		if len(j.waiting) == 0 {
			delete(e.jobs, j.id)
			e.mu.Unlock()
			ended = true
			return
		}
		t := j.waiting[0]
		j.waiting[0] = nil
		j.waiting = j.waiting[1:]
		j.running = t
		e.mu.Unlock()

		e.execute(t)

		e.mu.Lock()
		detached := t.detached
		if !detached {
			j.running = nil
		}
		e.mu.Unlock()
		t.cancel(nil)
		if detached {
			ended = true
			return // another worker has taken over
		}
	}
}

// execute runs one run to its end.
func (e *Executor) execute(t *task) {
	if t.accepted != nil && t.accepted.wait() != nil {
		return // refused; admit cleans up
	}
	if !t.begun {
		// Without this record a run that had begun would begin again after a crash.
		if err := e.journal.started(t.run.LogID).wait(); err != nil {
			e.logger.Error("start of a run is not in the journal", "job_id", t.run.JobID, "log_id", t.run.LogID, "error", err)
		}
	}
	defer func() {
		e.decide(t, wire.CodeFail, "the handler ended its goroutine", nil) // if it has, there is no result yet
		e.forget(t)
	}()
	e.mu.Lock()
	decided := t.decided
	e.mu.Unlock()
	if decided { // killed between the queue and here
		return
	}
	t.run.log.begin(time.Now(), t.run.Param)
	if t.beside != 0 {
		t.run.log.line(time.Now(), 0, fmt.Sprintf(
			"----------- this run starts although the handler of run %d, which has ended, goes on -----------", t.beside))
	}
	err := e.callWithin(t)
	if errors.Is(err, ErrLater) && e.leave(t) {
		return
	}
	code, msg := t.run.outcome(err)
	if e.decide(t, code, msg, nil) {
		return
	}
	e.mu.Lock()
	detached := t.detached
	e.mu.Unlock()
	if detached {
		t.run.log.line(time.Now(), 0, "----------- the handler of this ended run has returned -----------")
	}
}

// callWithin runs the handler, whose context has the run's time limit as its deadline.
func (e *Executor) callWithin(t *task) error {
	if t.timeout <= 0 {
		return e.call(t.ctx, t)
	}
	until := time.Now().Add(t.timeout)
	ctx, stop := context.WithDeadlineCause(t.ctx, until, ErrTimeout)
	defer stop()
	timeUp := func() { e.decide(t, wire.CodeTimeout, "job execute timeout ", ErrTimeout) } // upstream's text, with its blank
	// Whatever else ends the context has decided before.
	defer context.AfterFunc(ctx, timeUp)()
	err := e.call(ctx, t)
	if err != nil && !time.Now().Before(until) {
		timeUp() // what it saw of its deadline may be sooner than timeUp
	}
	return err
}

// call runs the handler; a panic is an error whose stack goes to the run's log.
func (e *Executor) call(ctx context.Context, t *task) (err error) {
	defer func() {
		if r := recover(); r != nil {
			t.run.Logf("panic: %v\n%s", r, debug.Stack())
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return t.handler(ctx, t.run)
}

// forget lets go of a run whose handler has returned.
func (e *Executor) forget(t *task) {
	t.run.log.close()
	e.mu.Lock()
	e.release(t)
	e.mu.Unlock()
}

// drop ends a run that was taken out of its queue.
func (e *Executor) drop(t *task, cause error) {
	e.decide(t, wire.CodeFail, cause.Error(), cause)
	e.forget(t)
	t.cancel(nil)
}

// end ends a running run from outside and says whether it was still going on.
func (e *Executor) end(t *task, cause error) bool {
	return e.decide(t, wire.CodeFail, cause.Error(), cause)
}

// decide gives the run its result, if it has none yet, and reports it. With a cause the run is also cancelled, and its
// handler gets some time to return before the job goes on without it.
func (e *Executor) decide(t *task, code int, msg string, cause error) bool {
	e.mu.Lock()
	if t.decided {
		e.mu.Unlock()
		return false
	}
	t.decided = true
	t.run.log.ending.Add(1) // before the handler can return, and close the log
	started := t.job.running == t
	e.mu.Unlock()

	if cause != nil {
		t.cancel(cause)
		if started {
			time.AfterFunc(e.config.OverlapGrace, func() { e.detach(t) })
		}
	}
	msg = strings.Clone(cut(msg, maxMessage)) // it may be a part of a large text, and is remembered
	if trouble := t.run.log.end(time.Now(), code, msg); trouble != "" {
		msg = strings.TrimSpace(msg + " " + trouble)
	}
	if code == wire.CodeSuccess {
		e.succeeded.Add(1)
	} else {
		e.failed.Add(1)
	}
	from := ending{}
	errors.As(cause, &from)
	e.report(&wire.Callback{
		LogID: t.run.LogID, LogDateTim: t.run.triggered, HandleCode: code, HandleMsg: msg, Undone: from.was, Outputs: t.run.outputs(), Node: t.run.node,
	}, t.run.keep)
	return true
}

// leave lets go of a run whose result comes from elsewhere, unless it has one already.
func (e *Executor) leave(t *task) bool {
	e.mu.Lock()
	if t.decided {
		e.mu.Unlock()
		return false
	}
	t.decided = true
	e.mu.Unlock()
	t.run.log.line(time.Now(), 0, "----------- the handler has returned; the result is reported later -----------")
	e.journal.acknowledged([]*wire.Callback{{LogID: t.run.LogID}})
	return true
}

// report puts a result, whose times are not set but that of its run, into the journal and on its way to an admin.
func (e *Executor) report(cb *wire.Callback, keep *wire.OutputWish) {
	ended := time.Now()
	cb.LogDateTime, cb.Ended = cb.LogDateTim, ended.UnixMilli()
	res := result{cb: cb, ended: ended, safe: e.journal.finished(cb)}
	if keep.Wants(cb.HandleCode) {
		res.wish = keep
	}
	e.reporter.add(res)
}

// detach lets the job go on although the ended run's handler has not returned.
func (e *Executor) detach(t *task) {
	e.mu.Lock()
	if t.job.running != t || t.detached || e.live[t.run.LogID] != t {
		e.mu.Unlock()
		return
	}
	t.detached = true
	e.mu.Unlock()

	// Before the next run begins, whose log tells of this one.
	const text = "----------- the run has ended but its handler goes on: it does not listen to its context -----------"
	t.run.log.line(time.Now(), 0, text)
	e.logger.Warn("a handler ignores that its run has ended", "job_id", t.run.JobID, "log_id", t.run.LogID, "error", context.Cause(t.ctx))

	e.mu.Lock()
	defer e.mu.Unlock()
	j := t.job
	j.running = nil
	if len(j.waiting) == 0 {
		delete(e.jobs, j.id)
		return
	}
	j.waiting[0].beside = t.run.LogID
	e.workers.Go(func() { e.work(j) })
}

// cut shortens s to n characters and says so.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "..."
		}
		count++
	}
	return s
}
