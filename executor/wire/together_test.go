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

// asked is what came of a run that was asked for.
type asked struct {
	answer Answer
	err    error
}

// gathering is a client and an executor that is known to take several runs, with maxAhead requests under way.
type gathering struct {
	t        *testing.T
	client   *ExecutorClient
	executor *heldExecutor
	ahead    []heldRequest
}

var gatheredAt = Target{Address: "http://executor:9999", Token: "t", AppName: "orders"}

func newGathering(t *testing.T) *gathering {
	g := &gathering{t: t, executor: &heldExecutor{requests: make(chan heldRequest, 1000), takes: true}}
	g.client = NewExecutorClient(&http.Client{Transport: g.executor})
	first := g.ask(t.Context(), RunRequest{LogID: 1})
	(<-g.executor.requests).each()
	<-first
	for i := range maxAhead {
		g.ask(t.Context(), RunRequest{LogID: int64(i) + 1})
		g.ahead = append(g.ahead, <-g.executor.requests)
	}
	return g
}

// ask asks for a run, and returns when the client can do no more about it.
func (g *gathering) ask(ctx context.Context, req RunRequest) <-chan asked {
	done := make(chan asked, 1)
	go func() {
		answer, err := g.client.Run(ctx, gatheredAt, &req)
		done <- asked{answer, err}
	}()
	synctest.Wait()
	return done
}

func (g *gathering) askMany(ids ...int64) []<-chan asked {
	done := make([]<-chan asked, len(ids))
	for i, id := range ids {
		done[i] = g.ask(g.t.Context(), RunRequest{LogID: id})
	}
	return done
}

// next is the request that follows when one of those under way ends.
func (g *gathering) next() heldRequest {
	g.ahead[0].each()
	g.ahead = g.ahead[1:]
	return <-g.executor.requests
}

// release answers all that are under way.
func (g *gathering) release() {
	for _, r := range g.ahead {
		r.each()
	}
}

func inGathering(t *testing.T, test func(*testing.T, *gathering)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newGathering(t)
		test(t, g)
		g.release()
	})
}

func TestRunsThatWaitGoInOneRequest(t *testing.T) {
	t.Parallel()
	inGathering(t, func(t *testing.T, g *gathering) {
		done := g.askMany(501, 502)
		const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		done = append(done, g.ask(t.Context(), RunRequest{LogID: 503, TraceParent: parent}))
		if n := len(g.executor.requests); n != 0 {
			t.Fatalf("%d requests more than %d at a time", n, maxAhead)
		}
		r := g.next()
		if r.path != "/runs" || !slices.Equal(r.ids(), []int64{501, 502, 503}) || r.runs[2].TraceParent != parent || r.trace != "" {
			t.Fatalf("asked %s for %v, trace %q in the head and %q in the run", r.path, r.ids(), r.trace, r.runs[len(r.runs)-1].TraceParent)
		}
		r.each()
		for i, ch := range done {
			if got := <-ch; got.err != nil || got.answer.Code != 501+i {
				t.Errorf("run %d: %+v", 501+i, got)
			}
		}
		// Nothing waits now, and fewer requests are under way: the next one goes alone.
		ch := g.ask(t.Context(), RunRequest{LogID: 600})
		alone := <-g.executor.requests
		if alone.path != "/run" {
			t.Errorf("a run that has nobody to wait for goes to %s", alone.path)
		}
		alone.each()
		<-ch
	})
}

func TestOtherExecutorsAreAskedForEachRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gathering{t: t, executor: &heldExecutor{requests: make(chan heldRequest, 100)}}
		g.client = NewExecutorClient(&http.Client{Transport: g.executor})
		for range 2 { // also when it has answered before
			ids := make([]int64, 3*maxAhead)
			for i := range ids {
				ids[i] = int64(i) + 1
			}
			done := g.askMany(ids...)
			if len(g.executor.requests) != len(ids) {
				t.Fatalf("%d requests for %d runs", len(g.executor.requests), len(ids))
			}
			for range ids {
				r := <-g.executor.requests
				if r.path != "/run" {
					t.Errorf("asked at %s", r.path)
				}
				r.each()
			}
			for _, ch := range done {
				<-ch
			}
		}
	})
}

