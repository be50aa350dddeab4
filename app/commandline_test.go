package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/punctual-job/punctual/app/client"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
)

// punctual runs a command as the program does, and returns what it printed and said.
func punctual(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := punctualTo(t, &out, args...)
	return out.String(), err
}

// punctualTo is punctual for somebody who reads along.
func punctualTo(t *testing.T, out io.Writer, args ...string) error {
	t.Helper()
	return punctualReading(t, os.Getenv("TOKEN_TO_TYPE")+"\n", out, args...)
}

// punctualReading is punctualTo with something on standard input.
func punctualReading(t *testing.T, in string, out io.Writer, args ...string) error {
	t.Helper()
	var c struct {
		Login     client.LoginCmd     `cmd:""`
		Context   client.ContextCmd   `cmd:""`
		Jobs      client.JobsCmd      `cmd:""`
		Apply     client.ApplyCmd     `cmd:""`
		Diff      client.DiffCmd      `cmd:""`
		Run       client.RunCmd       `cmd:""`
		Runs      client.RunsCmd      `cmd:""`
		Executors client.ExecutorsCmd `cmd:""`
		Backfills client.BackfillsCmd `cmd:""`
		Calendars client.CalendarsCmd `cmd:""`
		Pauses    client.PausesCmd    `cmd:""`
		Usage     client.UsageCmd     `cmd:""`
		Notes     client.NotesCmd     `cmd:""`
		Secrets   client.SecretsCmd   `cmd:""`
		API       client.APICmd       `cmd:"" name:"api"`
		Tokens    client.TokensCmd    `cmd:""`
		Users     client.UsersCmd     `cmd:""`
		Alarms    client.AlarmsCmd    `cmd:""`
		Webhooks  client.WebhooksCmd  `cmd:""`
		AuditLog  struct {
			List client.AuditLogCmd `cmd:"" default:"withargs"`
		} `cmd:"" name:"audit-log"`
	}
	parser, err := kong.New(&c)
	if err != nil {
		return err
	}
	chosen, err := parser.Parse(args)
	if err != nil {
		return err
	}
	chosen.BindTo(t.Context(), (*context.Context)(nil))
	return chosen.Run(client.Streams{In: strings.NewReader(in), Out: out, Err: out})
}

