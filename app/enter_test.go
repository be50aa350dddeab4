package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestEnterSavesAForm has browsers in mind, which take Enter in a field for a press of the form's first button: where there are
// others, that is not one of them.
func TestEnterSavesAForm(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		for _, name := range []string{"jonas", "mina"} {
			if got := root.post("/users", url.Values{"name": {name}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}); got.status != http.StatusSeeOther {
				t.Fatalf("create %s: %d", name, got.status)
			}
		}
		for path, other := range map[string]string{"/users/new": "[name=do]", "/teams/new": "[name=do]", "/alarms/new?kind=dingtalk": "[formaction]"} {
			doc := root.get(path).document(t)
			buttons := doc.Find("form.form button").Not("[type=button]")
			if first := buttons.First(); buttons.Filter(other).Length() != 1 || first.Is("[name], [formaction]") {
				t.Errorf("%s: of %d buttons the first is %q", path, buttons.Length(), first.Text())
			}
		}

		// A service account has no password, also in a form that was refused.
		if got := root.post("/tokens/accounts", url.Values{"name": {"deploys"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create an account: %d", got.status)
		}
		var id string
		if err := a.pool.QueryRowContext(t.Context(), "SELECT id FROM xxl_job_user WHERE username = 'deploys'").Scan(&id); err != nil {
			t.Fatal(err)
		}
		form := formOf(root.get("/users/" + id + "/edit").document(t))
		form.Set("version", "another")
		refused := root.post("/users/"+id, form)
		if refused.status < 400 || strings.Contains(string(refused.body), "/users/"+id+"/password") {
			t.Errorf("%d: the form of a service account offers a password", refused.status)
		}
	})
}
