package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestGarbageHoldsUpNobodyElse has executors that answer rubbish, or half of an answer and then nothing, for as long as the test
// wants. Every run of a healthy executor must be sent, recorded and finished while not one of theirs is: what waits for another
// group's call would wait for ever. No time is measured.
func TestGarbageHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		const (
			runs  = 100         // of the healthy executor, and of each other: more than a job may have calls at a time
			limit = time.Minute // the longest there may be
		)
		o.CallTimeout = limit // no call ends by itself
		a := start(t, o)
		ctx := t.Context()
		released := make(chan struct{})
		release := sync.OnceFunc(func() { close(released) })
		defer release()
		begin := func(text string) executortest.Behaviour { // and then nothing more
			return func(w http.ResponseWriter, req executortest.Request, ended <-chan struct{}) {
				_, _ = io.WriteString(w, text)
				_ = http.NewResponseController(w).Flush()
				executortest.When(released, executortest.Hangup)(w, req, ended)
			}
		}
		junk := map[string]executortest.Behaviour{
			"html":    executortest.When(released, executortest.Say("<html>"+strings.Repeat("It works! ", 200_000))),
			"half":    begin(`{"code":200,"msg":"`),
			"status":  executortest.When(released, executortest.Status(http.StatusServiceUnavailable)),
			"nothing": executortest.When(released, executortest.Hangup),
		}
		stubs := map[string]*executortest.Stub{}
		addJob := func(app, url string) int64 {
			t.Helper()
			group, err := db.New().InsertGroup(ctx, a.pool, db.InsertGroupParams{AppName: app, Title: app, AddressType: 1, AddressList: db.Text(url)})
			if err != nil {
				t.Fatal(err)
			}
			job, err := db.New().InsertJob(ctx, a.pool, db.InsertJobParams{
				JobGroup: group, JobDesc: app, ScheduleType: jobspec.ScheduleNone, MisfireStrategy: jobspec.MisfireDoNothing,
				ExecutorRouteStrategy: jobspec.RouteRound, ExecutorHandler: "count", ExecutorBlockStrategy: "SERIAL_EXECUTION", GlueType: wire.GlueBean,
			})
			if err != nil {
				t.Fatal(err)
			}
			return job
		}
		jobs := make(map[string]int64)
		for name, behaviour := range junk {
			stub := executortest.NewStub(t)
			stub.Behave(behaviour)
			stubs[name] = stub
			jobs[name] = addJob("junk-"+name, stub.URL)
		}
		healthy := executortest.New(t, a.Welcome().URL, executortest.Handlers{
			"count": func(context.Context, *executor.Run) error { return nil },
		}, func(c *executor.Config) { c.Token = o.AccessToken })
		well := addJob(executortest.AppName, healthy.URL)
		if err := a.engine.GroupsChanged(ctx); err != nil {
			t.Fatal(err)
		}
		trigger := func(job int64) {
			t.Helper()
			var all errgroup.Group
			all.SetLimit(20)
			for range runs {
				all.Go(func() error {
					_, err := a.engine.Trigger(ctx, scheduler.TriggerRequest{JobID: job, Type: jobspec.TriggerManual})
					return err
				})
			}
			if err := all.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		count := func(where string, args ...any) (n int) {
			t.Helper()
			if err := a.pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM xxl_job_log WHERE "+where, args...).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		await := func(what string, done func() bool) {
			t.Helper()
			err := executortest.Within(ctx, limit-10*time.Second, func() error {
				if !done() {
					return executortest.ErrNotYet
				}
				return nil
			})
			if err != nil {
				t.Fatalf("no %s: %v", what, err)
			}
		}
		for name, job := range jobs {
			trigger(job)
			stubs[name].WaitFor(t, "its calls to be under way", func() bool { return len(stubs[name].Runs()) > 0 })
		}
		for round := range 2 {
			trigger(well)
			await(fmt.Sprintf("end of round %d of the healthy executor's runs", round+1), func() bool {
				return count("job_id = ? AND trigger_code = 200 AND handle_code = 200", well) == (round+1)*runs
			})
			if n := count("job_id <> ? AND (trigger_code <> 0 OR handle_code <> 0)", well); n > 0 {
				t.Fatalf("%d runs of the others are decided, so this shows nothing", n)
			}
			if n := count("job_id <> ?", well); n != len(jobs)*runs {
				t.Fatalf("%d runs of the others, want %d", n, len(jobs)*runs)
			}
		}
		for name, stub := range stubs { // they did not wait for each other either
			if n := len(stub.Runs()); n < 2 || n >= runs {
				t.Errorf("%s: %d calls are under way; want some, and fewer than all %d", name, n, runs)
			}
		}
		release()
		trigger(well) // while two megabytes come from each
		await("end of the healthy executor's runs while rubbish pours in", func() bool { return count("job_id = ? AND handle_code = 200", well) == 3*runs })
	})
}
