package scheduler

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// fired collects what a timer lets go, and when.
type fired struct {
	mu  sync.Mutex
	ids []int64
	at  []time.Time
}

func (f *fired) fire(due []*dispatch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range due {
		f.ids = append(f.ids, d.id)
		f.at = append(f.at, time.Now())
	}
}

func (f *fired) all() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ids)
}

// runTimer runs a timer for the length of a bubble.
func runTimer(t *testing.T, now func() time.Time) (*timer, *fired) {
	f := &fired{}
	tm := newTimer(now, f.fire)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { tm.run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return tm, f
}

func TestTimerFiresAtThePlannedMillisecondInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tm, f := runTimer(t, time.Now)
		start := time.Now()
		var runs []*dispatch
		for id := int64(1); id <= 500; id++ { // equal times keep the order of the ids
			runs = append(runs, &dispatch{id: id, at: start.Add(time.Duration(id/5*7) * time.Millisecond)})
		}
		rand.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
		tm.add(runs[:250]...)
		synctest.Wait()
		tm.add(runs[250:]...)
		time.Sleep(time.Second)
		synctest.Wait()
		if len(f.ids) != 500 {
			t.Fatalf("%d of 500 fired", len(f.ids))
		}
		late := 0
		for i, id := range f.ids {
			if want := start.Add(time.Duration(id/5*7) * time.Millisecond); !f.at[i].Equal(want) {
				t.Fatalf("run %d fired %s after its time", id, f.at[i].Sub(want))
			}
			// What is added when it is already due cannot be sorted in before what has gone.
			if i > 0 && id < f.ids[i-1] {
				late++
			}
		}
		if late > 4 {
			t.Errorf("%d runs fired out of order", late)
		}
		if tm.len() != 0 {
			t.Errorf("%d runs are left", tm.len())
		}
	})
}

func TestTimerWakesForAnEarlierRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tm, f := runTimer(t, time.Now)
		start := time.Now()
		tm.add(&dispatch{id: 1, at: start.Add(200 * time.Millisecond)})
		synctest.Wait()
		tm.add(&dispatch{id: 2, at: start.Add(10 * time.Millisecond)})
		tm.add(&dispatch{id: 3, at: start.Add(-time.Hour)})
		synctest.Wait()
		if got := f.all(); !slices.Equal(got, []int64{3}) {
			t.Errorf("at once fired %v, want the overdue run 3", got)
		}
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		if got := f.all(); !slices.Equal(got, []int64{3, 2, 1}) {
			t.Errorf("fired %v, want 3, 2, 1", got)
		}
		if at := f.at[1].Sub(start); at != 10*time.Millisecond {
			t.Errorf("run 2 fired after %s, want 10ms", at)
		}
	})
}

func TestTimerFollowsASteppedWallClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var step time.Duration
		tm, f := runTimer(t, func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Round(0).Add(step)
		})
		start := time.Now()
		tm.add(&dispatch{id: 1, at: start.Add(time.Hour)})
		time.Sleep(time.Second)
		synctest.Wait()
		if got := f.all(); len(got) != 0 {
			t.Fatalf("fired %v before the step", got)
		}
		mu.Lock()
		step = time.Hour
		mu.Unlock()
		stepped := time.Now()
		time.Sleep(clockCheck)
		synctest.Wait()
		if got := f.all(); len(got) != 1 || f.at[0].Sub(stepped) > clockCheck {
			t.Errorf("after the clock was set to its time, fired %v within %s", got, clockCheck)
		}
		mu.Lock()
		step = -time.Hour
		mu.Unlock()
		tm.add(&dispatch{id: 2, at: time.Now()}) // an hour ahead by the clock that was set back
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if got := f.all(); len(got) != 1 {
			t.Errorf("run 2 fired too soon")
		}
		time.Sleep(30*time.Minute + clockCheck)
		synctest.Wait()
		if got := f.all(); len(got) != 2 {
			t.Errorf("run 2 did not fire when the clock had come to it")
		}
	})
}

func TestTimerForgetsWhenCleared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tm, f := runTimer(t, time.Now)
		start := time.Now()
		for id := range int64(4) {
			tm.add(&dispatch{id: id, at: start.Add(time.Duration(id+1) * time.Second)})
		}
		tm.add(&dispatch{id: 9, at: start.Add(time.Second), trigger: jobspec.TriggerRetry})
		for passed, want := range []int{3, 2} {
			if got := tm.left(start.Add(time.Duration(passed)*time.Second), time.Duration(2-passed)*time.Second); got != want {
				t.Errorf("after %d s a stop leaves %d, want %d", passed, got, want)
			}
		}
		tm.clear()
		tm.add() // nothing
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := f.all(); len(got) != 0 || tm.len() != 0 {
			t.Errorf("fired %v", got)
		}
	})
}
