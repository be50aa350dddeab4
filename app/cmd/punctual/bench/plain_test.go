package bench

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/wire"
)

// TestAPlainExecutorKeepsToTheProtocol: it registers, takes a run a request with nothing said of more, and reports how each ended.
func TestAPlainExecutorKeepsToTheProtocol(t *testing.T) {
	t.Parallel()
	address, reported := make(chan string, 1), make(chan wire.Callback, 10)
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/api/registry":
			if reg, err := wire.DecodeRegistry(body); err != nil || reg.RegistryKey != "bench" || reg.TakesEnvironment {
				t.Errorf("registered %s, %v", body, err)
			} else {
				address <- reg.RegistryValue
			}
		case "/api/callback":
			results, err := wire.DecodeCallbacks(body)
			if err != nil {
				t.Errorf("reported %s, %v", body, err)
			}
			for _, result := range results {
				reported <- result
			}
		}
		_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, "", nil))
	}))
	defer admin.Close()
	planned := time.UnixMilli(1_700_000_000_123)
	noop := func(_ context.Context, run *executor.Run) error {
		if !run.Planned.Equal(planned) || run.Received.Before(planned) || run.Param != "x" {
			t.Errorf("ran %+v", run)
		}
		return nil
	}
	fail := func(context.Context, *executor.Run) error { return errors.New("no luck") }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- newPlain([]string{admin.URL}, token, map[string]executor.Handler{"noop": noop, "fail": fail}).run(ctx)
	}()
	base := <-address
	for id, body := range []string{`{"jobId":1,"logId":0,"executorHandler":"noop","executorParams":"x","logDateTime":1700000000123}`,
		`{"jobId":1,"logId":1,"executorHandler":"fail","logDateTime":1700000000123}`, `{"jobId":1,"logId":2,"executorHandler":"other","logDateTime":1700000000123}`} {
		resp, err := http.Post(base+"run", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Punctual-Takes-Runs") != "" {
			t.Errorf("run %d: %s %v", id, resp.Status, resp.Header)
		}
		want := wire.Callback{LogID: int64(id), LogDateTim: planned.UnixMilli(), HandleCode: wire.CodeSuccess}
		if id == 1 {
			want.HandleCode, want.HandleMsg = wire.CodeFail, "no luck"
		}
		got := <-reported
		got.LogDateTime = 0 // in a spelling that XXL-JOB reads past
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("run %d (-want +got):\n%s", id, diff)
		}
	}
	for _, c := range []struct {
		path, body string
		status     int
		ok         bool
	}{{"run", "{", http.StatusBadRequest, false}, {"beat", "", http.StatusOK, true}, {"trigger", "{}", http.StatusOK, false}} {
		resp, err := http.Post(base+c.path, "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		answer, _ := wire.DecodeAnswer(said)
		if resp.StatusCode != c.status || answer.OK() != c.ok {
			t.Errorf("%s: %s, %s", c.path, resp.Status, said)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
