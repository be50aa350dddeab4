//go:build go1.26

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// heldExecutor is an executor whose requests wait until the test lets them go.
type heldExecutor struct {
	requests chan heldRequest
	takes    bool // several runs
	full     bool // of connections: what is asked for together gets none
}

// isReset is in place of an answer that does not come, because the connection is reset.
const isReset = "reset"

type heldRequest struct {
	path, trace string
	runs        []RunRequest
	ctx         context.Context
	answer      chan string
}

func (h *heldExecutor) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if !MayPass(r.Context()) {
		return nil, ErrGate
	}
	bodies := []json.RawMessage{body}
	if r.URL.Path == "/runs" {
		if bodies, err = DecodeRuns(body); err != nil {
			return nil, err
		}
	}
	held := heldRequest{path: r.URL.Path, trace: r.Header.Get(HeaderTraceParent), ctx: r.Context(), answer: make(chan string, 1)}
	for _, b := range bodies {
		run, err := DecodeRun(b)
		if err != nil {
			return nil, err
		}
		held.runs = append(held.runs, run)
	}
	if h.full && r.URL.Path == "/runs" {
		<-r.Context().Done()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	h.requests <- held
	select {
	case text := <-held.answer:
		if text == isReset {
			return nil, syscall.ECONNRESET
		}
		head := http.Header{}
		if h.takes {
			head.Set(HeaderTakesRuns, "1")
		}
		return &http.Response{StatusCode: http.StatusOK, Header: head, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// ids are the runs that a request asks for.
func (r heldRequest) ids() []int64 {
	ids := make([]int64, len(r.runs))
	for i, run := range r.runs {
		ids[i] = run.LogID
	}
	return ids
}

// each answers a request with the id of each run as its code.
func (r heldRequest) each() {
	if r.path != "/runs" {
		r.answer <- fmt.Sprintf(`{"code":%d}`, r.runs[0].LogID)
		return
	}
	answers := make([]string, len(r.runs))
	for i, run := range r.runs {
		answers[i] = fmt.Sprintf(`{"code":%d}`, run.LogID)
	}
	r.answer <- `{"code":200,"data":[` + strings.Join(answers, ",") + `]}`
}

var heldAt = Target{Address: "http://executor:9999", Token: "t", AppName: "orders"}

// holding is a client, and an executor whose answers are the test's.
type holding struct {
	t        *testing.T
	client   *ExecutorClient
	executor *heldExecutor
}

// inHolding runs a test with an executor that has said that it takes several runs, or has answered and not said so.
func inHolding(t *testing.T, takes bool, test func(*testing.T, *holding)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &holding{t: t, executor: &heldExecutor{requests: make(chan heldRequest, 1000), takes: takes}}
		h.client = NewExecutorClient(&http.Client{Transport: h.executor})
		if h.client.Takes(heldAt) {
			t.Error("an executor that has not answered is taken for one that takes several runs")
		}
		first := h.ask(t.Context(), 1)
		h.next("/run", 1).each()
		<-first
		if h.client.Takes(heldAt) != takes {
			t.Fatalf("it takes several runs: %v, want %v", h.client.Takes(heldAt), takes)
		}
		test(t, h)
	})
}

// ask asks for runs, and returns when the client can do no more about it.
func (h *holding) ask(ctx context.Context, ids ...int64) <-chan []Told {
	reqs := make([]*RunRequest, len(ids))
	for i, id := range ids {
		reqs[i] = &RunRequest{LogID: id}
	}
	done := make(chan []Told, 1)
	go func() { done <- h.client.RunAll(ctx, heldAt, reqs) }()
	synctest.Wait()
	return done
}

// next is the request that has come, which must be this one.
func (h *holding) next(path string, ids ...int64) heldRequest {
	h.t.Helper()
	if len(h.executor.requests) == 0 {
		h.t.Fatalf("no request, want %s for %v", path, ids)
	}
	r := <-h.executor.requests
	if r.path != path || !slices.Equal(r.ids(), ids) {
		h.t.Errorf("asked %s for %v, want %s for %v", r.path, r.ids(), path, ids)
	}
	return r
}

func wantCodes(t *testing.T, told []Told, codes ...int) {
	t.Helper()
	for i, got := range told {
		if got.Err != nil || got.Answer.Code != codes[i] {
			t.Errorf("of run %d: %+v, want %d", i, got, codes[i])
		}
	}
}

func TestRunsGoInOneRequest(t *testing.T) {
	t.Parallel()
	inHolding(t, true, func(t *testing.T, h *holding) {
		const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		done := make(chan []Told, 1)
		go func() {
			done <- h.client.RunAll(t.Context(), heldAt, []*RunRequest{{LogID: 501}, {LogID: 502, TraceParent: parent}})
		}()
		synctest.Wait()
		r := h.next("/runs", 501, 502)
		if r.runs[1].TraceParent != parent || r.trace != "" {
			t.Errorf("trace %q in the head and %q in the run", r.trace, r.runs[1].TraceParent)
		}
		r.each()
		wantCodes(t, <-done, 501, 502)
		alone := h.ask(t.Context(), 600)
		h.next("/run", 600).each()
		wantCodes(t, <-alone, 600)
	})
}

func TestOtherExecutorsTakeNoRunsTogether(t *testing.T) {
	t.Parallel()
	inHolding(t, false, func(*testing.T, *holding) {})
}

// At the address of an executor that took several there may be one now that does not: what it does not know it has not done.
func TestAnExecutorThatKnowsNoRunsIsAskedForEach(t *testing.T) {
	t.Parallel()
	inHolding(t, true, func(t *testing.T, h *holding) {
		done := h.ask(t.Context(), 501, 502)
		h.executor.takes = false
		h.next("/runs", 501, 502).answer <- `{"code":500,"msg":"invalid request, uri-mapping(/runs) not found."}`
		for range 2 {
			r := <-h.executor.requests
			if r.path != "/run" || len(r.runs) != 1 {
				t.Errorf("asked %s for %v", r.path, r.ids())
			}
			r.each()
		}
		wantCodes(t, <-done, 501, 502)
		if h.client.Takes(heldAt) {
			t.Error("it is to be asked for several again")
		}
	})
}

// What answered in place of the executor may have given it the runs: then it has them.
func TestARunThatTheExecutorHasAlreadyIsOpen(t *testing.T) {
	t.Parallel()
	inHolding(t, true, func(t *testing.T, h *holding) {
		done := h.ask(t.Context(), 501, 502)
		h.executor.takes = false
		h.next("/runs", 501, 502).answer <- `{"code":500,"msg":"timed out"}`
		for range 2 {
			(<-h.executor.requests).answer <- `{"code":500,"msg":"repeat trigger job, logId:501"}`
		}
		for i, got := range <-done {
			if !Delivered(got.Err) || !errors.Is(got.Err, errAnsweredFor) {
				t.Errorf("of run %d: %+v", i, got)
			}
		}
	})
}

func TestARequestForRunsThatIsCutLeavesTheirFateOpen(t *testing.T) {
	t.Parallel()
	inHolding(t, true, func(t *testing.T, h *holding) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		done := h.ask(ctx, 501, 502)
		for i, got := range <-done {
			if !errors.Is(got.Err, context.DeadlineExceeded) || !Delivered(got.Err) {
				t.Errorf("of run %d: %v", i, got.Err)
			}
		}
		if !h.client.Takes(heldAt) {
			t.Error("whose time was over says nothing about what the executor takes")
		}
	})
}

