//go:build go1.26

package builtin_test

import (
	"compress/gzip"
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
	if err := builtin.Register(ex.Executor, builtin.Options{Command: true, HTTP: true, HTTPAllow: rule(t, "127.0.0.0/8")}); err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/bad":
			w.WriteHeader(http.StatusTeapot)
		case "/moved":
			http.Redirect(w, r, "/here?x=1", http.StatusFound)
			return
		case "/elsewhere": // another host, and one that the rule leaves out
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
			return
		case "/again":
			http.Redirect(w, r, "/again", http.StatusFound)
			return
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
			return
		case "/hang":
			<-r.Context().Done()
			return
		case "/half":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "the first half")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "/big":
			_, _ = io.WriteString(w, strings.Repeat("x", 100<<10))
			return
		}
		_, _ = io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("X-A")+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Cookie")+" "+
			r.Header.Get("Content-Type")+" "+string(body))
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
		{"quotes", "commandJobHandler", `printf '[%s]' "a b" 'c "d"' --x="e f" ""`, 200, "", `[a b][c "d"][--x=e f][]`},
		{"a quote alone", "commandJobHandler", `echo it's`, 500, "without its second one", ""},
		{"the run's surroundings", "commandJobHandler", "printenv PUNCTUAL_SHARD_INDEX", 200, "", "\n1\n"},
		{"no shell", "commandJobHandler", "echo a;echo b", 200, "", "a;echo b"},
		{"JSON call", "httpJobHandler", `{"url":"` + site.URL + `","data":"x=1","headers":{"X-A":"b"},"auth":"Bearer c"}`, 200, "HTTP status 200 OK", "POST / b Bearer c  application/json x=1"},
		{"form", "httpJobHandler", `{"url":"` + site.URL + `","form":{"k":"v w"}}`, 200, "", "k=v+w"},
		{"form of a GET", "httpJobHandler", `{"url":"` + site.URL + `/q?a=1","method":"get","form":{"k":"v w"}}`, 200, "", "GET /q?a=1&k=v+w "},
		{"JSON data", "httpJobHandler", `{"url":"` + site.URL + `","data":{"n": [1]}}`, 200, "", `{"n": [1]}`},
		{"JSON of 3.0", "httpJobHandler", `{"url":"` + site.URL + `","method":"post","data":"content"}`, 200, "", "POST / "},
		{"cookies and a type", "httpJobHandler", `{"url":"` + site.URL + `","method":"PUT","contentType":"text/plain","cookies":{"s":"1"},"data":"d"}`,
			200, "", "PUT /   s=1 text/plain d"},
		{"lines with a body", "httpJobHandler", "url: " + site.URL + "/p\nmethod: post\ndata: content\n", 200, "", "POST /p    application/json content"},
		{"an expected status", "httpJobHandler", `{"url":"` + site.URL + `/bad","expectedStatus":418}`, 200, "HTTP status 418", ""},
		{"a list of them", "httpJobHandler", `{"url":"` + site.URL + `/bad","expectedStatus":["2xx","410-420"]}`, 200, "HTTP status 418", ""},
		{"another status than expected", "httpJobHandler", "url: " + site.URL + "\nexpectedStatus: 204", 500, "HTTP status 200 OK, expected 204", ""},
		{"a status that is none", "httpJobHandler", `{"url":"` + site.URL + `","expectedStatus":"ok"}`, 500, "expectedStatus is like", ""},
		{"a redirect", "httpJobHandler", `{"url":"` + site.URL + `/moved"}`, 200, "HTTP status 200", "GET /here?x=1"},
		{"a redirect that is the aim", "httpJobHandler", `{"url":"` + site.URL + `/moved","expectedStatus":"3xx"}`, 200, "HTTP status 302", ""},
		{"a redirect to a forbidden address", "httpJobHandler", `{"url":"` + site.URL + `/elsewhere"}`, 500, "169.254.169.254:80 is not an address that HTTP jobs may call", ""},
		{"endless redirects", "httpJobHandler", `{"url":"` + site.URL + `/again"}`, 500, "more than 5 redirects", ""},
		{"a redirect to a file", "httpJobHandler", `{"url":"` + site.URL + `/file"}`, 500, "not an http or https address", ""},
		{"a slow site", "httpJobHandler", `{"url":"` + site.URL + `/hang","timeout":50}`, 500, "no answer within 50ms", ""},
		{"an answer that breaks off", "httpJobHandler", `{"url":"` + site.URL + `/half"}`, 500, "read answer: unexpected EOF", "200 OK\nthe first half"},
		{"a big answer", "httpJobHandler", `{"url":"` + site.URL + `/big"}`, 200, "", "xxx… (cut)"},
		{"a header that would be two", "httpJobHandler", `{"url":"` + site.URL + `","headers":{"X-A":"b\r\nX-B: c"}}`, 500, "invalid header", ""},
		{"an address left out", "httpJobHandler", `{"url":"http://10.1.2.3/"}`, 500, "10.1.2.3:80 is not an address that HTTP jobs may call", ""},
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

