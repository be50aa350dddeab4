package pull_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/db/seal"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/pull"
)

const group = "Orders"

// admin is a mailbox with the handler that executors ask.
type admin struct {
	*pull.Mailbox
	client *wire.ExecutorClient
	cut    atomic.Int32 // answers with calls that are still to be cut off
	cutAll atomic.Bool  // so are all others of pulls that came or are answered while it is true
	cuts   atomic.Int32 // that were
	asked  atomic.Int32 // pulls that took calls
	results
}

// results are the callbacks that came.
type results struct {
	mu   sync.Mutex
	runs map[int64]int
}

func (r *results) of(logID int64) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[logID]
}

func newAdmin(t *testing.T, pool *db.Pool, others bool, change ...func(*pull.Config)) *admin {
	t.Helper()
	cfg := pull.Config{Pool: pool, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Others: func() bool { return others }, Key: []byte("of all admins")}
	for _, c := range change {
		c(&cfg)
	}
	a := &admin{Mailbox: pull.New(cfg), results: results{runs: make(map[int64]int)}}
	a.client = wire.NewExecutorClient(&http.Client{Transport: a.Mailbox})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { a.Run(ctx) })
	t.Cleanup(func() {
		a.Close()
		cancel()
		running.Wait()
	})
	return a
}

func (a *admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	say := func(err error, value []byte) {
		if err != nil {
			_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeFail, err.Error(), nil))
			return
		}
		_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, value))
	}
	switch r.URL.Path {
	case "/api/pull":
		req, err := wire.DecodePull(body)
		if err != nil {
			say(err, nil)
			return
		}
		came := a.cutAll.Load()
		response, err := a.Pull(r.Context(), req)
		if err == nil && len(response.Calls) > 0 {
			a.asked.Add(1)
			if came || a.cutAll.Load() || a.cut.Add(-1) >= 0 {
				a.cuts.Add(1)
				panic(http.ErrAbortHandler)
			}
		}
		value, _ := json.Marshal(response)
		say(err, value)
	case "/api/callback":
		callbacks, err := wire.DecodeCallbacks(body)
		a.mu.Lock()
		for _, cb := range callbacks {
			if cb.HandleCode == wire.CodeSuccess {
				a.runs[cb.LogID]++
			}
		}
		a.mu.Unlock()
		say(err, nil)
	default:
		say(nil, nil)
	}
}

// balance gives each request to the next of the admins.
func balance(t *testing.T, admins ...*admin) string {
	t.Helper()
	var turn atomic.Uint32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		admins[int(turn.Add(1))%len(admins)].ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// begun counts how often each run began.
type begun struct {
	mu   sync.Mutex
	runs map[int64]int
}

func (b *begun) of(logID int64) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.runs[logID]
}

// startExecutor starts an executor that asks the admins at the addresses.
func startExecutor(t *testing.T, addresses ...string) (*executor.Executor, *begun) {
	t.Helper()
	return startExecutorWith(t, executor.Config{Admins: addresses})
}

func startExecutorWith(t *testing.T, cfg executor.Config) (*executor.Executor, *begun) {
	t.Helper()
	b := &begun{runs: make(map[int64]int)}
	cfg.AppName, cfg.Mode, cfg.Name, cfg.DataDir, cfg.NoSync, cfg.Logger = group, executor.Pull, "box-1", t.TempDir(), true, slog.New(slog.NewTextHandler(t.Output(), nil))
	ex, err := executor.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ex.Handle("count", func(_ context.Context, run *executor.Run) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.runs[run.LogID]++
		run.Logf("counted %s", run.Param)
		return nil
	})
	ex.Handle("wait", func(ctx context.Context, run *executor.Run) error {
		b.mu.Lock()
		b.runs[run.LogID]++
		b.mu.Unlock()
		<-ctx.Done()
		return ctx.Err()
	})
	if err := ex.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ex.Stop(context.WithoutCancel(t.Context())) })
	return ex, b
}

var target = wire.Target{Address: "pull://box-1", AppName: "orders"}

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), executortest.Patience)
	t.Cleanup(cancel)
	return ctx
}

func runOf(logID int64, handler string) *wire.RunRequest {
	return &wire.RunRequest{JobID: logID, LogID: logID, LogDateTime: 1_790_000_000_000, ExecutorHandler: handler, ExecutorParams: "one", GlueType: wire.GlueBean, BroadcastTotal: 1}
}

