package cluster

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-job/punctual/db"
)

// fenceShare is the part of a lease after which a node that could not renew it stops acting, before anybody may take its
// runs: the rest is the time a send that has begun needs to arrive.
const fenceShare = 0.6

// keepGone is how long a node that is gone is still looked after: a claim that was in its commit when the node was
// declared gone may become visible a little later.
const keepGone = 10 * time.Minute

// Node is this admin's place in the cluster.
//
// Each admin counts up a number in its own row of punctual_node. The others judge it by that number alone, on their own
// monotonic clock: unchanged for the length of a lease means gone. So no clocks are compared. Declaring a node gone is an
// update guarded by the number, and a node whose own renewal finds its row declared gone drops all it had planned and joins
// anew under another id; what it had claimed belongs to whoever takes it over.
type Node struct {
	cfg     Config
	log     *slog.Logger
	queries *db.Queries
	clock   *clock

	starting sync.Mutex         // guards the two below
	cancel   context.CancelFunc // nil while there is no beat
	ended    chan struct{}      // closed when the last start's loop has ended

	id        atomic.Int64
	beatAt    atomic.Int64 // when the last renewal that succeeded began, nanoseconds since start
	asleep    atomic.Int64 // what slept said then, nanoseconds
	start     time.Time
	peers     map[int64]*peer
	goneNodes map[int64]*goneNode // by node, while this one leads; used by the beat loop only

	watched map[int64]*watch // nodes that are gone, whoever declared them so; used by the beat loop only

	beatNow chan struct{} // capacity 1: the others must hear something soon
	others  atomic.Bool   // whether there are others
	left    atomic.Bool   // it has stopped

	mu       sync.RWMutex
	living   []int64 // ids of the nodes that beat, this one included, also of those that are stopping
	alive    []int64 // those of them that share the work
	claiming []int64 // those of these that share the claims: not one that says that it is stuck
}

// watch says when to look again for unsent runs of a node that is gone: the longer it has been gone, the less often. What was in
// its commit becomes visible soon or never, and a look may read many runs that others have open.
type watch struct {
	since, next time.Time
}

func (w *watch) due(now time.Time) bool { return !now.Before(w.next) }

// looked puts off the next look by a quarter of the time for which the node has been gone.
func (w *watch) looked(now time.Time) { w.next = now.Add(now.Sub(w.since) / 4) }

// unrecorded is the state of a node that is gone and may have sent what it did not record.
const unrecorded = 2

// goneNode is what is left to do for such a node: to note as sent what it sent.
type goneNode struct {
	top  int64     // no run of it has a higher id
	next time.Time // when to look
	last bool      // the next look is the last
}

// resultsAfter is how long after a node's death the results of what it sent last have come, except for runs that go on:
// those are open, and taken over.
const resultsAfter = 30 * time.Second

// peer is what this node has seen of another.
type peer struct {
	beat  int64
	since time.Time // when beat was first seen
	looks int       // how often it has been seen unchanged
}

// join makes a new row and so a new id.
func (n *Node) join(ctx context.Context) error {
	began, asleep := time.Now(), n.cfg.Slept()
	ms := n.Now().UnixMilli()
	pool := n.cfg.Pool
	if pool.Alone() {
		// The file is locked by this process, so whoever else is in the table is gone.
		nodes, err := n.queries.ListNodes(ctx, pool)
		if err != nil {
			return err
		}
		for _, other := range nodes {
			if other.State == 1 {
				if _, err := n.queries.RetireNode(ctx, pool, db.RetireNodeParams{ID: other.ID, Beat: other.Beat}); err != nil {
					return err
				}
			}
		}
	}
	if !pool.Lags() { // or the next insert may meet a server that has not heard of these runs yet
		top, err := n.queries.MaxRunID(ctx, pool)
		if err != nil {
			return err
		}
		n.cfg.Work.Raise(top)
	}
	id, err := n.queries.InsertNode(ctx, pool, db.InsertNodeParams{
		Name: n.cfg.Name, Address: n.cfg.Address, Version: n.cfg.Version, StartedAt: ms, BeatAt: ms,
		LowLogID: n.cfg.Work.Low(),
	})
	if err != nil {
		return err
	}
	n.id.Store(id)
	n.beatAt.Store(int64(began.Sub(n.start)))
	n.asleep.Store(int64(asleep))
	n.setAlive([]int64{id})
	n.log.Info("joined the cluster", "node", id)
	return n.look(ctx)
}

