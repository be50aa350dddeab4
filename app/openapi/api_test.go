package openapi

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
)

const token = "default_token"

const success = `{"code":200,"msg":"Success","content":null,"data":null}`

// engine remembers what it was told.
type engine struct {
	mu           sync.Mutex
	callbacks    []wire.Callback
	registered   []wire.RegistryRequest
	dialects     []wire.Dialect
	scopes       []string
	deregistered []wire.RegistryRequest
	refused      []refusedCall
	outputs      []wire.PushedOutput
	sender       int64
	err          error
}

func (e *engine) CompleteBy(_ context.Context, by scheduler.Caller, _ func(string) bool, callbacks []wire.Callback) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if by.Scope != "" {
		e.scopes = append(e.scopes, by.Scope)
	}
	e.callbacks = append(e.callbacks, callbacks...)
	return e.err
}

func (e *engine) Refused(by scheduler.Caller, why scheduler.Refusal, runs []int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused = append(e.refused, refusedCall{by, why, runs})
}

type refusedCall struct {
	by   scheduler.Caller
	why  scheduler.Refusal
	runs []int64
}

func (e *engine) SawDialect(_ context.Context, _, _ string, dialect wire.Dialect) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dialects = append(e.dialects, dialect)
	return nil
}

func (e *engine) RegisterWith(_ context.Context, r wire.RegistryRequest, shown string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.registered = append(e.registered, r)
	return e.err
}

func (e *engine) KnowsGroup(appName string) bool { return appName != "nobodys" }

func (e *engine) Take(_ context.Context, by scheduler.Caller, speaks func(string) bool, outputs []wire.PushedOutput) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !speaks("orders") {
		return scheduler.ErrNotTheirs
	}
	e.scopes = append(e.scopes, by.Scope)
	e.outputs = append(e.outputs, outputs...)
	return e.err
}

func (e *engine) Sender() int64 { return e.sender }

func (e *engine) Deregister(_ context.Context, r wire.RegistryRequest) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.deregistered = append(e.deregistered, r)
	return e.err
}

// fixedTokens are a common token and one of the group "orders".
type fixedTokens struct{}

const ordersToken = "orders_token"

func (fixedTokens) Check(appName, given string) (string, bool) {
	switch {
	case given == token:
		return "", true
	case given == ordersToken && (appName == "" || appName == "orders"):
		return "orders", true
	}
	return "", false
}

// Speaks says that "closed" has a token of its own.
func (fixedTokens) Speaks(scope, _, appName string) bool {
	return scope == "" && appName != "closed" || scope != "" && strings.EqualFold(scope, appName)
}

// openTokens let everybody in.
type openTokens struct{ fixedTokens }

func (openTokens) Check(string, string) (string, bool) { return "", true }

func newAPI() (*API, *engine) {
	e := &engine{}
	return New(Config{Engine: e, Outputs: e, Tokens: fixedTokens{}, Pulls: new(pulls), Logger: slog.New(slog.DiscardHandler)}), e
}

