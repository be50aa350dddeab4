package app

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth/directory/directorytest"
	"github.com/punctual-job/punctual/db"
)

// TestAnAuditorSeesAllAndChangesNothing: who did what, who may do what, since when; in the console, as files and by the API.
func TestAnAuditorSeesAllAndChangesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := directorytest.NewOIDC(t)
		cfg := company(t, p)
		cfg.OIDC[0].Rules[1].Role, cfg.OIDC[0].Rules[1].Rights = "auditor", nil // those of the group watch
		o.SignIn = cfg
		a := start(t, o)
		root := open(t, a).mustLogin()
		orders(t, a)
		if got := root.post("/users", url.Values{"name": {"mina"}, "password": {testPassword}, "role": {"user"}, "state": {"disabled"}, "right": {"1.run", "2.view"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %.300s", got.status, got.body)
		}
		if got := root.post("/teams", url.Values{"name": {"night, shift"}, "member": {"2"}, "right": {"2.edit"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create team: %d %.300s", got.status, got.body)
		}
		p.SetUser(member("wang", "watch"))
		wang := open(t, a)
		if got := wang.signIn(); got.status != http.StatusSeeOther {
			t.Fatalf("sign in: %d %.300s", got.status, got.body)
		}
		if jobs := wang.get("/jobs").body; !strings.Contains(jobs, "plain") || !strings.Contains(jobs, secret) {
			t.Error("an auditor does not see all jobs")
		}
		for _, path := range []string{"/users", "/teams", "/tokens?of=all", "/audit"} {
			got := wang.get(path)
			page := got.document(t).Find("main")
			if got.status != http.StatusOK || page.Find(`form[method="post"]`).Length() != 0 {
				t.Errorf("%s: %d, %d forms", path, got.status, page.Find("form").Length())
			}
			page.Find("a[href]").Each(func(_ int, link *goquery.Selection) {
				href, _ := link.Attr("href")
				if strings.HasPrefix(href, "/docs") || strings.HasPrefix(href, "/jobs") || strings.HasPrefix(href, "/executors") {
					return
				}
				if leads := wang.get(href).status; leads != http.StatusOK && leads != http.StatusSeeOther {
					t.Errorf("%s leads to %s: %d", path, href, leads)
				}
			})
		}
		if text := wang.get("/profile").document(t).Find("main").Text(); !strings.Contains(text, "Auditor") {
			t.Errorf("the profile does not name the role: %.300s", text)
		}

		if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO punctual_factor (user_id, kind, name, secret, last_step, created_at) SELECT id, 'code', 'phone', '', 0, 1 FROM xxl_job_user WHERE username = 'mina'"); err != nil {
			t.Fatal(err)
		}
		without := map[string]bool{}
		wang.get("/users").document(t).Find("tbody tr").Each(func(_ int, row *goquery.Selection) {
			without[row.Find(".title").Text()] = strings.Contains(row.Find(".sub").Text(), "no second factor")
		})
		if !without["admin"] || without["mina"] || !without["u1j1"] || without["wang"] {
			t.Errorf("without a second factor are, in the list, %v", without)
		}
		file := wang.get("/users/rights")
		rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(file.body, "\ufeff"))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, row := range rows[1:] {
			lines = append(lines, strings.Join(slices.Delete(row, 7, 8), "|")) // without the time
		}
		want := []string{
			"admin|admin|active|||||*|view run schedule edit glue|admin",
			"mina|user|disabled||||yes|orders|view run|", "mina|user|disabled||||yes|stock|view|", "u1j1|user|active|||||stock|view edit|night, shift", "u2j2|user|active|||||||",
		}
		for _, line := range want {
			if !slices.Contains(lines, line) {
				t.Errorf("the file of rights lacks %s: %s", line, strings.Join(lines, "\n"))
			}
		}
		if !slices.ContainsFunc(lines, func(line string) bool { return line == "wang|auditor|active|company||||*|view|auditor" }) {
			t.Errorf("the file of rights lacks the auditor: %s", strings.Join(lines, "\n"))
		}
		if text := wang.get("/audit?action=export&kind=user").document(t).Find("tbody tr").Text(); !strings.Contains(text, "wang") {
			t.Errorf("the audit log does not know of the file: %s", text)
		}

		// By a token, whose scope is what the auditor chose; of one group it is no auditor's.
		whole := makeToken(t, wang, url.Values{"name": {"review"}, "scope": {"view"}, "days": {"7"}})
		narrow := makeToken(t, wang, url.Values{"name": {"orders"}, "scope": {"view"}, "groups": {"1"}, "days": {"7"}})
		for token, status := range map[string]int{whole: http.StatusOK, narrow: http.StatusForbidden} {
			c := &caller{t: t, base: wang.base, token: token}
			got := map[string]int{}
			for _, path := range []string{"/audit", "/users", "/teams", "/settings"} {
				got[path] = c.do("GET", path, "").status
			}
			if diff := cmp.Diff(map[string]int{"/audit": status, "/users": status, "/teams": status, "/settings": status}, got); diff != "" {
				t.Errorf("by a token (-want +got):\n%s", diff)
			}
			if got := c.do("GET", "/jobs", ""); strings.Contains(got.body, secret) != (status == http.StatusOK) || !strings.Contains(got.body, "plain") {
				t.Errorf("the jobs by a token: %d %.200s", got.status, got.body)
			}
		}

		// Whoever is none any more sees none of it.
		p.SetUser(member("wang", "ops"))
		wang.signIn()
		for _, path := range []string{"/users", "/audit", "/users/rights"} {
			if got := wang.get(path).status; got != http.StatusForbidden {
				t.Errorf("no auditor any more, %s: %d", path, got)
			}
		}
	})
}

// TestTheAuditLogIsNarrowedToEveryUser: names that strangers type at the login are in the log too, and must not crowd out those of users.
func TestTheAuditLogIsNarrowedToEveryUser(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		for i := range 250 {
			_, err := db.New().InsertAudit(t.Context(), a.pool, db.InsertAuditParams{UserName: fmt.Sprintf("aaa%d", i), Action: "login_refused", ObjectKind: "user"})
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := root.post("/users", url.Values{"name": {"zoey"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %.300s", got.status, got.body)
		}
		open(t, a).login("zoey", testPassword)
		options := root.get("/audit").document(t).Find(`select[name="user"] option`)
		for _, name := range []string{"admin", "zoey", "aaa0"} {
			if options.Filter(`[value="`+name+`"]`).Length() != 1 {
				t.Errorf("the log cannot be narrowed to %s", name)
			}
		}
	})
}
