package cluster

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
)

// watching is a node that has joined and does nothing by itself: the test has it look.
type watching struct {
	*Node
	t    *testing.T
	work *fakeWork
}

func watches(t *testing.T, pool *db.Pool, configure func(*Config)) *watching {
	t.Helper()
	n := newNode(t, pool, "watches", configure)
	if err := n.join(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &watching{n, t, n.cfg.Work.(*fakeWork)}
}

// other is the row of another admin, which tells what is given.
func (w *watching) other(name string, told Told) int64 {
	w.t.Helper()
	now := time.Now().UnixMilli()
	id, err := w.queries.InsertNode(w.t.Context(), w.cfg.Pool, db.InsertNodeParams{Name: name, StartedAt: now, BeatAt: now})
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := json.Marshal(told)
	if err != nil {
		w.t.Fatal(err)
	}
	w.exec("UPDATE punctual_node SET load_figures = ? WHERE id = ?", text, id)
	return id
}

func (w *watching) exec(query string, args ...any) {
	w.t.Helper()
	if _, err := w.cfg.Pool.ExecContext(w.t.Context(), query, args...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watching) looks() {
	w.t.Helper()
	if err := w.look(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// silence has another node's beat stand still for a lease.
func (w *watching) silence(id int64) {
	w.peers[id] = &peer{beat: 1, since: time.Now().Add(-w.cfg.Lease)}
}

// rows are the nodes on record, and whether each lives.
func (w *watching) rows() map[int64]bool {
	w.t.Helper()
	nodes, err := w.queries.ListNodes(w.t.Context(), w.cfg.Pool)
	if err != nil {
		w.t.Fatal(err)
	}
	live := make(map[int64]bool)
	for _, n := range nodes {
		live[n.ID] = n.State == 1
	}
	return live
}

// goneCounter calls back when a node is found gone.
type goneCounter struct {
	prometheus.Counter
	inc func()
}

func (c goneCounter) Inc() { c.inc() }

// TestANodeThatBeatsWhileItIsLookedAtLives: between the look and the verdict its renewal may arrive.
func TestANodeThatBeatsWhileItIsLookedAtLives(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		beats := func() {}
		w := watches(t, pool, func(c *Config) { c.Gone = goneCounter{inc: func() { beats() }} })
		gone, late := w.other("gone", Told{}), w.other("late", Told{})
		beats = func() { w.exec("UPDATE punctual_node SET beat = beat + 1 WHERE id = ?", late) }
		w.silence(gone)
		w.silence(late)
		w.looks()
		if rows := w.rows(); rows[gone] || !rows[late] {
			t.Errorf("alive on record: %v, want the second only", rows)
		}
		if _, taken, _ := w.work.did(); !slices.Equal(taken, []int64{gone}) {
			t.Errorf("taken over from %v, want %d alone", taken, gone)
		}
		if !slices.Contains(w.Alive(), late) || !slices.Contains(w.Claiming(), late) {
			t.Errorf("the one that has just beaten has no share: %v, %v", w.Alive(), w.Claiming())
		}
		if got := slices.Sorted(slices.Values(w.Living())); !slices.Equal(got, []int64{w.ID(), late}) {
			t.Errorf("alive are %v, not %v", got, []int64{w.ID(), late})
		}
	})
}

// TestAGoneNodeIsLookedAfterMoreThanOnce: what was in its commits appears later, and so do the results of what it sent last. Then
// its row goes.
func TestAGoneNodeIsLookedAfterMoreThanOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		w := watches(t, pool, nil)
		gone := w.other("gone", Told{})
		w.silence(gone)
		w.looks()
		w.looks()
		if _, taken, reported := w.work.did(); len(taken) != 2 || len(reported) != 1 {
			t.Errorf("after two looks: runs taken over %d times, results noted %d times; want 2 and 1", len(taken), len(reported))
		}
		g := w.goneNodes[gone]
		if wait := time.Until(g.next); wait < resultsAfter-10*time.Second || wait > resultsAfter {
			t.Errorf("results are looked for again in %v", wait)
		}
		for range 3 { // the second time is the last
			if g := w.goneNodes[gone]; g != nil {
				g.next = time.Now()
			}
			w.looks()
		}
		if _, _, reported := w.work.did(); len(reported) != 2 {
			t.Errorf("results were noted %d times, want twice", len(reported))
		}
		w.exec("UPDATE punctual_node SET beat_at = ? WHERE id = ?", w.Now().Add(-keepGone+time.Minute).UnixMilli(), gone)
		w.looks()
		if _, is := w.rows()[gone]; !is {
			t.Error("its row is gone too early")
		}
		w.exec("UPDATE punctual_node SET beat_at = ? WHERE id = ?", w.Now().Add(-keepGone-time.Minute).UnixMilli(), gone)
		w.looks()
		if _, is := w.rows()[gone]; is {
			t.Error("its row stays")
		}
		w.looks()
		if len(w.watched) != 0 {
			t.Errorf("it is still watched: %v", w.watched)
		}
	})
}