func TestRunsThatGotNoConnectionAreNotSent(t *testing.T) {
	t.Parallel()
	inHolding(t, true, func(t *testing.T, h *holding) {
		h.executor.full = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for i, got := range <-h.ask(ctx, 501, 502) {
			if !errors.Is(got.Err, context.DeadlineExceeded) || Delivered(got.Err) {
				t.Errorf("of run %d: %v", i, got.Err)
			}
		}
	})
}

func TestNoRunLeavesWhenTheGateIsShut(t *testing.T) {
	t.Parallel()
	inHolding(t, true, func(t *testing.T, h *holding) {
		for i, got := range <-h.ask(WithGate(t.Context(), func() bool { return false }), 501, 502) {
			if !errors.Is(got.Err, ErrGate) || Delivered(got.Err) {
				t.Errorf("of run %d: %v", i, got.Err)
			}
		}
	})
}

func TestAnAnswerThatIsNoneForEachRunLeavesTheirFateOpen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"code":200}`:                                     "open",
		`{"code":200,"data":{}}`:                           "open",
		`{"code":200,"data":[{"code":200}]}`:               "open",
		`{"code":200,"data":[{"code":200},{"no":"code"}]}`: "200 open",
		`<html>`: "open",
		`{"code":500,"msg":"The access token is wrong."}`: "500 refused",
	} {
		inHolding(t, true, func(t *testing.T, h *holding) {
			done := h.ask(t.Context(), 501, 502)
			h.next("/runs", 501, 502).answer <- text
			var got []string
			for _, a := range <-done {
				switch {
				case a.Err != nil && Delivered(a.Err):
					got = append(got, "open")
				case a.Err == nil && a.Answer.WrongToken():
					got = append(got, "500 refused")
				default:
					got = append(got, fmt.Sprint(a.Answer.Code))
				}
			}
			if told := strings.Join(slices.Compact(got), " "); told != want {
				t.Errorf("%s: %s, want %s", text, told, want)
			}
		})
	}
}

// What stands between may let nothing through but the paths that XXL-JOB has. Runs are not to meet it again and again.
func TestAWayThatTakesNoRunsIsLeftForAWhile(t *testing.T) {
	t.Parallel()
	inHolding(t, true, func(t *testing.T, h *holding) {
		h.executor.takes = false
		meets := h.ask(t.Context(), 501, 502)
		h.next("/runs", 501, 502).answer <- "<html>404</html>"
		for _, got := range <-meets {
			if !Delivered(got.Err) || got.Err == nil {
				t.Errorf("%+v", got)
			}
		}
		h.executor.takes = true
		again := h.ask(t.Context(), 503)
		h.next("/run", 503).each()
		<-again
		if h.client.Takes(heldAt) {
			t.Error("what is in between is met again at once")
		}
		<-time.After(shunFor)
		if !h.client.Takes(heldAt) {
			t.Error("it is not tried again when the time is over")
		}
	})
}

// TestAConnectionThatBreaksIsNoWayThatTakesNoRuns: an executor that is started anew breaks those that it had. What stands between may do the same with each
// request that it does not let through, and is met less and less often.
func TestAConnectionThatBreaksIsNoWayThatTakesNoRuns(t *testing.T) {
	t.Parallel()
	inHolding(t, true, func(t *testing.T, h *holding) {
		reset := func(want time.Duration) {
			t.Helper()
			done := h.ask(t.Context(), 501, 502)
			h.next("/runs", 501, 502).answer <- isReset
			for i, got := range <-done {
				if got.Err == nil || !Delivered(got.Err) {
					t.Errorf("of run %d: %+v", i, got)
				}
			}
			if h.client.Takes(heldAt) {
				t.Error("what broke it is met again at once")
			}
			if <-time.After(want - 1); h.client.Takes(heldAt) {
				t.Errorf("it is met again before %s", want)
			}
			if <-time.After(1); !h.client.Takes(heldAt) {
				t.Errorf("it takes no runs after %s", want)
			}
		}
		reset(shunBroken)
		reset(2 * shunBroken)
		done := h.ask(t.Context(), 503, 504)
		h.next("/runs", 503, 504).each()
		wantCodes(t, <-done, 503, 504)
		reset(shunBroken)
		for wait := 2 * shunBroken; wait < shunFor; wait *= 2 {
			reset(wait)
		}
		reset(shunFor)
		reset(shunFor)
	})
}

// TestWhatBreaksAtOnceHasBrokenOnce: an executor that is started anew in a busy moment breaks several requests, and one that hung may see it later.
func TestWhatBreaksAtOnceHasBrokenOnce(t *testing.T) {
	t.Parallel()
	inHolding(t, true, func(t *testing.T, h *holding) {
		var held []heldRequest
		var told []<-chan []Told
		for id := int64(501); id < 513; id += 2 {
			told = append(told, h.ask(t.Context(), id, id+1))
			held = append(held, h.next("/runs", id, id+1))
		}
		for i := range held[:5] {
			held[i].answer <- isReset
			<-told[i]
		}
		if <-time.After(shunBroken); !h.client.Takes(heldAt) {
			t.Errorf("it takes no runs after %s", shunBroken)
		}
		held[5].answer <- isReset
		<-told[5]
		if !h.client.Takes(heldAt) {
			t.Error("it takes no runs because of a request from before it was met again")
		}
	})
}

// TestWhoIsTooOldIsNotAskedForRuns, of which it would read nothing: at the address of an executor that took several there may be one from before by now.
func TestWhoIsTooOldIsNotAskedForRuns(t *testing.T) {
	t.Parallel()
	inHolding(t, true, func(t *testing.T, h *holding) {
		old := heldAt
		old.Dialect = DialectTooOld
		for i, got := range h.client.RunAll(t.Context(), old, []*RunRequest{{LogID: 501}, {LogID: 502}}) {
			if !errors.Is(got.Err, ErrTooOld) || Delivered(got.Err) {
				t.Errorf("of run %d: %+v", i, got)
			}
		}
	})
}

func TestWhoIsNotCalledIsForgotten(t *testing.T) {
	t.Parallel()
	k := newTakers()
	long := time.Now().Add(-2 * forgetTaker)
	k.known[takerKey{"gone", ""}] = &taker{used: long}
	k.known[takerKey{"called", ""}] = &taker{used: long}
	if !k.has(Target{Address: "called"}) {
		t.Error("one that is called late is not known")
	}
	k.learn(Target{Address: "new"}, true)
	if len(k.known) != 3 {
		t.Errorf("%d executors are remembered before it is time to look", len(k.known))
	}
	k.swept = long
	k.learn(Target{Address: "newer"}, true)
	if len(k.known) != 3 || k.known[takerKey{"gone", ""}] != nil {
		t.Errorf("remembered: %v", k.known)
	}
}

// TestARunKeepsNothingOfTheOthers: an executor keeps the body of a run for as long as that takes, and counts the bytes of that one alone.
func TestARunKeepsNothingOfTheOthers(t *testing.T) {
	t.Parallel()
	body := []byte(`{"runs":[{"logId":1},{"logId":2}]}`)
	runs, err := DecodeRuns(body)
	if err != nil {
		t.Fatal(err)
	}
	clear(body)
	for i, want := range []string{`{"logId":1}`, `{"logId":2}`} {
		if string(runs[i]) != want {
			t.Errorf("run %d is a part of what all came in: %q, want %q", i, runs[i], want)
		}
	}
}

func FuzzDecodeRuns(f *testing.F) {
	f.Add([]byte(`{"runs":[{"jobId":1},{}]}`))
	f.Add([]byte(`{"runs":null}`))
	f.Add([]byte(`{"runs":[` + strings.Repeat("1,", MaxRuns) + `1]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		runs, err := DecodeRuns(body)
		if err != nil {
			return
		}
		if len(runs) > MaxRuns {
			t.Fatalf("%d runs", len(runs))
		}
		again, err := json.Marshal(RunsRequest{Runs: runs})
		if err != nil {
			t.Fatal(err)
		}
		same, err := DecodeRuns(again)
		if err != nil || len(same) != len(runs) {
			t.Fatalf("%d runs became %d: %v", len(runs), len(same), err)
		}
		for i := range runs {
			var compact bytes.Buffer
			if err := json.Compact(&compact, runs[i]); err != nil {
				t.Fatal(err)
			}
			_, _ = DecodeRun(runs[i])
		}
	})
}
