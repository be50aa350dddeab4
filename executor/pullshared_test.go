//go:build go1.26

package executor

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// balanced are admins behind one address, as a transport.
type balanced struct {
	next  func() int // whose turn it is
	names []string
	calls func(admin int) []wire.PulledCall // what one has when it is asked

	early    bool          // they begin their answers early
	gathered bool          // and something between keeps the beginnings back
	slow     time.Duration // that a request takes to come to one

	mu     sync.Mutex
	frozen map[int]bool
	open   map[int]int
	asked  map[int]int
	gap    map[int]time.Duration // the longest time without a pull
	left   map[int]time.Time     // when the last one ended
	took   []string              // ids of answers, as the admins took them that waited for them
}

func newBalanced(next func() int, names ...string) *balanced {
	return &balanced{next: next, names: names, frozen: make(map[int]bool), open: make(map[int]int), asked: make(map[int]int), gap: make(map[int]time.Duration), left: make(map[int]time.Time)}
}

func (b *balanced) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	req, err := wire.DecodePull(body)
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(b.slowness()):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	b.mu.Lock()
	at := b.next()
	if b.frozen[at] {
		b.mu.Unlock()
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	response := wire.PullResponse{Admins: len(b.names) - len(b.frozen), Admin: b.names[at], Early: b.early}
	arrived := time.Now()
	for _, a := range req.Answers {
		switch {
		case strings.HasPrefix(a.ID, b.names[at]+"."):
			b.took = append(b.took, a.ID)
		case req.Apart:
			response.Left = append(response.Left, a.ID)
		default:
			b.took = append(b.took, "written:"+a.ID)
		}
	}
	response.Elsewhere = req.Max > 0 && req.Apart && (b.open[at] > 0 || len(response.Left) > 0)
	if req.Max > 0 && !response.Elsewhere {
		b.asked[at]++
		if b.open[at]++; b.open[at] == 1 && !b.left[at].IsZero() {
			b.gap[at] = max(b.gap[at], time.Since(b.left[at]))
		}
		if b.calls != nil {
			response.Calls = b.calls(at)
		}
		if len(response.Calls) == 0 {
			b.mu.Unlock()
			if wait := time.Duration(req.Wait) * time.Millisecond; b.early && req.Early && !b.gathered && wait > wire.PullEarly {
				time.Sleep(wire.PullEarly)
				return b.begin(r, req, at, arrived.Add(wait), response), nil
			}
			select {
			case <-time.After(time.Duration(req.Wait) * time.Millisecond):
			case <-r.Context().Done():
			}
			b.mu.Lock()
		}
		if b.open[at]--; b.open[at] == 0 {
			b.left[at] = time.Now()
		}
	}
	b.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	response.Held = time.Since(arrived).Milliseconds()
	return answered(r, response), nil
}

// begin is an answer that has begun, and ends at a time.
func (b *balanced) begin(r *http.Request, req wire.PullRequest, at int, until time.Time, response wire.PullResponse) *http.Response {
	response.Held = int64(req.Wait)
	whole := answered(r, response)
	content := whole.Body
	reader, writer := io.Pipe()
	go func() {
		select {
		case <-time.After(time.Until(until)):
		case <-r.Context().Done():
		}
		b.mu.Lock()
		if b.open[at]--; b.open[at] == 0 {
			b.left[at] = time.Now()
		}
		b.mu.Unlock()
		_, err := io.Copy(writer, content)
		_ = writer.CloseWithError(cmp.Or(r.Context().Err(), err))
	}()
	whole.Body = reader
	return whole
}

func (b *balanced) slowness() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.slow
}

func answered(r *http.Request, response wire.PullResponse) *http.Response {
	value, _ := json.Marshal(response)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, value)))), Request: r}
}

func (b *balanced) sees(admin int) (open, asked int, gap time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	gap = b.gap[admin]
	if b.open[admin] == 0 {
		gap = max(gap, time.Since(b.left[admin]))
	}
	return b.open[admin], b.asked[admin], gap
}

