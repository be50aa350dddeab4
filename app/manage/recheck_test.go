package manage

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestWhomAnAdministratorShutsOutStaysOut: in the moment in which they sign in, or in which their directory is asked about them.
func TestWhomAnAdministratorShutsOutStaysOut(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL) // the embedded database lets them in one after the other
	b, q := userBundle(t, pool), db.New()
	key := strings.Repeat("a", 64)
	who := directory.Identity{Provider: "office", Key: key, Name: "olga", In: true, Grant: directory.Grant{Auditor: true}}
	if _, err := b.Directories.enrol(t.Context(), who); err != nil {
		t.Fatal(err)
	}
	row, err := q.GetUserByIdentity(t.Context(), pool, key)
	if err != nil {
		t.Fatal(err)
	}
	who.Grant.Auditor = false
	for _, tt := range []struct {
		name string
		do   func(context.Context) error
		want error
	}{
		{"a sign-in", func(ctx context.Context) error { _, err := b.Directories.enrol(ctx, who); return err }, auth.ErrDisabled},
		{"a round of questions", func(ctx context.Context) error {
			return b.Directories.follow(ctx, db.ListDirectoryUsersRow{ID: row.ID, Username: "olga", IdentityKey: key}, directory.Standing{Identity: who, There: true}, nil, nil, b.now.UnixMilli())
		}, nil},
	} {
		ctx := t.Context()
		if _, err := q.UpdateUser(ctx, pool, db.UpdateUserParams{ID: row.ID, Role: auth.RoleAuditor, Disabled: active}); err != nil {
			t.Fatal(err)
		}
		shut, err := pool.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		dbtest.Hold(t, pool, shut)
		if _, err := q.SetUserDisabled(ctx, shut, db.SetUserDisabledParams{ID: row.ID, Disabled: disabledHere}); err != nil {
			t.Fatal(err)
		}
		dbtest.Hold(t, pool, shut) // whose last statement is like the one that is awaited
		done := make(chan error, 1)
		go func() { done <- tt.do(db.Patient(ctx)) }()
		dbtest.AwaitStatement(t, pool, "UPDATE xxl_job_user SET")
		if err := shut.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if now, err := q.GetUser(ctx, pool, row.ID); err != nil || now.Disabled != disabledHere || now.Role != auth.RoleAuditor {
			t.Errorf("%s: %+v, %v", tt.name, now, err)
		}
	}
}

// TestWhoLeftIsShutOutOnTheRecord: an administrator who disables somebody for good whom their directory let go has done something.
func TestWhoLeftIsShutOutOnTheRecord(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx := userBundle(t, pool), t.Context()
		id, err := db.New().InsertUser(ctx, pool, db.InsertUserParams{Username: "jonas", Password: noPassword, Role: auth.RoleUser, Provider: "office", IdentityKey: "key"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.New().SetUserDisabled(ctx, pool, db.SetUserDisabledParams{ID: id, Disabled: disabledLeft}); err != nil {
			t.Fatal(err)
		}
		if err := b.Users.Update(ctx, b.admin, id, UserInput{Disabled: true}); err != nil {
			t.Fatal(err)
		}
		if u := must(b.Users.Get(ctx, b.admin, id))(t); u.Left || !u.Disabled {
			t.Errorf("%+v", u)
		}
		list, err := b.Audit.List(ctx, b.admin, AuditFilter{Kind: ObjectUser, ID: id, Limit: 10})
		if err != nil || len(list.Entries) != 1 {
			t.Errorf("%v: %+v", err, list)
		}
	})
}

// TestNothingIsWrittenAnewForATeamThatThereIsNot, every round and for everybody of whom a rule names one.
func TestNothingIsWrittenAnewForATeamThatThereIsNot(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx, q := userBundle(t, pool), t.Context(), db.New()
		must(b.Teams.Save(ctx, b.admin, 0, TeamInput{Name: "Night"}))(t)
		who := directory.Identity{Provider: "office", Key: strings.Repeat("a", 64), Name: "olga", In: true, Grant: directory.Grant{Teams: []string{"night", "Night", "nowhere"}}}
		p, err := b.Directories.enrol(ctx, who)
		if err != nil {
			t.Fatal(err)
		}
		said := directory.Standing{Identity: who, There: true}
		for _, tt := range []struct {
			name  string
			teams []string
			same  bool
		}{{"as at the sign-in", who.Grant.Teams, true}, {"of none", nil, false}, {"of another", []string{"nowhere"}, false}} {
			said.Grant.Teams = tt.teams
			teams := must(q.ListTeams(ctx, pool, maxTeams))(t)
			same, err := b.Directories.upToDate(ctx, db.ListDirectoryUsersRow{ID: p.UserID, Username: "olga"}, said, nil, teams)
			if err != nil || same != tt.same {
				t.Errorf("%s: %t, %v", tt.name, same, err)
			}
		}
	})
}
