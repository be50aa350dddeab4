// Package live has a client that holds a connection open see what changes, as server-sent events: the console's pages, and programs with
// API v1.
package live

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/punctual-job/punctual/app/auth"
)

const (
	// heartbeat keeps proxies from closing a quiet stream, finds clients that are gone, and lets a page find an admin that is (stream.js).
	heartbeat = 5 * time.Second
	// paceMin is the least time between two looks at the database for one stream: changes come by the thousand.
	paceMin           = 500 * time.Millisecond
	maxStreams        = 500
	maxStreamsPerUser = 30 // a browser tab has one at a time
)

// WriteWait bounds one write to a client that has stopped reading.
const WriteWait = 10 * time.Second

// Recheck is how often a stream asks whether its session or token still counts, and with which rights: what somebody may not see any
// more leaves their screen within 5 s.
const Recheck = 3 * time.Second

// PaceMax is the longest time between two looks: other admins' changes send no signal here.
const PaceMax = 2 * time.Second

// Streams are the open streams of an admin. They are safe for concurrent use.
type Streams struct {
	closing <-chan struct{}

	mu     sync.Mutex
	all    int
	byUser map[int64]int
}

// New makes it, for streams that end when a channel is closed.
func New(closing <-chan struct{}) *Streams {
	return &Streams{closing: closing, byUser: make(map[int64]int)}
}

// Enter counts a stream of a user, unless there are too many. Leave ends what it began.
func (l *Streams) Enter(user int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= maxStreams || l.byUser[user] >= maxStreamsPerUser {
		return false
	}
	l.all++
	l.byUser[user]++
	return true
}

// Leave is called once for each Enter that said yes.
func (l *Streams) Leave(user int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.byUser[user]--; l.byUser[user] == 0 {
		delete(l.byUser, user)
	}
}

// Stream writes server-sent events.
type Stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	wrote   time.Time
}

// NewStream writes to a response whose header is still to be sent.
func NewStream(w http.ResponseWriter) *Stream {
	return &Stream{w: w, control: http.NewResponseController(w)}
}

// Send writes one event. The id is what the client says it has seen when it comes again; empty for none.
func (s *Stream) Send(event, id string, data []byte) error {
	var buf bytes.Buffer
	buf.WriteString("event: " + event + "\n")
	if id != "" {
		buf.WriteString("id: " + id + "\n")
	}
	for line := range bytes.SplitSeq(bytes.ReplaceAll(data, []byte("\r"), nil), []byte("\n")) {
		buf.WriteString("data: ")
		buf.Write(line)
		buf.WriteByte('\n')
	}
	buf.WriteByte('\n')
	return s.write(buf.Bytes())
}

// Beat says that the connection lives, and nothing else.
func (s *Stream) Beat() error { return s.write([]byte("event: beat\ndata:\n\n")) }

func (s *Stream) write(p []byte) error {
	s.wrote = time.Now()
	_ = s.control.SetWriteDeadline(s.wrote.Add(WriteWait)) // a recorder in a test has none
	if _, err := s.w.Write(p); err != nil {
		return err
	}
	return s.control.Flush()
}

// Watcher is what a stream shows.
type Watcher interface {
	// Look is one look at it. It sends what changed and says whether the stream has come to its end, and after how long to look
	// again at the latest.
	Look(ctx context.Context, s *Stream) (ended bool, next time.Duration, err error)
	// As has the next looks be those of somebody with other rights.
	As(ctx context.Context, p auth.Principal) error
}

// Follow answers a request with a stream, and looks again whenever there is a signal, at most twice a second, and at least as often as the
// last look asked for. It returns when the client leaves, the session or token or the process ends, or there is no more to come. What is
// shown follows the rights of who watches, whom again finds anew.
func (l *Streams) Follow(w http.ResponseWriter, r *http.Request, p auth.Principal, again func() (auth.Principal, error), signal <-chan struct{}, watched Watcher) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep the events to itself
	w.WriteHeader(http.StatusOK)
	s := NewStream(w)
	if err := s.Beat(); err != nil {
		return nil
	}
	checked := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.closing:
			return nil
		case <-timer.C:
		}
		if time.Since(checked) >= Recheck {
			now, err := again()
			if err != nil {
				return nil
			}
			if !now.SameRights(p) {
				if err := watched.As(ctx, now); err != nil {
					return err
				}
				p = now
			}
			checked = time.Now()
		}
		ended, next, err := watched.Look(ctx, s)
		switch {
		case ended:
			return s.Send("end", "", nil)
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			return err // it is logged; the client comes again
		}
		if time.Since(s.wrote) >= heartbeat {
			if err := s.Beat(); err != nil {
				return nil
			}
		}
		if !l.pause(ctx, signal, min(next, Recheck-time.Since(checked), heartbeat-time.Since(s.wrote))) {
			return nil
		}
		timer.Reset(0)
	}
}

// pause waits for a signal or the time of the next look, and in any case for the least pace. It says whether to go on.
func (l *Streams) pause(ctx context.Context, signal <-chan struct{}, next time.Duration) bool {
	least := time.NewTimer(paceMin)
	defer least.Stop()
	most := time.NewTimer(max(next, paceMin))
	defer most.Stop()
	select {
	case <-least.C:
	case <-ctx.Done():
		return false
	case <-l.closing:
		return false
	}
	select {
	case <-signal:
	case <-most.C:
	case <-ctx.Done():
		return false
	case <-l.closing:
		return false
	}
	return true
}
