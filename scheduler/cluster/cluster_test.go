package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
)

// fakeWork is an engine's side that keeps what it was asked.
type fakeWork struct {
	mu       sync.Mutex
	draining bool
	drops    int
	taken    []int64 // nodes whose work was taken over
	refuses  int64   // a node whose work cannot be
	refused  int     // how often
	reported []int64
	beat     func() // called with every beat
	beaten   []error
	leapt    []time.Duration // written by the one who calls
	raised   atomic.Int64
	more     atomic.Int64 // how often the share grew
	inBubble bool         // nobody outside of it may wait for what is done
}

func (w *fakeWork) tell() {
	if !w.inBubble {
		beats.tell()
	}
}

func (w *fakeWork) Low() int64             { return 7 }
func (w *fakeWork) Raise(top int64)        { w.raised.Store(top) }
func (w *fakeWork) SharesMore()            { w.more.Add(1) }
func (w *fakeWork) Leapt(by time.Duration) { w.leapt = append(w.leapt, by) }

func (w *fakeWork) Beaten(err error) {
	w.mu.Lock()
	w.beaten = append(w.beaten, err)
	w.mu.Unlock()
	w.tell()
}

func (w *fakeWork) Draining() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.draining
}

func (w *fakeWork) Figures() string {
	if w.beat != nil {
		w.beat()
	}
	text, _ := json.Marshal(Told{Draining: w.Draining(), Lead: new(time.Duration)})
	return string(text)
}

func (w *fakeWork) Drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drops++
}

func (w *fakeWork) TakeOver(_ context.Context, gone db.Node) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if gone.ID == w.refuses {
		w.refused++
		return errors.New("a row is locked")
	}
	w.taken = append(w.taken, gone.ID)
	w.tell()
	return nil
}

func (w *fakeWork) RecordReported(_ context.Context, gone db.Node, _ int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reported = append(w.reported, gone.ID)
	return nil
}

func (w *fakeWork) did() (drops int, taken, reported []int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.drops, slices.Clone(w.taken), slices.Clone(w.reported)
}

// newNode makes a node with quick periods.
func newNode(t *testing.T, pool *db.Pool, name string, configure func(*Config)) *Node {
	t.Helper()
	cfg := Config{
		Pool: pool, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Work: new(fakeWork), Name: name,
		BeatEvery: 50 * time.Millisecond, Lease: 20 * time.Second,
	}
	if configure != nil {
		configure(&cfg)
	}
	n, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// started is a node that has joined, for the length of the test.
func started(t *testing.T, pool *db.Pool, name string, configure func(*Config)) *Node {
	t.Helper()
	n := newNode(t, pool, name, configure)
	if err := errors.Join(n.SetClock(t.Context()), n.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Stop(context.Background()) })
	return n
}

// beats are those of all nodes of these tests. What a test waits for comes with one.
var beats = signal{next: make(chan struct{})}

// signal wakes everybody who waits for the next one.
type signal struct {
	mu   sync.Mutex
	next chan struct{}
}

func (s *signal) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.next)
	s.next = make(chan struct{})
}

func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	end := time.After(executortest.Patience)
	for {
		next := beats.wait() // first, so that none is missed
		if is() {
			return
		}
		select {
		case <-next:
		case <-end:
			t.Fatal("waited in vain until " + what)
		}
	}
}

// halt ends a node as a crash would: without a farewell.
func halt(t *testing.T, n *Node) {
	t.Helper()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Stop(over); err == nil {
		t.Fatal("it said farewell")
	}
}

func TestWhatASilentNodeLeavesIsTakenOver(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		dies := started(t, pool, "dies", nil)
		gone := dies.ID()
		halt(t, dies)
		stays := started(t, pool, "stays", func(c *Config) { c.Lease = time.Second })
		work := stays.cfg.Work.(*fakeWork)
		await(t, "it is taken over", func() bool {
			_, taken, reported := work.did()
			return slices.Contains(taken, gone) && slices.Contains(reported, gone)
		})
		if alive := stays.Alive(); len(alive) != 1 || alive[0] != stays.ID() || !stays.Leading() {
			t.Errorf("alive are %v, it leads: %v", alive, stays.Leading())
		}
	})
}

func TestANodeThatWasDeclaredGoneJoinsAnewWithNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		n := started(t, pool, "one", nil)
		old := n.ID()
		if _, err := pool.ExecContext(t.Context(), "UPDATE punctual_node SET state = 0 WHERE id = ?", old); err != nil {
			t.Fatal(err)
		}
		await(t, "it has another id", func() bool { return n.ID() != old })
		if drops, _, _ := n.cfg.Work.(*fakeWork).did(); drops != 1 || !n.MayAct() {
			t.Errorf("dropped %d times, may act: %v", drops, n.MayAct())
		}
	})
}

func TestTheOldestNodeLeadsUntilItLeaves(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	one, two := started(t, pool, "one", nil), started(t, pool, "two", nil)
	await(t, "the two know each other", func() bool { return len(one.Alive()) == 2 && len(two.Alive()) == 2 })
	if !one.Leading() || two.Leading() {
		t.Errorf("the first leads: %v, the second: %v", one.Leading(), two.Leading())
	}
	work := one.cfg.Work.(*fakeWork)
	work.mu.Lock()
	work.draining = true
	work.mu.Unlock()
	one.BeatSoon()
	await(t, "the other leads", two.Leading)
	if one.Leading() {
		t.Error("one that stops leads")
	}
	left := one.ID()
	if err := one.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := one.Stop(t.Context()); err != nil {
		t.Errorf("a second stop: %v", err)
	}
	nodes, err := one.queries.ListNodes(t.Context(), pool)
	if err != nil || slices.ContainsFunc(nodes, func(n db.Node) bool { return n.ID == left && n.State == 1 }) {
		t.Errorf("after the farewell %+v, %v", nodes, err)
	}
}

func TestAStopDoesNotWaitForABeatThatHangs(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		log := new(bytes.Buffer) // written by the stop alone
		hangs, release := make(chan struct{}), make(chan struct{})
		free := sync.OnceFunc(func() { close(release) })
		t.Cleanup(free)
		once := sync.OnceFunc(func() {
			close(hangs)
			<-release
		})
		n := started(t, pool, "one", func(c *Config) {
			c.Work = &fakeWork{beat: once}
		})
		<-hangs
		n.log = slog.New(slog.NewTextHandler(log, nil))
		began := time.Now()
		err := n.Stop(t.Context())
		if took := time.Since(began); err == nil || took < StopsWithin/2 || took > StopsWithin+5*time.Second { // a busy machine's share
			t.Errorf("the stop took %v: %v", took, err)
		}
		if !strings.Contains(log.String(), "left the cluster without a farewell") {
			t.Errorf("the log says %q", log)
		}
		if err := n.Start(t.Context()); err == nil {
			t.Error("a start beside the beat that hangs")
		}
		free()
		<-n.ended
		if err := n.Start(t.Context()); err != nil {
			t.Errorf("a start after it: %v", err)
		}
	})
}