func ok(t *testing.T, what string, answer wire.Answer, err error) {
	t.Helper()
	if err != nil || !answer.OK() {
		t.Fatalf("%s: %+v, %v", what, answer, err)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	executortest.Eventually(t, what, func() error {
		if !is() {
			return errors.New("not yet")
		}
		return nil
	})
}

// everything is all that is asked of executors.
func everything(t *testing.T, a *admin, first int64, b *begun, results func(logID int64) int) {
	t.Helper()
	ctx := limited(t)
	answer, err := a.client.Beat(ctx, target)
	ok(t, "beat", answer, err)
	answer, err = a.client.Run(ctx, target, runOf(first, "count"))
	ok(t, "run", answer, err)
	eventually(t, "the result", func() bool { return results(first) == 1 })
	log, answer, err := a.client.Log(ctx, target, wire.LogRequest{LogDateTim: 1_790_000_000_000, LogID: first, FromLineNum: 1})
	ok(t, "log", answer, err)
	if !strings.Contains(log.LogContent, "counted one") {
		t.Errorf("the output is %q", log.LogContent)
	}
	answer, err = a.client.Run(ctx, target, runOf(first+1, "wait"))
	ok(t, "a long run", answer, err)
	eventually(t, "the long run", func() bool { return b.of(first+1) == 1 })
	answer, err = a.client.IdleBeat(ctx, target, wire.IdleBeatRequest{JobID: first + 1})
	if err != nil || answer.OK() {
		t.Errorf("idle beat of a busy job: %+v, %v", answer, err)
	}
	answer, err = a.client.Kill(ctx, target, wire.KillRequest{JobID: first + 1, LogID: first + 1})
	ok(t, "kill", answer, err)
	eventually(t, "an idle job", func() bool {
		answer, err := a.client.IdleBeat(ctx, target, wire.IdleBeatRequest{JobID: first + 1})
		return err == nil && answer.OK()
	})
}

func TestAnExecutorThatAsksDoesAllThatOthersDo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		a := newAdmin(t, pool, false)
		ex, b := startExecutor(t, balance(t, a))
		if ex.Address() != "pull://box-1" || ex.Addr() != nil {
			t.Errorf("it is at %s and listens at %v", ex.Address(), ex.Addr())
		}
		everything(t, a, 1, b, a.of)
		if n := rows(t, pool); n != 0 {
			t.Errorf("%d calls went by the database", n)
		}
	})
}

// rows counts what the database holds of calls.
func rows(t *testing.T, pool *db.Pool) (n int) {
	t.Helper()
	err := pool.QueryRowContext(t.Context(), "SELECT (SELECT COUNT(*) FROM punctual_pull) + (SELECT COUNT(*) FROM punctual_pull_answer)").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// answers counts those that the database holds. The call itself may be a row without any fault: it is one when nobody asked at its admin yet.
func answers(t *testing.T, pool *db.Pool) (n int) {
	t.Helper()
	if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_pull_answer").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAnyAdminHandsOver: behind a balancer each request meets another admin, and both make calls.
func TestAnyAdminHandsOver(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		one, two := newAdmin(t, pool, true), newAdmin(t, pool, true)
		_, b := startExecutor(t, balance(t, one, two))
		doEverything(t, one, two, b)
		eventually(t, "nothing is left in the database", func() bool { return rows(t, pool) == 0 })
	})
}

// TestAnAdminThatIsNotAskedStillCalls: the executor knows one admin, and the other has a call for it.
func TestAnAdminThatIsNotAskedStillCalls(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		asked, other := newAdmin(t, pool, true), newAdmin(t, pool, true)
		_, b := startExecutor(t, balance(t, asked))
		everything(t, other, 1, b, asked.of)
		if other.asked.Load() != 0 {
			t.Error("the executor asked the other")
		}
	})
}

