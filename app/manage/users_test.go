package manage

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
)

// userBundle is a bundle whose administrator is a row too.
func userBundle(t *testing.T, pool *db.Pool) *bundle {
	t.Helper()
	b := setup(t, pool, func(c *Config) {
		c.Passwords = auth.NewPasswords(2).At(auth.Cost{MemoryKiB: 64, Passes: 1})
		c.Sessions = auth.NewSessions(pool, make([]byte, 32), make([]byte, 32), time.Now, func() auth.Policy { return auth.Policy{Idle: time.Hour, Absolute: time.Hour} })
		c.Logins = auth.NewLogins(pool, c.Passwords, auth.NewPlaces(pool, make([]byte, 32), time.Now), time.Now)
	})
	id, _, err := b.Users.Create(t.Context(), b.admin, UserInput{Name: "root", Password: "root-lamp-otter-9", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	b.admin = auth.NewPrincipal(id, "root", auth.RoleAdmin, "")
	b.admin.Address = "10.0.0.9"
	return b
}

func TestUsersAreChecked(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		tests := []struct {
			name string
			in   UserInput
			want string
		}{
			{"a good one", UserInput{Name: "ann1", Password: "eight-lamp-otter"}, "ok"},
			{"a random password", UserInput{Name: "bobby"}, "ok"},
			{"a long password", UserInput{Name: "carl", Password: strings.Repeat("long ", 40)}, "ok"},
			{"taken", UserInput{Name: "ann1", Password: "eight-lamp-otter"}, "422 name:user.error.taken"},
			{"no name", UserInput{Password: "eight-lamp-otter"}, "422 name:job.error.required"},
			{"three characters", UserInput{Name: "abc", Password: "eight-lamp-otter"}, "422 name:user.error.name"},
			{"a capital", UserInput{Name: "Anna", Password: "eight-lamp-otter"}, "422 name:user.error.name"},
			{"a digit first", UserInput{Name: "1anna", Password: "eight-lamp-otter"}, "422 name:user.error.name"},
			{"21 characters", UserInput{Name: strings.Repeat("a", 21), Password: "eight-lamp-otter"}, "422 name:user.error.name"},
			{"a short password", UserInput{Name: "dora", Password: "seven77"}, "422 password:user.error.short"},
			{"rights in a group that is not there", UserInput{Name: "dora", Rights: map[int64]auth.Rights{b.group: auth.RightRun, 999: auth.RightView}}, "422 rights:rights.error.group"},
			{"all of them", UserInput{Name: "dora", Rights: map[int64]auth.Rights{999: auth.AllRights}}, "422 rights:rights.error.group"},
			{"rights in no group", UserInput{Name: "dora", Rights: map[int64]auth.Rights{0: auth.RightRun}}, "422 rights:rights.error.group"},
			{"no right in a group that is not there", UserInput{Name: "emil", Rights: map[int64]auth.Rights{999: 0}}, "ok"},
			{"an endless password", UserInput{Name: "dora", Password: strings.Repeat("x", 1001)}, "422 password:job.error.too_long"},
		}
		for _, tt := range tests {
			id, made, err := b.Users.Create(t.Context(), b.admin, tt.in)
			if kind(err) != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, kind(err), tt.want)
			}
			if err == nil && (id == 0 || (made == "") != (tt.in.Password != "")) {
				t.Errorf("%s: id %d, made %q", tt.name, id, made)
			}
		}
		if _, _, err := b.Users.Create(t.Context(), b.user, UserInput{Name: "evil", Admin: true}); kind(err) != "403" {
			t.Errorf("a normal user makes an administrator: %s", kind(err))
		}
	})
}

func TestRightsKeepXXLJobsList(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx := t.Context()
		rights := map[int64]auth.Rights{b.group: auth.AllRights, b.closed: auth.RightRun}
		id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "ann1", Rights: rights})
		if err != nil {
			t.Fatal(err)
		}
		row, err := db.New().GetUser(ctx, pool, id)
		if err != nil || string(row.Permission) != strconv.FormatInt(b.group, 10) {
			t.Errorf("the list that XXL-JOB reads is %q, %v", row.Permission, err)
		}
		u, err := b.Users.Get(ctx, b.admin, id)
		if diff := cmp.Diff(map[int64]auth.Rights{b.group: auth.AllRights, b.closed: auth.RightView | auth.RightRun}, u.Rights); diff != "" || err != nil {
			t.Errorf("rights: %s, %v", diff, err)
		}
		many := make(map[int64]auth.Rights)
		for group := range int64(200) {
			if _, err := pool.ExecContext(ctx, "INSERT INTO xxl_job_group (id, app_name, title) VALUES (?, 'many', 'many')", group+1000); err != nil {
				t.Fatal(err)
			}
			many[group+1000] = auth.AllRights
		}
		if err := b.Users.Update(ctx, b.admin, id, UserInput{Rights: many, Version: u.Version()}); err != nil {
			t.Fatal(err)
		}
		if err := b.Users.Update(ctx, b.admin, id, UserInput{Version: u.Version()}); kind(err) != "409 problem.changed" {
			t.Errorf("an edit from an old page: %s", kind(err))
		}
		if u, err = b.Users.Get(ctx, b.admin, id); err != nil || len(u.Rights) != 200 || u.Rights[1199] != auth.AllRights {
			t.Errorf("of 200 groups %d are left, %v", len(u.Rights), err)
		}
		if err := b.Users.Update(ctx, b.admin, id, UserInput{Admin: true, Rights: rights}); err != nil {
			t.Fatal(err)
		}
		if u, _ = b.Users.Get(ctx, b.admin, id); !u.Admin || len(u.Rights) != 0 {
			t.Errorf("an administrator has a list: %+v", u)
		}
	})
}

