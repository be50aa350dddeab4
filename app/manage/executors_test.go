package manage

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
)

func TestAddressesLeaveTheRotation(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		b.engine.live = []scheduler.AddressState{{Address: "http://a:1/"}}
		tests := []struct {
			name    string
			who     auth.Principal
			address string
			want    string
		}{
			{"a normal user may not", b.user, "http://a:1/", "403"},
			{"only what is listed", b.admin, "http://169.254.169.254/", "404 problem.address.gone"},
			{"an administrator may", b.admin, "http://a:1/", "ok"},
		}
		for _, tt := range tests {
			if got := kind(b.Groups.SetAddressDisabled(ctx, tt.who, b.group, tt.address, true)); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		if !b.engine.live[0].Disabled {
			t.Error("the address is still in rotation")
		}
		if list, err := b.Audit.List(ctx, b.admin, AuditFilter{Kind: ObjectGroup, ID: b.group, Action: string(ActionUpdate), Limit: 10}); err != nil || len(list.Entries) != 1 {
			t.Errorf("%v: %+v", err, list)
		}
		if !b.engine.joined {
			t.Error("the address could leave the rotation without an entry in the audit log")
		}
	})
}

func TestTokensAreForAdministrators(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
		tokens := auth.NewTokens(auth.TokensConfig{Pool: pool, Now: func() time.Time { return now }})
		ctx := t.Context()
		if err := tokens.Load(ctx); err != nil {
			t.Fatal(err)
		}
		b := setup(t, pool, func(c *Config) { c.Tokens = tokens })
		refused := map[string]func(context.Context) error{
			"state":  func(ctx context.Context) error { _, err := b.Tokens.State(ctx, b.user, b.group); return err },
			"common": func(ctx context.Context) error { _, err := b.Tokens.State(ctx, b.user, 0); return err },
			"rotate": func(ctx context.Context) error { return b.Tokens.Rotate(ctx, b.user, b.group, time.Hour) },
			"show":   func(ctx context.Context) error { _, err := b.Tokens.Show(ctx, b.user, b.group); return err },
			"drop":   func(ctx context.Context) error { return b.Tokens.Drop(ctx, b.user, b.group) },
		}
		for name, do := range refused {
			if got := kind(do(ctx)); got != "403" {
				t.Errorf("%s by a normal user: %s", name, got)
			}
		}
		state := func(group int64) auth.TokenState {
			t.Helper()
			s, err := b.Tokens.State(ctx, b.admin, group)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		common := state(0)
		if s := state(b.group); s.Own || s.Token != common.Token || common.Token == "" {
			t.Errorf("before: %+v", s)
		}
		if got := kind(b.Tokens.Drop(ctx, b.admin, b.group)); got != "409 problem.token.common" {
			t.Errorf("dropped what is not there: %s", got)
		}
		if got := kind(b.Tokens.Rotate(ctx, b.admin, b.group, 31*24*time.Hour)); got != "422 grace:job.error.out_of_range" {
			t.Errorf("a grace without end: %s", got)
		}
		if got := kind(b.Tokens.Rotate(ctx, b.admin, 999, time.Hour)); got != "404 problem.group.gone" {
			t.Errorf("of no group: %s", got)
		}
		if err := b.Tokens.Rotate(ctx, b.admin, b.group, time.Hour); err != nil {
			t.Fatal(err)
		}
		if s := state(b.group); !s.Own || s.Token == common.Token || !s.PreviousUntil.Equal(now.Add(time.Hour)) {
			t.Errorf("after: %+v", s)
		}
		// Who looks at one is on record; that there is one is not worth it.
		seen := func() (names []string) {
			t.Helper()
			list, err := b.Audit.List(ctx, b.admin, AuditFilter{Action: string(ActionShow), Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list.Entries {
				names = append(names, e.ObjectKind+" "+e.ObjectName)
			}
			return names
		}
		if names := seen(); len(names) != 0 {
			t.Errorf("on record as shown: %q", names)
		}
		for _, group := range []int64{0, b.group} {
			if s, err := b.Tokens.Show(ctx, b.admin, group); err != nil || s.Token != state(group).Token {
				t.Errorf("shown: %+v, %v", s, err)
			}
		}
		if names := seen(); !slices.Equal(names, []string{"token orders", "token "}) {
			t.Errorf("on record as shown: %q", names)
		}
		// What the audit log does not take is not done.
		rename := func(from, to string) {
			t.Helper()
			if _, err := pool.ExecContext(ctx, "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
				t.Fatal(err)
			}
		}
		rename("punctual_audit", "punctual_audit_away")
		if err := b.Tokens.Drop(ctx, b.admin, b.group); err == nil || !state(b.group).Own {
			t.Errorf("dropped without an entry: %v, %+v", err, state(b.group))
		}
		rename("punctual_audit_away", "punctual_audit")
		// A group that is deleted takes its token along.
		if err := b.Groups.Delete(ctx, b.admin, b.group); err != nil {
			t.Fatal(err)
		}
		if s := tokens.State("orders"); s.Own {
			t.Error("the token of a deleted group still works")
		}
		fixed := tokensOf(pool, auth.NewTokens(auth.TokensConfig{Pool: pool, Fixed: "set-outside"}))
		if got := kind(fixed.Rotate(ctx, b.admin, 0, time.Hour)); got != "409 problem.token.fixed" {
			t.Errorf("a token that is a setting: %s", got)
		}
	})
}

func tokensOf(pool *db.Pool, tokens TokenKeeper) *Tokens {
	return New(Config{Pool: pool, Engine: &engine{}, Tokens: tokens}).Tokens
}

// TestAGroupKeepsItsTokenWhereItsNameIsWrittenOtherwise: its executors, which go by the name whatever its capitals, are not shut out; one that gets
// another name loses its token.
func TestAGroupKeepsItsTokenWhereItsNameIsWrittenOtherwise(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		tokens := auth.NewTokens(auth.TokensConfig{Pool: pool})
		b := setup(t, pool, func(c *Config) { c.Tokens = tokens })
		if err := tokens.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := b.Tokens.Rotate(t.Context(), b.admin, b.group, 0); err != nil {
			t.Fatal(err)
		}
		own := tokens.For("orders")
		for _, c := range []struct {
			name string
			own  bool
		}{{"Orders", true}, {"orders", true}, {"orders-2", false}} {
			if err := b.Groups.Update(t.Context(), b.admin, b.group, GroupInput{AppName: c.name, Title: "O", Manual: true, Addresses: "10.0.0.1:9999", AnyName: true}); err != nil {
				t.Fatal(err)
			}
			if state := tokens.State(c.name); state.Own != c.own || (state.Token == own) != c.own {
				t.Errorf("as %s it has a token of its own: %t, want %t", c.name, state.Own, c.own)
			}
		}
	})
}