// run beats, and looks at the others twice as often, and when the lease of one runs out: when one has died is known that much
// sooner.
func (n *Node) run(ctx context.Context) {
	tick := time.NewTicker(n.cfg.BeatEvery / 2)
	defer tick.Stop()
	for beat := false; ; beat = !beat {
		var out <-chan time.Time
		if wait := n.runsOut(time.Now()); wait > 0 && wait < n.cfg.BeatEvery/2 {
			out = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-out:
			if n.MayAct() {
				n.try(ctx, false)
			}
			beat = !beat // this was no turn
			continue
		case <-n.beatNow:
			beat = true
		case <-n.cfg.Pool.SessionsChanged():
			n.noteSessions(ctx)
			beat = !beat // this was no turn
			continue
		}
		if !beat && !n.MayAct() {
			continue
		}
		n.try(ctx, beat)
	}
}

// try renews, and says what went wrong.
func (n *Node) try(ctx context.Context, beat bool) {
	if err := n.renew(ctx, beat); err != nil && ctx.Err() == nil {
		n.log.Warn("renew lease", "error", err)
		n.cfg.Work.Beaten(err)
		// What the others did meanwhile is unknown, so their silence is judged from now on.
		clear(n.peers)
	} else if beat {
		n.cfg.Work.Beaten(nil)
	}
}

// runsOut is how long it is until the next lease of another node runs out, if that does not beat; 0 when none can.
func (n *Node) runsOut(now time.Time) (wait time.Duration) {
	for _, p := range n.peers {
		if left := n.goneAfter() - now.Sub(p.since); left > 0 && (wait == 0 || left < wait) {
			wait = left
		}
	}
	return wait
}

// goneAfter is how long a beat may stand still. A tick is never quite on time, and the next one would be half a beat later. What
// a node may still be sending when its lease has run out is bounded by fenceShare.
func (n *Node) goneAfter() time.Duration { return n.cfg.Lease - n.cfg.BeatEvery/10 }

// BeatSoon has the next beat come at once.
func (n *Node) BeatSoon() {
	select {
	case n.beatNow <- struct{}{}:
	default:
	}
}

// renew counts up if beat says so, looks at the others, and takes over from those that are gone.
func (n *Node) renew(ctx context.Context, beat bool) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Lease/2)
	defer cancel()
	if !beat {
		return n.look(ctx)
	}
	began, asleep := time.Now(), n.cfg.Slept()
	affected, err := n.queries.BeatNode(ctx, n.cfg.Pool, db.BeatNodeParams{
		ID: n.id.Load(), BeatAt: n.Now().UnixMilli(), LowLogID: n.cfg.Work.Low(),
		LoadFigures: n.cfg.Work.Figures(), Sessions: n.cfg.Pool.Sessions(),
	})
	if err != nil {
		return err
	}
	if affected == 0 {
		n.log.Warn("another admin declared this one gone; starting over under a new id", "node", n.id.Load())
		n.cfg.Work.Drop()
		return n.join(ctx)
	}
	n.beatAt.Store(int64(began.Sub(n.start)))
	n.asleep.Store(int64(asleep))
	if err := n.clock.beat(ctx); err != nil {
		return err
	}
	return n.look(ctx)
}

