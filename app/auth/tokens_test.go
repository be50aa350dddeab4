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
	if token, other := tokens.Send(Bearer{AppName: "orders", Address: "http://a:1/", Known: true}); token != "" || other != "" {
		t.Errorf("sent %q, then %q", token, other)
	}
}

func TestOnceAGroupHasATokenTheCommonOneCountsForNothingThere(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		tokens := NewTokens(pool, func() time.Time { return now }, "", false)
		if err := tokens.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		common := tokens.Common()
		speaks := func(given, appName string) bool {
			scope, ok := tokens.Check("", given)
			return ok && tokens.Speaks(scope, given, appName)
		}
		if !speaks(common, "orders") {
			t.Error("a group without a token of its own does not know the common one")
		}
		own, err := tokens.Rotate(t.Context(), "orders", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if !speaks(common, "orders") || !speaks(own, "orders") || speaks(own, "payments") || !speaks(common, "payments") {
			t.Error("while it is handed over, both count for the group, and its own for no other")
		}
		if s := tokens.State("orders"); !s.Handover || !s.PreviousUntil.Equal(now.Add(time.Hour)) {
			t.Errorf("an administrator sees %+v", s)
		}
		now = now.Add(time.Hour)
		if speaks(common, "orders") || speaks(common, "ORDERS") || !speaks(own, "orders") || !speaks(common, "payments") {
			t.Error("after the hand-over the common token counts for the group, or its own does not")
		}
		next, err := tokens.Rotate(t.Context(), "orders", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if speaks(common, "orders") || !speaks(own, "orders") || !speaks(next, "orders") || tokens.State("orders").Handover {
			t.Error("a rotation of the group's own token is no hand-over from the common one")
		}
	})
}

func TestATokenIsSentOnlyWhereItWasShown(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.SQLite)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	tokens := NewTokens(pool, func() time.Time { return now }, "", false)
	if err := tokens.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	common := tokens.Common()
	registered := func(app, shown string) Bearer {
		return Bearer{AppName: app, Address: "http://a:1/", Shown: Fingerprint(shown), Known: true}
	}
	typed := func(app string) Bearer { return Bearer{AppName: app, Address: "http://b:1/", Typed: true, Known: true} }
	check := func(when string, b Bearer, token, other string) {
		t.Helper()
		if gotToken, gotOther := tokens.Send(b); gotToken != token || gotOther != other {
			t.Errorf("%s: sent %q, then %q; want %q, then %q", when, gotToken, gotOther, token, other)
		}
	}
	rotate := func(app string) string {
		t.Helper()
		token, err := tokens.Rotate(t.Context(), app, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	check("common, shown", registered("orders", common), common, "")
	check("taken in by another admin", registered("orders", ""), common, "")
	check("typed", typed("orders"), common, "")
	check("an address that nobody knows", Bearer{AppName: "orders", Address: "http://c:1/"}, "", "")
	check("one that showed something else", registered("orders", "stale"), "", "")

	own := rotate("orders")
	check("handing over, it showed the common one", registered("orders", common), common, "")
	check("handing over, it showed the new one", registered("orders", own), own, "")
	check("handing over, typed", typed("orders"), own, common)
	check("handing over, unknown what it showed", registered("orders", ""), "", "")
	check("another group", registered("payments", common), common, "")
	now = now.Add(time.Hour)
	check("handed over, it showed the common one", registered("orders", common), "", "")
	check("handed over, it showed the new one", registered("orders", own), own, "")
	check("handed over, typed", typed("orders"), own, "")

	next := rotate("orders")
	check("rotating, it showed the one before", registered("orders", own), own, next)
	check("rotating, it showed the next", registered("orders", next), next, own)
	check("rotating, it showed the common one", registered("orders", common), "", "")
	check("rotating, typed", typed("orders"), next, own)
	tokens.Worked("http://b:1/", own)
	check("rotating, typed, and it took the one before", typed("orders"), own, next)
	now = now.Add(time.Hour)
	check("rotated, it showed the one before", registered("orders", own), "", "")
}
