package app

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/api"
	"github.com/punctual-job/punctual/app/auth"
)

// TestTheAPIIsAsItsDocumentSays has Schemathesis (make test/api) ask for everything that the served document describes, and for what it
// rules out, as an administrator and with a token of each scope. What the document leaves open for later versions is closed for it (closed). It looks at every answer: status, headers and body are as described,
// nothing wrong is taken, nothing right is refused, nothing fails within.
func TestTheAPIIsAsItsDocumentSays(t *testing.T) {
	t.Parallel()
	tool := os.Getenv("TEST_SCHEMATHESIS")
	if tool == "" {
		t.Skip("TEST_SCHEMATHESIS is not the program: make test/api gets it")
	}
	o := testOptions(t)
	o.apiLimit = api.Limit{Burst: 1 << 20, Every: time.Microsecond}
	a := start(t, o)
	root := open(t, a).mustLogin()
	for _, name := range []string{"orders", "stock"} {
		if got := root.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"manual"}, "addresses": {"http://127.0.0.1:1/"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create group: %d %s", got.status, got.body)
		}
	}
	for range 3 {
		apiThings(t, a, 1, "mine")
		apiThings(t, a, 2, "other")
	}
	form := url.Values{"name": {"every"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}
	for _, right := range auth.RightNames(auth.AllRights) {
		form.Add("right", "1."+right)
	}
	if got := root.post("/users", form); got.status != http.StatusSeeOther {
		t.Fatalf("create user: %d %s", got.status, got.body)
	}
	every := open(t, a)
	every.login("every", testPassword)

	document := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(document, closed(t, root.get("/api/v1/openapi.json").body), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(t *testing.T, token string, args ...string) {
		t.Helper()
		if report := os.Getenv("TEST_SCHEMATHESIS_REPORT"); report != "" {
			args = append(args, "--report", "ndjson", "--report-dir", filepath.Join(report, filepath.Base(t.Name())))
		}
		config, err := filepath.Abs("../tools/contract/schemathesis.toml")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), tool, append([]string{"--config-file", config, "run", document, "--url", root.base + "/api/v1", "--header", "Authorization: Bearer " + token}, args...)...)
		cmd.Dir = t.TempDir() // where it keeps what it found
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		} else if i := bytes.Index(out, []byte("API Operations:")); i >= 0 {
			t.Logf("%s", out[i:]) // how much it asked, for -v
		}
		caller := &caller{t: t, base: root.base, token: token}
		if got := caller.do("GET", "/tokens", ""); got.status != http.StatusOK {
			t.Errorf("the token is refused now, so that nobody knows what was asked with it: %d %s", got.status, got.body)
		}
	}
	// The token that asks may be revoked by no request of its own: that is what TestATokenRevokesItself is for.
	// Streams do not end.
	usual := []string{"--exclude-operation-id", "revokeToken", "--exclude-path-regex", "/live$"}
	for _, right := range auth.RightNames(auth.AllRights) {
		if testing.Short() {
			break
		}
		t.Run(right, func(t *testing.T) {
			ask(t, makeToken(t, every, url.Values{"name": {right}, "scope": {right}, "days": {"7"}}), append(usual, "--max-examples", "5", "--phases", "fuzzing")...)
		})
	}
	for name, form := range map[string]url.Values{"reads everything": {"scope": {"view"}}, "one group": {"scope": auth.RightNames(auth.AllRights), "groups": {"1"}}} {
		if testing.Short() {
			break
		}
		form.Set("name", name)
		form.Set("days", "7")
		t.Run(name, func(t *testing.T) {
			ask(t, makeToken(t, root, form), append(usual, "--max-examples", "10")...)
		})
	}
	// Last: it may delete the user whose tokens those are.
	t.Run("admin", func(t *testing.T) {
		args := append(usual, "--max-examples", "10")
		if testing.Short() {
			args = append(usual, "--max-examples", "2", "--phases", "examples,coverage,fuzzing")
		}
		ask(t, makeToken(t, root, url.Values{"name": {"all"}, "scope": {"admin"}, "days": {"7"}}), args...)
	})
}

// closed is a document that takes nothing in answers but what this version says of them, and knows that null is no body, which generators
// need not.
func closed(t *testing.T, document string) []byte {
	t.Helper()
	var doc any
	if err := json.Unmarshal([]byte(document), &doc); err != nil {
		t.Fatal(err)
	}
	n := 0
	var each func(v any)
	each = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if v["type"] == "object" && v["properties"] != nil {
				v["additionalProperties"] = false
			}
			if values := v["x-extensible-enum"]; values != nil {
				v["enum"] = values
				n++
			}
			if body, _ := v["requestBody"].(map[string]any); body != nil && body["required"] != true {
				for _, media := range body["content"].(map[string]any) {
					media := media.(map[string]any)
					media["schema"] = map[string]any{"anyOf": []any{media["schema"], map[string]any{"type": "null"}}}
				}
			}
			for _, part := range v {
				each(part)
			}
		case []any:
			for _, part := range v {
				each(part)
			}
		}
	}
	if each(doc); n < 20 {
		t.Fatalf("only %d lists of values are closed", n)
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
