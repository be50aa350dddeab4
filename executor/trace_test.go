//go:build go1.26

package executor_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

const traceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestARunKnowsItsPlaceInATrace(t *testing.T) {
	t.Parallel()
	got := make(chan *executor.Run, 1)
	b := setup(t, executortest.Handlers{"h": func(_ context.Context, run *executor.Run) error { got <- run; return nil }})
	req := request(1)
	req.TraceParent = traceParent
	b.mustRun(t, req)
	if run := <-got; run.TraceParent != traceParent {
		t.Errorf("the handler sees %q", run.TraceParent)
	}
	b.mustRun(t, request(2))
	if run := <-got; run.TraceParent != "" {
		t.Errorf("a run without a trace has %q", run.TraceParent)
	}
	// Anybody may send headers: what is no trace context goes no further, and the run runs.
	for i, wrong := range []string{"00-x-y-01", strings.ToUpper(traceParent), traceParent + "\"; rm -rf /"} {
		sent, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL+"run", strings.NewReader(
			`{"jobId":3,"logId":`+string(rune('3'+i))+`,"executorHandler":"h","glueType":"BEAN","logDateTime":1767225600000,"traceparent":"of the body"}`))
		if err != nil {
			t.Fatal(err)
		}
		sent.Header.Set(wire.HeaderToken, executortest.Token)
		sent.Header.Set(wire.HeaderTraceParent, wrong)
		resp, err := http.DefaultClient.Do(sent)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if run := <-got; run.TraceParent != "" {
			t.Errorf("%q became %q", wrong, run.TraceParent)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestScriptsAreHandedTheirPlaceInATrace(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	req := script(1, wire.GlueShell, "echo in $TRACEPARENT")
	req.TraceParent, req.Environment = traceParent, map[string]string{"TRACEPARENT": "another"}
	b.mustRun(t, req)
	b.wantResult(t, 1, 200, "")
	if text := b.log(t, req); !strings.Contains(text, "in "+traceParent+"\n") {
		t.Errorf("log %q", text)
	}
	without := script(2, wire.GlueShell, "echo in ${TRACEPARENT-no trace}")
	b.mustRun(t, without)
	b.wantResult(t, 2, 200, "")
	if text := b.log(t, without); !strings.Contains(text, "in no trace\n") {
		t.Errorf("log %q", text)
	}
}

// A run that waits when the executor dies is taken up at the next start, in the same trace.
func TestARestartKeepsTheTrace(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := newBlocker()
	b := setup(t, executortest.Handlers{"h": first.handle}, func(c *executor.Config) { c.DataDir = folder })
	b.mustRun(t, onJob(request(1), 7, wire.BlockSerial))
	<-first.begun
	waits := onJob(request(2), 7, wire.BlockSerial)
	waits.TraceParent = traceParent
	b.mustRun(t, waits)
	killed := t.TempDir() // what a killed executor leaves
	if err := os.CopyFS(killed, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	got := make(chan *executor.Run, 1)
	setup(t, executortest.Handlers{"h": func(_ context.Context, run *executor.Run) error { got <- run; return nil }}, func(c *executor.Config) { c.DataDir = killed })
	if run := <-got; run.LogID != 2 || run.TraceParent != traceParent {
		t.Errorf("run %d goes on in trace %q", run.LogID, run.TraceParent)
	}
	close(first.free)
}