// rotating is a keeper of tokens that does something else at the moment that it makes one.
type rotating struct {
	TokenKeeper
	do func(ctx context.Context)
}

func (r rotating) Rotate(ctx context.Context, appName string, grace time.Duration) (string, error) {
	r.do(ctx)
	return r.TokenKeeper.Rotate(ctx, appName, grace)
}

// TestNoTokenOutlivesAGroupThatGoesMeanwhile: the group is deleted at the moment that its token is made.
func TestNoTokenOutlivesAGroupThatGoesMeanwhile(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		tokens := auth.NewTokens(auth.TokensConfig{Pool: pool})
		b := setup(t, pool, func(c *Config) { c.Tokens = tokens })
		deleted := make(chan error, 1)
		b.Tokens.cfg.Tokens = rotating{tokens, func(ctx context.Context) {
			go func() { deleted <- b.Groups.Delete(db.Patient(context.Background()), b.admin, b.closed) }()
			if !pool.Joined(ctx) { // else it waits for what is going on
				deleted <- <-deleted
			}
		}}
		ctx := db.Patient(t.Context())
		err := b.Tokens.Rotate(ctx, b.admin, b.closed, time.Hour)
		if err := errors.Join(err, <-deleted); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM punctual_token WHERE app_name <> ''").Scan(&left); err != nil || left != 0 || tokens.State("secret").Own {
			t.Errorf("%d tokens are left of no group, %v; its state is %+v", left, err, tokens.State("secret"))
		}
		if err := b.Tokens.Rotate(ctx, b.admin, b.closed, time.Hour); kind(err) != "404 problem.group.gone" {
			t.Errorf("for one that is gone: %v", err)
		}
	})
}
