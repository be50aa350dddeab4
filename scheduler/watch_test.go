package scheduler

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// typed makes the group of the bundle one whose addresses somebody typed.
func (b *bundle) typed(addresses string) {
	b.t.Helper()
	if _, err := b.pool.ExecContext(b.t.Context(), "UPDATE xxl_job_group SET address_type = 1, address_list = ? WHERE id = ?", addresses, b.group); err != nil {
		b.t.Fatal(err)
	}
	b.reload()
}

func (b *bundle) reload() {
	b.t.Helper()
	if err := b.engine.directory.reload(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// watchAndReload asks whoever's time has come, and has the engine know the answers.
func (b *bundle) watchAndReload(w *watcher) {
	b.t.Helper()
	w.runOnce(b.t.Context())
	b.reload()
}

// standings are those of the group's addresses.
func (b *bundle) standings(e *Engine) map[string]AddressStanding {
	got := make(map[string]AddressStanding)
	for _, s := range e.Addresses(b.group) {
		got[s.Address] = s.Standing(e.now())
	}
	return got
}

// beats are answers to questions, by address, which are counted.
type beats struct {
	mu      sync.Mutex
	asked   map[string]int
	answers map[string]error
}

func (a *beats) answer(address string) (wire.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked[address]++
	if err := a.answers[address]; err != nil {
		return wire.Answer{}, err
	}
	return yes, nil
}

func (a *beats) set(address string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[address] = err
}

func (a *beats) of(address string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[address]
}

func newBeats(f *fakeExecutors) *beats {
	a := &beats{asked: make(map[string]int), answers: make(map[string]error)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beat = a.answer
	return a
}

var nobodyListens = &wire.CallError{Stage: wire.StageDial, Err: syscall.ECONNREFUSED}

// watchedByHand has an engine watch when the test says so only.
func watchedByHand(clock *handClock, on *bool) func(*Config) {
	return func(c *Config) {
		if clock != nil {
			clock.rule(c)
		}
		c.watchTick = 24 * time.Hour
		c.Watching = func() bool { return on == nil || *on }
	}
}

func TestTypedAddressesAreAskedWhetherTheyAreThere(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock, on := newHandClock(), true
		b := setup(t, pool, watchedByHand(clock, &on))
		answers := newBeats(b.executors)
		const asks, c = "pull://worker-1", "http://10.0.0.3:1/"
		b.typed(addressA + "," + addressB + "," + c + "," + asks)
		if got := b.standings(b.engine)[addressA]; got != AddressManual {
			t.Errorf("before it was asked it is %q", got)
		}
		answers.set(addressB, nobodyListens)
		answers.set(c, &wire.CallError{Stage: wire.StageStatus, MaybeDelivered: true, Err: fmt.Errorf("404")})
		w := newWatcher(b.engine)
		b.watchAndReload(w)
		want := map[string]AddressStanding{addressA: AddressOnline, addressB: AddressOffline, c: AddressRefusing, asks: AddressManual}
		if got := b.standings(b.engine); !equalMaps(got, want) {
			t.Errorf("standings %v, want %v", got, want)
		}
		if n := answers.of(asks); n != 0 {
			t.Errorf("one that asks for its calls was asked %d times", n)
		}
		down := clock.now()
		b.watchAndReload(w)
		clock.pass(watchEvery - time.Second)
		b.watchAndReload(w)
		if n := answers.of(addressA); n != 1 {
			t.Errorf("asked %d times within 29 s", n)
		}
		clock.pass(watchJitter + time.Second)
		b.watchAndReload(w)
		if n := answers.of(addressA); n != 2 {
			t.Errorf("asked %d times within 35 s", n)
		}
		for _, s := range b.engine.Addresses(b.group) {
			switch s.Address {
			case addressB:
				if !s.SilentSince.Equal(down) || s.Fault != wire.FaultRefused || !s.Asked.Equal(clock.now()) {
					t.Errorf("it does not answer since %s (%s), asked %s; it is %s since %s", s.SilentSince, s.Fault, s.Asked, clock.now(), down)
				}
			case addressA:
				if !s.SilentSince.IsZero() || !s.Asked.Equal(clock.now()) {
					t.Errorf("it answered, and is %+v", s)
				}
			}
		}
		// Who has taken it out of rotation asks nothing of it.
		if err := b.engine.SetAddressDisabled(t.Context(), b.group, addressA, true); err != nil {
			t.Fatal(err)
		}
		clock.pass(watchEvery + watchJitter)
		answers.set(addressB, nil)
		b.watchAndReload(w)
		if n := answers.of(addressA); n != 2 || b.standings(b.engine)[addressA] != AddressDisabled {
			t.Errorf("out of rotation: asked %d times, %v", n, b.standings(b.engine))
		}
		if got := b.standings(b.engine)[addressB]; got != AddressOnline {
			t.Errorf("it is back, and is %q", got)
		}
		// An old answer is none.
		clock.pass(b.engine.cfg.DeadAfter)
		if got := b.standings(b.engine)[addressB]; got != AddressOnline {
			t.Errorf("90 s after the answer it is %q", got)
		}
		clock.pass(time.Second)
		if got := b.standings(b.engine)[addressB]; got != AddressManual {
			t.Errorf("91 s after the answer it is %q", got)
		}
		b.watchAndReload(w)
		on = false
		if got := b.standings(b.engine)[addressB]; got != AddressManual {
			t.Errorf("where nobody is asked it is %q", got)
		}
		clock.pass(time.Hour)
		n := answers.of(addressB)
		b.watchAndReload(w)
		if answers.of(addressB) != n {
			t.Error("it was asked although that is switched off")
		}
	})
}

func equalMaps[K, V comparable](a, b map[K]V) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

// TestAFrozenMachineIsFound goes through the client that runs are sent with: to one that takes the connection and says nothing, and to
// one where nobody listens.
func TestAFrozenMachineIsFound(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		frozen := listen(t)
		client := wire.NewExecutorClient(wire.NewHTTPClient(4))
		defer client.Close()
		b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
		clock := newHandClock()
		b.engine = newEngine(t, pool, realBeats{b.executors, client, "http://" + frozen.Addr().String() + "/"}, func(c *Config) {
			watchedByHand(clock, nil)(c)
			c.CallTimeout = executortest.Patience
		})
		b.group = b.addGroup("orders")
		b.startEngine(b.engine)
		b.typed("http://" + frozen.Addr().String() + "/,http://127.0.0.1:" + executortest.FreePort(t) + "/")
		b.watchAndReload(newWatcher(b.engine))
		for _, s := range b.engine.Addresses(b.group) {
			want := wire.FaultRefused
			if s.Address == "http://"+frozen.Addr().String()+"/" {
				want = wire.FaultLate
			}
			if s.Fault != want && (want == wire.FaultRefused || s.Fault != wire.FaultConnect) || s.Standing(clock.now()) != AddressOffline || !s.SilentSince.Equal(clock.now()) {
				t.Errorf("%s: %+v, want %q", s.Address, s, want)
			}
		}
	})
}

