package app

import (
	"encoding/csv"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auditlog"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
)

// audited are the entries of an action, oldest first, as "user address kind name after".
func audited(t *testing.T, a *App, action string) []string {
	t.Helper()
	list, err := db.FindWholeAudit(t.Context(), a.pool, db.AuditFilter{Action: action}, 0, 1<<62, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, 0, len(list))
	for _, e := range list {
		lines = append([]string{fmt.Sprintf("%s %s %s %s %s", e.UserName, e.Address, e.ObjectKind, e.ObjectName, e.AfterJSON)}, lines...)
	}
	return lines
}

func wantAudited(t *testing.T, a *App, action string, want ...string) {
	t.Helper()
	if got := audited(t, a, action); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant\n%s", action, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWhoIsNotLetInIsOnRecord(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a)
		for range 4 {
			b.login("admin", "wrong-horse")
		}
		s := starter{b, "/xxl-job-admin"}
		s.refused("/login", url.Values{"userName": {"root"}, "password": {"123456"}}, "")
		b.login(" ev\u202eil\n\x00<b>", "x")
		wantAudited(t, a, "login_refused", `admin 127.0.0.1 user admin {"reason":"wrong"}`, `root 127.0.0.1 user root {"reason":"wrong"}`, `evil<b> 127.0.0.1 user evil<b> {"reason":"wrong"}`)
		a.audit.FlushCounted(t.Context(), true)
		if got := audited(t, a, "login_refused"); len(got) != 4 || got[3] != `admin 127.0.0.1 user admin {"reason":"wrong","times":3}` {
			t.Errorf("afterwards: %v", got)
		}
	})
}

// TestAnAttackDoesNotFillTheAuditLog has names that are all different.
func TestAnAttackDoesNotFillTheAuditLog(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	b := open(t, a)
	for i := range 400 {
		b.login(fmt.Sprintf("name%d", i), "x")
		b.do("POST", fmt.Sprintf("/nowhere%d", i), url.Values{}, "Origin", "http://evil.example")
	}
	a.audit.FlushCounted(t.Context(), true)
	logins := audited(t, a, "login_refused")
	if n := len(logins) + len(audited(t, a, "refused")); n > 210 {
		t.Errorf("%d entries", n)
	}
	if last := logins[len(logins)-1]; !strings.Contains(last, `"times":`) {
		t.Errorf("how many more is not said: %s", last)
	}
}

func TestWhatIsRefusedIsOnRecord(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		ann := normalUser(t, a)
		ann.get("/users")
		ann.get("/users")
		ann.do("GET", "/audit/7", nil, "Accept", "application/json")
		s := starter{ann, "/xxl-job-admin"}
		s.refused("/user/pageList", url.Values{}, "")
		open(t, a).get("/users") // sent to the login, which is no refusal
		wantAudited(t, a, "refused", `ann 127.0.0.1 request GET /users {"path":"/users"}`, `ann 127.0.0.1 request GET /audit/:id {"path":"/audit/7"}`,
			`ann 127.0.0.1 request POST /xxl-job-admin/user/pageList {"path":"/xxl-job-admin/user/pageList"}`)
		root := open(t, a).mustLogin()
		if page := root.get("/audit?action=refused").body; !strings.Contains(page, "GET /audit/:id") {
			t.Error("the page does not show it")
		}
	})
}

func TestLeavingIsOnRecord(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		b.post("/logout", url.Values{})
		b.post("/logout", url.Values{}) // nobody is there any more
		s := loggedIn(t, a)
		s.must("/logout", "content", url.Values{})
		wantAudited(t, a, "logout", "admin 127.0.0.1 user admin ", "admin 127.0.0.1 user admin ")
	})
}

func TestANewExecutorsAddressIsOnRecordOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		p := program{t, a.Welcome().URL, o.AccessToken}
		one := `{"registryGroup":"EXECUTOR","registryKey":"orders","registryValue":"http://10.0.0.1:9999/"}`
		for range 2 {
			p.must("registry", one)
			p.must("registry", one)
			p.must("registryRemove", one)
		}
		p.must("registry", strings.Replace(one, "0.1:", "0.2:", 1))
		p.must("registry", strings.Replace(one, "orders", "stock", 1))
		wantAudited(t, a, "register", `  address http://10.0.0.1:9999/ {"app_name":"orders"}`, `  address http://10.0.0.2:9999/ {"app_name":"orders"}`, `  address http://10.0.0.1:9999/ {"app_name":"stock"}`)
	})
}

