//go:build go1.26

package executortest_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/internal/leak"
	"github.com/punctual-job/punctual/executor/wire"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestStubBehaves(t *testing.T) {
	t.Parallel()
	client := wire.NewExecutorClient(nil)
	t.Cleanup(client.Close)
	open := make(chan struct{})
	close(open)
	for name, tc := range map[string]struct {
		behaviour executortest.Behaviour
		code      int
		stage     wire.Stage
	}{
		"accept":      {executortest.Accept, 200, ""},
		"refuse":      {executortest.Refuse("no"), 500, ""},
		"another era": {executortest.Say(`{"code":200}`), 200, ""},
		"slow":        {executortest.Slowly(time.Millisecond, executortest.Accept), 200, ""},
		"when":        {executortest.When(open, executortest.Accept), 200, ""},
		"garbage":     {executortest.Say("<html>"), 0, wire.StageDecode},
		"status":      {executortest.Status(503), 0, wire.StageStatus},
		"hang up":     {executortest.Hangup, 0, wire.StageAnswer},
		"half":        {executortest.HalfAnswer, 0, wire.StageAnswer},
		"never":       {executortest.Never, 0, wire.StageAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stub := executortest.NewStub(t)
			stub.BehaveAt("/run", tc.behaviour)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if name == "never" { // whoever calls gives it up when it has come, however long a busy machine takes to that
				stub.BehaveAt("/run", func(w http.ResponseWriter, req executortest.Request, ended <-chan struct{}) {
					cancel()
					tc.behaviour(w, req, ended)
				})
			}
			answer, err := client.Run(ctx, stub.Target(), &wire.RunRequest{LogID: 3})
			var call *wire.CallError
			if errors.As(err, &call); (call == nil) != (tc.stage == "") || (call != nil && call.Stage != tc.stage) || answer.Code != tc.code {
				t.Errorf("answer %+v, %v", answer, err)
			}
			if runs := stub.Runs(); len(runs) != 1 || runs[0].LogID != 3 {
				t.Errorf("remembered %+v", runs)
			}
			if answer, err := client.Beat(t.Context(), stub.Target()); err != nil || !answer.OK() {
				t.Errorf("another path: %+v, %v", answer, err)
			}
		})
	}
}
