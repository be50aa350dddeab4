package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestThePythonExecutorOfTheManual works with a real admin, called and asking: a run succeeds, its output is read, and another is ended.
func TestThePythonExecutorOfTheManual(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 (.ci/deps installs it)")
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "executor-python.md"))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(page), "```python\n")
	source, _, _ := strings.Cut(parts[len(parts)-1], "```")
	const step, longer = "time.sleep(0.1)", "time.sleep(0.1)\n        while run.param == 'long': run.check() or time.sleep(0.01)"
	if strings.Count(source, step) != 1 {
		t.Fatal("the program of the page is another")
	}
	file := filepath.Join(t.TempDir(), "executor.py")
	if err := os.WriteFile(file, []byte(strings.Replace(source, step, longer, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	a, orders, _, groups := programs(t, testOptions(t))
	root := open(t, a).mustLogin()
	group := groups["orders"]
	if got := root.post(fmt.Sprintf("/executors/%d", group), url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}}); got.status != http.StatusSeeOther {
		t.Fatalf("automatic addresses: %d %s", got.status, got.body)
	}
	job, err := db.New().InsertJob(t.Context(), a.pool, db.InsertJobParams{
		JobGroup: group, JobDesc: "close", ExecutorHandler: "closeDay", GlueType: "BEAN", ScheduleType: "NONE", MisfireStrategy: "DO_NOTHING",
		ExecutorRouteStrategy: jobspec.RouteFirst, ExecutorBlockStrategy: "SERIAL_EXECUTION",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"push", "pull"} {
		t.Run(mode, func(t *testing.T) {
			port := executortest.FreePort(t)
			address := "http://127.0.0.1:" + port + "/"
			env := append(os.Environ(), "ADMIN="+orders.base, "TOKEN="+orders.token, "APP_NAME=orders", "PORT="+port, "NO_PROXY=*")
			if mode == "pull" {
				address, env = "pull://snake-1", append(env, "PULL=Snake-1")
			}
			ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
			cmd := exec.CommandContext(ctx, python, file)
			var out executortest.Output
			cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				cancel()
				_ = cmd.Wait()
				if t.Failed() {
					t.Log(out.String())
				}
			})
			executortest.Eventually(t, "the executor is there", func() error {
				for _, s := range a.engine.Addresses(group) {
					if s.Address == address && s.Live {
						return nil
					}
				}
				return errors.New("not yet")
			})
			run := func(param string) int64 {
				t.Helper()
				got := root.post(fmt.Sprintf("/jobs/%d/run", job), url.Values{"param": {param}, "addresses": {address}})
				id, err := strconv.ParseInt(strings.TrimPrefix(got.header.Get("Location"), "/runs/"), 10, 64)
				if err != nil {
					t.Fatalf("run by hand: %d %s", got.status, got.body)
				}
				return id
			}
			await := func(id int64, what string, is func(db.Run) bool) (r db.Run) {
				t.Helper()
				executortest.Eventually(t, what, func() (err error) {
					if r, err = db.New().GetRun(t.Context(), a.pool, id); err == nil && !is(r) {
						err = fmt.Errorf("trigger code %d, handle code %d, %s", r.TriggerCode, r.HandleCode, r.TriggerMsg)
					}
					return err
				})
				return r
			}
			r := await(run("north"), "success", func(r db.Run) bool { return r.HandleCode == 200 && r.TriggerCode == 200 })
			piece, err := a.engine.Outputs().Read(t.Context(), &r, 1)
			if err != nil || !strings.Contains(piece.LogContent, "closing north, step 3 of 3") {
				t.Errorf("the output is %q, %v", piece.LogContent, err)
			}
			long := run("long")
			await(long, "the long run is sent", func(r db.Run) bool { return r.TriggerCode == 200 })
			if err := a.engine.Kill(t.Context(), long, "ada"); err != nil {
				t.Error(err)
			}
			await(long, "the end of the long run", func(r db.Run) bool { return r.Outcome == event.Killed })
		})
	}
}