// TestAGoneNodeWhoseWorkCannotBeTakenHoldsUpNoOther: as where a row of its runs is locked. The others' work is taken over, their silence is judged as
// ever, and the beat, which was one, does not wait for it again and again.
func TestAGoneNodeWhoseWorkCannotBeTakenHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		w := watches(t, pool, func(c *Config) {
			// It is left alone until the next beat, which does not come while a slow database answers.
			c.Logger, c.BeatEvery, c.Lease = slog.New(slog.DiscardHandler), time.Hour, 10*time.Hour
		})
		stuck, gone, lives := w.other("stuck", Told{}), w.other("gone", Told{}), w.other("lives", Told{})
		w.looks()
		w.silence(stuck)
		w.silence(gone)
		w.work.refuses = stuck
		w.try(t.Context(), true)
		if _, taken, _ := w.work.did(); !slices.Equal(taken, []int64{gone}) {
			t.Errorf("taken over is the work of %v, want %v", taken, gone)
		}
		if err := w.work.beaten[len(w.work.beaten)-1]; err != nil {
			t.Errorf("the beat, which the database took, is told as %v", err)
		}
		if w.peers[lives] == nil {
			t.Error("how long the other has said nothing is forgotten")
		}
		w.try(t.Context(), false)
		if w.work.refused != 1 {
			t.Errorf("it was tried %d times at once", w.work.refused)
		}
		w.work.refuses = 0
		w.watched[stuck].next = time.Now()
		w.try(t.Context(), false)
		if _, taken, _ := w.work.did(); !slices.Contains(taken, stuck) {
			t.Error("it is not tried again")
		}
	})
}

func TestWhoStopsTakesNothingOver(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		w := watches(t, pool, nil)
		gone := w.other("gone", Told{})
		w.silence(gone)
		w.work.draining = true
		w.looks()
		if _, taken, reported := w.work.did(); len(taken)+len(reported) > 0 {
			t.Errorf("taken over from %v, noted of %v", taken, reported)
		}
		if w.rows()[gone] {
			t.Error("it is not declared gone, so the others do not know either")
		}
	})
}

// TestWhoHasAShare: one that stops has none of anything, one that is stuck none of the claims.
func TestWhoHasAShare(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		w := watches(t, pool, nil)
		works, stuck, stops := w.other("works", Told{}), w.other("is stuck", Told{Stuck: true}), w.other("stops", Told{Draining: true})
		w.looks()
		me := w.ID()
		if got := slices.Sorted(slices.Values(w.Alive())); !slices.Equal(got, []int64{me, works, stuck}) {
			t.Errorf("the work is shared by %v, not %v", got, []int64{me, works, stuck})
		}
		if got := slices.Sorted(slices.Values(w.Claiming())); !slices.Equal(got, []int64{me, works}) {
			t.Errorf("the claims are shared by %v, not %v", got, []int64{me, works})
		}
		if !w.rows()[stops] {
			t.Error("one that stops was declared gone")
		}
		if got := slices.Sorted(slices.Values(w.Living())); !slices.Equal(got, []int64{me, works, stuck, stops}) {
			t.Errorf("alive are %v, not %v", got, []int64{me, works, stuck, stops})
		}
		before := w.work.more.Load()
		w.looks()
		if w.work.more.Load() != before {
			t.Error("the share did not grow")
		}
		w.exec("UPDATE punctual_node SET load_figures = ? WHERE id = ?", `{"stuck":true}`, works)
		w.looks()
		if w.work.more.Load() != before+1 {
			t.Error("nobody is told that the share has grown: what is due in it would wait for the next read")
		}
		w.silence(stops)
		w.looks()
		if got := slices.Sorted(slices.Values(w.Living())); !slices.Equal(got, []int64{me, works, stuck}) {
			t.Errorf("when the beats of one that stopped have ended, alive are %v, not %v", got, []int64{me, works, stuck})
		}
	})
}

