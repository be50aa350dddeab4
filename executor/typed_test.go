//go:build go1.26

package executor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

func TestAParameterIsReadIntoAType(t *testing.T) {
	t.Parallel()
	type transfer struct {
		From string `json:"from"`
		Rows int    `json:"rows"`
	}
	b := setup(t, nil)
	executor.HandleJSON(b.Executor.Executor, "transfer", func(_ context.Context, run *executor.Run, p transfer) error {
		run.SetResult(fmt.Sprintf("%s %d", p.From, p.Rows))
		return nil
	})
	executor.HandleJSON(b.Executor.Executor, "list", func(_ context.Context, run *executor.Run, p []int) error {
		run.SetResult(fmt.Sprint(len(p), p == nil))
		return nil
	})
	for i, tc := range []struct {
		name, handler, param string
		code                 int
		msg                  string
	}{
		{"an object", "transfer", `{"from": "a", "rows": 3}`, wire.CodeSuccess, "a 3"},
		{"none", "transfer", " \n", wire.CodeSuccess, " 0"},
		{"a list", "list", "[1, 2]", wire.CodeSuccess, "2 false"},
		{"no list", "list", "", wire.CodeSuccess, "0 true"},
		{"no JSON", "transfer", "from=a", wire.CodeFail, "the parameter is not what the handler reads: "},
		{"another type", "transfer", `{"rows": "many"}`, wire.CodeFail, "the parameter is not what the handler reads: "},
		{"a member that is not known", "transfer", `{"form": "a"}`, wire.CodeFail, `unknown field "form"`},
		{"more than one", "transfer", `{"rows": 1} {"rows": 2}`, wire.CodeFail, "goes on after its end"},
		{"half", "transfer", `{"rows": 1`, wire.CodeFail, "the parameter is not what the handler reads: "},
		{"a bracket too many", "transfer", `{"rows": 1}}`, wire.CodeFail, "goes on after its end"},
	} {
		req := request(int64(100 + i))
		req.ExecutorHandler, req.ExecutorParams = tc.handler, tc.param
		b.mustRun(t, req)
		cb := b.admin.Result(t, req.LogID)
		if cb.HandleCode != tc.code || tc.code == wire.CodeSuccess && cb.HandleMsg != tc.msg || !strings.Contains(cb.HandleMsg, tc.msg) {
			t.Errorf("%s: %d %q, want %d %q", tc.name, cb.HandleCode, cb.HandleMsg, tc.code, tc.msg)
		}
	}
}

func TestMiddlewareIsAroundEveryRun(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf(format, args...))
	}
	around := func(name string) executor.Middleware {
		return func(next executor.Handler) executor.Handler {
			return func(ctx context.Context, run *executor.Run) error {
				note("%s before %q", name, run.Handler)
				defer func() {
					if p := recover(); p != nil {
						note("%s sees %v", name, p)
						panic(p)
					}
				}()
				err := next(ctx, run)
				note("%s after %v", name, err)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				return nil
			}
		}
	}
	b := setup(t, executortest.Handlers{
		"h":     func(context.Context, *executor.Run) error { note("h"); return nil },
		"fail":  func(context.Context, *executor.Run) error { return executor.Fail(507, "no room") },
		"panic": func(context.Context, *executor.Run) error { panic(errors.New("oh")) },
	})
	b.Use(around("outer"), around("middle"))
	b.Use(around("inner"))
	for i, tc := range []struct {
		req  *wire.RunRequest
		code int
		msg  string
		seen []string
	}{
		{request(1), wire.CodeSuccess, "", []string{`outer before "h"`, `middle before "h"`, `inner before "h"`, "h", "inner after <nil>", "middle after <nil>", "outer after <nil>"}},
		{&wire.RunRequest{ExecutorHandler: "fail"}, 507, "outer: middle: inner: no room", []string{`outer before "fail"`, `middle before "fail"`, `inner before "fail"`,
			"inner after no room", "middle after inner: no room", "outer after middle: inner: no room"}},
		{&wire.RunRequest{ExecutorHandler: "panic"}, wire.CodeFail, "panic: oh", []string{`outer before "panic"`, `middle before "panic"`, `inner before "panic"`,
			"inner sees oh", "middle sees oh", "outer sees oh"}},
		{script(4, wire.GlueShell, "exit 0"), wire.CodeSuccess, "", []string{`outer before ""`, `middle before ""`, `inner before ""`, "inner after <nil>", "middle after <nil>", "outer after <nil>"}},
	} {
		req := request(int64(i + 1))
		if tc.req.GlueType != "" {
			req = tc.req
		} else {
			req.ExecutorHandler = tc.req.ExecutorHandler
		}
		mu.Lock()
		seen = nil
		mu.Unlock()
		b.mustRun(t, req)
		if cb := b.admin.Result(t, req.LogID); cb.HandleCode != tc.code || cb.HandleMsg != tc.msg {
			t.Errorf("run %d: %d %q, want %d %q", req.LogID, cb.HandleCode, cb.HandleMsg, tc.code, tc.msg)
		}
		mu.Lock()
		if got, want := strings.Join(seen, "\n"), strings.Join(tc.seen, "\n"); got != want {
			t.Errorf("run %d: seen\n%s\nwant\n%s", req.LogID, got, want)
		}
		mu.Unlock()
	}
}
