package scheduler

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// sending is a fake of what address queues do with a run: it takes a time by address, and counts.
type sending struct {
	takes map[string]time.Duration // by address; a second when it is not here
	size  int                      // of a call that runs share; 0: they have their own

	mu      sync.Mutex
	calls   []int // of how many runs each
	order   []int64
	done    []time.Time
	now     map[string]int // by address, and by address and job
	most    map[string]int
	address map[int64]string
}

func newSending(perAddress, perJob int) (*addressQueues, *sending) {
	s := &sending{takes: map[string]time.Duration{}, now: map[string]int{}, most: map[string]int{}, address: map[int64]string{}}
	return newAddressQueues(perAddress, perJob, s.run, func(*dispatch) int { return s.size }), s
}

func (s *sending) count(by int, keys ...string) {
	for _, key := range keys {
		s.now[key] += by
		s.most[key] = max(s.most[key], s.now[key])
	}
}

func (s *sending) run(aq *addressQueue, runs []*dispatch) {
	keys := []string{aq.address}
	s.mu.Lock()
	for _, d := range runs {
		s.order = append(s.order, d.id)
		s.address[d.id] = aq.address
		if job := aq.address + " job " + strconv.FormatInt(d.job.id, 10); !slices.Contains(keys, job) {
			keys = append(keys, job)
		}
	}
	s.calls = append(s.calls, len(runs))
	s.count(1, keys...)
	takes, ok := s.takes[aq.address]
	s.mu.Unlock()
	if !ok {
		takes = time.Second
	}
	time.Sleep(takes) // of the bubble's time: how long the executor takes
	s.mu.Lock()
	s.count(-1, keys...)
	s.done = append(s.done, time.Now())
	s.mu.Unlock()
}

func run(id, jobID int64) *dispatch { return &dispatch{id: id, job: &job{id: jobID}} }

const unlimited = 1 << 30

func TestAddressQueuesBoundCallsByAddressAndByJob(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name               string
		perAddress, perJob int
		jobs               int
		wantAddress        int
		wantJob            int
		takes              time.Duration
	}{
		{"one job has its bound", 8, 3, 1, 3, 3, 8 * time.Second},
		{"two jobs have theirs each", 8, 3, 2, 6, 3, 8 * time.Second},
		{"many jobs share the address's", 8, 3, 12, 8, 3, 36 * time.Second},
		{"the address's bound is the smaller", 2, 3, 1, 2, 2, 12 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, s := newSending(tt.perAddress, tt.perJob)
				began := time.Now()
				id := int64(0)
				for job := range tt.jobs {
					for range 24 {
						id++
						if !l.add("a", run(id, int64(job)), unlimited) {
							t.Fatal("refused")
						}
					}
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if len(s.order) != 24*tt.jobs {
					t.Fatalf("%d of %d sent", len(s.order), 24*tt.jobs)
				}
				if s.most["a"] != tt.wantAddress || s.most["a job 0"] != tt.wantJob {
					t.Errorf("at most %d calls to the address and %d for the job, want %d and %d", s.most["a"], s.most["a job 0"], tt.wantAddress, tt.wantJob)
				}
				if took := s.done[len(s.done)-1].Sub(began); took != tt.takes {
					t.Errorf("took %s, want %s: the bounds are not used fully", took, tt.takes)
				}
				if len(l.byAddr) != 0 {
					t.Errorf("%d queues are kept", len(l.byAddr))
				}
			})
		})
	}
}

func TestJobsTakeTurnsAtAnAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := newSending(1, 1)
		for id := range int64(6) { // job 1 floods the queue before job 2 comes
			l.add("a", run(100+id, 1), unlimited)
		}
		l.add("a", run(200, 2), unlimited)
		l.add("a", run(201, 2), unlimited)
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []int64{100, 200, 101, 201, 102, 103, 104, 105}; !slices.Equal(s.order, want) {
			t.Errorf("sent in the order %v, want %v", s.order, want)
		}
	})
}

func TestASlowAddressDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := newSending(2, 2)
		s.takes["slow"] = time.Hour
		s.takes["quick"] = time.Millisecond
		for id := range int64(100) {
			l.add("slow", run(id, 1), unlimited)
		}
		for id := range int64(100) {
			l.add("quick", run(1000+id, 1), unlimited)
		}
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		quick := 0
		for _, a := range s.address {
			if a == "quick" {
				quick++
			}
		}
		if quick != 100 {
			t.Errorf("%d of 100 runs of the quick address are sent while the slow one is busy", quick)
		}
		if queued, inFlight := l.load("slow"); queued != 98 || inFlight != 2 {
			t.Errorf("slow address: %d queued, %d in flight", queued, inFlight)
		}
		l.stop()
		time.Sleep(2 * time.Hour)
	})
}

