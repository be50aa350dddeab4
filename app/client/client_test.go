package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

type commands struct {
	Login     LoginCmd     `cmd:""`
	Context   ContextCmd   `cmd:""`
	Jobs      JobsCmd      `cmd:""`
	Run       RunCmd       `cmd:""`
	Runs      RunsCmd      `cmd:""`
	Executors ExecutorsCmd `cmd:""`
	Apply     ApplyCmd     `cmd:""`
	Diff      DiffCmd      `cmd:""`
	Backfills BackfillsCmd `cmd:""`
	Calendars CalendarsCmd `cmd:""`
	Pauses    PausesCmd    `cmd:""`
	Usage     UsageCmd     `cmd:""`
	Notes     NotesCmd     `cmd:""`
	Tokens    TokensCmd    `cmd:""`
	Users     UsersCmd     `cmd:""`
	Alarms    AlarmsCmd    `cmd:""`
	Webhooks  WebhooksCmd  `cmd:""`
	AuditLog  AuditLogCmd  `cmd:"" name:"audit-log"`
}

// do runs a command, and returns what it printed and said, and how it ended.
func do(t *testing.T, stdin string, args ...string) (out, said string, err error) {
	t.Helper()
	return doIn(t.Context(), t, stdin, args...)
}

func doIn(ctx context.Context, t *testing.T, stdin string, args ...string) (out, said string, err error) {
	t.Helper()
	var c commands
	var stdout, stderr bytes.Buffer
	parser, err := kong.New(&c, kong.Exit(func(int) { t.Fatalf("%v ends the program", args) }))
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := parser.Parse(args)
	if err != nil {
		return "", "", err
	}
	chosen.BindTo(ctx, (*context.Context)(nil))
	err = chosen.Run(Streams{In: strings.NewReader(stdin), Out: &stdout, Err: &stderr})
	return stdout.String(), stderr.String(), err
}

