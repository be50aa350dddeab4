package app

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
)

// TestTheClientsOfTheManual makes clients of the served document as the page about API v1 says, with generators that make test/api gets, and
// runs its examples with them: each runs a job by hand and waits for its end.
func TestTheClientsOfTheManual(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range []struct {
		language, file, tools string
		make                  func(tools, document string) [][]string
		run                   func(tools string) []string
	}{
		{"typescript", "example.mts", "TEST_NODE_TOOLS", func(tools, document string) [][]string {
			return [][]string{
				{"ln", "-s", tools, "node_modules"},
				{filepath.Join(tools, ".bin", "openapi-typescript"), document, "-o", "punctual.d.ts"},
				{filepath.Join(tools, ".bin", "tsc"), "--strict", "--types", "node", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler", "example.mts"},
			}
		}, func(string) []string { return []string{"node", "example.mjs"} }},
		{"python", "example.py", "TEST_PYTHON_TOOLS", func(tools, document string) [][]string {
			return [][]string{{filepath.Join(tools, "openapi-python-client"), "generate", "--path", document, "--meta", "none", "--output-path", "punctual_client"}}
		}, func(tools string) []string { return []string{filepath.Join(tools, "python3"), "example.py"} }},
	} {
		t.Run(client.language, func(t *testing.T) {
			t.Parallel()
			tools := os.Getenv(client.tools)
			if tools == "" {
				t.Skipf("%s does not say where the generator is: make test/api gets it", client.tools)
			}
			o := testOptions(t)
			_, c := apiCaller(t, o)
			ran := make(chan string, 1)
			ex := executortest.New(t, c.base, executortest.Handlers{"close": func(_ context.Context, r *executor.Run) error {
				ran <- r.Param
				return nil
			}}, func(cfg *executor.Config) { cfg.AppName, cfg.Token = "orders", o.AccessToken })
			var made struct{ ID int }
			c.json(200, &made, "PATCH", "/groups/1", `{"addresses":["`+ex.URL+`"]}`)
			if c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"close the day","author":"ann","handler":"close"}`); made.ID != 1 {
				t.Fatalf("the first job is %d", made.ID)
			}

			dir := t.TempDir()
			write := func(name, text string) string {
				t.Helper()
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			call := func(args []string, env ...string) (string, error) {
				cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
				said, err := cmd.CombinedOutput()
				return string(said), err
			}
			_, code, found := strings.Cut(string(page), "```"+client.language+"\n")
			if code, _, _ = strings.Cut(code, "```"); !found {
				t.Fatal("the page has no example")
			}
			write(client.file, code)
			for _, args := range client.make(tools, write("openapi.json", c.do("GET", "/openapi.json", "").body)) {
				if said, err := call(args); err != nil {
					t.Fatalf("%s: %v\n%s", args, err, said)
				}
			}
			if said, err := call(client.run(tools), "ADMIN="+c.base, "TOKEN="+c.token); err != nil || !strings.HasSuffix(said, " success\n") {
				t.Fatalf("%v: %s", err, said)
			}
			if parameter := <-ran; parameter != "2026-03-02" {
				t.Errorf("the parameter is %q", parameter)
			}
			if said, err := call(client.run(tools), "ADMIN="+c.base, "TOKEN=nonsense"); err == nil || !strings.Contains(said, "token.form: ") {
				t.Errorf("with a token that is none: %v %s", err, said)
			}
		})
	}
}
