package app

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/pquerna/otp/totp"
)

// codeAt is the secret that a page shows, and its code now.
func codeAt(t *testing.T, page *goquery.Document) (secret, code string) {
	t.Helper()
	secret = strings.ReplaceAll(page.Find(".secret-text").Text(), " ", "")
	return secret, codeOf(t, secret, 0)
}

// codeOf is the code of a secret in so many steps of half a minute. One of this step or the next is taken for half a minute at least; one of
// the step before may be too old when it arrives.
func codeOf(t *testing.T, secret string, steps int) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, time.Now().Add(time.Duration(steps)*30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// TestASecondFactorIsAskedFor sets one up, logs in with it and with a recovery code, and has it reset.
func TestASecondFactorIsAskedFor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		form := b.get("/profile/second/code").document(t)
		secret, code := codeAt(t, form)
		token, _ := form.Find(`input[name="token"]`).Attr("value")
		if path, _ := form.Find("svg.qr path").Attr("d"); len(path) < 500 {
			t.Errorf("no QR code: %q", path)
		}
		if link, _ := form.Find(`a[href^="otpauth:"]`).Attr("href"); !strings.HasPrefix(link, "otpauth://totp/Punctual%20127.0.0.1:admin?") || !strings.Contains(link, secret) {
			t.Errorf("for an app on the same phone: %q", link)
		}
		if got := b.post("/profile/second/code", url.Values{"token": {token}, "code": {code}, "old_password": {"wrong"}}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("without the password: %d", got.status)
		}
		added := b.post("/profile/second/code", url.Values{"token": {token}, "code": {code}, "old_password": {testPassword}})
		codes := added.document(t).Find(".recovery-codes li")
		if added.status != http.StatusOK || codes.Length() != 10 {
			t.Fatalf("added: %d, %d recovery codes", added.status, codes.Length())
		}
		recovery := codes.First().Text()

		if got := audited(t, a, "second"); len(got) != 1 || !strings.HasSuffix(got[0], ` {"factor":"totp"}`) {
			t.Errorf("on record: %q", got)
		}

		next := open(t, a)
		if got := next.login("admin", testPassword); got.header.Get("Location") != "/login/second" {
			t.Fatalf("login: %d %s", got.status, got.header.Get("Location"))
		}
		if got := next.get("/jobs"); got.status != http.StatusSeeOther {
			t.Errorf("the password alone is a session: %d", got.status)
		}
		if got := next.get("/login/setup"); got.header.Get("Location") != "/login/second" {
			t.Errorf("another step can be taken: %d %s", got.status, got.header.Get("Location"))
		}
		if got := next.get("/login/second"); got.status != http.StatusOK {
			t.Errorf("the step: %d", got.status)
		}
		if got := next.post("/login/second", url.Values{"code": {code}}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a code that was taken: %d", got.status)
		}
		if got := next.post("/login/second", url.Values{"code": {codeOf(t, secret, 1)}}); got.header.Get("Location") != "/" || next.get("/jobs").status != http.StatusOK {
			t.Errorf("the code: %d %s", got.status, got.header.Get("Location"))
		}
		program := open(t, a)
		if got := program.post("/xxl-job-admin/login", url.Values{"userName": {"admin"}, "password": {testPassword}}); strings.Contains(got.body, `"code":200`) {
			t.Errorf("a program gets in without it: %s", got.body)
		}
		lost := open(t, a)
		lost.login("admin", testPassword)
		if got := lost.post("/login/second", url.Values{"code": {recovery}}); got.header.Get("Location") != "/" {
			t.Errorf("a recovery code: %d", got.status)
		}
		again := open(t, a)
		again.login("admin", testPassword)
		if got := again.post("/login/second", url.Values{"code": {recovery}}); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.document(t).Find(".error").Text(), "This recovery code") {
			t.Errorf("a recovery code twice: %d %s", got.status, got.document(t).Find(".error").Text())
		}
		made := base64.StdEncoding.EncodeToString([]byte(`{"type":"webauthn.create","origin":"https://jobs.example.com"}`))
		if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO punctual_factor (user_id, kind, name, secret) VALUES (1, 'passkey', 'old', ?)", `{"id":"eA==","attestation":{"clientDataJSON":"`+made+`"}}`); err != nil {
			t.Fatal(err)
		}
		if step := again.get("/login/second").document(t); !strings.Contains(step.Find(".notice").Text(), "jobs.example.com") || step.Find("[data-passkey-show]").Length() != 0 {
			t.Errorf("a passkey of another address: %s", step.Find("main").Text())
		}
		if o.DatabaseURL == "" {
			return // the command needs the embedded database for itself
		}
		if err := ResetSecondFactor(t.Context(), o, "admin"); err != nil {
			t.Fatal(err)
		}
		var before string
		if err := a.pool.QueryRowContext(t.Context(), "SELECT before_json FROM punctual_audit WHERE action = 'second' ORDER BY id DESC LIMIT 1").Scan(&before); err != nil || before != `{"factor":"all"}` {
			t.Errorf("the reset on record: %s, %v", before, err)
		}
		if got := again.post("/login/second", url.Values{"code": {recovery}}); got.header.Get("Location") != "/login" || b.get("/jobs").status != http.StatusSeeOther {
			t.Errorf("after the reset what was begun goes on: %d %s", got.status, got.header.Get("Location"))
		}
		if got := again.login("admin", testPassword); got.header.Get("Location") != "/" {
			t.Errorf("login after the reset: %s", got.header.Get("Location"))
		}
	})
}

