package auditlog

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/punctual-job/punctual/db"
)

const (
	shipBatch   = 100
	shipLook    = 2 * time.Second  // what other admins chained
	shipTime    = 20 * time.Second // one hand-over
	shipHold    = 45 * time.Second // how long a target belongs to an admin that is gone
	firstPause  = time.Second
	longestWait = time.Minute
)

// Target is where entries go.
type Target interface {
	// Name tells targets apart, also from one start to the next; it holds no secrets.
	Name() string
	// Send hands entries over, all or none as far as anybody can tell. ctx bounds it.
	Send(ctx context.Context, entries []Line) error
}

// Shipper hands the chain's entries to targets.
type Shipper struct {
	chain   *Chain
	owner   string
	logger  *slog.Logger
	targets []Target
	behind  *prometheus.GaugeVec
	now     func() time.Time
	pause   func(failures int) time.Duration

	mu       sync.Mutex
	troubles map[string]Trouble // by the target's name
}

// Trouble is a target that takes nothing at the moment. What it misses waits for it.
type Trouble struct {
	Target string
	Since  time.Time
	Err    error
}

// Troubles are the targets of this process that take nothing at the moment, by name.
func (s *Shipper) Troubles() []Trouble {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.troubles), func(a, b Trouble) int { return strings.Compare(a.Target, b.Target) })
}

// trouble notes that a target takes nothing, or again.
func (s *Shipper) trouble(t Target, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.troubles, t.Name())
		return
	}
	since := s.now()
	if before, known := s.troubles[t.Name()]; known {
		since = before.Since
	}
	s.troubles[t.Name()] = Trouble{Target: t.Name(), Since: since, Err: err}
}

// NewShipper makes a shipper of a chain, before the chain runs. What is in the chain when a target is seen for the first time is not
// shipped to it.
func NewShipper(chain *Chain, targets []Target, logger *slog.Logger, registerer prometheus.Registerer) *Shipper {
	s := &Shipper{
		chain: chain, owner: rand.Text(), logger: logger, targets: targets, now: time.Now, troubles: make(map[string]Trouble),
		behind: promauto.With(registerer).NewGaugeVec(prometheus.GaugeOpts{Name: "punctual_audit_unshipped_entries", Help: "Entries of the audit log that a target has not taken yet."}, []string{"target"}),
		pause:  func(failures int) time.Duration { return min(firstPause<<min(failures, 10), longestWait) },
	}
	chain.extended = make(chan struct{}, 1)
	return s
}

// Run ships until ctx ends.
func (s *Shipper) Run(ctx context.Context) {
	var each sync.WaitGroup
	wakes := make([]chan struct{}, len(s.targets))
	for i, t := range s.targets {
		wakes[i] = make(chan struct{}, 1)
		each.Go(func() { s.serve(ctx, t, wakes[i]) })
	}
	for {
		select {
		case <-ctx.Done():
			each.Wait()
			return
		case <-s.chain.extended:
			for _, wake := range wakes {
				select {
				case wake <- struct{}{}:
				default:
				}
			}
		}
	}
}

// serve ships to one target.
func (s *Shipper) serve(ctx context.Context, t Target, wake <-chan struct{}) {
	failures := 0
	for {
		more, err := s.ship(ctx, t)
		wait := shipLook
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.trouble(t, err)
			if failures == 0 {
				s.logger.Warn("the audit log cannot be shipped; it is tried again", "target", t.Name(), "error", err)
			}
			wait = s.pause(failures)
			failures++
		case failures > 0:
			s.trouble(t, nil)
			s.logger.Info("the audit log is shipped again", "target", t.Name())
			failures = 0
		}
		if more {
			continue
		}
		wakes := wake
		if err != nil {
			wakes = nil // a new entry does not make a target come back
		}
		select {
		case <-ctx.Done():
			return
		case <-wakes:
		case <-time.After(wait):
		}
	}
}

// ship hands over the next entries of a target, and says whether there may be more.
func (s *Shipper) ship(ctx context.Context, t Target) (more bool, err error) {
	c := s.chain
	name := markOf(t)
	m, err := c.queries.GetAuditMark(ctx, c.pool, name)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		m, err = s.begin(ctx, name)
	}
	if err != nil {
		return false, fmt.Errorf("read mark: %w", err)
	}
	now := s.now()
	held, err := c.queries.HoldAuditMark(ctx, c.pool, db.HoldAuditMarkParams{Name: name, Owner: s.owner, UntilMs: now.Add(shipHold).UnixMilli(), NowMs: now.UnixMilli()})
	if err != nil || held == 0 { // it is another admin's
		return false, db.Error(err)
	}
	if m, err = c.queries.GetAuditMark(ctx, c.pool, name); err != nil { // as it is now that nobody else moves it
		return false, db.Error(err)
	}
	rows, err := c.queries.ListChainedAudit(ctx, c.pool, db.ListChainedAuditParams{AfterSeq: m.Seq, Limit: shipBatch})
	if err != nil {
		return false, db.Error(err)
	}
	if head, err := c.queries.GetAuditMark(ctx, c.pool, markHead); err == nil {
		s.behind.WithLabelValues(t.Name()).Set(float64(max(0, head.Seq-m.Seq)))
	}
	if len(rows) == 0 {
		return false, nil
	}
	lines := make([]Line, len(rows))
	for i, e := range rows {
		lines[i] = LineOf(e)
	}
	sending, cancel := context.WithTimeout(ctx, shipTime)
	defer cancel()
	if err := t.Send(sending, lines); err != nil {
		return false, err
	}
	last := rows[len(rows)-1]
	if _, err := c.queries.MoveAuditMark(ctx, c.pool, db.MoveAuditMarkParams{Name: name, OldSeq: m.Seq, NewSeq: last.Seq, NewHash: last.Hash}); err != nil {
		return false, db.Error(err)
	}
	return len(rows) == shipBatch, nil
}

// begin makes the mark of a new target at the end of the chain.
func (s *Shipper) begin(ctx context.Context, name string) (db.AuditMark, error) {
	head, err := s.chain.mark(ctx, markHead)
	if err != nil {
		return head, err
	}
	c := s.chain
	if err := c.queries.InsertAuditMarkIfAbsent(ctx, c.pool, db.InsertAuditMarkIfAbsentParams{Name: name, Seq: head.Seq, Hash: head.Hash}); err != nil {
		return head, db.Error(err)
	}
	m, err := c.queries.GetAuditMark(ctx, c.pool, name)
	return m, db.Error(err)
}

// markOf is the name of a target's mark.
func markOf(t Target) string {
	sum := sha256.Sum256([]byte(t.Name()))
	return "ship " + hex.EncodeToString(sum[:16])
}
