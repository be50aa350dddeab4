//go:build go1.26

package executor_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

const hidden = "hunter22-hunter22"

func TestAScriptsSecretsAreInItsEnvironmentAndNotInItsOutput(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	req := script(1, wire.GlueShell, `echo "length ${#PASSWORD}"; printf "it is hunter22-"; sleep 0.1; echo hunter22 to the end; echo "$1"; printf %s "${PASSWORD:0:9}"; exit 3`)
	req.Environment = map[string]string{"PASSWORD": hidden, "PUNCTUAL_JOB_ID": "77", "BAD=": "x"}
	req.Masks, req.ExecutorParams = []string{hidden}, "key="+hidden
	b.mustRun(t, req)
	b.wantResult(t, 1, 500, "script exit value(3) is failed")
	text := b.log(t, req)
	if strings.Contains(text, hidden) || !strings.Contains(text, "length 17\n") || !strings.Contains(text, "it is *** to the end\n") ||
		!strings.Contains(text, "key=***") || !strings.Contains(text, "Param: key=***") || !strings.Contains(text, "hunter22-\n") {
		t.Errorf("log:\n%s", text)
	}
}

func TestAHandlersSecretsAreNotInItsOutputAndResult(t *testing.T) {
	t.Parallel()
	b := setup(t, executortest.Handlers{
		"h": func(_ context.Context, run *executor.Run) error {
			run.Logf("called with %s", run.Param)
			run.SetResult("done with " + run.Param)
			return nil
		},
		"fails":  func(_ context.Context, run *executor.Run) error { return errors.New("refused " + run.Param) },
		"panics": func(_ context.Context, run *executor.Run) error { panic("lost " + run.Param) },
	})
	for id, want := range map[int64]string{1: "done with ***", 2: "refused ***", 3: "panic: lost ***"} {
		req := request(id)
		req.ExecutorHandler = map[int64]string{1: "h", 2: "fails", 3: "panics"}[id]
		req.ExecutorParams, req.Masks = hidden, []string{hidden}
		b.mustRun(t, req)
		code := 500
		if id == 1 {
			code = 200
		}
		b.wantResult(t, id, code, want)
		if text := b.log(t, req); strings.Contains(text, hidden) {
			t.Errorf("log of %d:\n%s", id, text)
		}
	}
}
