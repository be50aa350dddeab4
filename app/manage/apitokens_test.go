package manage

import (
	"database/sql"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// tokenBundle has a user with a row, who may use the first group.
func tokenBundle(t *testing.T, pool *db.Pool) *bundle {
	t.Helper()
	b := userBundle(t, pool)
	id, _, err := b.Users.Create(t.Context(), b.admin, UserInput{Name: "ann1", Rights: map[int64]auth.Rights{b.group: auth.RightRun}})
	if err != nil {
		t.Fatal(err)
	}
	b.user = auth.NewPrincipal(id, "ann1", auth.RoleUser, db.Text(strconv.FormatInt(b.group, 10)))
	return b
}

func (b *bundle) token(t *testing.T, p auth.Principal, in APITokenInput) APIToken {
	t.Helper()
	if in.Name == "" {
		in.Name = "deploy"
	}
	if !in.Admin && in.Rights == 0 {
		in.Rights = auth.RightRun
	}
	id, token, err := b.APITokens.Create(t.Context(), p, in)
	if err != nil || !auth.IsAPIToken(token) {
		t.Fatalf("%q, %v", token, err)
	}
	got, err := b.APITokens.Get(t.Context(), b.admin, id)
	if err != nil || got.ID != id || got.Hint != auth.APITokenHint(token) {
		t.Fatalf("%+v, %v", got, err)
	}
	return got
}

func TestAPITokensAreChecked(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := tokenBundle(t, pool)
		many := make([]int64, 501)
		for i := range many {
			many[i] = b.group
		}
		run := func(change func(*APITokenInput)) APITokenInput {
			in := APITokenInput{Name: "deploy", Rights: auth.RightRun}
			change(&in)
			return in
		}
		tests := []struct {
			name string
			as   auth.Principal
			in   APITokenInput
			want string
		}{
			{"40 characters", b.user, run(func(in *APITokenInput) { in.Name = strings.Repeat("页", 40) }), "ok"},
			{"41", b.user, run(func(in *APITokenInput) { in.Name = strings.Repeat("页", 41) }), "422 name:job.error.too_long"},
			{"blanks are no name", b.user, run(func(in *APITokenInput) { in.Name = " \t" }), "422 name:job.error.required"},
			{"nor is what moves the cursor", b.user, run(func(in *APITokenInput) { in.Name = "a\x1b[2Jb" }), "422 name:apitoken.error.name"},
			{"no right", b.user, APITokenInput{Name: "x"}, "422 scope:job.error.required"},
			{"a right that there is not", b.user, APITokenInput{Name: "x", Rights: ^auth.AllRights}, "422 scope:job.error.required"},
			{"an administrator's, of somebody who is none", b.user, APITokenInput{Name: "x", Admin: true}, "422 scope:apitoken.error.admin"},
			{"an administrator's", b.admin, APITokenInput{Name: "x", Admin: true}, "ok"},
			{"an administrator's for one group", b.admin, APITokenInput{Name: "x", Admin: true, Groups: []int64{b.group}}, "422 scope:apitoken.error.adminGroups"},
			{"a group of one's own", b.user, run(func(in *APITokenInput) { in.Groups = []int64{b.group} }), "ok"},
			{"a group of others", b.user, run(func(in *APITokenInput) { in.Groups = []int64{b.group, b.closed} }), "422 groups:job.error.group"},
			{"group 0, which stands for none", b.admin, run(func(in *APITokenInput) { in.Groups = []int64{0} }), "422 groups:job.error.group"},
			{"500 groups", b.user, run(func(in *APITokenInput) { in.Groups = many[:500] }), "ok"},
			{"501", b.user, run(func(in *APITokenInput) { in.Groups = many }), "422 groups:job.error.group"},
			{"a day", b.user, run(func(in *APITokenInput) { in.Days = 1 }), "ok"},
			{"ten years", b.user, run(func(in *APITokenInput) { in.Days = 3660 }), "ok"},
			{"a day more", b.user, run(func(in *APITokenInput) { in.Days = 3661 }), "422 days:job.error.out_of_range"},
			{"a day less than none", b.user, run(func(in *APITokenInput) { in.Days = -1 }), "422 days:job.error.out_of_range"},
			{"nobody's", auth.Principal{}, run(func(in *APITokenInput) {}), "403"},
			{"somebody else's", b.user, run(func(in *APITokenInput) { in.Owner = b.admin.UserID }), "403"},
			{"a person's, by an administrator", b.admin, run(func(in *APITokenInput) { in.Owner = b.user.UserID }), "422 owner:problem.apitoken.owner"},
			{"that of a person who is not there", b.admin, run(func(in *APITokenInput) { in.Owner = 99 }), "422 owner:problem.apitoken.owner"},
			{"that of a person who is not there, by a user", b.user, run(func(in *APITokenInput) { in.Owner = 99 }), "403"},
			{"one's own, named", b.user, run(func(in *APITokenInput) { in.Owner = b.user.UserID }), "ok"},
		}
		for _, tt := range tests {
			_, token, err := b.APITokens.Create(t.Context(), tt.as, tt.in)
			if kind(err) != tt.want || (token == "") != (err != nil) {
				t.Errorf("%s: %s, want %s", tt.name, kind(err), tt.want)
			}
		}
	})
}