// TestTheCommandLine works with an admin as somebody would, with a token of their own.
func TestTheCommandLine(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, orders, _, _ := programs(t, o)
		root := open(t, a).mustLogin()
		orders.must("addJob", `{"name":"日终结算","author":"安","executorHandler":"closeDay","scheduleType":"CRON","scheduleConf":"0 0 2 * * ?"}`)
		token := makeToken(t, root, url.Values{"name": {"cli"}, "scope": {"admin"}, "days": {"7"}})
		do := func(token string, args ...string) (string, error) {
			t.Helper()
			return punctual(t, append(args, "--url", a.Welcome().URL, "--token", token)...)
		}
		says := func(want string, args ...string) string {
			t.Helper()
			out, err := do(token, args...)
			if err != nil || !strings.Contains(out, want) {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			return out
		}
		says("日终结算  0 0 2 * * ?", "jobs")
		says("started", "jobs", "start", "日终结算")
		says("running", "jobs", "show", "日终结算")
		says("日终结算", "jobs", "--group", "orders")
		says("2\n", "executors", "-o", "name")
		says("cn\n", "calendars", "-o", "name")
		says("handler: closeDay", "jobs", "-o", "yaml")
		says("stopped", "jobs", "stop", "日终结算")
		says("orders", "executors")
		if run := says("", "run", "日终结算", "--param", "x=1"); strings.Trim(run, "0123456789\n") != "" || len(run) < 2 {
			t.Errorf("a run is %q", run)
		}
		says("would be deleted", "jobs", "delete", "日终结算", "--dry-run")
		says("日终结算 deleted", "jobs", "delete", "日终结算")
		if _, err := do(token, "jobs", "show", "日终结算"); err == nil {
			t.Error("a deleted job is shown")
		}
		made := strings.Fields(says("told this once", "tokens", "create", "ci", "--scope", "view", "--days", "1"))
		if mine, err := do(made[len(made)-1], "jobs"); err != nil {
			t.Errorf("a token of the command line: %v\n%s", err, mine)
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(strings.Join(made, " "), "token "), ":")
		says("cli", "tokens")
		says("revoked", "tokens", "revoke", id)
		if _, err := do(made[len(made)-1], "jobs"); err == nil {
			t.Error("a revoked token counts")
		}
		says("admin", "users", "-o", "wide")
		says("STATE", "alarms", "--state", "given_up")
		says("KIND", "alarms", "channels")
		if secret := says("whsec_", "webhooks", "create", "hub", "http://127.0.0.1:1/punctual", "--type", "punctual.run.finished", "--tag", "pay"); !strings.Contains(secret, "told this once") {
			t.Errorf("a webhook: %s", secret)
		}
		says("127.0.0.1:1", "webhooks")
		says("pay", "webhooks", "-o", "yaml")
		says("waits to be sent", "webhooks", "test", "1")
		says("punctual.webhook.test", "webhooks", "deliveries", "1")
		says("is being sent", "webhooks", "again", "1", "--given-up")
		if out, err := do(token, "webhooks", "again", "1", "1", "99"); err == nil || !strings.Contains(err.Error(), "delivery 1: ") || !strings.Contains(err.Error(), "waits already") || !strings.Contains(err.Error(), "delivery 99: ") {
			t.Errorf("one that waits, and one that there is not: %v %s", err, out)
		}
		says("webhook 1: deleted", "webhooks", "delete", "1")
		says("apitoken", "audit-log", "list", "--limit", "5")
		if _, err := do("pnc_"+strings.Repeat("0", 36), "jobs"); err == nil {
			t.Error("a token that there is not counts")
		}
	})
}

