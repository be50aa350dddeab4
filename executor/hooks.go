package executor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// HandlerSpec is a handler with what it needs around it, for [Executor.HandleWith].
type HandlerSpec struct {
	Run Handler
	// ParamIsCode says that the handler does what its parameter says, as a command line does. A Punctual admin then lets only
	// those change the parameter who may write scripts; see the registration.
	ParamIsCode bool
	// Init, if there is one, is called once before the handler's first run, to open what all its runs share. Runs wait
	// for it. When it fails, so do they, and the next run calls it again. Its ctx ends when the executor stops, not with
	// the run that happened to be the first: what Init starts may keep it.
	Init func(ctx context.Context) error
	// Destroy, if there is one, is called once when the executor drains or stops, after the last run has returned, if
	// Init has succeeded (or there is none and the handler was used). It has some seconds; its error is logged. It is
	// not called while a run of the handler goes on that does not listen to its context.
	Destroy func(ctx context.Context) error
}

// hooked calls the hooks of one handler.
type hooked struct {
	name string
	spec HandlerSpec
	ex   *Executor

	mu      sync.Mutex
	ready   bool     // Init has succeeded
	attempt *attempt // an Init that is going on
	runs    int      // that have not returned
}

// attempt is one call of Init, which any number of runs wait for.
type attempt struct {
	done chan struct{} // closed when err is set
	err  error
}

// run is the handler that the executor sees.
func (h *hooked) run(ctx context.Context, run *Run) error {
	h.mu.Lock()
	h.runs++
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.runs--
		h.mu.Unlock()
	}()
	if err := h.prepare(ctx); err != nil {
		return err
	}
	return h.spec.Run(ctx, run)
}

// prepare returns when Init has succeeded. It gives up with the run's context; the Init goes on for the next run.
func (h *hooked) prepare(ctx context.Context) error {
	h.mu.Lock()
	if h.ready || h.spec.Init == nil {
		h.ready = true
		h.mu.Unlock()
		return nil
	}
	if h.attempt == nil {
		a := &attempt{done: make(chan struct{})}
		h.attempt = a
		h.ex.hooks.Go(func() {
			err := errors.New("init ended its goroutine")
			defer func() {
				h.mu.Lock()
				a.err, h.ready, h.attempt = err, err == nil, nil
				h.mu.Unlock()
				close(a.done)
			}()
			err = callHook(h.ex.hookCtx, "init", h.spec.Init)
		})
	}
	a := h.attempt
	h.mu.Unlock()
	select {
	case <-a.done:
		if a.err != nil {
			return fmt.Errorf("handler init: %w", a.err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// destroy calls the hook if there is something to destroy.
func (h *hooked) destroy(ctx context.Context) error {
	h.mu.Lock()
	ready, runs := h.ready, h.runs
	h.ready = false
	h.mu.Unlock()
	switch {
	case !ready || h.spec.Destroy == nil:
		return nil
	case runs > 0:
		return errors.New("left out, because a run of the handler has not returned")
	}
	return callHook(ctx, "destroy", h.spec.Destroy)
}

// callHook calls a hook; a panic is an error.
func callHook(ctx context.Context, what string, hook func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %v\n%s", what, p, debug.Stack())
		}
	}()
	return hook(ctx)
}

// endHooks calls the handlers' Destroy, all at once, and waits for them until ctx ends.
func (e *Executor) endHooks(ctx context.Context) {
	e.stopHooks()
	e.handlersMu.RLock()
	hooks := append([]*hooked(nil), e.hooked...)
	e.handlersMu.RUnlock()
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		e.hooks.Wait() // an Init that is still going on
		var wg group
		for _, h := range hooks {
			wg.Go(func() {
				if err := h.destroy(ctx); err != nil {
					e.logger.Warn("destroy handler", "handler", h.name, "error", err)
				}
			})
		}
		wg.Wait()
	}()
	select {
	case <-returned:
	case <-ctx.Done():
		e.logger.Warn("some handlers' init or destroy did not return", "group", e.config.AppName)
	}
}
