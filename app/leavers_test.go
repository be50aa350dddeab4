package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/go-ldap/ldap/v3"

	"github.com/punctual-job/punctual/app/auth/directory/directorytest"
	"github.com/punctual-job/punctual/db"
)

// officeFile is a sign-in file with a directory.
func officeFile(t *testing.T, l *directorytest.LDAP) string {
	t.Helper()
	return strings.NewReplacer("SERVER", l.URL, "PASSWORD", directorytest.Password).Replace(`
passwords: break-glass
ldap:
  - name: office
    url: SERVER
    insecure: true
    bind_dn: cn=punctual,dc=example,dc=com
    bind_password: PASSWORD
    users: {base: "ou=people,dc=example,dc=com", filter: "(cn={name})"}
    groups: {base: "ou=groups,dc=example,dc=com"}
    rules:
      - {claim: groups, value: ops, rights: {orders: [run]}}
      - {claim: groups, value: night, rights: {stock: [view]}, teams: [night shift]}
`)
}

// group has somebody in a group of the directory, or not.
func group(t *testing.T, l *directorytest.LDAP, cn, member string, in bool) {
	t.Helper()
	l.Modify(t, func(conn *ldap.Conn) error {
		m := ldap.NewModifyRequest("cn="+cn+",ou=groups,dc=example,dc=com", nil)
		if in {
			m.Add("member", []string{member})
		} else {
			m.Delete("member", []string{member})
		}
		return conn.Modify(m)
	})
}

