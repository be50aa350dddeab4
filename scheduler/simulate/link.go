package simulate

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// errGone is what the calls of a node that was killed get. Nobody is left to hear it.
var errGone = errors.New("simulate: this process was killed")

// A server ends a transaction whose client stays silent for idleLimit, and lets a statement wait for a lock for lockLimit.
const (
	idleLimit = 2500 * time.Millisecond
	lockLimit = 2 * time.Second
)

// trouble is how likely what goes wrong is, for each statement or call of a node while a fault lasts.
type trouble struct {
	cutBefore float64       // the connection breaks before the statement, or the commit, arrives
	cutAfter  float64       // it breaks after it was carried out: the answer is lost
	conflict  float64       // error 1213: the transaction is gone
	stall     float64       // the statement takes up to stallFor
	stallFor  time.Duration //
	away      bool          // no connection can be had, and those there are break
	hole      bool          // packets to and from the node vanish
	lost      float64       // a call to an executor never arrives
	unheard   float64       // it arrives, the answer does not
	slow      float64       // the answer takes up to slowFor, longer than anybody waits
	slowFor   time.Duration //
	late      float64       // a call arrives after its caller has given up
}

func (t trouble) plus(o trouble) trouble {
	return trouble{
		cutBefore: t.cutBefore + o.cutBefore, cutAfter: t.cutAfter + o.cutAfter, conflict: t.conflict + o.conflict,
		stall: t.stall + o.stall, stallFor: max(t.stallFor, o.stallFor), away: t.away || o.away, hole: t.hole || o.hole,
		lost: t.lost + o.lost, unheard: t.unheard + o.unheard, slow: t.slow + o.slow, slowFor: max(t.slowFor, o.slowFor),
		late: t.late + o.late,
	}
}

// link is everything between one process of a node and the rest of the world: its database connections, its calls to
// executors and theirs to it all go through here, and so do its faults. The faults of a link are drawn from its own stream
// of numbers.
type link struct {
	w    *world
	name string

	mu       sync.Mutex
	rng      *rand.Rand
	troubles map[int]trouble // under way, by number
	sum      trouble
	thaw     chan struct{} // closed when the process goes on; nil while it is not frozen
	healed   chan struct{} // closed when packets go through again; nil while they do
	dead     bool
	gone     chan struct{} // closed when the process is killed
	open     map[*conn]struct{}
	offset   time.Duration // of its wall clock
}

func newLink(w *world, name string, rng *rand.Rand) *link {
	return &link{w: w, name: name, rng: rng, troubles: make(map[int]trouble), gone: make(chan struct{}), open: make(map[*conn]struct{})}
}

// now is the node's wall clock.
func (l *link) now() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Add(l.offset)
}

func (l *link) step(offset time.Duration) {
	l.mu.Lock()
	l.offset = offset
	l.mu.Unlock()
}

// begin adds a trouble; end takes it away.
func (l *link) begin(number int, t trouble) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.troubles[number] = t
	l.resum()
}

func (l *link) end(number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.troubles, number)
	l.resum()
}

func (l *link) resum() {
	l.sum = trouble{}
	for _, t := range l.troubles {
		l.sum = l.sum.plus(t)
	}
	switch {
	case l.sum.hole && l.healed == nil:
		l.healed = make(chan struct{})
	case !l.sum.hole && l.healed != nil:
		close(l.healed)
		l.healed = nil
	}
}

// holed reports whether packets vanish now.
func (l *link) holed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum.hole
}

func (l *link) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.thaw == nil {
		l.thaw = make(chan struct{})
	}
}

func (l *link) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.thaw != nil {
		close(l.thaw)
		l.thaw = nil
	}
}

// kill ends the process: nothing of it goes out any more, and the server rolls back what it had open.
func (l *link) kill() {
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return
	}
	l.dead = true
	close(l.gone)
	open := slices.Collect(maps.Keys(l.open))
	l.mu.Unlock()
	for _, c := range open {
		c.expire()
	}
}

// up reports whether the process answers at all.
func (l *link) up() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.dead
}

// pass holds a call back while the process is frozen. What a frozen process does in memory goes on here, unlike in life: no
// effect of it leaves, and it goes on with what it knew.
func (l *link) pass(ctx context.Context) error {
	for {
		l.mu.Lock()
		dead, thaw := l.dead, l.thaw
		l.mu.Unlock()
		if dead {
			return errGone
		}
		if thaw == nil {
			return nil
		}
		select {
		case <-thaw:
		case <-l.gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sleep waits, unless the process is killed or the call given up.
func (l *link) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-l.gone:
		return errGone
	case <-ctx.Done():
		return ctx.Err()
	}
}

// vanish waits until packets go through again, for as long as a driver waits for an answer.
func (l *link) vanish(ctx context.Context) error {
	l.mu.Lock()
	healed := l.healed
	l.mu.Unlock()
	if healed == nil {
		return nil
	}
	timer := time.NewTimer(10 * time.Second)
	defer timer.Stop()
	select {
	case <-healed:
	case <-timer.C:
	case <-l.gone:
	case <-ctx.Done():
		return ctx.Err()
	}
	return mysql.ErrInvalidConn
}

// fate is what becomes of one statement.
type fate struct {
	latency   time.Duration
	stall     time.Duration // before it is carried out, or behind
	behind    bool          // stall and hole come after it was carried out
	cutBefore bool
	cutAfter  bool
	conflict  bool
	away      bool
	hole      bool
}

func (l *link) draw() fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, t := l.rng, &l.sum
	f := fate{latency: time.Duration(100+r.IntN(400)) * time.Microsecond, away: t.away, hole: t.hole}
	if t.cutBefore+t.cutAfter+t.conflict+t.stall == 0 && !t.hole {
		return f
	}
	f.behind = r.IntN(2) == 0
	switch x := r.Float64(); {
	case x < t.cutBefore:
		f.cutBefore = true
	case x < t.cutBefore+t.cutAfter:
		f.cutAfter = true
	case x < t.cutBefore+t.cutAfter+t.conflict:
		f.conflict = true
	}
	if r.Float64() < t.stall {
		f.stall = time.Duration(r.Int64N(int64(t.stallFor)))
	}
	return f
}
