package pull

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

// A call to an executor of which no admin has heard for longer than it may take between two pulls is refused at once, as a connection is
// where nobody listens.
//
// Each admin writes down whom it has seen, every [seenEvery]. An admin that could not do so, or was frozen, knows nothing of the
// others' executors, and they may not have been able to ask: everybody counts as seen then.

const (
	// Grace is for how long nothing may be heard of an executor after the time that it wanted to wait. One of ours gives up a pull of which it
	// hears nothing after 5 s more, and asks again within a second; an admin writes that down within [seenEvery].
	Grace = 12 * time.Second
	// seenEvery is how often an admin writes down whom it has seen, seenSoon how soon one that was away, and seenAgain how soon it tries
	// again.
	seenEvery = 5 * time.Second
	seenSoon  = 250 * time.Millisecond
	seenAgain = 500 * time.Millisecond
	// remembered is for how long an executor that does not come any more is remembered here.
	remembered = time.Hour
)

// sight is when an executor was seen. All times are of the clock of all admins.
type sight struct {
	at      time.Time // here
	written time.Time // what of it is written down
	heard   time.Time // at any admin, by the database
	wait    time.Duration
}

func (s *sight) last() time.Time {
	if s.heard.After(s.at) {
		return s.heard
	}
	return s.at
}

// quiet is for how long nothing may be heard of it.
func (s *sight) quiet() time.Duration { return cmp.Or(s.wait, wire.MaxPullWait) + Grace }

// see notes that an executor asks, or answers. wait is zero when it does not say how long it waits.
func (m *Mailbox) see(of box, wait time.Duration) error {
	now := m.cfg.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.seen[of]
	if s == nil {
		if len(m.seen) >= maxPulls {
			m.forgetSilent(now, 0)
		}
		if len(m.seen) >= maxPulls {
			return ErrTooMany
		}
		s = new(sight)
		m.seen[of] = s
	}
	s.at, s.wait = now, cmp.Or(min(wait, wire.MaxPullWait), s.wait)
	if now.Sub(s.written) > 2*seenEvery {
		poke(m.sighted)
	}
	return nil
}

// forgetSilent drops executors that have been silent for longer than they may, and at least for so long.
func (m *Mailbox) forgetSilent(now time.Time, atLeast time.Duration) {
	for of, s := range m.seen {
		if b := m.boxes[of]; (b == nil || len(b.pulls) == 0) && now.Sub(s.last()) > max(s.quiet(), atLeast) {
			delete(m.seen, of)
		}
	}
}

// shared says whether other admins may see executors.
func (m *Mailbox) shared() bool { return m.cfg.Others() || !m.cfg.Pool.Alone() }

// silent says whether no admin has heard of an executor for too long, and since when.
func (m *Mailbox) silent(ctx context.Context, of box) (since time.Time, is bool) {
	if since, is = m.silentHere(of); !is || !m.shared() {
		return since, is
	}
	row, err := m.queries.GetPullSeen(ctx, m.cfg.Pool, db.GetPullSeenParams{AppName: of.app, Address: of.address})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return since, true
	case ctx.Err() != nil: // the call is over, which says nothing of the database
		return time.Time{}, false
	}
	m.mu.Lock()
	if err != nil {
		m.blind = m.cfg.Now()
	} else {
		s := m.seen[of]
		if s == nil && len(m.seen) < maxPulls {
			s = new(sight)
			m.seen[of] = s
		}
		if s != nil {
			s.heard = time.UnixMilli(row.SeenAt)
			s.wait = max(s.wait, time.Duration(row.WaitMs)*time.Millisecond)
		}
	}
	m.mu.Unlock()
	return m.silentHere(of)
}

// silentHere is [Mailbox.silent] by what is known here.
func (m *Mailbox) silentHere(of box) (since time.Time, is bool) {
	now := m.cfg.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := m.boxes[of]; b != nil && len(b.pulls) > 0 || m.blind.IsZero() {
		return time.Time{}, false
	}
	s := cmp.Or(m.seen[of], new(sight))
	last := s.last()
	if last.Before(m.blind) && now.Sub(m.blind) <= s.quiet() {
		return time.Time{}, false
	}
	if last.IsZero() {
		last = m.blind // it has not been seen since then, and nothing is known of the time before
	}
	return last, now.Sub(last) > s.quiet()
}

// watch writes down whom this admin sees, until ctx ends.
func (m *Mailbox) watch(ctx context.Context) {
	failing := false
	for {
		limited, cancel := context.WithTimeout(ctx, statement)
		err := m.writeSeen(limited)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			m.cfg.Logger.Warn("write down which executors ask for calls", "error", err)
		}
		failing = err != nil
		pause := seenSoon
		if failing {
			pause = seenAgain
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		if failing {
			continue
		}
		select {
		case <-m.sighted:
		case <-time.After(seenEvery - seenSoon):
		case <-ctx.Done():
			return
		}
	}
}

// writeSeen is one round of [Mailbox.watch].
func (m *Mailbox) writeSeen(ctx context.Context) error {
	now := m.cfg.Now()
	shared := m.shared()
	m.mu.Lock()
	if m.blind.IsZero() || now.Sub(m.watched) > 2*seenEvery || now.Before(m.watched) { // at the start, after a failure, or frozen meanwhile
		m.blind = now
	}
	for of, b := range m.boxes {
		if s := m.seen[of]; s != nil && len(b.pulls) > 0 {
			s.at = now
		}
	}
	m.forgetSilent(now, remembered)
	if !shared {
		m.watched = now
		m.mu.Unlock()
		return nil
	}
	rows := []db.PullSeen{{Address: m.name, SeenAt: now.UnixMilli()}}
	written := make(map[*sight]time.Time)
	for of, s := range m.seen {
		if s.at.After(s.written) {
			rows = append(rows, db.PullSeen{AppName: of.app, Address: of.address, SeenAt: s.at.UnixMilli(), WaitMs: s.wait.Milliseconds()})
			written[s] = s.at
		}
	}
	m.mu.Unlock()
	slices.SortFunc(rows, func(a, b db.PullSeen) int {
		return cmp.Or(strings.Compare(a.AppName, b.AppName), strings.Compare(a.Address, b.Address))
	})
	err := db.UpsertPullSeen(ctx, m.cfg.Pool, rows)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.watched = time.Time{}
		return err
	}
	m.watched = now
	for s, at := range written {
		s.written = at
	}
	return nil
}