// TestRightsAreInGroupsThatAreThere, of users and of teams. Those in a group that another program has deleted stand in nobody's way.
func TestRightsAreInGroupsThatAreThere(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx := t.Context()
		at := func(groups ...int64) map[int64]auth.Rights {
			rights := make(map[int64]auth.Rights)
			for _, g := range groups {
				rights[g] = auth.RightRun
			}
			return rights
		}
		user, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "ann1", Rights: at(b.group, b.closed)})
		if err != nil {
			t.Fatal(err)
		}
		team, err := b.Teams.Save(ctx, b.admin, 0, TeamInput{Name: "night", Rights: at(b.group, b.closed)})
		if err != nil {
			t.Fatal(err)
		}
		const refused = "422 rights:rights.error.group"
		check := func(what, want string, rights map[int64]auth.Rights) {
			t.Helper()
			if err := b.Users.Update(ctx, b.admin, user, UserInput{Rights: rights}); kind(err) != want {
				t.Errorf("a user, %s: %v", what, err)
			}
			if _, err := b.Teams.Save(ctx, b.admin, team, TeamInput{Name: "night", Rights: rights}); kind(err) != want {
				t.Errorf("a team, %s: %v", what, err)
			}
		}
		if _, err := b.Teams.Save(ctx, b.admin, 0, TeamInput{Name: "day", Rights: at(b.group, 999)}); kind(err) != refused {
			t.Errorf("a new team: %v", err)
		}
		check("a group that is not there", refused, at(b.group, 999))
		u, err := b.Users.Get(ctx, b.admin, user)
		if g, teamErr := b.Teams.Get(ctx, b.admin, team); err != nil || teamErr != nil || len(u.Rights) != 2 || len(g.Rights) != 2 {
			t.Errorf("after a refusal: %v, %v, %v", u.Rights, g.Rights, errors.Join(err, teamErr))
		}
		if _, err := pool.ExecContext(ctx, "DELETE FROM xxl_job_group WHERE id = ?", b.closed); err != nil { // as XXL-JOB's admin does
			t.Fatal(err)
		}
		check("what they had", "ok", at(b.group, b.closed))
		check("without it", "ok", at(b.group))
		check("with it again", refused, at(b.group, b.closed))
		if err := b.Users.Update(ctx, b.admin, user, UserInput{Admin: true, Rights: at(999)}); err != nil {
			t.Errorf("an administrator, whose rights do not count: %v", err)
		}
	})
}

// TestXXLJobsListIsFilledToItsLastCharacter, in the order of the groups; what has no room there is written down as our own rights are.
func TestXXLJobsListIsFilledToItsLastCharacter(t *testing.T) {
	t.Parallel()
	in := UserInput{Rights: make(map[int64]auth.Rights)}
	var whole []string
	for id := int64(100); id < 164; id++ { // 64 numbers of three digits and the commas between them are 255
		in.Rights[id] = auth.AllRights
		whole = append(whole, strconv.FormatInt(id, 10))
	}
	in.Rights[99] = auth.RightRun
	in.Rights[164] = auth.AllRights
	in.Rights[165] = 0
	list, finer := split(in)
	if want := strings.Join(whole, ","); list != want || len(list) != maxPermission {
		t.Errorf("the list has %d characters, %s", len(list), list)
	}
	if diff := cmp.Diff(map[int64]auth.Rights{99: auth.RightRun.Normal(), 164: auth.AllRights}, finer); diff != "" {
		t.Errorf("the others (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[int64]auth.Rights{99: auth.RightRun.Normal()}, normal(map[int64]auth.Rights{99: auth.RightRun, 165: 0})); diff != "" {
		t.Errorf("what is nothing is kept (-want +got):\n%s", diff)
	}
}

// TestWhatAProviderSaysIsLeftAlone: it would say it again at the next login. Whether somebody is kept out is an administrator's to say.
func TestWhatAProviderSaysIsLeftAlone(t *testing.T) {
	t.Parallel()
	rights := map[int64]auth.Rights{1: auth.RightRun.Normal()}
	here := User{Rights: rights}
	user, admin := User{Provider: "company", Rights: rights}, User{Provider: "company", Admin: true}
	same := UserInput{Rights: map[int64]auth.Rights{1: auth.RightRun, 2: 0}}
	for _, tt := range []struct {
		what   string
		of     User
		change func(*UserInput)
		want   string
	}{
		{"nothing", user, func(*UserInput) {}, "ok"},
		{"kept out", user, func(in *UserInput) { in.Disabled = true }, "ok"},
		{"a password", user, func(in *UserInput) { in.Password = "x" }, "409 problem.user.provider"},
		{"break-glass", admin, func(in *UserInput) { in.Admin, in.BreakGlass = true, true }, "409 problem.user.provider"},
		{"an administrator", user, func(in *UserInput) { in.Admin = true }, "409 problem.user.provider"},
		{"none any more", admin, func(in *UserInput) {}, "409 problem.user.provider"},
		{"other rights", user, func(in *UserInput) { in.Rights = map[int64]auth.Rights{1: auth.RightEdit} }, "409 problem.user.provider"},
		{"rights of an administrator, who has all", admin, func(in *UserInput) { in.Admin, in.Rights = true, map[int64]auth.Rights{1: auth.RightEdit} }, "ok"},
		{"somebody whom nobody vouches for", here, func(in *UserInput) { in.Password, in.Admin = "x", true }, "ok"},
	} {
		in := same
		tt.change(&in)
		if got := kind(in.leaves(tt.of)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, got, tt.want)
		}
	}
	for _, admin := range []bool{true, false} {
		if row := (UserInput{Admin: admin, BreakGlass: true}).row(1, ""); (row.BreakGlass != 0) != admin {
			t.Errorf("an administrator %v is marked for the day when the provider is away: %d", admin, row.BreakGlass)
		}
	}
}

