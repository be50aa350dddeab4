//go:build go1.26

package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestCallErrorsSayWhetherTheRequestMayHaveArrived(t *testing.T) {
	t.Parallel()
	serve := func(h http.HandlerFunc) string {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return server.URL
	}
	var redirected atomic.Bool
	elsewhere := serve(func(http.ResponseWriter, *http.Request) { redirected.Store(true) })
	// Nobody listens on a port that a connection goes out from, and nobody else gets it.
	held, err := net.Dial("tcp", strings.TrimPrefix(elsewhere, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Close() })
	addresses := map[string]string{
		"refused": held.LocalAddr().String(),
		"no host": "http://bad host/",
		"closing": serve(func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }),
		"half": serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			_, _ = io.WriteString(w, "{")
		}),
		"status": serve(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "gone", http.StatusBadGateway) }),
		"redirect": serve(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		}),
		"garbage": serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }),
		"much": serve(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "{"+strings.Repeat(" ", maxAnswer+1))
		}),
		"wrong code": serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"code":[]}`) }),
	}

	client := NewExecutorClient(nil)
	t.Cleanup(client.http.CloseIdleConnections)
	for _, tc := range []struct {
		name  string
		stage Stage
		maybe bool
	}{
		{"refused", StageDial, false}, {"no host", StageDial, false}, {"closing", StageAnswer, true}, {"half", StageAnswer, true},
		{"never", StageAnswer, true}, {"status", StageStatus, true}, {"redirect", StageStatus, true}, {"garbage", StageDecode, true},
		{"much", StageAnswer, true}, {"wrong code", StageDecode, true},
	} {
		var err error
		for limit := 50 * time.Millisecond; ; limit *= 2 {
			address, wait, reached := addresses[tc.name], time.Minute, new(atomic.Bool)
			if tc.name == "never" {
				wait = limit
				address = serve(func(_ http.ResponseWriter, r *http.Request) {
					reached.Store(true)
					_, _ = io.Copy(io.Discard, r.Body)
					<-r.Context().Done() // until the client leaves
				})
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			_, err = client.Run(ctx, Target{Address: address}, &RunRequest{JobID: 1, LogID: 2})
			cancel()
			if tc.name != "never" || reached.Load() || limit > time.Minute { // a slow machine takes longer to get there
				break
			}
		}
		var call *CallError
		if !errors.As(err, &call) {
			t.Errorf("%s: %v is no CallError", tc.name, err)
			continue
		}
		if call.Stage != tc.stage || call.MaybeDelivered != tc.maybe || Delivered(err) != tc.maybe {
			t.Errorf("%s: stage %s, maybe delivered %v (%v); want %s, %v", tc.name, call.Stage, call.MaybeDelivered, err, tc.stage, tc.maybe)
		}
	}
	if redirected.Load() {
		t.Error("a redirect was followed")
	}
}

// fakeAdmin answers with what its function says and remembers bodies.
func fakeAdmin(t *testing.T, answer func(path, body string) string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, answer(r.URL.Path, string(body)))
	}))
	t.Cleanup(server.Close)
	return server
}

const okAnswer = `{"code":200}`

func TestAdminClientFailsOver(t *testing.T) {
	t.Parallel()
	var first, second atomic.Int32
	broken := fakeAdmin(t, func(string, string) string { first.Add(1); return `{"code":500,"msg":"The access token is wrong."}` })
	working := fakeAdmin(t, func(path, _ string) string {
		second.Add(1)
		if path != "/xxl-job-admin/api/registry" {
			t.Errorf("path %s", path)
		}
		return okAnswer
	})
	client := NewAdminClient(nil, []string{broken.URL, working.URL + "/xxl-job-admin/"}, "t", "orders", 0)
	t.Cleanup(client.http.CloseIdleConnections)
	for range 3 {
		if err := client.Registry(t.Context(), RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: "http://x/"}); err != nil {
			t.Fatal(err)
		}
	}
	if first.Load() != 1 || second.Load() != 3 {
		t.Errorf("broken asked %d times, working %d; want 1 and 3: the one that works is asked first", first.Load(), second.Load())
	}
	alone := NewAdminClient(nil, []string{broken.URL}, "t", "orders", 0)
	t.Cleanup(alone.http.CloseIdleConnections)
	var refused *RefusedError
	if err := alone.Callback(t.Context(), []Callback{{LogID: 1}}); !errors.As(err, &refused) || !strings.Contains(refused.Msg, "token") {
		t.Errorf("a refusal everywhere gives %v", err)
	}
	if err := NewAdminClient(nil, nil, "", "", 0).Callback(t.Context(), nil); err == nil {
		t.Error("no admin acknowledged, and no error")
	}
}

func TestAdminsThatWorkTakeTurns(t *testing.T) {
	t.Parallel()
	var asked [3]atomic.Int32
	var down atomic.Bool
	addresses := make([]string, len(asked))
	for i := range asked {
		addresses[i] = fakeAdmin(t, func(string, string) string {
			asked[i].Add(1)
			if i == 1 && down.Load() {
				return `{"code":500}`
			}
			return okAnswer
		}).URL
	}
	client := NewAdminClient(nil, addresses, "t", "orders", 0)
	t.Cleanup(client.http.CloseIdleConnections)
	report := func(times int) (got [3]int32) {
		for range times {
			if err := client.Callback(t.Context(), []Callback{{LogID: 1}}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range asked {
			got[i] = asked[i].Swap(0)
		}
		return got
	}
	if got := report(30); got != [3]int32{10, 10, 10} {
		t.Errorf("the admins got %v of 30 reports", got)
	}
	down.Store(true)
	if got := report(30); got[1] != 2 || got[0]+got[2] != 30 { // an array, then an object
		t.Errorf("with one that fails they got %v of 30 reports", got)
	}
	long := time.Now().Add(-avoidFor)
	client.admins[1].failed.Store(&long)
	down.Store(false)
	if got := report(30); got[1] != 10 {
		t.Errorf("after a while they got %v of 30 reports", got)
	}
}

// TestAResultGoesToTheAdminThatSentItsRun, as soon as that has said which it is, while it answers and is not asked too much at once.
func TestAResultGoesToTheAdminThatSentItsRun(t *testing.T) {
	t.Parallel()
	var asked [3]atomic.Int32
	var says [3]atomic.Value
	var down atomic.Bool
	var held atomic.Pointer[chan struct{}]
	arrived := make(chan struct{}, 10)
	addresses := make([]string, len(asked))
	for i := range asked {
		says[i].Store(fmt.Sprint(100 + i))
		addresses[i] = fakeAdmin(t, func(path, _ string) string {
			if path != "/api/callback" {
				return okAnswer
			}
			asked[i].Add(1)
			if hold := held.Load(); hold != nil && i == 1 {
				arrived <- struct{}{}
				<-*hold
			}
			if i == 1 && down.Load() {
				return `{"code":500}`
			}
			return `{"code":200,"content":` + says[i].Load().(string) + `}`
		}).URL
	}
	client := NewAdminClient(nil, addresses, "t", "orders", time.Minute)
	t.Cleanup(client.http.CloseIdleConnections)
	report := func(times int, node int64) (got [3]int32) {
		for range times {
			if err := client.Callback(t.Context(), []Callback{{LogID: 1, Node: node}, {LogID: 2}}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range asked {
			got[i] = asked[i].Swap(0)
		}
		return got
	}
	want := func(when string, got, want [3]int32) {
		t.Helper()
		if got != want {
			t.Errorf("%s the admins got %v, want %v", when, got, want)
		}
	}
	if client.Knows(0) || client.Knows(101) {
		t.Error("nobody has said who it is")
	}
	want("before they have said who they are", report(3, 0), [3]int32{1, 1, 1})
	if client.Knows(0) || !client.Knows(101) || client.Knows(103) {
		t.Error("who has said so is not known, or nobody is")
	}
	want("as the second has sent it,", report(9, 101), [3]int32{0, 9, 0})
	want("of one that is no more", report(9, 99), [3]int32{3, 3, 3})
	want("of nobody", report(9, 0), [3]int32{3, 3, 3})

	// Two requests are under way there: the next go by turns, of which one is its own again.
	hold := make(chan struct{})
	held.Store(&hold)
	var wg sync.WaitGroup
	for range firstAt {
		wg.Go(func() { report(1, 101) })
		<-arrived
	}
	held.Store(nil)
	if got := report(3, 101); got[0] == 0 || got[2] == 0 {
		t.Errorf("beside an admin that does not answer, the others got %v", got)
	}
	close(hold)
	wg.Wait()
	want("when it answers again", report(3, 101), [3]int32{0, 3, 0})

	down.Store(true)
	if got := report(9, 101); got[0]+got[2] != 9 || got[1] != 2 { // an array, then an object
		t.Errorf("as it fails, they got %v", got)
	}
	long := time.Now().Add(-avoidFor)
	client.admins[1].failed.Store(&long)
	down.Store(false)
	for _, odd := range []string{"null", `"101"`, "1e9", "{}", "-", "99999999999999999999"} {
		says[1].Store(odd)
		report(3, 0)
		if client.Knows(101) {
			t.Errorf("an admin that says %s is taken for the one it was", odd)
		}
	}
	alone := NewAdminClient(nil, addresses[:1], "t", "orders", 0)
	t.Cleanup(alone.http.CloseIdleConnections)
	if err := alone.Callback(t.Context(), []Callback{{LogID: 1, Node: 100}}); err != nil || alone.Knows(100) {
		t.Errorf("the only address, behind which several may be, is known as one of them, or %v", err)
	}
}

func TestCallbacksFindTheSpellingOfA35Admin(t *testing.T) {
	t.Parallel()
	var arrays, objects atomic.Int32
	admin35 := fakeAdmin(t, func(_, body string) string {
		if strings.HasPrefix(body, "[") {
			arrays.Add(1)
			return `{"code":500,"msg":"openapi invoke error: bad JSON"}`
		}
		objects.Add(1)
		return okAnswer
	})
	client := NewAdminClient(nil, []string{admin35.URL}, "t", "orders", 0)
	t.Cleanup(client.http.CloseIdleConnections)
	for range 3 {
		if err := client.Callback(t.Context(), []Callback{{LogID: 1, HandleCode: 200}}); err != nil {
			t.Fatal(err)
		}
	}
	if arrays.Load() != 1 || objects.Load() != 3 {
		t.Errorf("%d arrays and %d objects sent, want 1 and 3", arrays.Load(), objects.Load())
	}
}

func TestCallbacksAreReadByAdminsOfEveryEra(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 10)
	server := fakeAdmin(t, func(_, body string) string { bodies <- body; return okAnswer })
	client := NewAdminClient(nil, []string{server.URL}, "t", "orders", 0)
	t.Cleanup(client.http.CloseIdleConnections)
	err := client.Callback(t.Context(), []Callback{{LogID: 7, LogDateTim: 99, LogDateTime: 99, HandleCode: 502, HandleMsg: "too slow"}, {LogID: 8, HandleCode: 200}})
	if err != nil {
		t.Fatal(err)
	}
	var items []struct {
		LogID         int64    `json:"logId"`
		LogDateTim    int64    `json:"logDateTim"`
		HandleCode    int      `json:"handleCode"`
		HandleMsg     string   `json:"handleMsg"`
		ExecuteResult struct { // 2.2.0, which knows nothing else
			Code int    `json:"code"`
			Msg  string `json:"msg"`
		} `json:"executeResult"`
	}
	if err := json.Unmarshal([]byte(<-bodies), &items); err != nil || len(items) != 2 {
		t.Fatalf("%v, %v", items, err)
	}
	if i := items[0]; i.LogID != 7 || i.LogDateTim != 99 || i.HandleCode != 502 || i.HandleMsg != "too slow" || i.ExecuteResult.Code != 502 || i.ExecuteResult.Msg != "too slow" {
		t.Errorf("the first: %+v", i)
	}
	if i := items[1]; i.HandleCode != 200 || i.ExecuteResult.Code != 200 || i.ExecuteResult.Msg != "" {
		t.Errorf("the second: %+v", i)
	}
}

// endless is the body of an answer that does not end, and counts what is read of it.
type endless struct {
	begins string
	read   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.begins[min(e.read, len(e.begins)):])
	for i := range p[n:] {
		p[n+i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

func (e *endless) Close() error { return nil }

type answers func(*http.Request) (*http.Response, error)

func (f answers) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestGarbageIsNotRead: what cannot be an answer costs next to nothing, however long it is.
func TestGarbageIsNotRead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, begins string
		status, most int
		from         int // line of a question for the log; 0: a run
	}{
		{"a page", "<html>", 200, maxForeign, 0},
		{"bytes", "\x00\x01", 200, maxForeign, 0},
		{"an error of a proxy", "{", 503, maxForeign, 0},
		{"what looks like an answer", " \n{", 200, maxAnswer + 1, 0},
		{"a page for a log", "<html>", 200, maxForeign, 1},
		{"a long log", "{", 200, maxLogAnswer + 1, 1},
		{"the question whether there is a log", "{", 200, maxAnswer + 1, PastEnd},
	} {
		body := &endless{begins: tc.begins}
		client := NewExecutorClient(&http.Client{Transport: answers(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: tc.status, Body: body}, nil
		})})
		var err error
		if tc.from > 0 {
			_, _, err = client.Log(t.Context(), Target{Address: "http://x"}, LogRequest{FromLineNum: tc.from})
		} else {
			_, err = client.Run(t.Context(), Target{Address: "http://x"}, &RunRequest{})
		}
		if !Delivered(err) || err == nil {
			t.Errorf("%s: error %v, want one that may have been delivered", tc.name, err)
		}
		if body.read > tc.most {
			t.Errorf("%s: %d bytes were read, want at most %d", tc.name, body.read, tc.most)
		}
	}
}
