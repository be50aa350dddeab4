package executor

// Middleware makes a handler of a handler, with something to do before, after or around it.
type Middleware func(next Handler) Handler

// Use puts middleware around the handlers of all runs, those of scripts too, whose [Run.Handler] is empty. The first one given is the
// outermost. It counts for runs that arrive after it, so call it before the executor is started. A panic of the handler goes through
// the middleware; the executor makes a failure of it afterwards. What a middleware returns is the run's result. Like [Executor.Handle] it
// panics when there is none.
func (e *Executor) Use(around ...Middleware) {
	for _, m := range around {
		if m == nil {
			panic("executor: Use without a middleware")
		}
	}
	e.handlersMu.Lock()
	defer e.handlersMu.Unlock()
	e.around = append(e.around, around...)
}

// wrap puts the middleware around a handler.
func (e *Executor) wrap(h Handler) Handler {
	e.handlersMu.RLock()
	defer e.handlersMu.RUnlock()
	for i := len(e.around) - 1; i >= 0; i-- {
		h = e.around[i](h)
	}
	return h
}
