package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/yuin/goldmark/ast"
)

// examples are the code blocks of a page in a language, as they stand.
func examples(t *testing.T, page, language string) []string {
	t.Helper()
	f := readFile(t, page)
	var all []string
	for n := f.root.FirstChild(); n != nil; n = n.NextSibling() {
		if b, ok := n.(*ast.FencedCodeBlock); ok && string(b.Language(f.src)) == language {
			all = append(all, string(b.Lines().Value(f.src)))
		}
	}
	return all
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// tool finds a program that checks examples. A machine without it checks the others.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// TestExamplesAreRead by the programs that run them. Chinese pages have the same examples (TestBothLanguagesSayTheSame).
func TestExamplesAreRead(t *testing.T) {
	t.Parallel()
	className := regexp.MustCompile(`public class (\w+)`)
	for language, kind := range map[string]struct {
		tool string
		args func(t *testing.T, code string) []string
		want int // how many there are at least
	}{
		"go": {"go", func(t *testing.T, code string) []string {
			return []string{"vet", write(t, t.TempDir(), "main.go", code)}
		}, 1},
		"javascript": {"node", func(t *testing.T, code string) []string {
			return []string{"--check", write(t, t.TempDir(), "example.js", code)}
		}, 2},
		"python": {"python3", func(t *testing.T, code string) []string {
			return []string{"-c", "import ast,sys; ast.parse(open(sys.argv[1]).read())", write(t, t.TempDir(), "example.py", code)}
		}, 3},
		"php": {"php", func(t *testing.T, code string) []string {
			return []string{"-l", write(t, t.TempDir(), "example.php", code)}
		}, 2},
		"bash": {"bash", func(t *testing.T, code string) []string {
			return []string{"-n", write(t, t.TempDir(), "example.sh", code)}
		}, 3},
		"java": {"javac", func(t *testing.T, code string) []string { // against stand-ins that have what the examples call
			name := className.FindStringSubmatch(code)
			if name == nil {
				t.Fatalf("no class: %s", code)
			}
			dir := t.TempDir()
			return []string{"-Xlint:all", "-Xlint:-processing", "-d", filepath.Join(dir, "out"), "-sourcepath", filepath.Join("testdata", "java"), write(t, dir, name[1]+".java", code)}
		}, 2},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			program := tool(t, kind.tool)
			found := 0
			for name := range pairs(t) {
				for _, code := range examples(t, name, language) {
					if language == "go" && !strings.Contains(code, "package main") {
						continue // a part of executor/example_test.go
					}
					found++
					var out bytes.Buffer
					cmd := exec.CommandContext(t.Context(), program, kind.args(t, code)...)
					cmd.Stdout, cmd.Stderr = &out, &out
					if err := cmd.Run(); err != nil {
						t.Errorf("%s: %v\n%s", name, err, out.String())
					}
				}
			}
			if found < kind.want {
				t.Errorf("%d examples", found)
			}
		})
	}
}

// TestJSONOfThePagesIsJSON for blocks that begin with a brace and hold one value.
func TestJSONOfThePagesIsJSON(t *testing.T) {
	t.Parallel()
	for _, code := range examples(t, "docs/executor-php.md", "") {
		if strings.HasPrefix(code, "{") && !json.Valid([]byte(code)) {
			t.Errorf("not JSON: %s", code)
		}
	}
}

const pageToken = "token-of-the-pages"

// admin takes what executors report, as an admin does.
type admin struct {
	*httptest.Server
	mu      sync.Mutex
	calls   chan string
	results map[int64]result
}

type result struct {
	LogID int64  `json:"logId"`
	Code  int    `json:"handleCode"`
	Text  string `json:"handleMsg"`
}

