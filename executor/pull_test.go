//go:build go1.26

package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// handing is an admin that hands over calls, each once.
type handing struct {
	mu      sync.Mutex
	calls   []wire.PulledCall
	slow    time.Duration // how long an answer with calls is under way
	answers []wire.PulledAnswer
	asked   []wire.PullRequest
	refuse  int // pulls that are still to be refused
	changed chan struct{}
}

func (h *handing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if r.URL.Path != "/api/pull" {
		_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, nil))
		return
	}
	req, err := wire.DecodePull(body)
	if err != nil {
		_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeFail, err.Error(), nil))
		return
	}
	h.mu.Lock()
	h.answers = append(h.answers, req.Answers...)
	response := wire.PullResponse{}
	if req.Max > 0 {
		h.asked = append(h.asked, req)
		if h.refuse > 0 {
			h.refuse--
			h.tell()
			h.mu.Unlock()
			http.Error(w, "a proxy's words", http.StatusBadGateway)
			return
		}
		response.Calls, h.calls = h.calls, nil
	}
	h.tell()
	h.mu.Unlock()
	if len(response.Calls) > 0 {
		time.Sleep(h.slow)
	} else if req.Max > 0 {
		time.Sleep(5 * time.Millisecond)
	}
	value, _ := json.Marshal(response)
	_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, value))
}

func (h *handing) tell() {
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *handing) wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	timeout := time.After(executortest.Patience)
	for {
		h.mu.Lock()
		done, changed := is(), h.changed
		h.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("no %s", what)
		}
	}
}

func pulling(t *testing.T, h *handing, handler executor.Handler, options ...func(*executor.Config)) *executor.Executor {
	t.Helper()
	h.changed = make(chan struct{})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	config := executor.Config{AppName: "orders", Admins: []string{server.URL}, Mode: executor.Pull, DataDir: t.TempDir(), NoSync: true, Logger: slog.New(slog.DiscardHandler)}
	for _, option := range options {
		option(&config)
	}
	ex, err := executor.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ex.Handle("work", handler)
	if err := ex.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ex.Stop(context.Background()) })
	return ex
}

func runCall(id string, left time.Duration) wire.PulledCall {
	return wire.PulledCall{ID: id, Path: "/run", Left: left.Milliseconds(), Body: []byte(`{"jobId":1,"logId":1,"executorHandler":"work","glueType":"BEAN"}`)}
}

// TestACallThatWasUnderWayTooLongIsLeft: whoever made it has given it up, and may have sent it elsewhere.
func TestACallThatWasUnderWayTooLongIsLeft(t *testing.T) {
	t.Parallel()
	ran := make(chan int64, 10)
	h := &handing{calls: []wire.PulledCall{runCall("late", 20*time.Millisecond)}, slow: 100 * time.Millisecond}
	pulling(t, h, func(_ context.Context, run *executor.Run) error { ran <- run.LogID; return nil })
	h.wait(t, "second pull", func() bool { return len(h.asked) >= 3 })
	h.mu.Lock()
	h.slow, h.calls = 0, []wire.PulledCall{runCall("in-time", time.Hour)}
	h.mu.Unlock()
	<-ran
	h.wait(t, "answer", func() bool { return len(h.answers) == 1 })
	if got := h.answers[0]; got.ID != "in-time" || !strings.Contains(string(got.Answer), `"code":200`) {
		t.Errorf("answered %s %s", got.ID, got.Answer)
	}
	if len(ran) != 0 {
		t.Error("the late one ran as well")
	}
}

// TestACallBringsTheTraceThatItsRunBelongsTo, where it belongs to one.
func TestACallBringsTheTraceThatItsRunBelongsTo(t *testing.T) {
	t.Parallel()
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	traced, plain := runCall("a.1", time.Minute), runCall("a.2", time.Minute)
	traced.TraceParent = trace
	plain.Body = []byte(`{"jobId":2,"logId":2,"executorHandler":"work","glueType":"BEAN"}`)
	ran := make(chan string, 2)
	pulling(t, &handing{calls: []wire.PulledCall{traced, plain}}, func(_ context.Context, run *executor.Run) error {
		ran <- fmt.Sprint(run.LogID, run.TraceParent)
		return nil
	})
	if got := []string{<-ran, <-ran}; !slices.Contains(got, "1"+trace) || !slices.Contains(got, "2") {
		t.Errorf("run with %q", got)
	}
}

