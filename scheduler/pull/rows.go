package pull

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

const (
	// between is for how long an executor that has been here may be between two pulls, soon how long a call waits then before it
	// becomes a row, and unsure how long one without an answer is left to the pull that has it: the executor may have lost that, and
	// ask elsewhere. Where the executor was here only justNow it comes back before a row would have been written: a row delays not only
	// this call but those behind it as well.
	between = 2 * time.Second
	soon    = 5 * time.Millisecond
	justNow = 250 * time.Millisecond
	back    = 25 * time.Millisecond
	unsure  = time.Second
	// alone is how often an admin that knows of no other looks all the same, and one that waits for nothing for late answers.
	alone = 500 * time.Millisecond
	// sweepEvery is how often boxes of executors that do not come any more are dropped.
	sweepEvery = 10 * time.Second
	// statement bounds one round of the database's.
	statement = 5 * time.Second
)

// Run looks after what goes by the database, until ctx ends.
func (m *Mailbox) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { m.loop(ctx, m.wake, m.send) })
	all.Go(func() { m.loop(ctx, m.look, m.fetch) })
	all.Go(func() { m.watch(ctx) })
	all.Wait()
}

// loop does rounds as long as there is something to do, and otherwise waits for a sign, or as long as the round says.
func (m *Mailbox) loop(ctx context.Context, sign <-chan struct{}, round func(context.Context) (more bool, again time.Duration, err error)) {
	failing := false
	for {
		limited, cancel := context.WithTimeout(ctx, statement)
		more, again, err := round(limited)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			m.cfg.Logger.Warn("calls between admins", "error", err)
		}
		failing = err != nil
		pause := m.cfg.Every
		switch {
		case !more:
			var after <-chan time.Time
			if again > 0 {
				after = time.After(again)
			}
			select {
			case <-sign:
			case <-after:
			case <-ctx.Done():
				return
			}
			continue
		case err != nil || !m.cfg.Others():
			pause = alone
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// send writes down calls that nobody asks for here, reads the answers that others took, and deletes rows that are over. There is more to
// do while calls are open. When they are over it looks again for a while: an executor that cannot tell whether its answer was taken gives it
// to another admin as well.
func (m *Mailbox) send(ctx context.Context) (more bool, again time.Duration, err error) {
	now := time.Now()
	others := m.cfg.Others()
	var rows []db.Pull
	var written []*call
	m.mu.Lock()
	awaited := false
	for _, c := range m.calls {
		if c.row && !c.stored || m.due(c, now, others) {
			if !c.row {
				s := m.state(c.box)
				s.waiting = slices.DeleteFunc(s.waiting, func(w *call) bool { return w == c })
				c.row = true
			}
			rows = append(rows, db.Pull{
				ID: c.id, AppName: c.box.app, Address: c.box.address, Path: c.path, TraceParent: c.trace, Body: c.body, ExpiresAt: c.expires.UnixMilli(), TakenBy: c.takenBy,
			})
			written = append(written, c)
		}
		awaited = awaited || (c.row || c.takenBy != "") && (others || now.Sub(c.made) > alone && !m.cfg.Pool.Alone())
	}
	done := m.done
	m.done = nil
	if others && m.cfg.Now().Before(m.late.Add(2*alone)) { // one that was written down last is seen
		again = alone
	}
	m.mu.Unlock()
	for i := range rows {
		rows[i].Body = m.seal(rows[i].ID, rows[i].Body)
	}
	if err := db.InsertPulls(ctx, m.cfg.Pool, rows); err != nil {
		m.keep(done)
		return true, 0, err
	}
	m.mu.Lock()
	for _, c := range written {
		c.stored = true
	}
	m.mu.Unlock()
	if awaited || len(rows) > 0 || again > 0 && now.Sub(m.read) >= alone {
		m.read = now
		if err := m.readAnswers(ctx); err != nil {
			m.keep(done)
			return true, 0, err
		}
	}
	for part := range slices.Chunk(done, db.MaxBatch) {
		if _, err := m.queries.DeletePulls(ctx, m.cfg.Pool, part); err != nil {
			m.keep(done)
			return true, 0, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.calls)+len(m.done) > 0, again, nil
}

// due says whether a call is to become a row. An admin that knows of no other may be about to hear of one.
func (m *Mailbox) due(c *call, now time.Time, others bool) bool {
	age := now.Sub(c.made)
	switch {
	case c.row, !others && (age < alone || m.cfg.Pool.Alone()):
		return false
	case c.takenBy != "":
		return age > unsure
	}
	s := m.boxes[c.box]
	switch away := now.Sub(s.seen); {
	case len(s.pulls) > 0 || away <= justNow:
		return age >= back
	case away <= between:
		return age >= soon
	}
	return true
}

// keep has rows deleted in another round.
func (m *Mailbox) keep(done []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done = append(m.done, done...)
}

func (m *Mailbox) readAnswers(ctx context.Context) error {
	rows, err := m.queries.ListPullAnswers(ctx, m.cfg.Pool, m.name)
	if err != nil || len(rows) == 0 {
		return err
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
		body, err := m.unseal(r.ID, r.Body)
		if err != nil {
			m.cfg.Logger.Warn("an answer that another admin took cannot be read: do all have the same secret key?", "executor", r.Address, "error", err)
			continue
		}
		m.deliver(box{r.AppName, r.Address}, r.ID, body)
	}
	_, err = m.queries.DeletePullAnswers(ctx, m.cfg.Pool, ids)
	return err
}

// fetch tells the pulls that are open here of rows that they may take. There is more to do while there are any.
func (m *Mailbox) fetch(ctx context.Context) (more bool, again time.Duration, err error) {
	m.mu.Lock()
	open, rows := m.pulls, false
	for _, c := range m.calls {
		rows = rows || c.row
	}
	if now := time.Now(); now.Sub(m.swept) > sweepEvery {
		m.swept = now
		for of := range m.boxes {
			m.forget(of)
		}
	}
	m.mu.Unlock()
	if open == 0 || !rows && !m.cfg.Others() {
		return open > 0, 0, nil
	}
	return true, 0, m.offer(ctx)
}

// offer tells pulls of the rows that are for them.
func (m *Mailbox) offer(ctx context.Context) error {
	rows, err := m.queries.ListPulls(ctx, m.cfg.Pool, m.cfg.Now().UnixMilli())
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	offers := make(map[*pull][]string)
	sizes := make(map[*pull]int64)
	for _, r := range rows {
		s := m.boxes[box{r.AppName, r.Address}]
		if s == nil {
			continue
		}
		for _, p := range s.pulls {
			if p.gone || p.busy || len(p.rows) > 0 || r.TakenBy != "" && !slices.Contains(p.req.Lost, r.TakenBy) ||
				len(offers[p]) >= p.req.Max || len(offers[p]) > 0 && sizes[p]+r.Size > maxBytes {
				continue
			}
			offers[p] = append(offers[p], r.ID)
			sizes[p] += r.Size
			break
		}
	}
	for p, ids := range offers {
		p.rows <- ids // there is room: only this fills it
	}
	return nil
}

// takeRows hands over rows, as far as nobody else has.
func (m *Mailbox) takeRows(ctx context.Context, p *pull, ids []string) (calls []wire.PulledCall, err error) {
	m.mu.Lock()
	lost := p.req.Lost
	m.mu.Unlock()
	now := m.cfg.Now()
	var rows []db.ListTakenPullsRow
	err = m.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		rows = nil
		n, err := m.queries.TakePulls(ctx, tx, db.TakePullsParams{Pull: p.req.Pull, Ids: ids, Now: now.UnixMilli(), Lost: lost})
		if err != nil || n == 0 {
			return err
		}
		rows, err = m.queries.ListTakenPulls(ctx, tx, db.ListTakenPullsParams{Ids: ids, Pull: p.req.Pull})
		return err
	})
	if err != nil {
		return nil, err
	}
	now = m.cfg.Now()
	for _, r := range rows {
		body, err := m.unseal(r.ID, r.Body)
		if err != nil {
			m.cfg.Logger.Warn("a call that another admin made cannot be read: do all have the same secret key?", "executor", p.req.RegistryValue, "error", err)
			continue
		}
		calls = append(calls, wire.PulledCall{ID: r.ID, Path: r.Path, Body: bodyOf(body), Left: r.ExpiresAt - now.UnixMilli(), TraceParent: r.TraceParent})
	}
	return calls, nil
}
