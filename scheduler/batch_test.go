package scheduler

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/semaphore"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
)

// written collects a batcher's batches.
type written struct {
	takes time.Duration

	mu      sync.Mutex
	batches [][]int
}

func (w *written) write(_ context.Context, batch []int) {
	time.Sleep(w.takes)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches = append(w.batches, slices.Clone(batch))
}

func (w *written) sizes() (sizes []int, total int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.batches {
		sizes = append(sizes, len(b))
		total += len(b)
	}
	return sizes, total
}

func TestBatcher(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		takes time.Duration
		pause time.Duration // between items
		items int
		want  []int // sizes of the batches
	}{
		{"a lone item waits only for the linger", 0, time.Second, 2, []int{1, 1}},
		{"items of one moment go together", 0, time.Millisecond, 3, []int{3}},
		{"what waits while a batch is written goes together", 100 * time.Millisecond, 10 * time.Millisecond, 10, []int{1, 9}},
		{"a batch is not larger than allowed", time.Hour, 0, 25, []int{10, 10, 5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &written{takes: tt.takes}
				b := newBatcher(10, 2*time.Millisecond, 100, w.write)
				if tt.pause == 10*time.Millisecond {
					b.linger = 0
				}
				if tt.pause == time.Millisecond {
					b.linger = 5 * time.Millisecond
				}
				var wg sync.WaitGroup
				b.start(t.Context(), 1, &wg)
				for i := range tt.items {
					if err := b.add(t.Context(), i); err != nil {
						t.Fatal(err)
					}
					time.Sleep(tt.pause)
				}
				time.Sleep(10 * time.Hour)
				b.stop()
				wg.Wait()
				if got, _ := w.sizes(); !slices.Equal(got, tt.want) {
					t.Errorf("batches of %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// TestABatchWaitsLongerWhileManyCome: the first of a quiet moment waits for the linger alone, those that follow as long as they have patience,
// and what has none for nobody. A batch goes when the first of its items has waited as long as that does. Two workers do not part what comes
// between them.
func TestABatchWaitsLongerWhileManyCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const urgent, hasty = 99, 88
		w := &written{}
		b := newBatcher(100, 2*time.Millisecond, 100, w.write)
		b.patience = func(i int) time.Duration {
			switch i {
			case urgent:
				return 0
			case hasty:
				return 3 * time.Millisecond
			}
			return 10 * time.Millisecond
		}
		var wg sync.WaitGroup
		b.start(t.Context(), 2, &wg)
		add := func(items ...int) {
			t.Helper()
			for _, i := range items {
				if err := b.add(t.Context(), i); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond)
			}
		}
		time.Sleep(time.Second)
		add(0)
		time.Sleep(1500 * time.Microsecond)
		add(slices.Repeat([]int{1}, 9)...)
		add(2)
		time.Sleep(500 * time.Microsecond) // their window ends, and what comes at that very moment may be in it or not
		add(urgent)
		add(5, hasty, 6)
		time.Sleep(1500 * time.Microsecond)
		add(slices.Repeat([]int{3}, 4)...)
		time.Sleep(time.Second)
		add(4)
		time.Sleep(1500 * time.Microsecond)
		synctest.Wait() // nobody writes what is read
		if diff := cmp.Diff([][]int{{0}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 2}, {urgent}, {5, hasty, 6}, {3, 3, 3, 3}, {4}}, w.batches); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
		b.stop()
		wg.Wait()
	})
}

func TestABatcherThatStopsWritesWhatIsQueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &written{takes: time.Second}
		b := newBatcher(10, time.Millisecond, 100, w.write)
		if err := b.add(t.Context(), 0); !errors.Is(err, ErrStopping) {
			t.Errorf("before the start: %v, want ErrStopping", err)
		}
		var wg sync.WaitGroup
		b.start(t.Context(), 2, &wg)
		for i := range 73 {
			if err := b.add(t.Context(), i); err != nil {
				t.Fatal(err)
			}
		}
		b.stop()
		b.stop()
		wg.Wait()
		if _, total := w.sizes(); total != 73 {
			t.Errorf("%d of 73 are written", total)
		}
		if err := b.add(t.Context(), 99); !errors.Is(err, ErrStopping) {
			t.Errorf("after the stop: %v, want ErrStopping", err)
		}
		b.start(t.Context(), 1, &wg)
		if err := b.add(t.Context(), 100); err != nil {
			t.Errorf("after another start: %v", err)
		}
		b.stop()
		wg.Wait()
		if _, total := w.sizes(); total != 74 {
			t.Errorf("%d of 74 are written", total)
		}
	})
}

func TestAFullBatcherMakesItsCallersWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &written{takes: time.Minute}
		b := newBatcher(1, 0, 2, w.write)
		var wg sync.WaitGroup
		b.start(t.Context(), 1, &wg)
		began := time.Now()
		for i := range 3 { // one is being written, two wait
			if err := b.add(t.Context(), i); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.add(ctx, 3); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("add to a full batcher: %v after %s, want the deadline", err, time.Since(began))
		}
		if err := b.add(t.Context(), 4); err != nil || time.Since(began) != time.Minute {
			t.Errorf("add: %v after %s, want room after a minute", err, time.Since(began))
		}
		b.stop()
		wg.Wait()
		if _, total := w.sizes(); total != 4 {
			t.Errorf("%d written, want 4", total)
		}
	})
}

