package wire

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Redialling makes new connections for all requests once one had no answer in time. Where a way is broken without a word, a connection that
// is kept leads nowhere, and one of HTTP/2 would be taken for every request until the operating system gives it up, a quarter of an hour later.
type Redialling struct {
	mu       sync.Mutex
	now, old *http.Transport // old: the one before, over which requests may be under way; nil: none
}

// NewRedialling makes requests by t, and by others like it.
func NewRedialling(t *http.Transport) *Redialling { return &Redialling{now: t} }

func (r *Redialling) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	t := r.now
	r.mu.Unlock()
	resp, err := t.RoundTrip(req)
	if err != nil && late(req.Context()) {
		r.leave(t)
	}
	return resp, err
}

// late says whether the time of a call is over. Of the context of an [http.Client] with a Timeout its deadline knows it first.
func late(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return limited && !time.Now().Before(deadline)
}

// leave has other connections made than those of t.
func (r *Redialling) leave(t *http.Transport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now != t {
		return
	}
	if r.old != nil {
		r.old.CloseIdleConnections()
	}
	r.now, r.old = t.Clone(), t
	t.CloseIdleConnections()
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] reach all.
func (r *Redialling) CloseIdleConnections() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.CloseIdleConnections()
	if r.old != nil {
		r.old.CloseIdleConnections()
	}
}
