package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/punctual-job/punctual/app/client"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
)

// assistant is an assistant with the tools of an admin.
type assistant struct {
	t *testing.T
	*mcp.ClientSession
}

// withBearer shows a token with each request.
type withBearer struct{ token string }

func (b withBearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// overPipe starts punctual mcp as assistants do, with its standard input and output.
func overPipe(t *testing.T, base, token string) assistant {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- client.MCPCmd{Target: client.Target{URL: base, Token: token}}.Run(ctx, client.Streams{In: in, Out: out, Err: io.Discard})
	}()
	t.Cleanup(func() {
		cancel()
		_, _, _ = in.Close(), out.Close(), <-ended
	})
	return begin(t, &mcp.IOTransport{Reader: fromServer, Writer: toServer})
}

func begin(t *testing.T, over mcp.Transport) assistant {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), over, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return assistant{t, session}
}

// names are the tools that are offered.
func (a assistant) names() []string {
	a.t.Helper()
	got, err := a.ListTools(a.t.Context(), nil)
	if err != nil {
		a.t.Fatal(err)
	}
	var names []string
	for _, tool := range got.Tools {
		names = append(names, tool.Name)
		if h := tool.Annotations; h.ReadOnlyHint == (h.DestructiveHint != nil && *h.DestructiveHint) {
			a.t.Errorf("%s says of itself %+v", tool.Name, h)
		}
	}
	return names
}

// use calls a tool, and says what it returned and whether it refused.
func (a assistant) use(name string, args map[string]any) (text string, refused bool) {
	a.t.Helper()
	got, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	for _, c := range got.Content {
		text += c.(*mcp.TextContent).Text
	}
	return text, got.IsError
}

func (a assistant) says(want, name string, args map[string]any) string {
	a.t.Helper()
	text, refused := a.use(name, args)
	if refused || !strings.Contains(text, want) {
		a.t.Errorf("%s %v: refused %t, without %q: %.600s", name, args, refused, want, text)
	}
	return text
}

// TestAssistantsHaveTheToolsOfTheirToken asks through punctual mcp, over both transports, what an assistant would.
func TestAssistantsHaveTheToolsOfTheirToken(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		hold := make(chan struct{})
		ex := executortest.New(t, c.base, executortest.Handlers{
			"talk": func(_ context.Context, r *executor.Run) error {
				for i := range 1000 {
					r.Logf("line %d", i)
				}
				r.Logf("Disk FULL on /var")
				return fmt.Errorf("no space left")
			},
			"hang": func(ctx context.Context, _ *executor.Run) error {
				select {
				case <-ctx.Done():
				case <-hold:
				}
				return ctx.Err()
			},
		}, func(cfg *executor.Config) { cfg.AppName, cfg.Token = "orders", o.AccessToken })
		t.Cleanup(func() { close(hold) })
		var group struct{ Addresses []string }
		c.json(200, &group, "PATCH", "/groups/1", `{"addresses":["`+ex.URL+`"]}`)
		var talk, hang struct{ ID int }
		c.json(201, &talk, "POST", "/jobs", `{"group_id":1,"description":"talk a lot","author":"a","handler":"talk","schedule":"CRON","cron":"0 30 2 * * ?"}`)
		c.json(201, &hang, "POST", "/jobs", `{"group_id":1,"description":"hang","author":"a","handler":"hang"}`)
		things(t, a, 2, secret)
		root := open(t, a).mustLogin()
		form := url.Values{"name": {"jonas"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.view", "1.run", "1.schedule"}}
		if got := root.post("/users", form); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %s", got.status, got.body)
		}
		jonas := open(t, a)
		jonas.login("jonas", testPassword)
		reader := makeToken(t, jonas, url.Values{"name": {"reader"}, "scope": {"view"}, "days": {"7"}})
		doer := makeToken(t, jonas, url.Values{"name": {"doer"}, "scope": {"view", "run", "schedule"}, "days": {"7"}})

		does := overPipe(t, c.base, doer)
		if names := does.names(); len(names) != 14 {
			t.Errorf("tools: %v", names)
		}
		job := map[string]any{"job_id": talk.ID}
		does.says("talk a lot", "find_jobs", map[string]any{"text": "talk"})
		if all := does.says("hang", "find_jobs", nil); strings.Contains(all, secret) {
			t.Errorf("jobs of a group that is not theirs: %s", all)
		}
		does.says("0 30 2 * * ?", "get_job", job)
		does.says(`"state":"stopped"`, "why_not_run", job)
		does.says(`"running"`, "start_job", job)
		tonight := map[string]any{"from": time.Now().Format(time.RFC3339), "until": time.Now().Add(25 * time.Hour).Format(time.RFC3339)}
		does.says("talk a lot", "due_between", tonight)
		if text, refused := does.use("due_between", map[string]any{"from": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}); !refused {
			t.Errorf("a time that ends before it begins: %s", text)
		}
		does.says(`"stopped"`, "stop_job", job)
		made := does.says(`"runs"`, "trigger_job", map[string]any{"job_id": talk.ID, "parameter": "x=1"})
		var id int64
		if _, err := fmt.Sscanf(made, `{"runs":[%d`, &id); err != nil {
			t.Fatalf("triggered: %s", made)
		}
		c.do("GET", fmt.Sprintf("/runs/%d?wait=30s", id), "")
		run := map[string]any{"run_id": id}
		does.says("no space left", "explain_run", run)
		does.says("talk", "find_runs", map[string]any{"result": "failed"})
		first := does.says("line 0", "read_output", run)
		if n := strings.Count(first, `"line":`); n != 300 || !strings.Contains(first, `"complete":false`) {
			t.Errorf("%d lines at once: %.200s", n, first)
		}
		if found := does.says("Disk FULL", "read_output", map[string]any{"run_id": id, "search": "disk full"}); strings.Count(found, `"line":`) != 1 || !strings.Contains(found, `"complete":true`) {
			t.Errorf("searched: %s", found)
		}
		does.says(`"jobs_failing":1`, "statistics", nil)
		does.says("ready", "health", nil)
		var hanging int64
		if _, err := fmt.Sscanf(does.says(`"runs"`, "trigger_job", map[string]any{"job_id": hang.ID}), `{"runs":[%d`, &hanging); err != nil {
			t.Fatal(err)
		}
		executortest.Eventually(t, "run under way", func() error {
			if got := c.do("GET", fmt.Sprintf("/runs/%d", hanging), ""); !strings.Contains(got.body, `"state":"sent"`) {
				return errors.New(got.body)
			}
			return nil
		})
		does.says("", "kill_run", map[string]any{"run_id": hanging})
		does.says(`"runs"`, "rerun", run)
		for name, args := range map[string]map[string]any{"get_job": {"job_id": 3}, "trigger_job": {"job_id": 3}, "find_jobs": {"state": "sideways"}} {
			if text, refused := does.use(name, args); !refused || strings.Contains(text, secret) {
				t.Errorf("%s %v: %s", name, args, text)
			}
		}

		// Over HTTP each request brings its own token, and one that only reads has no tools that do more.
		base := serveAssistants(t, c.base)
		reads := begin(t, &mcp.StreamableClientTransport{Endpoint: base, HTTPClient: &http.Client{Transport: withBearer{reader}}, DisableStandaloneSSE: true})
		if names := reads.names(); len(names) != 9 || slices.Contains(names, "trigger_job") {
			t.Errorf("tools of a token that only reads: %v", names)
		}
		reads.says("talk a lot", "find_jobs", nil)
		if text, refused := reads.use("trigger_job", map[string]any{"job_id": talk.ID}); !refused {
			t.Errorf("a tool that is not offered: %s", text)
		}
		post := func(header ...string) int {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			if host := r.Header.Get("Host"); host != "" {
				r.Host = host
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			return resp.StatusCode
		}
		for _, tt := range []struct {
			name   string
			header []string
			want   int
		}{
			{"a token", []string{"Authorization", "Bearer " + reader}, 200},
			{"none", nil, 401},
			{"one that is none", []string{"Authorization", "Bearer pnc_nothing"}, 401},
			{"from a page of another site", []string{"Authorization", "Bearer " + reader, "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
			{"by a name that leads here", []string{"Authorization", "Bearer " + reader, "Host", "evil.example"}, 403},
		} {
			if got := post(tt.header...); got != tt.want {
				t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
			}
		}
		if err := (client.MCPCmd{Target: client.Target{URL: c.base, Token: "pnc_nothing"}}).Run(t.Context(), client.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}); err == nil {
			t.Error("a token that is none is served")
		}
	})
}

// serveAssistants has punctual mcp listen, and returns where.
func serveAssistants(t *testing.T, base string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	said, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- client.MCPCmd{Target: client.Target{URL: base}, Listen: "127.0.0.1:0"}.Run(ctx, client.Streams{Out: io.Discard, Err: out})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line[strings.LastIndex(line, "http"):])
}