// admin answers with what a test has written down, by method and path, and counts on the token.
func admin(t *testing.T, answers map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse := func(status int, text string) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
		query := r.URL.Query()
		query.Del("limit")
		key := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/xxl-job-admin")
		if len(query) > 0 {
			key += "?" + query.Encode()
		}
		answer, ok := answers[key]
		switch {
		case r.Header.Get("Authorization") != "Bearer pnc_good":
			refuse(401, `{"title":"The token does not count","detail":"It has expired.","code":"unauthenticated","status":401}`)
		case !ok:
			refuse(404, `{"title":"Not found","detail":"There is no `+key+`","code":"not_found","status":404}`)
		case answer == "405":
			refuse(405, `{"title":"This cannot be done that way","code":"method_not_allowed"}`)
		case strings.HasPrefix(answer, "!"):
			refuse(422, answer[1:])
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const (
	closeDay = `{"id":7,"group_id":1,"state":"running","description":"日终结算","schedule":"CRON","cron":"0 0 2 * * ?","time_zone":"Asia/Shanghai","kind":"BEAN","handler":"closeDay","author":"安","parameter":"branch=north","route":"FAILOVER","block":"SERIAL_EXECUTION","timeout_seconds":600,"retries":2,"retry_backoff":"1m,5m","misfire":"DO_NOTHING","calendar":"cn","runbook":"https://wiki.example.com/close","kept_in":{"source":"team/jobs","revision":"1a2b"},"tags":["night","结算"],"next_due_at":"2026-03-05T18:00:00Z","last_due_at":null,"deadline":{"by":"2026-03-05T22:00:00Z","state":"ahead","expected_at":"2026-03-05T22:10:00Z","too_tight":true}}`
	pulse    = `{"id":12,"group_id":2,"state":"stopped","description":"pulse\u001b[31m\nred","schedule":"FIX_RATE","every_seconds":30,"kind":"GLUE_SHELL","handler":"","author":"bob","tags":[],"next_due_at":null,"last_due_at":"2026-03-04T05:06:07Z"}`
	failed   = `{"id":41,"job_id":7,"job":"关账","state":"failed","trigger":"CRON","triggered_at":"2026-03-04T18:00:00Z","finished_at":"2026-03-04T18:00:05Z","address":"http://10.0.0.1:9999/","shard":null,"parameter":"eu\tnorth","message":"处理失败：no rows"}`
	groups   = `{"items":[{"id":1,"app_name":"orders","title":"订单","type":"auto","addresses":["http://10.0.0.1:9999/"],"token_manages":true,"script_review":false}]}`
)

// TestWhatCommandsPrint compares with golden files, in every format. Chinese texts keep columns straight, and a text that people wrote
// moves no cursor.
func TestWhatCommandsPrint(t *testing.T) {
	was := time.Local
	time.Local = time.FixedZone("", 8*3600)
	t.Cleanup(func() { time.Local = was })
	url := admin(t, map[string]string{
		"GET /api/v1/jobs":                          `{"items":[` + pulse + `],"next":"12"}`,
		"GET /api/v1/jobs?cursor=12":                `{"items":[` + closeDay + `]}`,
		"GET /api/v1/jobs?sort=-last&state=running": `{"items":[` + closeDay + `]}`,
		"GET /api/v1/jobs/7":                        closeDay,
		"GET /api/v1/jobs?description=%E6%97%A5%E7%BB%88%E7%BB%93%E7%AE%97": `{"items":[` + closeDay + `]}`,
		"GET /api/v1/groups": groups,
		"GET /api/v1/runs":   `{"items":[` + failed + `,{"id":42,"job_id":7,"state":"success","trigger":"CRON","triggered_at":"2026-03-04T05:06:07Z","message":""}]}`,
		"GET /api/v1/runs/41": failed[:len(failed)-1] + `,"events":[{"key":"planned","at":"2026-03-04T18:00:00Z","text":"按计划触发"},{"key":"sent","at":"2026-03-04T18:00:01Z","text":"已发送至 10.0.0.1:9999"},
			{"key":"failed","text":"失败\u001b[2J"}],"said":["java.lang.IllegalStateException: no rows","\tat Orders.close(Orders.java:7)"]}`,
		"POST /api/v1/jobs/apply?dry_run=true": `{"done":false,"digest":"d","new_groups":["billing"],"jobs":[{"id":0,"app_name":"billing","description":"开票","outcome":"create"},
			{"id":7,"app_name":"orders","description":"日终结算","outcome":"change","changes":[{"field":"cron","was":"0 0 2 * * ?","now":"0 0 3 * * ?"},{"field":"script","was":"a\nb","now":"a\nc"}]},
			{"id":9,"app_name":"orders","description":"old","outcome":"delete","lost":{"parents":["月结"],"parents_hidden":1,"used_in":{"flows":[{"id":4,"description":"nightly"}],"hidden":2}}},{"id":12,"app_name":"orders","description":"pulse","outcome":"same"},
			{"id":14,"app_name":"orders","description":"清理","outcome":"same","script_waits":true},
			{"id":13,"file":"jobs/a.yaml","line":3,"app_name":"orders","description":"bad","outcome":"refuse","problems":[{"line":5,"field":"cron","detail":"no time"}]},
			{"id":15,"app_name":"stock","description":"gone","outcome":"refuse","problems":[{"line":0,"field":"group","detail":"not yours"}]}]}`,
		"GET /api/v1/jobs/7/backfills": `{"items":[{"id":3,"state":"running","from":"2026-01-01T00:00:00Z","until":"2026-02-01T00:00:00Z","total":31,"sent":4,"succeeded":3,"failed":1,"at_once":2,"created_at":"2026-03-04T05:06:07Z","created_by":"安","ended_at":null}]}`,
		"GET /api/v1/calendars":        `{"items":[{"name":"cn","title":"中国法定节假日","zone":"Asia/Shanghai","jobs":12,"missing":2027,"changed_at":null,"changed_by":""}]}`,
		"GET /api/v1/pauses":           `{"items":[{"id":1,"state":"active","scope":"tag","tag":"结算","from":"2026-03-04T05:06:07Z","until":null,"strategy":"once","reason":"数据库迁移","made_by":"安"},{"id":2,"state":"planned","scope":"all","from":"2026-03-05T00:00:00Z","until":"2026-03-05T01:00:00Z","strategy":"skip","reason":"","made_by":"bob"}]}`,
		"GET /api/v1/jobs/7/notes":     `{"items":[{"id":3,"group_id":1,"job_id":7,"run_id":41,"at":"2026-03-04T18:00:00Z","text":"数据库\u001b[2J 已满","made_by":"安","made_at":"2026-03-04T20:00:00Z"},{"id":2,"group_id":1,"job_id":7,"at":"2026-03-04T05:06:07Z","text":"handler rewritten","made_by":"bob","made_at":"2026-03-04T05:06:07Z"},{"id":1,"group_id":1,"at":"2026-03-03T05:06:07Z","text":"release 4.2","made_by":"ci","made_at":"2026-03-03T05:06:07Z"}]}`,
		"POST /api/v1/groups/1/notes":  `{"id":4,"group_id":1,"at":"2026-03-04T05:06:07Z","text":"发布 4.3","made_by":"安","made_at":"2026-03-04T05:06:07Z"}`,
		"GET /api/v1/tokens":           `{"items":[{"id":1,"name":"ci","owner":"root","scope":"admin","state":"active","expires_at":"2026-03-12T00:00:00Z","used_at":null,"used_from":"","group_ids":[],"hint":"pnc_ab","created_at":"2026-03-04T05:06:07Z"}]}`,
		"GET /api/v1/users":            `{"items":[{"id":1,"name":"root","role":"admin","state":"active","rights":[],"teams":[],"login_at":"2026-03-04T05:06:07Z"}]}`,
		"GET /api/v1/alarms/messages":  `{"items":[{"id":8,"state":"given_up","cause":"failed","job":"日终结算","channel":"值班","created_at":"2026-03-04T05:06:07Z","run_id":41,"recipient":"all","tries":9,"error":"connection refused"}]}`,
		"GET /api/v1/alarms/channels":  `{"items":[{"id":1,"name":"值班","kind":"dingtalk","enabled":true,"last_ok_at":"2026-03-04T05:06:07Z","last_error":""}]}`,
		"GET /api/v1/statistics/usage?from=2026-03-01&until=2026-03-31": `{"items":[{"group_id":1,"app_name":"orders","title":"订单","runs":1204,"failed":3,"skipped":20,"run_seconds":86400},{"group_id":9,"app_name":"","title":"","runs":7,"failed":0,"skipped":0,"run_seconds":0},{"group_id":0,"app_name":"","title":"","runs":0,"failed":0,"skipped":0,"run_seconds":61}]}`,
		"GET /api/v1/webhooks": `{"items":[{"id":1,"name":"hub","state":"on","place":"127.0.0.1:1","types":["punctual.run.finished"],"group_ids":[],"tags":["结算"],"waiting":3,"given_up":0,"last_reason":"","dropped":0}]}`,
		"GET /api/v1/audit":    `{"items":[{"id":5,"at":"2026-03-04T05:06:07Z","user":"安","from":"10.0.0.9","action":"update","object_kind":"job","object_id":7,"object_name":"日终结算"}]}`,
	})
	jobsFile := filepath.Join(t.TempDir(), "jobs.yaml")
	if err := os.WriteFile(jobsFile, []byte("format: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ends := map[string]int{"diff": codeRefused, "apply": codeRefused, "apply-markdown": codeRefused} // one job is refused
	for name, args := range map[string]string{
		"jobs": "jobs --limit=0", "jobs-wide": "jobs --limit=0 -o wide", "jobs-json": "jobs --limit=0 -o json", "jobs-yaml": "jobs --limit=0 -o yaml", "jobs-name": "jobs --limit=0 -o name",
		"jobs-filter": "jobs list --state running --sort=-last", "job": "jobs show 7", "job-by-name": "jobs show 日终结算 -o yaml", "executors": "executors",
		"runs": "runs", "runs-wide": "runs -o wide", "runs-name": "runs -o name", "run": "runs show 41", "run-why": "runs why 41", "run-why-json": "runs why 41 -o json",
		"diff": "diff --source team -f " + jobsFile, "apply": "apply --dry-run --source team -f " + jobsFile, "apply-markdown": "apply --dry-run --source team/jobs --revision 1a2b3c -o markdown -f " + jobsFile, "backfills": "backfills 7 -o wide", "calendars": "calendars -o wide", "pauses": "pauses -o wide",
		"notes": "notes --job 日终结算 -o wide", "note": "notes create 发布 --group 1",
		"tokens": "tokens -o wide", "users": "users -o wide", "alarms": "alarms -o wide", "channels": "alarms channels", "webhooks": "webhooks -o wide", "usage": "usage --from 2026-03-01 --until 2026-03-31", "usage-json": "usage --from 2026-03-01 --until 2026-03-31 -o json", "audit-log": "audit-log -o wide",
	} {
		out, said, err := do(t, "", append(strings.Fields(args), "--url", url, "--token", "pnc_good")...)
		exit, _ := errors.AsType[*ExitError](err)
		if (exit == nil) != (ends[name] == 0) || exit != nil && exit.Code != ends[name] || exit == nil && err != nil || said != "" {
			t.Errorf("%s: %v %s", args, err, said)
		}
		if strings.Contains(out, "\x1b") {
			t.Errorf("%s colours its output, or lets others do so: %q", args, out)
		}
		file := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != out {
			t.Errorf("%s prints\n%s\nwant (%v)\n%s", args, out, err, want)
		}
	}
}

func TestDeedsToJobs(t *testing.T) {
	t.Parallel()
	url := admin(t, map[string]string{
		"GET /api/v1/jobs/7": closeDay, "GET /api/v1/jobs/12": pulse, "POST /api/v1/jobs/7/stop": closeDay, "POST /api/v1/jobs/7/trigger": `{"runs":[41,42]}`,
		"POST /api/v1/jobs/12/start":          `!{"title":"It cannot be done","detail":"Set a schedule first.","code":"noschedule","errors":[{"field":"schedule","detail":"is NONE"}]}`,
		"DELETE /api/v1/jobs/7?dry_run=true":  `{"id":7,"parents":["月结"],"parents_hidden":0,"used_in":{"flows":[{"id":4,"description":"nightly"}],"hidden":0}}`,
		"GET /api/v1/jobs?description=twins":  `{"items":[{"id":1,"description":"twins"},{"id":2,"description":"twins"},{"id":3,"description":"twins!"}]}`,
		"GET /api/v1/jobs?description=nobody": `{"items":[]}`, "GET /api/v1/groups": groups,
	})
	for args, want := range map[string]struct{ out, said, err string }{
		"jobs stop 7 12":          {"", "7 stopped\n", "12: Not found"},
		"jobs start 12 7":         {"", "", "12: It cannot be done\nSet a schedule first.\n  schedule: is NONE"},
		"jobs delete 7 --dry-run": {"", "7: \"月结\" starts it as a child job\n7: a step of the flow \"nightly\" runs it, and fails without it\n7 would be deleted\n", ""},
		"jobs stop twins":         {"", "", "several jobs are called \"twins\": name one by its number, 1 or 2"},
		"jobs show nobody":        {"", "", "there is no job \"nobody\""},
		"executors show Order":    {"", "", "did you mean \"orders\"?"},
		"executors show billing":  {"", "", "punctual executors lists them"},
		"run 7 --param x":         {"41\n42\n", "", ""},
	} {
		out, said, err := do(t, "", append(strings.Fields(args), "--url", url, "--token", "pnc_good")...)
		if out != want.out || said != want.said || (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("%s: %q, %q, %v; want %+v", args, out, said, err, want)
		}
	}
}

// TestContexts are kept in a file that nobody else reads, and only with a token that counts.
func TestContexts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "contexts.yaml")
	t.Setenv("PUNCTUAL_CONTEXTS", file)
	url := admin(t, map[string]string{"GET /api/v1/groups": groups})
	if _, _, err := do(t, "", "executors"); err == nil || !strings.Contains(err.Error(), "punctual login") {
		t.Errorf("without a context: %v", err)
	}
	if _, _, err := do(t, "pnc_bad\n", "login", url, "--as", "test"); err == nil || !strings.Contains(err.Error(), "It has expired") {
		t.Errorf("a token that does not count: %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it was kept all the same")
	}
	for _, name := range []string{"test", "prod", "test"} {
		if _, _, err := do(t, "pnc_good\n", "login", url+"/xxl-job-admin/", "--as", name); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v %v", info.Mode(), err)
	}
	if out, _, err := do(t, "", "executors", "-o", "name"); out != "1\n" || err != nil {
		t.Errorf("%q %v", out, err)
	}
	if _, _, err := do(t, "", "context", "use", "prod"); err != nil {
		t.Error(err)
	}
	if out, _, err := do(t, "", "context"); err != nil || !strings.Contains(out, "prod") || strings.Count(out, "\n") != 3 || strings.Contains(out, "pnc_") {
		t.Errorf("it shows %s %v", out, err)
	}
	if _, _, err := do(t, "", "context", "use", "none"); err == nil {
		t.Error("one that there is not is used")
	}
	if _, _, err := do(t, "", "context", "forget", "prod"); err != nil {
		t.Error(err)
	}
	if _, _, err := do(t, "", "executors"); err == nil {
		t.Error("one that was forgotten is used")
	}
	t.Setenv("PUNCTUAL_URL", url)
	t.Setenv("PUNCTUAL_TOKEN", "pnc_good")
	if _, said, err := do(t, "", "context"); err != nil || !strings.Contains(said, "PUNCTUAL_URL") || strings.Contains(said, "pnc_") {
		t.Errorf("with an address in the environment it says %s %v", said, err)
	}
	if _, _, err := do(t, "", "executors", "--context", "test"); err == nil || !strings.Contains(err.Error(), "leave one out") {
		t.Errorf("a context and an address: %v", err)
	}
	for _, wrong := range []string{"jobs.example.com", "ftp://x", "http://user:pass@x", "http://x/?q"} {
		if _, _, err := do(t, "pnc_good\n", "login", wrong); err == nil {
			t.Errorf("%s is taken for an address", wrong)
		}
	}
}

// TestTheTokenGoesNowhereElse: an admin that sends the caller elsewhere does not take the token along.
func TestTheTokenGoesNowhereElse(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("somebody else was called, with %s", r.Header.Get("Authorization"))
	}))
	t.Cleanup(elsewhere.Close)
	here := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(here.Close)
	if _, _, err := do(t, "", "executors", "--url", here.URL, "--token", "pnc_good"); err == nil || !strings.Contains(err.Error(), "is it an admin of Punctual") {
		t.Error(err)
	}
}