// realBeats are executors of which only the questions are real.
type realBeats struct {
	*fakeExecutors
	client *wire.ExecutorClient
	frozen string // the one that is waited for by a short bound, so that a busy machine is not taken for a frozen one
}

func (a realBeats) Beat(ctx context.Context, to wire.Target) (wire.Answer, error) {
	if to.Address == a.frozen {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
	}
	return a.client.Beat(ctx, to)
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestRunsPassOverTypedAddressesThatAreAway(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		b := setup(t, pool, watchedByHand(clock, nil))
		answers := newBeats(b.executors)
		b.typed(addressA + "," + addressB)
		answers.set(addressA, nobodyListens)
		w := newWatcher(b.engine)
		b.watchAndReload(w)
		job := b.addJob(func(p *db.InsertJobParams) { p.ExecutorRouteStrategy = jobspec.RouteFirst })
		if got := b.sentTo(job); got != addressB {
			t.Errorf("the run went to %q", got)
		}
		g := b.engine.directory.get(b.group)
		if addresses, dead := b.engine.directory.reach(g); !slices.Equal(addresses, []string{addressB}) || !dead[addressA].Equal(clock.now()) {
			t.Errorf("a broadcast goes to %v, dead are %v", addresses, dead)
		}
		answers.set(addressB, nobodyListens)
		clock.pass(watchEvery + watchJitter)
		b.watchAndReload(w)
		if got := b.sentTo(job); got != addressA { // both are as good
			t.Errorf("with nobody there the run went to %q", got)
		}
		// What nobody has asked for long keeps no run away.
		answers.set(addressB, nil)
		clock.pass(watchEvery + watchJitter)
		b.watchAndReload(w)
		clock.pass(2 * b.engine.cfg.DeadAfter)
		b.reload()
		if got := b.sentTo(job); got != addressA {
			t.Errorf("with an old answer the run went to %q", got)
		}
	})
}