// At the address of an executor that took several there may be one now that does not: what it does not know it has not done.
func TestAnExecutorThatKnowsNoRunsIsAskedForEach(t *testing.T) {
	t.Parallel()
	inGathering(t, func(t *testing.T, g *gathering) {
		done := g.askMany(501, 502)
		r := g.next()
		g.executor.takes = false
		r.answer <- `{"code":500,"msg":"invalid request, uri-mapping(/runs) not found."}`
		for range done {
			r := <-g.executor.requests
			if r.path != "/run" || len(r.runs) != 1 {
				t.Errorf("asked %s for %v", r.path, r.ids())
			}
			r.each()
		}
		for i, ch := range done {
			if got := <-ch; got.err != nil || got.answer.Code != 501+i {
				t.Errorf("run %d: %+v", 501+i, got)
			}
		}
		g.askMany(601, 602, 603, 604, 605, 606)
		for range 6 {
			r := <-g.executor.requests
			if r.path != "/run" {
				t.Errorf("asked again at %s", r.path)
			}
			r.each()
		}
	})
}

func TestARequestHasBoundedRuns(t *testing.T) {
	t.Parallel()
	inGathering(t, func(t *testing.T, g *gathering) {
		ids := make([]int64, MaxRuns+1)
		for i := range ids {
			ids[i] = int64(1000 + i)
		}
		g.askMany(ids...)
		script := strings.Repeat("x", maxRunsBytes/2)
		for id := range int64(3) {
			g.ask(t.Context(), RunRequest{LogID: 2000 + id, GlueSource: script})
		}
		var got []int
		for n := 0; n < MaxRuns+4; {
			r := g.next()
			got, n = append(got, len(r.runs)), n+len(r.runs)
			r.each()
			g.ahead = append(g.ahead, heldRequest{path: "/run", runs: []RunRequest{{}}, answer: make(chan string, 1)})
			if len(g.executor.requests) > 0 { // what followed this one
				r := <-g.executor.requests
				got, n = append(got, len(r.runs)), n+len(r.runs)
				r.each()
			}
			synctest.Wait()
		}
		for _, n := range got {
			if n > MaxRuns {
				t.Errorf("%d runs in one request", n)
			}
		}
		if got[0] != MaxRuns || len(got) < 4 {
			t.Errorf("requests of %v runs: at most %d, and %d bytes", got, MaxRuns, maxRunsBytes)
		}
	})
}

// TestARunThatFillsARequestWaitsForNone: others could not go with it.
func TestARunThatFillsARequestWaitsForNone(t *testing.T) {
	t.Parallel()
	inGathering(t, func(t *testing.T, g *gathering) {
		began := time.Now()
		ch := g.ask(t.Context(), RunRequest{LogID: 501, GlueSource: strings.Repeat("x", maxRunsBytes)})
		r := <-g.executor.requests
		if waited := time.Since(began); r.path != "/run" || waited != 0 {
			t.Errorf("asked at %s after %v", r.path, waited)
		}
		r.each()
		if got := <-ch; got.err != nil || got.answer.Code != 501 {
			t.Errorf("%+v", got)
		}
	})
}

func TestRunsDoNotWaitForAnExecutorThatHangs(t *testing.T) {
	t.Parallel()
	inGathering(t, func(t *testing.T, g *gathering) {
		began := time.Now()
		ch := g.ask(t.Context(), RunRequest{LogID: 501})
		r := <-g.executor.requests
		if waited := time.Since(began); r.path != "/run" || waited != maxGathering {
			t.Errorf("asked at %s after %v", r.path, waited)
		}
		r.each()
		if got := <-ch; got.err != nil || got.answer.Code != 501 {
			t.Errorf("%+v", got)
		}
	})
}

func TestARunThatEndsItsWaitSaysWhetherItMayHaveArrived(t *testing.T) {
	t.Parallel()
	inGathering(t, func(t *testing.T, g *gathering) {
		first, leaveFirst := context.WithCancel(t.Context())
		second, leaveSecond := context.WithCancel(t.Context())
		third, leaveThird := context.WithCancel(t.Context())
		a, b, c := g.ask(first, RunRequest{LogID: 501}), g.ask(second, RunRequest{LogID: 502}), g.ask(third, RunRequest{LogID: 503})
		leaveFirst()
		if got := <-a; Delivered(got.err) || !errors.Is(got.err, context.Canceled) {
			t.Errorf("a run that had not left: %v", got.err)
		}
		r := g.next()
		if !slices.Equal(r.ids(), []int64{502, 503}) {
			t.Fatalf("asked for %v", r.ids())
		}
		leaveSecond()
		if got := <-b; !Delivered(got.err) || !errors.Is(got.err, context.Canceled) {
			t.Errorf("a run that was under way: %v", got.err)
		}
		if r.ctx.Err() != nil {
			t.Error("the request ends although a run waits for it")
		}
		leaveThird()
		<-c
		synctest.Wait()
		if r.ctx.Err() == nil {
			t.Error("the request goes on although nobody waits for it")
		}
	})
}

