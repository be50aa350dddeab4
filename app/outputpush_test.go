package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// mute lets an admin call an executor, but not ask for its output: so is one that is gone right after its runs.
type mute struct {
	ex    atomic.Pointer[executortest.Executor]
	mu    sync.Mutex
	asked map[int64]int // for the output of which runs, and how often
}

func (m *mute) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/log" {
		if body, err := io.ReadAll(r.Body); err == nil {
			if req, err := wire.DecodeLog(body); err == nil {
				m.mu.Lock()
				m.asked[req.LogID]++
				m.mu.Unlock()
			}
		}
		http.Error(w, "gone", http.StatusBadGateway)
		return
	}
	m.ex.Load().ServeHTTP(w, r)
}

// TestOutputIsThereThoughItsExecutorIsGoneAtOnce: an executor of ours pushes what its runs wrote, so that it is there whole without one
// call to it, in both modes. Who has another group's token can push nothing in its place, nor can the executor itself afterwards.
func TestOutputIsThereThoughItsExecutorIsGoneAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.OutputStore = filepath.Join(t.TempDir(), "outputs")
		a, c := apiCaller(t, o)
		admin := open(t, a).mustLogin()
		if got := admin.post("/executors", url.Values{"app_name": {"stock"}, "title": {"stock"}, "type": {"manual"}, "addresses": {"http://127.0.0.1:1/"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create group: %d %s", got.status, got.body)
		}
		if got := admin.post("/executors/2/token/rotate", url.Values{"grace": {"0"}}); got.status != http.StatusSeeOther {
			t.Fatalf("a token of its own: %d %s", got.status, got.body)
		}
		stranger := admin.get("/executors/2?token=show").document(t).Find("#token-value").Text()
		handlers := executortest.Handlers{"work": func(_ context.Context, r *executor.Run) error {
			for i := range 10 {
				r.Logf("line %d of %s", i+1, r.Param)
			}
			if strings.HasPrefix(r.Param, "bad") {
				return errors.New("it went wrong")
			}
			return nil
		}}
		front := &mute{asked: make(map[int64]int)}
		server := httptest.NewServer(front)
		t.Cleanup(server.Close)
		push := executortest.New(t, c.base, handlers, func(cfg *executor.Config) {
			cfg.AppName, cfg.Token, cfg.Address = "orders", o.AccessToken, server.URL+"/"
		})
		front.ex.Store(push)
		pull := executortest.New(t, c.base, handlers, func(cfg *executor.Config) {
			cfg.AppName, cfg.Token, cfg.Listener, cfg.Mode, cfg.Name = "orders", o.AccessToken, nil, executor.Pull, "behind"
		})
		executortest.Eventually(t, "both are known", func() error {
			var n int
			err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_registry WHERE registry_key = 'orders'").Scan(&n)
			if err == nil && n < 2 {
				err = fmt.Errorf("%d have registered", n)
			}
			return err
		})
		var ignored struct{}
		counted := int64(0)
		for mode, address := range map[string]string{"push": server.URL + "/", "pull": pull.Address()} {
			c.json(200, &ignored, "PATCH", "/groups/1", `{"addresses":["`+address+`"]}`)
			run := func(param, keep string) (at, id string) {
				t.Helper()
				var made struct{ ID int }
				c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"d","author":"a","handler":"work","parameter":"`+param+`"`+keep+`}`)
				var r struct{ Ended bool }
				executortest.Eventually(t, "the executor takes a run", func() error { // the group's new address is read a moment later
					got := c.do("POST", fmt.Sprintf("/jobs/%d/trigger", made.ID), `{"addresses":["`+address+`"]}`)
					if got.status != http.StatusCreated {
						return fmt.Errorf("trigger: %d %s", got.status, got.body)
					}
					at = strings.TrimPrefix(got.header.Get("Location"), "/api/v1")
					return nil
				})
				if c.json(200, &r, "GET", at+"?wait=60s", ""); !r.Ended {
					t.Fatalf("%s has not ended", at)
				}
				return at, at[strings.LastIndexByte(at, '/')+1:]
			}
			failed, failedID := run("bad "+mode, "")
			always, alwaysID := run("good "+mode, `,"keep_output":"ALL"`)
			_, goodID := run("good "+mode, "")
			_, neverID := run("bad "+mode, `,"keep_output":"NONE"`)
			kept := func(id string) (state, pushed int, err error) {
				err = a.pool.QueryRowContext(t.Context(), "SELECT state, pushed FROM punctual_output WHERE log_id = ?", id).Scan(&state, &pushed)
				return state, pushed, err
			}
			for _, id := range []string{failedID, alwaysID} {
				executortest.Eventually(t, "what was pushed is kept", func() error {
					state, pushed, err := kept(id)
					if err == nil && (state != 2 || pushed != 1) {
						err = fmt.Errorf("its state is %d, and it was pushed %d", state, pushed)
					}
					return err
				})
			}
			// Of the other run its alarm has asked: why it failed.
			front.mu.Lock()
			if n := front.asked[runOf(t, alwaysID)]; n != 0 {
				t.Errorf("the executor was asked for an output %d times", n)
			}
			front.mu.Unlock()
			counted += 2
			executortest.Eventually(t, "both are counted, which comes after they are kept", func() error {
				if st := a.engine.Archive().Status(); st.Pushed != counted || st.Copied != 0 {
					return fmt.Errorf("counted are %d outputs that were pushed, and %d that were copied", st.Pushed, st.Copied)
				}
				return nil
			})
			if mode == "pull" {
				stop, cancel := context.WithTimeout(t.Context(), executortest.Patience)
				if err := pull.Stop(stop); err != nil {
					t.Error(err)
				}
				cancel()
			}
			forge := func(token string) string {
				t.Helper()
				body, err := wire.EncodeOutputs([]wire.PushedOutput{{LogID: runOf(t, failedID), Head: "forged\n"}})
				if err != nil {
					t.Fatal(err)
				}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.base+"/api/output", bytes.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set(wire.HeaderToken, token)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			if got := forge(stranger); !strings.Contains(got, "access token is wrong") {
				t.Errorf("with another group's token: %s", got)
			}
			if got := forge("guessed"); !strings.Contains(got, "access token is wrong") {
				t.Errorf("with no token of ours: %s", got)
			}
			if got := forge(o.AccessToken); !strings.Contains(got, `"code":200`) {
				t.Errorf("again: %s", got)
			}
			for at, param := range map[string]string{failed: "bad " + mode, always: "good " + mode} {
				got := c.do("GET", at+"/output", "")
				if got.status != 200 || got.header.Get("Output-Source") != "copy" || strings.Count(got.body, " of "+param) != 10 || !strings.Contains(got.body, "handleCode") || strings.Contains(got.body, "forged") {
					t.Errorf("%s: %+v", mode, got)
				}
			}
			for _, id := range []string{goodID, neverID} {
				if state, pushed, err := kept(id); err == nil {
					t.Errorf("%s: of what nobody wanted is kept something: %d, %d", mode, state, pushed)
				}
			}
		}
	})
}

func runOf(t *testing.T, id string) int64 {
	t.Helper()
	run, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return run
}
