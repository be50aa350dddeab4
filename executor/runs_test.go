//go:build go1.26

package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// postRuns asks for several runs in one request, and gives the answer to each.
func (b *bundle) postRuns(t *testing.T, runs ...any) []wire.Answer {
	t.Helper()
	body, err := json.Marshal(map[string]any{"runs": runs})
	if err != nil {
		t.Fatal(err)
	}
	text := string(body)
	answer := b.post(t, "POST", "/runs", map[string]string{wire.HeaderToken: executortest.Token}, &text)
	if !answer.OK() {
		t.Fatalf("%+v", answer)
	}
	var each []json.RawMessage
	if err := json.Unmarshal(answer.Data, &each); err != nil || len(each) != len(runs) {
		t.Fatalf("%d answers to %d runs: %s, %v", len(each), len(runs), answer.Data, err)
	}
	answers := make([]wire.Answer, len(each))
	for i, raw := range each {
		if answers[i], err = wire.DecodeAnswer(raw); err != nil {
			t.Fatal(err)
		}
	}
	return answers
}

func TestEachRunOfARequestHasItsAnswer(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle}, func(c *executor.Config) { c.GlueEnabled = false })
	unknown := request(4)
	unknown.ExecutorHandler = "nobody"
	script := request(5)
	script.GlueType = "GLUE_SHELL"
	answers := b.postRuns(t, request(1), "no run", request(2), request(1), unknown, script, onJob(request(6), 1, wire.BlockDiscardLater), request(7))
	for i, want := range []string{"", "request error:", "", "repeat trigger job, logId:1", "job handler [nobody] not found.", "fail, current glue type [GLUE(Shell)] not supported.",
		"block strategy effect", ""} {
		if got := answers[i]; got.OK() != (want == "") || !got.OK() && !strings.HasPrefix(got.Msg, want) {
			t.Errorf("run %d: %+v, want %q", i, got, want)
		}
	}
	if !answers[3].Repeated() {
		t.Errorf("%+v does not say that the run is here", answers[3])
	}
	close(h.free)
	for _, id := range []int64{1, 2, 7} {
		b.wantResult(t, id, 200, "")
	}
	if answers := b.postRuns(t); len(answers) != 0 {
		t.Errorf("no run has answers: %+v", answers)
	}
}

func TestARunThatPanicsIsRefusedAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, executortest.Handlers{"h": func(context.Context, *executor.Run) error { return nil }})
	wrapped := 0
	b.Use(func(next executor.Handler) executor.Handler {
		if wrapped++; wrapped == 2 {
			panic("no wrapper")
		}
		return next
	})
	for i, answer := range b.postRuns(t, request(1), request(2), request(3)) {
		if want := i != 1; answer.OK() != want || !want && answer.Msg != "request error:no wrapper" {
			t.Errorf("run %d: %+v", i+1, answer)
		}
	}
	b.wantResult(t, 1, 200, "")
	b.wantResult(t, 3, 200, "")
}

func TestRunsOfAJobKeepTheirOrderInARequest(t *testing.T) {
	t.Parallel()
	var order []int64 // one at a time
	b := setup(t, executortest.Handlers{"h": func(_ context.Context, run *executor.Run) error {
		order = append(order, run.LogID)
		return nil
	}})
	runs := make([]any, wire.MaxRuns)
	for i := range runs {
		runs[i] = onJob(request(int64(i)+1), 1, wire.BlockSerial)
	}
	for i, answer := range b.postRuns(t, runs...) {
		if !answer.OK() {
			t.Errorf("run %d: %+v", i+1, answer)
		}
	}
	for i := range runs {
		b.admin.Result(t, int64(i)+1)
	}
	for i, id := range order {
		if id != int64(i)+1 {
			t.Fatalf("run %d is the %dth", id, i+1)
		}
	}
}

func TestOfTwoThatCoverInARequestTheLastIsLeft(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle})
	for i, answer := range b.postRuns(t, onJob(request(1), 1, wire.BlockCoverEarly), onJob(request(2), 1, wire.BlockCoverEarly)) {
		if !answer.OK() {
			t.Errorf("run %d: %+v", i+1, answer)
		}
	}
	if got := b.admin.Result(t, 1); got.HandleCode == 200 {
		t.Errorf("the covered run: %+v", got)
	}
	close(h.free)
	b.wantResult(t, 2, 200, "")
}

func TestTooManyRunsAreRefusedWhole(t *testing.T) {
	t.Parallel()
	b := setup(t, executortest.Handlers{"h": func(context.Context, *executor.Run) error {
		t.Error("a run of a refused request is executed")
		return nil
	}})
	headers := map[string]string{wire.HeaderToken: executortest.Token}
	many := `{"runs":[` + strings.Repeat(`{"jobId":1,"logId":1,"executorHandler":"h","glueType":"BEAN"},`, wire.MaxRuns) + `{}]}`
	for name, tc := range map[string]struct{ token, body, msg string }{
		"too many":      {executortest.Token, many, fmt.Sprintf("request error:%d runs in one request", wire.MaxRuns+1)},
		"no list":       {executortest.Token, `{"runs":{"jobId":1}}`, "request error:"},
		"cut":           {executortest.Token, `{"runs":[{"jobId":1,"logId":1,"executorHandler":"h","glueType":"BEAN"}`, "request error:"},
		"a wrong token": {"x", `{"runs":[{"jobId":1,"logId":1,"executorHandler":"h","glueType":"BEAN"}]}`, "The access token is wrong."},
	} {
		headers[wire.HeaderToken] = tc.token
		if answer := b.post(t, "POST", "/runs", headers, &tc.body); answer.OK() || !strings.HasPrefix(answer.Msg, tc.msg) {
			t.Errorf("%s: %+v", name, answer)
		}
	}
	if err := b.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := httptest.NewRequest("POST", "/runs", strings.NewReader(`{"runs":[{"jobId":1,"logId":1,"executorHandler":"h","glueType":"BEAN"}]}`))
	late.Header.Set(wire.HeaderToken, executortest.Token)
	w := httptest.NewRecorder()
	b.ServeHTTP(w, late)
	if !strings.Contains(w.Body.String(), `"data":[{"code":500,"msg":"the executor is shutting down, the run is refused","content":"leaving"`) {
		t.Errorf("an executor that has stopped: %s", w.Body)
	}
}