// TestWhoNeedsASecondFactorIsLedToOne requires one of administrators.
func TestWhoNeedsASecondFactorIsLedToOne(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		const password = "given-lamp-otter-1"
		if got := b.post("/users", url.Values{"name": {"jonas"}, "password": {password}, "role": {"user"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d", got.status)
		}
		if got := b.post("/users", url.Values{"name": {"boss"}, "password": {testPassword}, "role": {"admin"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d", got.status)
		}
		b = open(t, a)
		b.login("boss", testPassword)
		b.giveCode(t)
		b.set(url.Values{"second_factor": {"admins"}})
		if got := open(t, a).login("jonas", password); got.header.Get("Location") != "/" {
			t.Errorf("a user: %s", got.header.Get("Location"))
		}
		admin := open(t, a)
		if got := admin.login("admin", testPassword); got.header.Get("Location") != "/login/setup" || admin.get("/jobs").status != http.StatusSeeOther {
			t.Fatalf("an administrator: %s", got.header.Get("Location"))
		}
		form := admin.get("/login/setup").document(t)
		_, code := codeAt(t, form)
		token, _ := form.Find(`input[name="token"]`).Last().Attr("value")
		if got := admin.post("/login/setup", url.Values{"token": {token}, "code": {"000000"}}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a wrong code: %d", got.status)
		}
		done := admin.post("/login/setup", url.Values{"token": {token}, "code": {code}})
		if done.status != http.StatusOK || done.document(t).Find(".recovery-codes li").Length() != 10 {
			t.Fatalf("set up: %d", done.status)
		}
		again := admin.post("/login/setup", url.Values{"token": {token}, "code": {code}}) // a double click: the browser shows the second answer
		if again.status != http.StatusOK || again.document(t).Find(".recovery-codes li").Length() != 10 {
			t.Fatalf("set up once more: %d, to %q", again.status, again.header.Get("Location"))
		}
		if first := done.document(t).Find(".recovery-codes li").First().Text(); strings.Contains(again.document(t).Find(".recovery-codes").Text(), first) {
			t.Error("codes are shown twice")
		}
		if got := admin.get("/login/setup"); got.header.Get("Location") != "/" || admin.get("/jobs").status != http.StatusOK {
			t.Errorf("after it: %s", got.header.Get("Location"))
		}
		// An administrator takes it from another one who has lost it.
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_factor SET user_id = (SELECT id FROM xxl_job_user WHERE username = 'jonas') WHERE user_id = 1"); err != nil {
			t.Fatal(err)
		}
		row, _ := b.get("/users?q=jonas").document(t).Find("tbody tr").First().Attr("id")
		user := "/users/" + strings.TrimPrefix(row, "user-")
		jonas := open(t, a)
		if got := jonas.login("jonas", password); got.header.Get("Location") != "/login/second" {
			t.Errorf("with one: %s", got.header.Get("Location"))
		}
		if got := b.post(user+"/second", url.Values{}); got.status != http.StatusSeeOther {
			t.Errorf("reset: %d", got.status)
		}
		if got := jonas.login("jonas", password); got.header.Get("Location") != "/" {
			t.Errorf("after the reset: %s", got.header.Get("Location"))
		}
	})
}