// TestAfterABeatThatFailedSilenceIsJudgedAnew: what the others did while the database was away is unknown.
func TestAfterABeatThatFailedSilenceIsJudgedAnew(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		w := watches(t, pool, func(c *Config) { c.Logger = slog.New(slog.DiscardHandler) })
		other := w.other("other", Told{})
		w.looks()
		if w.peers[other] == nil {
			t.Fatal("it has not seen the other")
		}
		w.silence(other)
		lease := w.cfg.Lease
		w.cfg.Lease = 1 // no database answers within that
		w.try(t.Context(), true)
		w.cfg.Lease = lease
		w.try(t.Context(), true)
		if !w.rows()[other] {
			t.Error("the other was declared gone")
		}
	})
}

// TestALeaseBeginsWithTheQuestion: the others may have seen the renewal long before its answer was here.
func TestALeaseBeginsWithTheQuestion(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		w := watches(t, pool, nil)
		var asked time.Duration
		w.work.beat = func() { asked = time.Since(w.start) }
		if err := w.renew(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if began := time.Duration(w.beatAt.Load()); asked == 0 || began > asked {
			t.Errorf("the lease began %v behind the question", began-asked)
		}
	})
}

// TestWhatIsFoundAtTheJoining: nothing unsent is below the newest run, and where nobody else can be, whoever is on record is gone.
func TestWhatIsFoundAtTheJoining(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		w := &watching{Node: newNode(t, pool, "joins", nil), t: t}
		w.work = w.cfg.Work.(*fakeWork)
		w.exec("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code) VALUES (41, 1, 1, 200, 200)")
		before := w.other("was here before", Told{})
		if err := w.join(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.work.raised.Load(); got != 41 {
			t.Errorf("its runs begin above %d, want 41", got)
		}
		_, taken, _ := w.work.did()
		if alone := pool.Alone(); w.rows()[before] == alone || slices.Contains(taken, before) != alone {
			t.Errorf("alone: %v; the other lives: %v, its work was taken over: %v", alone, w.rows()[before], taken)
		}
	})
}

// TestANodeIsFoundGoneWhenItsLeaseRunsOut, and not only at the next look, which may be half a beat later.
func TestANodeIsFoundGoneWhenItsLeaseRunsOut(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		n := newNode(t, pool, "watches", func(c *Config) {
			c.BeatEvery = time.Hour
			c.Lease = c.BeatEvery/10 + 200*time.Millisecond
		})
		w := &watching{Node: n, t: t, work: n.cfg.Work.(*fakeWork)}
		if err := n.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Stop(t.Context()) })
		gone := w.other("gone", Told{})
		n.BeatSoon()
		await(t, "it is taken over", func() bool {
			_, taken, _ := w.work.did()
			return slices.Contains(taken, gone)
		})
	})
}

func TestAFencedNodeDoesNotLead(t *testing.T) {
	t.Parallel()
	n := &Node{cfg: Config{Lease: time.Hour, Slept: func() time.Duration { return 0 }, Work: new(fakeWork)}, start: time.Now()}
	n.id.Store(1)
	n.setAlive([]int64{1, 2})
	if !n.Leading() {
		t.Error("the oldest does not lead")
	}
	n.asleep.Store(int64(-time.Hour))
	if n.Leading() {
		t.Error("it leads although its lease has run out")
	}
}