func TestWhatATeamGivesIsAdded(t *testing.T) {
	t.Parallel()
	u := User{Rights: map[int64]auth.Rights{1: auth.RightView}, Teams: []TeamRights{{Rights: map[int64]auth.Rights{1: auth.RightRun}}, {Rights: map[int64]auth.Rights{2: auth.RightEdit}}}}
	for group, want := range map[int64]auth.Rights{1: auth.RightView | auth.RightRun, 2: auth.RightEdit, 3: 0} {
		if got := u.May(group); got != want {
			t.Errorf("group %d: %v, want %v", group, got, want)
		}
	}
}

func TestNobodyLocksEverybodyOut(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx := t.Context()
		me := b.admin.UserID
		for what, err := range map[string]error{
			"demote oneself":        b.Users.Update(ctx, b.admin, me, UserInput{}),
			"disable oneself":       b.Users.Update(ctx, b.admin, me, UserInput{Admin: true, Disabled: true}),
			"delete oneself":        b.Users.Delete(ctx, b.admin, me),
			"reset one's own":       second(b.Users.ResetPassword(ctx, b.admin, me, "")),
			"by another's name too": b.Users.Update(ctx, b.admin, me, UserInput{Name: "other"}),
		} {
			if kind(err) != "409 problem.user.self" {
				t.Errorf("%s: %s", what, kind(err))
			}
		}
		// Somebody who is an administrator by a session of before, but no row any more, cannot take the last one away.
		stale := auth.NewPrincipal(999, "gone", auth.RoleAdmin, "")
		for what, err := range map[string]error{
			"demote the last":  b.Users.Update(ctx, stale, me, UserInput{}),
			"disable the last": b.Users.Update(ctx, stale, me, UserInput{Admin: true, Disabled: true}),
			"delete the last":  b.Users.Delete(ctx, stale, me),
		} {
			if kind(err) != "409 problem.user.last" {
				t.Errorf("%s: %s", what, kind(err))
			}
		}
		other, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "second", Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Users.Delete(ctx, stale, me); err != nil {
			t.Errorf("there is another administrator: %v", err)
		}
		if err := b.Users.Delete(ctx, stale, other); kind(err) != "409 problem.user.last" {
			t.Errorf("the other is now the last: %s", kind(err))
		}
		if err := b.Users.Delete(ctx, stale, 12345); kind(err) != "404 problem.user.gone" {
			t.Errorf("nobody: %s", kind(err))
		}
	})
}

// TestAServiceAccountIsNobodyWhoStays: nobody can sign in as one, so as an administrator it neither lets the last person go, nor shuts the others
// out as the one who is marked for the day when the directory is down.
func TestAServiceAccountIsNobodyWhoStays(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx := t.Context()
		program, err := b.APITokens.CreateAccount(ctx, b.admin, "deploy", false)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Users.Update(ctx, b.admin, program, UserInput{Admin: true, BreakGlass: true}); err != nil {
			t.Fatal(err)
		}
		b.Users.cfg.Logins.Ask(nil, true)
		if who, err := b.Users.cfg.Logins.Check(ctx, auth.Attempt{Name: "root", Password: "root-lamp-otter-9", Address: "10.0.0.9"}); err != nil || who.UserID != b.admin.UserID {
			t.Errorf("the only person among the administrators is %+v, %v", who, err)
		}
		acts := auth.NewPrincipal(program, "deploy via token x", auth.RoleAdmin, "")
		for what, err := range map[string]error{
			"demote the last person":  b.Users.Update(ctx, acts, b.admin.UserID, UserInput{}),
			"disable the last person": b.Users.Update(ctx, acts, b.admin.UserID, UserInput{Admin: true, Disabled: true}),
			"delete the last person":  b.Users.Delete(ctx, acts, b.admin.UserID),
		} {
			if kind(err) != "409 problem.user.last" {
				t.Errorf("%s: %s", what, kind(err))
			}
		}
	})
}

// TestASaveLeavesAloneWhatASignInSays: an administrator saves somebody for whom a provider vouches in the moment of their sign-in, which says that
// they are no administrator any more.
func TestASaveLeavesAloneWhatASignInSays(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL) // the embedded database lets them in one after the other
	b, ctx, q := userBundle(t, pool), t.Context(), db.New()
	id, err := q.InsertUser(ctx, pool, db.InsertUserParams{Username: "olga", Password: noPassword, Role: auth.RoleAdmin, Provider: "company", IdentityKey: strings.Repeat("a", 64)})
	if err != nil {
		t.Fatal(err)
	}
	signIn, err := pool.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer signIn.Rollback()
	dbtest.Hold(t, pool, signIn)
	if _, err := q.UpdateProviderUser(ctx, signIn, db.UpdateProviderUserParams{ID: id, Username: "olga", Role: auth.RoleUser, Provider: "company"}); err != nil {
		t.Fatal(err)
	}
	dbtest.Hold(t, pool, signIn) // whose last statement is like the one that is awaited
	saved := make(chan error, 1)
	go func() { saved <- b.Users.Update(db.Patient(ctx), b.admin, id, UserInput{Admin: true, Disabled: true}) }()
	dbtest.AwaitStatement(t, pool, "UPDATE xxl_job_user SET")
	if err := signIn.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-saved; err != nil {
		t.Fatal(err)
	}
	if row, err := q.GetUser(ctx, pool, id); err != nil || row.Role != auth.RoleUser || row.Disabled != 1 {
		t.Errorf("%+v, %v", row, err)
	}
}

