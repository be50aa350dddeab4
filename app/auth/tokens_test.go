package auth

import (
	"errors"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func TestTheCommonTokenIsMadeOnceAndKnownToAllAdmins(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		first, second := NewTokens(pool, time.Now, "", false), NewTokens(pool, time.Now, "", false)
		for _, tokens := range []*Tokens{first, second} {
			if err := tokens.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if a, b := first.Common(), second.Common(); a != b || len(a) < 20 {
			t.Errorf("tokens %q and %q, want one long one", a, b)
		}
		if _, ok := first.Check("", "default_token"); ok {
			t.Error("a token that everybody knows lets in")
		}
		if _, ok := first.Check("", ""); ok {
			t.Error("no token lets in")
		}
		if scope, ok := second.Check("", first.Common()); !ok || scope != "" {
			t.Errorf("the common token: scope %q, %v", scope, ok)
		}
	})
}

func TestARotatedTokenWorksUntilItsGraceEnds(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		clock := func() time.Time { return now }
		tokens, other := NewTokens(pool, clock, "", false), NewTokens(pool, clock, "", false)
		if err := tokens.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		old := tokens.Common()
		fresh, err := tokens.Rotate(t.Context(), "orders", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if other.For("orders") != fresh || other.For("payments") != old {
			t.Error("the group's own token is for that group")
		}
		if scope, ok := other.Check("", fresh); !ok || scope != "orders" {
			t.Errorf("the group's token: scope %q, %v", scope, ok)
		}
		if _, ok := other.Check("payments", fresh); ok {
			t.Error("one group's token lets another group in")
		}
		again, err := tokens.Rotate(t.Context(), "orders", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{fresh, again} {
			if _, ok := tokens.Check("orders", token); !ok {
				t.Errorf("within the grace %q does not work", token)
			}
		}
		if try := tokens.Try("orders", "http://a:1/"); len(try) < 2 || try[0] != again {
			t.Errorf("tokens to try %v", try)
		}
		tokens.Showed("http://a:1/", fresh)
		if try := tokens.Try("orders", "http://a:1/"); try[0] != fresh {
			t.Errorf("the token it showed is not tried first: %v", try)
		}
		now = now.Add(time.Hour)
		if _, ok := tokens.Check("orders", fresh); ok {
			t.Error("after the grace the old token works")
		}
		if err := tokens.Drop(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		if tokens.For("orders") != old {
			t.Error("without its own the group has the common one")
		}
	})
}

func TestATokenThatIsASettingIsNotRotated(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.SQLite)
	tokens := NewTokens(pool, time.Now, "from-outside", false)
	if err := tokens.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Rotate(t.Context(), "", time.Hour); !errors.Is(err, ErrTokenFixed) {
		t.Errorf("rotate: %v", err)
	}
	if _, ok := tokens.Check("", "from-outside"); !ok {
		t.Error("the setting does not let in")
	}
}

func TestNoTokenMustBeSaid(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.SQLite)
	tokens := NewTokens(pool, time.Now, "", true)
	if err := tokens.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := tokens.Check("", "whatever"); !ok || tokens.Common() != "" {
		t.Error("everybody should be let in, and no token sent")
	}
	if try := tokens.Try("", "http://a:1/"); len(try) != 1 || try[0] != "" {
		t.Errorf("tokens to try %v", try)
	}
}
