package executor

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Reasons that end up in results; the brackets are upstream's, which people search for.
const (
	reasonKilled   = "scheduling center kill job."
	reasonCovered  = "block strategy effect：Cover Early"
	reasonShutdown = "the executor is shutting down."

	suffixRunning = " [job running, killed]"
	suffixWaiting = " [job not executed, in the job queue, killed.]"
)

// endTimeout bounds each of the last steps of a shutdown: leaving the registry, handlers that should return, results.
const endTimeout = 5 * time.Second

// Drain ends the executor gracefully: it leaves the registry, refuses new runs, hands back the ones that wait, lets the
// running ones go on until ctx ends (or [Config.DrainTimeout] passes, when ctx has no deadline), then cancels them, and
// calls the handlers' Destroy and delivers the results. What cannot be delivered is kept in the journal for the next start. It returns nil if every
// run ended by itself and every result was delivered.
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
	e.hurryOnce.Do(func() { close(e.hurry) })
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
	<-e.closed // somebody else is at it, or was
	return nil
}

// endAll is a straight line: each step needs the ones after it still working.
func (e *Executor) endAll(ctx context.Context) error {
	e.mu.Lock()
	waiting := e.takeWaiting(func(*task) bool { return true })
	e.mu.Unlock()
	e.logger.Info("executor is draining", "group", e.config.AppName)

	for _, t := range waiting {
		e.drop(t, reasonShutdown+suffixWaiting)
	}
	removed := make(chan struct{})
	go func() { // the registry must not eat into the time the runs have
		defer close(removed)
		e.stopBeat()
		e.beating.Wait() // or its last beat might bring our address back
		e.unregister()
	}()

	patience, giveUp := context.WithCancel(ctx)
	defer giveUp()
	go func() {
		select {
		case <-e.hurry:
			giveUp()
		case <-patience.Done():
		}
	}()
	var errs []error
	returned := make(chan struct{})
	go func() { e.workers.Wait(); close(returned) }()
	select {
	case <-returned:
	case <-patience.Done():
		e.mu.Lock()
		running := e.runningTasks()
		e.mu.Unlock()
		cancelled := 0
		for _, t := range running {
			if e.end(t, reasonShutdown+suffixRunning) {
				cancelled++
			}
		}
		if cancelled > 0 {
			errs = append(errs, fmt.Errorf("%d runs were cancelled", cancelled))
		}
		select {
		case <-returned:
		case <-time.After(endTimeout):
			errs = append(errs, errors.New("some handlers did not return"))
		}
	}
	<-removed
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	e.endHooks(ending)
	cancel()

	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	e.reporter.flush(flush)
	cancel()
	if n := e.reporter.undelivered(); n > 0 {
		e.logger.Warn("results are kept until the next start", "count", n)
		errs = append(errs, errors.New("results were not delivered"))
	}
	e.stopLoops()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	if e.server.Shutdown(closing) != nil {
		_ = e.server.Close()
	}
	cancel()
	e.services.Wait()
	e.journal.close()
	e.logs.close()
	e.scripts.close()
	_ = e.lock.Close()
	e.client.CloseIdleConnections()
	e.mu.Lock()
	e.state = stateClosed
	e.mu.Unlock()
	return errors.Join(errs...)
}
