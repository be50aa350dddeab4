package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"sync"
	"testing"
)

// told is a program that is told of the sending and the end of every run, with what it was told of each, in the order in which it came.
type told struct {
	mu    sync.Mutex
	runs  map[int64][]string // types of events
	twice int                // events that came again, with the id they had
}

// newTold makes the webhook, in a database that no load is in yet, so that every run is told.
func newTold(t *testing.T, d *database) *told {
	t.Helper()
	l := &told{runs: make(map[int64][]string)}
	seen := make(map[string]bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e struct {
			ID, Type string
			Data     struct{ Run struct{ ID int64 } }
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // whoever sent it was killed meanwhile
		}
		if err := json.Unmarshal(body, &e); err != nil || e.ID == "" {
			t.Errorf("what came cannot be read: %v", err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if seen[e.ID] {
			l.twice++
		}
		seen[e.ID] = true
		l.runs[e.Data.Run.ID] = append(l.runs[e.Data.Run.ID], e.Type)
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(server.Close)
	a := startAdmin(t, d.settings())
	token := a.login(t, testPassword).token(t, "admin")
	body, err := json.Marshal(map[string]any{"name": "told", "url": server.URL, "types": []string{"punctual.run.sent", "punctual.run.finished"}})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.url+"/api/v1/webhooks", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("make the webhook: %d", resp.StatusCode)
	}
	a.terminate(t)
	return l
}

// token makes an API token with some scopes for this session's user.
func (s *session) token(t testing.TB, scopes ...string) string {
	t.Helper()
	code, body, _ := s.post(t, "/tokens", url.Values{"name": {"test"}, "scope": scopes, "days": {"1"}})
	token := regexp.MustCompile(`pnc_[0-9A-Za-z]+`).FindString(body)
	if code != http.StatusOK || token == "" {
		t.Fatalf("make a token: %d", code)
	}
	return token
}

// account waits until nothing waits to be told, and holds what was told against the log: the end of every run, and never its sending
// after its end.
func (l *told) account(t *testing.T, d *database) {
	t.Helper()
	eventually(t, "that all is told", func() error {
		if n := d.count(t, "SELECT COUNT(*) FROM punctual_webhook_delivery WHERE state = 0"); n > 0 {
			return fmt.Errorf("%d events wait", n)
		}
		return nil
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	runs := d.runs(t)
	both := 0
	for _, r := range runs {
		sent, ended := 0, 0
		for _, kind := range l.runs[r.id] {
			switch {
			case kind == "punctual.run.finished":
				ended++
			case ended > 0:
				t.Errorf("run %d: its sending was told after its end: %v", r.id, l.runs[r.id])
			default:
				sent++
			}
		}
		if ended == 0 {
			t.Errorf("run %d has ended and nobody was told: %+v", r.id, r)
		}
		if sent > 0 {
			both++
		}
		delete(l.runs, r.id)
	}
	for id := range l.runs {
		t.Errorf("told of run %d, of which there is no row", id)
	}
	t.Logf("%d runs were told, %d of them with their sending; %d events came again", len(runs), both, l.twice)
	if both == 0 {
		t.Error("no sending was told: the order says nothing")
	}
}
