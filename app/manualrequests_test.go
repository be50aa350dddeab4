package app

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/scheduler/event"
)

// asked runs a request of the manual in a shell, and returns what came back.
func asked(t *testing.T, dir, command string, env ...string) string {
	t.Helper()
	run := exec.CommandContext(t.Context(), "bash", "-c", strings.Replace(command, "curl ", "curl --silent --show-error --fail-with-body ", 1))
	run.Dir, run.Env = dir, append(os.Environ(), env...)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Errorf("%s%v: %s", command, err, out)
	}
	return string(out)
}

// TestTheRequestsOfXXLJobsPrograms runs those of docs/operations.md and docs/migration.md, for programs that were written for XXL-JOB: what they name
// is there.
func TestTheRequestsOfXXLJobsPrograms(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is missing")
	}
	for _, folder := range []string{"", "zh-CN/"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			a, c := apiCaller(t, testOptions(t))
			for i := range 7 {
				c.json(201, &struct{}{}, "POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":"close day %d","author":"ann","handler":"closeDay","schedule":"CRON","cron":"0 0 2 * * ?"}`, i))
			}
			form := url.Values{"name": {"deploy"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.view", "1.run", "1.edit", "1.schedule"}}
			if got := open(t, a).mustLogin().post("/users", form); got.status != http.StatusSeeOther {
				t.Fatalf("create user: %d %s", got.status, got.body)
			}
			commands, dir := slices.Concat(curls(t, folder+"operations.md"), curls(t, folder+"migration.md")), t.TempDir()
			if len(commands) != 4 {
				t.Fatalf("%d requests were found: %q", len(commands), commands)
			}
			for _, command := range commands {
				command = strings.NewReplacer("http://localhost:8080", c.base, "localhost:8080", c.base, "password=…", "password="+testPassword).Replace(command)
				want := `"code":200,`
				if strings.Contains(command, "pageList") {
					want = `"recordsTotal":7,`
				}
				if said := asked(t, dir, command, "TOKEN="+c.token); !strings.Contains(said, want) {
					t.Errorf("%s%s", command, said)
				}
			}
		})
	}
}

// TestTheReportOfTheManual ends a run by the request of docs/http-jobs.md.
func TestTheReportOfTheManual(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is missing")
	}
	site := newAsyncSite(t)
	a := start(t, withAsync(testOptions(t), site))
	for _, page := range []string{"http-jobs.md", "zh-CN/http-jobs.md"} {
		commands := curls(t, page)
		if len(commands) != 1 {
			t.Fatalf("%s has the requests %q", page, commands)
		}
		r, address := asyncRun(t, a, site, httpJob(t, a, httpcall.Call{URL: site.URL + "/work", Method: http.MethodPost, Async: true}, limited))
		asked(t, t.TempDir(), commands[0], "PUNCTUAL_CALLBACK="+address)
		if r = runNow(t, a, r.ID); r.Outcome != event.Succeeded || !strings.Contains(string(r.HandleMsg), "42") {
			t.Errorf("%s: the run is %v %q", page, r.Outcome, r.HandleMsg)
		}
	}
}
