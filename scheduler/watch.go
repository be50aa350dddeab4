package scheduler

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/tick"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// An address that somebody typed sends no beats, so it is asked whether it is there: by the admin that leads, each about every
// [watchEvery], through the client that runs are sent with. What it answers is kept with its time, so that all admins and a
// page of a minute later know the same; an answer that is older than a registration may be counts as none.

const (
	watchEvery  = 30 * time.Second // as often as an executor beats
	watchJitter = 5 * time.Second  // at most so much more, so that addresses that were typed together are not asked together
	watchWithin = 3 * time.Second  // an answer takes no longer; a shorter call time-out holds too
	watchAtOnce = 64               // so that a thousand dead machines are asked within what an answer counts
)

// asking is what became of the last question to an address.
type asking struct {
	at    time.Time
	since time.Time  // of not answering as an executor does; zero: it answered
	fault wire.Fault // "" when it answered
}

// away reports whether nobody was there to answer. Whoever answers anything gets runs: an executor that somebody wrote need not
// know the question.
func (a asking) away() bool { return Away(a.fault) }

// Away reports whether the failure of a question means that nobody was there.
func Away(fault wire.Fault) bool {
	switch fault {
	case "", wire.FaultAnswer, wire.FaultStatus, wire.FaultProtocol, wire.FaultTooOld, wire.FaultBroken, wire.FaultStopped, wire.FaultOwn:
		return false
	case wire.FaultRefused, wire.FaultUnreachable, wire.FaultHost, wire.FaultConnect, wire.FaultCertificate, wire.FaultTLS, wire.FaultNotFetched, wire.FaultSilent,
		wire.FaultLate, wire.FaultOther:
	}
	return true
}

// next is what is known after another question.
func (a asking) next(now time.Time, fault wire.Fault) asking {
	n := asking{at: now, fault: fault}
	if fault == "" {
		return n
	}
	if n.since = a.since; n.since.IsZero() {
		n.since = now
	}
	return n
}

// tells is what programs are told of a change. One lost question says little: the second in a row is told, and that it is over.
func (a asking) tells(next asking) (what webhook.Type, ok bool) {
	switch {
	case !a.since.IsZero() && a.at.Equal(a.since) && !next.since.IsZero():
		return webhook.ExecutorSilent, true
	case !a.since.IsZero() && a.at.After(a.since) && next.since.IsZero():
		return webhook.ExecutorRegistered, true
	}
	return "", false
}

// askingOf reads what is stored about an address.
func askingOf(row db.Executor) asking {
	return asking{at: db.Instant(row.AskedAt), since: db.Instant(row.SilentSince), fault: wire.Fault(row.Fault)}
}

// watching reports whether typed addresses are asked.
func (e *Engine) watching() bool { return e.cfg.Watching != nil && e.cfg.Watching() }

// fresh reports whether what was answered to a question counts still.
func (e *Engine) fresh(a asking, now time.Time) bool {
	return !a.at.IsZero() && now.Sub(a.at) <= e.cfg.DeadAfter
}

// away are the typed addresses where nobody is, as far as that is known still.
func (e *Engine) away(groups map[int64]*group, now time.Time) map[string]time.Time {
	away := make(map[string]time.Time)
	if !e.watching() {
		return away
	}
	for _, g := range groups {
		for _, a := range g.listed {
			if _, beats := g.beats[a]; g.manual && !beats && g.asked[a].away() && e.fresh(g.asked[a], now) {
				away[a] = g.asked[a].since
			}
		}
	}
	return away
}

// watcher asks the addresses that somebody typed.
type watcher struct {
	e     *Engine
	next  map[registration]time.Time // when each is asked again, as long as this admin leads
	again func() time.Duration       // after a question, until the next
}

func newWatcher(e *Engine) *watcher {
	return &watcher{e: e, next: make(map[registration]time.Time), again: func() time.Duration { return watchEvery + rand.N(watchJitter) }}
}