func TestOneAdminAsksTypedAddresses(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.MySQL), watchedByHand(nil, nil))
	answers := newBeats(b.executors)
	b.typed(addressA)
	two := b.second(watchedByHand(nil, nil))
	one, other := newWatcher(b.engine), newWatcher(two)
	other.runOnce(t.Context())
	if n := answers.of(addressA); n != 0 {
		t.Fatalf("the one that does not lead asked %d times", n)
	}
	one.runOnce(t.Context())
	if n := answers.of(addressA); n != 1 {
		t.Fatalf("the one that leads asked %d times", n)
	}
	b.await("the other knows the answer", func() bool { return b.standings(two)[addressA] == AddressOnline })
	if err := b.engine.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.await("the other leads", two.node.Leading)
	at := two.directory.get(b.group).asked[addressA].at
	if due := other.due(at.Add(watchEvery - time.Second)); len(due) != 0 {
		t.Errorf("the new leader asks at once, %v", due)
	}
	if due := other.due(at.Add(watchEvery + watchJitter)); len(due) != 1 {
		t.Errorf("the new leader asks %v", due)
	}
}

func TestWhatIsToldOfTypedAddresses(t *testing.T) {
	t.Parallel()
	var a asking
	now := time.UnixMilli(1_800_000_000_000)
	for i, step := range []struct {
		fault wire.Fault
		since int // the step since which it does not answer; -1: it does
		tells webhook.Type
	}{
		{"", -1, ""},
		{wire.FaultLate, 1, ""},
		{"", -1, ""}, // one question went astray
		{wire.FaultRefused, 3, ""},
		{wire.FaultLate, 3, webhook.ExecutorSilent},
		{wire.FaultLate, 3, ""},
		{"", -1, webhook.ExecutorRegistered},
		{"", -1, ""},
	} {
		next := a.next(now.Add(time.Duration(i)*watchEvery), step.fault)
		since := time.Time{}
		if step.since >= 0 {
			since = now.Add(time.Duration(step.since) * watchEvery)
		}
		if what, ok := a.tells(next); what != step.tells || ok != (step.tells != "") || !next.since.Equal(since) {
			t.Errorf("step %d tells %q, silent since %s", i, what, next.since)
		}
		a = next
	}
	for _, f := range wire.AllFaults {
		answers := slices.Contains([]wire.Fault{wire.FaultStatus, wire.FaultProtocol, wire.FaultTooOld, wire.FaultAnswer, wire.FaultBroken, wire.FaultStopped, wire.FaultOwn}, f)
		if (asking{fault: f}).away() == answers {
			t.Errorf("%s: away is %v", f, !answers)
		}
	}
}