// look reads the nodes, retires the silent ones and has what they left unsent taken over.
func (n *Node) look(ctx context.Context) error {
	nodes, err := n.queries.ListNodes(ctx, n.cfg.Pool)
	if err != nil {
		return err
	}
	now := time.Now()
	me := n.id.Load()
	living, alive, claiming := []int64{me}, []int64{me}, []int64{me}
	var gone []db.Node
	var told []Told // by those that live
	for _, other := range nodes {
		if other.ID == me {
			continue
		}
		if other.State == 1 && !n.silent(other, now) {
			// One that is stopping lives, but its share is claimed by the others: they look ahead further than they take to
			// see it, so that nothing is late.
			f, _ := parseTold(other.LoadFigures)
			told = append(told, f)
			living = append(living, other.ID)
			if !f.Draining {
				alive = append(alive, other.ID)
				if !f.Stuck {
					claiming = append(claiming, other.ID)
				}
			}
			if n.quiet(other, now) {
				n.endSessions(ctx, other)
			}
			continue
		}
		if other.State == 1 {
			affected, err := n.queries.RetireNode(ctx, n.cfg.Pool, db.RetireNodeParams{ID: other.ID, Beat: other.Beat})
			if err != nil {
				return err
			}
			if affected == 0 { // it has just beaten
				living, alive, claiming = append(living, other.ID), append(alive, other.ID), append(claiming, other.ID)
				continue
			}
			n.log.Warn("an admin is gone; taking over its runs", "node", other.ID, "name", other.Name)
			n.cfg.Gone.Inc()
			n.endSessions(ctx, other)
			other.State = unrecorded
		}
		gone = append(gone, other)
	}
	n.setSharing(living, alive, claiming)
	n.others.Store(len(living) > 1)
	n.clock.agree(told)
	for _, other := range gone {
		delete(n.peers, other.ID)
		if n.cfg.Work.Draining() {
			continue // who stays takes over
		}
		// What cannot be done about one, because a row of its runs is locked, keeps nobody from the others, and is no failure of this node's.
		if err := n.lookAfter(ctx, other, now); err != nil && !errors.Is(err, context.Canceled) {
			n.log.Warn("look after an admin that is gone", "node", other.ID, "name", other.Name, "error", err)
		}
	}
	maps.DeleteFunc(n.watched, func(id int64, _ *watch) bool {
		return !slices.ContainsFunc(gone, func(other db.Node) bool { return other.ID == id })
	})
	maps.DeleteFunc(n.goneNodes, func(id int64, _ *goneNode) bool {
		return !slices.ContainsFunc(gone, func(other db.Node) bool { return other.ID == id && other.State == unrecorded })
	})
	return nil
}

// lookAfter has what a node that is gone left unsent taken over, and what it sent recorded, when it is time to; in the end its row goes.
func (n *Node) lookAfter(ctx context.Context, gone db.Node, now time.Time) error {
	w := n.watched[gone.ID]
	if w == nil {
		w = &watch{since: now}
		n.watched[gone.ID] = w
	}
	if w.due(now) {
		if err := n.cfg.Work.TakeOver(ctx, gone); err != nil {
			w.next = time.Now().Add(n.cfg.BeatEvery) // it may have waited long: the beat comes first
			return err
		}
		w.looked(now)
	}
	if gone.State == unrecorded && n.Leading() {
		if err := n.recordReported(ctx, gone, now); err != nil {
			return err
		}
	}
	if n.Now().Sub(time.UnixMilli(gone.BeatAt)) <= keepGone {
		return nil
	}
	_, err := n.queries.DeleteNode(ctx, n.cfg.Pool, gone.ID)
	return err
}