func TestNothingIsLostWhenManyAddWhileTheBatcherStops(t *testing.T) {
	t.Parallel()
	for range 20 {
		w := &written{}
		b := newBatcher(7, 0, 3, w.write)
		var loops, adders sync.WaitGroup
		b.start(t.Context(), 2, &loops)
		var mu sync.Mutex
		taken := 0
		first := make(chan struct{})
		var once sync.Once
		for range 8 {
			adders.Go(func() {
				for i := range 200 {
					if b.add(t.Context(), i) != nil {
						return
					}
					mu.Lock()
					taken++
					mu.Unlock()
					once.Do(func() { close(first) })
				}
			})
		}
		<-first
		b.stop()
		adders.Wait()
		loops.Wait()
		if _, total := w.sizes(); total != taken {
			t.Fatalf("%d were taken and %d written", taken, total)
		}
	}
}

// TestResultsOfManyDoNotDelayOthers has ten thousand results in one request, as XXL-JOB's executors send them after an outage,
// and a result of somebody else behind them.
func TestResultsOfManyDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many = 10_000
		written, before := 0, -1 // how many when the single one was written
		e := &Engine{bulk: semaphore.NewWeighted(bulkWaiting), carrier: newCarrier()}
		e.finisher = newBatcher(db.MaxBatch, 2*time.Millisecond, 20_000, func(_ context.Context, batch []finishing) {
			time.Sleep(100 * time.Millisecond)
			for _, f := range batch {
				if f.id == many {
					before = written
				}
				f.reply.left <- nil
			}
			written += len(batch)
		})
		var wg sync.WaitGroup
		e.finisher.start(t.Context(), 1, &wg)
		began := time.Now()
		wg.Go(func() {
			if err := e.complete(t.Context(), make([]finishing, many)); err != nil {
				t.Error(err)
			}
			// Twenty-one full batches, and one that was begun with what had come: they must not be kept from filling up.
			if took := time.Since(began); took > 2300*time.Millisecond {
				t.Errorf("the many were written in %v", took)
			}
			e.finisher.stop()
		})
		time.Sleep(250 * time.Millisecond) // in the midst of the writing
		asked := time.Now()
		if err := e.complete(t.Context(), []finishing{{id: many}}); err != nil {
			t.Error(err)
		}
		if took := time.Since(asked); took > 550*time.Millisecond || before > 3*bulkWaiting {
			t.Errorf("the single result was written after %v, behind %d of the others", took, before)
		}
		wg.Wait()
		if written != many+1 {
			t.Errorf("%d results written, want %d", written, many+1)
		}
	})
}

// TestResultsWaitAlsoWithTheirExecutors: large requests of results that were kept for long say so, for a moment. One that an executor could not
// bring, or says it kept, does not.
func TestResultsWaitAlsoWithTheirExecutors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{bulk: semaphore.NewWeighted(bulkWaiting), carrier: newCarrier()}
		e.finisher = newBatcher(db.MaxBatch, 0, db.MaxBatch, func(_ context.Context, batch []finishing) {
			for _, f := range batch {
				f.reply.left <- nil
			}
		})
		var wg sync.WaitGroup
		e.finisher.start(t.Context(), 1, &wg)
		for _, c := range []struct {
			n      int
			waited time.Duration
			want   bool
		}{{smallRequest + 1, lateResult - time.Millisecond, false}, {smallRequest, time.Hour, false}, {1, time.Hour, false}, {smallRequest + 1, lateResult, true}} {
			items := make([]finishing, c.n)
			items[0].waited = c.waited
			if err := e.complete(t.Context(), items); err != nil {
				t.Fatal(err)
			}
			if got := e.resultsWait(); got != c.want {
				t.Errorf("%d results of which the first was kept for %v: %v", c.n, c.waited, got)
			}
		}
		time.Sleep(lateFor - time.Millisecond)
		if !e.resultsWait() {
			t.Error("the moment is over too early")
		}
		time.Sleep(time.Millisecond)
		if e.resultsWait() {
			t.Error("it is said for ever")
		}
		e.finisher.stop()
		wg.Wait()
	})
}

// TestHowLongResultsWaitForEachOther: those of a request of several wait longest; one by itself is of a reporter that may wait for the answer
// before the next, and behind a full request more wait at their executor.
func TestHowLongResultsWaitForEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), shortLease, addressA)
	for n, want := range map[int]time.Duration{1: 10 * time.Millisecond, 2: 50 * time.Millisecond, 49: 50 * time.Millisecond, 50: 0, 51: 50 * time.Millisecond, 1000: 50 * time.Millisecond} {
		request := make([]wire.Callback, n)
		for i := range request {
			request[i] = wire.Callback{LogID: int64(i + 1), HandleCode: wire.CodeSuccess}
		}
		items := finishings(request)
		if got := b.engine.finisher.patience(items[n-1]); got != want {
			t.Errorf("a result of a request of %d waits %v, want %v", n, got, want)
		}
		items[0].code = wire.CodeFail
		if got := b.engine.finisher.patience(items[0]); got != 0 {
			t.Errorf("a failure in a request of %d waits %v", n, got)
		}
	}
	ours := finishings([]wire.Callback{{LogID: 1, HandleCode: wire.CodeSuccess, Waited: 1}})
	if got := b.engine.finisher.patience(ours[0]); got != 50*time.Millisecond {
		t.Errorf("a result of an executor of ours waits %v", got)
	}
	ours[0].sending = &outcome{d: &dispatch{job: &job{parent: true}}}
	if got := b.engine.finisher.patience(ours[0]); got != 0 {
		t.Errorf("one that starts other jobs waits %v", got)
	}
	if got := b.engine.finisher.patience(finishing{code: wire.CodeSuccess}); got != 10*time.Millisecond {
		t.Errorf("an end that the engine makes up waits %v", got)
	}
}