// watchLoop asks until it is ended.
func (e *Engine) watchLoop(ctx context.Context) {
	w := newWatcher(e)
	for range tick.Every(ctx, e.cfg.watchTick) {
		w.runOnce(ctx)
	}
}

// runOnce asks whoever's time has come, and waits for the answers.
func (w *watcher) runOnce(ctx context.Context) {
	if !w.e.watching() || !w.e.node.Leading() {
		clear(w.next) // another admin asks, and what it hears says when this one begins
		return
	}
	due := w.due(w.e.now())
	var calls errgroup.Group
	calls.SetLimit(watchAtOnce)
	for _, q := range due {
		calls.Go(func() error {
			if err := w.ask(ctx, q); err != nil && ctx.Err() == nil {
				w.e.log.Warn("ask an executor whether it is there", "executor", q.address, "error", err)
			}
			return nil
		})
	}
	_ = calls.Wait() // the functions return no error
	for _, q := range due {
		w.next[q.key()] = w.e.now().Add(w.again())
	}
}

// watchedAddress is an address to ask.
type watchedAddress struct {
	group            int64
	appName, address string
	known            asking
}

func (q watchedAddress) key() registration {
	return registration{strings.ToLower(q.appName), q.address}
}

// due are the addresses whose time has come. One that was never asked is asked at once: somebody may be waiting who typed it.
func (w *watcher) due(now time.Time) (due []watchedAddress) {
	listed := make(map[registration]bool)
	for _, q := range w.e.directory.watched() {
		key := q.key()
		if listed[key] {
			continue
		}
		listed[key] = true
		at, planned := w.next[key]
		if !planned && !q.known.at.IsZero() {
			at = q.known.at.Add(w.again())
			w.next[key] = at
		}
		if !now.Before(at) {
			due = append(due, q)
		}
	}
	for key := range w.next {
		if !listed[key] {
			delete(w.next, key)
		}
	}
	return due
}

// watched are the addresses that are watched: typed, in rotation, to be called, and not heard of anyway.
func (d *directory) watched() (list []watchedAddress) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, g := range d.groups {
		if !g.manual {
			continue
		}
		for _, a := range g.listed {
			if _, beats := g.beats[a]; !beats && !g.disabled[a] && !strings.HasPrefix(a, wire.PullScheme) {
				list = append(list, watchedAddress{group: g.id, appName: g.appName, address: a, known: g.asked[a]})
			}
		}
	}
	return list
}

// ask asks one address and keeps what became of it.
func (w *watcher) ask(ctx context.Context, q watchedAddress) error {
	e := w.e
	to := e.target(q.group, q.address)
	call, cancel := context.WithTimeout(ctx, min(watchWithin, e.cfg.Limits().CallTimeout))
	answer, err := e.cfg.Executors.Beat(call, to)
	cancel()
	if ctx.Err() != nil || e.shortage.own(err) {
		return nil // the admin stops, or can call nobody, which says nothing about the executor
	}
	if err == nil && answer.OK() && to.Dialect == wire.DialectTooOld { // it has been upgraded
		e.noteDialect(ctx, to.AppName, q.address, wire.DialectRun)
	}
	if err == nil && !answer.OK() {
		err = answerError{answer}
	}
	at, before := e.now(), q.known
	if !e.fresh(before, at) { // what was in between nobody knows
		before = asking{}
	}
	now := before.next(at, faultOf(err))
	what, tells := q.known.tells(now)
	err = e.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		if err := e.queries.SetExecutorAsked(ctx, tx, db.SetExecutorAskedParams{
			AppName: q.appName, Address: q.address, AskedAt: now.at.UnixMilli(), SilentSince: db.Millis(now.since), Fault: string(now.fault),
		}); err != nil || !tells {
			return err
		}
		return e.tellExecutor(ctx, tx, what, q.appName, q.address)
	})
	if err == nil && tells && e.cfg.Webhooks.Wants(what) {
		e.cfg.Webhooks.Wake()
	}
	return err
}