func post(api *API, method, path, token, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if token != "" {
		r.Header.Set(wire.HeaderToken, token)
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	return w
}

func TestEveryRefusalIsAnAnswerWithStatus200(t *testing.T) {
	t.Parallel()
	const registration = `{"registryGroup":"EXECUTOR","registryKey":"orders","registryValue":"http://10.0.0.7:9999/"}`
	registering := func(value string) string {
		raw, err := json.Marshal(wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: value})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	tests := []struct {
		name, method, path, token, body string
		want                            string // the message, or a part of it
	}{
		{"the method is looked at first", "GET", "/api/registry", "", "", "invalid request, HttpMethod not support."},
		{"PUT is not POST", "PUT", "/api/registry", token, registration, "HttpMethod not support."},
		{"no name", "POST", "/api", token, registration, "invalid request, uri-mapping empty."},
		{"no name behind the slash", "POST", "/xxl-job-admin/api/", token, registration, "uri-mapping empty."},
		{"no body, also for strangers", "POST", "/api/registry", "", "", "invalid request, requestBody empty."},
		{"a blank body", "POST", "/api/registry", token, " \n", "requestBody empty."},
		{"no token", "POST", "/api/registry", "", registration, "The access token is wrong."},
		{"a wrong token", "POST", "/api/registry", "Default_token", registration, "The access token is wrong."},
		{"a wrong token comes before a wrong name", "POST", "/api/nothing", "x", registration, "The access token is wrong."},
		{"a long body of a stranger is not read", "POST", "/api/callback", "x", strings.Repeat("x", MaxBody), "The access token is wrong."},
		{"an unknown name", "POST", "/api/nothing", token, registration, "invalid request, uri-mapping(nothing) not found."},
		{"a name with a slash", "POST", "/api/registry/", token, registration, "uri-mapping(registry/) not found."},
		{"an odd name is made harmless", "POST", "/api/%00%1b" + strings.Repeat("x", 100), token, registration, "uri-mapping(??xxx"},
		{"no JSON", "POST", "/api/registry", token, "hello", "openapi invoke error: "},
		{"half a JSON", "POST", "/api/callback", token, `[{"logId":1`, "openapi invoke error: "},
		{"an array instead of an object", "POST", "/api/registry", token, "[]", "openapi invoke error: "},
		{"a number instead of callbacks", "POST", "/api/callback", token, "5", "openapi invoke error: "},
		{"an object without a result", "POST", "/api/callback", token, `{"results":[{"logId":1,"handleCode":200}]}`, "openapi invoke error: "},
		{"no callbacks at all", "POST", "/api/callback", token, "null", "openapi invoke error: "},
		{"an id beyond 64 bits", "POST", "/api/callback", token, `[{"logId":99999999999999999999,"handleCode":200}]`, "openapi invoke error: "},
		{"a body that is too large", "POST", "/api/registry", token, "[" + strings.Repeat(" ", MaxBody) + "]", "requestBody too large"},
		{"callbacks that are too many", "POST", "/api/callback", token, "[" + strings.Repeat(" ", maxBacklog) + "]", "requestBody too large"},
		{"a blank key", "POST", "/api/registry", token, `{"registryGroup":"EXECUTOR","registryKey":" ","registryValue":"http://a:1/"}`, "Illegal Argument."},
		{"a missing value", "POST", "/api/registryRemove", token, `{"registryGroup":"EXECUTOR","registryKey":"a"}`, "Illegal Argument."},
		{"a long key", "POST", "/api/registry", token, `{"registryGroup":"EXECUTOR","registryKey":"` + strings.Repeat("a", 256) + `","registryValue":"http://a:1/"}`, "registryKey is too long"},
		{"a long group", "POST", "/api/registry", token, `{"registryGroup":"` + strings.Repeat("a", 51) + `","registryKey":"a","registryValue":"http://a:1/"}`, "registryGroup is too long"},
		{"a long address", "POST", "/api/registry", token, registering("http://" + strings.Repeat("a", 255) + ":1/"), "registryValue must be"},
		{"another scheme", "POST", "/api/registry", token, registering("file:///etc/passwd"), "registryValue must be"},
		{"a list of addresses", "POST", "/api/registry", token, registering("http://a:1/,http://b:2/"), "registryValue must be"},
		{"markup", "POST", "/api/registry", token, registering("http://a:1/<script>"), "registryValue must be"},
		{"a name without a port", "POST", "/api/registry", token, registering("orders"), "registryValue must be"},
		{"a port out of range", "POST", "/api/registry", token, registering("http://a:70000/"), "registryValue must be"},
		{"an account in the address", "POST", "/api/registry", token, registering("http://u:p@a:1/"), "registryValue must be"},
		{"a pull address with a port", "POST", "/api/registry", token, registering("pull://a:1"), "registryValue must be"},
		{"any address", "POST", "/api/registry", token, registering("http://0.0.0.0:9999/"), "registryValue must be"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api, e := newAPI()
			w := post(api, tt.method, tt.path, tt.token, tt.body)
			if w.Code != http.StatusOK {
				t.Errorf("HTTP status %d", w.Code)
			}
			if got := w.Header().Get("Content-Type"); got != "application/json;charset=UTF-8" {
				t.Errorf("content type %q", got)
			}
			var answer map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
				t.Fatalf("%s: %v", w.Body, err)
			}
			msg, _ := answer["msg"].(string)
			if answer["code"] != 500.0 || !strings.Contains(msg, tt.want) || len(answer) != 4 {
				t.Errorf("answered %s, want %q", w.Body, tt.want)
			}
			if len(e.callbacks)+len(e.registered)+len(e.deregistered) != 0 {
				t.Errorf("it reached the engine: %+v", e)
			}
		})
	}
}