// FuzzPrint: whatever an admin answers, a command prints it or says what is wrong.
func FuzzPrint(f *testing.F) {
	f.Add(closeDay)
	f.Add(`{"id":{},"tags":[[1]],"next_due_at":3}`)
	f.Fuzz(func(t *testing.T, raw string) {
		for _, format := range []string{"table", "wide", "yaml", "name"} {
			var b bytes.Buffer
			_ = printer{&b, format}.items([]json.RawMessage{json.RawMessage(raw)}, jobColumns)
			if format != "yaml" && strings.ContainsAny(b.String(), "\x1b\x07\r") {
				t.Errorf("%s prints control characters: %q", format, b.String())
			}
		}
	})
}

// TestTheCodeSaysHowARunEnded for each state in which one has.
func TestTheCodeSaysHowARunEnded(t *testing.T) {
	t.Parallel()
	const refused, elsewhere = `"events":[{"key":"unreachable","text":"nobody is there"},{"key":"refused","text":"so it was"}],`, `"events":[{"key":"refused","text":"it was full"},{"key":"unreachable","text":"so it was"}],`
	for code, states := range map[int][]string{
		0: {"success"}, codeFailed: {"failed", "sendfailed", "sendfailed " + elsewhere, "unconfirmed", "killed", "lost"},
		codeRefused: {"skipped", "discarded", "cancelled", "stopped", "sendfailed " + refused}, codeTimeout: {"timeout"},
	} {
		for _, state := range states {
			state, events, _ := strings.Cut(state, " ")
			url := admin(t, map[string]string{
				"POST /api/v1/runs/3/rerun":   `{"runs":[4]}`,
				"GET /api/v1/runs/4?wait=50s": `{"id":4,"state":"` + state + `",` + events + `"ended":true,"message":"so it was","follower_ids":[],"shards":[{"id":4}]}`,
				"POST /api/v1/jobs/1/trigger": `!{"title":"no"}`,
				"GET /api/v1/jobs/1":          `{"id":1}`,
			})
			out, said, err := do(t, "", "runs", "rerun", "3", "--wait", "--url", url, "--token", "pnc_good")
			exit, _ := errors.AsType[*ExitError](err)
			if code == 0 && err != nil || code != 0 && (exit == nil || exit.Code != code) || out != "4\n" || said != "run 4: "+state+": so it was\n" {
				t.Errorf("%s: %q %q %v", state, out, said, err)
			}
			if _, _, err = do(t, "", "run", "1", "--url", url, "--token", "pnc_good"); code == 0 {
				if exit, _ := errors.AsType[*ExitError](err); exit == nil || exit.Code != codeRefused {
					t.Errorf("a job that is refused: %v", err)
				}
			}
		}
	}
}

