package app

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
)

// bearer calls a job method with an API token, and returns the status and the answer.
func bearer(t *testing.T, a *App, token, method, body string) (int, said) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", a.Welcome().URL+"/api/"+method, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	var s said
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		t.Fatalf("%s: %s %v", method, raw, err)
	}
	return resp.StatusCode, s
}

var shownToken = regexp.MustCompile(`pnc_[0-9A-Za-z]{36}`)

// makeToken makes a token on its page, as somebody would.
func makeToken(t *testing.T, b *browser, form url.Values) string {
	t.Helper()
	got := b.post("/tokens", form)
	token := shownToken.FindString(got.body)
	if got.status != http.StatusOK || !auth.IsAPIToken(token) {
		t.Fatalf("make token: %d %s", got.status, got.body)
	}
	return token
}

func TestAnAPITokenNeverMayMoreThanItsOwnerAndItsScope(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, orders, _, groups := programs(t, o)
		root := open(t, a).mustLogin()
		id := func(s said) string {
			t.Helper()
			if s.Data == nil {
				t.Fatalf("no job: %+v", s)
			}
			return *s.Data
		}
		job := id(orders.must("addJob", `{"name":"pay","author":"x","executorHandler":"pay"}`))
		other := id(orders.must("addJob", `{"name":"other","author":"x","executorHandler":"pay"}`))
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET job_group = ? WHERE id = ?", groups["stock"], other); err != nil {
			t.Fatal(err)
		}
		group, stock := strconv.FormatInt(groups["orders"], 10), strconv.FormatInt(groups["stock"], 10)
		form := url.Values{"name": {"mina"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {group + ".edit", group + ".run"}}
		if got := root.post("/users", form); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %s", got.status, got.body)
		}
		mina := open(t, a)
		mina.login("mina", testPassword)
		if got := mina.post("/tokens", url.Values{"name": {"x"}, "scope": {"admin"}, "days": {"7"}}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a normal user made an administrator's token: %d", got.status)
		}
		if got := mina.post("/tokens", url.Values{"name": {"x"}, "scope": {"run"}, "groups": {stock}, "days": {"7"}}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a token for a group that its owner may not see: %d", got.status)
		}
		edits := makeToken(t, mina, url.Values{"name": {"deploy"}, "scope": {"edit"}, "days": {"7"}})
		runs := makeToken(t, mina, url.Values{"name": {"runner"}, "scope": {"run"}, "days": {"0"}})
		all := makeToken(t, root, url.Values{"name": {"terraform"}, "scope": {"edit"}, "days": {"7"}})
		one := makeToken(t, root, url.Values{"name": {"only stock"}, "scope": {"edit"}, "groups": {stock}, "days": {"7"}})

		tests := []struct {
			name, token, method, body string
			ok                        bool
		}{
			{"edit changes", edits, "updateJob", `{"id":` + job + `,"name":"pay more"}`, true},
			{"its only group needs no name", edits, "addJob", `{"name":"n","author":"x","executorHandler":"h"}`, true},
			{"edit does not run", edits, "triggerJob", `{"id":` + job + `}`, false},
			{"edit writes no scripts", edits, "addJob", `{"name":"s","author":"x","glueType":"GLUE_SHELL","glueSource":"id","glueRemark":"abcd"}`, false},
			{"another group's job", edits, "updateJob", `{"id":` + other + `,"name":"mine"}`, false},
			{"run does not change", runs, "updateJob", `{"id":` + job + `,"name":"x"}`, false},
			{"an administrator's token without groups", all, "updateJob", `{"id":` + other + `,"name":"a"}`, true},
			{"many groups need a name", all, "addJob", `{"name":"n","author":"x","executorHandler":"h"}`, false},
			{"an administrator's token may not more than its scope", all, "triggerJob", `{"id":` + other + `}`, false},
			{"an administrator's token for one group", one, "updateJob", `{"id":` + other + `,"name":"b"}`, true},
			{"and no other", one, "updateJob", `{"id":` + job + `,"name":"b"}`, false},
			{"executors have other tokens", all, "registry", `{"registryGroup":"EXECUTOR","registryKey":"orders","registryValue":"http://10.0.0.9:9999/"}`, false},
		}
		for _, tt := range tests {
			if status, s := bearer(t, a, tt.token, tt.method, tt.body); status != 200 || (s.Code == 200) != tt.ok {
				t.Errorf("%s: %d %+v", tt.name, status, s)
			}
		}
		// The log names both, and the owner's id.
		var by string
		if err := a.pool.QueryRowContext(t.Context(), "SELECT MAX(user_name) FROM punctual_audit WHERE object_kind = 'job' AND object_name = 'pay more'").Scan(&by); err != nil || by != "mina via token deploy" {
			t.Errorf("the audit log says %q, %v", by, err)
		}

		// Rights that are taken away are gone at once; so are an owner who is disabled, and a token that is revoked.
		var minaID int64
		if err := a.pool.QueryRowContext(t.Context(), "SELECT id FROM xxl_job_user WHERE username = 'mina'").Scan(&minaID); err != nil {
			t.Fatal(err)
		}
		change := func(state string, rights ...string) {
			t.Helper()
			got := root.post("/users/"+strconv.FormatInt(minaID, 10), url.Values{"role": {"user"}, "state": {state}, "right": rights})
			if got.status != http.StatusSeeOther {
				t.Fatalf("change user: %d %s", got.status, got.body)
			}
		}
		change("active", group+".view")
		if _, s := bearer(t, a, edits, "updateJob", `{"id":`+job+`,"name":"again"}`); s.Code == 200 {
			t.Error("a token does what its owner may no longer do")
		}
		change("disabled", group+".edit")
		if status, s := bearer(t, a, edits, "updateJob", `{"id":`+job+`,"name":"again"}`); status != 401 || !strings.Contains(s.Msg, "disabled") {
			t.Errorf("owner disabled: %d %+v", status, s)
		}
		change("active", group+".edit")
		if status, s := bearer(t, a, edits, "updateJob", `{"id":`+job+`,"name":"again"}`); status != 200 || s.Code != 200 {
			t.Errorf("owner back: %d %+v", status, s)
		}
		list := root.get("/tokens?of=all")
		if list.status != 200 || strings.Contains(list.body, edits) || !strings.Contains(list.body, auth.APITokenHint(edits)) {
			t.Errorf("everybody's tokens: %d", list.status)
		}
		if got := mina.get("/tokens?of=all"); got.status == 200 {
			t.Error("a normal user sees everybody's tokens")
		}
		var tokenID int64
		if err := a.pool.QueryRowContext(t.Context(), "SELECT id FROM punctual_api_token WHERE name = 'deploy'").Scan(&tokenID); err != nil {
			t.Fatal(err)
		}
		if got := root.post("/tokens/"+strconv.FormatInt(tokenID, 10)+"/revoke?of=all", nil); got.status != http.StatusSeeOther {
			t.Fatalf("revoke: %d %s", got.status, got.body)
		}
		if status, s := bearer(t, a, edits, "updateJob", `{"id":`+job+`,"name":"again"}`); status != 401 || !strings.Contains(s.Msg, "revoked") {
			t.Errorf("revoked: %d %+v", status, s)
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_api_token SET expires_at = 1 WHERE name = 'terraform'"); err != nil {
			t.Fatal(err)
		}
		if status, s := bearer(t, a, all, "updateJob", `{"id":`+job+`,"name":"x"}`); status != 401 || !strings.Contains(s.Msg, "expired") {
			t.Errorf("expired: %d %+v", status, s)
		}
		// Nothing of it stands in the database.
		rows, err := db.New().ListAPITokens(t.Context(), a.pool, db.ListAPITokensParams{Limit: 10})
		if err != nil || len(rows) != 4 {
			t.Fatalf("%d tokens, %v", len(rows), err)
		}
		for table, content := range contents(t, a) {
			for _, token := range []string{edits, runs, all, one} {
				if strings.Contains(content, token[8:]) {
					t.Errorf("%s holds a token", table)
				}
			}
		}
	})
}

