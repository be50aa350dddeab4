package main

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// TestOneThatAsksGoesByTheProxyOfItsEnvironment, to an admin whose name only the proxy knows, with the proxy's password, and speaks HTTP/2
// through it.
func TestOneThatAsksGoesByTheProxyOfItsEnvironment(t *testing.T) {
	t.Parallel()
	path, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan wire.Callback, 10)
	var handed sync.Once
	admin := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Proto != "HTTP/2.0" || r.Host != "admin.example.com" {
			t.Errorf("%s is asked over %s for %s", r.Host, r.Proto, r.URL.Path)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		value := []byte("null")
		switch r.URL.Path {
		case "/api/pull":
			response := wire.PullResponse{}
			handed.Do(func() {
				response.Calls = []wire.PulledCall{{ID: "a.1", Path: "/run", Left: 60_000, Body: []byte(`{"jobId":1,"logId":7,"executorHandler":"shardingJobHandler","glueType":"BEAN"}`)}}
			})
			if len(response.Calls) == 0 {
				select { // nothing to do
				case <-r.Context().Done():
				case <-t.Context().Done():
				}
			}
			value, _ = json.Marshal(response)
		case "/api/callback":
			callbacks, err := wire.DecodeCallbacks(body)
			if err != nil {
				t.Error(err)
			}
			for _, cb := range callbacks {
				results <- cb
			}
		}
		_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeSuccess, wire.MsgSuccess, value))
	}))
	admin.EnableHTTP2 = true
	admin.StartTLS()
	t.Cleanup(func() {
		admin.CloseClientConnections()
		admin.Close()
	})
	password := "Basic " + base64.StdEncoding.EncodeToString([]byte("branch:hush"))
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "admin.example.com:443" || r.Header.Get("Proxy-Authorization") != password {
			t.Errorf("the proxy is asked %s %s by %q", r.Method, r.Host, r.Header.Get("Proxy-Authorization"))
		}
		there, err := net.Dial("tcp", admin.Listener.Addr().String())
		if err != nil {
			return
		}
		defer there.Close()
		w.WriteHeader(http.StatusOK)
		here, said, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer here.Close()
		go func() {
			_, _ = io.Copy(there, said)
			_ = there.Close()
		}()
		_, _ = io.Copy(here, there)
	}))
	t.Cleanup(proxy.Close)
	cmd := exec.Command(path, "--pull", "--name", "branch-17", "--data-dir", t.TempDir(), "--admin", "https://admin.example.com", "--admin-insecure")
	cmd.Env = append(os.Environ(), "PUNCTUAL_EXECUTOR_ACCESS_TOKEN="+executortest.Token, "HTTPS_PROXY="+strings.Replace(proxy.URL, "://", "://branch:hush@", 1), "NO_PROXY=")
	output := new(executortest.Output)
	cmd.Stderr = output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	select {
	case cb := <-results:
		if cb.LogID != 7 || cb.HandleCode != wire.CodeSuccess {
			t.Errorf("the result is %+v", cb)
		}
	case err := <-ended:
		ended <- err
		t.Fatalf("it ended: %v\n%s", err, output)
	}
}
