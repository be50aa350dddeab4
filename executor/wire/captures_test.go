//go:build go1.26

package wire

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// captures is traffic of upstream's own code, eleven releases of it, recorded against stub peers.
type captures struct {
	ExecutorToAdmin map[string][]capturedRequest `json:"executor_to_admin"`
	ExecutorAnswers map[string][]struct {
		Name    string          `json:"name"`
		Request capturedRequest `json:"request"`
		Body    string          `json:"body"`
	} `json:"executor_answers"`
	AdminToExecutor map[string][]capturedRequest `json:"admin_to_executor"`
}

type capturedRequest struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

func loadCaptures(t testing.TB) captures {
	t.Helper()
	file, err := os.Open("testdata/wire-captures.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var c captures
	if err := json.NewDecoder(unzipped).Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEveryRecordedExecutorRequestIsUnderstood(t *testing.T) {
	t.Parallel()
	for version, requests := range loadCaptures(t).ExecutorToAdmin {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var results int
			for _, r := range requests {
				switch {
				case strings.HasSuffix(r.Path, "/callback"):
					callbacks, err := DecodeCallbacks([]byte(r.Body))
					if err != nil {
						t.Errorf("callback %s: %v", r.Body, err)
					}
					results += len(callbacks)
					for _, c := range callbacks {
						if c.LogID == 0 || c.LogDateTime == 0 || c.LogDateTim != c.LogDateTime {
							t.Errorf("callback %+v lacks its run: %s", c, r.Body)
						}
						if c.HandleCode != CodeSuccess && c.HandleMsg == "" {
							t.Errorf("callback %+v lost its message: %s", c, r.Body)
						}
						if c.HandleCode != CodeSuccess && c.HandleCode != CodeFail && c.HandleCode != CodeTimeout {
							t.Errorf("callback %+v has a code nobody sent: %s", c, r.Body)
						}
					}
				default:
					reg, err := DecodeRegistry([]byte(r.Body))
					if err != nil {
						t.Errorf("%s %s: %v", r.Path, r.Body, err)
					}
					if reg.RegistryGroup != "EXECUTOR" || reg.RegistryKey != "orders" || !strings.HasPrefix(reg.RegistryValue, "http://") {
						t.Errorf("registry %+v from %s", reg, r.Body)
					}
				}
			}
			if results < 5 {
				t.Errorf("only %d results in the recording of %s", results, version)
			}
		})
	}
}

func TestEveryRecordedExecutorAnswerIsUnderstood(t *testing.T) {
	t.Parallel()
	for version, answers := range loadCaptures(t).ExecutorAnswers {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var body string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html;charset=UTF-8")
				_, _ = io.WriteString(w, body)
			}))
			defer server.Close()
			client := NewExecutorClient(nil)
			defer client.http.CloseIdleConnections()
			for _, a := range answers {
				body = a.Body
				to := Target{Address: server.URL}
				if a.Request.Path == "/log" {
					got, answer, err := client.Log(t.Context(), to, LogRequest{LogID: 1, FromLineNum: 1})
					if err != nil || !answer.OK() {
						t.Errorf("%s: %+v, %v", a.Name, answer, err)
					}
					if got.FromLineNum == 0 || (strings.Contains(got.LogContent, "xxl-job") && got.ToLineNum == 0) {
						t.Errorf("%s: log %+v of %s", a.Name, got, a.Body)
					}
					continue
				}
				answer, err := client.Beat(t.Context(), to)
				if err != nil {
					t.Errorf("%s: %v", a.Name, err)
				}
				if answer.Code != CodeSuccess && (answer.Code != CodeFail || answer.Msg == "") {
					t.Errorf("%s: %+v of %s", a.Name, answer, a.Body)
				}
			}
		})
	}
}

func TestOurRequestsCarryWhatRecordedAdminsSend(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen capturedRequest
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		seen, header = capturedRequest{Method: r.Method, Path: r.RequestURI, Body: string(body)}, r.Header
		mu.Unlock()
		_, _ = w.Write(AppendAnswer(nil, CodeSuccess, MsgSuccess, nil))
	}))
	defer server.Close()
	client := NewExecutorClient(nil)
	defer client.http.CloseIdleConnections()

	for version, requests := range loadCaptures(t).AdminToExecutor {
		for _, want := range requests {
			to := Target{Address: server.URL + "/", Token: "default_token", AppName: "orders"}
			if version == "3.5" {
				to.Dialect = DialectTrigger
			}
			var err error
			switch want.Path {
			case "/beat":
				_, err = client.Beat(t.Context(), to)
			case "/idleBeat":
				_, err = client.IdleBeat(t.Context(), to, IdleBeatRequest{JobID: 7})
			case "/run", "/trigger":
				var req RunRequest
				if req, err = DecodeRun([]byte(want.Body)); err == nil {
					_, err = client.Run(t.Context(), to, &req)
				}
			case "/kill":
				_, err = client.Kill(t.Context(), to, KillRequest{JobID: 7})
			case "/log":
				var req LogRequest
				if req, err = DecodeLog([]byte(want.Body)); err == nil {
					_, _, err = client.Log(t.Context(), to, req)
				}
			default:
				t.Fatalf("recording has an unknown path %s", want.Path)
			}
			if err != nil {
				t.Fatalf("%s %s: %v", version, want.Path, err)
			}
			mu.Lock()
			got, gotHeader := seen, header
			mu.Unlock()
			if got.Method != want.Method || got.Path != want.Path {
				t.Errorf("%s: sent %s %s, recorded %s %s", version, got.Method, got.Path, want.Method, want.Path)
			}
			for _, name := range []string{"Content-Type", HeaderToken, HeaderAppName} {
				if recorded := want.Headers[name]; recorded != "" && gotHeader.Get(name) != recorded {
					t.Errorf("%s %s: header %s = %q, recorded %q", version, want.Path, name, gotHeader.Get(name), recorded)
				}
			}
			if enc := gotHeader.Get("Accept-Encoding"); enc != "" {
				t.Errorf("%s: asks for compression: %s", version, enc)
			}
			gotMembers, wantMembers := members(t, got.Body), members(t, want.Body)
			for name := range gotMembers {
				if _, recorded := wantMembers[name]; !recorded {
					delete(gotMembers, name) // more members than upstream sends are allowed
				}
			}
			if !reflect.DeepEqual(gotMembers, wantMembers) {
				t.Errorf("%s %s: members differ:\nrecorded %v\nours     %v", version, want.Path, wantMembers, gotMembers)
			}
		}
	}
}

// members decodes an object; an empty body and a bare string have none.
func members(t *testing.T, body string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if strings.HasPrefix(body, "{") {
		if err := json.Unmarshal([]byte(body), &out); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
	}
	return out
}