// recordReported looks for what a node that is gone sent and did not record, when it is time to. It is over when the row says so: whoever
// leads next begins anew.
func (n *Node) recordReported(ctx context.Context, gone db.Node, now time.Time) error {
	g := n.goneNodes[gone.ID]
	if g == nil {
		top, err := n.queries.MaxRunID(ctx, n.cfg.Pool)
		if err != nil {
			return err
		}
		g = &goneNode{top: top, next: now}
		n.goneNodes[gone.ID] = g
	}
	if now.Before(g.next) {
		return nil
	}
	if err := n.cfg.Work.RecordReported(ctx, gone, g.top); err != nil {
		g.next = time.Now().Add(n.cfg.BeatEvery)
		return err
	}
	if g.last {
		_, err := n.queries.NoteReportedOfNode(ctx, n.cfg.Pool, gone.ID)
		return err
	}
	g.next, g.last = now.Add(resultsAfter), true
	return nil
}

// silent notes another node's beat and reports whether it has not changed for the length of a lease.
func (n *Node) silent(other db.Node, now time.Time) bool {
	p := n.peers[other.ID]
	if p == nil || p.beat != other.Beat {
		n.peers[other.ID] = &peer{beat: other.Beat, since: now}
		return false
	}
	p.looks++
	return now.Sub(p.since) >= n.goneAfter()
}

// noteSessions lists this node's database sessions: should it stop before its next beat, the others know which to end.
func (n *Node) noteSessions(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Lease/2)
	defer cancel()
	// What cannot be noted now is with the next beat.
	_, _ = n.queries.NoteSessions(ctx, n.cfg.Pool, db.NoteSessionsParams{ID: n.id.Load(), Sessions: n.cfg.Pool.Sessions()})
}

// quietAfter is for how long a node says nothing until its idle database sessions are ended: one that has stopped in the
// middle of a transaction would hold up the others until it is declared gone. One that only was slow connects again.
const (
	quietAfter = 2 * time.Second
	quietLooks = 3
)

// quiet reports whether another node's beat has stood still long enough for that, and often: after a database that stood
// still for all, the first look says nothing about the node. It is asked after silent.
func (n *Node) quiet(other db.Node, now time.Time) bool {
	p := n.peers[other.ID]
	return p != nil && p.looks >= quietLooks && now.Sub(p.since) >= quietAfter
}

// endSessions ends the database sessions of a node that does not answer, as far as they wait for it.
func (n *Node) endSessions(ctx context.Context, other db.Node) {
	ended, err := n.cfg.Pool.EndSessions(ctx, other.Sessions)
	if err != nil {
		n.log.Warn("end the database sessions of an admin that is silent", "node", other.ID, "error", err)
	}
	if ended > 0 {
		n.log.Warn("ended the idle database sessions of an admin that is silent", "node", other.ID, "name", other.Name, "sessions", ended)
	}
}

// MayAct reports whether the lease is fresh enough to claim and send.
func (n *Node) MayAct() bool {
	return n.id.Load() != 0 && !n.left.Load() && n.age() < time.Duration(float64(n.cfg.Lease)*fenceShare)
}

// Silence is by how much a beat that the database took is overdue.
func (n *Node) Silence() time.Duration {
	return max(0, time.Since(n.start)-time.Duration(n.beatAt.Load())-n.cfg.BeatEvery)
}

// Left is how long it is at least until another admin may declare this one gone.
func (n *Node) Left() time.Duration {
	return n.cfg.Lease - n.age()
}

// age is how long ago the last renewal that succeeded began, the time included in which the machine slept.
func (n *Node) age() time.Duration {
	return time.Since(n.start) - time.Duration(n.beatAt.Load()) + n.cfg.Slept() - time.Duration(n.asleep.Load())
}

func (n *Node) setAlive(ids []int64) { n.setSharing(ids, ids, ids) }

func (n *Node) setSharing(living, alive, claiming []int64) {
	n.mu.Lock()
	more := len(claiming) < len(n.claiming) // of the jobs are this node's now
	n.living, n.alive, n.claiming = living, alive, claiming
	n.mu.Unlock()
	if more {
		n.cfg.Work.SharesMore()
	}
}