// boxed is an executor that asks over a transport, of which no more is there than asking needs.
func boxed(t *testing.T, b http.RoundTripper, addresses ...string) *Executor {
	t.Helper()
	e := &Executor{
		config: Config{AppName: "orders", Admins: addresses, DataDir: t.TempDir()}, address: "pull://box", instance: "box", logger: slog.New(slog.DiscardHandler),
		reporter: &reporter{}, token: new(token), beatNow: make(chan struct{}, 1),
	}
	e.admins = e.newAdmins(&http.Client{Transport: b}, e.token.show)
	return e
}

// startAsking has an executor ask, in a bubble, until the test ends or stops it.
func startAsking(t *testing.T, e *Executor) (stop func()) {
	t.Helper()
	p := newPuller(e)
	ctx, cancel := context.WithCancel(t.Context())
	services := new(group)
	p.start(ctx, services)
	stop = sync.OnceFunc(func() {
		cancel()
		services.Wait()
		p.finish()
	})
	t.Cleanup(stop)
	return stop
}

// asking runs the asking part of an executor against a transport, in a bubble, until the test ends.
func asking(t *testing.T, b http.RoundTripper, addresses ...string) {
	t.Helper()
	startAsking(t, boxed(t, b, addresses...))
}

// TestBehindABalancerOneAsksEachAdmin, whatever the balancer goes by.
func TestBehindABalancerOneAsksEachAdmin(t *testing.T) {
	t.Parallel()
	for name, choose := range map[string]func() func() int{
		"in turns":  func() func() int { n := 0; return func() int { n++; return n % 3 } },
		"by chance": func() func() int { r := rand.New(rand.NewPCG(3, 4)); return func() int { return r.IntN(3) } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBalanced(choose(), "a", "b", "c")
				asking(t, b, "http://balancer")
				without := 0
				for range 60 {
					time.Sleep(time.Second)
					synctest.Wait()
					for i := range 3 {
						if open, _, _ := b.sees(i); open == 0 {
							without++
						}
					}
				}
				if without > 30 { // by chance no more than 5 s or 10 s at one of them
					t.Errorf("at %d of 180 moments an admin was not asked", without)
				}
			})
		})
	}
}

// TestOneAsksAtEachKnownAdmin: there is no balancer, and nothing more is asked than before.
func TestOneAsksAtEachKnownAdmin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBalanced(func() int { return 0 }, "a", "b")
		asking(t, b, "http://one", "http://two")
		time.Sleep(time.Minute)
		synctest.Wait()
		// The first is answered at once, because it asks how many there are; six more last 10 s each, at either address.
		if open, asked, _ := b.sees(0); open != 2 || asked > 16 {
			t.Errorf("%d ask, %d times in a minute", open, asked)
		}
	})
}

// TestABalancerThatSendsAllToOneCostsLittle.
func TestABalancerThatSendsAllToOneCostsLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		b := newBalanced(func() int { n++; return 0 }, "a", "b")
		asking(t, b, "http://balancer")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if open, _, _ := b.sees(0); open < 1 || n > 10*60*4 {
			t.Errorf("%d ask, with %d requests in ten minutes", open, n)
		}
	})
}

// TestAFrozenAdminBehindABalancerHidesNobody: the other admin goes on seeing the executor, so that calls to it are not refused as to one
// that is silent, which it is after 12 s more than it waits (package scheduler/pull). The balancer does not know of the freeze.
func TestAFrozenAdminBehindABalancerHidesNobody(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]bool{"at rest": false, "with work": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := 0
				b := newBalanced(func() int { n++; return n % 2 }, "a", "b")
				var given time.Time
				if busy {
					b.calls = func(int) []wire.PulledCall {
						if time.Since(given) < 200*time.Millisecond {
							return nil
						}
						given = time.Now()
						return []wire.PulledCall{{ID: "x.1", Path: "/beat", Left: 1000}}
					}
				}
				asking(t, b, "http://balancer")
				time.Sleep(20 * time.Second)
				b.mu.Lock()
				b.frozen[0] = true
				b.mu.Unlock()
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				_, asked, gap := b.sees(1)
				if gap >= troubleWait+12*time.Second || asked < 30 {
					t.Errorf("the other was asked %d times, and not for %s", asked, gap)
				}
			})
		})
	}
}