// TestWhatTheTokenMayNotSeeDoesNotEndAWait: a child of another group comes of the run, and its retry after that.
func TestWhatTheTokenMayNotSeeDoesNotEndAWait(t *testing.T) {
	t.Parallel()
	url := admin(t, map[string]string{
		"POST /api/v1/runs/3/rerun":   `{"runs":[4]}`,
		"GET /api/v1/runs/4?wait=50s": `{"id":4,"state":"failed","ended":true,"follower_ids":[5,6]}`,
		"GET /api/v1/runs/6":          `{"id":6,"trigger":"RETRY","origin_run_id":4}`,
		"GET /api/v1/runs/6?wait=50s": `{"id":6,"state":"success","ended":true,"follower_ids":[7]}`,
	})
	if _, said, err := do(t, "", "runs", "rerun", "3", "--wait", "--url", url, "--token", "pnc_good"); err != nil || !strings.Contains(said, "run 6: success") {
		t.Errorf("%q, %v", said, err)
	}
}

// TestWhoInterruptsIsToldThatTheRunGoesOn, with a code that is none of how a run ends: to be taken for a failure, or for an admin that is away, would
// have a pipeline do the wrong thing.
func TestWhoInterruptsIsToldThatTheRunGoesOn(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"--wait", "--follow"} {
		ctx, interrupt := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/api/v1/jobs/1":
				_, _ = io.WriteString(w, `{"id":1}`)
			case "/api/v1/jobs/1/trigger":
				_, _ = io.WriteString(w, `{"runs":[4]}`)
			default:
				interrupt()
				<-r.Context().Done()
			}
		}))
		_, said, err := doIn(ctx, t, "", "run", "1", how, "--url", server.URL, "--token", "pnc_good")
		server.Close()
		exit, _ := errors.AsType[*ExitError](err)
		if exit == nil || exit.Code != codeInterrupted || err.Error() != "interrupted; run 4 goes on" {
			t.Errorf("%s: %v, %q", how, err, said)
		}
	}
	if _, _, err := do(t, "", "run", "1", "--wait", "--timeout=-1s", "--url", "http://127.0.0.1:1", "--token", "pnc_good"); err == nil || !strings.Contains(err.Error(), "--timeout must be") {
		t.Errorf("a time-out in the past: %v", err)
	}
}