// TestWithTheLastSecondFactorGoTheRecoveryCodes also where two are dropped at once: who has one again is shown new ones.
func TestWithTheLastSecondFactorGoTheRecoveryCodes(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx, q := userBundle(t, pool), t.Context(), db.New()
		key := make([]byte, 32)
		b.Users.cfg.Factors = auth.NewFactors(pool, key, nil, auth.NewPlaces(pool, key, time.Now), time.Now, slog.New(slog.DiscardHandler))
		for range 30 {
			if _, err := b.Users.cfg.Factors.NewCodes(ctx, pool, b.admin.UserID); err != nil {
				t.Fatal(err)
			}
			var ids []int64
			for range 2 {
				id, err := q.InsertFactor(ctx, pool, db.InsertFactorParams{UserID: b.admin.UserID, Kind: auth.FactorCode})
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			}
			var both sync.WaitGroup
			for _, id := range ids {
				both.Go(func() {
					if err := b.Users.RemoveFactor(db.Patient(ctx), b.admin, id); err != nil {
						t.Error(err)
					}
				})
			}
			both.Wait()
			factors, codes, err := b.Users.cfg.Factors.List(ctx, b.admin.UserID)
			if err != nil || len(factors) != 0 || codes != 0 {
				t.Fatalf("%d second factors are left and %d recovery codes, %v", len(factors), codes, err)
			}
		}
	})
}

func TestPasswordsAndSessions(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx, q := t.Context(), db.New()
		id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "ann1", Password: "first-lamp-otter-9"})
		if err != nil {
			t.Fatal(err)
		}
		login := func(session string) {
			t.Helper()
			now := time.Now()
			err := q.InsertSession(ctx, pool, db.InsertSessionParams{ID: session, UserID: id, CreatedAt: now.UnixMilli(), SeenAt: now.UnixMilli(), ExpiresAt: now.Add(time.Hour).UnixMilli()})
			if err != nil {
				t.Fatal(err)
			}
		}
		open := func() int64 {
			t.Helper()
			n, err := b.Users.CountSessions(ctx, b.admin, id)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		ann := auth.NewPrincipal(id, "ann1", auth.RoleUser, "")
		ann.Session, ann.Address = "here", "10.0.0.1"
		login("here")
		login("there")
		for _, tt := range []struct{ name, old, chosen, repeat, want string }{
			{"a wrong old one", "guess", "second-lamp-otter-9", "second-lamp-otter-9", "422 old_password:user.error.old"},
			{"a typing error", "first-lamp-otter-9", "second-lamp-otter-9", "secnod-lamp-otter-9", "422 repeat:user.error.repeat"},
			{"a short one", "first-lamp-otter-9", "short", "short", "422 password:user.error.short"},
			{"a good one", "first-lamp-otter-9", "second-lamp-otter-9", "second-lamp-otter-9", "ok"},
			{"the old one is old", "first-lamp-otter-9", "third-lamp-otter-9", "third-lamp-otter-9", "422 old_password:user.error.old"},
		} {
			if err := b.Users.ChangePassword(ctx, ann, tt.old, tt.chosen, tt.repeat); kind(err) != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, kind(err), tt.want)
			}
		}
		if n := open(); n != 1 {
			t.Errorf("%d sessions after a change of password, want the one in use", n)
		}
		made, err := b.Users.ResetPassword(ctx, b.admin, id, "")
		if err != nil || len(made) < 20 || open() != 0 {
			t.Errorf("reset: %q, %v, %d sessions", made, err, open())
		}
		if _, err := b.Users.cfg.Logins.Check(ctx, auth.Attempt{Name: "ann1", Password: made, Address: "10.0.0.1"}); err != nil {
			t.Errorf("the random password: %v", err)
		}
		login("again")
		if err := b.Users.Update(ctx, b.admin, id, UserInput{Disabled: true}); err != nil || open() != 0 {
			t.Errorf("disabled: %v, %d sessions", err, open())
		}
		if _, err := b.Users.cfg.Logins.Check(ctx, auth.Attempt{Name: "ann1", Password: made, Address: "10.0.0.1"}); err == nil || err.Error() != auth.ErrDisabled.Error() {
			t.Errorf("a disabled user logs in: %v", err)
		}
		login("left")
		if err := b.Users.SignOut(ctx, ann, b.admin.UserID); kind(err) != "403" {
			t.Errorf("a normal user signs an administrator out: %s", kind(err))
		}
		if err := b.Users.SignOut(ctx, b.admin, id); err != nil || open() != 0 {
			t.Errorf("signed out: %v, %d sessions", err, open())
		}
		login("last")
		if err := b.Users.Delete(ctx, b.admin, id); err != nil || open() != 0 {
			t.Errorf("deleted: %v, %d sessions", err, open())
		}
	})
}

