package simulate

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	forTime = flag.Duration("simulate.time", 0, "for how long to play scenarios of one seed after the other")
	seed    = flag.Uint64("simulate.seed", 0, "play the scenario of this seed only")
	from    = flag.Uint64("simulate.from", 1, "the first seed of -simulate.time")
	theme   = flag.String("simulate.theme", "", "play this theme, whatever the seed says")
	small   = flag.Bool("simulate.small", false, "play small scenarios, as the tests do")
	crowd   = flag.Int("simulate.crowd", 1, "play scenarios with so many times the jobs")
	repeat  = flag.Int("simulate.repeat", 1, "play the seed so often")
	workers = flag.Int("simulate.workers", runtime.GOMAXPROCS(0), "how many scenarios to play beside each other")
	verbose = flag.Bool("simulate.log", false, "print the engines' log of a scenario that fails")
)

// TestScenarios plays a small scenario of each theme.
func TestScenarios(t *testing.T) {
	if *seed != 0 || *forTime != 0 {
		t.Skip("TestSimulation is asked for")
	}
	t.Parallel()
	for i, theme := range themes {
		t.Run(theme, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && i > 1 {
				t.Skip("one or two are enough for now")
			}
			play(t, draw(uint64(100+i), theme, true, 1), func(totals) {})
		})
	}
}

// TestScenariosOfExecutorsThatAsk plays small scenarios in which all executors, or some, ask for their calls.
func TestScenariosOfExecutorsThatAsk(t *testing.T) {
	if *seed != 0 || *forTime != 0 {
		t.Skip("TestSimulation is asked for")
	}
	t.Parallel()
	for i, tt := range []struct {
		theme string
		among []asking
	}{
		{"everything", []asking{called, asksAll, asksOneByOne}}, {"killed", []asking{asksAll}}, {"frozen", []asking{asksOneByOne}},
		{"network", []asking{asksAll, asksOneByOne}}, {"executors", []asking{asksAll, asksOneByOne}}, {"database", []asking{asksOneByOne}},
	} {
		t.Run(tt.theme, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && i > 0 {
				t.Skip("one is enough for now")
			}
			s := draw(uint64(200+i), tt.theme, true, 1)
			s.drawAsking(rand.New(rand.NewPCG(s.seed, 11)), tt.among...)
			play(t, s, func(totals) {})
		})
	}
}

// TestSimulation plays the scenarios that the flags ask for, and prints what they came to.
func TestSimulation(t *testing.T) {
	if *seed == 0 && *forTime == 0 {
		t.Skip("say -simulate.time or -simulate.seed, or make simulate")
	}
	var mu sync.Mutex
	var sum totals
	began := time.Now()
	one := func(t *testing.T, seed uint64) {
		play(t, draw(seed, *theme, *small, *crowd), func(got totals) {
			mu.Lock()
			defer mu.Unlock()
			sum.add(got)
			if sum.scenarios%5 == 0 {
				fmt.Printf("simulation, after %v: %s\n", time.Since(began).Round(time.Second), &sum)
			}
		})
	}
	t.Cleanup(func() {
		took := time.Since(began)
		fmt.Printf("simulation: %s; %.0f planned fires a second of %v\n", &sum, float64(sum.planned)/took.Seconds(), took.Round(time.Second))
		for _, k := range slices.Sorted(maps.Keys(sum.counts)) {
			fmt.Printf("simulation: %9d %s\n", sum.counts[k], k)
		}
	})
	if *seed != 0 {
		for i := range *repeat {
			t.Run(fmt.Sprintf("seed=%d/%d", *seed, i+1), func(t *testing.T) { one(t, *seed) })
		}
		return
	}
	next := *from
	t.Run("from", func(t *testing.T) {
		for range *workers {
			t.Run("worker", func(t *testing.T) {
				t.Parallel()
				for time.Since(began) < *forTime {
					mu.Lock()
					s := next
					next++
					mu.Unlock()
					t.Run(fmt.Sprintf("seed=%d", s), func(t *testing.T) { one(t, s) })
				}
			})
		}
	})
}

// play plays a scenario and fails the test for every promise that was broken in it.
func play(t *testing.T, s *scenario, sum func(totals)) {
	t.Helper()
	var got totals
	defer func() { sum(got) }() // outside of the bubble, in the time of the world outside
	inBubble(t, s, func(t *testing.T, w *world) {
		err := w.play(t.Context())
		if err == nil {
			got, err = w.check(t.Context())
		}
		if err != nil {
			t.Error(err)
		}
		got.simulated = time.Since(s.begin)
		if broken := w.report(); broken != "" {
			t.Errorf("%s\n%s", s, broken)
			if *verbose {
				t.Logf("%s%s", w.log, w.stories(t.Context()))
			}
		}
	})
}

// inBubble makes a scenario's world on a clock of its own.
func inBubble(t *testing.T, s *scenario, do func(*testing.T, *world)) {
	t.Helper()
	content, err := template()
	if err != nil {
		t.Fatal(err)
	}
	dir := room(t)
	var seconds atomic.Int64
	defer watch(s, &seconds)()
	synctest.Test(t, func(t *testing.T) {
		w, err := newWorld(s, dir, content)
		if err != nil {
			t.Fatal(err)
		}
		w.seconds = &seconds
		do(t, w)
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
}

// room is a directory in memory, where there is one.
func room(t *testing.T) string {
	if dir, err := os.MkdirTemp("/dev/shm", "punctual-simulate"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	return filepath.Clean(t.TempDir())
}

// workToDo is how a goroutine of a bubble stands in a trace that waits for nothing but a processor, or for the kernel.
var workToDo = regexp.MustCompile(`(?m)^goroutine \d+ \[(running|runnable|syscall)[^\]]*synctest bubble`)

// watch ends the program when simulated time stands still: a goroutine of the bubble waits for what time does not end. Where one has
// work to do the machine may have none for it, so that is given ten times as long.
func watch(s *scenario, seconds *atomic.Int64) (stop func()) {
	done := make(chan struct{})
	go func() {
		last, busy := int64(-1), 0
		for {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Minute):
			}
			now := seconds.Load()
			if now != last {
				last, busy = now, 0
				continue
			}
			buf := make([]byte, 16<<20)
			buf = buf[:runtime.Stack(buf, true)]
			if busy++; busy < 10 && workToDo.Match(buf) {
				continue
			}
			fmt.Fprintf(os.Stderr, "%s\nstands still:\n%s\n", s, buf)
			os.Exit(3)
		}
	}()
	return func() { close(done) }
}