// TestWhatIsNoAnswerOfAnAdminIsNotTakenForOne: a portal that answers everything with a page, and something that says nothing, have done nothing.
func TestWhatIsNoAnswerOfAnAdminIsNotTakenForOne(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"<!doctype html><title>Sign in</title>", ""} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }))
		for _, args := range []string{"jobs stop 7", "jobs start 7", "runs kill 7", "pauses end 7", "alarms retry 7", "runs approve 7 step", "jobs", "jobs show 7", "runs logs 7"} {
			out, said, err := do(t, "", append(strings.Fields(args), "--url", server.URL, "--token", "pnc_good")...)
			if err == nil || out+said != "" {
				t.Errorf("%s, answered with %q: %q %q %v", args, page, out, said, err)
			}
		}
		server.Close()
	}
}

// TestFilesThatWouldBeReadWronglyAreRefused before anything is asked: characters of another encoding would become others, and what stands
// behind a link would be taken for gone.
func TestFilesThatWouldBeReadWronglyAreRefused(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	jobs := filepath.Join(root, "jobs")
	for file, text := range map[string]string{"jobs/a.yaml": "format: 1\n", "team/b.yaml": "format: 1\n", "gbk.yaml": "# \xb2\xe2\xca\xd4\nformat: 1\n"} {
		name := filepath.Join(root, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "team"), filepath.Join(jobs, "team")); err != nil {
		t.Skip(err)
	}
	url := admin(t, map[string]string{"POST /api/v1/jobs/apply?dry_run=true": `{"jobs":[]}`, "POST /api/v1/jobs/apply": `{"done":true,"jobs":[]}`})
	for file, want := range map[string]string{filepath.Join(root, "gbk.yaml"): "is not in UTF-8", jobs: "is a link to a folder"} {
		if _, _, err := do(t, "", "apply", "--prune", "--source", "team", "-f", file, "--url", url, "--token", "pnc_good"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, _, err := do(t, "", "apply", "--source", "team", "-f", filepath.Join(jobs, "a.yaml"), "-f", filepath.Join(jobs, "team", "b.yaml"), "--url", url, "--token", "pnc_good"); err != nil {
		t.Error(err)
	}
}

// TestAJobIsShownWholeByItsName, as it is by its number: lists leave its script out.
func TestAJobIsShownWholeByItsName(t *testing.T) {
	t.Parallel()
	url := admin(t, map[string]string{
		"GET /api/v1/jobs?description=pulse": `{"items":[{"id":12,"description":"pulse","script_omitted":true}]}`,
		"GET /api/v1/jobs/12":                `{"id":12,"description":"pulse","script":"echo","script_omitted":false}`,
	})
	byNumber, _, _ := do(t, "", "jobs", "show", "12", "-o", "json", "--url", url, "--token", "pnc_good")
	byName, _, err := do(t, "", "jobs", "show", "pulse", "-o", "json", "--url", url, "--token", "pnc_good")
	if err != nil || byName != byNumber || !strings.Contains(byName, "echo") {
		t.Errorf("by name %s, by number %s, %v", byName, byNumber, err)
	}
}

// TestWhatPeopleWroteStaysAsItIs, also if it looks like a moment; and what a refusal quotes moves no cursor.
func TestWhatPeopleWroteStaysAsItIs(t *testing.T) {
	t.Parallel()
	const planned = "2026-03-05T02:00:00+08:00"
	url := admin(t, map[string]string{
		"GET /api/v1/runs":       `{"items":[{"id":1,"parameter":"` + planned + `","message":"` + planned + `"}]}`,
		"POST /api/v1/runs/kill": `!{"title":"The executor refused","detail":"it says: \u001b[2Jok\u202dko","errors":[{"field":"a\u001b[1m","detail":"b\u0007"}]}`,
	})
	if out, _, err := do(t, "", "runs", "-o", "wide", "--url", url, "--token", "pnc_good"); err != nil || strings.Count(out, planned) != 2 {
		t.Errorf("%s %v", out, err)
	}
	if _, _, err := do(t, "", "runs", "kill", "1", "--url", url, "--token", "pnc_good"); err == nil || strings.ContainsAny(err.Error(), "\x1b\x07\u202d") || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%q", err)
	}
}

// TestWhoInterruptsAWaitForOutput is told so by the code, whatever the command was doing.
func TestWhoInterruptsAWaitForOutput(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"runs logs 4 -f", "backfills run 1 --from 2026-01-01T00:00:00Z --until 2026-01-02T00:00:00Z --wait"} {
		ctx, interrupt := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Next-Line", "1")
			if strings.HasPrefix(r.URL.Path, "/api/v1/jobs") {
				_, _ = io.WriteString(w, `{"id":1}`)
			}
			time.AfterFunc(50*time.Millisecond, interrupt)
		}))
		_, _, err := doIn(ctx, t, "", append(strings.Fields(args), "--url", server.URL, "--token", "pnc_good")...)
		server.Close()
		if exit, _ := errors.AsType[*ExitError](err); exit == nil || exit.Code != codeInterrupted {
			t.Errorf("%s: %v", args, err)
		}
		interrupt()
	}
}