func TestAPITokensAreListedAsTheyStand(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := tokenBundle(t, pool)
		ctx := t.Context()
		made := b.now.UnixMilli()
		forever := b.token(t, b.user, APITokenInput{Name: " runs "})
		week := b.token(t, b.user, APITokenInput{Name: "week", Rights: auth.RightEdit, Groups: []int64{b.group}, Days: 7})
		root := b.token(t, b.admin, APITokenInput{Name: "root", Admin: true})
		all := APIToken{ID: root.ID, OwnerID: b.admin.UserID, Owner: "root", Name: "root", Hint: root.Hint, Rights: auth.AllRights, Admin: true, CreatedAt: made, State: APITokenActive}
		want := []APIToken{
			all,
			{ID: week.ID, OwnerID: b.user.UserID, Owner: "ann1", Name: "week", Hint: week.Hint, Rights: auth.RightView | auth.RightEdit, Groups: []int64{b.group}, CreatedAt: made, ExpiresAt: b.now.AddDate(0, 0, 7).UnixMilli(), State: APITokenActive},
			{ID: forever.ID, OwnerID: b.user.UserID, Owner: "ann1", Name: "runs", Hint: forever.Hint, Rights: auth.RightView | auth.RightRun, CreatedAt: made, State: APITokenActive},
		}
		list := func(p auth.Principal, all bool, want []APIToken) {
			t.Helper()
			got, err := b.APITokens.List(ctx, p, all)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s, %v", diff, err)
			}
		}
		list(b.admin, true, want)
		list(b.admin, false, want[:1])
		list(b.user, false, want[1:])
		if _, err := b.APITokens.List(ctx, b.user, true); kind(err) != "403" {
			t.Errorf("everybody's, for a user: %s", kind(err))
		}
		if _, err := b.APITokens.List(ctx, auth.Principal{}, false); kind(err) != "403" {
			t.Errorf("nobody's: %s", kind(err))
		}
		if _, err := b.APITokens.Get(ctx, b.user, root.ID); kind(err) != "404 problem.apitoken.gone" {
			t.Errorf("an administrator's, for a user: %s", kind(err))
		}
		if err := b.APITokens.Revoke(ctx, b.user, root.ID); kind(err) != "404 problem.apitoken.gone" {
			t.Errorf("a user revokes an administrator's: %s", kind(err))
		}

		b.now = b.now.AddDate(0, 0, 7).Add(-time.Millisecond)
		list(b.user, false, want[1:])
		b.now = b.now.Add(time.Millisecond)
		want[1].State = APITokenExpired
		list(b.user, false, want[1:])
		if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_user SET disabled = 1 WHERE id = ?", b.user.UserID); err != nil {
			t.Fatal(err)
		}
		want[2].State = APITokenIdle
		list(b.user, false, want[1:])
		for range 2 { // once for all
			if err := b.APITokens.Revoke(ctx, b.admin, forever.ID); err != nil {
				t.Fatal(err)
			}
		}
		want[2].State = APITokenRevoked
		list(b.user, false, want[1:])
		entries, err := b.Audit.List(ctx, b.admin, AuditFilter{Kind: ObjectAPIToken, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var actions []string
		for _, e := range entries.Entries {
			actions = append(actions, e.Action)
		}
		if diff := cmp.Diff([]string{string(ActionDelete), string(ActionCreate), string(ActionCreate), string(ActionCreate)}, actions); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSomebodyHasOnlySoManyAPITokens(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := tokenBundle(t, pool)
		ctx := t.Context()
		first := b.token(t, b.user, APITokenInput{})
		b.token(t, b.user, APITokenInput{Days: 1})
		for range maxAPITokens - 2 {
			b.token(t, b.user, APITokenInput{})
		}
		more := func(want string) {
			t.Helper()
			if _, _, err := b.APITokens.Create(ctx, b.user, APITokenInput{Name: "x", Rights: auth.RightRun}); kind(err) != want {
				t.Errorf("one more: %s, want %s", kind(err), want)
			}
		}
		more("409 problem.apitoken.many")
		b.token(t, b.admin, APITokenInput{}) // of others there may be as many
		if err := b.APITokens.Revoke(ctx, b.user, first.ID); err != nil {
			t.Fatal(err)
		}
		more("ok")
		more("409 problem.apitoken.many")
		b.now = b.now.AddDate(0, 0, 1) // one has expired
		more("ok")
		more("409 problem.apitoken.many")
	})
}