// TestALostAnswerIsGivenAgain: of a pull that took calls the answer never came, by whichever way; the calls are given again, and each
// is carried out once.
func TestALostAnswerIsGivenAgain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		for name, test := range map[string]struct {
			ask  func(one, two *admin) []*admin // whom the executor asks, by turns
			call func(one, two *admin) *admin
		}{
			"in memory":             {ask: func(one, _ *admin) []*admin { return []*admin{one} }, call: func(one, _ *admin) *admin { return one }},
			"as rows":               {ask: func(one, _ *admin) []*admin { return []*admin{one} }, call: func(_, two *admin) *admin { return two }},
			"and then asks another": {ask: func(one, two *admin) []*admin { return []*admin{one, two} }, call: func(one, _ *admin) *admin { return one }},
		} {
			t.Run(name, func(t *testing.T) {
				one, two := newAdmin(t, pool, true), newAdmin(t, pool, true)
				_, b := startExecutor(t, balance(t, test.ask(one, two)...))
				for i := range int64(4) {
					one.cut.Store(1)
					two.cut.Store(1)
					answer, err := test.call(one, two).client.Run(limited(t), target, runOf(i+1, "count"))
					ok(t, "a run whose pull was cut", answer, err)
					eventually(t, "the result", func() bool { return one.of(i+1)+two.of(i+1) == 1 })
					if n := b.of(i + 1); n != 1 {
						t.Errorf("run %d began %d times", i, n)
					}
				}
				if one.cuts.Load()+two.cuts.Load() == 0 {
					t.Error("nothing was cut")
				}
			})
		}
	})
}

// TestAnAdminThatDiesWithACallLosesNothing: it took a row, and neither answers nor lives on.
func TestAnAdminThatDiesWithACallLosesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		one, two := newAdmin(t, pool, true), newAdmin(t, pool, true)
		var dead atomic.Bool
		serveTwo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if dead.Load() {
				panic(http.ErrAbortHandler)
			}
			two.cut.Store(1)
			defer func() {
				if two.cuts.Load() > 0 {
					dead.Store(true)
				}
			}()
			two.ServeHTTP(w, r)
		}))
		t.Cleanup(serveTwo.Close)
		// The first admin is not reached as long as the second lives, so that the second must hand over.
		serveOne := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/pull" && !dead.Load() {
				panic(http.ErrAbortHandler)
			}
			one.ServeHTTP(w, r)
		}))
		t.Cleanup(serveOne.Close)
		_, b := startExecutor(t, serveOne.URL, serveTwo.URL)
		answer, err := one.client.Run(limited(t), target, runOf(1, "count"))
		ok(t, "the run", answer, err)
		eventually(t, "the result", func() bool { return one.of(1)+two.of(1) == 1 })
		if n := b.of(1); n != 1 || two.cuts.Load() != 1 {
			t.Errorf("the run began %d times; the admin died with %d", n, two.cuts.Load())
		}
	})
}

// over is a context whose time is over when that is closed.
type over struct {
	context.Context
	over <-chan struct{}
}

func (o over) Done() <-chan struct{} { return o.over }

func (o over) Err() error {
	select {
	case <-o.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestACallThatNobodyFetchesHasNotArrived(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		for name, others := range map[string]bool{"alone": false, "with others": true} {
			t.Run(name, func(t *testing.T) {
				a := newAdmin(t, pool, others)
				expired := make(chan struct{})
				ended := make(chan error, 1)
				go func() { _, err := a.client.Beat(over{limited(t), expired}, target); ended <- err }()
				eventually(t, "the call waits", func() bool { return a.Waiting() == 1 && (!others || rows(t, pool) == 1) }) // what is being written may have been fetched
				close(expired)
				err := <-ended
				if err == nil || wire.Delivered(err) || wire.FaultOf(err) != wire.FaultNotFetched || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v, fault %s", err, wire.FaultOf(err))
				}
				if n := rows(t, pool); n != 0 {
					t.Errorf("%d rows are left", n)
				}
			})
		}
	})
}

// ask is a pull of an executor that is written by hand.
func ask(pullName string, lost ...string) wire.PullRequest {
	return wire.PullRequest{RegistryKey: "orders", RegistryValue: "pull://box-1", Instance: "hand.1", Pull: pullName, Lost: lost, Max: 10, Wait: 20_000}
}

// TestACallWithoutAnswerMayHaveArrived: somebody has it, and says nothing.
func TestACallWithoutAnswerMayHaveArrived(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		one, two := newAdmin(t, pool, true), newAdmin(t, pool, true)
		for name, at := range map[string]*admin{"the same admin": one, "another": two} {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				result := make(chan error, 1)
				go func() {
					_, err := one.client.Beat(ctx, target)
					result <- err
				}()
				response, err := at.Pull(limited(t), ask("p-1"))
				if err != nil || len(response.Calls) != 1 || response.Calls[0].Path != "/beat" || string(response.Calls[0].Body) != `""` {
					t.Fatalf("%+v, %v", response, err)
				}
				cancel()
				if err := <-result; !wire.Delivered(err) || wire.FaultOf(err) != wire.FaultStopped {
					t.Errorf("%v, fault %s", err, wire.FaultOf(err))
				}
			})
		}
	})
}

