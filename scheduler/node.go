package scheduler

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
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

// node is this admin's place in the cluster.
//
// Each admin counts up a number in its own row of punctual_node. The others judge it by that number alone, on their own
// monotonic clock: unchanged for the length of a lease means gone. So no clocks are compared. Declaring a node gone is an
// update guarded by the number, and a node whose own renewal finds its row declared gone drops all it had planned and joins
// anew under another id; what it had claimed belongs to whoever takes it over.
type node struct {
	e *Engine

	id        atomic.Int64
	beatAt    atomic.Int64 // when the last renewal that succeeded began, nanoseconds since start
	asleep    atomic.Int64 // what slept said then, nanoseconds
	sleptAt   atomic.Int64 // when it was asked last, after start, nanoseconds
	sleptWas  atomic.Int64 // what it said
	start     time.Time
	beat      int64 // used by the beat loop only
	peers     map[int64]*peer
	goneNodes map[int64]*goneNode // of nodes that this one declared gone; used by the beat loop only

	watched map[int64]*watch // nodes that are gone, whoever declared them so; used by the beat loop only

	beatNow chan struct{} // capacity 1: the others must hear something soon

	mu       sync.RWMutex
	alive    []int64 // ids of the nodes that share the work, this one included
	claiming []int64 // those of them that share the claims: not one that says that it is stuck
}

// watch says when to look again for unsent runs of a node that is gone: the longer it has been gone, the less often. What was in
// its commit becomes visible soon or never, and a look may read many runs that others have open.
type watch struct {
	since, next time.Time
}

func (w *watch) due(now time.Time) bool { return !now.Before(w.next) }

// looked puts off the next look by a quarter of the time for which the node has been gone.
func (w *watch) looked(now time.Time) { w.next = now.Add(now.Sub(w.since) / 4) }

// goneNode is what is left to do for a node that this one declared gone: to note as sent what it sent and could not record.
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

func newNode(e *Engine) *node {
	return &node{e: e, start: time.Now(), peers: make(map[int64]*peer), goneNodes: make(map[int64]*goneNode), watched: make(map[int64]*watch), beatNow: make(chan struct{}, 1)}
}

// join makes a new row and so a new id.
func (n *node) join(ctx context.Context) error {
	began, asleep := time.Now(), slept()
	ms := n.e.now().UnixMilli()
	pool := n.e.cfg.Pool
	if pool.Alone() {
		// The file is locked by this process, so whoever else is in the table is gone.
		nodes, err := n.e.queries.ListNodes(ctx, pool)
		if err != nil {
			return err
		}
		for _, other := range nodes {
			if other.State == 1 {
				if _, err := n.e.queries.RetireNode(ctx, pool, db.RetireNodeParams{ID: other.ID, Beat: other.Beat}); err != nil {
					return err
				}
				if err := n.declareGone(ctx, other.ID); err != nil {
					return err
				}
			}
		}
	}
	if !pool.Lags() { // or the next insert may meet a server that has not heard of these runs yet
		top, err := n.e.queries.MaxRunID(ctx, pool)
		if err != nil {
			return err
		}
		n.e.pending.raise(top)
	}
	id, err := n.e.queries.InsertNode(ctx, pool, db.InsertNodeParams{
		Name: n.e.cfg.Name, Address: n.e.cfg.Address, Version: n.e.cfg.Version, StartedAt: ms, BeatAt: ms,
		LowLogID: n.e.pending.low(),
	})
	if err != nil {
		return err
	}
	n.beat = 1
	n.id.Store(id)
	n.beatAt.Store(int64(began.Sub(n.start)))
	n.asleep.Store(int64(asleep))
	n.setAlive([]int64{id})
	n.e.log.Info("joined the cluster", "node", id)
	return n.look(ctx)
}

// leave gives the place up, so that the others need not wait for the lease to run out.
func (n *node) leave(ctx context.Context) error {
	_, err := n.e.queries.RetireNode(ctx, n.e.cfg.Pool, db.RetireNodeParams{ID: n.id.Load(), Beat: n.beat})
	n.setAlive(nil)
	return err
}