// TestLogsEndWithWhatThereIs of a run that writes on: only who follows it waits for more.
func TestLogsEndWithWhatThereIs(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		w.Header().Set("Next-Line", strconv.FormatInt(n+1, 10))
		if n == 1 {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20)+"\n") // of an admin that does not say whether there is more
		} else if n < 100 {
			w.Header().Set("Output-More", strconv.FormatBool(n < 3))
			_, _ = io.WriteString(w, "tick\n")
		}
	}))
	t.Cleanup(server.Close)
	out, _, err := do(t, "", "runs", "logs", "4", "--url", server.URL, "--token", "pnc_good")
	if err != nil || asked.Load() != 3 || !strings.HasSuffix(out, "x\ntick\ntick\n") {
		t.Errorf("asked %d times, got %d bytes, %v", asked.Load(), len(out), err)
	}
}

// TestNamesThatMoveACursorAreNotSuggested to a shell, which prints them as they come.
func TestNamesThatMoveACursorAreNotSuggested(t *testing.T) {
	t.Parallel()
	url := admin(t, map[string]string{"GET /api/v1/jobs": `{"items":[` + pulse + `,` + closeDay + `]}`})
	if got := Suggest(t.Context(), "jobs", Admin{URL: url, Token: "pnc_good"}, ""); len(got) != 1 || got[0] != "日终结算" {
		t.Errorf("%q", got)
	}
}

