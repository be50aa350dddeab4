package app

import (
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
