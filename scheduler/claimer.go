package scheduler

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
)

const (
	// duePage is how many due jobs one read brings.
	duePage = 2000
	// helpAfter is how long a job of another's share may be overdue before a node that is not behind itself takes it: the
	// second in line after this, the third after twice this. It is the net under the shares, not the way they move: a node
	// that says that it cannot claim has no share, see [node.look]. Nor does a time count in which this node could not read
	// itself: the other could not claim either then, and where the database has gone back meanwhile, only it knows what it sent.
	helpAfter = 10 * time.Second
	// behindAfter is how long a job may be overdue before its node counts as behind.
	behindAfter = 3 * time.Second
	// slowClaim is how long a claim may take before another is begun beside it, up to slowClaims for each of
	// [Config.ClaimWorkers]. Where claims take long because the machine has too much to do, one is slow that takes slowTimes
	// as long as they do: more of them beside each other would only take the database from what is to be sent.
	slowClaim  = 300 * time.Millisecond
	slowClaims = 4
	slowTimes  = 4
	// longestUsual is the longest time that claims are taken to need.
	longestUsual = time.Second
	// leaveOut is for how long a job is left out whose row somebody else has locked.
	leaveOut = 3 * time.Second
	// readLimit and claimLimit end a read and a claim that the database does not answer, so that they can be tried again: the
	// jobs of a claim are nobody else's meanwhile.
	readLimit, claimLimit = 10 * time.Second, writeLimit
	// stuckAfter is how long nothing of the claiming may come to an end before this node leaves its share to the others. It
	// is longer than a claim waits for a row that somebody has locked.
	stuckAfter = 2500 * time.Millisecond
)

// claimer reads what is due and hands it to claims, some at a time. A read does not wait for the claims that the last one began:
// their jobs are left out of it, so that a slow claim delays its own jobs only.
type claimer struct {
	e     *Engine
	claim func(ctx context.Context, rows []db.ListDueJobsRow, until time.Time) error // [Engine.claim]; tests hang it
	now   func() time.Time                                                           // this machine's time; tests have it pass by hand

	reading sync.Mutex // one read at a time
	flights sync.WaitGroup

	mu     sync.Mutex
	flying map[int64]bool      // jobs in claims; true once it has ended, until the next read begins
	began  map[int]time.Time   // when each claim under way did
	last   int                 // number of the newest claim
	landed time.Time           // when a claim ended well
	usual  time.Duration       // how long a batch takes that nobody holds up, on average
	locked map[int64]time.Time // jobs whose rows were locked by others: until when they are left out
	read   time.Time           // when a read ended well
	cut    bool                // a read has failed since
	back   time.Time           // when one ended well after one that failed, or after a long time without
	owed   int64               // how many results are to have been written before the next claim, while results wait: as many more as claims made runs
	pause  time.Time           // until when it waits for that
	behind time.Duration       // by how much the oldest due job of this node's share was overdue then
	failed error               // of claims that have ended
	ended  chan struct{}       // capacity 1: a claim has ended
}

func newClaimer(e *Engine) *claimer {
	return &claimer{e: e, claim: e.claim, now: time.Now, flying: make(map[int64]bool), began: make(map[int]time.Time),
		locked: make(map[int64]time.Time), ended: make(chan struct{}, 1)}
}

// start notes that from now on reads are expected.
func (c *claimer) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read, c.landed, c.behind = c.now(), c.now(), 0
}