// TestAFrozenAdminIsLeftSoon where the beginnings of answers come early: the other one hands over what it has within a second or two, also
// when it does not count the frozen one any more.
func TestAFrozenAdminIsLeftSoon(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]bool{"at rest": false, "with work": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := 0
				b := newBalanced(func() int { n++; return n % 2 }, "a", "b")
				b.early = true
				var given time.Time
				if busy {
					b.calls = func(int) []wire.PulledCall {
						if time.Since(given) < 50*time.Millisecond {
							return nil
						}
						given = time.Now()
						return []wire.PulledCall{{ID: "b.1", Path: "/beat", Left: 1000}}
					}
				}
				asking(t, b, "http://balancer")
				time.Sleep(20 * time.Second)
				b.mu.Lock()
				b.frozen[0] = true
				b.gap = make(map[int]time.Duration)
				b.mu.Unlock()
				time.Sleep(time.Minute)
				synctest.Wait()
				if _, asked, gap := b.sees(1); gap >= 3*time.Second { // for as long calls wait
					t.Errorf("the other was not asked for %s, and %d times in all", gap, asked)
				}
			})
		})
	}
}

// TestWhereNobodyAnswersFewAsk: what comes to nobody is held up on the way, by too many requests perhaps, and more of them would keep it so. When
// there are answers again they are few for as long as all comes through.
func TestWhereNobodyAnswersFewAsk(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"beginnings come early": true, "and not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var n atomic.Int64
				b := newBalanced(func() int { return int(n.Add(1) % 2) }, "a", "b")
				b.early = early
				freeze := func(is bool) {
					b.mu.Lock()
					defer b.mu.Unlock()
					clear(b.frozen)
					if is {
						b.frozen = map[int]bool{0: true, 1: true}
					}
					b.gap, b.asked = make(map[int]time.Duration), make(map[int]int)
				}
				inAMinute := func() int64 {
					synctest.Wait()
					before := n.Load()
					time.Sleep(time.Minute)
					synctest.Wait()
					return n.Load() - before
				}
				asking(t, b, "http://balancer")
				time.Sleep(20 * time.Second)
				usual := inAMinute()
				freeze(true)
				time.Sleep(time.Minute)
				if made := inAMinute(); made > usual {
					t.Errorf("%d requests a minute that nobody answers, where there are %d usually", made, usual)
				}
				freeze(false)
				time.Sleep(10 * time.Second)
				for i := range 2 {
					if _, asked, gap := b.sees(i); asked == 0 {
						t.Errorf("%d is not asked, for %s", i, gap)
					}
				}
				if made := inAMinute(); made > 2*usual {
					t.Errorf("%d requests a minute when all is well again, where there are %d usually", made, usual)
				}
			})
		})
	}
}

// TestSlowAdminsAreWaitedFor where the beginnings of answers come early, and all at once much later than before: the machine has something
// else to do. What is given up meanwhile is called for in vain.
func TestSlowAdminsAreWaitedFor(t *testing.T) {
	t.Parallel()
	for _, slow := range []time.Duration{700 * time.Millisecond, 1200 * time.Millisecond, 2 * time.Second} {
		t.Run(slow.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := 0
				b := newBalanced(func() int { n++; return n % 2 }, "a", "b")
				b.early = true
				asking(t, b, "http://balancer")
				time.Sleep(20 * time.Second)
				b.mu.Lock()
				b.slow = slow
				b.gap, b.asked = make(map[int]time.Duration), make(map[int]int)
				b.mu.Unlock()
				time.Sleep(20 * time.Second)
				synctest.Wait()
				for i := range 2 {
					if _, asked, gap := b.sees(i); gap >= 3*time.Second+slow || asked == 0 { // for as long calls wait
						t.Errorf("%d was not asked for %s, and %d times in all", i, gap, asked)
					}
				}
			})
		})
	}
}