// TestSessionsAreLookedAfterByWhoseTheyAre, and by administrators. Who ends all of their own keeps the one in use; that one had ended already is
// written down nowhere.
func TestSessionsAreLookedAfterByWhoseTheyAre(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx := t.Context()
		id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: " ann1 ", Password: "first-lamp-otter-9", Rights: map[int64]auth.Rights{b.group: auth.RightRun}})
		if err != nil {
			t.Fatal(err)
		}
		ann := auth.NewPrincipal(id, "ann1", auth.RoleUser, "")
		ann.Session = "here"
		of := map[string]int64{"here": id, "there": id, "phone": id, "root": b.admin.UserID}
		for session, user := range of {
			now := time.Now().UnixMilli()
			if err := db.New().InsertSession(ctx, pool, db.InsertSessionParams{ID: session, UserID: user, CreatedAt: now, SeenAt: now, ExpiresAt: now + time.Hour.Milliseconds()}); err != nil {
				t.Fatal(err)
			}
		}
		sessions := func(p auth.Principal, id int64) string {
			list, err := b.Users.Sessions(ctx, p, id)
			var ids []string
			for _, s := range list {
				ids = append(ids, s.ID)
			}
			slices.Sort(ids)
			return kind(err) + " " + strings.Join(ids, " ")
		}
		before := len(b.story(t, AuditFilter{}))
		for _, tt := range []struct {
			what string
			got  func() string
			want string
		}{
			{"one's own", func() string { return sessions(ann, id) }, "ok here phone there"},
			{"an administrator's", func() string { return sessions(ann, b.admin.UserID) }, "403 "},
			{"nobody's", func() string { return sessions(auth.Principal{}, 0) }, "403 "},
			{"anybody's, by an administrator", func() string { return sessions(b.admin, id) }, "ok here phone there"},
			{"end an administrator's", func() string { return kind(b.Users.EndSession(ctx, ann, b.admin.UserID, "root")) }, "403"},
			{"end nobody's", func() string { return kind(b.Users.EndSession(ctx, auth.Principal{}, 0, "here")) }, "403"},
			{"end an administrator's as one's own", func() string { return kind(b.Users.EndSession(ctx, ann, id, "root")) }, "ok"},
			{"which goes on", func() string { return sessions(b.admin, b.admin.UserID) }, "ok root"},
			{"end one's own", func() string { return kind(b.Users.EndSession(ctx, ann, id, "phone")) }, "ok"},
			{"end it again", func() string { return kind(b.Users.EndSession(ctx, ann, id, "phone")) }, "ok"},
			{"which are left", func() string { return sessions(ann, id) }, "ok here there"},
			{"end all of one's own", func() string { return kind(b.Users.SignOut(ctx, ann, id)) }, "ok"},
			{"but the one in use", func() string { return sessions(ann, id) }, "ok here"},
			{"end all of nobody's", func() string { return kind(b.Users.SignOut(ctx, auth.Principal{}, 0)) }, "403"},
		} {
			if got := tt.got(); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.what, got, tt.want)
			}
		}
		if diff := cmp.Diff([]string{"ann1 signout user ann1", "ann1 signout user ann1"}, b.story(t, AuditFilter{})[before:]); diff != "" {
			t.Errorf("the log (-want +got):\n%s", diff)
		}
		one, err := b.Users.Get(ctx, b.admin, id)
		list, listed := b.Users.List(ctx, b.admin)
		i := slices.IndexFunc(list, func(u User) bool { return u.ID == id })
		if err != nil || listed != nil || i < 0 || list[i].Sessions != 1 {
			t.Fatalf("%+v, %v, %v", list, err, listed)
		}
		one.Sessions = 1
		if diff := cmp.Diff(one, list[i], cmpopts.IgnoreUnexported(User{})); diff != "" || one.Rights[b.group] != auth.RightRun.Normal() {
			t.Errorf("in the list they are another (-alone +listed):\n%s", diff)
		}
	})
}

// TestANewPasswordEndsWhatBeganWithTheOldOne: sign-ins of which a step is left go no further, but for the one in which it was chosen.
func TestANewPasswordEndsWhatBeganWithTheOldOne(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx, q := t.Context(), db.New()
		id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "ann1", Password: "first-lamp-otter-9"})
		if err != nil {
			t.Fatal(err)
		}
		ann := auth.NewPrincipal(id, "ann1", auth.RoleUser, "")
		ann.Session, ann.Address = "here", "10.0.0.1"
		for _, tt := range []struct {
			name string
			do   func() error
			kept string
		}{
			{"chosen in one of them", func() error { return b.Users.ChooseOwn(ctx, ann, "mine", "second-lamp-otter-9", "second-lamp-otter-9") }, "mine"},
			{"changed by its user", func() error {
				return b.Users.ChangePassword(ctx, ann, "second-lamp-otter-9", "third-lamp-otter-9", "third-lamp-otter-9")
			}, ""},
			{"reset by somebody else", func() error { _, err := b.Users.ResetPassword(ctx, b.admin, id, ""); return err }, ""},
		} {
			if _, err := q.DeleteSignInsOfUser(ctx, pool, id); err != nil {
				t.Fatal(err)
			}
			for _, signIn := range []string{"mine", "other"} {
				if err := q.InsertSignIn(ctx, pool, db.InsertSignInParams{ID: signIn, UserID: id, Way: string(auth.WayPassword), ExpiresAt: b.now.Add(time.Hour).UnixMilli()}); err != nil {
					t.Fatal(err)
				}
			}
			if err := tt.do(); err != nil {
				t.Fatal(tt.name, kind(err))
			}
			kept := ""
			for _, signIn := range []string{"mine", "other"} {
				if _, err := q.GetSignIn(ctx, pool, db.GetSignInParams{ID: signIn, NowMs: b.now.UnixMilli()}); err == nil {
					kept += signIn
				}
			}
			if kept != tt.kept {
				t.Errorf("%s: %q goes on, want %q", tt.name, kept, tt.kept)
			}
		}
	})
}