// run beats, and looks at the others twice as often, and when the lease of one runs out: when one has died is known that much
// sooner.
func (n *node) run(ctx context.Context) {
	tick := time.NewTicker(n.e.cfg.BeatEvery / 2)
	defer tick.Stop()
	for beat := false; ; beat = !beat {
		var out <-chan time.Time
		if wait := n.runsOut(time.Now()); wait > 0 && wait < n.e.cfg.BeatEvery/2 {
			out = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-out:
			if n.mayAct() {
				n.try(ctx, false)
			}
			beat = !beat // this was no turn
			continue
		case <-n.beatNow:
			beat = true
		case <-n.e.cfg.Pool.SessionsChanged():
			n.noteSessions(ctx)
			beat = !beat // this was no turn
			continue
		}
		if !beat && !n.mayAct() {
			continue
		}
		n.try(ctx, beat)
	}
}

// try renews, and says what went wrong.
func (n *node) try(ctx context.Context, beat bool) {
	if err := n.renew(ctx, beat); err != nil && ctx.Err() == nil {
		n.e.log.Warn("renew lease", "error", err)
		n.e.setErr(err)
		// What the others did meanwhile is unknown, so their silence is judged from now on.
		clear(n.peers)
	} else if beat {
		n.e.setErr(nil)
	}
}

// runsOut is how long it is until the next lease of another node runs out, if that does not beat; 0 when none can.
func (n *node) runsOut(now time.Time) (wait time.Duration) {
	for _, p := range n.peers {
		if left := n.goneAfter() - now.Sub(p.since); left > 0 && (wait == 0 || left < wait) {
			wait = left
		}
	}
	return wait
}

// goneAfter is how long a beat may stand still. A tick is never quite on time, and the next one would be half a beat later. What
// a node may still be sending when its lease has run out is bounded by fenceShare.
func (n *node) goneAfter() time.Duration { return n.e.cfg.Lease - n.e.cfg.BeatEvery/10 }

// beatSoon has the next beat come at once.
func (n *node) beatSoon() {
	select {
	case n.beatNow <- struct{}{}:
	default:
	}
}

// renew counts up if beat says so, looks at the others, and takes over from those that are gone.
func (n *node) renew(ctx context.Context, beat bool) error {
	ctx, cancel := context.WithTimeout(ctx, n.e.cfg.Lease/2)
	defer cancel()
	if !beat {
		return n.look(ctx)
	}
	began, asleep := time.Now(), slept()
	n.e.rates.mark(began)
	affected, err := n.e.queries.BeatNode(ctx, n.e.cfg.Pool, db.BeatNodeParams{
		ID: n.id.Load(), Beat: n.beat + 1, BeatAt: n.e.now().UnixMilli(), LowLogID: n.e.pending.low(),
		LoadFigures: n.e.figuresText(), Sessions: n.e.cfg.Pool.Sessions(),
	})
	if err != nil {
		return err
	}
	if affected == 0 {
		n.e.log.Warn("another admin declared this one gone; starting over under a new id", "node", n.id.Load())
		n.e.forget()
		return n.join(ctx)
	}
	n.beat++
	n.beatAt.Store(int64(began.Sub(n.start)))
	n.asleep.Store(int64(asleep))
	if err := n.e.clock.beat(ctx); err != nil {
		return err
	}
	return n.look(ctx)
}