// TestWhoLeavesTheDirectoryIsOut: with their sessions, their rights and their tokens, without that anybody signs in; and whoever comes back
// or gets another name has them again.
func TestWhoLeavesTheDirectoryIsOut(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		l := directorytest.NewLDAP(t)
		o.SignIn = signInFile(t, officeFile(t, l))
		a := start(t, o)
		admin := open(t, a).mustLogin()
		orders(t, a)
		if got := admin.post("/teams", url.Values{"name": {"Night shift"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create team: %d %.300s", got.status, got.body)
		}
		const anchor, odd = "cn=anchor,dc=example,dc=com", `cn=Odd (one)*\, \5C,ou=people,dc=example,dc=com`
		jonasDN := "uid=jonas,ou=people,dc=example,dc=com"
		group(t, l, "ops", anchor, true) // a group that is empty cannot be
		group(t, l, "night", anchor, true)
		recheck := func() {
			t.Helper()
			if err := a.directories.Recheck(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		enter := func(name string) *browser {
			t.Helper()
			b := open(t, a)
			if got := b.login(name, directorytest.Password); got.status != http.StatusSeeOther {
				t.Fatalf("%s: %d %.300s", name, got.status, got.body)
			}
			return b
		}
		jonas, other := enter("Jonas"), enter(`Odd (one)*, \`)
		token := makeToken(t, jonas, url.Values{"name": {"laptop"}, "scope": {"view", "run"}, "days": {"0"}})
		is := func(what string, b *browser, session, counts int) {
			t.Helper()
			if got := b.get("/jobs"); got.status != session {
				t.Errorf("%s: the session: %d, want %d", what, got.status, session)
			}
			got := open(t, a).do("GET", "/api/v1/jobs", nil, "Authorization", "Bearer "+token)
			if got.status != counts {
				t.Errorf("%s: the token: %d, want %d", what, got.status, counts)
			}
		}
		user := func() db.GetUserRow {
			t.Helper()
			u, err := db.New().GetUserByName(t.Context(), a.pool, "jonas")
			if err != nil {
				t.Fatal(err)
			}
			full, err := db.New().GetUser(t.Context(), a.pool, u.ID)
			if err != nil {
				t.Fatal(err)
			}
			return full
		}
		page := func() string { return fmt.Sprintf("/users/%d/edit", user().ID) }
		rights := func() int { return admin.get(page()).document(t).Find("table.rights .tick .icon").Length() }

		entries := func() int { return admin.get("/audit?kind=user&user=office").document(t).Find("tbody tr").Length() }
		before := entries()
		recheck()
		is("nothing has changed", jonas, http.StatusOK, http.StatusOK)
		if now := entries(); now != before {
			t.Errorf("nothing has changed: %d entries more in the audit log", now-before)
		}

		// Another group: fewer rights, and out of its team, in the same session.
		group(t, l, "night", jonasDN, false)
		recheck()
		is("out of one group", jonas, http.StatusOK, http.StatusOK)
		if got := jonas.get("/jobs").body; !strings.Contains(got, "plain") || strings.Contains(got, secret) {
			t.Error("the rights are not those of the rules after the change")
		}
		if text := admin.get("/teams").document(t).Find("tbody").Text(); strings.Contains(text, "jonas") || !strings.Contains(text, "odd") {
			t.Errorf("the teams: %s", text)
		}

		// No rule lets him in.
		group(t, l, "ops", jonasDN, false)
		recheck()
		is("out of all groups", jonas, http.StatusSeeOther, http.StatusUnauthorized)
		is("somebody else stays", other, http.StatusOK, http.StatusUnauthorized)
		if n := rights(); n != 0 {
			t.Errorf("%d rights are left", n)
		}
		if text := admin.get("/users").document(t).Find(fmt.Sprintf("#user-%d", user().ID)).Text(); !strings.Contains(text, "Left") {
			t.Errorf("the list does not say that he left: %s", text)
		}
		if n := admin.get("/users?state=left").document(t).Find("tbody tr").Length(); n != 1 {
			t.Errorf("%d have left", n)
		}
		if got := admin.get("/audit?kind=user&user=office").document(t).Find("tbody").Text(); !strings.Contains(got, "jonas") {
			t.Errorf("the audit log: %s", got)
		}
		if n := admin.get("/audit?kind=user").document(t).Find("tbody tr").Length(); n == 0 {
			t.Error("no entries")
		}
		n := entries()
		recheck()
		if now := entries(); now != n {
			t.Errorf("out, asked again: %d entries more in the audit log", now-n)
		}

		// Back again, under another name too.
		group(t, l, "ops", jonasDN, true)
		recheck()
		is("back in a group", enter("Jonas"), http.StatusOK, http.StatusOK)
		l.Modify(t, func(conn *ldap.Conn) error {
			m := ldap.NewModifyRequest(jonasDN, nil)
			m.Replace("cn", []string{"约纳斯"})
			return conn.Modify(m)
		})
		renamed := enter("约纳斯")
		recheck()
		is("with another name", renamed, http.StatusOK, http.StatusOK)

		// The directory cannot be asked: everything stays. So it does when it lets in nobody at all.
		group(t, l, "ops", jonasDN, false)
		group(t, l, "night", odd, false)
		if err := a.directories.Recheck(t.Context()); err == nil || !strings.Contains(err.Error(), "nobody") {
			t.Errorf("everybody at once: %v", err)
		}
		is("everybody at once", renamed, http.StatusOK, http.StatusOK)
		group(t, l, "night", odd, true)

		// Who was removed, with a team that an administrator put him into.
		if got := admin.post("/teams", url.Values{"name": {"by hand"}, "member": {fmt.Sprint(user().ID)}}); got.status != http.StatusSeeOther {
			t.Fatalf("create team: %d %.300s", got.status, got.body)
		}
		l.Modify(t, func(conn *ldap.Conn) error { return conn.Del(ldap.NewDelRequest(jonasDN, nil)) })
		recheck()
		is("removed", renamed, http.StatusSeeOther, http.StatusUnauthorized)

		// Of somebody who signed in last before it was kept what the directory calls them, the name is known.
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_user SET directory_id = '', disabled = 0 WHERE username IN ('jonas', 'odd')"); err != nil {
			t.Fatal(err)
		}
		is("before the upgrade", other, http.StatusOK, http.StatusOK)
		recheck()
		is("after the upgrade", other, http.StatusOK, http.StatusUnauthorized)

		// Whom an administrator has shut out stays so, also for who has the form still open: it shows that this is something else.
		stale := url.Values{"state": {"left"}, "role": {"user"}, "version": {admin.version(page())}}
		if got := admin.post(fmt.Sprintf("/users/%d", user().ID), url.Values{"state": {"disabled"}, "role": {"user"}, "version": {admin.version(page())}}); got.status != http.StatusSeeOther {
			t.Errorf("disable who left: %d %.300s", got.status, got.body)
		}
		if got := user().Disabled; got != 1 {
			t.Errorf("disabled by an administrator: %d", got)
		}
		if got := admin.post(fmt.Sprintf("/users/%d", user().ID), stale); got.status != http.StatusUnprocessableEntity || got.document(t).Find(".changes tbody tr").Length() != 1 {
			t.Errorf("a form of before: %d %.300s", got.status, got.document(t).Find("main").Text())
		}
		var was, now string
		if err := a.pool.QueryRowContext(t.Context(), "SELECT before_json, after_json FROM punctual_audit WHERE object_kind = 'user' ORDER BY id DESC LIMIT 1").Scan(&was, &now); err != nil || !strings.Contains(was, "left") {
			t.Errorf("the entry says %q, %q, %v", was, now, err)
		}
		l.Stop()
		if err := a.directories.Recheck(t.Context()); err == nil {
			t.Error("a directory that is down was asked")
		}
		is("down", other, http.StatusOK, http.StatusUnauthorized)
	})
}

// TestOneOfWhomTheDirectorySaysNothingKeepsNobodyIn: that somebody is in more groups than it tells at once is no reason to leave in who has left.
func TestOneOfWhomTheDirectorySaysNothingKeepsNobodyIn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		l := directorytest.NewLDAP(t)
		o.SignIn = signInFile(t, officeFile(t, l))
		a := start(t, o)
		orders(t, a)
		const anchor = "cn=anchor,dc=example,dc=com"
		group(t, l, "night", anchor, true)
		for _, name := range []string{"Jonas", `Odd (one)*, \`} {
			if got := open(t, a).login(name, directorytest.Password); got.status != http.StatusSeeOther {
				t.Fatalf("%s: %d %.300s", name, got.status, got.body)
			}
		}
		directorytest.Crowd(t, l, "ops", "uid=jonas,ou=people,dc=example,dc=com")
		disabled := func(name string) (state int) {
			t.Helper()
			if err := a.pool.QueryRowContext(t.Context(), "SELECT disabled FROM xxl_job_user WHERE username = ?", name).Scan(&state); err != nil {
				t.Fatal(err)
			}
			return state
		}
		odd := `cn=Odd (one)*\, \5C,ou=people,dc=example,dc=com`
		if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO xxl_job_user (username, password, role, provider, identity_key, directory_id) VALUES ('third', '-', 0, 'office', 'third', 'dn:uid=nobody,ou=people,dc=example,dc=com')"); err != nil {
			t.Fatal(err)
		}
		if err := a.directories.Recheck(t.Context()); err == nil || !strings.Contains(err.Error(), "stays what they are") {
			t.Errorf("the round says %v", err)
		}
		if disabled("jonas") != 0 || disabled("odd") != 0 || disabled("third") != 2 {
			t.Errorf("jonas %d, odd %d, third %d", disabled("jonas"), disabled("odd"), disabled("third"))
		}
		group(t, l, "night", odd, false) // all of whom it says something have left, and that is hardly so
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_user SET disabled = 0 WHERE username = 'third'"); err != nil {
			t.Fatal(err)
		}
		if err := a.directories.Recheck(t.Context()); err == nil || disabled("odd") != 0 {
			t.Errorf("odd %d: %v", disabled("odd"), err)
		}
	})
}

// TestPeopleOfADirectoryThatIsGoneAreSaid on the page of users: nothing else would say that nobody asks about them any more.
func TestPeopleOfADirectoryThatIsGoneAreSaid(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		l := directorytest.NewLDAP(t)
		o.SignIn = signInFile(t, officeFile(t, l))
		a := start(t, o)
		root := open(t, a).mustLogin()
		said := func() string { return root.get("/users").document(t).Find(".notice.warning").Text() }
		if _, err := a.pool.ExecContext(t.Context(), `INSERT INTO xxl_job_user (username, password, role, provider, identity_key, disabled) VALUES
			('ann', '-', 0, 'office', 'a', 0), ('bob', '-', 0, 'bureau', 'b', 1), ('eve', '-', 0, 'bureau', 'c', 2)`); err != nil {
			t.Fatal(err)
		}
		if got := said(); strings.Contains(got, "sign-in file") {
			t.Errorf("of a directory that is asked, and of people who are out: %s", got)
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_user SET disabled = 0 WHERE username = 'eve'"); err != nil {
			t.Fatal(err)
		}
		if got := said(); !strings.Contains(got, "1 user came in through bureau") {
			t.Errorf("the page says %q", got)
		}
	})
}
