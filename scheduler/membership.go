package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/cluster"
)

// newNode makes this admin's membership of the cluster.
func newNode(e *Engine) (*cluster.Node, error) {
	return cluster.New(cluster.Config{
		Pool: e.cfg.Pool, Logger: e.log, Work: membership{e}, Name: e.cfg.Name, Address: e.cfg.Address, Version: e.cfg.Version,
		Now: e.cfg.Now, Reference: e.cfg.Reference, Clock: e.cfg.Clock, FollowAfter: e.cfg.followAfter, Slept: e.cfg.slept,
		BeatEvery: e.cfg.BeatEvery, Lease: e.cfg.Lease, Gone: e.metrics.takeovers, ClockSteps: e.metrics.clockSteps,
	})
}

// membership is what the engine does for its place in the cluster, and because of it.
type membership struct{ e *Engine }

var _ cluster.Work = membership{}

func (m membership) Low() int64      { return m.e.pending.low() }
func (m membership) Raise(top int64) { m.e.pending.raise(top) }
func (m membership) Draining() bool  { return m.e.draining.Load() }
func (m membership) SharesMore()     { m.e.JobsChanged() }

func (m membership) Figures() string {
	m.e.rates.mark(time.Now())
	return m.e.figuresText()
}

func (m membership) Drop() {
	m.e.timer.clear()
	m.e.queues.clear()
	m.e.pending.clear()
}

func (m membership) TakeOver(ctx context.Context, gone db.Node) error { return m.e.takeOver(ctx, gone) }

func (m membership) RecordReported(ctx context.Context, gone db.Node, top int64) error {
	return m.e.recordReported(ctx, gone, top)
}

func (m membership) Leapt(by time.Duration) { m.e.directory.leapt.Add(int64(by)) }

func (m membership) Beaten(err error) {
	m.e.setErr(err)
	m.e.untaken.beat(m.e.now(), m.e.cfg.DeadAfter)
}

// setErr notes what the database answered last.
func (e *Engine) setErr(err error) {
	if err != nil {
		err = errors.Join(errors.New("database"), err)
	}
	e.lastErr.Store(&err)
}