// TestTheLimitOfAPITokensHoldsForTwoAtOnce of a program that makes one in several places.
func TestTheLimitOfAPITokensHoldsForTwoAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := tokenBundle(t, pool)
		for range maxAPITokens - 1 {
			b.token(t, b.user, APITokenInput{})
		}
		var all sync.WaitGroup
		var made atomic.Int64
		for range 8 {
			all.Go(func() {
				_, _, err := b.APITokens.Create(db.Patient(t.Context()), b.user, APITokenInput{Name: "x", Rights: auth.RightRun})
				if got := kind(err); err == nil {
					made.Add(1)
				} else if got != "409 problem.apitoken.many" {
					t.Error(got)
				}
			})
		}
		all.Wait()
		if n := made.Load(); n != 1 {
			t.Errorf("%d were made where one more may be", n)
		}
	})
}

func TestServiceAccountsAreMadeByAdministrators(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := tokenBundle(t, pool)
		ctx := t.Context()
		for name, want := range map[string]string{
			"": "422 name:job.error.required", "  ": "422 name:job.error.required", "Jenkins": "422 name:user.error.name", "ann1": "422 name:user.error.taken",
		} {
			if _, err := b.APITokens.CreateAccount(ctx, b.admin, name, false); kind(err) != want {
				t.Errorf("%q: %s, want %s", name, kind(err), want)
			}
		}
		if _, err := b.APITokens.CreateAccount(ctx, b.user, "jenkins", false); kind(err) != "403" {
			t.Errorf("by a user: %s", kind(err))
		}
		if _, err := b.APITokens.Accounts(ctx, b.user); kind(err) != "403" {
			t.Errorf("shown to a user: %s", kind(err))
		}
		id, err := b.APITokens.CreateAccount(ctx, b.admin, " jenkins ", false)
		if err != nil {
			t.Fatal(err)
		}
		list, err := b.APITokens.Accounts(ctx, b.admin)
		if diff := cmp.Diff([]ServiceAccount{{ID: id, Name: "jenkins", Role: auth.RoleUser}}, list); diff != "" || err != nil {
			t.Errorf("%s, %v", diff, err)
		}
		if _, err := b.Users.ResetPassword(ctx, b.admin, id, ""); kind(err) != "409 problem.user.service" {
			t.Errorf("a password: %s", kind(err))
		}
		got := b.token(t, b.admin, APITokenInput{Owner: id})
		if got.OwnerID != id || got.Owner != "jenkins" || !got.Service {
			t.Errorf("its token is %+v", got)
		}
		if _, _, err := b.APITokens.Create(ctx, b.admin, APITokenInput{Owner: id, Name: "x", Admin: true}); kind(err) != "422 scope:apitoken.error.admin" {
			t.Errorf("an administrator's token for an account that is none: %s", kind(err))
		}
		if err := b.Users.Update(ctx, b.admin, id, UserInput{Admin: true, Disabled: true}); err != nil {
			t.Fatal(err)
		}
		b.token(t, b.admin, APITokenInput{Owner: id, Admin: true})
		if list, err = b.APITokens.Accounts(ctx, b.admin); err != nil || len(list) != 1 || !list[0].Disabled || list[0].Role != auth.RoleAdmin {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// TestANewUserHasNothingOfADeletedOne gives somebody the number of a user whom another program deleted, as MySQL 5.7 does after a restart.
func TestANewUserHasNothingOfADeletedOne(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := tokenBundle(t, pool)
		ctx := t.Context()
		exec := func(query string, args ...any) {
			t.Helper()
			if _, err := pool.ExecContext(ctx, query, args...); err != nil {
				t.Fatal(err)
			}
		}
		left := []string{"punctual_permission", "punctual_api_token", "punctual_favourite", "punctual_session", "punctual_factor", "punctual_login_place", "punctual_view"}
		for way, create := range map[string]func() (int64, error){
			"a person": func() (int64, error) {
				id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "mina"})
				return id, err
			},
			"a program": func() (int64, error) { return b.APITokens.CreateAccount(ctx, b.admin, "jenkins", false) },
			"somebody whom a directory knows": func() (id int64, err error) {
				err = pool.Tx(ctx, func(tx *sql.Tx) error {
					p, err := b.Directories.keep(ctx, tx, directory.Identity{Provider: "ldap", Key: strings.Repeat("a", 64), Name: "otto", In: true}, 0, 0)
					id = p.UserID
					return err
				})
				return id, err
			},
		} {
			gone, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "gone" + strconv.Itoa(len(way)), Rights: map[int64]auth.Rights{b.group: auth.RightRun}})
			if err != nil {
				t.Fatal(err)
			}
			b.token(t, auth.NewPrincipal(gone, "gone", auth.RoleUser, db.Text(strconv.FormatInt(b.group, 10))), APITokenInput{})
			exec("INSERT INTO punctual_favourite (user_id, job_id) VALUES (?, 1)", gone)
			exec("INSERT INTO punctual_session (id, user_id) VALUES (?, ?)", way, gone)
			exec("INSERT INTO punctual_factor (user_id, kind, secret) VALUES (?, 'totp', '')", gone)
			exec("INSERT INTO punctual_login_place (user_id, place) VALUES (?, 'x')", gone)
			exec("INSERT INTO punctual_view (user_id, page, name) VALUES (?, 'runs', ?)", gone, way)
			for _, table := range left {
				var n int
				if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table+" WHERE user_id = ?", gone).Scan(&n); err != nil || n == 0 {
					t.Fatalf("%s: %d, %v", table, n, err)
				}
			}
			exec("DELETE FROM xxl_job_user WHERE id = ?", gone)
			if pool.Dialect() == db.SQLite {
				exec("UPDATE sqlite_sequence SET seq = ? WHERE name = 'xxl_job_user'", gone-1)
			} else {
				exec("ALTER TABLE xxl_job_user AUTO_INCREMENT = " + strconv.FormatInt(gone, 10))
			}
			if id, err := create(); err != nil || id != gone {
				t.Fatalf("%s has the number %d, not %d: %v", way, id, gone, err)
			}
			for _, table := range left {
				var n int
				if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table+" WHERE user_id = ?", gone).Scan(&n); err != nil || n != 0 {
					t.Errorf("%s who is new has %d rows of %s of a deleted user, %v", way, n, table, err)
				}
			}
		}
	})
}