func startAdmin(t *testing.T) *admin {
	t.Helper()
	a := &admin{calls: make(chan string, 100), results: make(map[int64]result)}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("XXL-JOB-ACCESS-TOKEN") != pageToken {
			t.Errorf("%s came without the token", r.URL.Path)
		}
		if r.URL.Path == "/api/callback" {
			var all []result
			if err := json.Unmarshal(body, &all); err != nil {
				t.Errorf("a report: %v: %s", err, body)
			}
			a.mu.Lock()
			for _, x := range all {
				a.results[x.LogID] = x
			}
			a.mu.Unlock()
		}
		a.calls <- r.URL.Path + " " + string(body)
		_, _ = io.WriteString(w, `{"code":200,"msg":"Success","content":null,"data":null}`)
	}))
	t.Cleanup(a.Close)
	return a
}

// wait returns the first call that holds a text.
func (a *admin) wait(t *testing.T, text string) string {
	t.Helper()
	for {
		select {
		case call := <-a.calls:
			if strings.Contains(call, text) {
				return call
			}
		case <-time.After(executortest.Patience):
			t.Fatalf("no call with %s", text)
		}
	}
}

// TestTheExecutorsOfThePagesWork starts the programs of the pages for Python and Node.js, sends them runs and takes their results.
func TestTheExecutorsOfThePagesWork(t *testing.T) {
	t.Parallel()
	for _, language := range []struct{ page, name, tool, file, pause, longer string }{
		{"docs/executor-python.md", "python", "python3", "executor.py", "time.sleep(0.1)", "time.sleep(0.1)\n        while run.id in (11, 21): time.sleep(0.01) or run.check()"},
		{"docs/executor-node.md", "javascript", "node", "executor.js", "sleep(100, signal)", "sleep([11, 21].includes(run.id) ? 1e6 : 100, signal)"},
	} {
		t.Run(language.name, func(t *testing.T) {
			t.Parallel()
			program := tool(t, language.tool)
			all := examples(t, language.page, language.name)
			source := all[len(all)-1]
			if strings.Count(source, language.pause) != 1 {
				t.Fatalf("no %s on %s", language.pause, language.page)
			}
			source = strings.Replace(source, language.pause, language.longer, 1) // runs that are ended go on until they are
			a := startAdmin(t)
			port := executortest.FreePort(t)
			address := "http://127.0.0.1:" + port + "/"
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			cmd := exec.CommandContext(ctx, program, write(t, t.TempDir(), language.file, source))
			cmd.Env = append(os.Environ(), "ADMIN="+a.URL, "TOKEN="+pageToken, "APP_NAME=pages", "PORT="+port, "ADDRESS="+address)
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { cancel(); _ = cmd.Wait() }()
			if call := a.wait(t, "/api/registry "); !strings.Contains(call, address) {
				t.Errorf("registered: %s", call)
			}
			ask := func(path, body string) (code int, text string, content map[string]any) {
				t.Helper()
				return askWith(t, address+path, pageToken, body)
			}
			if code, _, _ := ask("beat", ""); code != 200 {
				t.Errorf("beat: %d", code)
			}
			if code, _, _ := askWith(t, address+"beat", "wrong", ""); code != 500 {
				t.Errorf("with a wrong token: %d", code)
			}
			if code, text, _ := ask("run", `{"jobId":1,"logId":1,"executorHandler":"nobody"}`); code != 500 || !strings.Contains(text, "nobody") {
				t.Errorf("an unknown handler: %d %s", code, text)
			}
			run := func(job, log int64, more string) (int, string) {
				t.Helper()
				code, text, _ := ask("run", fmt.Sprintf(`{"jobId":%d,"logId":%d,"executorHandler":"closeDay","executorParams":"north","logDateTime":1%s}`, job, log, more))
				return code, text
			}
			if code, text := run(1, 11, ""); code != 200 {
				t.Fatalf("run: %d %s", code, text)
			}
			if code, _ := run(1, 11, ""); code != 500 {
				t.Errorf("the same run twice: %d", code)
			}
			if code, _, _ := ask("idleBeat", `{"jobId":1}`); code != 500 {
				t.Errorf("a busy job: %d", code)
			}
			if code, _ := run(1, 12, `,"executorBlockStrategy":"DISCARD_LATER"`); code != 500 {
				t.Errorf("discard later: %d", code)
			}
			if code, _ := run(1, 13, `,"executorBlockStrategy":"COVER_EARLY"`); code != 200 {
				t.Errorf("cover early: %d", code)
			}
			a.wait(t, "11,") // the number of the run, in the spacing of either
			a.wait(t, "13,")
			a.mu.Lock()
			first, third := a.results[11], a.results[13]
			a.mu.Unlock()
			if first.Code != 500 || third.Code != 200 || third.Text != "closed" {
				t.Errorf("results: %+v, %+v", first, third)
			}
			_, _, log := ask("log", `{"logId":13,"logDateTim":1,"fromLineNum":1}`)
			if text, _ := log["logContent"].(string); !strings.Contains(text, "closing north, step 3 of 3") || log["isEnd"] != true || log["toLineNum"] != 4.0 {
				t.Errorf("output: %v", log)
			}
			if code, _ := run(2, 21, ""); code != 200 {
				t.Errorf("another job: %d", code)
			}
			if code, _, _ := ask("kill", `{"jobId":2}`); code != 200 {
				t.Errorf("kill: %d", code)
			}
			if call := a.wait(t, "21,"); !strings.Contains(call, "killed") {
				t.Errorf("a killed run: %s", call)
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			a.wait(t, "/api/registryRemove ")
		})
	}
}

// TestResultsThatWaitAreReportedTogether by the program for Python: one after the other, those of many short runs would come so late that an admin
// finds an idle executor first, and takes the runs for lost.
func TestResultsThatWaitAreReportedTogether(t *testing.T) {
	t.Parallel()
	program := tool(t, "python3")
	all := examples(t, "docs/executor-python.md", "python")
	const runs = 6
	release := make(chan struct{})
	reported := make(chan string, 100)
	a := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/api/callback" {
			<-release // an admin that is slow
			reported <- string(body)
		}
		_, _ = io.WriteString(w, `{"code":200,"msg":null,"content":null,"data":null}`)
	}))
	t.Cleanup(a.Close)
	port := executortest.FreePort(t)
	address := "http://127.0.0.1:" + port + "/"
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, write(t, t.TempDir(), "executor.py", all[len(all)-1]))
	cmd.Env = append(os.Environ(), "ADMIN="+a.URL, "TOKEN="+pageToken, "APP_NAME=pages", "PORT="+port, "ADDRESS="+address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	executortest.Eventually(t, "executor", func() error {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	for id := range runs {
		if code, text, _ := askWith(t, address+"run", pageToken, fmt.Sprintf(`{"jobId":%d,"logId":%d,"executorHandler":"closeDay","logDateTime":1}`, id, id)); code != 200 {
			t.Fatalf("run %d: %d %s", id, code, text)
		}
	}
	executortest.Eventually(t, "end of all runs", func() error {
		for id := range runs {
			if code, _, _ := askWith(t, address+"idleBeat", pageToken, fmt.Sprintf(`{"jobId":%d}`, id)); code != 200 {
				return fmt.Errorf("run %d goes on", id)
			}
		}
		return nil
	})
	close(release)
	seen := make(map[int64]bool)
	batches := make(map[string]bool) // one whose answer was too late comes again
	for len(seen) < runs {
		select {
		case body := <-reported:
			var some []result
			if err := json.Unmarshal([]byte(body), &some); err != nil {
				t.Fatal(err)
			}
			for _, r := range some {
				seen[r.LogID] = true
			}
			batches[body] = true
		case <-time.After(executortest.Patience):
			t.Fatalf("reported are %v", seen)
		}
	}
	if len(batches) > 2 { // the first, and those that waited meanwhile
		t.Errorf("%d reports: %v", len(batches), batches)
	}
}

// askWith calls an executor as an admin does.
func askWith(t *testing.T, address, token, body string) (code int, text string, content map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("XXL-JOB-ACCESS-TOKEN", token)
	r.Header.Set("Content-Type", "application/json;charset=UTF-8")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var said struct {
		Code int            `json:"code"`
		Msg  string         `json:"msg"`
		Data map[string]any `json:"data"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		t.Fatal(err)
	}
	return said.Code, said.Msg, said.Data
}