// look reads the nodes, retires the silent ones and has what they left unsent taken over.
func (n *node) look(ctx context.Context) error {
	nodes, err := n.e.queries.ListNodes(ctx, n.e.cfg.Pool)
	if err != nil {
		return err
	}
	now := time.Now()
	me := n.id.Load()
	alive, claiming := []int64{me}, []int64{me}
	var gone []db.Node
	var told []Figures // by those that live
	for _, other := range nodes {
		if other.ID == me {
			continue
		}
		if other.State == 1 && !n.silent(other, now) {
			// One that is stopping lives, but its share is claimed by the others: they look ahead further than they take to
			// see it, so that nothing is late.
			f, _ := ParseFigures(other.LoadFigures)
			told = append(told, f)
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
			affected, err := n.e.queries.RetireNode(ctx, n.e.cfg.Pool, db.RetireNodeParams{ID: other.ID, Beat: other.Beat})
			if err != nil {
				return err
			}
			if affected == 0 { // it has just beaten
				alive, claiming = append(alive, other.ID), append(claiming, other.ID)
				continue
			}
			n.e.log.Warn("an admin is gone; taking over its runs", "node", other.ID, "name", other.Name)
			n.e.metrics.takeovers.Inc()
			n.endSessions(ctx, other)
			if err := n.declareGone(ctx, other.ID); err != nil {
				return err
			}
		}
		gone = append(gone, other)
	}
	n.setSharing(alive, claiming)
	n.e.clock.agree(told)
	for _, other := range gone {
		delete(n.peers, other.ID)
		if n.e.draining.Load() {
			continue // who stays takes over
		}
		w := n.watched[other.ID]
		if w == nil {
			w = &watch{since: now}
			n.watched[other.ID] = w
		}
		if w.due(now) {
			if err := n.e.takeOver(ctx, other); err != nil {
				return err
			}
			w.looked(now)
		}
		if g := n.goneNodes[other.ID]; g != nil && !now.Before(g.next) {
			if err := n.e.recordReported(ctx, other, g.top); err != nil {
				return err
			}
			if g.next = now.Add(resultsAfter); g.last {
				delete(n.goneNodes, other.ID)
			}
			g.last = true
		}
		if n.e.now().Sub(time.UnixMilli(other.BeatAt)) > keepGone {
			if _, err := n.e.queries.DeleteNode(ctx, n.e.cfg.Pool, other.ID); err != nil {
				return err
			}
		}
	}
	maps.DeleteFunc(n.watched, func(id int64, _ *watch) bool {
		return !slices.ContainsFunc(gone, func(other db.Node) bool { return other.ID == id })
	})
	return nil
}

// declareGone remembers a node that is gone.
func (n *node) declareGone(ctx context.Context, id int64) error {
	top, err := n.e.queries.MaxRunID(ctx, n.e.cfg.Pool)
	n.goneNodes[id] = &goneNode{top: top, next: time.Now()}
	return err
}

// silent notes another node's beat and reports whether it has not changed for the length of a lease.
func (n *node) silent(other db.Node, now time.Time) bool {
	p := n.peers[other.ID]
	if p == nil || p.beat != other.Beat {
		n.peers[other.ID] = &peer{beat: other.Beat, since: now}
		return false
	}
	p.looks++
	return now.Sub(p.since) >= n.goneAfter()
}

// noteSessions lists this node's database sessions: should it stop before its next beat, the others know which to end.
func (n *node) noteSessions(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, n.e.cfg.Lease/2)
	defer cancel()
	// What cannot be noted now is with the next beat.
	_, _ = n.e.queries.NoteSessions(ctx, n.e.cfg.Pool, db.NoteSessionsParams{ID: n.id.Load(), Sessions: n.e.cfg.Pool.Sessions()})
}

// quietAfter is for how long a node says nothing until its idle database sessions are ended: one that has stopped in the
// middle of a transaction would hold up the others until it is declared gone. One that only was slow connects again.
const (
	quietAfter = 2 * time.Second
	quietLooks = 3
)

// quiet reports whether another node's beat has stood still long enough for that, and often: after a database that stood
// still for all, the first look says nothing about the node. It is asked after silent.
func (n *node) quiet(other db.Node, now time.Time) bool {
	p := n.peers[other.ID]
	return p != nil && p.looks >= quietLooks && now.Sub(p.since) >= quietAfter
}

// endSessions ends the database sessions of a node that does not answer, as far as they wait for it.
func (n *node) endSessions(ctx context.Context, other db.Node) {
	ended, err := n.e.cfg.Pool.EndSessions(ctx, other.Sessions)
	if err != nil {
		n.e.log.Warn("end the database sessions of an admin that is silent", "node", other.ID, "error", err)
	}
	if ended > 0 {
		n.e.log.Warn("ended the idle database sessions of an admin that is silent", "node", other.ID, "name", other.Name, "sessions", ended)
	}
}