// TestOnlyItsExecutorAnswersACall: others cannot, whichever group or name is theirs.
func TestOnlyItsExecutorAnswersACall(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		one, two := newAdmin(t, pool, true), newAdmin(t, pool, true)
		result := make(chan wire.Answer, 1)
		go func() {
			answer, err := one.client.Beat(limited(t), target)
			if err != nil {
				t.Error(err)
			}
			result <- answer
		}()
		stranger := ask("p-0")
		stranger.RegistryKey, stranger.Wait = "billing", 0
		if r, err := one.Pull(t.Context(), stranger); err != nil || len(r.Calls) > 0 {
			t.Fatalf("another group's executor got %+v, %v", r, err)
		}
		response, err := one.Pull(limited(t), ask("p-1"))
		if err != nil || len(response.Calls) != 1 {
			t.Fatalf("%+v, %v", response, err)
		}
		answer := func(by wire.PullRequest, msg string) wire.PullRequest {
			by.Max = 0
			by.Answers = []wire.PulledAnswer{{ID: response.Calls[0].ID, Answer: wire.AppendAnswer(nil, wire.CodeFail, msg, nil)}}
			return by
		}
		for _, at := range []*admin{one, two} {
			if _, err := at.Pull(t.Context(), answer(stranger, "forged")); !errors.Is(err, pull.ErrNoCall) {
				t.Errorf("an answer by another: %v", err)
			}
		}
		if _, err := two.Pull(t.Context(), answer(ask(""), "mine")); err != nil {
			t.Fatal(err)
		}
		if a := <-result; a.Msg != "mine" {
			t.Errorf("the answer is %q", a.Msg)
		}
	})
}

func TestOneNameIsOneExecutor(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		a := newAdmin(t, pool, false)
		first := make(chan error, 1)
		go func() {
			_, err := a.Pull(limited(t), ask("p-1"))
			first <- err
		}()
		eventually(t, "the first waits", func() bool { return a.Open() == 1 })
		other := ask("p-2")
		other.Instance = "other.1"
		other.Wait = 0
		if _, err := a.Pull(t.Context(), other); !errors.Is(err, pull.ErrOther) || errors.Is(err, pull.ErrBetween) {
			t.Errorf("another one asks as well: %v", err)
		}
		// The same program, started anew: what it asked for before is over.
		again := ask("p-3")
		again.Instance, again.Wait = "hand.2", 0
		if _, err := a.Pull(t.Context(), again); err != nil {
			t.Error(err)
		}
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}

// inTime does something that has to come within the moment in which an executor is between two pulls, until a try was not held up.
func inTime(t *testing.T, try func(name string) error) error {
	t.Helper()
	timeout := time.After(executortest.Patience)
	for n := 0; ; n++ {
		began := time.Now()
		err := try("pull://box-" + strconv.Itoa(n))
		if time.Since(began) < pull.Between {
			return err
		}
		select {
		case <-timeout:
			t.Fatal("always held up")
		default:
		}
	}
}

// TestANameIsNotTakenBetweenTwoPulls: a second executor asks all the time, and the way of the first may be long.
func TestANameIsNotTakenBetweenTwoPulls(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		a := newAdmin(t, pool, false)
		taken := ""
		ask := func(instance, name string) error {
			req := ask("p-1")
			req.Instance, req.Wait, req.RegistryValue = instance, 0, name
			_, err := a.Pull(t.Context(), req)
			return err
		}
		err := inTime(t, func(name string) error {
			taken = name
			if err := ask("hand.1", name); err != nil {
				t.Fatal(err)
			}
			return ask("other.1", name)
		})
		if !errors.Is(err, pull.ErrBetween) {
			t.Errorf("another one asks a moment after it: %v", err)
		}
		eventually(t, "the name is free when nobody asks any more", func() bool { return ask("other.1", taken) == nil })
	})
}

// TestACopyOfADataFolderIsNoRestart: the processes of two copies would end each other's pulls for ever, and share their calls.
func TestACopyOfADataFolderIsNoRestart(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		a := newAdmin(t, pool, false)
		taken := ""
		ask := func(instance, name string) error {
			req := ask("p-1")
			req.Instance, req.Wait, req.RegistryValue = instance, 0, name
			_, err := a.Pull(t.Context(), req)
			return err
		}
		err := inTime(t, func(name string) error {
			taken = name
			for _, instance := range []string{"hand.1", "hand.2", "hand.3", "hand.3"} {
				if err := ask(instance, name); err != nil {
					t.Fatalf("%s, started after the one before it: %v", instance, err)
				}
			}
			return errors.Join(ask("hand.3", name), ask("hand.1", name))
		})
		if !errors.Is(err, pull.ErrCopy) {
			t.Errorf("the first asks beside the one that was started last: %v", err)
		}
		eventually(t, "it may ask when the last one is gone", func() bool { return ask("hand.2", taken) == nil })
	})
}

