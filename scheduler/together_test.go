package scheduler

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// tornWay is a way to an executor on which the first request for several runs is torn: it does not arrive, or its answer does not come back
// or is another's.
type tornWay struct {
	executor http.Handler
	arrives  bool
	answer   string       // in place of the executor's
	together atomic.Int64 // such requests
}

func (w *tornWay) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.URL.Path != "/runs" || w.together.Add(1) > 1 {
		w.executor.ServeHTTP(out, r)
		return
	}
	if w.arrives {
		w.executor.ServeHTTP(httptest.NewRecorder(), r)
	}
	if w.answer != "" {
		_, _ = io.WriteString(out, w.answer)
		return
	}
	panic(http.ErrAbortHandler)
}

func TestRunsThatGoTogetherAreEachRunOnce(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]*tornWay{
		"what was torn has arrived":                       {arrives: true},
		"what was torn has not":                           {},
		"a gateway answers for an executor that has them": {arrives: true, answer: `{"code":500,"msg":"timed out"}`},
		"a gateway answers for an executor without them":  {answer: `{"code":500,"msg":"timed out"}`},
	} {
		t.Run(name, func(t *testing.T) { testTornRuns(t, way) })
	}
}

func testTornRuns(t *testing.T, torn *tornWay) {
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		const jobs = 300
		var engine *Engine
		admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/callback" {
				_, _ = io.WriteString(w, `{"code":200}`)
				return
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			results, err := wire.DecodeCallbacks(body)
			if err == nil {
				err = engine.Complete(r.Context(), results)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_, _ = io.WriteString(w, `{"code":200}`)
		}))
		defer admin.Close()
		var mu sync.Mutex
		executed := make(map[int64]int) // how often, by job
		ex := executortest.New(t, "", executortest.Handlers{"handler": func(_ context.Context, run *executor.Run) error {
			mu.Lock()
			defer mu.Unlock()
			executed[run.JobID]++
			return nil
		}}, func(c *executor.Config) { c.Admins = []string{admin.URL} })
		way := &tornWay{executor: ex, arrives: torn.arrives, answer: torn.answer}
		server := httptest.NewServer(way)
		defer server.Close()

		client := wire.NewExecutorClient(wire.NewHTTPClient(256))
		defer client.Close()
		engine = newEngine(t, pool, client, func(c *Config) {
			c.UnansweredFor = time.Hour
			c.Token = func(Bearer) (string, string) { return executortest.Token, "" }
		})
		b := &bundle{t: t, pool: pool, engine: engine}
		b.group = b.addGroup(executortest.AppName, server.URL)
		b.startEngine(engine)
		ended := func() (n int) {
			if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code <> 0 AND handle_code <> 0").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		known := b.addJob(nil)
		b.trigger(known)
		b.await("it is known what the executor takes", func() bool { return ended() == 1 })
		for range jobs {
			b.addJob(nil)
		}
		// All in one moment, however long it takes to write them down.
		b.exec("UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ? WHERE id <> ?", time.Now().Add(time.Second).UnixMilli(), known)
		engine.JobsChanged()
		b.awaitAll("ended", jobs+1, ended)
		for _, run := range b.allRuns() {
			if run.TriggerCode != wire.CodeSuccess || run.HandleCode != wire.CodeSuccess {
				t.Errorf("run %d was sent with %d and ended with %d: %s", run.ID, run.TriggerCode, run.HandleCode, run.TriggerMsg)
			}
			if n := executed[run.JobID]; n != 1 {
				t.Errorf("job %d was executed %d times", run.JobID, n)
			}
		}
		if way.together.Load() == 0 {
			t.Error("no runs went together")
		}
	})
}