func TestASlowJobDelaysNoOtherAtItsAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l *addressQueues
		var mu sync.Mutex
		done := map[int64]int{}
		l = newAddressQueues(4, 2, func(_ *addressQueue, runs []*dispatch) {
			d, takes := runs[0], time.Millisecond
			if d.job.id == 1 {
				takes = time.Hour
			}
			time.Sleep(takes)
			mu.Lock()
			done[d.job.id]++
			mu.Unlock()
		}, func(*dispatch) int { return 0 })
		for id := range int64(50) {
			l.add("a", run(id, 1), unlimited)
			l.add("a", run(100+id, 2), unlimited)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		mu.Lock()
		if done[2] != 50 || done[1] != 0 {
			t.Errorf("after a second: %v, want all of job 2", done)
		}
		mu.Unlock()
		l.stop()
		time.Sleep(2 * time.Hour)
	})
}

func TestAddressQueuesRefuseBeyondTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := newSending(1, 1)
		for id := range int64(4) { // one is being sent, three wait
			if !l.add("a", run(id, 1), 3) {
				t.Fatalf("run %d is refused", id)
			}
		}
		if l.add("a", run(4, 1), 3) {
			t.Error("a run beyond the limit is taken")
		}
		if !l.add("b", run(5, 1), 3) {
			t.Error("one address's queue takes the room of another's")
		}
		if queued, inFlight := l.depth(); queued != 3 || inFlight != 2 {
			t.Errorf("%d queued and %d in flight", queued, inFlight)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !l.add("a", run(6, 1), 3) {
			t.Error("refused although there is room again")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.order) != 6 {
			t.Errorf("sent %v", s.order)
		}
	})
}

func TestClearedQueuesForgetWhatWaitsAndGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := newSending(2, 1)
		for id := range int64(10) {
			l.add("a", run(id, id%3), unlimited)
		}
		l.clear()
		if queued, inFlight := l.depth(); queued != 0 || inFlight != 2 {
			t.Errorf("%d queued and %d in flight after clearing", queued, inFlight)
		}
		if jobs := len(l.byAddr["a"].jobs); jobs != 2 {
			t.Errorf("%d jobs are remembered after clearing, want those in flight", jobs)
		}
		l.add("a", run(50, 0), unlimited) // job 0 is in flight: this waits for it
		l.add("a", run(51, 2), unlimited)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.order) != 4 || s.most["a"] != 2 || s.most["a job 0"] != 1 {
			t.Errorf("sent %v with at most %v at a time", s.order, s.most)
		}
		if len(l.byAddr) != 0 {
			t.Error("the queue is kept")
		}
	})
}

func TestStoppedQueuesStartNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := newSending(1, 1)
		l.add("a", run(1, 1), unlimited)
		l.add("a", run(2, 1), unlimited)
		synctest.Wait()
		l.stop()
		if l.add("a", run(3, 1), unlimited) {
			t.Error("taken after the stop")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if !slices.Equal(s.order, []int64{1}) {
			t.Errorf("sent %v, want only what was under way", s.order)
		}
		l.resume()
		l.add("a", run(4, 1), unlimited)
		time.Sleep(time.Minute)
		synctest.Wait()
		if !slices.Equal(s.order, []int64{1, 4}) {
			t.Errorf("sent %v", s.order)
		}
	})
}

// What ends is not in flight and not remembered, while another run of its address goes on.
func TestAnAddressKnowsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, _ := newSending(2, 1)
		l.add("a", run(1, 1), unlimited)
		time.Sleep(500 * time.Millisecond)
		l.add("a", run(2, 2), unlimited)
		time.Sleep(700 * time.Millisecond)
		synctest.Wait()
		if queued, inFlight := l.load("a"); queued != 0 || inFlight != 1 || len(l.byAddr["a"].jobs) != 1 {
			t.Errorf("%d queued, %d in flight, %d jobs", queued, inFlight, len(l.byAddr["a"].jobs))
		}
		l.wait()
	})
}