func TestFinerRightsOpenOnlyWhatTheySay(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		shell := func(in *JobInput) {
			in.Glue, in.Handler, in.GlueSource, in.GlueRemark = wire.GlueShell, "", "echo 1", "first"
		}
		job := b.create(t, shell)
		somebody := auth.NewPrincipal(7, "eve", auth.RoleUser, "")
		viewer, runner := somebody.Grant(b.group, auth.RightView), somebody.Grant(b.group, auth.RightRun)
		keeper, editor := somebody.Grant(b.group, auth.RightSchedule), somebody.Grant(b.group, auth.RightEdit)
		writer := editor.Grant(b.group, auth.RightGlue)
		both := editor.Grant(b.closed, auth.RightEdit).Grant(b.group, auth.RightGlue)
		changed := b.job(func(in *JobInput) { shell(in); in.GlueSource = "echo 2" })
		tests := []struct {
			name string
			err  error
			want string
		}{
			{"a viewer reads", second(b.Jobs.Get(ctx, viewer, job)), "ok"},
			{"a viewer runs", second(b.Jobs.Trigger(ctx, viewer, job, RunInput{})), "403"},
			{"a viewer starts", b.Jobs.Start(ctx, viewer, job), "403"},
			{"a viewer deletes", b.Jobs.Delete(ctx, viewer, job), "403"},
			{"a runner runs", second(b.Jobs.Trigger(ctx, runner, job, RunInput{})), "ok"},
			{"a runner starts", b.Jobs.Start(ctx, runner, job), "403"},
			{"a runner stops", b.Jobs.Stop(ctx, runner, job), "403"},
			{"who keeps the schedules starts", b.Jobs.Start(ctx, keeper, job), "ok"},
			{"who keeps the schedules stops", b.Jobs.Stop(ctx, keeper, job), "ok"},
			{"who keeps the schedules runs", second(b.Jobs.Trigger(ctx, keeper, job, RunInput{})), "403"},
			{"a runner edits", b.Jobs.Update(ctx, runner, job, b.job(shell)), "403"},
			{"an editor edits", b.Jobs.Update(ctx, editor, job, b.job(shell)), "ok"},
			{"an editor runs", second(b.Jobs.Trigger(ctx, editor, job, RunInput{})), "403"},
			{"an editor changes a script", b.Jobs.Update(ctx, editor, job, changed), "403 problem.scripts.right"},
			{"an editor creates a script", second(b.Jobs.Create(ctx, editor, changed)), "403 problem.scripts.right"},
			{"a writer changes a script", b.Jobs.Update(ctx, writer, job, changed), "ok"},
			{"a script moves where nobody may write one", b.Jobs.Update(ctx, both, job, b.job(func(in *JobInput) { shell(in); in.GlueSource, in.Group = "echo 2", b.closed })), "403 problem.scripts.right"},
			{"a child that may only be seen", second(b.Jobs.Create(ctx, editor, b.job(func(in *JobInput) { in.ChildJobIDs = strconv.FormatInt(job, 10) }))), "422 children:job.error.child_gone"},
		}
		for _, tt := range tests {
			if kind(tt.err) != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, kind(tt.err), tt.want)
			}
		}
	})
}

// TestEverybodyIsListed, also where a directory has let in thousands: by name, in the file of rights, and where the directory is asked again.
func TestEverybodyIsListed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx := userBundle(t, pool), t.Context()
		before := must(b.Users.List(ctx, b.admin))(t)
		const more = 2*usersPage + 1
		rows := make([]string, more)
		for i := range rows {
			rows[i] = fmt.Sprintf("('n%d', '-', 0, 'office', 'key %d')", i, i)
		}
		if _, err := pool.ExecContext(ctx, "INSERT INTO xxl_job_user (username, password, role, provider, identity_key) VALUES "+strings.Join(rows, ",")); err != nil {
			t.Fatal(err)
		}
		list := must(b.Users.Export(ctx, b.admin))(t)
		if len(list) != len(before)+more || !slices.IsSortedFunc(list, func(x, y User) int { return strings.Compare(x.Name, y.Name) }) {
			t.Errorf("%d are listed, in order %t", len(list), slices.IsSortedFunc(list, func(x, y User) int { return strings.Compare(x.Name, y.Name) }))
		}
		if asked := must(b.Directories.letIn(ctx, "office"))(t); len(asked) != more {
			t.Errorf("the directory is asked about %d of %d", len(asked), more)
		}
	})
}

