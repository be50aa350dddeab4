package app

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor/wire"
)

// executorCalls are what executors send about a group and its run, a line for each method of [openapi.API] that is not for jobs.
var executorCalls = map[string]func(t *testing.T, group string, run int64) string{
	"registry":       registration,
	"registryRemove": registration,
	"declare": func(_ *testing.T, group string, _ int64) string {
		return `{"registryKey":"` + group + `","jobs":[]}`
	},
	"callback": func(_ *testing.T, _ string, run int64) string {
		return fmt.Sprintf(`[{"logId":%d,"logDateTim":1,"handleCode":200}]`, run)
	},
	"output": func(t *testing.T, _ string, run int64) string {
		t.Helper()
		body, err := wire.EncodeOutputs([]wire.PushedOutput{{LogID: run, Head: "forged\n"}})
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	},
	"pull": func(_ *testing.T, group string, _ int64) string {
		return `{"registryKey":"` + group + `","registryValue":"pull://box","instance":"i","pull":"p","max":1,"wait":0}`
	},
}

func registration(_ *testing.T, group string, _ int64) string {
	return `{"registryGroup":"EXECUTOR","registryKey":"` + group + `","registryValue":"http://10.1.2.3:1/"}`
}

// TestPermissionOfExecutors: for a group that has a token of its own nobody speaks who does not know that, by any method and under both
// paths; what is refused changes nothing.
func TestPermissionOfExecutors(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("openapi/api.go")
	if err != nil {
		t.Fatal(err)
	}
	_, methods, _ := strings.Cut(string(source), "switch name {")
	methods, _, _ = strings.Cut(methods, "jobMethods[name]")
	for _, m := range regexp.MustCompile(`case "(\w+)":`).FindAllStringSubmatch(methods, -1) {
		if executorCalls[m[1]] == nil {
			t.Errorf("%s has no line in executorCalls: say what it is asked with", m[1])
		}
	}
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		admin := open(t, a).mustLogin()
		token := func(group string, id int) string {
			t.Helper()
			if id > 1 {
				if got := admin.post("/executors", url.Values{"app_name": {group}, "title": {group}, "type": {"auto"}}); got.status != http.StatusSeeOther {
					t.Fatalf("create group: %d %s", got.status, got.body)
				}
			}
			page := fmt.Sprintf("/executors/%d", id)
			if got := admin.post(page+"/token/rotate", url.Values{"grace": {"0"}}); got.status != http.StatusSeeOther {
				t.Fatalf("a token of its own: %d %s", got.status, got.body)
			}
			return admin.get(page + "?token=show").document(t).Find("#token-value").Text()
		}
		own, others := token("orders", 1), token("stock", 2)
		run := things(t, a, 1, "orders").run
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET trigger_code = 200 WHERE id = ?", run); err != nil {
			t.Fatal(err)
		}
		counts := func() string {
			t.Helper()
			var registered, seen, outputs, ended int
			for query, into := range map[string]*int{
				"SELECT COUNT(*) FROM xxl_job_registry WHERE registry_value IN ('http://10.1.2.3:1/', 'pull://box')": &registered, "SELECT COUNT(*) FROM punctual_pull_seen WHERE address = 'pull://box'": &seen,
				"SELECT COUNT(*) FROM punctual_output": &outputs, "SELECT COUNT(*) FROM xxl_job_log WHERE handle_code <> 0": &ended,
			} {
				if err := a.pool.QueryRowContext(t.Context(), query).Scan(into); err != nil {
					t.Fatal(err)
				}
			}
			return fmt.Sprint(registered, seen, outputs, ended)
		}
		send := func(prefix, method, token string) string {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.base+prefix+method, strings.NewReader(executorCalls[method](t, "orders", run)))
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
		names := slices.Sorted(maps.Keys(executorCalls))
		before := counts()
		for _, prefix := range []string{"/api/", "/xxl-job-admin/api/"} {
			for _, name := range names {
				for whose, token := range map[string]string{"no token": "", "a guessed one": "guessed", "another group's": others, "the common one": o.AccessToken} {
					got := send(prefix, name, token)
					if name == "callback" && whose != "no token" && whose != "a guessed one" {
						continue // the result is dropped and noted; refused, an executor would repeat it for ever
					}
					if !strings.Contains(got, `"code":500`) || !strings.Contains(got, "token") {
						t.Errorf("%s%s with %s: %s", prefix, name, whose, got)
					}
				}
			}
		}
		if after := counts(); after != before {
			t.Errorf("what was refused changed something: %s, then %s", before, after)
		}
		for _, name := range names {
			if got := send("/api/", name, own); strings.Contains(got, "token is wrong") {
				t.Errorf("%s with the group's own: %s", name, got)
			}
		}
		if after := counts(); after == before {
			t.Errorf("what the group's own executors sent changed nothing: %s", after)
		}
	})
}
