package executor

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// job is the queue of one job. It exists while it has something running or waiting.
type job struct {
	id      int64
	worked  bool // has a worker, which it gets when the first of its runs is in the journal
	running *task
	waiting []*task // in the order they will run
}

// task is a run inside the executor. Its fields are set before it is shared, or guarded by Executor.mu, unless they say
// otherwise.
type task struct {
	run      *Run
	job      *job
	handler  Handler
	timeout  time.Duration
	sequence int64
	size     int     // bytes of the request, which the run holds until it is over
	accepted *commit // nil for a resumed run, which is in the journal already
	begun    bool    // the journal knows that it starts

	ctx    context.Context
	cancel context.CancelCauseFunc

	decided  bool  // the result is reported, or the run was refused after all
	beside   int64 // the ended run whose handler goes on while this one starts, if any
	detached bool  // its job goes on without waiting for the handler
}

// maxHeldBytes bounds the memory that the requests of waiting and running runs take; scripts come with each of them.
const maxHeldBytes = 256 << 20

// refusal is an answer to /run other than success.
type refusal string

func (r refusal) Error() string { return string(r) }

// asked is a run that somebody asks for, and what has come of it.
type asked struct {
	req  *wire.RunRequest
	body []byte // kept for as long as the run takes
	task *task
	err  error
}

// admit queues runs, which are not in the journal yet. All are queued at once: a crowd of requests that each took the lock for every run would stand
// in line for it behind the runs that end.
func (e *Executor) admit(runs []asked) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range runs {
		r := &runs[i]
		if r.err != nil {
			continue
		}
		if r.err = e.enqueue(r.task, r.req, r.body); r.err != nil {
			r.task.cancel(nil)
		}
	}
}