// claimLoop reads due jobs a horizon ahead and turns their fires into runs.
func (e *Engine) claimLoop(ctx context.Context) {
	tick := time.NewTicker(e.cfg.ClaimEvery)
	defer tick.Stop()
	defer e.claimer.flights.Wait()
	for {
		if e.draining.Load() {
			return
		}
		switch {
		case !e.node.MayAct():
		case e.full():
			// What cannot be sent is not claimed either: it stays due, for another node or for the misfire strategy.
			e.metrics.claims.WithLabelValues("held back").Inc()
		default:
			if err := errors.Join(e.claimer.round(ctx), e.claimer.errors()); err != nil && ctx.Err() == nil {
				e.log.Warn("claim due jobs", "error", err)
				e.setErr(err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-e.claimNow:
		}
	}
}

// full reports whether so much is unsent that nothing more is claimed.
func (e *Engine) full() bool { return e.pending.len() >= e.cfg.MaxQueued }

// round reads what is due within the horizon and begins to claim this node's share of it.
func (c *claimer) round(ctx context.Context) error {
	c.reading.Lock()
	defer c.reading.Unlock()
	now := c.e.now()
	until := now.Add(c.e.cfg.Horizon)
	rank := c.e.node.Rank()
	helps := false
	afterMs, afterID := int64(math.MinInt64), int64(0)
	for first := true; ; first = false {
		c.beginRead()
		query, cancel := context.WithTimeout(ctx, readLimit)
		rows, err := db.ListDue(query, c.e.cfg.Pool, db.ListDueJobsParams{
			UntilMs: until.UnixMilli(), AfterMs: afterMs, AfterID: afterID, Held: c.e.crowd.held(), Limit: duePage,
		})
		cancel()
		if err != nil {
			c.failRead()
			return err
		}
		full := len(rows) == duePage
		if full {
			afterMs, afterID = rows[duePage-1].TriggerNextTime, rows[duePage-1].ID
		}
		places := make([]int, len(rows))
		var behind time.Duration // the rows come in the order of their times
		for i, r := range rows {
			if places[i] = rank(r.ID); places[i] == 0 && behind == 0 {
				behind = max(0, now.Sub(time.UnixMilli(r.TriggerNextTime)))
			}
		}
		if first {
			helps = behind < behindAfter
		}
		reading := c.endRead(first, behind)
		own := make([]db.ListDueJobsRow, 0, len(rows))
		for i, r := range rows {
			if place := places[i]; place == 0 || helps && min(reading, now.Sub(time.UnixMilli(r.TriggerNextTime))) > time.Duration(place)*helpAfter {
				own = append(own, r)
			}
		}
		for _, batch := range c.batches(own) {
			if err := c.launch(ctx, batch, until); err != nil {
				return err
			}
		}
		if !full {
			return nil
		}
	}
}

// beginRead forgets the claims that ended before the read: those that end during it may show or not.
func (c *claimer) beginRead() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, over := range c.flying {
		if over {
			delete(c.flying, id)
		}
	}
}

// endRead notes a read that ended well, and returns for how long reads have done so.
func (c *claimer) endRead(first bool, behind time.Duration) (reading time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if c.cut || now.Sub(c.read)-c.e.cfg.ClaimEvery > behindAfter {
		c.cut, c.back = false, now
	}
	c.read = now
	if first {
		c.behind = behind
	}
	return now.Sub(c.back)
}

func (c *claimer) failRead() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
}

// batches parts what is to be claimed. Jobs that may hold a claim up, or need a guard of their own, are not put together with
// the others: those whose rows were locked, and those whose times somebody has put back.
func (c *claimer) batches(rows []db.ListDueJobsRow) [][]db.ListDueJobsRow {
	var plain, apart, back []db.ListDueJobsRow
	c.mu.Lock()
	now := c.now()
	for _, r := range rows {
		if _, flies := c.flying[r.ID]; flies {
			continue
		}
		until, locked := c.locked[r.ID]
		switch {
		case locked && now.Before(until):
		case r.ClaimedUntil > r.TriggerNextTime:
			back = append(back, r)
		case locked:
			apart = append(apart, r)
			delete(c.locked, r.ID)
		default:
			plain = append(plain, r)
		}
	}
	c.mu.Unlock()
	if len(back) > 0 {
		c.e.putBack(back)
	}
	var all [][]db.ListDueJobsRow
	for _, part := range [][]db.ListDueJobsRow{plain, back, apart} {
		for len(part) > 0 {
			n := min(len(part), db.MaxBatch)
			all = append(all, part[:n])
			part = part[n:]
		}
	}
	return all
}

