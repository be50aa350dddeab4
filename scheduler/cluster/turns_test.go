package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// turns is an engine's side that keeps when it was called, counted from the start of the test.
type turns struct {
	*fakeWork
	began time.Time

	mu    sync.Mutex
	beats []string
	taken map[int64]string
	limit time.Duration // for taking over
}

func (w *turns) at() string { return fmt.Sprint(time.Since(w.began)) }

func (w *turns) Figures() string {
	w.mu.Lock()
	w.beats = append(w.beats, w.at())
	w.mu.Unlock()
	return w.fakeWork.Figures()
}

func (w *turns) TakeOver(ctx context.Context, gone db.Node) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, is := w.taken[gone.ID]; !is {
		w.taken[gone.ID] = w.at()
		if end, has := ctx.Deadline(); has {
			w.limit = time.Until(end)
		}
	}
	return nil
}

// inTurns starts a node in a bubble, where a beat is a second, half a second after which it looks, and a lease ten.
func inTurns(t *testing.T, configure func(*Config), test func(t *testing.T, w *watching, work *turns)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		work := &turns{fakeWork: &fakeWork{inBubble: true}, began: time.Now(), taken: make(map[int64]string)}
		n := started(t, dbtest.New(t, db.SQLite), "watches", func(c *Config) {
			c.BeatEvery, c.Lease, c.Work, c.Logger = time.Second, 10*time.Second, work, slog.New(slog.DiscardHandler)
			c.Slept = func() time.Duration { return 0 }
			if configure != nil {
				configure(c)
			}
		})
		test(t, &watching{Node: n, t: t, work: work.fakeWork}, work)
	})
}

// TestWhenANodeBeatsAndLooks: it looks between two beats, and when the lease of another runs out, which is no turn of its own.
func TestWhenANodeBeatsAndLooks(t *testing.T) {
	t.Parallel()
	inTurns(t, nil, func(t *testing.T, w *watching, work *turns) {
		dies := w.other("dies", Told{}) // it is seen at half a second
		time.Sleep(12100 * time.Millisecond)
		var want []string
		for s := 1; s <= 12; s++ {
			want = append(want, fmt.Sprint(time.Duration(s)*time.Second))
		}
		work.mu.Lock()
		defer work.mu.Unlock()
		if diff := cmp.Diff(want, work.beats); diff != "" {
			t.Errorf("beats (-want +got):\n%s", diff)
		}
		if got := work.taken[dies]; got != "10.4s" {
			t.Errorf("it is taken over after %q, want a lease less a tenth of a beat after it was seen", got)
		}
		if work.limit != w.cfg.Lease/2 {
			t.Errorf("a turn may take %s, want half a lease", work.limit)
		}
	})
}

// TestAFencedNodeJudgesNobody until the database has taken a beat of its own: whoever slept does not know who lives.
func TestAFencedNodeJudgesNobody(t *testing.T) {
	t.Parallel()
	var slept atomic.Int64
	inTurns(t, func(c *Config) { c.Slept = func() time.Duration { return time.Duration(slept.Load()) } }, func(t *testing.T, w *watching, work *turns) {
		early := w.other("seen before", Told{})
		time.Sleep(10200 * time.Millisecond)
		slept.Store(int64(time.Hour)) // and not at 10.4 s, when a lease has run out, nor at 10.5 s, when it would look
		late := w.other("seen after", Told{})
		time.Sleep(15 * time.Second)
		work.mu.Lock()
		defer work.mu.Unlock()
		if got := work.taken[early]; got != "11s" {
			t.Errorf("the one whose lease ran out meanwhile is taken over after %q, want with the beat", got)
		}
		if got := work.taken[late]; got != "20.9s" {
			t.Errorf("the one that came meanwhile is taken over after %q, want a lease after the beat", got)
		}
		if !slices.Contains(work.beats, "11s") {
			t.Errorf("it beats at %s", work.beats)
		}
	})
}

// TestWhatIsLeftOfAGoneNodeIsDoneToTheMoment: its results are noted with the first look, and half a minute later, and its row goes after
// ten minutes. What is done for one does not keep the next waiting.
func TestWhatIsLeftOfAGoneNodeIsDoneToTheMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watches(t, dbtest.New(t, db.SQLite), func(c *Config) {
			c.Clock, c.Lease, c.Logger, c.Work = time.Now, 10*time.Hour, slog.New(slog.DiscardHandler), &fakeWork{inBubble: true}
		})
		noted := func() int { _, _, reported := w.work.did(); return len(reported) }
		gone := w.other("gone", Told{})
		w.silence(gone)
		w.looks()
		if noted() != 1 {
			t.Errorf("at the first look, results were noted %d times", noted())
		}
		time.Sleep(resultsAfter - 1)
		if w.looks(); noted() != 1 {
			t.Error("they are noted again too early")
		}
		time.Sleep(time.Nanosecond)
		if w.looks(); noted() != 2 {
			t.Error("they are not noted again when it is time")
		}
		time.Sleep(keepGone - resultsAfter)
		if w.looks(); len(w.rows()) != 2 {
			t.Errorf("its row is gone too early: %v", w.rows())
		}
		time.Sleep(time.Millisecond)
		next := w.other("next", Told{})
		w.silence(next)
		w.looks()
		if rows := w.rows(); len(rows) != 2 || rows[next] {
			t.Errorf("on record are %v, want this node and the one that has just gone", rows)
		}
		if _, taken, _ := w.work.did(); !slices.Contains(taken, next) {
			t.Error("the end of one row keeps the next node waiting")
		}
	})
}

// TestWhetherOthersLive: also one that stops counts, which has no share any more.
func TestWhetherOthersLive(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		w := watches(t, pool, func(c *Config) { c.Logger = slog.New(slog.DiscardHandler) })
		if w.Others() {
			t.Error("there are others, and nobody joined")
		}
		stops := w.other("stops", Told{Draining: true})
		if w.looks(); !w.Others() {
			t.Error("one that stops lives")
		}
		w.silence(stops)
		if w.looks(); w.Others() {
			t.Error("one that is gone lives")
		}
		w.other("works", Told{})
		if w.looks(); !w.Others() {
			t.Error("one that works lives")
		}
	})
}

// TestTheLineOfThoseThatMayClaim: each node has another place in it for each job, and one that is stuck has none.
func TestTheLineOfThoseThatMayClaim(t *testing.T) {
	t.Parallel()
	alive, claiming := []int64{3, 4, 5, 6}, []int64{3, 5, 6}
	rank := make(map[int64]func(int64) int)
	for _, me := range claiming {
		n := &Node{cfg: Config{Work: new(fakeWork)}}
		n.id.Store(me)
		n.setSharing(alive, alive, claiming)
		rank[me] = n.Rank()
		n.Mine()
		n.setSharing(alive, alive, claiming) // which waits for nobody who has asked
	}
	first := make(map[int64]int)
	for job := range int64(1000) {
		places := make([]bool, len(claiming))
		for me, of := range rank {
			place := of(job)
			if place >= len(claiming) || places[place] {
				t.Fatalf("job %d: node %d has place %d, which is another's or none", job, me, place)
			}
			places[place] = true
			if place == 0 {
				first[me]++
			}
		}
	}
	for _, me := range claiming {
		if first[me] < 250 {
			t.Errorf("node %d is first for %d of 1000 jobs", me, first[me])
		}
	}
}
