// Package cluster is an admin's membership of its cluster: a lease that it renews by counting up a number in its own row of
// punctual_node, a look at the numbers of the others, the shares of the jobs that follow from who lives, and the one time that
// all go by (clock.go). It knows nothing of runs: what is to be done about those of a node that is gone is the engine's, which
// it reaches through [Work].
//
//	        every Config.BeatEvery                   twice as often
//	Node ── beat ──▶ own row ◀── the others look    Node ── look ──▶ all rows ──▶ who lives ──▶ Mine, Rank, Leading
//	          │ not taken: declared gone                       │ silent for a lease
//	          └──▶ Work.Drop, join under a new id              └──▶ declared gone ──▶ Work.TakeOver
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/punctual-job/punctual/db"
)

// Work is what hangs on a node's place in the cluster, and what it does for the cluster: the engine's side.
type Work interface {
	// Low is a run below which this node has none that is unsent. Raise says that it has none up to top.
	Low() int64
	Raise(top int64)
	// Figures are what a beat tells the others. They hold a [Told].
	Figures() string
	// Draining says that this node is stopping: it takes over nothing more, and does not lead.
	Draining() bool
	// Drop forgets everything that is planned: it belongs to others now.
	Drop()
	// TakeOver makes what a node that is gone left unsent this one's. RecordReported notes as sent what it sent, up to the run
	// top, and did not come to record.
	TakeOver(ctx context.Context, gone db.Node) error
	RecordReported(ctx context.Context, gone db.Node, top int64) error
	// SharesMore is told that this node's share has grown, or that more is due.
	SharesMore()
	// Leapt is told by how much the time is about to be set ahead: by so much do other times look older than they are.
	Leapt(by time.Duration)
	// Beaten is told what came of a beat.
	Beaten(err error)
}

// Config is what a [Node] is made of. Pool, Logger and Work are required.
type Config struct {
	Pool   *db.Pool
	Logger *slog.Logger
	Work   Work

	// Name and Address tell this admin from the others, in messages and on the nodes page.
	Name, Address, Version string

	// Now is the clock of this machine; time.Now when nil. It is only watched.
	Now func() time.Time
	// Reference tells the time that all go by; the database's when nil, and with the embedded one this machine's.
	Reference    func(ctx context.Context) (time.Time, error)
	ownReference bool // it is this machine's
	// Clock, where it is set, is the time itself, and nothing is compared: for tests that let time pass by hand.
	Clock func() time.Time
	// FollowAfter is for how long the machines must agree with a database's clock that was set until it is followed; 1 min.
	FollowAfter time.Duration
	// Slept is for how long this machine has been suspended, which its other clocks may not tell; the system's answer when nil.
	Slept func() time.Duration

	BeatEvery time.Duration // lease renewal; 1 s
	Lease     time.Duration // a silent node is gone after this; 5 s

	// Gone counts the nodes that this one found gone, ClockSteps how often a clock was set; not counted when nil.
	Gone, ClockSteps prometheus.Counter
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Reference == nil {
		c.Reference = c.Pool.Now
		if c.ownReference = c.Pool.Dialect() == db.SQLite; c.ownReference {
			now := c.Now
			c.Reference = func(context.Context) (time.Time, error) { return now(), nil }
		}
	}
	if c.Slept == nil {
		c.Slept = slept
	}
	if c.Gone == nil {
		c.Gone = promauto.With(nil).NewCounter(prometheus.CounterOpts{})
	}
	if c.ClockSteps == nil {
		c.ClockSteps = promauto.With(nil).NewCounter(prometheus.CounterOpts{})
	}
	c.FollowAfter = cmp.Or(c.FollowAfter, time.Minute)
	c.BeatEvery = cmp.Or(c.BeatEvery, time.Second)
	c.Lease = cmp.Or(c.Lease, 5*time.Second)
	return c
}