// TestRunsAreEndedByTheirNumbersOrTheirState: what matches is ended in parts, and each run that is not is told of.
func TestRunsAreEndedByTheirNumbersOrTheirState(t *testing.T) {
	t.Parallel()
	url := admin(t, map[string]string{
		"GET /api/v1/jobs/7":                      `{"id":7}`,
		"GET /api/v1/runs?job_id=7&state=waiting": `{"items":[{"id":4},{"id":5}]}`,
		"GET /api/v1/runs?result=open":            `{"items":[]}`,
		"GET /api/v1/runs?state=sent":             `{"items":[{"id":4}]}`,
		"POST /api/v1/runs/kill?dry_run=true":     `{"items":[{"run":4,"ended":true},{"run":5,"ended":false,"detail":"It has ended."}]}`,
		"POST /api/v1/runs/kill":                  `{"done":true,"items":[{"run":4,"ended":true}]}`,
	})
	later := admin(t, map[string]string{
		"POST /api/v1/runs/kill": `{"done":true,"items":[{"run":4,"ended":true},{"run":5,"ended":false,"later":true,"code":"run.killlater","detail":"It is asked again."}]}`,
	})
	if _, said, err := do(t, "", "runs", "kill", "4", "5", "--url", later, "--token", "pnc_good"); err != nil || said != "run 4: is being ended\nrun 5: It is asked again.\n" {
		t.Errorf("one that is ended later: %q, %v", said, err)
	}
	for _, c := range []struct{ args, said, err string }{
		{"4", "run 4: is being ended\n", ""},
		{"4 5 --dry-run", "run 4: would be ended\n", "run 5: It has ended."},
		{"--state waiting --job 7", "2 runs match\nrun 4: is being ended\n", ""},
		{"--state open --dry-run", "0 runs match\n", ""},
		{"--state sent --all", "1 run matches\nrun 4: is being ended\n", ""},
		{"--state sent", "", "say --all"},
		{"", "", "name the runs"},
		{"--job 7", "", "name the runs"},
		{"4 --state open", "", "name the runs"},
		{"4 --job 7", "", "name the runs"},
	} {
		_, said, err := do(t, "", append(append([]string{"runs", "kill"}, strings.Fields(c.args)...), "--url", url, "--token", "pnc_good")...)
		if said != c.said || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", c.args, said, err)
		}
	}
}

// TestAnAdminOfAnEarlierVersionEndsRunsOneByOne: of /runs/kill it knows nothing, and takes that for a run.
func TestAnAdminOfAnEarlierVersionEndsRunsOneByOne(t *testing.T) {
	t.Parallel()
	url := admin(t, map[string]string{
		"POST /api/v1/runs/kill":   "405",
		"POST /api/v1/runs/4/kill": `{}`,
		"POST /api/v1/runs/5/kill": `!{"title":"It has ended."}`,
		"POST /api/v1/runs/6/kill": `{}`,

		"POST /api/v1/runs/kill?dry_run=true": "405",
	})
	_, said, err := do(t, "", "runs", "kill", "4", "5", "6", "--url", url, "--token", "pnc_good")
	if said != "run 4: is being ended\nrun 6: is being ended\n" || err == nil || err.Error() != "run 5: It has ended." {
		t.Errorf("%q, %v", said, err)
	}
	if _, said, err := do(t, "", "runs", "kill", "4", "--dry-run", "--url", url, "--token", "pnc_good"); err == nil || said != "" {
		t.Errorf("a dry run ends it: %q, %v", said, err)
	}
}