func TestRegistrationsReachTheEngineAsTheyWereSent(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"http://10.0.0.7:9999/", "http://10.0.0.7:9999", "10.0.0.7:9999", "https://jobs.example.com/x/", "http://[fd00::1]:9999/", "http://ORDERS:9999/", "pull://orders-1",
	} {
		api, e := newAPI()
		body := `{"registryGroup":"EXECUTOR","registryKey":"orders","registryValue":"` + address + `","more":1}`
		if w := post(api, "POST", "/xxl-job-admin/api/registry", token, body); w.Body.String() != success {
			t.Errorf("%s: %s", address, w.Body)
		}
		if w := post(api, "POST", "/api/registryRemove", token, body); w.Body.String() != success {
			t.Errorf("%s: %s", address, w.Body)
		}
		want := []wire.RegistryRequest{{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: address}}
		if diff := cmp.Diff(want, e.registered); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want, e.deregistered); diff != "" {
			t.Error(diff)
		}
	}
}

func TestCallbacksOfEveryEra(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		want       []wire.Callback
	}{
		{"J1", `[{"logId":4321,"logDateTim":1767225600000,"executeResult":{"code":200,"msg":"done"}}]`,
			[]wire.Callback{{LogID: 4321, LogDateTim: 1767225600000, LogDateTime: 1767225600000, HandleCode: 200, HandleMsg: "done"}}},
		{"J2", `[{"logId":4321,"logDateTim":1,"handleCode":500,"handleMsg":"no"}]`,
			[]wire.Callback{{LogID: 4321, LogDateTim: 1, LogDateTime: 1, HandleCode: 500, HandleMsg: "no"}}},
		{"J4", `{"callbackList":[{"logId":4321,"logDateTime":1,"handleCode":502}]}`,
			[]wire.Callback{{LogID: 4321, LogDateTim: 1, LogDateTime: 1, HandleCode: 502}}},
		{"items about nothing are dropped", `[{"logId":0,"handleCode":200},{"logId":-5,"handleCode":200},{"handleCode":200}]`, nil},
		{"codes the column cannot hold are failures", `[{"logId":1,"handleCode":4294967296,"handleMsg":"x"},{"logId":2,"handleCode":-1}]`,
			[]wire.Callback{{LogID: 1, HandleCode: 500, HandleMsg: "handle code 4294967296: x"}, {LogID: 2, HandleCode: 500, HandleMsg: "handle code -1: "}}},
		{"none", `[]`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api, e := newAPI()
			if w := post(api, "POST", "/api/callback", token, tt.body); w.Body.String() != success {
				t.Errorf("answered %s", w.Body)
			}
			if diff := cmp.Diff(tt.want, e.callbacks); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFailureIsAnsweredWithoutItsDetail(t *testing.T) {
	t.Parallel()
	api, e := newAPI()
	e.err = errors.New("dial tcp db.internal:3306: connection refused")
	w := post(api, "POST", "/api/callback", token, `[{"logId":1,"handleCode":200}]`)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"code":500`) || strings.Contains(w.Body.String(), "db.internal") {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
}

func TestTheOldHeaderAndNoTokenAtAll(t *testing.T) {
	t.Parallel()
	api, _ := newAPI()
	r := httptest.NewRequest("POST", "/api/callback", strings.NewReader("[]"))
	r.Header.Set(wire.HeaderRPCToken, token)
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	if w.Body.String() != success {
		t.Errorf("the header of 2.1: %s", w.Body)
	}
	open := New(Config{Engine: &engine{}, Tokens: openTokens{}, Logger: slog.New(slog.DiscardHandler)})
	if w := post(open, "POST", "/api/callback", "", "[]"); w.Body.String() != success {
		t.Errorf("no token configured: %s", w.Body)
	}
}

// captures is traffic of upstream's own executors, eleven releases of it.
func captures(tb testing.TB) map[string][]struct {
	Method, Path, Body string
	Headers            map[string]string
} {
	tb.Helper()
	file, err := os.Open("testdata/wire-captures.json.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		tb.Fatal(err)
	}
	var all struct {
		ExecutorToAdmin map[string][]struct {
			Method, Path, Body string
			Headers            map[string]string
		} `json:"executor_to_admin"`
	}
	if err := json.NewDecoder(unzipped).Decode(&all); err != nil {
		tb.Fatal(err)
	}
	return all.ExecutorToAdmin
}

func TestEveryReleaseIsAnsweredWithSuccess(t *testing.T) {
	t.Parallel()
	all := captures(t)
	if len(all) != 11 {
		t.Errorf("%d releases recorded, want 11", len(all))
	}
	for version, requests := range all {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			api, e := newAPI()
			for _, recorded := range requests {
				r := httptest.NewRequest(recorded.Method, recorded.Path, strings.NewReader(recorded.Body))
				for name, value := range recorded.Headers {
					r.Header.Set(name, value)
				}
				w := httptest.NewRecorder()
				api.ServeHTTP(w, r)
				if w.Body.String() != success {
					t.Errorf("%s %s: answered %s", recorded.Path, recorded.Body, w.Body)
				}
			}
			if len(e.callbacks) == 0 || len(e.registered) == 0 {
				t.Errorf("%d callbacks and %d registrations reached the engine", len(e.callbacks), len(e.registered))
			}
		})
	}
}

// TestABacklogIsTaken as a whole: an executor up to 3.4.0 would send nothing less ever again.
func TestABacklogIsTaken(t *testing.T) {
	t.Parallel()
	api, e := newAPI()
	const results = 10_000
	body := []byte{'['}
	for id := 1; id <= results; id++ {
		body = fmt.Appendf(body, `{"logId":%d,"logDateTim":1767225600000,"handleCode":500,"handleMsg":"%0*d"},`, id, 2000, id)
	}
	body[len(body)-1] = ']'
	if got := post(api, "POST", "/api/callback", token, string(body)).Body.String(); got != success || len(e.callbacks) != results {
		t.Errorf("%d bytes: %.200s, and %d results reached the engine", len(body), got, len(e.callbacks))
	}
	if len(api.backlog) != 0 {
		t.Error("the next one would wait for ever")
	}
}

func FuzzBodies(f *testing.F) {
	for _, requests := range captures(f) {
		for _, r := range requests {
			f.Add(r.Path, r.Body)
		}
	}
	f.Add("/api/registry", `{"registryValue":5}`)
	f.Add("/api/pull", pullBody("orders"))
	f.Add("/api/output", pushBody(f, wire.PushedOutput{LogID: 1, Head: "hello\n"}))
	f.Fuzz(func(t *testing.T, path, body string) {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \r\n\t\x7f%?#") || strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r > '~' }) {
			path = "/api/callback"
		}
		api, e := newAPI()
		w := post(api, "POST", path, token, body)
		var answer struct{ Code int }
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK || answer.Code != 200 && answer.Code != 500 {
			t.Fatalf("answered %d %s", w.Code, w.Body)
		}
		for _, c := range e.callbacks {
			if c.LogID <= 0 || c.HandleCode < 0 {
				t.Errorf("the engine got %+v", c)
			}
		}
		for _, r := range e.registered {
			if len(r.RegistryValue) > maxRegistryText || strings.ContainsAny(r.RegistryValue, ", <>\n") {
				t.Errorf("the engine got %+v", r)
			}
		}
	})
}

func TestAGroupsOwnTokenSpeaksForThatGroupOnly(t *testing.T) {
	t.Parallel()
	register := func(api *API, key string) string {
		return post(api, "POST", "/api/registry", ordersToken, `{"registryGroup":"EXECUTOR","registryKey":"`+key+`","registryValue":"http://10.0.0.7:9999/"}`).Body.String()
	}
	api, e := newAPI()
	if got := register(api, "orders"); got != success {
		t.Errorf("its own group: %s", got)
	}
	if got := register(api, "payments"); !strings.Contains(got, msgToken) || len(e.registered) != 1 {
		t.Errorf("another group: %s", got)
	}
	if got := post(api, "POST", "/api/callback", ordersToken, `[{"logId":1,"handleCode":200}]`).Body.String(); got != success || len(e.scopes) != 1 || e.scopes[0] != "orders" {
		t.Errorf("a callback: %s, scopes %v", got, e.scopes)
	}
}

// TestResultsThatATokenDoesNotCountForAreRefused as any call with a wrong token is, so that the executor keeps them.
func TestResultsThatATokenDoesNotCountForAreRefused(t *testing.T) {
	t.Parallel()
	api, e := newAPI()
	e.err = errors.Join(scheduler.ErrNotTheirs)
	if got := post(api, "POST", "/api/callback", token, `[{"logId":1,"handleCode":200}]`).Body.String(); !strings.Contains(got, `"code":500`) || !strings.Contains(got, msgToken) {
		t.Errorf("a callback: %s", got)
	}
}

func TestTheEraOfAnExecutorShowsInItsHeader(t *testing.T) {
	t.Parallel()
	api, e := newAPI()
	for _, appName := range []string{"", "orders"} {
		r := httptest.NewRequest("POST", "/api/registry", strings.NewReader(`{"registryGroup":"EXECUTOR","registryKey":"orders","registryValue":"http://10.0.0.7:9999/"}`))
		r.Header.Set(wire.HeaderToken, token)
		if appName != "" {
			r.Header.Set(wire.HeaderAppName, appName)
		}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		if w.Body.String() != success {
			t.Fatal(w.Body.String())
		}
	}
	if len(e.dialects) != 2 || e.dialects[0] != wire.DialectRun || e.dialects[1] != wire.DialectTrigger {
		t.Errorf("dialects %v", e.dialects)
	}
}

// noJobs take anything and have nothing.
type noJobs struct{ Jobs }

func (noJobs) Create(_ context.Context, _ auth.Principal, in manage.JobInput) (int64, error) {
	if in.TimeoutSeconds < -1 || in.Retries < -1 {
		return 0, errors.New("a number wrapped around")
	}
	return 1, nil
}

func (noJobs) ByAppName(context.Context, string) ([]db.Group, error) { return []db.Group{{ID: 1}}, nil }

func (noJobs) Options(context.Context, string) (manage.GroupOptions, error) {
	return manage.GroupOptions{TokenManages: true}, nil
}

func FuzzJobBodies(f *testing.F) {
	f.Add(`{"jobGroup":1,"name":"n","executorTimeout":"3","executorFailRetryCount":99999999999,"glueType":null}`)
	f.Add(`{"name":5}`)
	f.Fuzz(func(t *testing.T, body string) {
		api := New(Config{Engine: &engine{}, Tokens: fixedTokens{}, Jobs: noJobs{}, Groups: noJobs{}, Logger: slog.New(slog.DiscardHandler)})
		w := post(api, "POST", "/api/addJob", ordersToken, body)
		var answer struct{ Code int }
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK || answer.Code != 200 && answer.Code != 500 || strings.Contains(w.Body.String(), "cannot do this now") {
			t.Fatalf("answered %d %s", w.Code, w.Body)
		}
	})
}

func TestJobMethodsAreLimitedByGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := New(Config{Engine: &engine{}, Tokens: fixedTokens{}, Jobs: noJobs{}, Groups: noJobs{}, Logger: slog.New(slog.DiscardHandler)})
		codes := make(map[int]int)
		var mu sync.Mutex
		var wg sync.WaitGroup
		began := time.Now()
		for range 2 * jobCalls {
			wg.Go(func() {
				var answer struct{ Code int }
				if err := json.Unmarshal(post(api, "POST", "/api/addJob", ordersToken, `{}`).Body.Bytes(), &answer); err != nil {
					t.Error(err)
				}
				mu.Lock()
				codes[answer.Code]++
				mu.Unlock()
			})
		}
		wg.Wait()
		// 100 are there to be had, and 3 more come within the second that a call waits.
		if want := map[int]int{200: 103, 502: 97}; !maps.Equal(codes, want) || time.Since(began) > jobCallWaits {
			t.Errorf("answers %v after %s, want %v", codes, time.Since(began), want)
		}
	})
}

// TestWhoSaysHowLongAResultWaitedIsToldWhichAdminThisIs, where there are several; executors of XXL-JOB are answered as ever.
func TestWhoSaysHowLongAResultWaitedIsToldWhichAdminThisIs(t *testing.T) {
	t.Parallel()
	api, e := newAPI()
	const ours, theirs = `[{"logId":1,"handleCode":200,"waitedMs":1}]`, `[{"logId":1,"handleCode":200}]`
	for _, tt := range []struct {
		name, body, want string
		sender           int64
	}{
		{"ours, of one of several", ours, `{"code":200,"msg":"Success","content":7,"data":7}`, 7},
		{"theirs", theirs, success, 7},
		{"nothing", "[]", success, 7},
		{"ours, of the only one", ours, success, 0},
	} {
		e.sender = tt.sender
		if got := post(api, "POST", "/api/callback", token, tt.body).Body.String(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	e.sender, e.err = 7, errors.New("the database is away")
	if got := post(api, "POST", "/api/callback", token, ours).Body.String(); !strings.Contains(got, `"code":500`) || !strings.Contains(got, `"data":null`) {
		t.Errorf("a failure is answered with %s", got)
	}
}

// movedJobs are changed by somebody else so many times before a change counts.
type movedJobs struct {
	Jobs
	moves int
}

func (*movedJobs) Get(context.Context, auth.Principal, int64) (db.Job, error) {
	return db.Job{ID: 3, JobGroup: 1}, nil
}

func (m *movedJobs) Update(context.Context, auth.Principal, int64, manage.JobInput) error {
	if m.moves--; m.moves >= 0 {
		return fmt.Errorf("update job: %w", problem.New(problem.Conflict, "problem.changed"))
	}
	return nil
}

// TestAChangeOfAJobIsTriedAgain where somebody else was faster: what a program did not name it has not read either.
func TestAChangeOfAJobIsTriedAgain(t *testing.T) {
	t.Parallel()
	for moves, taken := range map[int]bool{0: true, 2: true, 3: false} {
		api := New(Config{Jobs: &movedJobs{moves: moves}})
		if _, err := api.updateJob(t.Context(), auth.Principal{}, jobRequest{ID: number{3, true}}); (err == nil) != taken {
			t.Errorf("changed %d times meanwhile: %v", moves, err)
		}
	}
}