// A job keeps its bound while one of its runs goes on and none waits.
func TestAJobsBoundOutlastsItsFirstRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := newSending(8, 2)
		l.add("a", run(1, 1), unlimited)
		time.Sleep(500 * time.Millisecond)
		l.add("a", run(2, 1), unlimited)
		time.Sleep(700 * time.Millisecond)
		for id := range int64(3) {
			l.add("a", run(10+id, 1), unlimited)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.order) != 5 || s.most["a job 1"] != 2 {
			t.Errorf("%d sent, at most %d at a time", len(s.order), s.most["a job 1"])
		}
	})
}

func TestARunThatWaitsIsTakenOutOfItsQueue(t *testing.T) {
	t.Parallel()
	remove := func(t *testing.T, l *addressQueues, id int64, there bool) {
		t.Helper()
		if d := l.remove(id); (d != nil) != there || there && d.id != id {
			t.Errorf("run %d is taken out: %+v", id, d)
		}
	}
	t.Run("the others keep their turns", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l, s := newSending(1, 1)
			for id, job := range []int64{1, 1, 2, 2, 3, 3} {
				l.add("a", run(int64(id), job), unlimited)
			}
			remove(t, l, 0, false) // it is being sent
			remove(t, l, 99, false)
			remove(t, l, 2, true)
			remove(t, l, 5, true)
			remove(t, l, 4, true)
			if queued, _ := l.load("a"); queued != 2 || l.queued != 2 || len(l.byAddr["a"].jobs) != 2 {
				t.Errorf("%d and %d queued, of %d jobs", queued, l.queued, len(l.byAddr["a"].jobs))
			}
			l.add("a", run(6, 3), unlimited)
			time.Sleep(time.Minute)
			synctest.Wait()
			if want := []int64{0, 3, 6, 1}; !slices.Equal(s.order, want) {
				t.Errorf("sent %v, want %v", s.order, want)
			}
		})
	})
	t.Run("its job has its bound, and its turn, still", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l, s := newSending(3, 2)
			l.add("a", run(1, 1), unlimited)
			l.add("a", run(2, 1), unlimited)
			l.add("a", run(3, 1), unlimited)
			remove(t, l, 3, true)
			l.add("a", run(4, 1), unlimited)
			l.add("a", run(5, 2), unlimited) // the address has as many as it may
			l.add("a", run(6, 2), unlimited)
			remove(t, l, 6, true)
			l.add("a", run(7, 2), unlimited)
			time.Sleep(time.Minute)
			synctest.Wait()
			if slices.Sort(s.order); !slices.Equal(s.order, []int64{1, 2, 4, 5, 7}) || s.most["a job 1"] != 2 {
				t.Errorf("sent %v, of job 1 %d at a time", s.order, s.most["a job 1"])
			}
		})
	})
}

// TestAnAddressThatNothingWaitsForIsForgotten also where nothing was sent to it: addresses come and go.
func TestAnAddressThatNothingWaitsForIsForgotten(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]func(*addressQueues){
		"what waited was taken out": func(l *addressQueues) { l.remove(1); l.remove(2) },
		"what waited was dropped":   func(l *addressQueues) { l.clear() },
	} {
		l, s := newSending(1, 1)
		s.size = 1
		l.together(func() {
			l.add("a", run(1, 1), unlimited)
			l.add("b", run(2, 1), unlimited)
			if drop(l); len(l.byAddr) != 0 {
				t.Errorf("%s: %d addresses are kept", name, len(l.byAddr))
			}
		})
		if len(s.order) != 0 || l.queued != 0 {
			t.Errorf("%s: %v were sent, %d wait", name, s.order, l.queued)
		}
	}
}

// Whoever holds back what is due is told when little waits for an address, also where the last that was too much is killed.
func TestWhenLittleWaitsItIsSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, _ := newSending(1, 1)
		told := 0
		l.low, l.drained = 2, func() { told++ }
		for id := range int64(5) { // of which four wait
			l.add("a", run(id, id), unlimited)
		}
		for seconds, want := range []int{0, 0, 1, 1, 1} {
			if synctest.Wait(); told != want {
				t.Errorf("after %d s it was said %d times, want %d", seconds, told, want)
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
		for id := range int64(4) {
			l.add("a", run(10+id, id), unlimited)
		}
		if l.remove(13); told != 2 {
			t.Errorf("with one killed it was said %d times", told)
		}
		l.stop()
		l.wait()
	})
}