var toolRow = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\|")

// TestTheManualOfAssistants holds docs/assistants.md against the program: the tools with their scopes, and the commands.
func TestTheManualOfAssistants(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	root := open(t, a).mustLogin()
	base := a.Welcome().URL
	offered := make(map[string][]string) // by scope
	for _, scope := range []string{"view", "run", "schedule"} {
		token := makeToken(t, root, url.Values{"name": {scope}, "scope": {scope}, "days": {"7"}})
		offered[scope] = overPipe(t, base, token).names()
	}
	for _, page := range []string{"../docs/assistants.md", "../docs/zh-CN/assistants.md"} {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		told := make(map[string][]string)
		for _, row := range toolRow.FindAllStringSubmatch(string(raw), -1) {
			told[row[2]] = append(told[row[2]], row[1])
		}
		for scope, names := range offered {
			want := slices.Clone(told["view"]) // which each of the others includes
			if scope != "view" {
				want = append(want, told[scope]...)
			}
			slices.Sort(want)
			if slices.Sort(names); !slices.Equal(names, want) {
				t.Errorf("%s tells of %v for %s, which has %v", page, want, scope, names)
			}
		}
		_, block, _ := strings.Cut(string(raw), "```json\n")
		block, _, _ = strings.Cut(block, "```")
		var config struct {
			Servers map[string]struct {
				Command string
				Args    []string
				Env     map[string]string
			} `json:"mcpServers"`
		}
		if err := json.Unmarshal([]byte(block), &config); err != nil {
			t.Fatal(err)
		}
		commands := [][]string{append([]string{config.Servers["punctual"].Command}, config.Servers["punctual"].Args...)}
		for line := range strings.Lines(string(raw)) {
			if strings.HasPrefix(line, "punctual ") {
				commands = append(commands, words(line))
			}
		}
		for _, args := range commands {
			var c struct {
				MCP client.MCPCmd `cmd:"" name:"mcp"`
			}
			parser, err := kong.New(&c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.Parse(args[1:]); err != nil || args[0] != "punctual" {
				t.Errorf("%s: %v: %v", page, args, err)
			}
		}
		if len(commands) != 2 || config.Servers["punctual"].Env["PUNCTUAL_TOKEN"] == "" {
			t.Errorf("%s: commands %v, %+v", page, commands, config)
		}
	}
}