func TestHTTPCallsPassTheTraceOn(t *testing.T) {
	t.Parallel()
	const parent, own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-11111111111111111111111111111111-2222222222222222-00"
	admin := executortest.NewAdmin(t)
	ex := executortest.New(t, admin.URL, nil)
	if err := builtin.Register(ex.Executor, builtin.Options{HTTP: true, HTTPAllow: rule(t, "127.0.0.0/8")}); err != nil {
		t.Fatal(err)
	}
	headers := make(chan string, 1)
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { headers <- r.Header.Get("traceparent") }))
	t.Cleanup(site.Close)
	client := wire.NewExecutorClient(nil)
	t.Cleanup(client.Close)
	for i, tc := range []struct{ parent, param, want string }{
		{parent, `{"url":"` + site.URL + `"}`, parent},
		{"", `{"url":"` + site.URL + `"}`, ""},
		{parent, `{"url":"` + site.URL + `","headers":{"traceparent":"` + own + `"}}`, own},
	} {
		req := &wire.RunRequest{JobID: int64(i + 1), LogID: int64(i + 1), ExecutorHandler: "httpJobHandler", GlueType: wire.GlueBean, LogDateTime: 1_767_225_600_000, ExecutorParams: tc.param, TraceParent: tc.parent}
		if answer, err := client.Run(t.Context(), ex.Target(), req); err != nil || !answer.OK() {
			t.Fatalf("%+v, %v", answer, err)
		}
		if got := <-headers; got != tc.want {
			t.Errorf("%s in trace %q: the target sees %q, want %q", tc.param, tc.parent, got, tc.want)
		}
	}
}

// TestAnAnswerIsReadAndMaskedHoweverItIsPacked: a call that asks for a packed one, as browsers do, shows a text all the same, and no secret in it.
func TestAnAnswerIsReadAndMaskedHoweverItIsPacked(t *testing.T) {
	t.Parallel()
	admin := executortest.NewAdmin(t)
	ex := executortest.New(t, admin.URL, nil)
	if err := builtin.Register(ex.Executor, builtin.Options{HTTP: true, HTTPAllow: rule(t, "127.0.0.0/8")}); err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			_, _ = w.Write([]byte("the token is hunter22, as it is"))
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte("the token is hunter22, packed"))
		_ = z.Close()
	}))
	t.Cleanup(site.Close)
	client := wire.NewExecutorClient(nil)
	t.Cleanup(client.Close)
	for i, tc := range []struct{ headers, want string }{
		{`{}`, "the token is ***, packed"},
		{`{"accept-encoding":"gzip, deflate, br"}`, "the token is ***, packed"},
		{`{"Accept-Encoding":"identity"}`, "the token is ***, as it is"},
	} {
		id := int64(i + 1)
		req := &wire.RunRequest{JobID: id, LogID: id, ExecutorHandler: "httpJobHandler", GlueType: wire.GlueBean, LogDateTime: 1_767_225_600_000, Masks: []string{"hunter22"},
			ExecutorParams: `{"url":"` + site.URL + `","headers":` + tc.headers + `,"expectedText":"the token is"}`}
		if answer, err := client.Run(t.Context(), ex.Target(), req); err != nil || !answer.OK() {
			t.Fatalf("%+v, %v", answer, err)
		}
		if cb := admin.Result(t, id); cb.HandleCode != wire.CodeSuccess {
			t.Errorf("%s: result %d %q", tc.headers, cb.HandleCode, cb.HandleMsg)
		}
		log, _, err := client.Log(t.Context(), ex.Target(), wire.LogRequest{LogID: id, LogDateTime: req.LogDateTime, FromLineNum: 1})
		if err != nil || !strings.Contains(log.LogContent, tc.want) {
			t.Errorf("%s: output %q lacks %q (%v)", tc.headers, log.LogContent, tc.want, err)
		}
	}
}

func rule(t *testing.T, list string) builtin.AddressRule {
	t.Helper()
	r, err := builtin.ParseAddressRule(list)
	if err != nil {
		t.Fatal(err)
	}
	return r
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