// TestAClientsOwnTimeOutEndsNoPull: whoever gives the executor a client with one, as most programs have, would never hear of a run.
func TestAClientsOwnTimeOutEndsNoPull(t *testing.T) {
	t.Parallel()
	ran := make(chan int64, 1)
	h := &handing{calls: []wire.PulledCall{runCall("a.1", time.Minute)}, slow: 300 * time.Millisecond}
	client := &http.Client{Timeout: 30 * time.Millisecond}
	pulling(t, h, func(_ context.Context, run *executor.Run) error {
		ran <- run.LogID
		return nil
	}, func(c *executor.Config) { c.HTTPClient = client })
	h.wait(t, "answer to the call", func() bool { return len(h.answers) == 1 })
	if id := <-ran; id != 1 || client.Timeout == 0 {
		t.Errorf("run %d; the client's time-out is %s", id, client.Timeout)
	}
}

// TestPullsWithoutAnswerAreTold, so that what they took is given again.
func TestPullsWithoutAnswerAreTold(t *testing.T) {
	t.Parallel()
	h := &handing{refuse: 2}
	ex := pulling(t, h, func(context.Context, *executor.Run) error { return nil })
	h.wait(t, "pulls", func() bool { return len(h.asked) >= 4 })
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, want := range []int{0, 1, 2, 2} {
		if got := h.asked[i].Lost; len(got) != want || want > 0 && got[0] != h.asked[0].Pull {
			t.Errorf("pull %d tells of %v", i, got)
		}
	}
	if !strings.HasPrefix(ex.Address(), "pull://") || h.asked[0].RegistryValue != ex.Address() {
		t.Errorf("it is %s and asks as %s", ex.Address(), h.asked[0].RegistryValue)
	}
	if at, err := executor.Pulled(ex.DataDir()); err != nil || at.IsZero() {
		t.Errorf("an admin answered at %v, %v", at, err)
	}
}

func TestAnExecutorThatAsksListensNowhere(t *testing.T) {
	t.Parallel()
	admins := []string{"http://127.0.0.1:1"}
	for name, c := range map[string]executor.Config{
		"no admin":            {Mode: executor.Pull},
		"a listener":          {Mode: executor.Pull, Admins: admins, Listen: ":0"},
		"an address":          {Mode: executor.Pull, Admins: admins, Address: "http://a:1/"},
		"a certificate":       {Mode: executor.Pull, Admins: admins, TLSCert: "a", TLSKey: "b"},
		"an odd name":         {Mode: executor.Pull, Admins: admins, Name: "a b"},
		"a name without mode": {Admins: admins, Name: "a"},
		"an unknown mode":     {Admins: admins, Mode: "fetch"},
	} {
		c.AppName = "orders"
		if _, err := executor.New(c); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	// Nobody calls it, so that scripts need no token of theirs.
	if _, err := executor.New(executor.Config{AppName: "orders", Admins: admins, Mode: executor.Pull, GlueEnabled: true}); err != nil {
		t.Error(err)
	}
}

// crowd is an admin with many calls, which takes no answers before it is told to.
type crowd struct {
	mu                           sync.Mutex
	left, handed, answered, most int
	takes                        bool
}

func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var req wire.PullRequest
	if r.URL.Path == "/api/pull" {
		err = json.Unmarshal(body, &req)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || len(req.Answers) > 0 && !c.takes {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	c.answered += len(req.Answers)
	var response wire.PullResponse
	for ; len(response.Calls) < req.Max && c.left > 0; c.left-- {
		c.handed++
		response.Calls = append(response.Calls, wire.PulledCall{ID: fmt.Sprint(c.handed), Path: "/beat", Body: []byte(`""`), Left: time.Hour.Milliseconds()})
	}
	c.most = max(c.most, c.handed-c.answered)
	value, _ := json.Marshal(response)
	_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, value))
}