// TestAnyOperationIsCalledByItsPath does what has no command of its own: with a body, on a condition, page by page, and told what is wrong.
func TestAnyOperationIsCalledByItsPath(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		do := func(in string, args ...string) (string, error) {
			var out bytes.Buffer
			err := punctualReading(t, in, &out, append(append([]string{"api"}, args...), "--url", c.base, "--token", c.token)...)
			return out.String(), err
		}
		says := func(want, in string, args ...string) {
			t.Helper()
			if out, err := do(in, args...); err != nil || !strings.Contains(out, want) {
				t.Errorf("%v: %v\n%s", args, err, out)
			}
		}
		says(`"admin": true`, "", "/whoami")
		says(`"app_name": "billing"`, "", "/groups", "-d", `{"app_name":"billing","title":"Billing","type":"auto"}`, "--key", "once")
		says(`"app_name": "billing"`, "", "/groups", "-d", `{"app_name":"billing","title":"Billing","type":"auto"}`, "--key", "once")
		says("title: Invoices", `{"title":"Invoices"}`, "-X", "PATCH", "/api/v1/groups/2", "-d", "@-", "-o", "yaml")
		says("Invoices", "", "groups?limit=1", "--all")
		file := filepath.Join(t.TempDir(), "team.json")
		if err := os.WriteFile(file, []byte(`{"name":"night"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		says("night", "", "/teams", "-d", "@"+file)
		if _, err := do("", "-X", "PUT", "/teams/1", "-d", `{"name":"day"}`); err == nil {
			t.Error("a PUT without a condition was done")
		}
		says("day", "", "-X", "PUT", "/teams/1", "-d", `{"name":"day"}`, "--if-match", "*")
		for want, args := range map[string][]string{
			"is no JSON": {"/teams", "-d", "{name: x}"}, "takes no body": {"/teams", "-d", "{}", "--all"}, "name: ": {"/teams", "-d", "{}"}, "no such file": {"/teams", "-d", "@nowhere"},
		} {
			if _, err := do("", args...); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, want %q", args, err, want)
			}
		}
		for _, empty := range []string{"@-", "", "@" + os.DevNull} { // as when what was to write the body failed
			for _, in := range []string{"", "\n"} {
				if out, err := do(in, "/groups", "-d", empty); err == nil || !strings.Contains(err.Error(), "the body is empty") {
					t.Errorf("-d %q with %q: %v\n%s", empty, in, err, out)
				}
			}
		}
	})
}

// working is a group with an executor, in which jobs are called as their handlers are.
func working(t *testing.T, o Options, jobs ...string) (*App, *caller) {
	t.Helper()
	a, c := apiCaller(t, o)
	var failed atomic.Bool
	ex := executortest.New(t, c.base, executortest.Handlers{
		"greet": func(_ context.Context, r *executor.Run) error {
			r.Logf("hello %s", r.Param)
			return nil
		},
		"fail": func(context.Context, *executor.Run) error { return errors.New("no") },
		"flaky": func(context.Context, *executor.Run) error {
			if failed.CompareAndSwap(false, true) {
				return errors.New("not the first time")
			}
			return nil
		},
		"hang": func(ctx context.Context, _ *executor.Run) error {
			<-ctx.Done()
			return ctx.Err()
		},
	}, func(cfg *executor.Config) { cfg.AppName, cfg.Token = "orders", o.AccessToken })
	c.json(200, &struct{}{}, "PATCH", "/groups/1", `{"addresses":["`+ex.URL+`"]}`)
	for _, name := range jobs {
		retries := 0
		if name == "flaky" {
			retries = 1
		}
		handler := name
		if strings.Contains(name, " ") {
			handler = "greet"
		}
		c.json(201, &struct{}{}, "POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":%q,"author":"a","handler":%q,"retries":%d,"tags":["night"],"schedule":"CRON","cron":"0 0 2 * * ?"}`, name, handler, retries))
	}
	return a, c
}