// TestWhereBeginningsAreKeptBackNobodyIsTakenForFrozen, but for a moment.
func TestWhereBeginningsAreKeptBackNobodyIsTakenForFrozen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		b := newBalanced(func() int { return int(n.Add(1) % 2) }, "a", "b")
		b.early, b.gathered = true, true
		asking(t, b, "http://balancer")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		before := n.Load()
		time.Sleep(time.Minute)
		synctest.Wait()
		if made := n.Load() - before; made > 60 {
			t.Errorf("%d requests in a minute", made)
		}
	})
}

// TestAnswersComeToTheAdminThatWaits, without being written down by the other.
func TestAnswersComeToTheAdminThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		names := []string{"a", "b"}
		b := newBalanced(func() int { return r.IntN(2) }, names...)
		made := 0
		b.calls = func(admin int) []wire.PulledCall {
			if made++; made <= 10 || made > 110 { // the first are while nothing is known of a balancer
				return nil
			}
			return []wire.PulledCall{{ID: names[admin] + "." + strings.Repeat("i", made%7+1), Path: "/beat", Left: 10_000}}
		}
		asking(t, b, "http://balancer")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		written := slices.DeleteFunc(slices.Clone(b.took), func(id string) bool { return !strings.HasPrefix(id, "written:") })
		if len(b.took) != 100 || len(written) > 10 {
			t.Errorf("%d answers came, of which %d were written down", len(b.took), len(written))
		}
	})
}

// TestAnAnswerOfItsOwnLooksForItsAdmin: it came too late to be carried.
func TestAnAnswerOfItsOwnLooksForItsAdmin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		b := newBalanced(func() int { return r.IntN(2) }, "a", "b")
		p := newPuller(boxed(t, b, "http://balancer"))
		p.places = []place{{admins: 2}}
		a := p.newAsker(0, 0)
		for _, name := range []string{"a", "b"} {
			for range 50 {
				a.deliver([]pulledAnswer{
					{wire.PulledAnswer{ID: name + ".1", Answer: []byte(`{"code":200}`)}, a, time.Now().Add(time.Minute)},
					{wire.PulledAnswer{ID: "b.2", Answer: []byte(`{"code":200}`)}, a, time.Now().Add(time.Minute)},
				})
			}
		}
		written := slices.DeleteFunc(slices.Clone(b.took), func(id string) bool { return !strings.HasPrefix(id, "written:") })
		if len(b.took) != 200 || len(written) > 10 {
			t.Errorf("%d answers came, of which %d were written down", len(b.took), len(written))
		}
	})
}

// crowd are three admins behind one address that all have as many calls as a pull may bring, when all three are asked.
type crowd struct {
	mu   sync.Mutex
	open int
	all  chan struct{} // closed when all are
	took map[string]bool
}

func (c *crowd) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	req, err := wire.DecodePull(body)
	if err != nil {
		return nil, err
	}
	response := wire.PullResponse{Admins: 3, Admin: "a"}
	c.mu.Lock()
	for _, a := range req.Answers {
		c.took[a.ID] = true
	}
	mine := -1
	if req.Wait > 0 && c.open < 3 {
		mine = c.open
		if c.open++; c.open == 3 {
			close(c.all)
		}
	}
	c.mu.Unlock()
	switch {
	case mine >= 0:
		<-c.all
		for i := range req.Max {
			response.Calls = append(response.Calls, wire.PulledCall{ID: strconv.Itoa(mine*wire.MaxPull + i), Path: "/beat", Left: 10_000})
		}
	case req.Wait > 0:
		select {
		case <-time.After(time.Duration(req.Wait) * time.Millisecond):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return answered(r, response), nil
}

// TestMoreCallsThanMayBeUnderWay come at once: none waits for answers that are carried, or that are gathered.
func TestMoreCallsThanMayBeUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{all: make(chan struct{}), took: make(map[string]bool)}
		asking(t, c, "http://balancer")
		<-c.all
		time.Sleep(time.Second)
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.took) != 3*wire.MaxPull {
			t.Errorf("%d of %d calls are answered after a second", len(c.took), 3*wire.MaxPull)
		}
	})
}