// TestSoManyCallsAreUnderWayAtOnce, and the next are taken when those are answered.
func TestSoManyCallsAreUnderWayAtOnce(t *testing.T) {
	t.Parallel()
	c := &crowd{left: 600}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	ex, err := executor.New(executor.Config{AppName: "orders", Admins: []string{server.URL}, Mode: executor.Pull, Name: "box", DataDir: t.TempDir(), NoSync: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := ex.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ex.Stop(context.Background()) })
	is := func(what string, done func() bool) {
		t.Helper()
		executortest.Eventually(t, what, func() error {
			c.mu.Lock()
			defer c.mu.Unlock()
			if !done() {
				return fmt.Errorf("%d handed over, %d answered", c.handed, c.answered)
			}
			return nil
		})
	}
	is("as many calls as it takes", func() bool { return c.handed == 256 })
	c.mu.Lock()
	c.takes = true
	c.mu.Unlock()
	is("all calls", func() bool { return c.answered == 600 })
	if c.most != 256 {
		t.Errorf("%d calls were under way", c.most)
	}
}

// TestAnotherTokenCountsAtOnceWhereTheOldOneIsRefused, and not only with the next beat: an executor that asks hears of no run until then. As long as
// there is no other one, the log says what to do.
func TestAnotherTokenCountsAtOnceWhereTheOldOneIsRefused(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	known, asked := "old", 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Header.Get(wire.HeaderToken) != known:
			_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeFail, "The access token is wrong.", nil))
		case r.URL.Path == "/api/pull":
			asked++
			_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, []byte(`{"held":0,"calls":null}`)))
		default:
			_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, nil))
		}
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	var said executortest.Output
	ex, err := executor.New(executor.Config{
		AppName: "orders", Admins: []string{server.URL}, Mode: executor.Pull, DataDir: t.TempDir(), NoSync: true, BeatInterval: time.Hour, TokenFile: file,
		Logger: slog.New(slog.NewTextHandler(&said, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := ex.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ex.Stop(context.Background()) })
	eventually := func(what string, is func() bool) {
		t.Helper()
		executortest.Eventually(t, what, func() error {
			mu.Lock()
			defer mu.Unlock()
			if !is() {
				return errors.New("not yet")
			}
			return nil
		})
	}
	eventually("it asks", func() bool { return asked > 1 && strings.Contains(said.String(), "registered") })
	mu.Lock()
	known = "new"
	mu.Unlock()
	eventually("it says what to do", func() bool { return strings.Contains(said.String(), "in a token file it counts without a restart") })
	write("new")
	mu.Lock()
	asked = 0
	mu.Unlock()
	eventually("it asks with the other token", func() bool { return asked > 0 })
}

// TestAnExecutorWhoseNameIsTakenLeavesTheOtherInTheRegistry: what it would take from there is the address of the one that has the name. When
// that one is gone, it registers at once: the other has taken the address with it.
func TestAnExecutorWhoseNameIsTakenLeavesTheOtherInTheRegistry(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	taken, said := true, make(map[string]int)
	admin := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		said[r.URL.Path]++
		switch {
		case r.URL.Path != "/api/pull":
			_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, nil))
		case taken:
			_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeNameTaken, "another one has the name", nil))
		default:
			_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, []byte(`{"held":0,"calls":null}`)))
		}
	})
	server := httptest.NewServer(admin)
	t.Cleanup(server.Close)
	times := func(path string) int {
		mu.Lock()
		defer mu.Unlock()
		return said[path]
	}
	start := func() *executor.Executor {
		mu.Lock()
		clear(said)
		mu.Unlock()
		ex, err := executor.New(executor.Config{AppName: "orders", Admins: []string{server.URL}, Mode: executor.Pull, DataDir: t.TempDir(), NoSync: true, BeatInterval: time.Hour, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := ex.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ex.Stop(context.Background()) })
		executortest.Eventually(t, "it registers and asks", func() error {
			if times("/api/registry") == 0 || times("/api/pull") < 2 {
				return errors.New("not yet")
			}
			return nil
		})
		return ex
	}
	if err := start().Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if n := times("/api/registryRemove"); n != 0 {
		t.Errorf("it took the other one's address from the registry, %d times", n)
	}

	ex, before := start(), times("/api/registry")
	mu.Lock()
	taken = false
	mu.Unlock()
	executortest.Eventually(t, "it registers when the name is its own", func() error {
		if times("/api/registry") == before {
			return errors.New("not yet")
		}
		return nil
	})
	if err := ex.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if n := times("/api/registryRemove"); n != 1 {
		t.Errorf("it left the registry %d times", n)
	}
}