// TestALeaseHoldsFromTheJoiningOn, and from each renewal, for a process that has run for long on a machine that has slept.
func TestALeaseHoldsFromTheJoiningOn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		n := newNode(t, pool, "old", func(c *Config) {
			c.BeatEvery, c.Lease = time.Hour, 10*time.Hour
			c.Slept = func() time.Duration { return 100 * time.Hour }
		})
		n.start = n.start.Add(-50 * time.Hour)
		if err := n.join(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !n.MayAct() {
			t.Error("who has just joined may not act")
		}
		n.cfg.Slept = func() time.Duration { return 200 * time.Hour }
		n.beatAt.Store(0)
		if n.MayAct() || n.Left() > 0 || n.Silence() < 48*time.Hour {
			t.Errorf("without a renewal since: may act %v, %v left, silent for %v", n.MayAct(), n.Left(), n.Silence())
		}
		if err := n.renew(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if left := n.Left(); !n.MayAct() || left <= 0 || left > n.cfg.Lease || n.Silence() != 0 {
			t.Errorf("after a renewal: may act %v, %v left, silent for %v", n.MayAct(), left, n.Silence())
		}
	})
}

// TestTheEngineIsToldWhatCameOfABeat, but not of a look between two.
func TestTheEngineIsToldWhatCameOfABeat(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		w := watches(t, pool, func(c *Config) { c.Logger = slog.New(slog.DiscardHandler) })
		w.try(t.Context(), true)
		if b := w.work.beaten; len(b) != 1 {
			t.Errorf("told %v of one beat", b)
		}
		w.try(t.Context(), false)
		w.cfg.Lease = 1
		w.try(t.Context(), true)
		if b := w.work.beaten; len(b) != 2 || b[0] != nil || b[1] == nil {
			t.Errorf("told %v, want of one beat that went well and one that did not", b)
		}
	})
}

// TestAGoneNodeIsWatchedLessAndLess: each look puts the next off, and what others tell goes to the clock.
func TestAGoneNodeIsWatchedLessAndLess(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		w := watches(t, pool, func(c *Config) { c.Logger = slog.New(slog.DiscardHandler) })
		gone, lead := w.other("gone", Told{}), time.Hour
		for _, name := range []string{"one", "two"} {
			w.other(name, Told{Lead: &lead})
		}
		w.silence(gone)
		w.looks()
		if len(w.watched) != 1 || w.peers[gone] != nil {
			t.Fatalf("watched: %v, seen beating: %v", w.watched, w.peers)
		}
		if w.clock.odd.IsZero() {
			t.Error("the clock does not know what the others tell")
		}
		w.watched[gone].since = time.Now().Add(-4 * time.Hour)
		w.looks()
		w.looks()
		if _, taken, _ := w.work.did(); len(taken) != 2 {
			t.Errorf("after three looks it was looked after %d times, want 2", len(taken))
		}
		if next := time.Until(w.watched[gone].next); next < 50*time.Minute || next > 70*time.Minute {
			t.Errorf("four hours after its end it is looked at again in %v", next)
		}
	})
}

func TestWhoStopsHasNoShareAndSaysSo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		n := started(t, pool, "stops", nil)
		w := &watching{Node: n, t: t}
		if err := n.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if w.rows()[n.ID()] || len(n.Living()) != 0 || len(n.Alive()) != 0 || len(n.Claiming()) != 0 {
			t.Errorf("alive on record: %v, with the share of %v", w.rows(), n.Alive())
		}
	})
}

// TestABeatThatIsWantedSoonIsABeat and no look.
func TestABeatThatIsWantedSoonIsABeat(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		var wanted atomic.Int64
		n := started(t, pool, "one", func(c *Config) {
			c.BeatEvery, c.Lease = time.Hour, 10*time.Hour
			c.Work = &fakeWork{beat: func() { wanted.Add(1) }}
		})
		for i := range int64(3) {
			n.BeatSoon()
			await(t, "it beats", func() bool { return wanted.Load() == i+1 })
		}
	})
}