func TestServiceAccountsHaveTokensAndNoPassword(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		if got := root.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create group: %d %s", got.status, got.body)
		}
		got := root.post("/tokens/accounts", url.Values{"name": {"jenkins"}})
		if got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
		var id string
		if err := a.pool.QueryRowContext(t.Context(), "SELECT id FROM xxl_job_user WHERE username = 'jenkins'").Scan(&id); err != nil {
			t.Fatal(err)
		}
		if got := root.post("/users/"+id+"/password", url.Values{"password": {testPassword}}); got.status != http.StatusConflict {
			t.Errorf("a password: %d", got.status)
		}
		row := root.get("/users").document(t).Find("#user-" + id)
		if row.Find(`a[href$="/password"]`).Length() != 0 || !strings.Contains(row.Text(), "Service account") || root.get("/users/"+id+"/edit").document(t).Find(`a[href$="/password"]`).Length() != 0 {
			t.Errorf("the pages offer a password, or call it a person: %s", row.Text())
		}
		for _, password := range []string{"!", "", testPassword} {
			if got := open(t, a).login("jenkins", password); got.status == http.StatusSeeOther {
				t.Errorf("signed in with %q", password)
			}
		}
		token := makeToken(t, root, url.Values{"name": {"ci"}, "owner": {id}, "scope": {"edit"}, "days": {"7"}})
		if _, s := bearer(t, a, token, "addJob", `{"jobGroup":1,"name":"n","author":"x","executorHandler":"h"}`); s.Code == 200 {
			t.Error("an account without rights made a job")
		}
		if got := root.post("/users/"+id, url.Values{"role": {"user"}, "state": {"active"}, "right": {"1.edit"}}); got.status != http.StatusSeeOther {
			t.Fatalf("rights: %d %s", got.status, got.body)
		}
		if _, s := bearer(t, a, token, "addJob", `{"jobGroup":1,"name":"n","author":"x","executorHandler":"h"}`); s.Code != 200 {
			t.Errorf("with the right: %+v", s)
		}
		// Not for people: whoever holds a token is taken for its owner.
		if got := root.post("/users", url.Values{"name": {"mina"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatal(got.body)
		}
		var mina string
		if err := a.pool.QueryRowContext(t.Context(), "SELECT id FROM xxl_job_user WHERE username = 'mina'").Scan(&mina); err != nil {
			t.Fatal(err)
		}
		for _, got := range []answer{
			root.post("/tokens", url.Values{"name": {"x"}, "owner": {mina}, "scope": {"run"}, "days": {"7"}}), root.get("/tokens/new?owner=" + mina),
		} {
			if got.status != http.StatusNotFound || !strings.Contains(got.body, "no service account") {
				t.Errorf("an administrator's token for somebody else: %d %s", got.status, got.body)
			}
		}
	})
}