// TestALoginOfAProgramGoesWithWhoLetItIn: what somebody let in before they were deleted gets no token, not of who has their number next either.
func TestALoginOfAProgramGoesWithWhoLetItIn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx := t.Context()
		id, err := db.New().InsertUser(ctx, pool, db.InsertUserParams{Username: "leaver", Password: "x"})
		if err != nil {
			t.Fatal(err)
		}
		d, secret, err := b.Devices.Begin(ctx, "192.0.2.1", "punctual")
		if err != nil {
			t.Fatal(err)
		}
		leaver := loggedIn(t, pool, auth.NewPrincipal(id, "leaver", auth.RoleUser, db.Text(fmt.Sprint(b.group))))
		if err := b.Devices.LetIn(ctx, leaver, d.Code, APITokenInput{Name: "laptop", Rights: auth.RightView, Days: 7}); err != nil {
			t.Fatal(err)
		}
		if err := b.Users.Delete(ctx, b.admin, id); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(ctx, "INSERT INTO xxl_job_user (id, username, password, role, permission) VALUES (?, 'successor', 'x', 0, ?)", id, fmt.Sprint(b.group)); err != nil {
			t.Fatal(err)
		}
		if state, token, err := b.Devices.Take(ctx, secret); err != nil || state != DeviceRefused || token != "" {
			t.Errorf("a program that was let in by who is deleted: %q, a token: %v, %v", state, token != "", err)
		}
	})
}

// loggedIn gives somebody a session.
func loggedIn(t *testing.T, pool *db.Pool, p auth.Principal) auth.Principal {
	t.Helper()
	p.Session = "a session"
	if err := db.New().InsertSession(t.Context(), pool, db.InsertSessionParams{ID: p.Session, UserID: p.UserID, ExpiresAt: 1 << 60}); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestWhoseSessionHasEndedLetsNobodyIn, however far the request is that they made with it: the token would outlive what ended the session.
func TestWhoseSessionHasEndedLetsNobodyIn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx := t.Context()
		id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "robbed", Password: "correct horse battery", Rights: map[int64]auth.Rights{b.group: auth.AllRights}})
		if err != nil {
			t.Fatal(err)
		}
		robbed := loggedIn(t, pool, auth.NewPrincipal(id, "robbed", auth.RoleUser, db.Text(fmt.Sprint(b.group))))
		another, over, program := robbed, robbed, robbed
		another.Session, program.Session = "another", ""
		another.UserID = b.admin.UserID
		if err := db.New().InsertSession(ctx, pool, db.InsertSessionParams{ID: "over", UserID: id, ExpiresAt: 1}); err != nil {
			t.Fatal(err)
		}
		over.Session = "over"
		d, secret, err := b.Devices.Begin(ctx, "192.0.2.1", "punctual")
		if err != nil {
			t.Fatal(err)
		}
		in := APITokenInput{Name: "thief", Rights: auth.RightView, Days: 7}
		refused := func(name string, p auth.Principal) {
			t.Helper()
			if err := b.Devices.LetIn(ctx, p, d.Code, in); problem.From(err).Kind != problem.Forbidden {
				t.Errorf("%s lets it in: %v", name, err)
			}
			if err := b.Devices.Refuse(ctx, p, d.Code); problem.From(err).Kind != problem.Forbidden {
				t.Errorf("%s refuses it: %v", name, err)
			}
			if state, _, err := b.Devices.Take(ctx, secret); err != nil || state != DeviceWaiting {
				t.Errorf("%s: the program is %q, %v", name, state, err)
			}
		}
		refused("another's session", another)
		refused("a session that is over", over)
		refused("who has none", program)
		if pool.Dialect() == db.MySQL { // the embedded database lets writers in one after the other
			ends, err := pool.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = ends.Rollback() }()
			dbtest.Hold(t, pool, ends)
			if err := b.Users.endSessions(ctx, ends, id, ""); err != nil {
				t.Fatal(err)
			}
			answered := make(chan error, 1)
			go func() { answered <- b.Devices.LetIn(db.Patient(ctx), robbed, d.Code, in) }()
			dbtest.AwaitStatement(t, pool, "UPDATE punctual_session SET user_id")
			if err := ends.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-answered; problem.From(err).Kind != problem.Forbidden {
				t.Errorf("a session that ends meanwhile lets it in: %v", err)
			}
		} else if err := b.Users.SignOut(ctx, b.admin, id); err != nil {
			t.Fatal(err)
		}
		refused("a session that was ended", robbed)
	})
}