// TestRunsOfTheCommandLine runs jobs and waits for them: the code is that of the run's end.
func TestRunsOfTheCommandLine(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := working(t, o, "greet", "fail", "flaky", "hang")
		ends := func(code int, want string, args ...string) string {
			t.Helper()
			out, err := punctual(t, append(args, "--url", c.base, "--token", c.token)...)
			got := 0
			if exit, ok := errors.AsType[*client.ExitError](err); ok {
				got = exit.Code
			} else if err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			if got != code || !strings.Contains(out, want) {
				t.Errorf("%v ends with %d (%v):\n%s", args, got, err, out)
			}
			return out
		}
		out := ends(0, "hello you", "run", "greet", "--param", "you", "--follow")
		id, _, _ := strings.Cut(out, "\n")
		ends(0, "success", "run", "greet", "--wait", "--timeout", "1m")
		ends(0, `"state": "success"`, "run", "greet", "--wait", "-o", "json")
		bad, _, _ := strings.Cut(ends(1, "failed", "run", "fail", "--wait"), "\n")
		why := strings.Split(strings.TrimSpace(ends(0, "run "+bad+": failed: ", "runs", "why", bad)), "\n")
		if story := strings.Join(why[1:], "\n"); len(why) < 3 || !strings.Contains(story, "127.0.0.1:") || !regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  `).MatchString(story) {
			t.Errorf("why a run failed: %q", why)
		}
		if out := ends(0, "success", "run", "flaky", "--wait"); !strings.Contains(out, "failed") {
			t.Errorf("the first try is not told of:\n%s", out)
		}
		ends(2, "", "run", "nothing")
		ends(2, "", "run", "99", "--wait")
		ends(0, "hello you", "runs", "logs", id)
		ends(0, "hello you", "runs", "logs", id, "-f")
		ends(0, "success", "runs", "show", id)
		ends(0, "hello you", "runs", "rerun", id, "-f")
		ends(0, "failed", "runs", "--job", "fail", "--result", "failed", "--since", "2020-01-01T00:00:00Z")

		hanging := ends(124, "", "run", "hang", "--wait", "--timeout", "1s")
		id, _, _ = strings.Cut(hanging, "\n")
		executortest.Eventually(t, "kill", func() error { // not while it is being sent
			_, err := punctual(t, "runs", "kill", id, "--url", c.base, "--token", c.token)
			return err
		})
		var r struct{ State string }
		if c.json(200, &r, "GET", "/runs/"+id+"?wait=60s", ""); r.State != "killed" {
			t.Errorf("killed: %+v", r)
		}
	})
}

// TestOutputIsFollowed: what a run puts out is shown while it goes on, and the command goes on as long as the run does.
func TestOutputIsFollowed(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	_, c := apiCaller(t, o)
	more := make(chan struct{})
	ex := executortest.New(t, c.base, executortest.Handlers{"talk": func(ctx context.Context, r *executor.Run) error {
		r.Logf("the first")
		select {
		case <-more:
			r.Logf("the second")
		case <-ctx.Done():
		}
		return ctx.Err()
	}}, func(cfg *executor.Config) { cfg.AppName, cfg.Token = "orders", o.AccessToken })
	c.json(200, &struct{}{}, "PATCH", "/groups/1", `{"addresses":["`+ex.URL+`"]}`)
	c.json(201, &struct{}{}, "POST", "/jobs", `{"group_id":1,"description":"talk","author":"a","handler":"talk","schedule":"NONE","timeout_seconds":300}`)
	target := []string{"--url", c.base, "--token", c.token}
	out, err := punctual(t, append([]string{"run", "talk"}, target...)...)
	if err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := punctualTo(t, writer, append([]string{"runs", "logs", strings.TrimSpace(out), "-f"}, target...)...)
		ended <- errors.Join(err, writer.Close())
	}()
	lines := bufio.NewScanner(reader)
	var seen []string
	for lines.Scan() {
		for _, line := range []string{"the first", "the second"} {
			if strings.HasSuffix(lines.Text(), line) {
				if seen = append(seen, line); len(seen) == 1 {
					close(more) // only what was shown lets the run go on
				}
			}
		}
	}
	if err := <-ended; err != nil || strings.Join(seen, ", ") != "the first, the second" {
		t.Errorf("shown was %q, %v", seen, err)
	}
}

// TestBackfillsOfTheCommandLine waits for one that succeeds and one that does not, and is refused what is over.
func TestBackfillsOfTheCommandLine(t *testing.T) {
	_, c := working(t, testOptions(t), "greet", "fail")
	t.Setenv("PUNCTUAL_URL", c.base)
	t.Setenv("PUNCTUAL_TOKEN", c.token)
	for id := range 2 {
		c.json(200, &struct{}{}, "PATCH", fmt.Sprintf("/jobs/%d", id+1), `{"schedule":"CRON","cron":"0 0 2 * * ?","time_zone":"UTC"}`)
	}
	days := []string{"--from", "2026-03-01T00:00:00Z", "--until", "2026-03-04T00:00:00Z"}
	if out, err := punctual(t, append([]string{"backfills", "run", "greet", "--dry-run", "-o", "json"}, days...)...); err != nil || !strings.Contains(out, `"total": 3`) || !strings.Contains(out, `"state": "planned"`) {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := punctual(t, append([]string{"backfills", "run", "greet", "--digest", "4-0-0"}, days...)...); err == nil || !strings.Contains(err.Error(), "number has changed") {
		t.Errorf("not as it was planned: %v: %s", err, out)
	}
	c.json(200, &struct{}{}, "PATCH", "/jobs/2", `{"block":"DISCARD_LATER"}`)
	if out, err := punctual(t, append([]string{"backfills", "run", "fail", "--dry-run", "--at-once", "2"}, days...)...); err != nil || !strings.Contains(out, "leaves runs out") || !strings.Contains(out, "at most 1 under way") {
		t.Errorf("%v: %s", err, out)
	}
	var planned struct{ Digest string }
	if out, err := punctual(t, append([]string{"backfills", "run", "greet", "--dry-run", "-o", "json"}, days...)...); err != nil || json.Unmarshal([]byte(out), &planned) != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := punctual(t, append([]string{"backfills", "run", "greet", "--wait", "--at-once", "3", "--digest", planned.Digest}, days...)...); err != nil || !strings.Contains(out, "done") {
		t.Errorf("%v: %s", err, out)
	}
	out, err := punctual(t, append([]string{"backfills", "run", "fail", "--wait", "--newest"}, days...)...)
	if exit, ok := errors.AsType[*client.ExitError](err); !ok || exit.Code != 1 || !strings.Contains(err.Error(), "0 of 3") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := punctual(t, "backfills", "fail"); err != nil || strings.Count(out, "\n") != 2 {
		t.Errorf("%v: %s", err, out)
	}
	for filter, want := range map[string]int{"--result=final": 3, "--state=failed": 3, "--state=lost": 0, "--state=success": 0} {
		if out, err := punctual(t, "runs", "--job", "fail", filter, "-o", "name"); err != nil || strings.Count(out, "\n") != want {
			t.Errorf("%s: %v: %q, want %d", filter, err, out, want)
		}
	}
	if out, err := punctual(t, "backfills", "pause", "fail", "2"); err == nil {
		t.Errorf("pause of what is over: %s", out)
	}
}

// TestTheCommandsOfTheManual runs each command of docs/cli.md, in its order, as a reader would.
func TestTheCommandsOfTheManual(t *testing.T) {
	for _, page := range []string{"../docs/cli.md", "../docs/zh-CN/cli.md"} {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		o := testOptions(t)
		o.SecretKeys = []string{secretOne}
		_, c := working(t, o, "a 1", "a 2", "a 3", "a 4", "a 5", "a 6", "a 7", "a 8", "a 9", "a 10", "a 11", "a 12", "Close the day")
		t.Setenv("XDG_CONFIG_HOME", t.TempDir())
		t.Setenv("TOKEN_TO_TYPE", c.token)
		plant := filepath.Join(t.TempDir(), "plant.ics")
		ics := "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20261224\r\nDTEND;VALUE=DATE:20270101\r\nSUMMARY:inventory\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
		if err := os.WriteFile(plant, []byte(ics), 0o600); err != nil {
			t.Fatal(err)
		}
		commands := 0
		for line := range strings.Lines(string(raw)) {
			args := words(strings.TrimSuffix(line, "\n"))
			if len(args) == 0 || args[0] != "punctual" || !strings.HasPrefix(line, "punctual ") {
				continue
			}
			commands++
			for i, arg := range args {
				if arg == "plant.ics" {
					args[i] = plant
				} else if arg == "https://jobs.example.com" {
					args[i] = c.base
				} else if arg == "jobs.example.com" {
					args[i] = strings.TrimPrefix(c.base, "http://")
				}
			}
			out, err := punctual(t, args[1:]...)
			_, over := errors.AsType[*client.RefusedError](err)
			exit, _ := errors.AsType[*client.ExitError](err)
			nothing := exit != nil && exit.Code == 1 && slices.Contains(args, "search") // as grep has it: no output is kept yet
			if err != nil && !nothing && !(over && slices.Contains(args, "kill")) {     // of a run that has ended
				t.Errorf("%s: %s%v\n%s", page, line, err, out)
			}
		}
		if commands < 15 {
			t.Errorf("%s: only %d commands were found", page, commands)
		}
	}
}

// words are a line's, as a shell takes them: with blanks in single quotes.
func words(line string) (list []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			list = append(list, part)
		} else {
			list = append(list, strings.Fields(part)...)
		}
	}
	return list
}