// settle returns when admitted runs are in the journal. One that cannot get there is refused after all.
func (e *Executor) settle(runs []asked) {
	for i := range runs {
		r := &runs[i]
		if r.err != nil {
			continue
		}
		if err := r.task.accepted.wait(); err != nil {
			e.takeBack(r.task)
			r.err = refusal(fmt.Sprintf("the run is refused, because the executor cannot write its journal: %v", err))
			continue
		}
		e.accepted.Add(1)
		if r.req.BlockStrategy == wire.BlockCoverEarly {
			e.cover(r.task)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range runs {
		if r := &runs[i]; r.err == nil {
			e.begin(r.task.job)
		}
	}
}

// begin has the runs of a job worked off, unless they were all taken out of its queue. The caller holds mu.
func (e *Executor) begin(j *job) {
	switch {
	case j.worked:
	case len(j.waiting) == 0:
		if e.jobs[j.id] == j { // or it went before, and another came
			delete(e.jobs, j.id)
		}
	default:
		j.worked = true
		e.workers.Go(func() { e.work(j) })
	}
}

// prepare finds what will do the work.
func (e *Executor) prepare(req *wire.RunRequest) (*task, error) {
	var handler Handler
	name := req.ExecutorHandler
	switch {
	case req.GlueType == wire.GlueBean:
		found, ok := e.handler(req.ExecutorHandler)
		if !ok {
			return nil, refusal(fmt.Sprintf("job handler [%s] not found.", req.ExecutorHandler))
		}
		handler = found
	default:
		language, ok := req.GlueType.Info()
		if !ok {
			kind := string(req.GlueType)
			if kind == "" {
				kind = "null"
			}
			return nil, refusal(fmt.Sprintf("glueType[%s] is not valid.", kind))
		}
		if !e.config.GlueEnabled {
			return nil, refusal(fmt.Sprintf("fail, current glue type [%s] not supported.", language.Title))
		}
		if len(language.Commands) == 0 {
			return nil, refusal(fmt.Sprintf("fail, current glue type [%s] not supported: this executor is not a JVM.", language.Title))
		}
		handler = e.scripts.handler(language, req)
		name = language.Title
	}
	now := time.Now()
	planned := time.UnixMilli(cmp.Or(req.PlannedAt, req.LogDateTime))
	run := &Run{
		JobID: req.JobID, LogID: req.LogID, Handler: req.ExecutorHandler, Param: req.ExecutorParams, Planned: planned, Received: now,
		triggered:   req.LogDateTime,
		Shard:       Shard{Index: req.BroadcastIndex, Total: max(req.BroadcastTotal, 1)},
		TraceParent: wire.ParseTraceParent(req.TraceParent),
		log:         e.openLog(req, name), env: req.Environment, keep: req.KeepOutput, node: req.Node,
	}
	t := &task{run: run, handler: e.wrap(handler), timeout: time.Duration(req.TimeoutSeconds) * time.Second}
	t.ctx, t.cancel = context.WithCancelCause(context.WithValue(context.Background(), runKey{}, run))
	return t, nil
}

// openLog is a run's log, in which its secrets do not stand. handler is what it calls what does the work.
func (e *Executor) openLog(req *wire.RunRequest, handler string) *runLog {
	l := e.logs.open(req.LogID, time.UnixMilli(req.LogDateTime))
	l.handler, l.mask = handler, newMasker(req.Masks)
	return l
}

// enqueue puts the run at the end of its job's queue, so that it counts (for duplicates, for block strategies) from this moment on. It is to
// be settled. The caller holds mu.
func (e *Executor) enqueue(t *task, req *wire.RunRequest, body []byte) error {
	if e.state != stateStarted {
		return errLeaving
	}
	j := e.jobs[t.run.JobID]
	busy := j != nil
	switch {
	case e.live[t.run.LogID] != nil, e.seen.repeats(t.run.LogID, req.LogDateTime): // before any other reason: it says that the run is here
		return refusal(fmt.Sprintf("repeat trigger job, logId:%d", t.run.LogID))
	case busy && req.BlockStrategy == wire.BlockDiscardLater:
		return refusal("block strategy effect：Discard Later")
	case busy && len(j.waiting) >= e.config.QueueLimit:
		return refusal(fmt.Sprintf("the queue of job %d is full: %d runs wait", t.run.JobID, len(j.waiting)))
	case len(e.live) >= e.config.MaxRuns:
		return refusal(fmt.Sprintf("the executor is full: %d runs wait or run", len(e.live)))
	case e.held+len(body) > maxHeldBytes:
		return refusal(fmt.Sprintf("the executor is full: the requests of %d runs take %d bytes", len(e.live), e.held))
	case e.reporter.full():
		return refusal(fmt.Sprintf("the executor is full: %d results wait for an admin", e.reporter.undelivered()))
	case !e.seen.add(t.run.LogID, req.LogDateTime):
		return refusal(fmt.Sprintf("repeat trigger job, logId:%d", t.run.LogID))
	}
	t.begun, t.size = !busy, len(body)
	t.accepted = e.journal.accept(t.run.LogID, req.LogDateTime, body, t.begun)
	e.queue(t)
	return nil
}

// queue adds t to its job, made if need be. The caller holds mu.
func (e *Executor) queue(t *task) {
	j := e.jobs[t.run.JobID]
	if j == nil {
		j = &job{id: t.run.JobID}
		e.jobs[j.id] = j
	}
	e.sequence++
	t.job, t.sequence = j, e.sequence
	j.waiting = append(j.waiting, t)
	e.live[t.run.LogID] = t
	e.held += t.size
}

// takeBack removes a run that could not be recorded. A worker may hold it already, if it is not the first of its job; it looks at decided
// before it begins.
func (e *Executor) takeBack(t *task) {
	e.seen.remove(t.run.LogID)
	e.mu.Lock()
	defer e.mu.Unlock()
	t.decided = true
	e.release(t)
	for i, w := range t.job.waiting {
		if w == t {
			t.job.waiting = append(t.job.waiting[:i], t.job.waiting[i+1:]...)
			break
		}
	}
	e.begin(t.job) // those that came after it may be in the journal nevertheless
	t.cancel(nil)
}

// release forgets a run that is over. The caller holds mu.
func (e *Executor) release(t *task) {
	if e.live[t.run.LogID] == t {
		delete(e.live, t.run.LogID)
		e.held -= t.size
	}
}

// cover ends everything of the job that came before t.
func (e *Executor) cover(t *task) {
	e.mu.Lock()
	j := t.job
	dropped := e.takeWaitingOf(j, func(w *task) bool { return w.sequence < t.sequence })
	running := j.running
	e.mu.Unlock()
	for _, w := range dropped {
		e.drop(w, ending{text: reasonCovered + suffixWaiting, why: ErrCovered})
	}
	if running != nil && running.sequence < t.sequence {
		e.end(running, ending{text: reasonCovered + suffixRunning, why: ErrCovered})
	}
}

// kill ends the runs of a job, or only run logID if that is not zero, and says whether there was any.
func (e *Executor) kill(jobID, logID int64) bool {
	wanted := func(t *task) bool { return t.run.JobID == jobID && (logID == 0 || t.run.LogID == logID) }
	e.mu.Lock()
	var dropped []*task
	var running *task
	if j := e.jobs[jobID]; j != nil {
		dropped = e.takeWaitingOf(j, wanted)
		if j.running != nil && wanted(j.running) {
			running = j.running
		}
	}
	e.mu.Unlock()
	for _, t := range dropped {
		e.drop(t, ending{text: reasonKilled + suffixWaiting, why: ErrKilled})
	}
	return (running != nil && e.end(running, ending{text: reasonKilled + suffixRunning, why: ErrKilled})) || len(dropped) > 0
}

// busy says whether a job has something running or waiting.
func (e *Executor) busy(jobID int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.jobs[jobID] != nil
}

// takeWaiting removes the wanted runs from all queues. The caller holds mu.
func (e *Executor) takeWaiting(wanted func(*task) bool) []*task {
	var taken []*task
	for _, j := range e.jobs {
		taken = append(taken, e.takeWaitingOf(j, wanted)...)
	}
	return taken
}

// takeWaitingOf removes the wanted runs from the job's queue. The caller holds mu.
func (e *Executor) takeWaitingOf(j *job, wanted func(*task) bool) (taken []*task) {
	kept := j.waiting[:0]
	for _, t := range j.waiting {
		if wanted(t) {
			taken = append(taken, t)
		} else {
			kept = append(kept, t)
		}
	}
	clear(j.waiting[len(kept):])
	j.waiting = kept
	return taken
}

// runningTasks lists the runs that have begun. The caller holds mu.
func (e *Executor) runningTasks() []*task {
	var running []*task
	for _, j := range e.jobs {
		if j.running != nil {
			running = append(running, j.running)
		}
	}
	return running
}

// liveLog is the log of a run that is waiting, running, or has a handler that did not return; nil for any other.
func (e *Executor) liveLog(logID int64) *runLog {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.live[logID]; t != nil {
		return t.run.log
	}
	return nil
}
