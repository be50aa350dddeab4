package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// adopted makes a database look like one that was XXL-JOB's.
func adopted(t *testing.T, a *App) {
	t.Helper()
	for _, statement := range []string{
		"INSERT INTO xxl_job_group (id, app_name, title) VALUES (1, 'orders', 'Orders')",
		"INSERT INTO punctual_adoption (id, release_line, adopted_at, checked_at, backoffs) VALUES (1, '2.3', 1770000000000, 1770000000000, 12)",
		"INSERT INTO xxl_job_info (id, job_group, job_desc, schedule_type, schedule_conf, glue_type, trigger_status) VALUES (77, 1, 'odd one', 'CRON', '0 0 2 * * ? * *', 'BEAN', 0)",
		"INSERT INTO punctual_adopted_job (job_id, finding, schedule_type, schedule_conf) VALUES (77, 'fields', 'CRON', '0 0 2 * * ? * *')",
	} {
		if _, err := a.pool.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheWayBack to XXL-JOB stays open for everybody until an administrator ends it: passwords are what its admin reads.
func TestTheWayBack(t *testing.T) {
	t.Parallel()
	const md5of123456 = "e10adc3949ba59abbe56e057f20f883e"
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		if got := root.get("/adoption"); got.status != http.StatusNotFound {
			t.Errorf("the page of a database that never was XXL-JOB's: %d", got.status)
		}
		adopted(t, a)
		if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO xxl_job_user (username, password, role) VALUES ('legacy', ?, 0)", md5of123456); err != nil {
			t.Fatal(err)
		}
		stored := func(name string) (password string) {
			t.Helper()
			if err := a.pool.QueryRowContext(t.Context(), "SELECT password FROM xxl_job_user WHERE username = ?", name).Scan(&password); err != nil {
				t.Fatal(err)
			}
			return password
		}
		legacy := open(t, a)
		if got := legacy.login("legacy", "123456"); got.status != http.StatusSeeOther || stored("legacy") != md5of123456 {
			t.Errorf("a login: %d, and the password is kept as %q", got.status, stored("legacy"))
		}
		chosen := url.Values{"old_password": {"123456"}, "password": {"my-own-lamp-otter"}, "repeat": {"my-own-lamp-otter"}}
		if got := legacy.post("/profile/password", chosen); got.status != http.StatusSeeOther || len(stored("legacy")) != len(md5of123456) {
			t.Errorf("a new password: %d, kept as %q", got.status, stored("legacy"))
		}
		if got := root.post("/users", url.Values{"name": {"jonas"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}); got.status != http.StatusSeeOther || len(stored("jonas")) != len(md5of123456) {
			t.Errorf("a new user: %d, kept as %q", got.status, stored("jonas"))
		}
		for _, page := range []string{"/users", "/nodes"} {
			if root.get(page).document(t).Find(`.notice a[href="/adoption"]`).Length() != 1 {
				t.Errorf("%s says nothing of the way back", page)
			}
		}
		page := root.get("/adoption").document(t)
		if text := page.Find("main").Text(); !strings.Contains(text, "2.3.0–2.4.2") || !strings.Contains(text, "MD5") || !strings.Contains(text, "odd one") || !strings.Contains(text, "12 jobs") || !strings.Contains(text, "deleted after 30 days") {
			t.Errorf("the page: %s", text)
		}
		if got := legacy.get("/adoption"); got.status != http.StatusForbidden {
			t.Errorf("somebody else's look at it: %d", got.status)
		}
		if got := root.post("/adoption/finish", url.Values{}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("without being sure: %d", got.status)
		}
		if got := root.post("/adoption/finish", url.Values{"sure": {"1"}}); got.status != http.StatusSeeOther {
			t.Fatalf("finish: %d %s", got.status, got.body)
		}
		if root.get("/users").document(t).Find(`.notice a[href="/adoption"]`).Length() != 0 {
			t.Error("the users page still speaks of the way back")
		}
		again := open(t, a)
		if got := again.login("legacy", "my-own-lamp-otter"); got.status != http.StatusSeeOther || !strings.HasPrefix(stored("legacy"), "$argon2id$") {
			t.Errorf("a login after it: %d, kept as %q", got.status, stored("legacy"))
		}
		if root.get("/audit?kind=adoption").document(t).Find("tbody tr").Length() != 1 {
			t.Error("it is not in the audit log")
		}
	})
}

// TestAlarmMailsThatNobodySends are said above every page of administrators, and in the form of a job, until a channel carries them.
func TestAlarmMailsThatNobodySends(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		alerts := func() string { return root.get("/jobs").document(t).Find(".alert").Text() }
		if said := alerts(); said != "" {
			t.Errorf("without such a job: %s", said)
		}
		adopted(t, a)
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET alarm_email = 'ops@example.com' WHERE id = 77"); err != nil {
			t.Fatal(err)
		}
		mail := url.Values{"name": {"mail"}, "kind": {"mail"}, "enabled": {"1"}, "host": {"mail.example.com"}, "port": {"25"}, "security": {"none"}, "from": {"punctual@example.com"}, "recipients": {"ops@example.com"}}
		made := root.post("/alarms", mail) // which is not marked for the jobs
		if made.status != http.StatusSeeOther {
			t.Fatalf("make channel: %d %s", made.status, made.document(t).Find(".error").Text())
		}
		if said := alerts(); !strings.Contains(said, "1 job names") {
			t.Errorf("said: %q", said)
		}
		form := func() bool { return strings.Contains(root.get("/jobs/new").body, "No mail channel carries") }
		if !form() {
			t.Error("the form of a job says nothing")
		}
		mail.Set("for_jobs", "1")
		if got := root.post(made.header.Get("Location"), mail); got.status != http.StatusSeeOther {
			t.Fatalf("mark the channel: %d %s", got.status, got.document(t).Find(".error").Text())
		}
		if said := alerts(); said != "" || form() {
			t.Errorf("with a channel: %q", said)
		}
	})
}