func TestRefusedAPITokensAreLimitedAndNotLogged(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		log := new(executortest.Output)
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
		a := start(t, o)
		root := open(t, a).mustLogin()
		good := makeToken(t, root, url.Values{"name": {"ci"}, "scope": {"admin"}, "days": {"7"}})
		if _, s := bearer(t, a, good, "removeJob", `{"id":99}`); s.Code != 200 {
			t.Fatalf("the good one: %+v", s)
		}
		typo := []byte(good)
		typo[10] ^= 1
		if status, s := bearer(t, a, string(typo), "removeJob", `{"id":99}`); status != 401 || !strings.Contains(s.Msg, "checksum") {
			t.Errorf("a typing error: %d %+v", status, s)
		}
		limited := false
		var bad string
		for range 100 {
			bad = auth.NewAPIToken()
			status, _ := bearer(t, a, bad, "removeJob", `{"id":99}`)
			limited = limited || status == http.StatusTooManyRequests
		}
		if !limited {
			t.Error("100 wrong tokens from one address were all looked up")
		}
		if status, s := bearer(t, a, good, "removeJob", `{"id":99}`); status != 200 || s.Code != 200 {
			t.Errorf("a good token is shut out by others' guesses: %d %+v", status, s)
		}
		if text := log.String(); !strings.Contains(text, "an API token was refused") || strings.Contains(text, bad[4:]) || strings.Contains(text, good[4:]) || strings.Contains(text, string(typo[4:])) {
			t.Error("the log does not tell of refused tokens, or tells too much")
		}
	})
}

func TestAGroupsExecutorTokenManagesJobsOnlyWhereSwitchedOn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, orders, _, groups := programs(t, o)
		root := open(t, a).mustLogin()
		group := "/executors/" + strconv.FormatInt(groups["orders"], 10)
		form := url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"manual"}, "addresses": {"http://127.0.0.1:1/"}, "token_manages": {"off"}}
		if got := root.post(group, form); got.status != http.StatusSeeOther {
			t.Fatalf("switch off: %d %s", got.status, got.body)
		}
		orders.refused("addJob", `{"name":"n","author":"x","executorHandler":"h"}`, "does not manage")
		form.Set("token_manages", "on")
		if got := root.post(group, form); got.status != http.StatusSeeOther {
			t.Fatalf("switch on: %d %s", got.status, got.body)
		}
		orders.must("addJob", `{"name":"n","author":"x","executorHandler":"h"}`)
	})
}

// TestATokenFormKeepsAGroupThatIsGone: without any group a token is for all of them.
func TestATokenFormKeepsAGroupThatIsGone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		got := root.post("/tokens", url.Values{"name": {"x"}, "scope": {"run"}, "groups": {"99"}, "days": {"7"}})
		if got.status != http.StatusUnprocessableEntity {
			t.Fatalf("a group that is gone: %d", got.status)
		}
		if again := formOf(got.document(t)); again.Get("groups") != "99" {
			t.Errorf("sent again: %v", again)
		}
	})
}
