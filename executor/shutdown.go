package executor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// Reasons that end up in results; the brackets are upstream's, which people search for.
const (
	reasonKilled   = "scheduling center kill job."
	reasonCovered  = "block strategy effect：Cover Early"
	reasonShutdown = "the executor is shutting down."

	suffixRunning = " [job running, killed]"
	suffixWaiting = " [job not executed, in the job queue, killed.]"
)

// How long an executor that left the registry goes on answering: until nobody has wanted to send it anything for a while.
const (
	lingerQuiet = 500 * time.Millisecond
	lingerMax   = endTimeout
)

// ending is why a run was ended from outside.
type ending struct {
	text string
	why  error
	was  wire.Undone // how far it had come, where a shutdown ended it
}

func (e ending) Error() string { return e.text }

// Unwrap gives [ErrKilled] or one of the others.
func (e ending) Unwrap() error { return e.why }

// errLeaving refuses a run that comes when the executor shuts down.
const errLeaving = refusal("the executor is shutting down, the run is refused")

// endTimeout bounds each of the last steps of a shutdown: leaving the registry, handlers that should return, results.
const endTimeout = 5 * time.Second

// Drain ends the executor gracefully: it leaves the registry, refuses new runs, hands back the ones that wait, lets the
// running ones go on until ctx ends (or [Config.DrainTimeout] passes, when ctx has no deadline), then cancels them, and
// calls the handlers' Destroy and delivers the results. What cannot be delivered is kept in the journal for the next start. It returns nil if every
// run ended by itself and every result was delivered. Where another drain goes on it waits for that, no longer than ctx.
func (e *Executor) Drain(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.config.DrainTimeout)
		defer cancel()
	}
	return e.shutdown(ctx)
}

// Stop ends the executor at once: running runs are cancelled, also those that a drain in another goroutine waits for.
// Otherwise it is like Drain.
func (e *Executor) Stop(ctx context.Context) error {
	e.stopOnce.Do(func() { close(e.stopNow) })
	return e.shutdown(ctx)
}

// shutdown ends an executor once, whoever asks for it.
func (e *Executor) shutdown(ctx context.Context) error {
	e.mu.Lock()
	switch e.state {
	case stateNew:
		e.state = stateClosed
		close(e.closed)
	case stateStarted:
		e.state = stateDraining
		e.mu.Unlock()
		defer close(e.closed)
		return e.endAll(ctx)
	case stateDraining, stateClosed:
	}
	e.mu.Unlock()
	select { // somebody else is at it, or was
	case <-e.closed:
		return nil
	default:
	}
	select {
	case <-e.closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// linger answers until no admin calls any more: one that has not heard yet that the executor left the registry is told, and sends the
// run elsewhere, where it would find a closed door otherwise.
func (e *Executor) linger(ctx context.Context, left time.Time) {
	if len(e.config.Admins) == 0 {
		return
	}
	end := left.Add(lingerMax)
	for {
		now := time.Now()
		e.mu.Lock()
		quiet := e.calledAt
		e.mu.Unlock()
		if quiet.Before(left) {
			quiet = left
		}
		wait := min(quiet.Add(lingerQuiet).Sub(now), end.Sub(now))
		if wait <= 0 {
			return
		}
		select {
		case <-time.After(wait):
		case <-e.stopNow:
			return
		case <-ctx.Done():
			return
		}
	}
}

// endAll is a straight line: each step needs the ones after it still working.
func (e *Executor) endAll(ctx context.Context) error {
	e.mu.Lock()
	waiting := e.takeWaiting(func(*task) bool { return true })
	e.mu.Unlock()
	e.logger.Info("executor is draining", "group", e.config.AppName)

	for _, t := range waiting {
		e.drop(t, ending{reasonShutdown + suffixWaiting, ErrShutdown, wire.UndoneWaiting})
	}
	removed := make(chan struct{})
	go func() { // the registry must not eat into the time the runs have
		defer close(removed)
		e.stopBeat()
		e.beating.Wait() // or its last beat might bring our address back
		e.unregister()
	}()

	errs := e.endRuns(ctx)
	<-removed
	left := time.Now()
	hooks, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	e.endHooks(hooks)
	cancel()

	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	e.reporter.flush(flush)
	cancel()
	if n := e.reporter.undelivered(); n > 0 {
		e.logger.Warn("results are kept until the next start", "count", n)
		errs = append(errs, errors.New("results were not delivered"))
	}
	e.stopLoops()
	e.linger(ctx, left)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	e.close(closing)
	cancel()
	if err := e.putAway(); err != nil {
		errs = append(errs, err)
	}
	e.client.CloseIdleConnections()
	e.mu.Lock()
	e.state = stateClosed
	e.mu.Unlock()
	return errors.Join(errs...)
}

// endRuns waits until the running runs have ended, and cancels those that have not when ctx ends or Stop is called.
func (e *Executor) endRuns(ctx context.Context) (errs []error) {
	patience, giveUp := context.WithCancel(ctx)
	defer giveUp()
	go func() {
		select {
		case <-e.stopNow:
			giveUp()
		case <-patience.Done():
		}
	}()
	returned := make(chan struct{})
	go func() { e.workers.Wait(); close(returned) }()
	select {
	case <-returned:
	case <-patience.Done():
		e.mu.Lock()
		running := e.runningTasks()
		e.mu.Unlock()
		var cancelled atomic.Int64
		var all group // at once: each may have to wait for a disk
		for _, t := range running {
			all.Go(func() {
				if e.end(t, ending{reasonShutdown + suffixRunning, ErrShutdown, wire.UndoneRunning}) {
					cancelled.Add(1)
				}
			})
		}
		all.Wait()
		if n := cancelled.Load(); n > 0 {
			errs = append(errs, fmt.Errorf("%d runs were cancelled", n))
		}
		select {
		case <-returned:
		case <-time.After(e.returning):
			errs = append(errs, errors.New("some handlers did not return"))
		}
	}
	return errs
}

// putAway closes what is in the data folder.
func (e *Executor) putAway() error {
	put := make(chan struct{})
	go func() {
		defer close(put)
		e.services.Wait()
		if e.puller != nil {
			e.puller.finish()
		}
		e.journal.close()
		e.logs.close()
		e.scripts.close()
		unlockDir(e.lock)
	}()
	select {
	case <-put:
	case <-time.After(2 * endTimeout): // a disk may hang, without an error
		e.logger.Error("the data folder does not answer and is left as it is", "data_dir", e.config.DataDir)
		return errors.New("the data folder does not answer")
	}
	return nil
}