// New makes a node that has no place in the cluster until [Node.Start], and goes by its machine's clock until
// [Node.SetClock].
func New(cfg Config) (*Node, error) {
	if cfg.Pool == nil || cfg.Logger == nil || cfg.Work == nil {
		return nil, errors.New("cluster: Pool, Logger and Work are required")
	}
	cfg = cfg.withDefaults()
	n := &Node{
		cfg: cfg, log: cfg.Logger, queries: db.New(), start: time.Now(), peers: make(map[int64]*peer), goneNodes: make(map[int64]*goneNode),
		watched: make(map[int64]*watch), beatNow: make(chan struct{}, 1),
	}
	n.clock = newClock(n)
	return n, nil
}

// SetClock sets the time by the cluster's. What is done before [Node.Start], and depends on the time, comes after it.
func (n *Node) SetClock(ctx context.Context) error { return n.clock.join(ctx) }

// Start takes a place in the cluster, takes over what is left of nodes that are gone, and goes on beating until [Node.Stop].
// ctx bounds only the joining. Starting twice is the same as once.
func (n *Node) Start(ctx context.Context) error {
	n.starting.Lock()
	defer n.starting.Unlock()
	if n.cancel != nil {
		return nil
	}
	if n.ended != nil {
		select {
		case <-n.ended:
		default:
			return errors.New("the beat of the last start has not ended")
		}
	}
	if err := n.join(ctx); err != nil {
		return err
	}
	n.left.Store(false)
	loop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	n.cancel, n.ended = cancel, ended
	go func() {
		defer close(ended)
		n.run(loop)
	}()
	return nil
}

// StopsWithin is how long [Node.Stop] may take where nobody says: half of it for a beat that is under way, the rest for the farewell.
const StopsWithin = time.Second

// Stop ends the beating and gives the place up, so that the others need not wait for the lease to run out. It takes until the deadline of
// ctx at most, [StopsWithin] where that has none, and less when ctx ends. A beat that does not end in half of that is left to itself, and
// without a farewell. Stopping twice is the same as once, and before a start nothing.
func (n *Node) Stop(ctx context.Context) error {
	n.starting.Lock()
	defer n.starting.Unlock()
	if n.cancel == nil {
		return nil
	}
	n.cancel()
	n.cancel = nil
	end, bounded := ctx.Deadline()
	if !bounded {
		end = time.Now().Add(StopsWithin)
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	limit := time.NewTimer(time.Until(end) / 2)
	defer limit.Stop()
	var err error
	select {
	case <-n.ended:
		n.left.Store(true) // what it does is anybody's from now on
		_, err = n.queries.LeaveNode(ctx, n.cfg.Pool, n.ID())
	case <-limit.C:
		err = errors.New("the beat does not end")
	case <-ctx.Done():
		err = ctx.Err()
	}
	n.setAlive(nil)
	if err != nil {
		n.log.Error("left the cluster without a farewell; the others wait for the lease to run out", "node", n.ID(), "error", err)
		return fmt.Errorf("leave the cluster: %w", err)
	}
	return nil
}

// ID is this node's id in punctual_node; 0 before the first start.
func (n *Node) ID() int64 { return n.id.Load() }

// Now is the time that the cluster goes by, which is the database's and not this machine's.
func (n *Node) Now() time.Time {
	if n.cfg.Clock != nil {
		return n.cfg.Clock()
	}
	return n.clock.now()
}

// Clocks says by how much other clocks are ahead of the time that the cluster goes by.
type Clocks struct {
	Database, Machine       time.Duration
	DatabaseOff, MachineOff bool // by so much that somebody has set them
}

// Clocks tells how the database's clock and this machine's stand.
func (n *Node) Clocks() Clocks {
	lead, own := n.clock.leads()
	return Clocks{Database: lead, Machine: own, DatabaseOff: lead.Abs() >= stepBound, MachineOff: own.Abs() > oddBound && !n.cfg.ownReference}
}
