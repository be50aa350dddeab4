package scheduler

import "sync"

// hub tells open pages that runs changed. It carries no data: a page reads what it shows, so nothing is lost when a
// signal is merged with the next.
type hub struct {
	mu   sync.Mutex
	subs map[*subscription]struct{}
}

type subscription struct {
	run    int64 // 0: any
	signal chan struct{}
}

func newHub() *hub { return &hub{subs: make(map[*subscription]struct{})} }

func (h *hub) subscribe(run int64) (<-chan struct{}, func()) {
	s := &subscription{run: run, signal: make(chan struct{}, 1)}
	h.mu.Lock()
	h.subs[s] = struct{}{}
	h.mu.Unlock()
	return s.signal, func() {
		h.mu.Lock()
		delete(h.subs, s)
		h.mu.Unlock()
	}
}

func (h *hub) changed(runs ...int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		hit := s.run == 0
		for _, id := range runs {
			hit = hit || s.run == id
		}
		if hit {
			select {
			case s.signal <- struct{}{}:
			default:
			}
		}
	}
}

// Subscribe signals, merged, that some run was created or changed on this node. Other admins' changes are not seen: a
// page polls slowly beside it.
func (e *Engine) Subscribe() (events <-chan struct{}, cancel func()) { return e.hub.subscribe(0) }

func (e *Engine) SubscribeRun(logID int64) (events <-chan struct{}, cancel func()) {
	return e.hub.subscribe(logID)
}