// TestWhatATokenDoesIsWrittenDown also where the names of its owner and its own are as long as they get.
func TestWhatATokenDoesIsWrittenDown(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx := t.Context()
		id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: strings.Repeat("a", 20), Rights: map[int64]auth.Rights{b.group: auth.AllRights}})
		if err != nil {
			t.Fatal(err)
		}
		owner := auth.NewPrincipal(id, strings.Repeat("a", 20), auth.RoleUser, db.Text(strconv.FormatInt(b.group, 10)))
		_, token, err := b.APITokens.Create(ctx, owner, APITokenInput{Name: strings.Repeat("流", maxAPITokenName), Rights: auth.AllRights})
		if err != nil {
			t.Fatal(err)
		}
		p, err := auth.NewAPITokens(pool, func() time.Time { return b.now }, slog.New(slog.DiscardHandler), nil).Find(ctx, token, "")
		if err != nil {
			t.Fatal(err)
		}
		note, err := b.Notes.Add(ctx, p, NoteInput{Job: b.create(t, nil), Text: "deployed"})
		if err != nil {
			t.Fatal(kind(err), err)
		}
		if n, err := b.Notes.Get(ctx, b.admin, note); err != nil || !strings.HasPrefix(n.By, owner.Name+" via token 流流") {
			t.Errorf("written by %q, %v", n.By, err)
		}
	})
}

