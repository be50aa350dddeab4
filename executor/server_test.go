//go:build go1.26

package executor_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// TestRecordedRequestsGetCompatibleAnswers sends what was sent to real executors of eleven releases, and compares our
// answers with theirs: the code must be the same, and so must the text of a failure, where it is not a stack trace.
func TestRecordedRequestsGetCompatibleAnswers(t *testing.T) {
	t.Parallel()
	file, err := os.Open("wire/testdata/wire-captures.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var captures struct {
		Answers map[string][]struct {
			Name    string
			Request struct {
				Method, Path string
				Headers      map[string]string
				Body         *string
			}
			Body string
		} `json:"executor_answers"`
	}
	if err := json.NewDecoder(unzipped).Decode(&captures); err != nil {
		t.Fatal(err)
	}
	// What a compatible executor answers otherwise on purpose (docs/compat.md §1.11): it takes both run paths, checks the app name
	// only where it is sent, and spells "repeat" as 3.4.1 and later do.
	tolerated := map[string]bool{"other run path": true, "token without appname": true}
	for version, exchanges := range captures.Answers {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			slow := newBlocker()
			b := setup(t, executortest.Handlers{
				"demoJobHandler": func(_ context.Context, run *executor.Run) error { run.Logf("hello"); return nil },
				"failJobHandler": func(context.Context, *executor.Run) error { return executor.Fail(500, "boom") },
				"slowJobHandler": slow.handle,
			}, func(c *executor.Config) { c.AppName, c.Token = "orders", "default_token" })
			seen := map[string]bool{}
			for _, x := range exchanges {
				if x.Name == "other run path" {
					continue // has the log id of the next run; both paths are tested elsewhere
				}
				seen[x.Name] = true
				if strings.HasPrefix(x.Name, "log ") && x.Name != "log missing file" {
					waitForLog(t, b, *x.Request.Body)
				}
				got := b.post(t, x.Request.Method, x.Request.Path, x.Request.Headers, x.Request.Body)
				want, err := wire.DecodeAnswer([]byte(x.Body))
				if err != nil {
					t.Fatal(err)
				}
				if tolerated[x.Name] {
					continue
				}
				if version == "3.5" && strings.HasPrefix(want.Msg, "invalid request, accessToken") {
					want.Msg = got.Msg
				}
				if strings.HasPrefix(want.Msg, "request error:") {
					want.Msg = got.Msg[:min(len(got.Msg), len("request error:"))]
					got.Msg = got.Msg[:len(want.Msg)]
				}
				want.Msg = strings.Replace(want.Msg, "repeate trigger", "repeat trigger", 1)
				if got.Code != want.Code || (want.Code != 200 && got.Msg != want.Msg) {
					t.Errorf("%s: answered %d %q, recorded %d %q", x.Name, got.Code, got.Msg, want.Code, want.Msg)
				}
				if (x.Name == "kill nothing") != strings.Contains(string(got.Data), "already killed") {
					t.Errorf("%s: value %s", x.Name, got.Data)
				}
			}
			for _, name := range []string{"run bean", "run discard", "run same log id again", "kill running", "bad json", "log of shell"} {
				if !seen[name] {
					t.Errorf("the recording has no %q", name)
				}
			}
		})
	}
}

