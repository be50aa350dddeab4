package auth

import (
	"bytes"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/db/seal"
)

func TestTheCommonTokenIsMadeOnceAndKnownToAllAdmins(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		first, second := NewTokens(TokensConfig{Pool: pool}), NewTokens(TokensConfig{Pool: pool})
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
		tokens, other := NewTokens(TokensConfig{Pool: pool, Now: clock}), NewTokens(TokensConfig{Pool: pool, Now: clock})
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

// TestTwoAdminsRotateOneToken a moment after each other: the one that works beside the newest is the one before it.
func TestTwoAdminsRotateOneToken(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		one, two := NewTokens(TokensConfig{Pool: pool}), NewTokens(TokensConfig{Pool: pool})
		if err := errors.Join(one.Load(t.Context()), two.Load(t.Context())); err != nil {
			t.Fatal(err)
		}
		for _, app := range []string{"", "orders"} {
			first, err := one.Rotate(t.Context(), app, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			second, err := two.Rotate(t.Context(), app, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			for _, token := range []string{first, second} {
				if _, ok := two.Check(app, token); !ok {
					t.Errorf("%q: within the grace %q does not work", app, token)
				}
			}
		}
	})
}

// TestAChangedTokenCountsThoughItCannotBeRead: what is committed is gone by, and shown to who made it, whatever becomes of the look at the others.
func TestAChangedTokenCountsThoughItCannotBeRead(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		tokens := NewTokens(TokensConfig{Pool: pool, Logger: slog.New(slog.DiscardHandler)})
		if err := tokens.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		sent.Before("SetToken", func() { sent.Refuse("ListTokens", 1, errors.New("away")) })
		for _, app := range []string{"", "Orders"} {
			old := tokens.For(app)
			token, err := tokens.Rotate(t.Context(), app, time.Hour)
			if err != nil || !sent.Refused() {
				t.Fatal(err, sent.Refused())
			}
			state := tokens.State(app)
			_, works := tokens.Check(app, token)
			_, before := tokens.Check(app, old)
			if state.Token != token || state.PreviousUntil.IsZero() || state.Handover != (app != "") || !works || !before {
				t.Errorf("%q: %+v, it works: %t, the one before: %t", app, state, works, before)
			}
		}
		sent.Refuse("ListTokens", 1, errors.New("away"))
		if err := tokens.Drop(t.Context(), "Orders"); err != nil || !sent.Refused() || tokens.State("orders").Own {
			t.Errorf("a token that was dropped counts still: %v, %+v", err, tokens.State("orders"))
		}
	})
}

// TestARotatedTokenHolds at once: who reads the tokens meanwhile, as each admin does every few seconds, does not bring the old one back.
func TestARotatedTokenHolds(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		tokens := NewTokens(TokensConfig{Pool: pool})
		if err := tokens.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer dbtest.Meanwhile(t, func() error { return tokens.Load(t.Context()) })()
		for i := range 60 {
			old := tokens.Common()
			token, err := tokens.Rotate(t.Context(), "", 0)
			if err != nil {
				t.Fatal(err)
			}
			for range 50 {
				_, before := tokens.Check("", old)
				if _, ok := tokens.Check("", token); before || !ok {
					t.Fatalf("rotation %d: the old one %t, the new one %t", i+1, before, ok)
				}
				runtime.Gosched()
			}
		}
	})
}

func TestATokenThatIsASettingIsNotRotated(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.SQLite)
	tokens := NewTokens(TokensConfig{Pool: pool, Fixed: "from-outside"})
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
	tokens := NewTokens(TokensConfig{Pool: pool, Open: true})
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
		tokens := NewTokens(TokensConfig{Pool: pool, Now: func() time.Time { return now }})
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
	tokens := NewTokens(TokensConfig{Pool: pool, Now: func() time.Time { return now }})
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

func sealing(t *testing.T, fill byte) *seal.Seal {
	t.Helper()
	s, err := seal.New(bytes.Repeat([]byte{fill}, seal.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTokensAreSealedWhenThereIsAKey(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ctx := t.Context()
		load := func(s *seal.Seal) *Tokens {
			t.Helper()
			tokens := NewTokens(TokensConfig{Pool: pool, Seal: s, Logger: slog.New(slog.DiscardHandler)})
			if err := tokens.Load(ctx); err != nil {
				t.Fatal(err)
			}
			return tokens
		}
		stored := func() (texts []string) {
			t.Helper()
			rows, err := db.New().ListTokens(ctx, pool)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				texts = append(texts, r.Token)
				if r.Previous != "" {
					texts = append(texts, r.Previous)
				}
			}
			return texts
		}
		// An installation without a key, whose common token was a long one of somebody's own when the group got its token.
		open := NewTokens(TokensConfig{Pool: pool, Fixed: strings.Repeat("long ", 40)})
		if err := open.Load(ctx); err != nil {
			t.Fatal(err)
		}
		own, err := open.Rotate(ctx, "Orders", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		common := load(nil).Common()

		// It is given a key while another admin has none yet.
		late, sealed := load(nil), load(sealing(t, 1))
		if len(stored()) != 3 {
			t.Fatalf("stored %q", stored())
		}
		for _, text := range stored() {
			if !strings.HasPrefix(text, tokenSealed) || strings.Contains(text, own) || strings.Contains(text, common) {
				t.Errorf("stored as %q", text)
			}
		}
		if err := late.Load(ctx); err != nil {
			t.Fatal(err)
		}
		for name, tokens := range map[string]*Tokens{"the one with the key": sealed, "another": load(sealing(t, 1)), "the one without, as long as it runs": late} {
			if tokens.Common() != common || tokens.For("orders") != own || !tokens.Speaks("", strings.Repeat("long ", 40), "orders") {
				t.Errorf("%s: common %q, own %q", name, tokens.Common(), tokens.For("orders"))
			}
		}
		fresh, err := sealed.Rotate(ctx, "orders", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range stored() {
			if !strings.HasPrefix(text, tokenSealed) {
				t.Errorf("after a rotation, stored as %q", text)
			}
		}
		if again := load(sealing(t, 1)); again.For("orders") != fresh || !again.Speaks("orders", own, "orders") {
			t.Error("the rotated token or its predecessor does not count")
		}

		// With another key the group's token is lost, and does not make way for the common one.
		other := load(sealing(t, 2))
		_, in := other.Check("orders", fresh)
		if other.Speaks("", common, "orders") || in || !other.State("orders").Own {
			t.Error("a token that cannot be opened lets somebody in")
		}
		if scope, ok := other.Check("", common); ok {
			t.Errorf("the common token, which cannot be opened, lets in as %q", scope)
		}
	})
}

func TestASealedTokenOfOneGroupIsNoneOfAnothers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		tokens := NewTokens(TokensConfig{Pool: pool, Seal: sealing(t, 1), Logger: slog.New(slog.DiscardHandler)})
		mine, err := tokens.Rotate(t.Context(), "mine", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tokens.Rotate(t.Context(), "theirs", 0); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), "UPDATE punctual_token SET token = ? WHERE app_name = 'theirs'", tokens.closed("mine", mine)); err != nil {
			t.Fatal(err)
		}
		again := NewTokens(TokensConfig{Pool: pool, Seal: sealing(t, 1), Logger: slog.New(slog.DiscardHandler)})
		if err := again.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, in := again.Check("theirs", mine); in {
			t.Error("a row that was copied makes one group's token another's")
		}
	})
}