// TestRunsAreEndedAFewAtATime: executors that do not answer keep no request longer than one of them does, which a slow admin may take its time for.
func TestRunsAreEndedAFewAtATime(t *testing.T) {
	t.Parallel()
	var asked []int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Runs []int }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		asked = append(asked, len(body.Runs))
		_, _ = io.WriteString(w, `{"items":[]}`)
	}))
	t.Cleanup(server.Close)
	args := []string{"runs", "kill", "--url", server.URL, "--token", "pnc_good"}
	for id := range 40 {
		args = append(args, strconv.Itoa(id+1))
	}
	if _, _, err := do(t, "", args...); err != nil || !slices.Equal(asked, []int{16, 16, 8}) {
		t.Errorf("asked for %v, %v", asked, err)
	}
	if most := 2 * time.Minute; killFor <= most+2*time.Second {
		t.Errorf("an answer may take %s, and is waited for for %s", most, killFor)
	}
}

// TestWhatIsCountedUpToABoundSaysSo: 14,755 events waited, and 10000 stood there.
func TestWhatIsCountedUpToABoundSaysSo(t *testing.T) {
	t.Parallel()
	for n, want := range map[string]string{"0": "0", "9999": "9999", "10000": "10000+"} {
		if got := waitingOf(item{"waiting": json.Number(n)}); got != want {
			t.Errorf("%s waiting: %q, want %q", n, got, want)
		}
	}
}

// TestAListLooksOn where the admin answers before it is at the end, with less than it was asked for: it says how far it came, and can then be told
// to look for longer. One that does not say so is an older one, which would refuse that.
func TestAListLooksOn(t *testing.T) {
	t.Parallel()
	lost := strings.ReplaceAll(failed, `"state":"failed"`, `"state":"lost"`)
	url := admin(t, map[string]string{
		"GET /api/v1/runs?state=lost":                    `{"items":[],"next":"900","searched_to":"2026-03-04T05:06:07Z"}`,
		"GET /api/v1/runs?cursor=900&look=2s&state=lost": `{"items":[` + lost + `],"next":"300","searched_to":"2026-03-02T05:06:07Z"}`,
		"GET /api/v1/runs?cursor=300&look=2s&state=lost": `{"items":[]}`,
		"GET /api/v1/runs?text=old":                      `{"items":[],"next":"900"}`,
		"GET /api/v1/runs?cursor=900&text=old":           `{"items":[` + lost + `]}`,
	})
	for _, args := range []string{"runs --state lost", "runs --text old", "runs --state lost --limit 0"} {
		if out, said, err := do(t, "", append(strings.Fields(args), "-o", "name", "--url", url, "--token", "pnc_good")...); err != nil || out != "41\n" || said != "" {
			t.Errorf("%s: %q %q %v", args, out, said, err)
		}
	}
}

// TestAnAssistantIsToldWhereALookEnds and that the page is looked for to its end as long as that takes no more than some seconds.
func TestAnAssistantIsToldWhereALookEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		s := &assistant{api: &api{base: "http://admin", http: &http.Client{Transport: roundTrip(func(r *http.Request) string {
			asked = append(asked, r.URL.RawQuery)
			time.Sleep(3 * time.Second)
			if len(asked) == 2 {
				return `{"items":[{"id":7}],"next":"5","searched_to":"2026-03-04T05:06:07Z"}`
			}
			return `{"items":[],"next":"9","searched_to":"2026-03-03T05:06:07Z"}`
		})}}}
		got, err := s.page(t.Context(), "/runs", url.Values{"limit": {"2"}, "text": {"x"}}, "id")
		if err != nil || len(got.Items) != 1 || got.Next != "9" || got.SearchedTo == nil || got.SearchedTo.Day() != 3 {
			t.Errorf("%+v, %v", got, err)
		}
		if diff := cmp.Diff([]string{"limit=2&text=x", "cursor=9&limit=2&look=2s&text=x", "cursor=5&limit=1&look=2s&text=x", "cursor=9&limit=1&look=2s&text=x"}, asked); diff != "" {
			t.Error(diff)
		}
	})
}

// roundTrip answers each request with a text.
type roundTrip func(*http.Request) string

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(f(r))), Request: r}, nil
}

// TestWhatGoesIntoNoHeaderIsNamed, and not said of the admin.
func TestWhatGoesIntoNoHeaderIsNamed(t *testing.T) {
	t.Parallel()
	for says, a := range map[string]*api{
		"the API token holds an end of a line":       {token: "pnc_good\r\n"},
		"the Idempotency-Key holds an end of a line": {once: "a\x00"},
		"the ETag holds an end of a line":            {match: "a\nb"},
	} {
		a.base, a.http = "http://127.0.0.1:1", http.DefaultClient
		if _, err := a.do(t.Context(), http.MethodPost, "/jobs/1/trigger", nil, nil); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}