// TestALoginOfAProgramEndsWithTheSessions: what a stolen session has let in and has not fetched its token yet is in no list of tokens, in which
// somebody could find it who has just changed the password.
func TestALoginOfAProgramEndsWithTheSessions(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx := t.Context()
		const password, next = "correct horse battery", "staple of another horse"
		id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "robbed", Password: password, Rights: map[int64]auth.Rights{b.group: auth.AllRights}})
		if err != nil {
			t.Fatal(err)
		}
		robbed := auth.NewPrincipal(id, "robbed", auth.RoleUser, db.Text(fmt.Sprint(b.group)))
		for _, end := range []struct {
			name string
			do   func() error
		}{
			{"the password is changed", func() error { return b.Users.ChangePassword(ctx, robbed, password, next, next) }},
			{"the password is reset", func() error { _, err := b.Users.ResetPassword(ctx, b.admin, id, ""); return err }},
			{"they are given a password", func() error {
				return b.Users.Update(ctx, b.admin, id, UserInput{Password: password, Rights: map[int64]auth.Rights{b.group: auth.AllRights}})
			}},
			{"they log out everywhere", func() error { return b.Users.SignOut(ctx, robbed, id) }},
			{"they are logged out everywhere", func() error { return b.Users.SignOut(ctx, b.admin, id) }},
			{"one session is ended", func() error { return b.Users.EndSession(ctx, robbed, id, "a session") }},
			{"the second factor is reset", func() error { return b.Users.ResetSecond(ctx, b.admin, id) }},
			{"they are shut out for a moment", func() error {
				in := UserInput{Disabled: true, Rights: map[int64]auth.Rights{b.group: auth.AllRights}}
				if err := b.Users.Update(ctx, b.admin, id, in); err != nil {
					return err
				}
				in.Disabled = false
				return b.Users.Update(ctx, b.admin, id, in)
			}},
		} {
			d, secret, err := b.Devices.Begin(ctx, "192.0.2.1", "punctual")
			if err != nil {
				t.Fatal(err)
			}
			robbed = loggedIn(t, pool, robbed)
			if err := b.Devices.LetIn(ctx, robbed, d.Code, APITokenInput{Name: "thief", Rights: auth.RightView, Days: 7}); err != nil {
				t.Fatal(err)
			}
			if err := end.do(); err != nil {
				t.Fatalf("%s: %v", end.name, err)
			}
			if state, token, err := b.Devices.Take(ctx, secret); err != nil || state != DeviceRefused || token != "" {
				t.Errorf("%s: the program is %q, with a token: %v, %v", end.name, state, token != "", err)
			}
			if _, err := b.Users.queries.DeleteSessionsOfUser(ctx, pool, id); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestNothingIsLeftUnderTheNumberOfADeletedUser: whoever gets the number next would have it. The log says who did something, by number and name.
func TestNothingIsLeftUnderTheNumberOfADeletedUser(t *testing.T) {
	t.Parallel()
	history := []string{"punctual_audit.user_id"}
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx := t.Context()
		id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "leaver", Password: "correct horse battery"})
		if err != nil {
			t.Fatal(err)
		}
		numbered := make(map[string]string) // the column of a table
		for _, table := range allTables(t, pool) {
			if column := fillRow(t, pool, table, id); column != "" {
				numbered[table] = column
			}
		}
		if len(numbered) < 12 {
			t.Fatalf("only %v have numbers of users", numbered)
		}
		if err := b.Users.Delete(ctx, b.admin, id); err != nil {
			t.Fatal(err)
		}
		for table, column := range numbered {
			n := 0
			if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table+" WHERE "+column+" = ?", id).Scan(&n); err != nil {
				t.Fatal(err)
			}
			if kept := slices.Contains(history, table+"."+column); kept != (n > 0) {
				t.Errorf("%s: %d rows have the number in %s", table, n, column)
			}
		}
	})
}

// allTables are the tables of a database.
func allTables(t *testing.T, pool *db.Pool) (names []string) {
	t.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'punctual%'"
	if pool.Dialect() == db.MySQL {
		query = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE 'punctual%'"
	}
	rows, err := pool.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		name := ""
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// fillRow adds a row with the number of a user to a table that has such numbers, and says in which column.
func fillRow(t *testing.T, pool *db.Pool, table string, userID int64) (column string) {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), "SELECT * FROM "+table+" LIMIT 0")
	if err != nil {
		t.Fatal(err)
	}
	types, err := rows.ColumnTypes()
	if err := errors.Join(err, rows.Close()); err != nil {
		t.Fatal(err)
	}
	var names, marks []string
	var values []any
	for _, c := range types {
		value := any("1") // of a number as of a text
		switch kind := strings.ToUpper(c.DatabaseTypeName()); {
		case slices.Contains([]string{"user_id", "author_id", "owner_id", "made_by_id"}, c.Name()):
			column, value = c.Name(), userID
		case strings.Contains(kind, "DATE"), strings.Contains(kind, "TIME"):
			value = pool.Wall(time.Now())
		}
		names, marks, values = append(names, c.Name()), append(marks, "?"), append(values, value)
	}
	if column == "" {
		return ""
	}
	if _, err := pool.ExecContext(t.Context(), "REPLACE INTO "+table+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(marks, ", ")+")", values...); err != nil {
		t.Fatalf("%s: %v", table, err)
	}
	return column
}

// TestAProgramThatComesWhileSessionsEnd gets no token: its owner was read before these ended.
func TestAProgramThatComesWhileSessionsEnd(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL) // the embedded database lets writers in one after the other
	b := userBundle(t, pool)
	ctx := t.Context()
	id, _, err := b.Users.Create(ctx, b.admin, UserInput{Name: "robbed", Password: "correct horse battery", Rights: map[int64]auth.Rights{b.group: auth.AllRights}})
	if err != nil {
		t.Fatal(err)
	}
	robbed := loggedIn(t, pool, auth.NewPrincipal(id, "robbed", auth.RoleUser, db.Text(fmt.Sprint(b.group))))
	d, secret, err := b.Devices.Begin(ctx, "192.0.2.1", "punctual")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Devices.LetIn(ctx, robbed, d.Code, APITokenInput{Name: "thief", Rights: auth.RightView, Days: 7}); err != nil {
		t.Fatal(err)
	}
	ends, err := pool.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ends.Rollback() }()
	dbtest.Hold(t, pool, ends)
	if err := b.Users.endSessions(ctx, ends, id, ""); err != nil {
		t.Fatal(err)
	}
	taken := make(chan error, 1)
	go func() {
		state, token, err := b.Devices.Take(db.Patient(ctx), secret)
		if err == nil && (state == DeviceLetIn || token != "") {
			err = fmt.Errorf("the program is %q, with a token: %v", state, token != "")
		}
		taken <- err
	}()
	dbtest.AwaitStatement(t, pool, "UPDATE punctual_device_login SET state = 3")
	if err := ends.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-taken; err != nil {
		t.Error(err)
	}
}
