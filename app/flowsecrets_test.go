package app

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
)

// heard is what was told to a receiver, or written to a log.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// tellAll is a job that says what it was given in every way that there is, and fails when it is told to.
func tellAll(_ context.Context, r *executor.Run) error {
	var plain bytes.Buffer
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r.Param); err != nil {
		return err
	}
	said := fmt.Sprintf("%s %s %s %s %s %q", r.Param, base64.StdEncoding.EncodeToString([]byte("ops:"+r.Param)), strings.ToLower(url.QueryEscape(r.Param)), plain.String(), strings.ReplaceAll(plain.String(), "/", `\/`), url.QueryEscape(r.Param))
	r.Logf("was given %s", said)
	r.Logger().Info("was given", "it", r.Param)
	if err := r.SetOutput("given", said); err != nil {
		return err
	}
	if err := r.SetOutput(r.Param[:min(len(r.Param), 40)], "as a key"); err != nil {
		return err
	}
	r.SetResult(said)
	if strings.HasPrefix(r.Param, "fail") {
		return fmt.Errorf("cannot reach https://ops:%s@bank.example/: %w", url.PathEscape(r.Param), context.DeadlineExceeded)
	}
	return nil
}

// TestNoSecretComesOutOfAFlow has a flow use a secret in every place that takes one, with jobs that tell all they know, and looks for it in all
// that the admin keeps, shows, logs and tells. Every way of writing the value has the word in it that is looked for.
func TestNoSecretComesOutOfAFlow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		const word = "corevalue99"
		const value = `a/b&"c<=` + word
		words := []string{word}
		for before, foreign := range []int{0, 2, 3} { // and as it stands in base64
			letters := base64.RawStdEncoding.EncodeToString([]byte("xx"[:before] + word))
			words = append(words, letters[foreign:(before+len(word))*8/6])
		}
		var log, told heard
		o.SecretKeys, o.Logger = []string{secretOne}, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.HTTPAllow = "127.0.0.1"
		a, c := working(t, o)
		root := open(t, a).mustLogin()
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _ = r.Write(&told) }))
		t.Cleanup(receiver.Close)
		ex := executortest.New(t, root.base, executortest.Handlers{"tell": tellAll}, func(c *executor.Config) { c.Token, c.AppName = o.AccessToken, "tellers" })
		group := root.post("/executors", url.Values{"app_name": {"tellers"}, "title": {"tellers"}, "type": {"manual"}, "addresses": {ex.URL}}).header.Get("Location")
		if got := root.post(group+"/secrets", url.Values{"name": {"PASSWORD"}, "value": {value}}); got.status != http.StatusSeeOther {
			t.Fatalf("set the secret at %s: %d %s", group, got.status, got.body)
		}
		number := strings.TrimPrefix(group, "/executors/")
		c.json(http.StatusCreated, &struct{}{}, "POST", "/webhooks", `{"name":"hub","url":"`+receiver.URL+`/`+word+`?token=`+word+`"}`)
		if got := root.post("/alarms", url.Values{"kind": {"webhook"}, "name": {"hook"}, "enabled": {"true"}, "url": {receiver.URL + "/" + word}}); got.status != http.StatusSeeOther {
			t.Fatalf("alarm channel: %d %s", got.status, got.body)
		}
		if got := root.post("/alarms/1/routes", url.Values{"scope": {"all"}, "cause": {"failed"}}); got.status != http.StatusSeeOther {
			t.Fatalf("route: %d %s", got.status, got.body)
		}
		var job struct{ ID int64 }
		c.json(http.StatusCreated, &job, "POST", "/jobs", `{"group_id":`+number+`,"description":"tell","author":"a","handler":"tell","parameter":"as the job has it ${{ secrets.PASSWORD }}"}`)
		source := strings.ReplaceAll(`on_failure: continue
steps:
  - id: plain
    job: {id: JOB}
  - id: json
    job: {id: JOB}
    parameter: '{"user":"ops","password":"${{ secrets.PASSWORD }}"}'
  - id: each
    needs: [plain]
    job: {id: JOB}
    foreach: {items: "[1, 2]"}
    parameter: "${{ item }} ${{ secrets.PASSWORD }}"
  - id: pass
    needs: [plain, json]
    job: {id: JOB}
    parameter: "${{ steps.plain.output.given }} ${{ steps.json.message }} ${{ secrets.PASSWORD }}"
  - id: broken
    needs: [pass]
    job: {id: JOB}
    parameter: "fail ${{ secrets.PASSWORD }}"
  - id: asked
    if: always()
    needs: [broken]
    approve: {message: "Pay, ${{ steps.plain.output.given }}, ${{ steps.broken.message }}?"}
`, "JOB", fmt.Sprint(job.ID))
		asks := strings.Replace(source, "Pay,", "Pay by ${{ secrets.PASSWORD }},", 1)
		if got := c.do("POST", "/jobs", fmt.Sprintf(`{"group_id":%s,"description":"flow","author":"a","kind":"FLOW","script":%q}`, number, asks)); got.status != http.StatusUnprocessableEntity ||
			!strings.Contains(got.body, "asked, message (line 24)") {
			t.Errorf("a question with a secret: %d %s", got.status, got.body)
		}
		var flow struct{ ID int64 }
		c.json(http.StatusCreated, &flow, "POST", "/jobs", fmt.Sprintf(`{"group_id":%s,"description":"flow","author":"a","kind":"FLOW","script":%q}`, number, source))
		page := root.runOnce(fmt.Sprintf("/jobs/%d", flow.ID), url.Values{"param": {"of the flow"}})
		eventually(t, "it asks", func() bool { return strings.Contains(root.get(page).body, "at-approval") })
		runs := dbtest.Column(t, a.pool, "SELECT id FROM xxl_job_log ORDER BY id")
		if len(runs) < 7 {
			t.Errorf("%d runs", len(runs))
		}
		eventually(t, "a failure is told to a webhook and by an alarm", func() bool {
			return strings.Contains(told.String(), "POST /"+word+"?token=") && strings.Contains(told.String(), "POST /"+word+" HTTP")
		})

		shown := dbtest.EveryColumn(t, a.pool)
		shown["the log"], shown["what programs were told"] = log.String(), strings.NewReplacer("/"+word, "", "?token="+word, "").Replace(told.String()) // the address is theirs
		found := make(map[string]bool)                                                                                                                  // each kind of page, once one was answered
		see := func(kind, what string, got answer) {
			shown[what], found[kind] = got.body, found[kind] || got.status == http.StatusOK
		}
		for _, path := range []string{
			page, group, group + "/edit", "/executors", group + "/lineage", "/jobs", "/runs", "/jobs/export/file", "/audit", "/audit/export?format=csv", "/audit/export?format=jsonl", "/alarms", "/alarms/1", "/alarms/messages",
			"/webhooks", "/xxl-job-admin/joblog/pageList?jobGroup=" + number + "&jobId=0&logStatus=-1&filterTime=", "/xxl-job-admin/jobinfo/pageList?jobGroup=" + number, "/metrics", "/nodes",
		} {
			see(path, path, root.get(path))
		}
		for _, id := range []int64{job.ID, flow.ID} {
			for _, part := range []string{"", "/edit", "/run", "/glue", "/account"} {
				see("/jobs/#"+part, fmt.Sprintf("/jobs/%d%s", id, part), root.get(fmt.Sprintf("/jobs/%d%s", id, part)))
			}
		}
		for _, id := range runs {
			for _, part := range []string{"", "/log", "/log?from=1&download=1", "/kill", "/rerun", "/steps/each"} {
				see("/runs/#"+part, "/runs/"+id+part, root.get("/runs/"+id+part))
			}
			for _, part := range []string{"", "/output", "/notes", "/steps/each/items"} {
				see("API /runs/#"+part, "API /runs/"+id+part, c.do("GET", "/runs/"+id+part, ""))
			}
		}
		for _, path := range []string{"/jobs", "/jobs/export?group_id=" + number, "/runs", "/audit", "/webhooks", "/alarms/channels", "/settings"} {
			see("API "+path, "API "+path, c.do("GET", path, ""))
		}
		client := func(kind string, args ...string) {
			out, err := punctual(t, append(args, "--url", c.base, "--token", c.token)...)
			shown[strings.Join(args, " ")], found["punctual "+kind] = out+fmt.Sprint(err), found["punctual "+kind] || err == nil && out != ""
		}
		for _, as := range []string{"table", "wide", "json", "yaml", "name"} {
			client("jobs list", "jobs", "list", "-o", as)
			client("runs list", "runs", "list", "-o", as)
			for _, id := range []int64{job.ID, flow.ID} {
				client("jobs show", "jobs", "show", fmt.Sprint(id), "-o", as)
			}
			for _, id := range runs {
				client("runs show", "runs", "show", id, "-o", as)
				client("runs why", "runs", "why", id, "-o", as)
				client("runs steps", "runs", "steps", id, "-o", as)
				client("runs steps each", "runs", "steps", id, "each", "-o", as)
			}
		}
		for _, id := range runs {
			client("runs logs", "runs", "logs", id)
		}
		client("jobs export", "jobs", "export")
		client("jobs export --format json", "jobs", "export", "--format", "json")
		for kind, is := range found {
			if !is {
				t.Errorf("nothing is shown at %s", kind)
			}
		}
		for what, text := range shown {
			for _, word := range words {
				if at := strings.Index(text, word); at >= 0 {
					t.Errorf("%s shows the secret: …%s", what, text[max(0, at-120):at+len(word)])
				}
			}
		}
		if !strings.Contains(shown[page], "***") || !strings.Contains(strings.Join(dbtest.Column(t, a.pool, "SELECT handle_msg FROM xxl_job_log WHERE handle_code = 500"), ""), "***") {
			t.Error("where the secret stood there is nothing")
		}
	})
}