// mayAct reports whether the lease is fresh enough to claim and send.
func (n *node) mayAct() bool {
	return n.id.Load() != 0 && n.age() < time.Duration(float64(n.e.cfg.Lease)*fenceShare)
}

// silence is by how much a beat that the database took is overdue.
func (n *node) silence() time.Duration {
	return max(0, time.Since(n.start)-time.Duration(n.beatAt.Load())-n.e.cfg.BeatEvery)
}

// left is how long it is at least until another admin may declare this one gone.
func (n *node) left() time.Duration {
	return n.e.cfg.Lease - n.age()
}

// age is how long ago the last renewal that succeeded began, the time included in which the machine slept.
func (n *node) age() time.Duration {
	now := time.Since(n.start)
	return now - time.Duration(n.beatAt.Load()) + n.sleptBy(now) - time.Duration(n.asleep.Load())
}

// sleptBy is slept, which asks the system, at most once a millisecond: every send wants to know it.
func (n *node) sleptBy(now time.Duration) time.Duration {
	if asked := n.sleptAt.Load(); asked == 0 || now-time.Duration(asked) > time.Millisecond {
		n.sleptWas.Store(int64(slept())) // first, so that whoever finds the new time finds this too
		n.sleptAt.Store(int64(now))
	}
	return time.Duration(n.sleptWas.Load())
}

func (n *node) setAlive(ids []int64) { n.setSharing(ids, ids) }

func (n *node) setSharing(alive, claiming []int64) {
	n.mu.Lock()
	more := len(claiming) < len(n.claiming) // of the jobs are this node's now
	n.alive, n.claiming = alive, claiming
	n.mu.Unlock()
	if more {
		n.e.JobsChanged()
	}
}

// mine is a function that tells whether a job is this node's to look after: the highest rendezvous weight over the live nodes.
// A node that comes or goes moves only its own share of the jobs. Nothing depends on the nodes agreeing: the guard in the
// claim's update decides, the shares only keep them from trying the same rows.
func (n *node) mine() func(jobID int64) bool {
	n.mu.RLock()
	rank := ranks(n.id.Load(), n.alive)
	n.mu.RUnlock()
	return func(jobID int64) bool { return rank(jobID) == 0 }
}

// rank is a function that tells the place of this node in the line of those that may claim a job: 0 where the job is in its
// share. Nodes that cannot claim have no share.
func (n *node) rank() func(jobID int64) int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return ranks(n.id.Load(), n.claiming)
}

func ranks(me int64, nodes []int64) func(jobID int64) int {
	if len(nodes) <= 1 {
		return func(int64) int { return 0 }
	}
	return func(jobID int64) (place int) {
		own := weight(me, jobID)
		for _, id := range nodes {
			if id != me {
				if w := weight(id, jobID); w > own || (w == own && id > me) {
					place++
				}
			}
		}
		return place
	}
}

func weight(nodeID, jobID int64) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], uint64(nodeID))
	binary.LittleEndian.PutUint64(b[8:], uint64(jobID))
	h := fnv.New64a()
	_, _ = h.Write(b[:])
	x := h.Sum64() // FNV alone leaves the high bits of close inputs alike; one mixing round spreads them
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// forget drops everything this node had planned: it belongs to others now.
func (e *Engine) forget() {
	e.timer.clear()
	e.queues.clear()
	e.pending.clear()
}

func (e *Engine) setErr(err error) {
	if err != nil {
		err = errors.Join(errors.New("database"), err)
	}
	e.lastErr.Store(&err)
}

// leads reports whether this node is the one that looks after the database: of the live nodes the one with the lowest id,
// which every node finds without asking. Should two believe it for a moment, no harm is done, as every step is guarded
// or the same when done twice.
func (e *Engine) leads() bool {
	if !e.node.mayAct() || e.draining.Load() {
		return false
	}
	me := e.node.id.Load()
	e.node.mu.RLock()
	defer e.node.mu.RUnlock()
	for _, id := range e.node.alive {
		if id < me {
			return false
		}
	}
	return true
}