func TestTheAuditLogIsExported(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		for _, title := range []string{"=HYPERLINK(\"http://evil.example\")", "@sum", "plain, \"quoted\""} {
			name := fmt.Sprintf("group%d", len(title))
			if got := root.post("/executors", url.Values{"app_name": {name}, "title": {title}, "type": {"auto"}}); got.status != http.StatusSeeOther {
				t.Fatalf("create group: %d", got.status)
			}
		}
		if _, err := db.New().InsertAudit(t.Context(), a.pool, db.InsertAuditParams{MadeAt: time.Now().UnixMilli(), UserName: "+eve", Action: "create", ObjectKind: "group", ObjectName: "-1+1", GroupID: 2}); err != nil {
			t.Fatal(err)
		}
		got := root.get("/audit/export?format=csv&action=create")
		if !strings.HasPrefix(got.header.Get("Content-Type"), "text/csv") || !strings.HasPrefix(got.header.Get("Content-Disposition"), `attachment; filename="audit-`) {
			t.Fatalf("%d %v", got.status, got.header)
		}
		rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(got.body, "\ufeff"))).ReadAll()
		if err != nil || len(rows) != 5 || rows[0][3] != "user" || rows[1][3] != "'+eve" || rows[1][9] != "'-1+1" || rows[2][9] != `plain, "quoted"` {
			t.Fatalf("%v, %v", rows, err)
		}
		for _, row := range rows[1:] {
			for _, cell := range row {
				if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") {
					t.Errorf("a spreadsheet takes %q for a formula", cell)
				}
			}
		}
		lines := strings.Split(strings.TrimSpace(root.get("/audit/export?format=jsonl&action=create&group=2").body), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], `"user":"+eve"`) || !strings.Contains(lines[1], `"name":"@sum"`) {
			t.Errorf("of a group: %v", lines)
		}
		if got := root.post("/jobs", form(nil)); got.status != http.StatusSeeOther {
			t.Fatalf("create job: %d", got.status)
		}
		if got := root.get("/jobs/export/file"); got.status != http.StatusOK {
			t.Errorf("export jobs: %d", got.status)
		}
		exports := strings.Join(audited(t, a, "export"), "\n")
		since := regexp.MustCompile(`"since":"([^"]+)"`)
		for _, m := range since.FindAllStringSubmatch(exports, -1) {
			if at, err := time.Parse(time.RFC3339, m[1]); err != nil || time.Since(at) < 24*time.Hour {
				t.Errorf("exported since %q, want what the page showed: %v", m[1], err)
			}
		}
		if got, want := since.ReplaceAllString(exports, `"since":"x"`), `admin 127.0.0.1 audit  {"action":"create","format":"csv","since":"x"}
admin 127.0.0.1 audit  {"action":"create","format":"jsonl","group":2,"since":"x"}
admin 127.0.0.1 job  {"jobs":1}`; got != want {
			t.Errorf("export:\n%s\nwant\n%s", got, want)
		}
		page := root.get("/audit?group=2").document(t)
		if n := page.Find(".table tbody tr").Length(); n != 2 || page.Find(`a[href*="/audit/export"][href*="group=2"]`).Length() != 2 {
			t.Errorf("%d entries of the group", n)
		}
	})
}

// TestTheAuditLogIsShippedAndVerified goes through the whole: an act, its line in a file, the check, a forgery, the check.
func TestTheAuditLogIsShippedAndVerified(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		file := filepath.Join(t.TempDir(), "audit.jsonl")
		o.AuditShip = "file://" + file
		a := start(t, o)
		open(t, a).mustLogin()
		executortest.Eventually(t, "entry in the file", func() error {
			text, err := os.ReadFile(file)
			if err == nil && !(strings.Contains(string(text), `"action":"login"`) && strings.HasSuffix(string(text), "\n")) {
				err = fmt.Errorf("there is %q", text)
			}
			return err
		})
		o.Listener, o.DatabaseURL = nil, a.opts.DatabaseURL
		check := func() *auditlog.Report {
			t.Helper()
			r, err := VerifyAudit(t.Context(), o, auditlog.Place{})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := check(); r.Fault != nil || r.Entries == 0 {
			t.Errorf("%+v %+v", r, r.Fault)
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_audit SET user_name = 'eve' WHERE action = 'login'"); err != nil {
			t.Fatal(err)
		}
		if r := check(); r.Fault == nil || r.Fault.Why != auditlog.Changed {
			t.Errorf("%+v", r.Fault)
		}
	})
}

// TestThePageSaysThatTheAuditLogIsNotShipped has a collector that shows a certificate of somebody else.
func TestThePageSaysThatTheAuditLogIsNotShipped(t *testing.T) {
	t.Parallel()
	collector := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(collector.Close)
	collector.Config.ErrorLog = log.New(io.Discard, "", 0)
	o := testOptions(t)
	o.AuditShip = "syslog+tls://" + collector.Listener.Addr().String()
	a := start(t, o)
	b := open(t, a).mustLogin()
	executortest.Eventually(t, "notice that nothing is shipped", func() error {
		said := b.get("/audit").document(t).Find(".notice").Text()
		if !strings.Contains(said, o.AuditShip+" has taken no entries since") || !strings.Contains(said, "certificate") {
			return fmt.Errorf("the page says %q", said)
		}
		return nil
	})
}