// TestAClosedGateHoldsACallBack: an admin that may not act any more hands nothing over.
func TestAClosedGateHoldsACallBack(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		a := newAdmin(t, pool, false)
		var shut atomic.Bool
		ctx, cancel := context.WithCancel(wire.WithGate(t.Context(), func() bool { return !shut.Load() }))
		defer cancel()
		result := make(chan error, 1)
		asked := make(chan struct{})
		go func() {
			close(asked)
			_, err := a.client.Beat(ctx, target)
			result <- err
		}()
		<-asked
		shut.Store(true)
		response, err := a.Pull(t.Context(), wire.PullRequest{RegistryKey: "orders", RegistryValue: "pull://box-1", Instance: "i.1", Pull: "p", Max: 1, Wait: 50})
		if err != nil || len(response.Calls) != 0 {
			t.Errorf("handed over %+v, %v", response, err)
		}
		cancel()
		if err := <-result; wire.Delivered(err) || !errors.Is(err, wire.ErrGate) {
			t.Errorf("%v", err)
		}
	})
}

// TestBodiesInTheDatabaseAreSealed: a run's request may hold secrets.
func TestBodiesInTheDatabaseAreSealed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		key, err := seal.New(bytes.Repeat([]byte{7}, seal.KeyBytes))
		if err != nil {
			t.Fatal(err)
		}
		sealed := func(c *pull.Config) { c.Seal = key }
		one, two := newAdmin(t, pool, true, sealed), newAdmin(t, pool, true, sealed)
		req := runOf(1, "count")
		req.Environment = map[string]string{"PASSWORD": "open-sesame"}
		result := make(chan error, 1)
		go func() {
			answer, err := one.client.Run(limited(t), target, req)
			if err == nil && answer.Msg != "taken" {
				err = errors.New(answer.Msg)
			}
			result <- err
		}()
		var stored []byte
		eventually(t, "the row", func() bool {
			return pool.QueryRowContext(t.Context(), "SELECT body FROM punctual_pull").Scan(&stored) == nil
		})
		if bytes.Contains(stored, []byte("sesame")) || bytes.Contains(stored, []byte("PASSWORD")) {
			t.Errorf("the row says %q", stored)
		}
		response, err := two.Pull(limited(t), ask("p-1"))
		if err != nil || len(response.Calls) != 1 || !strings.Contains(string(response.Calls[0].Body), "open-sesame") {
			t.Fatalf("%+v, %v", response, err)
		}
		reply := ask("")
		reply.Max, reply.Answers = 0, []wire.PulledAnswer{{ID: response.Calls[0].ID, Answer: wire.AppendAnswer(nil, wire.CodeSuccess, "taken", nil)}}
		if _, err := two.Pull(t.Context(), reply); err != nil {
			t.Fatal(err)
		}
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
}

// until is a log that waits for a text.
type until struct {
	text string
	once sync.Once
	said chan struct{} // closed when it was
}

func (u *until) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(u.text)) {
		u.once.Do(func() { close(u.said) })
	}
	return len(p), nil
}

// TestWithoutTheDatabaseItIsInDoubt: a call that was to go by the database may be there.
func TestWithoutTheDatabaseItIsInDoubt(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		tried := &until{text: "calls between admins", said: make(chan struct{})}
		a := newAdmin(t, pool, true, func(c *pull.Config) { c.Logger = slog.New(slog.NewTextHandler(io.MultiWriter(t.Output(), tried), nil)) })
		if _, err := pool.ExecContext(t.Context(), "ALTER TABLE punctual_pull RENAME TO punctual_pull_away"); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := pool.ExecContext(context.WithoutCancel(t.Context()), "ALTER TABLE punctual_pull_away RENAME TO punctual_pull"); err != nil {
				t.Error(err)
			}
		}()
		// Its time is over when that was tried, however long a busy machine takes to it.
		if _, err := a.client.Beat(over{t.Context(), tried.said}, target); !wire.Delivered(err) || wire.FaultOf(err) != wire.FaultLate {
			t.Errorf("%v, fault %s", err, wire.FaultOf(err))
		}
		// Where both meet, it has no part in it.
		_, b := startExecutor(t, balance(t, a))
		answer, err := a.client.Beat(limited(t), target)
		ok(t, "beat", answer, err)
		answer, err = a.client.Run(limited(t), target, runOf(1, "count"))
		ok(t, "run", answer, err)
		eventually(t, "the run", func() bool { return b.of(1) == 1 })
	})
}