// TestATokenBehindTheListIsRevoked: revoked tokens stay in the list, which shows the newest.
func TestATokenBehindTheListIsRevoked(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := tokenBundle(t, pool)
		ctx := t.Context()
		old := b.token(t, b.user, APITokenInput{Name: "old"})
		err := pool.Tx(ctx, func(tx *sql.Tx) error {
			for i := range maxAPITokenList {
				_, err := db.New().InsertAPIToken(ctx, tx, db.InsertAPITokenParams{UserID: b.user.UserID, Name: "x", Hash: strconv.Itoa(i), Hint: "x", CreatedAt: 1, ExpiresAt: 2})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		eve := auth.NewPrincipal(b.user.UserID+1, "eve", auth.RoleUser, "")
		for _, tt := range []struct {
			by   auth.Principal
			want string
		}{{eve, "404 problem.apitoken.gone"}, {auth.Principal{}, "404 problem.apitoken.gone"}, {b.admin, "ok"}} {
			if got := kind(b.APITokens.Revoke(ctx, tt.by, old.ID)); got != tt.want {
				t.Errorf("revoked by %q: %s, want %s", tt.by.Name, got, tt.want)
			}
		}
		if got, err := b.APITokens.Get(ctx, b.user, old.ID); err != nil || got.State != APITokenRevoked {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestAServiceAccountIsNobodysLogin: it has tokens, which administrators make and revoke, and no password; all of it is in the log, once.
func TestAServiceAccountIsNobodysLogin(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := tokenBundle(t, pool)
		ctx := t.Context()
		before := len(b.story(t, AuditFilter{}))
		id, err := b.APITokens.CreateAccount(ctx, b.admin, " deploy1 ", false)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"": "422 name:job.error.required", "Deploy": "422 name:user.error.name", "deploy1": "422 name:user.error.taken"} {
			if _, err := b.APITokens.CreateAccount(ctx, b.admin, name, false); kind(err) != want {
				t.Errorf("%q: %s, want %s", name, kind(err), want)
			}
		}
		accounts, err := b.APITokens.Accounts(ctx, b.admin)
		if diff := cmp.Diff([]ServiceAccount{{ID: id, Name: "deploy1", Role: auth.RoleUser}}, accounts); err != nil || diff != "" {
			t.Errorf("accounts %v (-want +got):\n%s", err, diff)
		}
		if _, err := b.Users.ResetPassword(ctx, b.admin, id, ""); kind(err) != "409 problem.user.service" {
			t.Errorf("a password for it: %s", kind(err))
		}
		token := b.token(t, b.admin, APITokenInput{Owner: id, Name: "ci"})
		if token.OwnerID != id || !token.Service {
			t.Errorf("its token: %+v", token)
		}
		for range 2 {
			if err := b.APITokens.Revoke(ctx, b.admin, token.ID); err != nil {
				t.Error(err)
			}
		}
		want := []string{"root create user deploy1", "root create apitoken ci", "root delete apitoken ci"}
		if diff := cmp.Diff(want, b.story(t, AuditFilter{})[before:]); diff != "" {
			t.Errorf("the log (-want +got):\n%s", diff)
		}
	})
}