// TestTheSessionsOfASilentNodeAreEnded: one that stopped in the middle of a transaction would hold up the others, also before it is
// declared gone.
func TestTheSessionsOfASilentNodeAreEnded(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]bool{"quiet": false, "gone": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := db.Config{URL: dbtest.MariaDB(t)}
			pool, theirs := dbtest.Open(t, at), dbtest.Open(t, at)
			if err := errors.Join(pool.Migrate(t.Context()), theirs.PingContext(t.Context())); err != nil {
				t.Fatal(err)
			}
			w := watches(t, pool, func(c *Config) { c.Logger = slog.New(slog.DiscardHandler) })
			// A server that ends idle transactions by itself ends those of a pool, and this test would say nothing.
			plain, err := sql.Open("mysql", at.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer plain.Close()
			tx, err := plain.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			var session int64
			if err := tx.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&session); err != nil {
				t.Fatal(err)
			}
			other := w.other(name, Told{})
			server, _, _ := strings.Cut(theirs.Sessions(), ":")
			w.exec("UPDATE punctual_node SET sessions = ? WHERE id = ?", fmt.Sprintf("%s:%d", server, session), other)
			executortest.Eventually(t, "end of its session", func() error { // it must have waited for some seconds
				if silent {
					w.exec("UPDATE punctual_node SET state = 1 WHERE id = ?", other)
					w.silence(other)
				} else {
					w.peers[other] = &peer{beat: 1, since: time.Now().Add(-quietAfter), looks: quietLooks}
				}
				w.looks()
				if w.rows()[other] == silent {
					t.Fatalf("declared gone: %v", !silent)
				}
				var open int
				err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?", session).Scan(&open)
				if err == nil && open > 0 {
					err = executortest.ErrNotYet
				}
				return err
			})
			if err := tx.Commit(); err == nil {
				t.Error("the transaction that was ended commits")
			}
		})
	}
}

// TestANewSessionIsNotedAtOnce, and not with the next beat: should this admin stop before that, the others know what to end.
func TestANewSessionIsNotedAtOnce(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	var wanted atomic.Int64
	n := started(t, pool, "one", func(c *Config) {
		c.BeatEvery, c.Lease = time.Hour, 10*time.Hour
		c.Work = &fakeWork{beat: func() { wanted.Add(1) }}
	})
	var all []*sql.Conn
	for range 5 { // more than it has open already
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, conn)
	}
	var session string
	if err := all[4].QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&session); err != nil {
		t.Fatal(err)
	}
	for _, conn := range all {
		_ = conn.Close()
	}
	executortest.Eventually(t, "note of the session", func() error {
		nodes, err := n.queries.ListNodes(t.Context(), pool)
		if err == nil && (len(nodes) != 1 || !strings.Contains(nodes[0].Sessions, session)) {
			err = executortest.ErrNotYet
		}
		return err
	})
	if wanted.Load() != 0 {
		t.Error("it beats for that")
	}
}

// TestResultsAreNotedWhoeverDeclaredTheNodeGone: who did may be gone itself before the results of what the first one sent last have come,
// and a node that took its leave may have had no time to record everything.
func TestResultsAreNotedWhoeverDeclaredTheNodeGone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		first := watches(t, pool, nil)
		gone, left := first.other("gone", Told{}), first.other("left", Told{})
		first.silence(gone)
		first.looks()
		if _, err := first.queries.LeaveNode(t.Context(), pool, left); err != nil {
			t.Fatal(err)
		}
		next := watches(t, pool, nil)
		next.silence(first.ID())
		all := []int64{first.ID(), gone, left}
		for range 4 { // the second time is the last
			next.looks()
			for _, g := range next.goneNodes {
				g.next = time.Now()
			}
		}
		_, _, reported := next.work.did()
		slices.Sort(reported)
		if want := slices.Sorted(slices.Values(slices.Concat(all, all))); !slices.Equal(reported, want) {
			t.Errorf("results were noted of the nodes %v, want %v", reported, want)
		}
		if len(next.goneNodes) != 0 {
			t.Errorf("there is more to do: %v", next.goneNodes)
		}
		third := watches(t, pool, nil)
		third.looks()
		if _, _, reported := third.work.did(); slices.ContainsFunc(all, func(id int64) bool { return slices.Contains(reported, id) }) {
			t.Errorf("it was done again for %v", reported)
		}
	})
}
