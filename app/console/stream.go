package console

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
)

const (
	// writeWait bounds one write to a browser that has stopped reading.
	writeWait = 10 * time.Second
	// heartbeat keeps proxies from closing a quiet stream, and finds browsers that are gone.
	heartbeat = 15 * time.Second
	// paceMin is the least time between two looks at the database for one stream: changes come by the thousand.
	paceMin = 500 * time.Millisecond
	// paceMax is the most: other admins' changes send no signal here.
	paceMax = 2 * time.Second
	// recheck is how often a stream asks whether its session still is, and with which rights: what somebody may not see any more
	// leaves their screen within 5 s.
	recheck = 3 * time.Second

	maxStreams        = 500
	maxStreamsPerUser = 30 // a browser tab has one at a time
)

// streamLimit counts open streams.
type streamLimit struct {
	mu     sync.Mutex
	all    int
	byUser map[int64]int
}

func newStreamLimit() *streamLimit { return &streamLimit{byUser: make(map[int64]int)} }

func (l *streamLimit) enter(user int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= maxStreams || l.byUser[user] >= maxStreamsPerUser {
		return false
	}
	l.all++
	l.byUser[user]++
	return true
}

func (l *streamLimit) leave(user int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.byUser[user]--; l.byUser[user] == 0 {
		delete(l.byUser, user)
	}
}

// stream writes server-sent events.
type stream struct {
	w       *echo.Response
	control *http.ResponseController
	wrote   time.Time
}

// send writes one event. The id is what the browser says it has seen; empty for none.
func (s *stream) send(ctx context.Context, event, id string, component templ.Component) error {
	var buf bytes.Buffer
	buf.WriteString("event: " + event + "\n")
	if id != "" {
		buf.WriteString("id: " + id + "\n")
	}
	var body bytes.Buffer
	if component != nil {
		if err := component.Render(ctx, &body); err != nil {
			return fmt.Errorf("render event: %w", err)
		}
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(body.String(), "\r", ""), "\n") {
		buf.WriteString("data: " + line + "\n")
	}
	buf.WriteByte('\n')
	return s.write(buf.Bytes())
}

// beat says that the connection lives, and nothing else.
func (s *stream) beat() error { return s.write([]byte("event: beat\ndata:\n\n")) }

func (s *stream) write(p []byte) error {
	s.wrote = time.Now()
	_ = s.control.SetWriteDeadline(s.wrote.Add(writeWait)) // a recorder in a test has none
	if _, err := s.w.Write(p); err != nil {
		return err
	}
	return s.control.Flush()
}

// watcher is what a stream shows.
type watcher interface {
	// look is one look at it. It sends what changed and says whether the stream has come to its end, and after how long to look
	// again at the latest.
	look(ctx context.Context, s *stream) (ended bool, next time.Duration, err error)
	// as has the next looks be those of somebody with other rights.
	as(ctx context.Context, p auth.Principal) error
}

// follow opens a stream and looks again whenever the engine signals, at most twice a second, and at least as often as the
// last look asked for. It returns when the browser leaves, the session or the process ends, or there is no more to come. What
// is shown follows the rights of who watches.
func (c *runPages) follow(ec echo.Context, signal <-chan struct{}, watched watcher) error {
	p := who(ec)
	if !c.streams.enter(p.UserID) {
		return problem.New(problem.TooMany, "problem.streams")
	}
	defer c.streams.leave(p.UserID)
	ctx, cancel := context.WithCancel(ec.Request().Context())
	defer cancel()
	w := ec.Response()
	w.Header().Set(echo.HeaderContentType, "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep the events to itself
	w.WriteHeader(http.StatusOK)
	s := &stream{w: w, control: http.NewResponseController(w)}
	if err := s.beat(); err != nil {
		return nil
	}
	checked := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.closing:
			return nil
		case <-timer.C:
		}
		if time.Since(checked) >= recheck {
			now, err := c.sessions.Look(ec.Request())
			if err != nil {
				return nil
			}
			if !now.SameRights(p) {
				if err := watched.as(ctx, now); err != nil {
					return err
				}
				p = now
			}
			checked = time.Now()
		}
		ended, next, err := watched.look(ctx, s)
		switch {
		case ended:
			return s.send(ctx, "end", "", nil)
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			return err // it is logged; the browser comes again
		}
		if time.Since(s.wrote) >= heartbeat {
			if err := s.beat(); err != nil {
				return nil
			}
		}
		if !c.pause(ctx, signal, min(next, recheck-time.Since(checked))) {
			return nil
		}
		timer.Reset(0)
	}
}

// pause waits for a signal or the time of the next look, and in any case for the least pace. It says whether to go on.
func (c *runPages) pause(ctx context.Context, signal <-chan struct{}, next time.Duration) bool {
	least := time.NewTimer(paceMin)
	defer least.Stop()
	most := time.NewTimer(max(next, paceMin))
	defer most.Stop()
	select {
	case <-least.C:
	case <-ctx.Done():
		return false
	case <-c.closing:
		return false
	}
	select {
	case <-signal:
	case <-most.C:
	case <-ctx.Done():
		return false
	case <-c.closing:
		return false
	}
	return true
}
