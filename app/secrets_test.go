package app

import (
	"bytes"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// TestASecretIsWrittenAndNeverShown sets one by the form, also a wrong one, uses it in a job, and looks for its value in every page,
// file and answer that could have it.
func TestASecretIsWrittenAndNeverShown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.SecretKeys = []string{secretOne}
		a := start(t, o)
		root := open(t, a).mustLogin()
		group := url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}}
		if got := root.post("/executors", group); got.status != http.StatusSeeOther {
			t.Fatalf("create group: %d %s", got.status, got.body)
		}
		page := "/executors/1/secrets"
		if wrong := root.post(page, url.Values{"name": {"not-a-name"}, "value": {secret}}); wrong.status != http.StatusUnprocessableEntity || strings.Contains(wrong.body, secret) {
			t.Errorf("a form that comes back: %d, with the value: %v", wrong.status, strings.Contains(wrong.body, secret))
		}
		if got := root.post(page, url.Values{"name": {"PASSWORD"}, "value": {secret}}); got.status != http.StatusSeeOther {
			t.Fatalf("set: %d %s", got.status, got.body)
		}
		form := starter{root, "/xxl-job-admin"}
		job := form.must("/jobinfo/add", "content", with(jobForm("1", "h"), "executorParam", "${{ secrets.PASSWORD }}")).(string)
		shown := make(map[string]string)
		for _, path := range []string{
			page, "/executors/1", "/executors/1/edit", "/jobs", "/jobs/" + job + "/edit", "/jobs/" + job + "/run", "/jobs/new?copy=" + job, "/jobs/export/file", "/audit", "/audit/export?format=csv",
			"/audit/export?format=jsonl", "/palette?q=PASSWORD", "/xxl-job-admin/jobinfo/pageList?jobGroup=1",
		} {
			got := root.get(path)
			if got.status != http.StatusOK {
				t.Errorf("%s: %d", path, got.status)
			}
			shown[path] = got.body
		}
		for entry := range 20 {
			shown["audit entry "+strconv.Itoa(entry)] = root.get("/audit/" + strconv.Itoa(entry)).body
		}
		for what, text := range shown {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows the secret", what)
			}
		}
		if !strings.Contains(shown[page], "PASSWORD") || !strings.Contains(shown["/jobs/"+job+"/edit"], "${{ secrets.PASSWORD }}") {
			t.Error("the name of the secret is not where it is looked for")
		}
	})
}

// TestSecretsAreSetByPrograms sets, lists and deletes secrets as a pipeline does, which names a group by its app name.
func TestSecretsAreSetByPrograms(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.SecretKeys = []string{secretOne}
		_, c := apiCaller(t, o) // with the group orders
		do := func(typed string, args ...string) (string, error) {
			var out bytes.Buffer
			err := punctualReading(t, typed+"\n", &out, append(args, "--url", c.base, "--token", c.token)...)
			return out.String(), err
		}
		says := func(want, typed string, args ...string) {
			t.Helper()
			if out, err := do(typed, args...); err != nil || !strings.Contains(out, want) || strings.Contains(out, secret) {
				t.Errorf("%v: %v\n%s", args, err, out)
			}
		}
		says("db_password: set", secret, "secrets", "set", "orders", "db_password")
		says("DB_PASSWORD", "", "secrets", "list", "orders")
		says("DB_PASSWORD: set", secret+"2", "secrets", "set", "1", "DB_PASSWORD")
		says("DB_PASSWORD\n", "", "secrets", "list", "1", "-o", "name")
		var listed struct {
			Items []struct {
				Name      string
				ChangedBy string `json:"changed_by"`
			}
		}
		if got := c.json(http.StatusOK, &listed, "GET", "/groups/1/secrets", ""); len(listed.Items) != 1 || listed.Items[0].Name != "DB_PASSWORD" || listed.Items[0].ChangedBy == "" || strings.Contains(got.body, secret) {
			t.Errorf("listed: %s", got.body)
		}
		for _, wrong := range []struct{ body, field string }{{`{"name":"not-a-name","value":"long enough"}`, "name"}, {`{"name":"A","value":"abc"}`, "value"}} {
			var r refusal
			if c.json(http.StatusUnprocessableEntity, &r, "POST", "/groups/1/secrets", wrong.body); len(r.Errors) != 1 || r.Errors[0].Field != wrong.field {
				t.Errorf("%s: %+v", wrong.body, r)
			}
		}
		if out, err := do("", "secrets", "set", "orders", "EMPTY"); err == nil {
			t.Errorf("nothing was set: %s", out)
		}
		if _, err := do(secret, "secrets", "set", "nowhere", "A"); err == nil || !strings.Contains(err.Error(), "punctual executors") {
			t.Errorf("a group that there is not: %v", err)
		}
		says("DB_PASSWORD: deleted", "", "secrets", "delete", "orders", "DB_PASSWORD")
		if out, err := do("", "secrets", "delete", "orders", "DB_PASSWORD"); err == nil {
			t.Errorf("deleted twice: %s", out)
		}
	})
}
