// Package builtin holds the job handlers that people of XXL-JOB know from its sample executor, and a few that show
// what an admin does: a slow one to kill, one that fails now and then.
package builtin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/httpcall"
)

// Options switch on the handlers that do what their parameter says.
type Options struct {
	Command bool // commandJobHandler runs programs
	HTTP    bool // httpJobHandler calls URLs
	// HTTPAllow says which addresses it may call; the zero value permits public ones only.
	HTTPAllow AddressRule
}

// Register adds the handlers to ex. Those of Options need an executor with an access token: without one, everybody who
// reaches its port could use them.
func Register(ex *executor.Executor, options Options) error {
	if (options.Command || options.HTTP) && !ex.HasToken() {
		return errors.New("the command and HTTP handlers need an access token")
	}
	ex.Handle("demoJobHandler", demo)
	ex.Handle("shardingJobHandler", sharding)
	ex.Handle("slowJobHandler", slow)
	ex.Handle("flakyJobHandler", new(flaky).run)
	if options.Command {
		ex.HandleWith("commandJobHandler", executor.HandlerSpec{Run: command(ex), ParamIsCode: true})
	}
	if options.HTTP {
		ex.Handle(httpcall.Handler, HTTPCalls{Rule: func() AddressRule { return options.HTTPAllow }}.Handler())
	}
	return nil
}

// demo writes five lines, two seconds apart.
func demo(ctx context.Context, run *executor.Run) error {
	run.Logf("hello from Punctual, param: %s", run.Param)
	for i := range 5 {
		run.Logf("beat at: %d", i)
		if err := wait(ctx, 2*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// sharding says which slice it works on.
func sharding(_ context.Context, run *executor.Run) error {
	run.Logf("shard index %d of %d", run.Shard.Index, run.Shard.Total)
	for i := range run.Shard.Total {
		if i == run.Shard.Index {
			run.Logf("slice %d: this one is ours", i)
		} else {
			run.Logf("slice %d: left to others", i)
		}
	}
	return nil
}

// slow works for as many seconds as its parameter says (60 without one) and writes a line every second.
func slow(ctx context.Context, run *executor.Run) error {
	seconds := 60
	if param := strings.TrimSpace(run.Param); param != "" {
		n, err := strconv.Atoi(param)
		if err != nil || n < 0 || n > 24*60*60 {
			return fmt.Errorf("the parameter is a number of seconds, not %q", param)
		}
		seconds = n
	}
	for i := range seconds {
		run.Logf("%d of %d seconds done", i, seconds)
		if err := wait(ctx, time.Second); err != nil {
			run.Logf("stopped: %v", err)
			return err
		}
	}
	run.SetResult(fmt.Sprintf("worked for %d seconds", seconds))
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// flaky fails some runs: with the parameter "2/3" the first two of every three runs of a job (without one, every other).
type flaky struct {
	mu    sync.Mutex
	count map[int64]int // runs by job
}

func (f *flaky) run(_ context.Context, run *executor.Run) error {
	fails, of, err := ratio(run.Param)
	if err != nil {
		return err
	}
	f.mu.Lock()
	if f.count == nil {
		f.count = make(map[int64]int)
	}
	n := f.count[run.JobID] % of
	f.count[run.JobID]++
	f.mu.Unlock()
	run.Logf("run %d of %d, of which the first %d fail", n+1, of, fails)
	if n < fails {
		return fmt.Errorf("failing on purpose: run %d of %d", n+1, of)
	}
	run.SetResult("worked this time")
	return nil
}

func ratio(param string) (fails, of int, err error) {
	if strings.TrimSpace(param) == "" {
		return 1, 2, nil
	}
	before, after, ok := strings.Cut(param, "/")
	fails, err1 := strconv.Atoi(strings.TrimSpace(before))
	of, err2 := strconv.Atoi(strings.TrimSpace(after))
	if !ok || err1 != nil || err2 != nil || fails < 0 || of < 1 {
		return 0, 0, fmt.Errorf("the parameter is like 2/3 (two of three fail), not %q", param)
	}
	return fails, of, nil
}