// When a lease ends a call must not be under way any more.
func TestARequestEndsWhenTheFirstOfItsRunsHasTo(t *testing.T) {
	t.Parallel()
	inGathering(t, func(t *testing.T, g *gathering) {
		began := time.Now()
		late, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		soon, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		a, b := g.ask(late, RunRequest{LogID: 501}), g.ask(soon, RunRequest{LogID: 502})
		g.next()
		for _, ch := range []<-chan asked{a, b} {
			if got := <-ch; !errors.Is(got.err, context.DeadlineExceeded) || !Delivered(got.err) || time.Since(began) != time.Second {
				t.Errorf("%v after %v", got.err, time.Since(began))
			}
		}
	})
}

// TestARunIsNotUnreachableForAnother: their request ended before it had left, since the first of them had to.
func TestARunIsNotUnreachableForAnother(t *testing.T) {
	t.Parallel()
	inGathering(t, func(t *testing.T, g *gathering) {
		g.executor.full = true
		soon, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		a, b := g.ask(t.Context(), RunRequest{LogID: 501}), g.ask(soon, RunRequest{LogID: 502})
		r := g.next()
		if r.path != "/run" || !slices.Equal(r.ids(), []int64{501}) {
			t.Errorf("%s for %v", r.path, r.ids())
		}
		r.each()
		if got := <-a; got.err != nil || got.answer.Code != 501 {
			t.Errorf("%+v", got)
		}
		if got := <-b; !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("%+v", got)
		}
	})
}

func TestNothingLeavesWhenAGateIsShut(t *testing.T) {
	t.Parallel()
	inGathering(t, func(t *testing.T, g *gathering) {
		shut := WithGate(t.Context(), func() bool { return false })
		a, b := g.ask(shut, RunRequest{LogID: 501}), g.ask(t.Context(), RunRequest{LogID: 502})
		g.ahead[0].each()
		g.ahead = g.ahead[1:]
		for _, ch := range []<-chan asked{a, b} {
			if got := <-ch; !errors.Is(got.err, ErrGate) || Delivered(got.err) {
				t.Errorf("%v", got.err)
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
		inGathering(t, func(t *testing.T, g *gathering) {
			done := g.askMany(501, 502)
			g.next().answer <- text
			var got []string
			for _, ch := range done {
				switch a := <-ch; {
				case a.err != nil && Delivered(a.err):
					got = append(got, "open")
				case a.err == nil && a.answer.WrongToken():
					got = append(got, "500 refused")
				default:
					got = append(got, fmt.Sprint(a.answer.Code))
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
	inGathering(t, func(t *testing.T, g *gathering) {
		meets := g.ask(t.Context(), RunRequest{LogID: 501})
		wall := g.next()
		waits := g.ask(t.Context(), RunRequest{LogID: 502})
		wall.answer <- "<html>404</html>"
		if got := <-meets; !Delivered(got.err) || got.err == nil {
			t.Errorf("%+v", got)
		}
		for _, id := range []int64{502, 503, 504, 505, 506, 507} {
			if id > 502 {
				waits = g.ask(t.Context(), RunRequest{LogID: id})
			}
			r := <-g.executor.requests
			if r.path != "/run" || r.ids()[0] != id {
				t.Fatalf("asked at %s for %v", r.path, r.ids())
			}
			r.each()
			<-waits
		}
		g.release()
		g.ahead = nil
		<-time.After(shunFor)
		for i := range maxAhead {
			g.ask(t.Context(), RunRequest{LogID: int64(i) + 1})
			g.ahead = append(g.ahead, <-g.executor.requests)
		}
		g.ask(t.Context(), RunRequest{LogID: 601})
		if r := g.next(); r.path != "/runs" {
			t.Errorf("asked at %s when the time was over", r.path)
		} else {
			r.each()
		}
	})
}

func TestWhoIsNotCalledIsForgotten(t *testing.T) {
	t.Parallel()
	g := newGatherer()
	long := time.Now().Add(-2 * forgetTaker)
	g.takers[Target{Address: "gone"}] = &taker{used: long}
	g.takers[Target{Address: "called"}] = &taker{used: long, ahead: 1}
	g.learn(Target{Address: "new"}, true)
	if len(g.takers) != 3 {
		t.Errorf("%d executors are remembered before it is time to look", len(g.takers))
	}
	g.swept = long
	g.learn(Target{Address: "newer"}, true)
	if len(g.takers) != 3 || g.takers[Target{Address: "gone"}] != nil {
		t.Errorf("remembered: %v", g.takers)
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