// waitForLog waits until the run that a log request asks for is over. Upstream's recording did it with a pause.
func waitForLog(t *testing.T, b *bundle, body string) {
	t.Helper()
	req, err := wire.DecodeLog([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	b.admin.Result(t, req.LogID)
}

// post sends a request as it is.
func (b *bundle) post(t *testing.T, method, path string, headers map[string]string, body *string) wire.Answer {
	t.Helper()
	var reader io.Reader
	if body != nil {
		reader = strings.NewReader(*body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(b.URL, "/")+path, reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%s: HTTP status %s", path, resp.Status)
	}
	answer, err := wire.DecodeAnswer(text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return answer
}

func TestBadRequestsAreAnsweredAndHarmless(t *testing.T) {
	t.Parallel()
	b := setup(t, executortest.Handlers{"h": func(context.Context, *executor.Run) error { return nil }},
		func(c *executor.Config) { c.GlueEnabled = false })
	token := map[string]string{wire.HeaderToken: executortest.Token}
	text := func(s string) *string { return &s }
	run := func(change string) *string {
		return text(`{"jobId":1,"logId":5,"glueType":"BEAN","executorHandler":"h"` + change + `}`)
	}
	big := strings.Repeat("x", 5<<20+1)
	for _, tc := range []struct {
		name, method, path string
		headers            map[string]string
		body               *string
		msg                string
	}{
		{"no token", "POST", "/beat", nil, nil, "The access token is wrong."},
		{"a wrong token", "POST", "/run", map[string]string{wire.HeaderToken: "x"}, run(""), "The access token is wrong."},
		{"another app name", "POST", "/beat", map[string]string{wire.HeaderToken: executortest.Token, wire.HeaderAppName: "x"}, nil, "invalid request, accessToken or appname invalid."},
		{"another method", "PUT", "/beat", token, nil, "invalid request, HttpMethod not support."},
		{"the root", "POST", "/", token, nil, "invalid request, uri-mapping(/) not found."},
		{"a trailing slash", "POST", "/beat/", token, nil, "invalid request, uri-mapping(/beat/) not found."},
		{"no body", "POST", "/run", token, nil, "request error:"},
		{"no object", "POST", "/run", token, text(`[1]`), "request error:"},
		{"cut JSON", "POST", "/log", token, text(`{"logId":`), "request error:"},
		{"wrong types", "POST", "/kill", token, text(`{"jobId":{}}`), "request error:"},
		{"a number too big", "POST", "/idleBeat", token, text(`{"jobId":99999999999999999999}`), "request error:"},
		{"a body too big", "POST", "/run", token, &big, "request error:body is longer than 5242880 bytes"},
		{"no such handler", "POST", "/run", token, text(`{"glueType":"BEAN","executorHandler":"../x"}`), "job handler [../x] not found."},
		{"no kind", "POST", "/run", token, text(`{}`), "glueType[null] is not valid."},
		{"an unknown kind", "POST", "/run", token, text(`{"glueType":"GLUE_X"}`), "glueType[GLUE_X] is not valid."},
		{"scripts are off", "POST", "/run", token, text(`{"glueType":"GLUE_SHELL"}`), "fail, current glue type [GLUE(Shell)] not supported."},
		{"Java, scripts off", "POST", "/run", token, text(`{"glueType":"GLUE_GROOVY"}`), "fail, current glue type [GLUE(Java)] not supported."},
	} {
		answer := b.post(t, tc.method, tc.path, tc.headers, tc.body)
		if answer.Code != 500 || !strings.HasPrefix(answer.Msg, tc.msg) {
			t.Errorf("%s: %+v, want %q", tc.name, answer, tc.msg)
		}
	}
	if answer := b.post(t, "POST", "/trigger", token, run(`,"executorBlockStrategy":"NOBODY_KNOWS","logId":"5"`)); !answer.OK() {
		t.Errorf("a good request after all that: %+v", answer)
	}
	b.wantResult(t, 5, 200, "")
}

func TestAMissingLogAndALogOfAQuietRun(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle})
	ask := func(id int64, from int) wire.LogResult {
		t.Helper()
		piece, answer, err := b.client.Log(t.Context(), b.Target(), wire.LogRequest{LogID: id, LogDateTime: request(id).LogDateTime, FromLineNum: from})
		if err != nil || !answer.OK() {
			t.Fatalf("%+v %v", answer, err)
		}
		return piece
	}
	if got, want := ask(99, 1), (wire.LogResult{FromLineNum: 1, LogContent: "readLog fail, logFile not exists", IsEnd: true}); got != want {
		t.Errorf("missing: %+v", got)
	}
	if got := ask(99, wire.PastEnd); !got.Missing() || got.Remembers < 0 || got.NeverHad(time.Hour) {
		t.Errorf("whether there is one, of an executor that was started a moment ago: %+v", got)
	}
	b.mustRun(t, request(1))
	<-h.begun
	if got := ask(1, 1); got.ToLineNum != 2 || got.IsEnd || strings.Count(got.LogContent, "\n") != 2 {
		t.Errorf("running: %+v", got)
	}
	if got := ask(1, 3); got.ToLineNum != 2 || got.LogContent != "" || got.IsEnd {
		t.Errorf("nothing new: %+v", got)
	}
	close(h.free)
	b.admin.Result(t, 1)
	if err := b.Drain(t.Context()); err != nil { // the log is closed a moment after the result is sent
		t.Fatal(err)
	}
	content, err := os.ReadFile(b.DataDir() + "/logs/" + time.UnixMilli(request(1).LogDateTime).Format(time.DateOnly) + "/1.log")
	if err != nil || bytes.Count(content, []byte("\n")) != 4 {
		t.Errorf("file %q, %v", content, err)
	}
}