// launch begins to claim a batch as soon as there is room for it.
func (c *claimer) launch(ctx context.Context, batch []db.ListDueJobsRow, until time.Time) error {
	for {
		if batch = c.e.crowd.without(batch); len(batch) == 0 || !c.e.node.MayAct() { // the lease may have run out since the round began
			return nil
		}
		number, wait := c.takeOff(batch)
		if number > 0 {
			c.flights.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, claimLimit)
				defer cancel()
				c.land(number, batch, c.claim(ctx, batch, until))
			})
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-c.ended:
		case <-timer.C:
		}
		timer.Stop()
	}
}

const (
	// longestPause is how long a claim waits for results to be written, and lookAgain how often it looks whether they are.
	longestPause = 250 * time.Millisecond
	lookAgain    = 5 * time.Millisecond
)

// takeOff gives a claim its number, or 0 and how long to wait before asking again. While results wait for their turn there is one claim at a
// time, and the next one when as many results have been written as that made runs: what is claimed is soon more results, and executors would
// have ever more of them that nobody writes.
func (c *claimer) takeOff(batch []db.ListDueJobsRow) (number int, wait time.Duration) {
	workers := c.e.cfg.ClaimWorkers
	c.mu.Lock()
	defer c.mu.Unlock()
	slow := max(slowClaim, slowTimes*c.usual)
	wait = slow
	quick := 0
	for _, began := range c.began {
		if age := c.now().Sub(began); age < slow {
			quick++
			wait = min(wait, slow-age)
		}
	}
	waiting, now, written := c.e.resultsWait(), c.now(), c.e.finisher.written.Load()
	switch {
	case quick >= workers || len(c.began) >= slowClaims*workers || quick > 0 && waiting:
		return 0, max(wait, time.Millisecond)
	case waiting && written < c.owed && now.Before(c.pause):
		return 0, min(lookAgain, c.pause.Sub(now))
	}
	c.owed, c.pause = written, now.Add(longestPause)
	c.last++
	c.began[c.last] = now
	for i := range batch {
		c.flying[batch[i].ID] = false
	}
	return c.last, 0
}

// made notes that a claim has made runs.
func (c *claimer) made(runs int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owed += int64(runs)
}

// took notes how long a batch took that nobody held up.
func (c *claimer) took(d time.Duration) {
	const weight = 8
	c.mu.Lock()
	defer c.mu.Unlock()
	c.usual += (min(d, longestUsual) - c.usual) / weight
}

func (c *claimer) land(number int, batch []db.ListDueJobsRow, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.began, number)
	for i := range batch {
		c.flying[batch[i].ID] = true
	}
	if err == nil {
		c.landed = c.now()
	} else if c.failed == nil {
		c.failed = err
	}
	select {
	case c.ended <- struct{}{}:
	default:
	}
}

// errors is what went wrong since it was asked last.
func (c *claimer) errors() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.failed
	c.failed = nil
	return err
}

// leave keeps jobs out of the next reads, whose rows somebody else has locked.
func (c *claimer) leave(rows []db.ListDueJobsRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for id, until := range c.locked {
		if now.Sub(until) > time.Minute { // no longer due, or another's
			delete(c.locked, id)
		}
	}
	for i := range rows {
		c.locked[rows[i].ID] = now.Add(leaveOut)
	}
}

// lag is by how much this node's share is overdue, as the last read found.
func (c *claimer) lag() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.behind
}

// sinceRead is by how much a read is overdue.
func (c *claimer) sinceRead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, c.now().Sub(c.read)-c.e.cfg.ClaimEvery)
}

// idle is for how long nothing of the claiming has come to an end although something should have: a read, or the claims
// that are under way.
func (c *claimer) idle() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	idle := c.now().Sub(c.read) - c.e.cfg.ClaimEvery
	oldest := time.Duration(0)
	for _, began := range c.began {
		oldest = max(oldest, c.now().Sub(began))
	}
	return max(0, idle, min(oldest, c.now().Sub(c.landed)))
}

// stuck reports whether this node cannot claim its share now, so that the others are to divide it among themselves.
func (e *Engine) stuck() bool {
	return e.full() || e.node.MayAct() && e.claimer.idle() > stuckAfter || e.shortage.lasts() > 0
}