// TestMuchIsHandedOverInParts: a pull gets no more than it asks for, and no more bytes than go through proxies.
func TestMuchIsHandedOverInParts(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		one, two := newAdmin(t, pool, true), newAdmin(t, pool, true)
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		defer calls.Wait()
		defer cancel()
		for i := range int64(6) {
			calls.Go(func() {
				req := runOf(i+1, "count")
				req.GlueSource = strings.Repeat("x", 400<<10)
				_, _ = one.client.Run(ctx, target, req)
			})
		}
		got := make(map[string]bool)
		for n := 0; len(got) < 6; n++ {
			at := []*admin{one, two}[n%2]
			req := ask("p-" + strconv.Itoa(n))
			req.Wait = 100
			response, err := at.Pull(limited(t), req)
			if err != nil || len(response.Calls) > 2 {
				t.Fatalf("%d calls at once, %v", len(response.Calls), err)
			}
			for _, c := range response.Calls {
				if got[c.ID] {
					t.Errorf("%s was handed over twice", c.ID)
				}
				got[c.ID] = true
			}
		}
	})
}

// TestARunWhoseAnswerNeverComes is written as handed over, and the executor has never had it: other runs of the job are there, so that
// it says that it is busy, and yet it is known by the run's id that it may be sent again. What comes twice is refused.
func TestARunWhoseAnswerNeverComes(t *testing.T) {
	t.Parallel()
	for name, which := range map[string]func(one, two *admin) *admin{
		"in memory": func(one, _ *admin) *admin { return one },
		"as a row":  func(_, two *admin) *admin { return two },
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) { // of its own: what an admin before has left there is no matter
				asked, other := newAdmin(t, pool, true), newAdmin(t, pool, true)
				_, b := startExecutor(t, balance(t, asked))
				calls := which(asked, other).client
				answer, err := calls.Run(limited(t), target, runOf(7, "wait")) // another run of the job
				ok(t, "run", answer, err)
				began := time.Now()
				waits, giveUp := context.WithCancel(limited(t))
				defer giveUp()
				asked.cutAll.Store(true)
				lost := runOf(8, "count")
				lost.JobID = 7
				ended := make(chan error, 1)
				go func() { _, err := calls.Run(waits, target, lost); ended <- err }()
				eventually(t, "the answer is cut", func() bool { return asked.cuts.Load() > 0 })
				giveUp()
				if err := <-ended; !wire.Delivered(err) {
					t.Fatalf("of which the answer was cut: %v", err)
				}
				eventually(t, "nobody hands the call over any more", func() bool {
					var rows int
					if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_pull").Scan(&rows); err != nil {
						t.Fatal(err)
					}
					return rows == 0
				})
				asked.cutAll.Store(false)
				answer, err = calls.IdleBeat(limited(t), target, wire.IdleBeatRequest{JobID: 7})
				if err != nil || answer.OK() {
					t.Errorf("idle beat of the busy job: %+v, %v", answer, err)
				}
				never := func(logID int64, is bool) {
					t.Helper()
					ago := time.Since(began) // the executor has been there only since a moment before
					log, answer, err := calls.Log(limited(t), target, wire.LogRequest{LogDateTim: lost.LogDateTime, LogID: logID, FromLineNum: wire.PastEnd})
					ok(t, "whether it has the run", answer, err)
					if log.Missing() != is || log.NeverHad(ago) != is || log.NeverHad(24*time.Hour) {
						t.Errorf("of run %d it says %+v", logID, log)
					}
				}
				never(7, false)
				never(8, true)
				answer, err = calls.Run(limited(t), target, lost)
				ok(t, "the run again", answer, err)
				never(8, false)
				if answer, err = calls.Run(limited(t), target, lost); err != nil || !answer.Repeated() {
					t.Errorf("the run a third time: %+v, %v", answer, err)
				}
				answer, err = calls.Kill(limited(t), target, wire.KillRequest{JobID: 7, LogID: 7})
				ok(t, "the end of the other run", answer, err)
				eventually(t, "the run", func() bool { return b.of(8) == 1 })
			})
		})
	}
}
