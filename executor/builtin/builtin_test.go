package builtin_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/builtin"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

func TestHandlers(t *testing.T) {
	t.Parallel()
	admin := executortest.NewAdmin(t)
	ex := executortest.New(t, admin.URL, nil)
	if err := builtin.Register(ex.Executor, builtin.Options{Command: true, HTTP: true}); err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = io.WriteString(w, r.Method+" "+r.Header.Get("X-A")+" "+r.Header.Get("Authorization")+" "+string(body))
	}))
	t.Cleanup(site.Close)

	client := wire.NewExecutorClient(nil)
	for i, tc := range []struct {
		name, handler, param string
		code                 int
		msg, log             string
	}{
		{"a program", "commandJobHandler", "echo one  two", 200, "", "one two"},
		{"a program that fails", "commandJobHandler", "false", 500, "command exit value(1) is failed", ""},
		{"no program", "commandJobHandler", " ", 500, "command empty.", ""},
		{"an unknown program", "commandJobHandler", "no-such-program", 500, "command exit value(-1) is failed", ""},
		{"no shell", "commandJobHandler", "echo a;echo b", 200, "", "a;echo b"},
		{"JSON call", "httpJobHandler", `{"url":"` + site.URL + `","data":"x=1","headers":{"X-A":"b"},"auth":"Bearer c"}`, 200, "HTTP status 200 OK", "POST b Bearer c x=1"},
		{"form", "httpJobHandler", `{"url":"` + site.URL + `","form":{"k":"v w"}}`, 200, "", "k=v+w"},
		{"lines", "httpJobHandler", "url: " + site.URL + "\nmethod: get\n", 200, "", "GET"},
		{"a bad status", "httpJobHandler", `{"url":"` + site.URL + `/bad"}`, 500, "HTTP status 418", "POST"},
		{"another scheme", "httpJobHandler", `{"url":"file:///etc/passwd"}`, 500, "is not an http or https address", ""},
		{"another method", "httpJobHandler", `{"url":"` + site.URL + `","method":"TRACE"}`, 500, "method[TRACE] is not known", ""},
		{"no JSON", "httpJobHandler", `{`, 500, "not JSON", ""},
		{"flaky fails first", "flakyJobHandler", "1/2", 500, "failing on purpose", ""},
		{"flaky's bad parameter", "flakyJobHandler", "x", 500, "like 2/3", ""},
		{"slow", "slowJobHandler", "0", 200, "worked for 0 seconds", ""},
		{"slow's bad parameter", "slowJobHandler", "soon", 500, "number of seconds", ""},
		{"sharding", "shardingJobHandler", "", 200, "", "slice 1: this one is ours"},
	} {
		id := int64(i + 1)
		req := wire.RunRequest{JobID: id, LogID: id, ExecutorHandler: tc.handler, ExecutorParams: tc.param, GlueType: wire.GlueBean,
			LogDateTime: 1_767_225_600_000, BroadcastIndex: 1, BroadcastTotal: 2}
		if answer, err := client.Run(t.Context(), ex.Target(), &req); err != nil || !answer.OK() {
			t.Fatalf("%s: %+v, %v", tc.name, answer, err)
		}
		cb := admin.Result(t, id)
		if cb.HandleCode != tc.code || !strings.Contains(cb.HandleMsg, tc.msg) {
			t.Errorf("%s: result %d %q, want %d %q", tc.name, cb.HandleCode, cb.HandleMsg, tc.code, tc.msg)
		}
		log, _, err := client.Log(t.Context(), ex.Target(), wire.LogRequest{LogID: id, LogDateTime: req.LogDateTime, FromLineNum: 1})
		if err != nil || !strings.Contains(log.LogContent, tc.log) {
			t.Errorf("%s: log %q lacks %q (%v)", tc.name, log.LogContent, tc.log, err)
		}
	}
}

func TestPowerfulHandlersNeedAToken(t *testing.T) {
	t.Parallel()
	ex, err := executor.New(executor.Config{AppName: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := builtin.Register(ex, builtin.Options{Command: true}); err == nil {
		t.Error("commands without a token")
	}
	if err := builtin.Register(ex, builtin.Options{}); err != nil {
		t.Error(err)
	}
}
